"""Rules that follow the lower bound: as many pulls as it asks for at their threshold."""

import numpy as np
import pytest

from bandits_lib import instances, play
from bandits_lib.complexity import characteristic_time
from bandits_lib.fixed_confidence import fws, l_t3c, lin_game

RULES = {
    "fws": lambda p, rng, **told: fws(p.arms, **told),
    "lin_game": lambda p, rng, **told: lin_game(p.arms, **told),
    "l_t3c": lambda p, rng, **told: l_t3c(p.arms, rng=rng, **told),
    "l_t3c (best)": lambda p, rng, **told: l_t3c(p.arms, leader="best", rng=rng, **told),
}


@pytest.mark.parametrize("name", RULES)
def test_pulls_are_near_what_the_lower_bound_asks_at_this_threshold(name):
    """N / (T* beta) tends to 1 as delta falls; of l_t3c no proof says so."""
    problem, ratios = instances.benchmark(4, angle=0.3), []
    time = characteristic_time(problem.arms, theta=problem.theta)
    for seed in range(8):
        rule = RULES[name](problem, np.random.default_rng(seed), delta=1e-40)
        run = play(rule, problem, np.random.default_rng(seed))
        logdet = np.linalg.slogdet((problem.arms.T * run.counts) @ problem.arms + np.eye(4))[1]
        ratios.append(run.counts.sum() / (time * 2 * (logdet / 2 + 40 * np.log(10))))
    assert 0.9 < np.mean(ratios) < (1.2 if name == "fws" else 1.3)
