"""FWS: games of several rows; its rate is in test_lower_bound.py."""

import numpy as np

from bandits_lib import instances, play
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
