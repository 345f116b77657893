"""A log replayed where the algorithm computes other requests: what was asked and told holds, and the rule fits that."""

import inspect
import re
import warnings
from functools import partial

import numpy as np
import pytest
import test_contract as contract

from bandits_lab import Lab, log
from bandits_lab.lab import ReplayWarning
from bandits_lib import LinearBandit, Result, Sample, rule, variance
from bandits_lib.fixed_budget import bayes_gap, gse, lingape_budget, od_linbai, peace, ucb_glm
from bandits_lib.fixed_confidence import (
    alba,
    bounded_rage,
    lazy_track_and_stop,
    lingape,
    rage,
    rage_halving,
    sphere_track_and_stop,
)
from bandits_lib.protocol import Loop, Round, one_pull, total

FEW = 40  # requests after which a rule that pulls one by one is left alone


def exact(problem, counts):
    """Rewards with the true means (0 or 1 for the logistic model): whoever fits the pulls finds theta.

    Replicates differ a little, as rules without sigma need it.
    """
    if problem.link == "logistic":
        successes = np.round(counts * problem.means)
        return Sample(counts, successes, successes)
    spread = 0.0 if problem.noise == "bernoulli" else 1e-6
    return Sample(counts, counts * problem.means, counts * problem.means**2 + spread * np.maximum(counts - 1, 0))


def other(asked, step):
    """A few pulls that `asked` gives to its most pulled arm for others; of one pull, another arm. Never the same."""
    changed, most = asked.copy(), int(np.argmax(asked))
    if asked.sum() == 1:
        return one_pull((most + 1 + step % (len(asked) - 1)) % len(asked), len(asked))
    moved = max(1, asked[most] // 5)
    changed[most] -= moved - 1  # one pull more in all
    rest = [k for k in np.flatnonzero(asked) if k != most] or [(most + 1) % len(asked)]
    changed[rest[step % len(rest)]] += moved
    return changed


def as_elsewhere(lab, step):
    """Let the open request of a Lab be what another machine would have computed."""
    lab._missing = other(lab._missing, step)
    (last,) = log.parse(log.to_bytes(lab._head + lab._texts[-1])).entries
    asked = log.entry(lab._request - 1, asked=lab._missing).asked
    lab._texts[-1] = log.text(last._replace(asked=asked, checksum=""))


def on(lab, problem, until=None):
    while lab.ask() is not None and (until is None or lab._request < until):
        lab.tell(exact(problem, lab.ask()))
    return lab


def one_by_one(make, problem):
    """Whether a rule pulls one by one, and how many requests it makes before."""
    rule, reply, before = contract.fresh(make, problem), None, 0
    for _ in range(4):
        try:
            request = rule.send(reply)
        except StopIteration:
            return False, before
        if isinstance(request, Loop):
            return True, before
        reply, before = exact(problem, np.asarray(request)), before + 1
    return False, before


@contract.each_on_both
def test_a_log_with_other_requests_is_replayed_as_it_was(make, problem, tmp_path):
    single, before = one_by_one(make, problem)
    changed = {before + 2, before + 5, before + 6} if single else {1, 2}
    lab = Lab(contract.fresh(make, problem))
    try:
        while lab.ask() is not None and lab._request <= (before + FEW if single else 3):
            if lab._request in changed:
                as_elsewhere(lab, lab._request)
            lab.tell(exact(problem, lab.ask()))
    except ValueError as error:
        assert problem is contract.SPHERE and "each block of pulls must hold every arm once" in str(error)
        return
    assert problem is not contract.SPHERE
    lab.save(tmp_path / "log.csv")
    with pytest.warns(
        ReplayWarning, match=f"request {min(changed)} in the log differs.*differ.*another processor"
    ) as caught:
        again = Lab(contract.fresh(make, problem), tmp_path / "log.csv")
    assert [warning.category for warning in caught].count(ReplayWarning) == 1
    assert str(again.ask()) == str(lab.ask()) and again.requests == lab.requests
    for mine, theirs in zip(again.log, lab.log, strict=True):
        np.testing.assert_array_equal(np.array(mine), np.array(theirs))
    if not single:
        on(lab, problem), on(again, problem)
        contract.same(lab.result, again.result)
        assert again.result.recommendation == problem.best_item
    check_estimates(again, problem)
    again.save(tmp_path / "log.csv")
    if single:
        on(again, problem, until=before + FEW + 5).save(tmp_path / "log.csv")


def check_estimates(lab, problem):
    """What the rule knows of the rewards is what the log says: of a phase its Round, of single pulls a regression."""
    history = lab.result.history if lab.result is not None else ()
    if history and isinstance(history[0], Round):
        counted = sum(phase.counts for phase in history)
        np.testing.assert_array_equal(counted, total(lab.log).counts)
        if problem.link == "identity" and lab.experiment.arguments.get("start") not in ("ridge", "d"):
            of_the_log = history[:2] if lab.experiment.rule == "alba" else history  # its own draws leave an error
            for phase in of_the_log:
                values, pulled = problem.arms @ phase.theta_hat, phase.counts > 0
                np.testing.assert_allclose(values[pulled], problem.means[pulled], atol=1e-9)
    for arms, counts, response, theta, ridge in regressions(lab):
        sample = total(lab.log)
        np.testing.assert_array_equal(counts, sample.counts)
        information = ridge * np.eye(arms.shape[1]) + (arms.T * sample.counts) @ arms
        np.testing.assert_allclose(response, arms.T @ sample.sums, atol=1e-9)
        np.testing.assert_allclose(arms @ theta, arms @ np.linalg.solve(information, arms.T @ sample.sums), atol=1e-6)


def regressions(lab):
    """(arms, counts, response, theta, ridge) of the linear regressions that a rule keeps pull by pull."""
    if inspect.getgeneratorstate(lab._algorithm) == inspect.GEN_CLOSED:
        return
    state = state_inside(lab)
    if hasattr(state, "evidence"):
        evidence = state.evidence
        yield evidence.arms, evidence.counts, evidence.response, evidence.theta, 0.0
    elif lab.experiment.rule == "lingape":
        yield state.fit.arms, state.counts, state.fit.response, state.fit.theta, state.fit.ridge
    elif lab.experiment.rule == "bayes_gap":
        sample = total(lab.log)
        np.testing.assert_array_equal(state.counts, sample.counts)
        np.testing.assert_allclose(state.fit.sums, sample.sums, atol=1e-12)
    elif hasattr(state, "fit") and lab.experiment.arguments.get("mode") != "disjoint":
        fit, arms = state.fit, state.fit.columns.T
        if lab.experiment.rule != "ucb_glm":
            theta = np.linalg.lstsq(arms, fit.values, rcond=None)[0]
            yield arms, state.counts, fit.response, theta, fit.ridge


def state_inside(lab):
    """The state of the rule, or of the sub-generator that it waits for."""
    rule = lab._rule.generator
    while rule.gi_yieldfrom is not None:
        rule = rule.gi_yieldfrom
    return inspect.getgeneratorlocals(rule).get("state")


VARIANCE = {
    "head": lambda: variance.head(WIDE.arms, budget=300, sigma_min=0.1, sigma_max=2.0),
    "uniform_estimator": lambda: variance.uniform_estimator(
        WIDE.arms, budget=300, sigma_min=0.1, sigma_max=2.0, rng=np.random.default_rng(0)
    ),
    "separate_arm_estimator": lambda: variance.separate_arm_estimator(
        WIDE.arms, budget=300, sigma_min=0.1, sigma_max=2.0, rng=np.random.default_rng(0)
    ),
}
WIDE = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0]]), theta=[1.0, 0.5])


@pytest.mark.parametrize("make", VARIANCE.values(), ids=VARIANCE)
def test_variance_estimators_fit_what_was_pulled(make, tmp_path):
    """Every arm has rewards of mean x'theta and of variance exactly 0.25 x'x."""
    lab = Lab(make())
    while lab.ask() is not None:
        as_elsewhere(lab, 1)
        n = lab.ask()
        lab.tell(Sample(n, n * WIDE.means, n * (WIDE.means**2 + 0.25 * (WIDE.arms**2).sum(axis=1))))
    lab.save(tmp_path / "log.csv")
    with pytest.warns(ReplayWarning, match="request 1 in the log differs"):
        again = Lab(make(), tmp_path / "log.csv")
    found = again.result.recommendation
    np.testing.assert_array_equal(found.counts, total(lab.log).counts)
    np.testing.assert_allclose(found.Sigma, 0.25 * np.eye(2), atol=1e-9)


# --- the pulls with which rules that pull one by one begin, and phases that had fewer

OPENING = "bayes_gap fws l_t3c lazy_track_and_stop lin_game lingape lingape_budget ucb_glm".split()
OPENED = {name: made for name, made in contract.ON_ARMS.items() if contract.function(name).__name__ in OPENING}


def test_these_pull_one_by_one_after_one_request():
    assert OPENED.keys() == {name for name, made in contract.ON_ARMS.items() if one_by_one(*made) == (True, 1)}


@pytest.mark.parametrize(("make", "problem"), OPENED.values(), ids=OPENED)
def test_a_rule_begins_with_the_opening_that_was_pulled(make, problem, tmp_path):
    lab = Lab(contract.fresh(make, problem))
    as_elsewhere(lab, 1)
    assert lab.ask().sum() > len(np.flatnonzero(lab.ask()))
    on(lab, problem, until=5).save(tmp_path / "log.csv")
    with pytest.warns(ReplayWarning, match="request 1 in the log differs"):
        again = Lab(contract.fresh(make, problem), tmp_path / "log.csv")
    assert again.ask().tolist() == lab.ask().tolist()
    check_estimates(again, problem)
    state = state_inside(again)
    now = state.evidence.now if hasattr(state, "evidence") else state.now
    assert now.pulls == total(again.log).counts.sum()


def test_an_opening_of_other_arms_sets_the_constant_of_the_threshold():
    """Lazy Track-and-Stop forces the arms that were pulled, and c is the least eigenvalue of their sum."""
    rule = lazy_track_and_stop(contract.ARMS, delta=0.1)
    asked, pulled = next(rule), np.array([0, 1, 2, 1, 0])
    assert asked.tolist() == [1, 1, 1, 0, 0]
    state = rule.send(exact(contract.EASY, pulled)).state
    first = contract.ARMS[[1, 2, 3]]
    assert sorted(state.evidence.first) == [1, 2, 3] and state.evidence.now.pulls == state.now.since == 4
    c = np.linalg.eigvalsh(first.T @ first)[0]
    assert state.evidence.c == state.now.eigenvalue == pytest.approx(c)
    assert state.W == pytest.approx([0, 1, 1, 1, 0])  # three pulls before this one, by uniform weights


def test_only_a_forced_pull_that_was_made_hands_on_the_turn():
    rule = lazy_track_and_stop(np.eye(3), delta=0.1)
    loop = rule.send(exact(LinearBandit(np.eye(3), theta=[1.0, 0.2, 0.1]), next(rule)))
    loop.state.now.turn, loop.state.now.forced = 0, True
    forced = int(loop.state.evidence.first[0])
    loop.update(loop.state, (forced + 1) % 3, 0.0)
    assert loop.state.now.turn == 0
    loop.update(loop.state, forced, 0.0)
    assert loop.state.now.turn == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: lingape_budget(np.eye(3), budget=3, delta=0.1),
        lambda: ucb_glm(np.eye(3), budget=3, alpha=1.0),
        lambda: bayes_gap(np.eye(3), budget=3),
    ],
)
def test_an_opening_beyond_the_budget_ends_the_rule(make):
    lab = Lab(make())
    as_elsewhere(lab, 0)
    n = lab.ask()
    assert n.sum() == 4
    lab.tell(Sample(n, n * [1.0, 0.0, 0.0], n * [1.0, 0.0, 0.0]))
    assert lab.ask() is None and lab.result is not None


@pytest.mark.parametrize("goal", [{}, {"objective": "level", "threshold": 0.35}])
def test_a_halving_phase_of_fewer_pulls_decides_by_the_width_it_reached(goal):
    world = LinearBandit(np.eye(3), theta=[1.0, 0.4, -0.2])
    rules = [Lab(rage_halving(world.arms, delta=0.1, **goal)) for _ in range(2)]
    rules[1]._missing = rules[1].ask() // 9  # widths three times as large
    steady, fewer = (on(lab, world).result.history for lab in rules)
    assert steady[0].width <= 0.5 < fewer[0].width
    shortest = [row[1].active.tolist() if len(row) > 1 else [0] for row in (steady, fewer)]
    assert len(shortest[0]) < len(shortest[1]) == 3


# --- what a rule cannot use in the place of what it asks for

LACKING = {
    "rage": lambda: rage(np.eye(3), delta=0.1),
    "rage (halving)": lambda: rage_halving(np.eye(3), delta=0.1),
    "rage (level)": lambda: rage_halving(np.eye(3), delta=0.1, objective="level", threshold=0.5),
    "bounded_rage": lambda: bounded_rage(np.eye(3), delta=0.1),
    "alba": lambda: alba(np.eye(3), delta=0.1, theta_bound=1.0, rng=np.random.default_rng(0)),
    "gse": lambda: gse(np.eye(3), budget=60),
    "od_linbai": lambda: od_linbai(np.eye(3), budget=60),
    "peace": lambda: peace(np.eye(3), budget=60, rng=np.random.default_rng(0)),
    "peace (ratio)": lambda: peace(np.eye(3), budget=60, objective="ratio", rng=np.random.default_rng(0)),
    "ucb_glm": lambda: ucb_glm(np.eye(3), budget=60, alpha=1.0),
    "lazy_track_and_stop": lambda: lazy_track_and_stop(np.eye(3), delta=0.1),
    "head": lambda: variance.head(np.eye(3), budget=60, sigma_min=0.1, sigma_max=2.0),
    "sphere_track_and_stop": lambda: sphere_track_and_stop(3, epsilon=0.5, delta=0.1),
}


@pytest.mark.parametrize("make", LACKING.values(), ids=LACKING)
def test_pulls_that_leave_an_arm_out_are_refused_with_the_line(make, tmp_path):
    lab = Lab(make())
    lab.save(tmp_path / "log.csv")
    first = tmp_path / "log.csv"
    text = first.read_text()
    third = next(line for line in text.splitlines() if line.startswith("1,2,"))
    first.write_text(text.replace(third + "\n", ""))
    with pytest.warns(ReplayWarning, match="request 1 in the log differs"):
        again = Lab(make(), first)
    assert again.ask()[2] == 0 and again.ask()[:2].all()
    n = again.ask()
    with pytest.raises(ValueError, match="cannot replace the pulls|each block of pulls must hold"):
        again.tell(Sample(n, n * 0.0, n * 0.0))
    told = log.entry(1, Sample(n, n * 0.0, n * 0.0))
    first.write_text(first.read_text() + log.text(told))
    with pytest.raises(ValueError, match=r"log.csv, line \d+: .*another processor, version of the library or rounding"):
        Lab(make(), first)


def test_several_pulls_where_the_rule_pulls_one_by_one_are_refused(tmp_path):
    def make():
        return lingape(np.eye(3), delta=0.1, theta_bound=1.0)

    lab = on(Lab(make()), LinearBandit(np.eye(3), theta=[1.0, 0.2, 0.1]), until=4)
    lab.save(tmp_path / "log.csv")
    path = tmp_path / "log.csv"
    arm = int(np.argmax(lab.ask()))
    three = log.entry(4, Sample(3 * lab.ask(), np.zeros(3), np.zeros(3)))
    path.write_text(path.read_text().replace(f"4,{arm},1,0", f"4,{arm},3,0") + log.text(three))
    with pytest.raises(ValueError, match="3 pulls at once, but this rule pulls one by one"):
        Lab(make(), path)


# --- the end, here and there


@rule
def until_sure(arms, limit):
    """One pull of each arm until the sum of rewards passes `limit`; the test's other machine has another one."""
    reached = 0.0
    while reached < LIMIT[0]:
        reached += (yield np.array([1, 1])).sums.sum()
    return Result(int(reached))


LIMIT = [3.0]
TWO = Sample(np.array([1, 1]), np.array([0.5, 0.5]), np.array([0.25, 0.25]))


def long_log(path, limit):
    LIMIT[0] = limit
    lab = Lab(until_sure(np.eye(2), 0.0))
    while lab.ask() is not None and len(lab.log) < 5:
        lab.tell(TWO)
    lab.save(path)
    return lab


def test_an_algorithm_that_is_done_before_its_log_is(tmp_path):
    long_log(tmp_path / "log.csv", 100.0)
    LIMIT[0] = 3.0
    with pytest.warns(
        ReplayWarning, match="here the algorithm is done after request 3, .* its 4 further measurements are kept"
    ):
        lab = Lab(until_sure(np.eye(2), 0.0), tmp_path / "log.csv")
    assert lab.result.recommendation == 3 and len(lab.log) == 5 and lab.requests == [1, 2, 3, 4, 5]
    saved = (tmp_path / "log.csv").read_bytes()
    lab.save(tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_bytes() == saved


def test_an_algorithm_that_was_done_and_is_not_any_more(tmp_path):
    assert long_log(tmp_path / "log.csv", 3.0).result is not None
    LIMIT[0] = 4.0
    with pytest.warns(ReplayWarning, match="was done after request 3, but here it asks for more"):
        lab = Lab(until_sure(np.eye(2), 0.0), tmp_path / "log.csv")
    lab.tell(TWO)
    lab.save(tmp_path / "log.csv")
    lines = [line for line in (tmp_path / "log.csv").read_text().splitlines() if line and line[0] != "#"]
    assert "\n4,0,1,0,0,0\n4,1,1,0,0,0\n4,0,0,1,0.5,0.25\n" in "\n".join(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Lab(until_sure(np.eye(2), 0.0), tmp_path / "log.csv").result.recommendation == 4


# --- any rule, any partial answers, saved and opened again at every step

BUDGET = {name: partial(make, 60) for name, make in contract.BUDGETED.items()}
ANY = {**contract.IN_THE_WORLD, **{name: (make, contract.ON_ARMS[name][1]) for name, make in BUDGET.items()}}


@pytest.mark.parametrize("seed", range(30))
def test_any_experiment_in_any_pieces_ends_as_the_uninterrupted_one(seed, tmp_path):
    rng = np.random.default_rng(seed)
    name = sorted(ANY)[seed * 7 % len(ANY)]
    make, problem = ANY[name]
    steady, lab, path = Lab(contract.fresh(make, problem)), Lab(contract.fresh(make, problem)), tmp_path / "log.csv"
    for _ in range(25):
        if steady.ask() is None:
            break
        wanted, parts = steady.ask(), []
        while wanted.any():
            part = rng.binomial(wanted, rng.choice([0.2, 0.7, 1.0]))
            parts.append(problem.pull(part, rng))
            wanted = wanted - part
        for part in parts:
            lab.tell(part)
            lab.save(path)
            if rng.random() < 0.5:
                lab = Lab(contract.fresh(make, problem), path)
        steady.tell(total(parts))
    assert str(lab.ask()) == str(steady.ask()) and (lab.result is None) == (steady.result is None)
    if steady.result is not None:
        contract.same(steady.result, lab.result)
    told, logged = total(steady.log), total(Lab(contract.fresh(make, problem), path).log)
    np.testing.assert_array_equal(told.counts, logged.counts)
    np.testing.assert_allclose(told.sums, logged.sums, rtol=1e-12)
    assert not re.search("left out|done after request 0", path.read_text())
