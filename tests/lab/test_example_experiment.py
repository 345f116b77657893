"""The bare experiment to start from: its commands lead from a csv of arms to an answer, and an error costs nothing."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "notebooks" / "example_experiment.py"
ARMS = "name,dose,salt\nA,1,50\nB,2,50\nC,1,100\nD,2,100\n"
MEANS = {"A": 0.0, "B": 1.0, "C": 0.2, "D": 1.2}


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example_arms.csv").write_text(ARMS)
    spec = importlib.util.spec_from_file_location("example_experiment", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.NUMBERS, module.SIGMA = ["dose", "salt"], 0.1
    return module


def measure(rng, share=1.0):
    """What was asked for, or a share of it, as a file with a line for each measurement."""
    wanted = pd.read_csv("to_measure.csv").set_index("arm")["wanted"]
    arms = [arm for arm, count in wanted.items() for _ in range(int(np.ceil(share * count)))]
    rewards = [MEANS[arm] + 0.1 * rng.standard_normal() for arm in arms]
    pd.DataFrame({"arm": arms, "reward": rewards}).to_csv("day.csv", index=False)


def test_commands_lead_to_the_answer_over_several_days(experiment, capsys):
    rng = np.random.default_rng(0)
    experiment.main(["ask"])
    for day in range(30):
        measure(rng, share=0.5 if day == 0 else 1.0)
        experiment.main(["tell", "day.csv"])
        if "nothing more to measure" in capsys.readouterr().out:
            break
    experiment.main(["ask"])
    assert "D is the answer" in capsys.readouterr().out
    experiment.main(["standings"])
    in_play = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.endswith("True")}
    assert in_play == {"D"}


def test_a_file_is_taken_back(experiment, capsys):
    experiment.main(["ask"])
    before = Path("to_measure.csv").read_text()
    measure(np.random.default_rng(0), share=0.5)
    experiment.main(["tell", "day.csv"])
    assert Path("to_measure.csv").read_text() != before
    experiment.main(["undo", "another day's file"])
    assert Path("to_measure.csv").read_text() == before


def test_the_plan_names_rules_and_pulls(experiment, capsys):
    experiment.GAP = 0.2
    experiment.main(["plan"])
    assert {"rage", "xy_static", "lazy_track_and_stop"} <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize(("given", "said"), [(["tell"], "tell needs a file"), (["tell", "no.csv"], "no.csv")])
def test_a_wrong_command_is_one_sentence(tmp_path, given, said):
    (tmp_path / "example_arms.csv").write_text("name,kind\nA,x\nB,y\n")
    done = subprocess.run([sys.executable, EXAMPLE, *given], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and said in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr
