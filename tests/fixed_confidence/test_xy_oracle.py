"""The oracle with noise that differs between arms, its two ways to pull and its two ways to stop."""

from math import ceil, log, sqrt

import numpy as np
import pytest

from bandits_lib import instances, play
from bandits_lib.complexity import oracle_design
from bandits_lib.design import xy_design
from bandits_lib.fixed_confidence import xy_oracle

NOISY = instances.bent_benchmark(angle=0.1, alpha2=4.0, beta2=0.8)


def oracle(problem, seed=0, **options):
    given = {"theta_star": problem.theta, "delta": 0.05, "sigma": problem.sigma, "rng": np.random.default_rng(seed)}
    return xy_oracle(problem.arms, problem.items, **(given | options))


def rounds(problem, **options):
    return oracle(problem, **({"batches": "rounds", "design": xy_design} | options))


def test_equal_noise_per_arm_is_one_noise():
    problem = instances.benchmark(3, angle=0.2, sigma=1.3)
    for options in ({}, {"batches": "rounds"}, {"design": xy_design}):
        one, per_arm = (
            play(oracle(problem, sigma=sigma, **options), problem, np.random.default_rng(1)).counts
            for sigma in (1.3, np.full(4, 1.3))
        )
        assert (one == per_arm).all()


def test_rounds_pull_the_share_of_a_growing_number():
    run = play(rounds(NOISY), NOISY, np.random.default_rng(0))
    lam = oracle_design(NOISY.arms, theta=NOISY.theta, sigma=NOISY.sigma)
    assert len(run.result.history) >= 1
    for r in run.result.history:
        n = 2 * r.index * lam.value * log(4 * r.index**2 * 6 / 0.05)
        np.testing.assert_allclose(r.counts, [ceil(n * share) for share in lam.weights], atol=1, rtol=1e-4)


def test_widths_are_those_of_weighted_least_squares_on_the_round_alone():
    run = play(rounds(NOISY), NOISY, np.random.default_rng(0))
    last = run.result.history[-1]
    A = sum(n * np.outer(x, x) / s**2 for n, x, s in zip(last.counts, NOISY.arms, NOISY.sigma, strict=True))
    directions = NOISY.items[0] - NOISY.items[1:]
    norms = [y @ np.linalg.pinv(A, rcond=1e-12) @ y for y in directions]
    assert last.width == pytest.approx(sqrt(2 * log(2 * last.index**2 * 6 / 0.05) * max(norms)), rel=1e-6)


@pytest.mark.parametrize("batches", ["rounds", "draws"])
def test_one_that_stops_when_it_is_right_stops_no_later_and_is_never_wrong(batches):
    for seed in range(20):
        pulls = {}
        for stop in ("truth", "widths"):
            rule = oracle(NOISY, seed, batches=batches, design=xy_design, stop=stop)
            run = play(rule, NOISY, np.random.default_rng(seed))
            pulls[stop] = run.counts.sum()
            assert run.result.recommendation == 0
        assert pulls["truth"] <= pulls["widths"]
