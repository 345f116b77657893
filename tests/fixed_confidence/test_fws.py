"""FWS: games of several rows and forced exploration; its rate is in test_lower_bound.py."""

import numpy as np

from bandits_lib import instances, play
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
