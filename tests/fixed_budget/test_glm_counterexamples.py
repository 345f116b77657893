"""The two counterexamples to Theorem 5.1 of azizi2022 without the notebook: roots by brentq, means by quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm


def bend(y):
    """The inverse of the mean function of slopes 1 and 20, as the errata print it."""
    return 0.35 + y / 20 - 0.0095 * (np.logaddexp(0, -100 * y) - np.log(2))


def family(y):
    """The estimate of the parameter of N(theta, 1) + 3 Bernoulli with the logit 3 theta - 2.45."""
    return brentq(lambda t: t + 3 * expit(3 * t - 2.45) - y, y - 3.1, y + 0.1)


def mean(inverse, shift=0.0):
    return quad(lambda z: inverse(shift + z) * norm.pdf(z), -9, 9, points=[0], limit=200)[0]


def first_stage_and_bound(estimates, a, variance):
    runs, d = estimates.shape
    ahead = (estimates > estimates.sum(axis=1)[:, None] / np.sqrt(d)).sum(axis=1)
    bound = 4 * np.log2(d + 1) * np.exp(-((a * (np.sqrt(d) - 1)) ** 2) / (8 * variance))
    return (ahead >= (d + 1) / 2).mean(), bound


def test_a_mean_function_of_two_slopes():
    y = np.linspace(-3, 3, 10_001)
    slopes = np.diff(y) / np.diff(bend(y))
    assert slopes.min() > 0.999 and slopes.max() < 20.001 and mean(bend) == pytest.approx(-0.0225, abs=1e-4)
    lost, bound = first_stage_and_bound(bend(np.random.default_rng(5).normal(size=(1000, 511))), 0.35, 1.0)
    assert 0.9 < lost < 0.95 and bound == pytest.approx(0.0283, abs=1e-4)


def test_an_exponential_family_with_its_canonical_link():
    share = expit(3 * 0.15 - 2.45)
    assert share * mean(family, 3.15) + (1 - share) * mean(family, 0.15) == pytest.approx(-0.0360, abs=1e-4)
    rng = np.random.default_rng(5)
    y = rng.normal(0.15, 1, (50, 8191)) + 3 * (rng.random((50, 8191)) < share)
    grid = np.linspace(y.min(), y.max(), 2001)
    lost, bound = first_stage_and_bound(np.interp(y, grid, [family(value) for value in grid]), 0.15, 3.25)
    assert lost == 1 and bound == pytest.approx(0.0507, abs=1e-4)
