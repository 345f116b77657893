"""A rule from a file of its own: what it is told, that it needs no file where it plays, and one sentence per fault."""

import pickle
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.simulate import fingerprint, own_rule

EXAMPLE = Path(__file__).resolve().parents[2] / "notebooks" / "example_rule.py"
EASY = instances.benchmark(2, angle=1.0)
HEAD = "import numpy as np\n\nfrom bandits_lib import Result\n\n\n"
BODY = "    sample = yield np.full(len(arms), 5)\n    return Result(int(np.argmax(sample.sums / sample.counts)))\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """written(text): the file my_rule.py of the current folder holds that text."""
    monkeypatch.chdir(tmp_path)
    return lambda text: (tmp_path / "my_rule.py").write_text(HEAD + text)


def test_the_rule_is_told_what_its_arguments_are_called(written, capsys):
    written(
        "def mine(arms, items, *, delta, sigma, theta_bound, theta_star, rng, patience=3):\n"
        "    print(items.shape, delta, sigma, theta_bound, theta_star, rng.integers(1, 2), patience)\n" + BODY
    )
    problem = LinearBandit(np.eye(2), [[1.0, 1.0], [3.0, 0.0], [0.0, 1.0]], theta=[3.0, 4.0], sigma=[0.5, 2.0])
    mine = own_rule.load("my_rule.py:mine", delta=0.1, budget=7)
    assert mine.given == {"delta": 0.1} and mine.takes_items()
    assert monte_carlo({"mine": mine}, problem, runs=1)["pulls"].tolist() == [10]
    assert capsys.readouterr().out == "(3, 2) 0.1 2.0 5.0 [3. 4.] 1 3\n"


def test_it_plays_as_the_function_does():
    loaded = own_rule.load(f"{EXAMPLE}:uniform_glr", delta=0.1)
    known = {}
    exec(EXAMPLE.read_text(), known)
    direct = known["uniform_glr"](EASY.arms, EASY.items, delta=0.1, sigma=1.0)
    one, two = (play(rule, EASY, np.random.default_rng(3)) for rule in (loaded(EASY, None), direct))
    assert one.result == two.result and one.counts.tolist() == two.counts.tolist()


@pytest.mark.parametrize("decorator", ["", 'from bandits_lib import rule\n\n\n@rule(label="Mine")\n'])
def test_the_file_need_not_be_there_any_more(written, tmp_path, decorator):
    """In this process, in others, and after pickling."""
    written(f"{decorator}def mine(arms):\n{BODY}")
    mine = own_rule.load("my_rule.py:mine")
    (tmp_path / "my_rule.py").unlink()
    tables = [monte_carlo({"mine": rule}, EASY, runs=4, n_jobs=jobs).drop(columns="seconds")
              for rule, jobs in ((mine, 1), (pickle.loads(pickle.dumps(mine)), 1), (mine, 2))]  # fmt: skip
    pd.testing.assert_frame_equal(tables[0], tables[1])
    pd.testing.assert_frame_equal(tables[0], tables[2])


def test_a_changed_file_is_another_experiment_and_is_played_at_once(written, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[monte_carlo.__module__], "call_number", lambda: 0)
    monkeypatch.setattr(fingerprint, "executed", list)
    found, keep = [], tmp_path / "kept"
    for pulls in (5, 6):
        written("def mine(arms):\n" + BODY.replace("5)", f"{pulls})"))
        mine = own_rule.load("my_rule.py:mine")
        table = monte_carlo({"mine": mine}, EASY, runs=1, checkpoint=f"{keep}/")
        found.append(table["pulls"].item())
    assert found == [15, 18]
    assert len(list(keep.glob("*.jsonl"))) == 2


def test_compiled_loops_may_stand_in_the_file(written):
    written(
        "from typing import NamedTuple\n\nfrom numba import njit\n\nfrom bandits_lib.protocol import Loop\n\n\n"
        "class State(NamedTuple):\n    counts: np.ndarray\n    sums: np.ndarray\n\n\n"
        "@njit\ndef choose(state):\n    return -1 if state.counts.sum() == 12 else np.argmin(state.counts)\n\n\n"
        "@njit\ndef update(state, arm, reward):\n    state.counts[arm] += 1\n    state.sums[arm] += reward\n\n\n"
        "def mine(arms):\n    state = State(np.zeros(len(arms), np.int64), np.zeros(len(arms)))\n"
        "    yield Loop(choose, update, state)\n    return Result(int(np.argmax(state.sums / state.counts)))\n"
    )
    run = play(own_rule.load("my_rule.py:mine")(EASY, None), EASY, np.random.default_rng(0))
    assert run.counts.tolist() == [4, 4, 4]


# --- faults: what is said before anything is played, and in the middle of a run


@pytest.mark.parametrize(
    "place, text, message",
    [
        ("my_rule.py", "", r'a rule is named "<file>.py:<function>", .* got \'my_rule.py\''),
        ("your_rule.py:mine", "", "there is no file your_rule.py in the folder .*; its folder has my_rule.py"),
        ("my_rule.py:mine", "def other(arms):\n" + BODY, "my_rule.py has no function mine; it has other"),
        ("my_rule.py:mine", "def mine(arms:\n", r"my_rule.py cannot be run: SyntaxError: .* \(my_rule.py, line 6\)$"),
        (
            "my_rule.py:mine",
            "import helpers_of_mine\n",
            "my_rule.py cannot be run: ModuleNotFoundError: No module named 'helpers_of_mine'",
        ),
        ("my_rule.py:mine", "def mine(arms, gap):\n" + BODY, "has the argument gap, for which there is no value"),
        ("my_rule.py:mine", "def mine(delta=1):\n" + BODY, "my_rule.py:mine has no argument `arms`; it has delta"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_sentence(written, place, text, message):
    written(text)
    with pytest.raises(ValueError, match=message) as error:
        own_rule.load(place, delta=0.05)
    assert "\n" not in str(error.value)


def test_a_second_file_of_the_reader_is_refused_though_it_could_be_imported(written, tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    written("from beside import x\n\n\ndef mine(arms):\n" + BODY)
    with pytest.raises(ValueError, match="my_rule.py imports beside"):
        own_rule.load("my_rule.py:mine")
    monkeypatch.delitem(sys.modules, "beside")


@pytest.mark.parametrize(
    "body, message",
    [
        ("    return Result(0)\n", "my_rule.py:mine is not a generator: it must `yield` the pulls"),
        ("    yield\n", "asked for NoneType None; it must yield"),
        ('    raise ValueError("one\\n\\n two")\n    yield\n', "raised ValueError in line 7: one two$"),
        ("    yield 3\n", r"asked for int 3; it must yield how often to pull each of the 3 arms, .* \(3,\)"),
        ("    yield [0.5, 1, 1]\n", r"asked for list \[0.5, 1, 1\]; it must yield"),
        (BODY.replace("Result(int(", "(int("), r"returned int [012]; it must return Result\(<row of an item>\)"),
        ("    yield [1, 1, 1]\n", "returned NoneType None; it must return Result"),
        ("    yield [1, 1, 1]\n    return Result(3)\n", "recommended int 3; it must be the row of an item, 0 to 2"),
        ("    yield [1, 1, 1]\n    return Result([1][7])\n", "raised IndexError in line 8: list index out of range"),
        ("    while True:\n        pass\n    yield\n", "was still going after 0.2 seconds of one run"),
    ],
)
def test_what_goes_wrong_in_a_run_is_told_in_one_sentence(written, body, message):
    written("def mine(arms):\n" + body)
    mine = own_rule.load("my_rule.py:mine", max_seconds=0.2 if "0.2 seconds" in message else 60)
    with pytest.raises(RuntimeError, match=message) as error:
        monte_carlo({"mine": mine}, EASY, runs=1)
    assert str(error.value).startswith("my_rule.py:mine ") and "\n" not in str(error.value)


def test_a_rule_that_never_stops_is_cut_off_and_told_in_the_rehearsal(written):
    written("def mine(arms):\n    while True:\n        yield [100] * len(arms)\n")
    mine = own_rule.load("my_rule.py:mine")
    table = monte_carlo({"mine": mine}, EASY, runs=2, max_pulls=1_000)
    assert table["pulls"].tolist() == [900, 900] and not table["stopped"].any() and not table["correct"].any()
    sentence = "my_rule.py:mine had not stopped after 1,000 pulls of an easy problem (3 arms in 2 dimensions)"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        own_rule.rehearse(mine, EASY, np.random.default_rng(0), 1_000)


# --- in the figures of notebooks

SIZES = {d: instances.benchmark(d, angle=1.0) for d in (2, 3)}


def test_without_a_rule_nothing_is_played():
    assert own_rule.played("", SIZES, {"delta": 0.1}, by="d") is None
    assert pd.concat([pd.DataFrame({"x": [1]}), None]).shape == (1, 1)


def test_a_rule_is_played_on_the_streams_of_the_others_and_told_what_the_figure_says(written, capsys):
    written("def mine(arms, *, delta, sigma, budget):\n    print(delta, sigma, budget)\n" + BODY)
    told, how = {"delta": lambda d: d / 10, "sigma": 0.5}, {"by": "d", "runs": 2, "streams": "own", "seed": 4}
    rows = own_rule.played("my_rule.py:mine", SIZES, told, **how)
    assert capsys.readouterr().out.splitlines() == 2 * ["0.2 0.5 None"] + 2 * ["0.3 0.5 None"]
    assert rows["algorithm"].unique() == [own_rule.OWN]
    drawn = {d: partial(own_rule._reordered, problem) for d, problem in SIZES.items()}
    others = monte_carlo({"mine": own_rule.load("my_rule.py:mine", delta=0.2, budget=1)}, drawn, **how)
    same = ["d", "run", "pulls", "correct", "recommendation"]
    pd.testing.assert_frame_equal(rows[same], others[same])


@pytest.mark.parametrize("items, means", [(None, False), (None, True), (1.5 * np.eye(12)[:5], False)])
def test_no_row_is_known_to_be_the_best(written, items, means):
    """The order of the arms is drawn for each run; which arm is the best, and with which noise, stays the same."""
    written("def first(arms, items, *, delta):\n    yield np.arange(len(arms)) + 1\n    return Result(0)\n")
    truth = {"means": np.arange(12.0)[::-1]} if means else {"theta": np.arange(12.0)[::-1]}
    problem = LinearBandit(np.eye(12), items, sigma=np.arange(12), **truth)
    rows = own_rule.played("my_rule.py:first", problem, {"delta": 0.1}, runs=60)
    assert 0 < rows["correct"].sum() < 25 and (rows["pulls"] == 78).all()
    drawn = own_rule._reordered(problem, np.random.default_rng(0))
    order = drawn.arms.argmax(axis=1)
    assert (order != np.arange(12)).any() and (drawn.sigma == problem.sigma[order]).all()
    assert (drawn.means == problem.means[order]).all() and sorted(drawn.gaps) == sorted(problem.gaps)
    assert (drawn.items is drawn.arms) == (items is None)


def test_an_arm_is_the_answer_of_a_rule_that_knows_no_items(written):
    """Items may be the arms without a repeated one, as in weltz2023's code; another arm is no answer."""
    written("def mine(arms, *, delta):\n" + BODY)
    arms = np.vstack([np.eye(3), np.eye(3)[:1]])
    for theta in np.eye(3):
        problem = LinearBandit(arms, np.eye(3), theta=theta, sigma=0.0)
        assert own_rule.played("my_rule.py:mine", problem, {"delta": 0.1}, runs=12)["correct"].all()
    few = LinearBandit(np.eye(3), np.eye(3)[:2], theta=[0.0, 0.0, 1.0], sigma=0.0)
    with pytest.raises(RuntimeError, match="recommended arm 2, which is no item: give it an argument `items`"):
        monte_carlo({"mine": own_rule.load("my_rule.py:mine", delta=0.1)}, few, runs=1)


def test_a_run_is_cut_off_at_the_limit_or_at_twenty_times_the_longest_of_the_others(written, monkeypatch):
    written("def mine(arms, *, delta):\n    while True:\n        yield [1] * len(arms)\n")
    monkeypatch.setattr(own_rule, "LIMIT", 700)
    for longest, limit in ((10, 700), (50, 1000)):
        beside = pd.DataFrame({"pulls": [1, longest]})
        rows = own_rule.played("my_rule.py:mine", EASY, {"delta": 0.1}, beside=beside, runs=1)
        assert not rows["stopped"].any() and limit - 3 < rows["pulls"].item() <= limit


LOOP = """from typing import NamedTuple

from numba import njit

from bandits_lib.protocol import Loop


class State(NamedTuple):
    counts: np.ndarray


@njit
def choose(state):
    return 0


@njit
def update(state, arm, reward):
    state.counts[arm] += 1


def mine(arms, *, budget):
    yield Loop(choose, update, State(np.zeros(len(arms), np.int64)))
    return Result(0)
"""


@pytest.mark.parametrize(
    "text", ["def mine(arms, *, budget):\n    yield [budget] * len(arms)\n    return Result(0)\n", LOOP]
)
def test_a_rule_that_asks_for_more_than_its_budget_is_told_so(written, text):
    written(text)
    with pytest.raises(RuntimeError, match="^my_rule.py:mine asked for more pulls than its budget of 1,000$"):
        own_rule.played("my_rule.py:mine", EASY, {"budget": 1000}, runs=1)


def test_the_whole_budget_may_be_spent(written):
    written("def mine(arms, *, budget):\n    yield [budget, 0, 0]\n    return Result(0)\n")
    assert own_rule.played("my_rule.py:mine", EASY, {"budget": 9}, runs=1)["pulls"].tolist() == [9]


@pytest.mark.parametrize(
    "arguments, told, items, message",
    [
        ("delta", {"budget": 3}, False, "has no argument `budget`, and this figure has a fixed budget"),
        ("budget", {"delta": 0.1}, False, "has no argument `delta`, and this figure has a fixed confidence"),
        ("delta", {"delta": 0.1}, True, "has no argument `items`, and this figure ranks items that are not its arms"),
        ("delta, budget, items", {"delta": 0.1}, True, None),
        ("delta, budget, items", {"budget": 30}, False, None),
    ],
)
def test_a_rule_stands_in_the_figures_whose_kind_its_arguments_say(written, arguments, told, items, message):
    written(f"def mine(arms, *, {arguments}):\n" + BODY)
    play_it = lambda: own_rule.played("my_rule.py:mine", EASY, told, items=items, runs=1)  # noqa: E731
    if message is None:
        assert play_it()["stopped"].all()
    else:
        with pytest.raises(ValueError, match=f"^my_rule.py:mine {re.escape(message)}$"):
            play_it()


# --- the rules of the example


@pytest.mark.slow
def test_the_example_keeps_its_promise_and_breaks_it_when_told_less_noise():
    runs, delta, close = 300, 0.2, LinearBandit(np.eye(3), theta=[0.3, 0.0, 0.0])
    honest = own_rule.load(f"{EXAMPLE}:uniform_glr", delta=delta)
    errors = (~monte_carlo({"mine": honest}, close, runs=runs)["correct"]).sum()
    assert binom.sf(errors - 1, runs, delta) > 1e-4
    fooled = own_rule.load(f"{EXAMPLE}:uniform_glr", delta=delta, sigma=0.2)
    errors = (~monte_carlo({"mine": fooled}, close, runs=runs)["correct"]).sum()
    assert binom.sf(errors - 1, runs, delta) < 1e-4


@pytest.mark.parametrize("budget", [3, 10, 300])
def test_the_example_with_a_budget_spends_it(budget):
    loaded = own_rule.load(f"{EXAMPLE}:uniform_budget", budget=budget)
    counts = play(loaded(EASY, None), EASY, np.random.default_rng(0)).counts
    assert counts.sum() == budget and np.ptp(counts) <= 1 and not loaded.takes_items()
