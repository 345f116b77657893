"""Run the command line of the laboratory, in which a folder is an experiment.

A command reads experiment.json and log.jsonl, takes one step, and saves it. A lock lets one command at a time change an
experiment.
"""

import argparse
import csv
import io
import json
import os
import re
import sys
import warnings
from contextlib import suppress
from functools import cached_property, wraps
from hashlib import sha256
from math import ceil, inf, sqrt
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import joblib
import numpy as np
import pandas as pd

from bandits_lab import log as logs
from bandits_lab.anytime_intervals import REPLICATES, SHARE, proof
from bandits_lab.arms import arms_of, named
from bandits_lab.diagnosis import LinearityWarning
from bandits_lab.lab import Lab
from bandits_lab.measurements import MISSING, far_off, read_measurements, several
from bandits_lab.noise import DriftWarning, SigmaWarning, pilot_size, sigma_upper
from bandits_lab.planning import duration, plan
from bandits_lab.plate_layout import ROWS, plates, wells
from bandits_lab.tables import Numbers, decoded, label, respelled, table, typed
from bandits_lib.checks import check_delta
from bandits_lib.design import Design, frank_wolfe_design, xy_design
from bandits_lib.files import atomic_write, locked, replace
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import rage, xy_static
from bandits_lib.numerics.least_squares import squares_within

SETTINGS, LOG, FORM, PILOT, REPORT = "experiment.json", "log.jsonl", "to_measure.csv", "pilot.csv", "report.html"
RESERVED = re.compile(r"(experiment\.json|log(_\d+)?\.jsonl|to_measure\.csv|pilot\.csv|measured_\d+\.csv|report\.html)")
COLUMNS = ("ticket", "plate", "well", "arm", "reward", "count", "sum", "squares")  # of forms and files of measurements
FLOOR = 0.1  # share of every batch that is spread over all arms, so that tests can find a wrong model
FACTOR = 1.5  # a pilot is large enough that its bound is at most FACTOR sigma with probability 0.9
WAIT = 60  # seconds to wait for the command of another person
HELPS = 0.9  # --accept is proposed if it needs at most this share of the measurements
TIED = 0.05  # columns whose smallest singular value is at most this share of the largest are related to each other
BROKEN = (
    "Import the arms into a new folder, with --squares or with more columns, and hand over these files to it. The "
    "command standings says what holds without the model."
)
UNSURE = "If a file is wrong, take it back with undo; if not, begin again with a larger --sigma, or measure afresh."
SHOWN = 50  # arms on the screen; files hold all arms
SECONDS, LONG = 2e-7, 5.0  # of a design, per unit of its size; seconds from which on a design is announced
OPTIONS = {  # what messages of the library name, and what a user of the command line types instead
    "extra=True": "--extra",
    "sigma=": "--sigma ",
    "Pass sigma,": "Import again with --sigma S,",
    "columns=": "--reward-column of the command import",
    "`sigma_upper`": "the command pilot",
    "`pilot_size`": "the command pilot",
    "`diagnose`": "the command report",
}


class Experiment:
    """An experiment in a folder with settings, a csv of arms and a log."""

    def __init__(self, folder: Path, settings: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self.settings = self._read() if settings is None else settings

    def _read(self):
        path = self.path(SETTINGS)
        if not path.exists():
            raise ValueError(
                f"There is no experiment in {self.folder.resolve()}: begin one with the command import arms.csv."
            )
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(
                f"{path} cannot be read ({error}): correct it, or give the command import again."
            ) from None

    def path(self, name):
        return self.folder / name

    def write(self, **settings):
        """Change settings and save them; the caller must hold the lock."""
        self.settings |= settings
        text = json.dumps(self.settings, indent=1, ensure_ascii=False) + "\n"
        replace(self.path(SETTINGS), text.encode("utf-8", "backslashreplace"))  # JSON reads the escapes back

    @cached_property
    def sheet(self):
        """Return the table of arms as it was imported, and warn if the file is another one now."""
        told, path = self.settings, self.path(self.settings["arms"])
        if path.exists() and sha256(path.read_bytes()).hexdigest() != told["sha256"]:
            warnings.warn(
                f"{path} is not the table that was imported, which the experiment uses. To use {path}, import it "
                "again, into another folder if something was measured",
                stacklevel=2,
            )
        return named(table(path, told["table"]), None if told["number_arms"] else told["arm_column"])[0]

    @cached_property
    def arms(self):
        """Return the arms; the columns of costs and results are not features."""
        told = self.settings
        own = {lowered(told[name]) for name in ("cost", "reward_column")}.intersection(self.sheet.own)
        ignore = [*own.union(map(lowered, told["ignore"]))]
        read = arms_of(self.sheet, told["numbers"], told["codes"], ignore, told["arm_column"])
        return read.with_squares(*told["squares"])

    @property
    def names(self):
        return self.arms.names

    @property
    def features(self):
        return self.arms.features.to_numpy()

    @cached_property
    def cost(self):
        """Return the cost of a measurement of each arm (K,), or None."""
        found, name = self.sheet, lowered(self.settings["cost"])
        if not name:
            return None
        if name not in found.own:
            raise ValueError(f"{found.path} has no column {name!r}; its columns are {', '.join(found.own.values())}")
        read = Numbers([row[name] for _, row in found.rows], found.delimiter)
        return np.array([read(row[name], found.own[name], found.at(line)) for line, row in found.rows])

    @property
    def columns(self):
        return self.settings["arm_column"], self.settings["reward_column"]

    @property
    def log(self):
        return self.path(LOG)

    @property
    def elsewhere(self):
        """Return the option that a command needs in another folder."""
        return "" if self.folder == Path() else f" {typed('--folder', str(self.folder))}"

    @property
    def in_unit(self):
        return f" [{self.settings['unit']}]" if self.settings["unit"] else ""

    def rule(self, rng=None, *, stored=False, **changes):
        """Return the rule of the experiment, which has not been advanced, or with other settings."""
        told, features, keep = self.settings | changes, self.features, self.stored if stored else lambda design: design
        if told["budget"]:
            return gse(features, budget=told["budget"], sigma=told["sigma"] or 1.0, cost=self.cost)
        how = {"delta": told["delta"], "sigma": told["sigma"], "floor": FLOOR}
        if told["rule"] == "xy_static":
            rng = np.random.default_rng(0) if rng is None else rng
            return xy_static(features, **how, design=keep(frank_wolfe_design), rng=rng)
        return rage(features, **how, design=keep(xy_design), scale=None, cost=self.cost, accept=told["accept"])

    def stored(self, design):
        """Return a solver that keeps large designs in files of the folder, which may be deleted.

        A file that cannot be written or read is one that is not there.
        """
        K, r = self.features.shape
        entries = r * (r + 1) / 2
        if (seconds := SECONDS * K * entries * min(K, entries)) <= LONG:
            return design

        @wraps(design)
        def found(arms, directions):
            path = self.path(f"design_{joblib.hash((design.__name__, arms, directions))}.npz")
            with suppress(OSError, ValueError, KeyError, BadZipFile), np.load(path) as kept:
                return Design(*(kept[name][()] for name in Design._fields))
            print(
                f"Computing a design of {several(K, 'arm')} with {several(r, 'unknown number')}: seconds if nearly all "
                f"combinations of words are there and no numbers, otherwise up to about {duration(seconds)}.",
                file=sys.stderr,
                flush=True,
            )
            made, data = design(arms, directions), io.BytesIO()
            np.savez(data, **made._asdict())
            with suppress(OSError):
                atomic_write(path, data.getvalue(), parents=True)
            return made

        return found

    def lab(self, again=False):
        """Return the Lab, which begins its log with the first record that it writes.

        Warnings that the log has given before are given once more only if `again` says so.
        """
        with warnings.catch_warnings():
            for category in (SigmaWarning, DriftWarning, LinearityWarning):
                warnings.simplefilter("always" if again else "ignore", category)
            return Lab(self.rule(stored=True), self.log, names=self.names, unit=self.settings["unit"])

    def standings(self, lab):
        """Return the standings; if sigma is unknown, a bound on it comes from replicates."""
        return lab.standings(sigma=None if self.settings["sigma"] else REPLICATES)

    def check_unmeasured(self):
        """Refuse to replace an experiment that has measurements which were not taken back."""
        if self.log.exists() and logs.standing(logs.read(self.log)[0]):
            raise ValueError(
                f"The experiment in {self.folder.resolve()} has measurements and stays as it is: begin another "
                "experiment with --folder NAME. To use these measurements there, empty the column ticket in copies of "
                "measured_0001.csv and so on, and hand the copies over with the command tell."
            )

    def read(self, given, told=None):
        """Return the measurements in a file, of which there must be at least one, and none far from all others."""
        path = found(given.file, self.folder)
        sample = read_measurements(path, self.names, columns=self.columns, unit=self.settings["unit"])
        if not sample.counts.any():
            raise ValueError(
                f"{path} has no reward yet: measure, fill the column {self.columns[1]!r}, and give the "
                "command tell again."
            )
        self.check_columns(sample)
        if not given.sure and (doubt := far_off(sample.rows, told, self.names)):
            raise ValueError(f"{doubt} Nothing was taken: correct the file, or add --sure")
        return sample

    def check_columns(self, sample):
        """Refuse a row of a file whose columns describe another arm; a number or a word may be spelled otherwise."""
        rows, file = dict(sample.table.rows), sample.table
        for key in [key for key in self.arms.described if key in file.own]:
            entries, own = [*self.arms.described[key]], file.own[key]
            known = {*entries}
            for one in sample.rows:
                text, known_text = rows[one.line][key], self.sheet.rows[one.arm][1][key]
                if text not in ("", known_text) and not respelled(text, entries[one.arm], known):
                    raise ValueError(
                        f"{file.at(one.line)}: {own} of {self.names[one.arm]} is {text!r}, and {known_text!r} in the "
                        "table of arms: restore the cell if it was changed by mistake, or leave the row out if it was "
                        f"measured so, because another {own} is another arm"
                    )

    def measure(self, number):
        return f"{number:.4g} {self.settings['unit']}".rstrip()

    def is_filled(self, name, lab=None):
        """Return whether a form has a reward in it that the Lab was not told."""
        path, reward = self.path(name), lowered(self.columns[1])
        if not path.exists() or (lab and sha256(path.read_bytes()).hexdigest() in lab.told_files):
            return False
        try:
            rows = [row for _, row in table(path).rows if row.get(reward, "").lower() not in MISSING]
        except ValueError:  # the user changed it: do not replace it
            return True
        return any(not (lab and row.get("ticket") in lab.told_tickets) for row in rows)

    def write_form(self, name, arms, tickets=()):
        """Write a form for measurements of `arms` in this order, plate by plate if there are any.

        It is a csv in the format of the table of arms, which the user's spreadsheet can read. The rows have the user's
        own columns, too, so that nobody must look up what an arm is.
        """
        arm, reward = self.columns
        rows = self.sheet.rows
        own = [key for key in self.sheet.own if key not in (*COLUMNS, lowered(arm), lowered(reward))]
        filled = [[self.names[k], *(rows[k][1][key] for key in own), ""] for k in arms]
        names = [arm, *(self.sheet.own[key] for key in own), reward]
        if tickets:
            names, filled = ["ticket", *names], [[ticket, *row] for ticket, row in zip(tickets, filled, strict=True)]
        if size := self.settings["plate"]:
            places = wells(size)
            names = ["plate", "well", *names]
            filled = [[i // size + 1, places[i % size], *row] for i, row in enumerate(filled)]
        text = io.StringIO()
        csv.writer(text, delimiter=self.sheet.delimiter, lineterminator="\r\n").writerows([names, *filled])
        atomic_write(self.path(name), text.getvalue().encode("utf-8-sig"))


# --- the commands


def import_(given, experiment):
    source = found(given.file)
    if RESERVED.fullmatch(source.name.lower()):
        raise ValueError(f"{source.name} is the name of a file that the program writes: rename your table of arms.")
    data = source.read_bytes()
    read, arm = named(table(source, text := decoded(data, source)), None if given.number_arms else given.arm_column)
    unsaved = ("command", "file", "folder", "function")
    settings = {name: value for name, value in vars(given).items() if name not in unsaved}
    settings |= {name: listed(settings[name], read) for name in ("numbers", "codes", "ignore", "squares")}
    settings |= {"arms": source.name, "arm_column": arm, "delta": check_delta(given.delta)}
    settings |= {"rule": "gse" if given.budget else given.rule, "table": text, "sha256": sha256(data).hexdigest()}
    if given.rule != "rage" and (given.budget or given.cost or given.accept):
        raise ValueError(f"{given.rule} has no --budget, --cost or --accept: leave one of them out.")
    if lowered(settings["arm_column"]) == lowered(settings["reward_column"]):
        raise ValueError("The arm and the reward must be in different columns: give --arm-column, --reward-column.")
    taken = ("", "ticket", "count", *("plate", "well") * bool(given.plate))
    if (name := next((name for name in (arm, given.reward_column) if lowered(name) in taken), None)) is not None:
        raise ValueError(
            f"A column of the arm or the reward cannot be named {name!r}, as the form has its own: rename it."
        )
    experiment.settings, experiment.sheet = settings, read
    if len(experiment.names) == 1:
        raise ValueError(f"{source} has only one arm: give at least two arms, each in a row of its own.")
    if not any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")):
        print("Compiling the numerical kernels, once: a minute, or several on a slow machine.", file=sys.stderr)
    lab = Lab(experiment.rule(stored=True), names=experiment.names, unit=given.unit)
    # Whatever is refused is refused before this line, so that a refusal leaves nothing behind.
    experiment.folder.mkdir(parents=True, exist_ok=True)
    with locked(experiment.path(SETTINGS)):
        experiment.check_unmeasured()
        other = False
        if experiment.log.exists():
            try:
                logs.check_same(experiment.log, logs.read(experiment.log)[0][0], lab.experiment)
            except ValueError:
                other = True
        experiment.write()  # if the disk is full, the log stays where it is, with its tickets
        if other:
            experiment.log.rename(unused(experiment, "log_{}.jsonl"))
    understood(experiment, lab)


def _tied(described):
    """Return the columns of numbers that a linear equation relates up to small errors; [] if there is none."""
    numbers = described.loc[:, [column.dtype.kind == "f" and column.nunique() > 1 for _, column in described.items()]]
    if not 1 < numbers.shape[1] < len(numbers):  # as many columns as arms are always related
        return []
    _, sizes, directions = np.linalg.svd((numbers - numbers.mean()) / numbers.std(), full_matrices=False)
    if sizes[-1] > TIED * sizes[0]:
        return []
    return list(numbers.columns[np.abs(directions[-1]) > TIED])


def understood(experiment, lab):
    """Print how the arms were read, what is looked for, and the next command."""
    arms, told, own, parts, bent = experiment.arms, experiment.settings, experiment.sheet.own, [], []
    curved = {*map(lowered, told["squares"])}
    K, d = arms.features.shape
    print(f"{K} arms, from {arms.names[0]} to {arms.names[-1]}, {several(d, 'unknown number')}.")
    for key, column in arms.described.items():
        name, different = own[key], column.nunique()
        if different == 1:
            print(f"  {name}: the same for all arms, so it is left out")
        elif column.dtype.kind == "f":
            print(f"  {name}: numbers, {column.min():g} to {column.max():g}")
            parts.append(f"a {'parabola' if key in curved else 'straight line'} in {name}")
            bent += [name] * (different > 2 and key not in curved)
        else:
            print(f"  {name}: words: {', '.join(sorted(set(column)))}")
            parts.append(f"a constant for each {name}")
    if result := own.get(lowered(told["reward_column"])):
        print(f"  {result}: the results, so it is left out")
    if experiment.cost is not None:
        print(f"  {told['cost']}: cost of a measurement, {experiment.cost.min():g} to {experiment.cost.max():g}")
    if d >= K:
        print("There are as many unknown numbers as arms, so a measurement of one arm says little about the others.")
    print("The arm with the largest mean reward is looked for: give negative rewards if smaller is better.")
    print(f"Assumed: the mean reward is a sum of {', '.join(parts)}; nothing else matters.")
    if bent:
        squares = typed("--squares", *bent)
        print(f"If the best value of a number may lie inside its range, import again with {squares}")
    if tied := [own[key] for key in _tied(arms.described)]:
        print(
            f"{', '.join(tied)} almost determine one another, as shares that add up to 1 do. Leave one out, for "
            f"example with {typed('--ignore', tied[-1])}: otherwise the rule measures the effects of rounding errors."
        )
    arm, reward = experiment.columns
    print(f"Files of measurements have the columns {arm!r} and {reward!r}{told['unit'] and ' in ' + told['unit']}.")
    wrong = f"The answer may be wrong with probability at most {told['delta']:g}."
    noise = f"sigma is {experiment.measure(told['sigma'])}." if told["sigma"] else "sigma is unknown."
    print(f"{expected(experiment) if told['budget'] else wrong} The standard deviation {noise}")
    if not (told["sigma"] or told["budget"]):
        print("The rule learns sigma from the measurements. Only a plan needs it beforehand, from a pilot.")
    wanted = lab.ask()
    print(f"The first request asks for {several(wanted.sum(), 'measurement')} of {np.count_nonzero(wanted)} arms.")
    print(f"Next: ask{experiment.elsewhere}")


def pilot(given, experiment):
    if given.file is None:
        return plan_pilot(experiment)
    lab = experiment.lab()
    sample = experiment.read(given, lab.all_told)
    bound, spread = sigma_upper(sample, SHARE * experiment.settings["delta"]), deviation(sample)
    take(experiment, lab, sample, extra=True)
    print(f"sigma is about {experiment.measure(spread)}, and at most {experiment.measure(bound)}.")
    print(f"Next: plan --gap G, or ask{experiment.elsewhere}")


def plan_pilot(experiment):
    """Write the form of a pilot, which measures every arm equally often, at least twice."""
    if experiment.is_filled(PILOT):
        raise ValueError(f"{PILOT} already has rewards: enter them with the command pilot {PILOT}.")
    K = len(experiment.names)
    times = max(2, ceil(pilot_size(FACTOR, SHARE * experiment.settings["delta"], n_arms=K) / K))
    arms = in_order(experiment, np.full(K, times), np.random.default_rng([K, times]))
    experiment.write_form(PILOT, arms)
    print(f"{PILOT} has {times * K} rows: each of the {K} arms {times} times, in random order.")
    print(f"Measure them in this order and write the results into the column {experiment.columns[1]!r}.")
    print(f"Next: pilot {PILOT}{experiment.elsewhere}")


def in_order(experiment, wanted, rng):
    """Return the arm of each measurement in random order; every plate has the same share of each arm."""
    if size := experiment.settings["plate"]:
        return plates(wanted, size=size, rng=rng)["arm"].tolist()
    return rng.permutation(np.repeat(np.arange(len(wanted)), wanted)).tolist()


def plan_(given, experiment):
    gap, sigma = given.gap, given.sigma or experiment.settings["sigma"] or deviation(experiment.lab().all_told)
    if gap is None or not sigma:
        raise ValueError(
            "A plan needs --gap G, the smallest lead of the best arm that matters to you, and the standard deviation "
            "of one measurement about its mean: give a guess as --sigma S, which only the plan uses, or make a pilot "
            "first."
        )
    print("The plan simulates experiments with several rules. First, one of each shows how long it takes.", flush=True)
    told, own, accepting = experiment.settings, experiment.settings["rule"], f"rage --accept {gap:g}"
    rules = {own: lambda problem, rng: experiment.rule(rng)}
    if not told["budget"] and experiment.cost is None and not told["accept"]:
        other = "rage" if own == "xy_static" else "xy_static"
        rules[other] = lambda problem, rng: experiment.rule(rng, rule=other)
    if own == "rage" and not told["accept"]:
        rules[accepting] = lambda problem, rng: experiment.rule(accept=gap)
    how = {"sigma": sigma, "delta": told["delta"], "budget": told["budget"], "patience": 0.0}
    planned = plan(experiment.arms, gap=gap, rules=rules, runs=given.runs, **how)._replace(unit=told["unit"])
    print(planned)
    print(recommended(planned.table.drop(index=accepting, errors="ignore"), own))
    pulls = planned.table["pulls"].to_dict()
    if pulls.get(accepting, inf) < HELPS * pulls[own]:
        print(
            f"If an arm that is {experiment.measure(gap)} behind the best is good enough, import again with --accept "
            f"{gap:g}: then it takes about {pulls[accepting]:,.0f} measurements."
        )
    with locked(experiment.path(SETTINGS)):
        Experiment(experiment.folder).write(planned={"gap": gap, "measurements": pulls[own]})
    print(f"Next: ask{experiment.elsewhere}")


def recommended(table, own):
    """Return in words the rule of a plan with the fewest measurements, and how it differs from the rule of ask."""
    said = {
        name: f"about {row['pulls']:,.0f} measurements in {several(round(row['requests']), 'request')}, and in nine "
        f"of ten experiments at most {row['nine_in_ten']:,.0f}"
        for name, row in table[table["runs"] > 0].iterrows()
    }
    best = table["pulls"].idxmin()
    if table.loc[own, "low"] <= table.loc[best, "pulls"]:  # the simulation does not show that the other is shorter
        return f"Recommended: {own}, which the command ask uses. It takes {said[own]}."
    return (
        f"Recommended: {best}, with {said[best]}. The command ask uses {own}, which takes {said[own]}. To use {best}, "
        f"import again with --rule {best}."
    )


def ask(given, experiment):
    lab, said = experiment.lab(), []
    if not lab.log and lab.result is None:
        said = [
            f"The first request contains {np.count_nonzero(lab.ask())} of the {len(experiment.names)} arms. Arms that "
            "inform about many others may get more rows.",
            "Each row is a new measurement of a fresh sample, not a second reading of the same sample.",
            expected(experiment),
        ]
    show(experiment, lab, said)


def expected(experiment):
    """Return in words how many measurements to expect in all."""
    told = experiment.settings
    if told["budget"]:
        return f"In all, at most {told['budget']:,} {'may be spent' if told['cost'] else 'measurements are made'}."
    if plan := told.get("planned"):
        return f"About {plan['measurements']:,.0f} measurements are expected in all, if the lead is {plan['gap']:g}."
    sigma = "" if told["sigma"] else " --sigma S"
    return f"How many follow depends on the noise and on the lead of the best arm: see the command plan --gap G{sigma}."


def show(experiment, lab, said=()):
    """Write what to measure now into the form and print it, or print the answer."""
    if lab.result is not None:
        with suppress(FileNotFoundError):
            if not experiment.is_filled(FORM, lab):
                experiment.path(FORM).unlink()
        print(answer(experiment, lab))
        return print(f"Next: report, standings{experiment.elsewhere}")
    if experiment.is_filled(FORM, lab):
        raise ValueError(
            f"{FORM} has rewards that were not told, and stays as it is: give the command tell {FORM}; or, if you do "
            f"not want them, rename {FORM} and give the command ask."
        )
    wanted = lab.ask()
    tickets = lab.tickets(lambda new: in_order(experiment, new, np.random.default_rng([made(lab), *new])))
    experiment.write_form(FORM, [arm for _, arm in tickets], [ticket for ticket, _ in tickets])
    for line in said:
        print(line)
    shown = pd.Series(wanted, index=pd.Index(experiment.names, name=experiment.columns[0]), name="wanted")
    shown = shown[shown > 0]
    print(shown.iloc[:SHOWN].to_string())
    more = f" (and {len(shown) - SHOWN} more)" if len(shown) > SHOWN else ""
    is_wanted = "is wanted" if wanted.sum() == 1 else "are wanted"
    print(f"{several(wanted.sum(), 'measurement')} of {several(len(shown), 'arm')}{more} {is_wanted}.")
    print(
        f"{FORM} has a row with a ticket for each measurement, in random order. Measure in this order, and fill the "
        f"column {experiment.columns[1]!r}."
    )
    print(f"Next: tell {FORM}{experiment.elsewhere}")


def made(lab):
    """Return how many measurements have answered requests."""
    return sum(int(sample.counts.sum()) for sample in lab.log)


def answer(experiment, lab):
    """Return the answer in words, with its guarantee and its conditions."""
    told, own = experiment.settings, experiment.sheet.own
    described = experiment.arms.described.loc[:, lambda columns: columns.nunique() > 1]
    best = described.iloc[lab.result.recommendation]
    row = ", ".join(f"{own[key]} {best[key]}" for key in described)
    spare = f" ({several(lab.unused, 'further measurement')} not needed)" if lab.unused else ""
    said = f"The answer is {best.name} ({row}), after {several(made(lab), 'measurement')}{spare}."
    proved = proof(lab)
    if proved.against:
        return f"{said} It is not proved, because {proved.against}. {BROKEN if proved.rejected else UNSURE}"
    numbers = [key for key in described if described[key].dtype.kind == "f"]
    ends = [f"the highest {own[key]}" for key in numbers if best[key] == described[key].max()]
    ends += [f"the lowest {own[key]}" for key in numbers if best[key] == described[key].min()]
    if proved.within == inf:
        said += " With a budget the rule promises no probability: standings says how far the others may be ahead."
    else:
        wrong = f"more than {experiment.measure(proved.within)} behind the best" if proved.within else "wrong"
        said += f" It is {wrong} with probability at most {told['delta']:g} if the assumed model is right."
    return f"{said} It has {' and '.join(ends)} of all arms: a better arm may lie beyond." if ends else said


def tell(given, experiment):
    lab = experiment.lab()
    take(experiment, lab, experiment.read(given, lab.all_told), given.extra)
    if lab.unused and lab.result is None:
        print(f"{several(lab.unused, 'measurement')} will answer later requests.")
    show(experiment, lab)


def take(experiment, lab, sample, extra):
    """Keep a copy of a file, tell its measurements under the name of the copy, and print what was taken."""
    copy = unused(experiment, "measured_{:04}.csv")
    atomic_write(copy, sample.content)
    sample.file = copy.name
    try:
        told = lab.tell(sample, extra=extra)
    except (ValueError, OSError):
        copy.unlink()
        raise
    if not told.counted:
        return copy.unlink()
    print(f"{told.counted:,} taken, {several(int(lab.all_told.counts.sum()), 'measurement')} in all.")
    if told.without:
        print(f"{several(told.without, 'row')} without a ticket: kept as extra measurements.")


def undo(given, experiment):
    lab = experiment.lab()
    said = lab.undo(given.reason)
    print(f"{whole(said)} Correct a file before you tell it again.")
    show(experiment, lab)


def standings(given, experiment):
    lab = experiment.lab()
    if not lab.log:
        raise ValueError(f"Nothing was measured yet: all {len(experiment.names)} arms may be the best.")
    known = experiment.standings(lab)
    shown = known.table.drop(columns="in_play").assign(**{"may be best": known.may_be_best})
    shown = shown.rename_axis(experiment.columns[0]).sort_values("behind", kind="stable").iloc[:SHOWN]
    print(shown.to_string(float_format="{:.4g}".format, formatters={"may be best": {True: "yes", False: "no"}.get}))
    if len(known.table) > SHOWN:
        print(f"... and {len(known.table) - SHOWN} more")
    print(repr(known).splitlines()[-1])
    if unit := experiment.settings["unit"]:
        print(f"Estimates, and how far each is behind the leader (between low and high), are in {unit}.")


def report(given, experiment):
    from bandits_lab.report import page  # importing pyplot takes a second

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lab = experiment.lab(again=True)
    said = [whole(str(warning.message)) for warning in caught if is_meant(warning.category)]
    now = answer(experiment, lab) if lab.result is not None else "There is no answer yet."
    atomic_write(experiment.path(REPORT), page(experiment, lab, now, said))
    print(f"{experiment.path(REPORT)} is written: open it in a browser.")


# --- help for the commands


def found(name, *folders):
    """Return the path of a file, here or in one of the folders."""
    for path in (Path(name), *(folder / name for folder in folders)):
        if path.is_file():
            return path
    raise ValueError(f"There is no file {name}{': that is a folder' if Path(name).is_dir() else ''}.")


def deviation(sample):
    """Return the standard deviation of the replicates in a Sample, or 0.0 if there are none that differ."""
    squares, df = (0.0, 0) if sample is None else squares_within(sample)
    return sqrt(squares / max(df, 1))


def lowered(name):
    return label(name).lower()


def listed(texts, known):
    """Return the names of columns in options, each of which gives one column, or several with commas between them."""
    names = [[text] if lowered(text) in known.own else text.split(",") for text in texts]
    return [name.strip() for some in names for name in some if name.strip()]


def unused(experiment, name):
    """Return the path with the first number for which there is no file."""
    return next(path for k in range(1, 10**6) if not (path := experiment.path(name.format(k))).exists())


def is_meant(category):
    """Return whether a warning is of this project: libraries warn with classes of their own, or while drawing."""
    return category is UserWarning or (issubclass(category, UserWarning) and category.__module__.startswith("bandits"))


def whole(text):
    """Return a text as a sentence with the words of the command line; a file name at its beginning stays as it is."""
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    text = re.sub("^(?=(accept|budget|cost|delta|gap|plate|runs|sigma) must )", "--", text)
    first = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return f"{first}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def sentence(error):
    """Return an error as a sentence."""
    parts = (error.filename, error.strerror) if isinstance(error, OSError) and error.strerror else (error,)
    return whole(": ".join(str(part) for part in parts if part))


# --- the commands and their options


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{message[:1].upper()}{message[1:]}. {self.prog} --help says what can be given.\n")


def number(text):
    """Return the number in a text, which is read as in a csv with commas between its columns."""
    try:
        return Numbers([text], ",")(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text):
    """Return the positive number in a text."""
    if (found := number(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not positive")
    return found


def whole_number(text):
    """Return the whole number of at least 1 in a text."""
    if (found := number(text)) % 1 or found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(found)


def parser():
    about = "Find the best of many things with few measurements."
    more = (
        "A folder is an experiment: the current one, or the one given with --folder. COMMAND --help lists the options."
    )
    top = Parser("python -m bandits_lab", description=about, epilog=more)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, function, said):
        new = commands.add_parser(name, help=said, description=said)
        new.add_argument(
            "--folder", type=Path, default=Path(), help="folder of the experiment (default: the current folder)"
        )
        new.set_defaults(function=function)
        return new

    new = command("import", import_, "read the arms from a csv with a row for each, and begin an experiment")
    new.add_argument("file", help="csv with a row for each arm; the first column is the name of the arm")
    new.add_argument("--delta", type=number, default=0.05, help="largest probability of a wrong answer (0.05)")
    new.add_argument(
        "--rule", choices=("rage", "xy_static"), default="rage", help="plan says which one needs fewer measurements"
    )
    either = new.add_mutually_exclusive_group()  # --accept has no effect on a rule with a budget
    either.add_argument("--budget", type=whole_number, help="number of measurements, or with --cost their total cost")
    new.add_argument("--sigma", type=positive, help="standard deviation of one measurement, if you know it")
    either.add_argument(
        "--accept",
        type=positive,
        default=0.0,
        help="how far behind the best the answer may be; a larger value needs fewer measurements",
    )
    new.add_argument("--unit", default="", help="unit of the reward, such as mV")
    new.add_argument("--numbers", action="append", default=[], help="columns whose numbers are quantities: a,b")
    new.add_argument("--codes", action="append", default=[], help="columns whose numbers stand for categories: c,d")
    new.add_argument("--ignore", action="append", default=[], help="columns to leave out")
    new.add_argument(
        "--squares", action="append", default=[], help="columns whose effect may have a maximum or a minimum"
    )
    new.add_argument("--cost", default="", help="column with the cost of a measurement")
    either = new.add_mutually_exclusive_group()
    either.add_argument("--arm-column", default="", help="column with the name of the arm (default: the first)")
    either.add_argument("--number-arms", action="store_true", help="number the arms, because no column names them")
    new.add_argument("--reward-column", default="reward", help="column with the result in your files (reward)")
    new.add_argument("--plate", type=int, choices=tuple(ROWS), help="number of wells of a plate")

    new = command("pilot", pilot, f"only for a plan without sigma: write {PILOT}; fill it, then give pilot {PILOT}")
    new.add_argument("file", nargs="?")
    new.add_argument("--sure", action="store_true", help="take the file although rewards lie far from the others")

    new = command("plan", plan_, "say how many measurements to expect")
    new.add_argument("--gap", type=positive, help="smallest lead of the best arm that matters to you")
    new.add_argument("--sigma", type=positive, help="a guess of the noise, used only for the plan")
    new.add_argument("--runs", type=whole_number, default=100, help="number of simulated experiments (100)")

    command("ask", ask, f"say what to measure now, and write {FORM} for the rewards, a row for each measurement")
    new = command("tell", tell, "hand over some or all of the results, and read what comes next, or the answer")
    new.add_argument("file")
    new.add_argument("--sure", action="store_true", help="take the file although rewards lie far from the others")
    new.add_argument("--extra", action="store_true", help="take more rows of an arm than were asked for")

    new = command("undo", undo, "take back the last file")
    new.add_argument("reason", nargs="?", default="", help="the reason, for the log")
    command("standings", standings, "say which arm leads, and which may still be the best")
    command("report", report, f"write everything on one page, {REPORT}")
    return top


def main(given: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a character that the terminal does not have is no reason to stop
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = parser().parse_args(given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = shown
            experiment = Experiment(options.folder, {} if options.function is import_ else None)
            if options.function in (import_, plan_, standings, report):
                options.function(options, experiment)
            else:
                with locked(experiment.path(SETTINGS), WAIT):
                    options.function(options, Experiment(options.folder))
        return 0
    except (ValueError, OSError) as error:
        print(sentence(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. What was saved before is still there.", file=sys.stderr)
        return 130


def shown(message, category, *where, **more):
    """Print a warning that is meant for the user."""
    if is_meant(category):
        print(f"Note: {whole(str(message))}")


if __name__ == "__main__":
    sys.exit(main())
