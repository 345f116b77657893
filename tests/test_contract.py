"""What every algorithm owes the world. A new algorithm is one more line in ALGORITHMS."""

import inspect

import numpy as np
import pytest

from bandits_lib import Lab, LinearBandit, Result, fixed_confidence, play
from bandits_lib.fixed_confidence import alba, lingape, rage, xy_adaptive, xy_oracle, xy_static
from bandits_lib.protocol import Loop, Round, Trace, unroll

ALGORITHMS = {
    "rage": lambda arms, items, rng: rage(arms, items, delta=0.05),
    "rage (leader)": lambda arms, items, rng: rage(arms, items, delta=0.05, eliminate="leader"),
    "rage (regret rounding)": lambda arms, items, rng: rage(arms, items, delta=0.05, rounding="regret"),
    "xy_static": lambda arms, items, rng: xy_static(arms, items, delta=0.05, rng=rng),
    "xy_static (published)": lambda arms, items, rng: xy_static(
        arms, items, delta=0.05, phases="odd", start="d", rng=rng
    ),
    "xy_oracle": lambda arms, items, rng: xy_oracle(arms, items, theta_star=THETA, delta=0.05, rng=rng),
    "xy_adaptive": lambda arms, items, rng: xy_adaptive(arms, items, delta=0.05),
    "xy_adaptive (published)": lambda arms, items, rng: xy_adaptive(
        arms, items, delta=0.05, ratio="per_pull", start="ridge"
    ),
    "alba": lambda arms, items, rng: alba(arms, delta=0.05, theta_bound=1.0, rng=rng),
    "alba (published)": lambda arms, items, rng: alba(arms, delta=0.05, theta_bound=1.0, growth=1.1, rng=rng),
    "lingape": lambda arms, items, rng: lingape(arms, items, delta=0.05, theta_bound=1.0, trace=7),
    "lingape (greedy)": lambda arms, items, rng: lingape(arms, items, delta=0.05, theta_bound=1.0, rule="greedy"),
}
THETA = np.array([1.0, 0.0, 0.0])
ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0], [0.0, 0.6, 0.8]])
EASY = LinearBandit(ARMS, theta=THETA)
TRANSDUCTIVE = LinearBandit(ARMS, items=[[0.0, 0.3, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], theta=THETA)


def ranks_items(name):
    """Whether the rule takes items; those that do not recommend an arm."""
    return "items" in inspect.signature(getattr(fixed_confidence, name.partition(" ")[0])).parameters


ON_ARMS = {name: (make, EASY) for name, make in ALGORITHMS.items()}
ON_ITEMS = {f"{name}, items": (make, TRANSDUCTIVE) for name, make in ALGORITHMS.items() if ranks_items(name)}
FOR_ITEMS = {name: make for name, make in ALGORITHMS.items() if ranks_items(name)}

each = pytest.mark.parametrize("make", ALGORITHMS.values(), ids=ALGORITHMS.keys())
each_for_items = pytest.mark.parametrize("make", FOR_ITEMS.values(), ids=FOR_ITEMS.keys())
each_on_both = pytest.mark.parametrize(
    ("make", "problem"), [*ON_ARMS.values(), *ON_ITEMS.values()], ids=[*ON_ARMS, *ON_ITEMS]
)


def fresh(make, problem, seed=0):
    return make(problem.arms, problem.items, np.random.default_rng(seed))


def same(one, other):
    """Results are equal to the last bit, histories included."""
    assert one.recommendation == other.recommendation and len(one.history) == len(other.history)
    for mine, theirs in zip(one.history, other.history, strict=True):
        for field, their_field in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(field, their_field)


def test_every_algorithm_is_under_contract():
    assert set(fixed_confidence.__all__) <= {name.partition(" ")[0] for name in ALGORITHMS}


@each_on_both
def test_same_streams_same_result(make, problem):
    runs = [play(fresh(make, problem), problem, np.random.default_rng(1)) for _ in range(2)]
    same(runs[0].result, runs[1].result)
    assert (runs[0].counts == runs[1].counts).all()


@each_on_both
def test_play_equals_unrolled_equals_lab(make, problem):
    played = play(fresh(make, problem), problem, np.random.default_rng(1))
    opened = play(unroll(fresh(make, problem)), problem, np.random.default_rng(1))
    lab, rng, counts = Lab(fresh(make, problem)), np.random.default_rng(1), 0
    while (wanted := lab.ask()) is not None:
        lab.tell(problem.pull(wanted, rng))
        counts = counts + wanted
    for result, pulled in ((opened.result, opened.counts), (lab.result, counts)):
        same(played.result, result)
        assert (played.counts == pulled).all()


@each
def test_a_log_saved_half_way_ends_where_the_simulation_ends(make, tmp_path):
    played = play(fresh(make, EASY), EASY, np.random.default_rng(1))
    lab, rng, told = Lab(fresh(make, EASY)), np.random.default_rng(1), 0
    while (wanted := lab.ask()) is not None:
        lab.tell(EASY.pull(wanted, rng))
        told += wanted.sum()
        if told >= played.counts.sum() / 2 and not (tmp_path / "log.csv").exists():
            lab.save(tmp_path / "log.csv")
            lab = Lab(fresh(make, EASY), tmp_path / "log.csv")
    same(played.result, lab.result)


@each
def test_requests_are_non_negative_integers_that_add_up(make):
    algorithm, rng, pulled, reply = unroll(fresh(make, EASY)), np.random.default_rng(1), 0, None
    with pytest.raises(StopIteration) as stop:
        while True:
            request = algorithm.send(reply)
            assert request.shape == (len(ARMS),) and np.issubdtype(request.dtype, np.integer) and (request >= 0).all()
            reply, pulled = EASY.pull(request, rng), pulled + request
    result = stop.value.value
    assert isinstance(result, Result) and isinstance(result.recommendation, int) and isinstance(result.history, tuple)
    assert all(isinstance(entry, Round | Trace) for entry in result.history)
    if isinstance(result.history[-1:], tuple) and result.history and isinstance(result.history[0], Round):
        assert sum(entry.counts.sum() for entry in result.history) == pulled.sum()


@each_on_both
def test_an_easy_instance_is_answered_in_20_of_20_seeds(make, problem):
    answers = [
        play(fresh(make, problem, s), problem, np.random.default_rng(s)).result.recommendation for s in range(20)
    ]
    assert answers == [problem.best_item] * 20


@each_for_items
def test_one_item_is_answered_at_once(make):
    problem = LinearBandit(ARMS, items=[[1.0, 2.0, 3.0]], theta=THETA)
    run = play(fresh(make, problem), problem, np.random.default_rng(0))
    assert run.stopped and run.result.recommendation == 0 and run.counts.sum() == 0


@each
def test_one_arm_for_one_item(make):
    run = play(make(np.ones((1, 3)), None, np.random.default_rng(0)), LinearBandit(np.ones((1, 3)), theta=THETA), None)
    assert run.result.recommendation == 0 and run.counts.sum() == 0


@each
def test_arms_that_do_not_span_the_space(make):
    problem = LinearBandit(ARMS[:2], theta=THETA)
    run = play(fresh(make, problem), problem, np.random.default_rng(0))
    assert run.result.recommendation == 0


@each
def test_the_global_numpy_state_is_untouched(make):
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    play(fresh(make, EASY), EASY, np.random.default_rng(1))
    assert (np.random.get_state()[1] == before).all()


@each
def test_no_pull_is_made_beyond_max_pulls(make):
    run = play(fresh(make, EASY), EASY, np.random.default_rng(1), max_pulls=30)
    assert run.counts.sum() <= 30 and not run.stopped and run.result is None


BAD_ARMS = {
    "nan": (np.array([[1.0, np.nan], [0.0, 1.0]]), r"arms\[0, 1\] is nan"),
    "infinite": (np.array([[1.0, np.inf], [0.0, 1.0]]), "arms must be finite"),
    "flat": (np.ones(3), "arms must be a matrix"),
    "none": (np.empty((0, 2)), "arms must not be empty"),
    "zero": (np.zeros((2, 2)), "arms must not all be zero"),
    "identical": (np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), "rows 0 and 2 are identical"),
}
BAD_ITEMS = {
    "identical": (np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]]), "rows 0 and 1 are identical"),
    "too wide": (np.eye(2), np.eye(3), "items must have as many columns"),
    "outside": (np.array([[1.0, 0.0], [2.0, 0.0]]), np.eye(2), "span of the arms"),
    "nan": (np.eye(2), np.array([[1.0, np.nan]]), r"items\[0, 1\] is nan"),
}


@pytest.mark.parametrize(("arms", "words"), BAD_ARMS.values(), ids=BAD_ARMS.keys())
@each
def test_bad_arms_are_refused_before_any_pull(make, arms, words):
    with pytest.raises(ValueError, match=words):
        next(make(arms, None, np.random.default_rng(0)))


@pytest.mark.parametrize(("arms", "items", "words"), BAD_ITEMS.values(), ids=BAD_ITEMS.keys())
@each_for_items
def test_bad_items_are_refused_before_any_pull(make, arms, items, words):
    with pytest.raises(ValueError, match=words):
        next(make(arms, items, np.random.default_rng(0)))


RULES = {
    "rage": lambda **kwargs: rage(ARMS, **({"delta": 0.1} | kwargs)),
    "xy_static": lambda **kwargs: xy_static(ARMS, rng=np.random.default_rng(0), **({"delta": 0.1} | kwargs)),
    "xy_oracle": lambda **kwargs: xy_oracle(
        ARMS, rng=np.random.default_rng(0), **({"delta": 0.1, "theta_star": THETA} | kwargs)
    ),
    "xy_adaptive": lambda **kwargs: xy_adaptive(ARMS, **({"delta": 0.1} | kwargs)),
    "alba": lambda **kwargs: alba(ARMS, rng=np.random.default_rng(0), **({"delta": 0.1, "theta_bound": 1.0} | kwargs)),
    "lingape": lambda **kwargs: lingape(ARMS, **({"delta": 0.1, "theta_bound": 1.0} | kwargs)),
}


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, np.nan, "a", None])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_delta_outside_its_range_is_refused(rule, delta):
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1"):
        next(rule(delta=delta))


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, np.ones(4)])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_sigma_that_is_no_standard_deviation_is_refused(rule, sigma):
    with pytest.raises(ValueError, match="sigma must be"):
        next(rule(sigma=sigma))


@pytest.mark.parametrize(
    ("rule", "option", "value"),
    [
        ("rage", "delta_schedule", "euler"),
        ("rage", "log_items", "both"),
        ("rage", "eliminate", "none"),
        ("rage", "rounding", "up"),
        ("rage", "epsilon", 0.0),
        ("xy_static", "phases", "even"),
        ("xy_static", "start", 1),
        ("xy_static", "growth", 0.5),
        ("xy_oracle", "growth", np.nan),
        ("xy_oracle", "theta_star", np.ones(2)),
        ("xy_oracle", "theta_star", np.full(3, np.nan)),
        ("xy_oracle", "phases", "even"),
        ("xy_oracle", "solver", "simplex"),
        ("xy_adaptive", "ratio", "both"),
        ("xy_adaptive", "start", "none"),
        ("alba", "growth", 1.5),
        ("alba", "theta_bound", np.nan),
        ("lingape", "rule", "random"),
        ("lingape", "epsilon", -1.0),
        ("lingape", "theta_bound", 0.0),
        ("lingape", "ridge", 0.0),
    ],
)
def test_unknown_options_are_refused(rule, option, value):
    with pytest.raises(ValueError, match="must be"):
        next(RULES[rule](**{option: value}))


@pytest.mark.parametrize("alpha", [0.0, 1.0, np.nan])
def test_alpha_outside_its_range_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1"):
        next(RULES["xy_adaptive"](alpha=alpha))


def test_arms_that_drown_the_published_ridge_are_refused():
    with pytest.raises(ValueError, match="arms must be of length 100000 or less beside a ridge; got 1e"):
        next(xy_adaptive(1e8 * ARMS, delta=0.1, start="ridge"))


def test_an_oracle_needs_a_unique_best_item():
    with pytest.raises(ValueError, match="best item must be unique"):
        next(xy_oracle(ARMS, theta_star=np.array([1.0, 1.0, 0.0]), delta=0.1, rng=np.random.default_rng(0)))


def test_two_best_items_of_equal_value_end_in_a_clear_error_or_at_max_pulls():
    tied = LinearBandit(np.eye(2), theta=[1.0, 1.0])
    assert not play(rage(tied.arms, delta=0.1), tied, np.random.default_rng(0), max_pulls=10**9).stopped
    with pytest.raises(ValueError, match="cannot be told apart"):
        play(rage(tied.arms, delta=0.1), tied, np.random.default_rng(0))


def test_no_algorithm_asks_for_the_truth_but_the_oracle():
    for name in fixed_confidence.__all__:
        parameters = inspect.signature(getattr(fixed_confidence, name)).parameters
        assert ("theta_star" in parameters) == (name == "xy_oracle")
        assert "problem" not in parameters


def test_loops_are_what_per_pull_rules_ask_for():
    algorithm = lingape(ARMS, delta=0.1, theta_bound=1.0)
    first = next(algorithm)
    assert isinstance(algorithm.send(EASY.pull(first, np.random.default_rng(0))), Loop)
