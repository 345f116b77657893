"""Test what every algorithm must do. A new algorithm is one more line in ALGORITHMS."""

import inspect
import pickle
import re
import types
from collections.abc import Generator
from functools import partial

import cloudpickle
import numpy as np
import pytest

from bandits_lab import Lab
from bandits_lib import LinearBandit, Result, fixed_budget, fixed_confidence, play, rule, variance
from bandits_lib.fixed_budget import bayes_gap, gse, lingape_budget, linucb, od_linbai, peace, ucb_glm
from bandits_lib.fixed_confidence import (
    alba,
    bounded_rage,
    fws,
    h_rage,
    l_t3c,
    lazy_track_and_stop,
    lin_game,
    lingape,
    rage,
    rage_halving,
    sphere_track_and_stop,
    xy_adaptive,
    xy_oracle,
    xy_static,
)
from bandits_lib.protocol import PULLS, Loop, Round, Trace, unroll
from bandits_lib.rules import PLAYED
from bandits_lib.simulate.monte_carlo import sphere_regret
from bandits_lib.variance import head, separate_arm_estimator, uniform_estimator

ALGORITHMS = {
    "rage": lambda arms, items, rng: rage(arms, items, delta=0.05),
    "rage (leader)": lambda arms, items, rng: rage(arms, items, delta=0.05, eliminate="leader"),
    "rage (regret rounding)": lambda arms, items, rng: rage(arms, items, delta=0.05, rounding="regret"),
    "rage (sigma unknown)": lambda arms, items, rng: rage(arms, items, delta=0.05, sigma=None, scale=None),
    "rage (costs)": lambda arms, items, rng: rage(arms, items, delta=0.05, cost=1.0 + np.arange(len(arms))),
    "rage (halving)": lambda arms, items, rng: rage_halving(arms, items, delta=0.05),
    "bounded_rage": lambda arms, items, rng: bounded_rage(arms, items, delta=0.05),
    "bounded_rage (short phases)": lambda arms, items, rng: bounded_rage(arms, items, delta=0.05, growth=1.3),
    "h_rage": lambda arms, items, rng: h_rage(arms, items, delta=0.05, sigma_min=0.5, sigma_max=1.5, burn_in=2000),
    "xy_static": lambda arms, items, rng: xy_static(arms, items, delta=0.05, rng=rng),
    "xy_static (sigma unknown)": lambda arms, items, rng: xy_static(arms, items, delta=0.05, sigma=None, rng=rng),
    "xy_static (published)": lambda arms, items, rng: xy_static(
        arms, items, delta=0.05, phases="odd", start="d", rng=rng
    ),
    "xy_oracle": lambda arms, items, rng: xy_oracle(arms, items, theta_star=THETA, delta=0.05, rng=rng),
    "xy_oracle (weighted)": lambda arms, items, rng: xy_oracle(
        arms, items, theta_star=THETA, delta=0.05, sigma=np.linspace(0.5, 1.5, len(arms)), batches="rounds", rng=rng
    ),
    "xy_oracle (truth)": lambda arms, items, rng: xy_oracle(
        arms, items, theta_star=THETA, delta=0.05, batches="rounds", stop="truth", rng=rng
    ),
    "xy_adaptive": lambda arms, items, rng: xy_adaptive(arms, items, delta=0.05),
    "xy_adaptive (published)": lambda arms, items, rng: xy_adaptive(
        arms, items, delta=0.05, ratio="per_pull", start="ridge"
    ),
    "alba": lambda arms, items, rng: alba(arms, delta=0.05, theta_bound=1.0, rng=rng),
    "alba (published)": lambda arms, items, rng: alba(arms, delta=0.05, theta_bound=1.0, growth=1.1, rng=rng),
    "lazy_track_and_stop": lambda arms, items, rng: lazy_track_and_stop(arms, items, delta=0.05),
    "lazy_track_and_stop (published)": lambda arms, items, rng: lazy_track_and_stop(
        arms, items, delta=0.05, delta_schedule="union", initial="random", design="frank_wolfe", rng=rng
    ),
    "lazy_track_and_stop (current)": lambda arms, items, rng: lazy_track_and_stop(
        arms, items, delta=0.05, averaging=False, update=5
    ),
    "lingape": lambda arms, items, rng: lingape(arms, items, delta=0.05, theta_bound=1.0),
    "lingape (greedy)": lambda arms, items, rng: lingape(arms, items, delta=0.05, theta_bound=1.0, rule="greedy"),
    "lingape (sample)": lambda arms, items, rng: lingape(arms, items, delta=0.05, theta_bound=1.0, eliminate="sample"),
    "lin_game": lambda arms, items, rng: lin_game(arms, items, delta=0.05),
    "fws": lambda arms, items, rng: fws(arms, items, delta=0.05),
    "fws (sample)": lambda arms, items, rng: fws(arms, items, delta=0.05, eliminate="sample"),
    "l_t3c": lambda arms, items, rng: l_t3c(arms, items, delta=0.05, rng=rng),
    "l_t3c (best)": lambda arms, items, rng: l_t3c(arms, items, delta=0.05, leader="best", rng=rng),
}
ON_THE_SPHERE = {  # each is told the dimension, pulls the basis, recommends a unit vector
    "sphere_track_and_stop": lambda arms, items, rng: sphere_track_and_stop(3, epsilon=0.5, delta=0.05),
    "sphere_track_and_stop (batches)": lambda arms, items, rng: sphere_track_and_stop(
        3, epsilon=0.5, delta=0.05, stop="safe", growth=0.1
    ),
    "sphere_track_and_stop (paper)": lambda arms, items, rng: sphere_track_and_stop(
        3, epsilon=0.5, delta=0.05, stop="paper", share=0.5, delta_schedule="union"
    ),
}
BUDGETED = {  # each is told how many pulls it has
    "gse": lambda budget, arms, items, rng: gse(arms, budget=budget),
    "gse (costs)": lambda budget, arms, items, rng: gse(arms, budget=budget, cost=1.0 + np.arange(len(arms)) / 40),
    "gse (uniform)": lambda budget, arms, items, rng: gse(arms, budget=budget, design="uniform", rng=rng),
    "gse (greedy)": lambda budget, arms, items, rng: gse(arms, budget=budget, design="greedy", remainder="last"),
    "gse (fwg, floor)": lambda budget, arms, items, rng: gse(arms, budget=budget, design="fwg", keep="floor"),
    "gse (wynn, multinomial)": lambda budget, arms, items, rng: gse(
        arms, budget=budget, design="wynn", rounding="multinomial", rng=rng
    ),
    "gse (clusters)": lambda budget, arms, items, rng: gse(arms, budget=budget, design="clusters"),
    "gse (logistic)": lambda budget, arms, items, rng: gse(arms, budget=budget, model="logistic", design="fwg"),
    "od_linbai": lambda budget, arms, items, rng: od_linbai(arms, budget=budget),
    "linucb": lambda budget, arms, items, rng: linucb(arms, budget=budget),
    "linucb (disjoint)": lambda budget, arms, items, rng: linucb(arms, budget=budget, mode="disjoint"),
    "lingape_budget": lambda budget, arms, items, rng: lingape_budget(arms, budget=budget, delta=0.1),
    "lingape_budget (published)": lambda budget, arms, items, rng: lingape_budget(
        arms, budget=budget, delta=0.4, formula="code"
    ),
    "lingape_budget (greedy)": lambda budget, arms, items, rng: lingape_budget(
        arms, budget=budget, delta=0.1, rule="greedy"
    ),
    "ucb_glm": lambda budget, arms, items, rng: ucb_glm(arms, budget=budget, alpha=1.0),
    "ucb_glm (squared)": lambda budget, arms, items, rng: ucb_glm(arms, budget=budget, alpha=0.5, width="squared"),
    "bayes_gap": lambda budget, arms, items, rng: bayes_gap(arms, budget=budget),
    "bayes_gap (matern)": lambda budget, arms, items, rng: bayes_gap(
        arms, budget=budget, kernel="matern", length=1.0, eta=1.0
    ),
    "bayes_gap (published)": lambda budget, arms, items, rng: bayes_gap(arms, budget=budget, eta=1.0, formula="code"),
    "peace": lambda budget, arms, items, rng: peace(arms, items, budget=budget, rng=rng),
    "peace (ratio)": lambda budget, arms, items, rng: peace(arms, items, budget=budget, objective="ratio", rng=rng),
}
VARIANCE = {
    "head": lambda arms, items, rng: head(arms, budget=300, sigma_min=0.5, sigma_max=1.5),
    "uniform_estimator": lambda arms, items, rng: uniform_estimator(
        arms, budget=300, sigma_min=0.5, sigma_max=1.5, rng=rng
    ),
    "separate_arm_estimator": lambda arms, items, rng: separate_arm_estimator(
        arms, budget=300, sigma_min=0.5, sigma_max=1.5, rng=rng
    ),
}
BINARY = {"bounded_rage", "bounded_rage (short phases)"}  # rewards in [0, 1]
WEIGHTED = {"xy_oracle (weighted)"}  # noise of each arm
LOGISTIC = {"gse (logistic)", "ucb_glm", "ucb_glm (squared)"}  # rewards 0 and 1
BUDGET = 2_000
ALGORITHMS |= {name: partial(make, BUDGET) for name, make in BUDGETED.items()}
THETA = np.array([1.0, 0.0, 0.0])
ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0], [0.0, 0.6, 0.8]])
EASY = LinearBandit(ARMS, theta=THETA)
EASY_LOGISTIC = LinearBandit(ARMS, theta=4 * THETA, link="logistic")
EASY_BINARY = LinearBandit(ARMS, theta=THETA, noise="bernoulli")
SPREAD = np.linspace(0.5, 1.5, len(ARMS))  # the noise of each arm, for the rule that is given it
EASY_WEIGHTED = LinearBandit(ARMS, theta=THETA, sigma=SPREAD)
SPHERE = LinearBandit(np.eye(3), theta=THETA)
ITEMS = [[0.0, 0.3, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
TRANSDUCTIVE = LinearBandit(ARMS, items=ITEMS, theta=THETA)
TRANSDUCTIVE_WEIGHTED = LinearBandit(ARMS, items=ITEMS, theta=THETA, sigma=SPREAD)
TRANSDUCTIVE_BINARY = LinearBandit(ARMS, items=ITEMS, theta=THETA, noise="bernoulli")


def ranks_items(name):
    """Whether the rule takes items; those that do not recommend an arm."""
    return "items" in inspect.signature(function(name)).parameters


def function(name):
    name = "rage_halving" if name == "rage (halving)" else name.partition(" ")[0]
    return getattr(fixed_budget if hasattr(fixed_budget, name) else fixed_confidence, name)


def easy(name):
    """A problem with rewards of the kind that the algorithm takes."""
    if name in LOGISTIC:
        return EASY_LOGISTIC
    return EASY_BINARY if name in BINARY else EASY_WEIGHTED if name in WEIGHTED else EASY


def transductive(name):
    """The same with items that are not the arms."""
    return TRANSDUCTIVE_BINARY if name in BINARY else TRANSDUCTIVE_WEIGHTED if name in WEIGHTED else TRANSDUCTIVE


ON_ARMS = {name: (make, easy(name)) for name, make in ALGORITHMS.items()}
ON_ITEMS = {f"{name}, items": (make, transductive(name)) for name, make in ALGORITHMS.items() if ranks_items(name)}
IN_THE_WORLD = ON_ARMS | {name: (make, SPHERE) for name, make in ON_THE_SPHERE.items()}
EVERY = IN_THE_WORLD | {name: (make, EASY) for name, make in VARIANCE.items()}
FOR_ITEMS = {name: make for name, make in ALGORITHMS.items() if ranks_items(name)}

# Their functions are compiled once more, which takes seconds, where Python calls them, as a Lab does.
CALLED = ("fws", "sphere", "bayes_gap", "ucb_glm", "linucb", "lingape_budget")


def opened(table):
    """Return the parameters of a test that opens the loops of the rules in a table."""
    second_tier = {name: [pytest.mark.slow] * name.startswith(CALLED) for name in table}
    return [pytest.param(*values, id=name, marks=second_tier[name]) for name, values in table.items()]


each = pytest.mark.parametrize("make", ALGORITHMS.values(), ids=ALGORITHMS.keys())
each_on_arms = pytest.mark.parametrize(("make", "problem"), ON_ARMS.values(), ids=ON_ARMS.keys())
each_rule = pytest.mark.parametrize(("make", "problem"), EVERY.values(), ids=EVERY.keys())
each_with_a_budget = pytest.mark.parametrize(
    ("make", "problem"), [(BUDGETED[name], ON_ARMS[name][1]) for name in BUDGETED], ids=BUDGETED
)
each_for_items = pytest.mark.parametrize("make", FOR_ITEMS.values(), ids=FOR_ITEMS.keys())
each_on_both = pytest.mark.parametrize(
    ("make", "problem"), [*IN_THE_WORLD.values(), *ON_ITEMS.values()], ids=[*IN_THE_WORLD, *ON_ITEMS]
)


def fresh(make, problem, seed=0):
    return make(problem.arms, problem.items, np.random.default_rng(seed))


def same(one, other):
    """Results are equal to the last bit, histories included."""
    np.testing.assert_equal(one.recommendation, other.recommendation)
    assert len(one.history) == len(other.history)
    for mine, theirs in zip(one.history, other.history, strict=True):
        for field, their_field in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(field, their_field)


def test_every_algorithm_is_under_contract():
    assert {*fixed_confidence.__all__, *fixed_budget.__all__} == {function(name).__name__ for name in IN_THE_WORLD}


@pytest.mark.parametrize(("make", "problem"), opened(EVERY | ON_ITEMS))
def test_play_equals_unrolled(make, problem):
    played = play(fresh(make, problem), problem, np.random.default_rng(1))
    in_single_pulls = play(unroll(fresh(make, problem)), problem, np.random.default_rng(1))
    same(played.result, in_single_pulls.result)
    assert (played.counts == in_single_pulls.counts).all()


@pytest.mark.parametrize(("make", "problem"), opened(EVERY))
def test_a_log_opened_half_way_ends_where_the_simulation_ends(make, problem, tmp_path):
    played = play(fresh(make, problem), problem, np.random.default_rng(1))
    path, rng, told, half = tmp_path / "log.jsonl", np.random.default_rng(1), 0, played.counts.sum() / 2
    lab = Lab(fresh(make, problem), path)
    while (wanted := lab.ask()) is not None:
        lab.tell(problem.pull(wanted, rng))
        told += wanted.sum()
        if told - wanted.sum() < half <= told:
            lab = Lab(fresh(make, problem), path)
    same(played.result, lab.result)


@pytest.mark.parametrize(("make", "problem"), opened(IN_THE_WORLD))
def test_requests_are_non_negative_integers_that_add_up(make, problem):
    rule = fresh(make, problem)
    algorithm, rng, pulled, reply = unroll(rule), np.random.default_rng(1), 0, None
    with pytest.raises(StopIteration) as stop:
        while True:
            request = algorithm.send(reply)
            assert request.shape == (len(problem.arms),) and np.issubdtype(request.dtype, np.integer)
            assert (request >= 0).all()
            reply, pulled = problem.pull(request, rng), pulled + request
    result = stop.value.value
    assert isinstance(result, Result) and isinstance(result.history, tuple)
    assert isinstance(result.recommendation, int) or (problem is SPHERE and result.recommendation.shape == (3,))
    if rule.function.row.asks == PULLS:
        assert result.history == ()
    else:
        phases_add_up(result.history, pulled)


def phases_add_up(history, pulled):
    """A Round for every phase, and together they hold every pull."""
    assert history and all(isinstance(entry, Round) for entry in history)
    assert (sum(entry.counts for entry in history) == pulled).all()


@pytest.mark.parametrize(("make", "problem"), opened(IN_THE_WORLD))
def test_records_of_single_pulls_change_nothing(make, problem):
    rule = fresh(make, problem)
    traced = play(rule, problem, np.random.default_rng(1), trace=7)
    plain = play(fresh(make, problem), problem, np.random.default_rng(1))
    same(plain.result, traced.result)
    assert (plain.counts == traced.counts).all() and plain.trace == ()
    single = rule.function.row.asks == PULLS and not rule.arguments.get("growth")  # on the sphere: pulls in batches
    assert bool(traced.trace) == single and all(isinstance(entry, Trace) for entry in traced.trace)
    moments = [entry.pulls for entry in traced.trace]
    assert [entry.counts.sum() for entry in traced.trace] == moments and (
        not single or moments[-1] == plain.counts.sum()
    )
    assert (np.diff(moments[:-1]) == 7).all() and (np.diff(moments) > 0).all() and (np.diff(moments) <= 7).all()


@each_on_both
def test_an_easy_instance_is_answered(make, problem):
    answers = [play(fresh(make, problem, s), problem, np.random.default_rng(s)).result.recommendation for s in range(5)]
    if problem is SPHERE:
        assert max(sphere_regret(problem, answer) for answer in answers) <= 0.5
    else:
        assert answers == [problem.best_item] * 5


@each_for_items
def test_one_item_is_answered_at_once(make):
    problem = LinearBandit(ARMS, items=[[1.0, 2.0, 3.0]], theta=THETA)
    run = play(fresh(make, problem), problem, np.random.default_rng(0), misspecified=True)
    assert run.stopped and run.result.recommendation == 0 and run.counts.sum() == 0


@each
def test_one_arm_for_one_item(make):
    problem = LinearBandit(np.ones((1, 3)), theta=THETA)
    run = play(make(problem.arms, None, np.random.default_rng(0)), problem, None, misspecified=True)
    assert run.result.recommendation == 0 and run.counts.sum() == 0


@each_on_arms
def test_arms_that_do_not_span_the_space(make, problem):
    problem = LinearBandit(ARMS[:2], theta=problem.theta, link=problem.link, noise=problem.noise)
    run = play(fresh(make, problem), problem, np.random.default_rng(0), misspecified=True)
    assert run.result.recommendation == 0


@each_rule
def test_the_global_numpy_state_is_untouched(make, problem):
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    play(fresh(make, problem), problem, np.random.default_rng(1))
    assert (np.random.get_state()[1] == before).all()


@each_rule
def test_no_pull_is_made_beyond_max_pulls(make, problem):
    run = play(fresh(make, problem), problem, np.random.default_rng(1), max_pulls=30)
    assert run.counts.sum() <= 30 and not run.stopped and run.result is None


@pytest.mark.parametrize("budget", [40, 41, 97, 200])
@each_with_a_budget
def test_the_budget_is_never_exceeded(make, problem, budget):
    for seed in range(5):
        run = play(fresh(partial(make, budget), problem, seed), problem, np.random.default_rng(seed))
        assert run.stopped and run.counts.sum() <= budget


@pytest.mark.parametrize("budget", [0, 10.5, True])
@each_with_a_budget
def test_a_budget_that_is_none_is_refused(make, problem, budget):
    with pytest.raises(ValueError, match="budget must be a whole number of pulls, at least .* got ") as error:
        next(fresh(partial(make, budget), problem))
    least = int(re.search(r"at least (\d+) here", str(error.value))[1])
    too_small = isinstance(budget, int | float) and budget is not True and budget < least
    assert str(error.value).endswith(": raise it") == too_small


@each_with_a_budget
def test_identical_arms_are_allowed_with_a_budget(make, problem):
    twice = LinearBandit(np.vstack([ARMS, ARMS[0]]), theta=problem.theta, link=problem.link)
    run = play(fresh(partial(make, BUDGET), twice), twice, np.random.default_rng(0))
    assert run.result.recommendation in (0, len(ARMS))


BAD_ARMS = {
    "nan": (np.array([[1.0, np.nan], [0.0, 1.0]]), r"arms\[0, 1\] is nan"),
    "zero": (np.zeros((2, 2)), "arms must not all be zero"),
    "identical": (np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), "rows 0 and 2 are identical"),
}
BAD_ITEMS = {
    "identical": (np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]]), "rows 0 and 1 are identical"),
    "too wide": (np.eye(2), np.eye(3), "items must have the same number of columns"),
    "outside": (np.array([[1.0, 0.0], [2.0, 0.0]]), np.eye(2), "span of the arms"),
    "nan": (np.eye(2), np.array([[1.0, np.nan]]), r"items\[0, 1\] is nan"),
}


def refusals(algorithms, bad):
    """Every algorithm with every bad input; identical items are refused with fixed confidence only."""
    return [
        pytest.param(make, *case, id=f"{name}-{kind}")
        for name, make in algorithms.items()
        for kind, case in bad.items()
        if kind != "identical" or name not in BUDGETED | VARIANCE
    ]


@pytest.mark.parametrize(("make", "arms", "words"), refusals(ALGORITHMS | VARIANCE, BAD_ARMS))
def test_bad_arms_are_refused_before_any_pull(make, arms, words):
    with pytest.raises(ValueError, match=words):
        next(make(arms, None, np.random.default_rng(0)))


@pytest.mark.parametrize(("make", "arms", "items", "words"), refusals(FOR_ITEMS, BAD_ITEMS))
def test_bad_items_are_refused_before_any_pull(make, arms, items, words):
    with pytest.raises(ValueError, match=words):
        next(make(arms, items, np.random.default_rng(0)))


RULES = {
    "rage": lambda **kwargs: rage(ARMS, **({"delta": 0.1} | kwargs)),
    "rage_halving": lambda **kwargs: rage_halving(ARMS, **({"delta": 0.1} | kwargs)),
    "bounded_rage": lambda **kwargs: bounded_rage(ARMS, **({"delta": 0.1} | kwargs)),
    "xy_static": lambda **kwargs: xy_static(ARMS, rng=np.random.default_rng(0), **({"delta": 0.1} | kwargs)),
    "xy_oracle": lambda **kwargs: xy_oracle(
        ARMS, rng=np.random.default_rng(0), **({"delta": 0.1, "theta_star": THETA} | kwargs)
    ),
    "xy_adaptive": lambda **kwargs: xy_adaptive(ARMS, **({"delta": 0.1} | kwargs)),
    "alba": lambda **kwargs: alba(ARMS, rng=np.random.default_rng(0), **({"delta": 0.1, "theta_bound": 1.0} | kwargs)),
    "lazy_track_and_stop": lambda **kwargs: lazy_track_and_stop(ARMS, **({"delta": 0.1} | kwargs)),
    "lingape": lambda **kwargs: lingape(ARMS, **({"delta": 0.1, "theta_bound": 1.0} | kwargs)),
    "lin_game": lambda **kwargs: lin_game(ARMS, **({"delta": 0.1} | kwargs)),
    "fws": lambda **kwargs: fws(ARMS, **({"delta": 0.1} | kwargs)),
    "l_t3c": lambda **kwargs: l_t3c(ARMS, **({"delta": 0.1, "rng": np.random.default_rng(0)} | kwargs)),
}


BUDGET_RULES = {
    "gse": lambda **kwargs: gse(ARMS, **({"budget": 100} | kwargs)),
    "od_linbai": lambda **kwargs: od_linbai(ARMS, **({"budget": 100} | kwargs)),
    "linucb": lambda **kwargs: linucb(ARMS, **({"budget": 100} | kwargs)),
    "lingape_budget": lambda **kwargs: lingape_budget(ARMS, **({"budget": 100, "delta": 0.1} | kwargs)),
    "ucb_glm": lambda **kwargs: ucb_glm(ARMS, **({"budget": 100, "alpha": 1.0} | kwargs)),
    "bayes_gap": lambda **kwargs: bayes_gap(ARMS, **({"budget": 100} | kwargs)),
    "peace": lambda **kwargs: peace(ARMS, rng=np.random.default_rng(0), **({"budget": 100} | kwargs)),
}
BOUNDS = {"sigma_min": 0.5, "sigma_max": 1.5}
BOUNDED_RULES = {
    "h_rage": lambda **kwargs: h_rage(ARMS, **({"delta": 0.1} | BOUNDS | kwargs)),
    "head": lambda **kwargs: head(ARMS, **({"budget": 300} | BOUNDS | kwargs)),
    "uniform_estimator": lambda **kwargs: uniform_estimator(
        ARMS, rng=np.random.default_rng(0), **({"budget": 300} | BOUNDS | kwargs)
    ),
    "separate_arm_estimator": lambda **kwargs: separate_arm_estimator(
        ARMS, rng=np.random.default_rng(0), **({"budget": 300} | BOUNDS | kwargs)
    ),
}
RULES["sphere_track_and_stop"] = lambda **kwargs: sphere_track_and_stop(
    **({"d": 3, "epsilon": 0.1, "delta": 0.1} | kwargs)
)
EVERY_RULE = RULES | BUDGET_RULES | BOUNDED_RULES


TOLD_DELTA = RULES | {name: EVERY_RULE[name] for name in ("h_rage", "lingape_budget")}
TOLD_SIGMA = {name: rule for name, rule in (RULES | BUDGET_RULES).items() if name not in ("bounded_rage", "ucb_glm")}


@pytest.mark.parametrize("delta", [0, 1, np.nan])
@pytest.mark.parametrize("rule", TOLD_DELTA.values(), ids=TOLD_DELTA.keys())
def test_delta_outside_its_range_is_refused(rule, delta):
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1"):
        next(rule(delta=delta))


@pytest.mark.parametrize("sigma", [0.0, np.nan])
@pytest.mark.parametrize("rule", TOLD_SIGMA.values(), ids=TOLD_SIGMA.keys())
def test_sigma_that_is_no_standard_deviation_is_refused(rule, sigma):
    with pytest.raises(ValueError, match="sigma must be"):
        next(rule(sigma=sigma))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sigma_min": 0.0}, "sigma_min must be positive and finite"),
        ({"sigma_max": np.nan}, "sigma_max must be positive and finite"),
        ({"sigma_min": 2.0}, "sigma_min must not exceed sigma_max"),
    ],
)
@pytest.mark.parametrize("rule", BOUNDED_RULES.values(), ids=BOUNDED_RULES.keys())
def test_bounds_that_are_no_standard_deviations_are_refused(rule, wrong, words):
    with pytest.raises(ValueError, match=words):
        next(rule(**wrong))


WRONG = {
    "rage": {"delta_schedule": "euler", "log_items": "both", "eliminate": "none", "epsilon": 0.0, "accept": np.nan},
    "rage_halving": {"objective": "worst", "log_items": "both"},
    "bounded_rage": {"growth": np.nan},
    "xy_static": {"phases": "even", "start": 1, "growth": 1.0},
    "xy_oracle": {
        "growth": np.inf,
        "theta_star": np.full(3, np.nan),
        "phases": "even",
        "batches": "pulls",
        "stop": "no",
    },
    "xy_adaptive": {"ratio": "both", "start": "none"},
    "alba": {"growth": 1.5, "theta_bound": np.nan},
    "lazy_track_and_stop": {"initial": "first", "design": "optimal", "u": 0.0, "delta_schedule": "basel"}
    | {"threshold": "chernoff", "allocation": -np.ones(5), "update": [1, 2.5]},
    "lingape": {"rule": "random", "epsilon": -1.0, "theta_bound": 0.0, "ridge": 0.0},
    "lin_game": {"u": 0.0},
    "fws": {"threshold": "chernoff"},
    "l_t3c": {"delta_schedule": -1.0, "leader": "worst", "rng": 0},
    "gse": {"model": "probit", "design": "best", "keep": "half", "remainder": "first", "rounding": "pukelsheim"}
    | {"projection": "first4", "eta": 2.5, "ridge": 0.0},
    "linucb": {"mode": "hybrid", "alpha": -1.0, "ridge": 0.0},
    "lingape_budget": {"rule": "random", "formula": "text", "theta_bound": 0.0, "ridge": 0.0},
    "ucb_glm": {"alpha": None, "delta": 0.0, "width": "root", "ridge": 0.0},
    "bayes_gap": {"kernel": np.eye(3), "formula": "both", "epsilon": np.inf, "eta": 0.0},
    "peace": {"objective": "both", "draws": 5},
    "h_rage": {"burn_in": 1000.5, "objective": "all", "log_items": "both"},
    "head": {"share": np.nan},
    "separate_arm_estimator": {"criterion": "best", "subsets": 0, "candidates": 4},
    "sphere_track_and_stop": {"d": 2.5, "epsilon": 0.0, "stop": "soon", "share": 0.5, "u": 0.0, "c": np.nan}
    | {"delta_schedule": "basel", "growth": -0.1},
}


@pytest.mark.parametrize(
    ("rule", "option", "value"), [(rule, *wrong) for rule, options in WRONG.items() for wrong in options.items()]
)
def test_unknown_options_are_refused(rule, option, value):
    with pytest.raises(ValueError, match=rf"\b{option}\b.* must"):
        next(EVERY_RULE[rule](**{option: value}))


@pytest.mark.parametrize(
    ("rule", "told", "words"),
    [
        ("rage", {"rounding": "up"}, "must be one of 'pukelsheim', 'regret', 'largest_remainder'; got 'up'"),
        ("h_rage", {"burn_in": 5}, "must be a whole number of pulls, at least 10 here"),
        ("bayes_gap", {"kernel": "matern"}, "length must be given for kernel='matern'"),
        ("bayes_gap", {"kernel": -np.eye(5)}, "kernel must have no negative eigenvalue"),
        ("bayes_gap", {"kernel": "exponential", "length": 0.0}, "length must be positive"),
        ("ucb_glm", {"alpha": None, "theta_bound": -1.0}, "theta_bound must be positive"),
        ("sphere_track_and_stop", {"stop": "paper", "share": 1.0}, "share must lie strictly between 0 and 1"),
        ("h_rage", {"threshold": 0.5}, "threshold has no effect for objective='best'"),
        ("gse", {"design": "uniform"}, "rng must be given"),
        ("gse", {"rounding": "multinomial"}, "rng must be given"),
        ("gse", {"projection": "cumulative"}, "rng must be given"),
        ("lazy_track_and_stop", {"initial": "random"}, "rng must be given"),
    ],
)
def test_what_else_is_wrong_with_options_is_said(rule, told, words):
    with pytest.raises(ValueError, match=words):
        next(EVERY_RULE[rule](**told))


@pytest.mark.parametrize("alpha", [0.0, 1.0, np.nan])
def test_alpha_outside_its_range_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1"):
        next(RULES["xy_adaptive"](alpha=alpha))


def test_arms_that_drown_the_published_ridge_are_refused():
    with pytest.raises(ValueError, match="length 100000 or less with start='ridge', because .* longer arms; got 1e"):
        next(xy_adaptive(1e8 * ARMS, delta=0.1, start="ridge"))


def test_an_oracle_needs_a_unique_best_item():
    with pytest.raises(ValueError, match="best item must be unique"):
        next(xy_oracle(ARMS, theta_star=np.array([1.0, 1.0, 0.0]), delta=0.1, rng=np.random.default_rng(0)))


@pytest.mark.parametrize("name", ["rage", "rage (halving)", "alba", "h_rage"])
def test_two_best_items_of_equal_value_end_in_a_clear_error_or_at_max_pulls(name):
    tied = LinearBandit(np.eye(2), theta=[1.0, 1.0])
    assert not play(fresh(ALGORITHMS[name], tied), tied, np.random.default_rng(0), max_pulls=10**9).stopped
    with pytest.raises(ValueError, match="cannot be told apart"):
        play(fresh(ALGORITHMS[name], tied), tied, np.random.default_rng(0))


def test_no_algorithm_asks_for_the_truth_but_the_oracle():
    for name, played in PLAYED.items():
        parameters = inspect.signature(played).parameters
        assert ("theta_star" in parameters) == (name == "xy_oracle")
        assert "problem" not in parameters


# --- what the decorator adds


each_function = pytest.mark.parametrize("played", PLAYED.values(), ids=PLAYED.keys())


def test_every_rule_is_decorated():
    names = {*fixed_confidence.__all__, *fixed_budget.__all__, *VARIANCE}
    assert PLAYED.keys() == names == {name for room in (variance, fixed_confidence, fixed_budget)
                                      for name, item in vars(room).items() if hasattr(item, "label")}  # fmt: skip
    for name, played in PLAYED.items():
        assert played.label
        assert (played.row is None) == (name in VARIANCE)


@each_rule
def test_again_begins_in_the_state_of_the_rng_at_the_call(make, problem):
    rng = np.random.default_rng(5)
    algorithm = make(problem.arms, problem.items, rng)
    before = algorithm.again()
    played = play(algorithm, problem, np.random.default_rng(1))
    assert before.fresh and not algorithm.fresh
    rng.random(3)  # what others draw does not count
    for made in (before, algorithm.again(), algorithm.again().again(), fresh(make, problem, 5)):
        run = play(made, problem, np.random.default_rng(1))
        assert run.counts.tolist() == played.counts.tolist()
        np.testing.assert_equal(run.result.recommendation, played.result.recommendation)


@each_rule
def test_a_rule_is_a_generator(make, problem):
    algorithm = fresh(make, problem)
    assert isinstance(algorithm, Generator) and iter(algorithm) is algorithm
    with pytest.raises(TypeError, match="just-started"):
        algorithm.send("a reply to nothing")
    assert algorithm.fresh and isinstance(next(algorithm), Loop | np.ndarray) and not algorithm.fresh
    algorithm.close()
    algorithm.close()
    with pytest.raises(StopIteration):
        next(algorithm)


@each_rule
def test_a_loop_over_a_rule_that_is_interrupted(make, problem):
    """After `break` the rule goes on where it was; after an error in the rule itself it is over."""
    algorithm, whole, broken = (fresh(make, problem) for _ in range(3))
    for request in algorithm:  # noqa: B007
        break
    with pytest.raises(RuntimeError, match="power cut"):
        for _ in whole:
            raise RuntimeError("power cut")
    answers = [answer(each, request, problem) for each in (algorithm, whole)]
    np.testing.assert_equal(*answers)
    next(broken)
    with pytest.raises(KeyError, match="the instrument"):
        broken.throw(KeyError("the instrument"))
    with pytest.raises(StopIteration):
        next(broken)
    assert play(broken.again(), problem, np.random.default_rng(1)).stopped


def answer(algorithm, request, problem):
    """What comes of the answer to a request: the next one (of Loops that there is one), or the recommendation."""
    reply = None if isinstance(request, Loop) else problem.pull(request, np.random.default_rng(1))
    try:
        following = algorithm.send(reply)
    except StopIteration as stop:
        return stop.value.recommendation
    return isinstance(following, Loop) or following


@each_rule
def test_yield_from_inside_another_rule(make, problem):
    @rule
    def outer(arms, items, rng):
        result = yield from make(arms, items, rng)
        return result._replace(history=())

    algorithm, inner = fresh(outer, problem), fresh(make, problem)
    runs = [play(each, problem, np.random.default_rng(1)) for each in (algorithm, inner)]
    assert runs[0].counts.tolist() == runs[1].counts.tolist()
    np.testing.assert_equal(runs[0].result.recommendation, runs[1].result.recommendation)

    inner = fresh(make, problem)
    algorithm = rule(delegating)(inner)
    next(algorithm)
    algorithm.close()
    with pytest.raises(StopIteration):
        next(inner)


def delegating(inner):
    return (yield from inner)


@each_function
def test_the_function_keeps_its_name_signature_and_docstring(played):
    function = played.__wrapped__
    assert inspect.isgeneratorfunction(function)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(played, attribute) == getattr(function, attribute)
    assert inspect.signature(played) == inspect.signature(function)
    assert getattr(inspect.getmodule(played), played.__name__) is played


@each_function
def test_a_rule_travels_by_its_name(played):
    for one in (pickle, cloudpickle):
        sent = one.loads(one.dumps(partial(played, delta=0.05)))
        assert sent.func is played and sent.keywords == {"delta": 0.05}
    assert len(pickle.dumps(played)) < 100


OWN = """
import numpy as np
from bandits_lib import Result, rule
LIMIT = 3

@rule(label="Mine")
def mine(arms, *, delta, rng=None):
    '''A rule.'''
    sample = yield np.full(len(arms), LIMIT)
    return Result(int(np.argmax(sample.sums)))
"""


def test_a_rule_of_ones_own_travels_by_value():
    module = types.ModuleType("__main__")
    exec(OWN, vars(module))
    sent = cloudpickle.loads(cloudpickle.dumps(partial(module.mine, delta=0.1)))
    assert sent.func is not module.mine and (sent.func.label, sent.func.__doc__) == ("Mine", "A rule.")
    assert next(sent(EASY.arms).again(arms=np.eye(2))).tolist() == [3, 3]
    run = play(sent(EASY.arms), EASY, np.random.default_rng(0))
    assert run.stopped and run.counts.tolist() == [3] * 5


def test_arguments_of_every_kind_are_kept():
    free, rng = 3, np.random.default_rng(0)

    @rule
    def odd(a, /, b, *rest, c=2, **more):
        yield np.array([free])
        return a, b, rest, c, more

    for given, named in (((1, 2), {}), ((1, 2, 3, 4), {"c": 5, "d": 6}), ((1, rng), {})):
        algorithm = odd(*given, **named)
        again = algorithm.again()
        assert [*again.arguments] == ["a", "b", "rest", "c", "more"]
        assert again.arguments == algorithm.arguments | {"b": again.arguments["b"]}
        assert next(again).tolist() == [3]
        assert algorithm.again(c=7).arguments["c"] == 7
    assert again.arguments["b"] is not rng and again.arguments["b"].random() == rng.random()
    with pytest.raises(ValueError, match="odd has no argument sigma; it has a, b, rest, c, more"):
        algorithm.again(sigma=1.0)
    with pytest.raises(TypeError, match="missing 1 required"):
        odd(1)


def test_arguments_are_copied_but_arrays():
    @rule
    def spoils(arms, times):
        times.append(1)
        yield np.ones(len(arms), int)

    algorithm = spoils(ARMS, [5])
    again = algorithm.again()
    next(algorithm)
    assert again.arguments["times"] == [5] and again.arguments["arms"] is ARMS

    class Stubborn:
        def __deepcopy__(self, memo):
            raise RuntimeError("a socket")

    with pytest.raises(ValueError, match="spoils cannot be made again: an argument cannot be copied .a socket"):
        spoils(ARMS, Stubborn()).again()


def test_only_generator_functions_are_decorated():
    for wrong in (lambda arms: None, 3, fixed_confidence):
        with pytest.raises(ValueError, match="@rule decorates a generator function, which has `yield`"):
            rule(wrong)


def test_loops_are_what_per_pull_rules_ask_for():
    algorithm = lingape(ARMS, delta=0.1, theta_bound=1.0)
    first = next(algorithm)
    assert isinstance(algorithm.send(EASY.pull(first, np.random.default_rng(0))), Loop)
