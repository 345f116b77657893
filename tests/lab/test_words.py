"""What the commands say: nothing that the measurements or the settings do not carry, in words, plans and the report."""

import csv
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits_lab import __main__ as command_line
from bandits_lab import planning

ARMS = {name: 0.5 + k for k, name in enumerate("abcde")}
BENT = {"a": 0.0, "b": 10.0, "c": 0.0, "d": 1.0, "e": 2.0}
STRAIGHT = {name: 2.0 * x for name, x in ARMS.items()}


@pytest.fixture(autouse=True)
def table(tmp_path):
    (tmp_path / "arms.csv").write_text("\n".join(["id,x", *(f"{name},{x}" for name, x in ARMS.items())]))


def experiment(run, means, sd, *options, table="arms.csv", seed=0):
    """Import, and answer all requests; return what the last command says, and the number of measurements."""
    rng, number = np.random.default_rng(seed), 0
    run("import", table, *options)
    said = run("ask")
    while Path("to_measure.csv").exists():
        rows = list(csv.DictReader(Path("to_measure.csv").read_text(encoding="utf-8-sig").splitlines()))
        for row in rows:
            row["reward"] = f"{means[row['id']] + sd * rng.standard_normal():.9g}"
        with Path("to_measure.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        number += len(rows)
        said = run("tell", "to_measure.csv")
    return said, number


def may_be_best(said):
    return [line.split()[0] for line in said.splitlines() if line.endswith(" yes")]


def page(run):
    run("report")
    return Path("report.html").read_text(encoding="utf-8")


def test_after_a_refuted_model_no_command_says_that_the_answer_is_proved(run):
    told, _ = experiment(run, BENT, 0.5, "--unit", "mV")
    known = run("standings")
    for said in (told, run("ask"), known, page(run)):
        assert re.search(r"(not|nothing is) proved, because they contradict the assumed model .*p = \d", said)
        assert (
            "proved to be the best" not in said and "has proved" not in said and "with probability at most" not in said
        )
    assert "--squares" in told and may_be_best(known) == ["b"] and "Without the model, b has the largest mean" in known


def test_accept_and_budget_promise_what_they_are(run):
    for given in (["--budget", "30", "--accept", "2"], ["--rule", "xy_static", "--accept", "2"]):
        assert "--accept" in run("import", "arms.csv", *given, code=2)
    close = {name: 0.05 * mean for name, mean in STRAIGHT.items()}
    told, _ = experiment(run, close, 2.5, "--sigma", "2.5", "--accept", "3", "--unit", "mV")
    known = run("standings")
    assert "It is more than 3 mV behind the best with probability at most 0.05 if the assumed model is right" in told
    assert len(may_be_best(known)) > 1 and "proved that it is at most 3 behind the best" in known
    assert "2.5 (the rule's)" in known
    text = page(run)
    assert "proved that it is at most 3 behind" in text and "Nothing more is wanted" in text


def test_with_a_budget_a_larger_estimate_than_that_of_the_answer_is_explained(run):
    """The answer is that of the last stage; here the estimate from all measurements is of another arm."""
    close = {name: 0.01 * x for name, x in ARMS.items()}
    for seed in range(40):
        told, number = experiment(run, close, 2.5, "--budget", "20", seed=seed)
        known = run("standings")
        answer, first = re.search(r"^The answer is (\w) ", told, re.MULTILINE)[1], known.splitlines()[2].split()[0]
        assert "promises no probability" in told and number <= 20
        if answer != first:
            assert f"{first} has the largest estimate from all measurements; the rule decided by" in known
            return
        for path in Path().glob("[lme]*"):  # the next experiment
            path.unlink()
    raise AssertionError("no such experiment")


FACTORIAL = [f"{k},p{k % 8},q{k // 8 % 4},r{k // 32 % 3}" for k in range(96)]


def test_the_plan_recommends_the_fewest_measurements_and_hints_that_help(run):
    Path("grid.csv").write_text("\n".join(["id,p,q,r", *FACTORIAL]))
    run("import", "grid.csv", "--sigma", "1")
    said = run("plan", "--gap", "10", "--runs", "5")
    table = dict(re.findall(r"^(\w+) +([\d,]+)", said, re.MULTILINE))
    rage, static = (int(table[name].replace(",", "")) for name in ("rage", "xy_static"))
    assert static < rage and f"Recommended: xy_static, with about {static:,} measurements in" in said
    assert f"The command ask uses rage, which takes about {rage:,} measurements in 1 request," in said
    assert "import again with --rule xy_static" in said and "with --accept" not in said  # no shorter
    said = run("ask")
    assert f"About {rage:,} measurements are expected in all, if the lead is 10" in said
    run("import", "grid.csv", "--sigma", "1", "--rule", "xy_static")
    said = run("plan", "--gap", "10", "--runs", "5")
    assert "Recommended: xy_static, which the command ask uses" in said and "Ctrl-C" in said


def test_accept_is_proposed_if_it_saves_measurements_and_sigma_is_asked_for(run):
    run("import", "arms.csv", "--sigma", "5")
    said = run("plan", "--gap", "0,5", "--runs", "10")
    hint = re.search(r"import again with --accept 0.5: then it takes about ([\d,]+) measurements", said)
    assert hint and int(hint[1].replace(",", "")) < float(re.search(r"^rage +([\d,]+)", said, re.M)[1].replace(",", ""))
    assert Path("to_measure.csv").exists() is False
    run("import", "arms.csv")
    assert "plan --gap G --sigma S" in run("ask")


def test_an_interrupted_plan_says_what_it_has(run, monkeypatch):
    run("import", "arms.csv", "--sigma", "1")
    rule, made = command_line.rage, []

    def interrupted(*args, **told):
        made.append(1)
        if len(made) == 25:
            raise KeyboardInterrupt
        return rule(*args, **told)

    monkeypatch.setattr(command_line, "rage", interrupted)
    said = run("plan", "--gap", "2", "--runs", "1000")
    assert re.search(r"^rage +\d", said, re.MULTILINE) and re.search(r"^xy_static +not played", said, re.MULTILINE)
    monkeypatch.setattr(planning, "hardest", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    assert "Stopped. " in run("plan", "--gap", "2", code=130)


@pytest.mark.slow
def test_the_report_of_many_arms_is_small_and_ignores_the_users_look(run, monkeypatch):
    K = 3_000
    x = np.column_stack([np.random.default_rng(0).uniform(0, 1, K), (np.arange(K) + 0.5) / K])
    names = ["水 $x^2", *(f"arm{k}" for k in range(1, K))]
    rows = [f"{name},{a:.4f},{b:.4f}" for name, (a, b) in zip(names, x, strict=True)]
    Path("many.csv").write_text("\n".join(["id,u,v", *rows]), encoding="utf-8")
    run("import", "many.csv", "--sigma", "1")
    asked = run("ask")
    assert int(re.search(r"([\d,]+) measurements of", asked)[1].replace(",", "")) < 500
    form = Path("to_measure.csv").read_text(encoding="utf-8-sig").splitlines()
    Path("to_measure.csv").write_text("\n".join([form[0], *(f"{row}{k % 7}" for k, row in enumerate(form[1:]))]))
    run("tell", "to_measure.csv")
    with plt.rc_context({"text.usetex": True, "axes.facecolor": "red"}), warnings.catch_warnings():
        warnings.simplefilter("error")
        said = run("report")
    assert said.count("\n") == 1 and "Note" not in said
    text = Path("report.html").read_text(encoding="utf-8")
    assert len(text) < 400_000 and "2,940 more arms are not drawn" in text and text.count("data:image/png") == 2


def test_percent_shares_and_millivolts_end_alike(run):
    """The same experiment in other units: sigma unknown, and sigma and the accepted distance given in the unit."""
    for options in ((), ("--sigma", "--accept")):
        ends = []
        for unit, size in (("%", 1.0), ("", 0.01), ("mV", 1e3)):
            for path in Path().glob("[lmet]*"):
                path.unlink()
            given = [word for name, value in zip(options, (1.5, 0.5), strict=False) for word in (name, size * value)]
            said, number = experiment(
                run, {k: size * m for k, m in STRAIGHT.items()}, 1.5 * size, "--unit", unit, *given
            )
            ends.append((re.search(r"^The answer is (\w) ", said, re.MULTILINE)[1], number))
        assert len({answer for answer, _ in ends}) == 1 and ends[0][0] == "e"
        numbers = [number for _, number in ends]
        assert max(numbers) <= 1.05 * min(numbers)
