"""FWS: games of several rows, forced exploration, rate and errors."""

import numpy as np

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.complexity import characteristic_time
from bandits_lib.fixed_confidence import fws
from bandits_lib.fixed_confidence.fws import is_square
from bandits_lib.plain import fws as plain

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(12, np.random.default_rng(1), d=3),
}


def test_games_of_several_rows_are_played(monkeypatch):
    """The plain rule counts them; that the compiled one pulls the same is proved in tests/plain."""
    problem, rows, solve = PROBLEMS["benchmark"], [], plain.maximin
    monkeypatch.setattr(plain, "maximin", lambda payoffs: rows.append(len(payoffs)) or solve(payoffs))
    play(plain.fws(problem.arms, problem.items, 0.05), problem, np.random.default_rng(1), max_pulls=400)
    assert sum(n > 1 for n in rows) > 20


def test_exploration_is_forced_at_perfect_squares():
    assert [n for n in range(30) if is_square(n)] == [0, 1, 4, 9, 16, 25]
    problem = PROBLEMS["sphere"]
    K = len(problem.arms)
    run = play(fws(problem.arms, delta=1e-9), problem, np.random.default_rng(0), max_pulls=17 * K)
    assert run.counts.sum() == 17 * K and run.counts.min() >= 4
    first = play(fws(problem.arms, delta=1e-9), problem, np.random.default_rng(0), max_pulls=K)
    assert (first.counts == 1).all()


def test_pulls_approach_what_the_lower_bound_asks_at_this_threshold():
    """N / (T* beta) tends to 1 as delta falls."""
    problem = PROBLEMS["benchmark"]
    time, ratios = characteristic_time(problem.arms, theta=problem.theta), []
    for seed in range(8):
        run = play(fws(problem.arms, delta=1e-40), problem, np.random.default_rng(seed))
        logdet = np.linalg.slogdet((problem.arms.T * run.counts) @ problem.arms + np.eye(4))[1]
        ratios.append(run.counts.sum() / (time * 2 * (logdet / 2 + 40 * np.log(10))))
    assert 0.9 < np.mean(ratios) < 1.2


def error_rate(told, delta=0.2, runs=150):
    rules = {"fws": lambda p, rng: fws(p.arms, delta=delta, sigma=told)}
    hard = LinearBandit([[1.0, 0.0], [0.0, 1.0], [0.8, 0.8]], theta=[1.0, 0.4])
    table = monte_carlo(rules, lambda rng: hard, runs=runs, misspecified=told != 1, progress=False)
    return 1 - table["correct"].mean(), 4 * np.sqrt(delta * (1 - delta) / runs)


def test_errors_are_rarer_than_delta_and_not_with_an_understated_sigma():
    rate, slack = error_rate(1.0)
    assert rate <= 0.2 + slack
    rate, slack = error_rate(0.1)
    assert rate > 0.2 + slack
