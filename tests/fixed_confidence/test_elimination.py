"""Selective elimination: the pulls of the plain rules, what "stop" and "sample" promise, and how often they err."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from bandits_lib import LinearBandit, Sample, glr, instances, play
from bandits_lib.fixed_confidence import fws, l_t3c, lazy_track_and_stop, lin_game, lingape
from bandits_lib.glr import LOOKS, next_look
from bandits_lib.plain.glr import eliminates
from bandits_lib.protocol import Loop, unroll

RULES = [fws, l_t3c, lazy_track_and_stop, lin_game, lingape]
FAST = {rule.__name__: rule for rule in RULES}
PROBLEMS = {
    "sphere": LinearBandit(instances.sphere(12, np.random.default_rng(1), d=3).arms, theta=[2.0, 1.0, 0.0]),
    "items": LinearBandit(
        np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0], [0.2, 0.9, 0.4]], theta=[2.0, 0.5, 0.2]
    ),
}
TIED = LinearBandit(np.eye(4), theta=[1.0, 0.5, 0.5, 0.0])
each = pytest.mark.parametrize("name", FAST)


def made(make, name, problem, seed, **options):
    """A rule on a problem, with the arguments that it needs."""
    if name == "lingape":
        options |= {"theta_bound": float(np.linalg.norm(problem.theta))}
    if name == "l_t3c":
        options |= {"rng": np.random.default_rng(seed + 100)}
    return make(problem.arms, problem.items, delta=0.1, **options)


def played(name, problem, seed, eliminate, **options):
    rule = made(FAST[name], name, problem, seed, eliminate=eliminate, **options)
    return play(rule, problem, np.random.default_rng(seed), max_pulls=10**6)


@pytest.mark.parametrize("eliminate", ["stop", "sample"])
@pytest.mark.parametrize("problem", PROBLEMS)
@each
def test_the_pulls_are_those_of_the_plain_rule(name, problem, eliminate):
    plain, problem = getattr(import_module(f"bandits_lib.plain.{name}"), name), PROBLEMS[problem]
    runs = [
        play(made(make, name, problem, 0, eliminate=eliminate), problem, np.random.default_rng(0), max_pulls=400)
        for make in (plain, FAST[name])
    ]
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)
    assert runs[0].stopped == runs[1].stopped
    assert not runs[0].stopped or runs[0].result.recommendation == runs[1].result.recommendation


def test_an_accepted_distance_eliminates_no_more():
    """With epsilon the rule stops earlier, but only bounds of at most 0 eliminate, as in the plain rule."""
    problem, options = PROBLEMS["sphere"], {"eliminate": "sample", "epsilon": 0.2}
    plain = made(import_module("bandits_lib.plain.lingape").lingape, "lingape", problem, 0, **options)
    fast = made(lingape, "lingape", problem, 0, **options)
    runs = [play(rule, problem, np.random.default_rng(0), 600) for rule in (plain, fast)]
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)
    assert runs[0].stopped and runs[1].stopped


def test_the_times_are_64_while_t_doubles():
    assert [next_look(t - 1) == t for t in range(1, 3_000)] == [eliminates(t) for t in range(1, 3_000)]
    assert [sum(eliminates(t) for t in range(n, 2 * n)) for n in (16, 64, 128, 4_096)] == [16, LOOKS, LOOKS, LOOKS]


# ---- what "stop" and "sample" promise


def watched(rule, seen):
    """Play `rule`, and put (rows left, rows that the sampling rule knows) into `seen` whenever a trace is due."""
    reply = None
    while True:
        try:
            request = rule.send(reply)
        except StopIteration as stop:
            return stop.value
        reply = yield request._replace(look=partial(note, seen)) if isinstance(request, Loop) else request


def note(seen, state):
    if hasattr(state, "evidence"):
        seen.append((set(state.evidence.rows[state.evidence.left]), set(state.evidence.rows)))
    else:
        seen.append((set(np.flatnonzero(state.left)), set(np.flatnonzero(state.fit.values > -np.inf))))
    return 0.0, 0.0, 0


@pytest.mark.parametrize("eliminate", ["none", "stop", "sample"])
@each
def test_an_item_that_left_does_not_come_back(name, eliminate):
    """Over more than 1,000 pulls, after which everything is computed afresh; the best item stays."""
    problem, seen = LinearBandit(np.eye(4), theta=[1.0, 0.8, 0.2, -0.5]), []
    rule = watched(made(FAST[name], name, problem, 0, eliminate=eliminate), seen)
    run = play(rule, problem, np.random.default_rng(0), 20_000, trace=20)
    left, known = zip(*seen, strict=True)
    assert run.stopped and run.counts.sum() > 1_100
    assert all(later <= earlier for earlier, later in zip(left, left[1:], strict=False))
    assert all(0 in rows for rows in left)
    assert known == (left if eliminate == "sample" else ({0, 1, 2, 3},) * len(known))
    assert (len(left[-1]) < 4) == (eliminate != "none")


@each
def test_with_stop_the_pulls_are_the_same_but_end_no_later(name):
    pulls = {"none": [], "stop": []}
    for seed in range(12):
        none, stop = (played(name, TIED, seed, eliminate) for eliminate in pulls)
        assert (stop.counts <= none.counts).all()
        for eliminate, run in zip(pulls, (none, stop), strict=True):
            assert run.stopped
            pulls[eliminate].append(run.counts.sum())
    assert sum(pulls["stop"]) < sum(pulls["none"]) or name in ("lin_game", "l_t3c")  # their last items leave together


def test_an_eliminated_item_that_leads_again_can_be_the_answer():
    """As without elimination: it beats the others now. Proposition 2's event has failed."""
    arms = np.eye(3)
    rule = lin_game(arms, delta=0.1, eliminate="stop")
    next(rule)
    counts, sums = np.full(3, 100), np.array([0.0, 100.0, 90.0])
    loop = rule.send(Sample(counts, sums, sums**2))
    evidence = loop.state.evidence
    assert glr.stopped(evidence)
    loop = rule.send(None)
    evidence = loop.state.evidence
    assert evidence.left.tolist() == [False, True, True]
    for _ in range(2_000):
        glr.add_reward(evidence, 0, 5.0)
    assert glr.stopped(evidence)
    with pytest.raises(StopIteration) as stop:
        rule.send(None)
    assert stop.value.value.recommendation == 0


# ---- how often the answer is wrong

NEAR_TIE = [0.4, 0.0, -0.2, -5.0]  # the last item leaves after few pulls, when the order of the others is not known
DELTA, NOTICED = 0.1, {100: 0.35, 1_000: 0.18}  # {runs: the true error that they notice with probability 0.99}
both_tiers = pytest.mark.parametrize("runs", [100, pytest.param(1_000, marks=pytest.mark.slow)])
both_modes = pytest.mark.parametrize("eliminate", ["stop", "sample"])


def error_rate(name, eliminate, runs, sigma=1.0, opened=False):
    """The share of wrong answers of a rule that is told sigma = 1; a small ridge keeps the bias of LinGapE small."""
    problem, wrong = LinearBandit(np.eye(4), theta=NEAR_TIE, sigma=sigma), 0
    options = {"eliminate": eliminate} | ({"ridge": 0.01} if name == "lingape" else {})
    for seed in range(runs):
        rule = made(FAST[name], name, problem, seed, **options)
        rule = unroll(rule) if opened else rule
        run = play(rule, problem, np.random.default_rng(seed), 10**6, misspecified=True)
        assert run.stopped
        wrong += run.result.recommendation != 0
    return wrong / runs


def allowed(runs):
    """A rule whose error probability is exactly delta passes with probability 0.9999."""
    return stats.binom.ppf(0.9999, runs, DELTA) / runs


@both_tiers
@both_modes
@each
def test_error_rates_stay_below_delta(name, eliminate, runs):
    assert error_rate(name, eliminate, runs) <= allowed(runs)


@both_tiers
@both_modes
@each
def test_a_threshold_that_is_too_small_is_noticed(name, eliminate, runs):
    """The negative control: with four times the noise, the threshold is 16 times too small."""
    assert error_rate(name, eliminate, runs, sigma=4.0) > allowed(runs)


TOO_SMALL = 100


@both_modes
@each
def test_a_wrong_elimination_is_noticed(name, eliminate, monkeypatch):
    """The second control: items leave by a threshold that is 100 times too small, and rules stop by the right one."""
    lingape_module = import_module("bandits_lib.fixed_confidence.lingape")
    unbeaten, compare_left = glr.unbeaten, lingape_module.compare_left

    def unbeaten_too_small(evidence):
        evidence.status.threshold /= TOO_SMALL
        return unbeaten(evidence)

    def compare_left_too_small(state):
        bounds, values = state.leads.copy(), state.fit.values
        behind = np.where(bounds > -np.inf, values[state.status.leader] - values, 0.0)
        state.leads[:] = (bounds + behind) / np.sqrt(TOO_SMALL) - behind  # widths are roots of thresholds
        compare_left(state)
        state.leads[:] = bounds
        return compare_left(state)

    monkeypatch.setattr(glr, "unbeaten", unbeaten_too_small)
    monkeypatch.setattr(lingape_module, "compare_left", compare_left_too_small)
    monkeypatch.setattr(lingape_module, "choose", lingape_module.choose.py_func)  # calls the changed function
    assert error_rate(name, eliminate, 100, opened=name == "lingape") > allowed(100)


@pytest.mark.parametrize(("runs", "error"), NOTICED.items())
def test_what_so_many_runs_notice(runs, error):
    assert stats.binom.sf(allowed(runs) * runs, runs, error) > 0.99


@each
def test_a_wrong_value_is_refused(name):
    with pytest.raises(ValueError, match="eliminate must be"):
        play(made(FAST[name], name, TIED, 0, eliminate="always"), TIED, np.random.default_rng(0))
