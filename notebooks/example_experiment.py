"""An experiment of your own, one command at a time: copy this file beside your csv of arms and change the values below.

python example_experiment.py plan               how many measurements to expect, rule by rule, for a guess
python example_experiment.py ask                what to measure now, and into to_measure.csv
python example_experiment.py tell day_1.csv     what came back, columns arm and reward; in parts, if you like
python example_experiment.py undo "why"         takes back the last file that was told
python example_experiment.py standings          who leads, and who may still be the best
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from bandits_lab import Lab, plan, read_arms, read_measurements
from bandits_lib.fixed_confidence import rage

ARMS = "example_arms.csv"  # a first column of names, then what describes them, in words or numbers
NUMBERS = []  # columns of whole numbers that are quantities, such as doses
SIGMA = 0.5  # standard deviation of a measurement about its mean; from a pilot: bandits_lab.sigma_upper
DELTA = 0.05  # the probability that the answer may be wrong
GAP = 0.04  # for the plan: the smallest lead that matters
ACCEPT = 0.0  # an answer at most so far behind the best is good enough; it saves measurements
LOG = Path("log.csv")  # only ever grows; it continues the experiment tomorrow, and on another computer


def experiment():
    """The arms, and the experiment as far as the log has it."""
    arms = read_arms(ARMS, numbers=NUMBERS)
    rule = rage(arms.features.to_numpy(), delta=DELTA, sigma=SIGMA, accept=ACCEPT, floor=0.1)
    return arms, Lab(rule, LOG if LOG.exists() else (), names=arms.names)


def show_plan():
    arms = read_arms(ARMS, numbers=NUMBERS).features.to_numpy()
    print(plan(arms, gap=GAP, sigma=SIGMA, delta=DELTA, runs=100, progress=False))


def ask(arms, lab):
    if lab.result is not None:
        print(f"{arms.names[lab.result.recommendation]} is the answer: nothing more to measure")
        return
    wanted = pd.Series(lab.ask(), index=pd.Index(arms.names, name="arm"), name="wanted")
    wanted[wanted > 0].to_csv("to_measure.csv")
    print(wanted[wanted > 0].to_string(), f"{wanted.sum()} measurements, in to_measure.csv", sep="\n")


def tell(arms, lab, file):
    lab.tell(read_measurements(file, arms.names, lab.ask()))
    lab.save(LOG)
    ask(arms, lab)


def undo(arms, lab, why):
    print(lab.undo(why))
    lab.save(LOG)
    ask(arms, lab)


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["plan", "ask", "tell", "undo", "standings"])
    parser.add_argument("what", nargs="?", help="the file to tell, or why to undo")
    chosen = parser.parse_args(given)
    if chosen.step in ("tell", "undo") and not chosen.what:
        parser.error(f"{chosen.step} needs {'a file' if chosen.step == 'tell' else 'a reason'}")
    if chosen.step == "plan":
        return show_plan()
    arms, lab = experiment()
    if chosen.step == "standings":
        return print(lab.standings(names=arms.names))
    return ask(arms, lab) if chosen.step == "ask" else {"tell": tell, "undo": undo}[chosen.step](arms, lab, chosen.what)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"{error}")
