"""How often rules with fixed confidence err where two arms are nearly level, and where the noise is more than assumed.

A rule whose error probability is exactly delta = 0.05 passes with probability 0.9999, and 1,000 runs notice a true
error of 0.1 with probability 0.99. Each rule has a negative control that must fail: the true noise is larger than it
is told, or each reward is told to it ten times.
"""

import numpy as np
import pytest
import test_contract as contract
from scipy import stats

from bandits_lib import LinearBandit, Sample, monte_carlo
from bandits_lib.protocol import PULLS
from bandits_lib.simulate.monte_carlo import best_item, sphere_regret

DELTA = 0.05  # of every rule of the contract, as sigma = 1
RUNS, NOTICED = 1_000, 0.1  # and the true error that they notice
ORACLES = ["xy_oracle", "xy_oracle (weighted)"]  # `xy_oracle (truth)` is left out: it stops when it is right
CAUTIOUS = ("h_rage", "alba", "sphere")  # these err too rarely even with four times the noise, so they get ten times
RULES = [name for name in contract.IN_THE_WORLD if name not in {*contract.BUDGETED, "xy_oracle (truth)"}]
each_rule = pytest.mark.parametrize("name", RULES)
pytestmark = pytest.mark.slow


class Repeated(LinearBandit):
    """Each reward is told ten times."""

    def pull(self, counts, rng):
        found = super().pull(-(-counts // 10), rng)
        return Sample(counts, *(field * counts / np.maximum(found.counts, 1) for field in found[1:]))


def near_tie(name, control):
    """Two arms 0.03 apart, 0.6 for rules that decide pull by pull; or the sphere."""
    sigma = 1.0
    if control:
        sigma = 10.0 if name.startswith(CAUTIOUS) else 4.0
    if name in contract.ON_THE_SPHERE:
        return LinearBandit(np.eye(3), theta=[1.0, 0.0, 0.0], sigma=sigma)
    gap = 0.6 if contract.function(name).row.asks == PULLS else 0.03
    theta = [0.5 + gap / 2, 0.5 - gap / 2]
    if name in contract.BINARY:
        return (Repeated if control else LinearBandit)(np.eye(2), theta=theta, noise="bernoulli")
    if name.endswith("(sigma unknown)"):  # more noise is learned, rewards told ten times are not
        return (Repeated if control else LinearBandit)(np.eye(2), theta=theta)
    told = np.linspace(0.5, 1.5, 2) if name == "xy_oracle (weighted)" else 1.0
    return LinearBandit(np.eye(2), theta=theta, sigma=sigma * told)


def right(problem, recommendation):
    """The best arm, or on the sphere a direction whose regret is at most epsilon = 0.5."""
    direction = np.ndim(recommendation)
    return sphere_regret(problem, recommendation) <= 0.5 if direction else best_item(problem, recommendation)


def errors(name, monkeypatch, control=False):
    """Errors in RUNS runs. An oracle is told a false theta: it errs if it ends, and the others have to end."""
    monkeypatch.setattr(contract, "THETA", np.array([0.0, 1.0]))
    rows = monte_carlo(
        {name: lambda p, rng: contract.IN_THE_WORLD[name][0](p.arms, None, rng)},
        near_tie(name, control),
        runs=RUNS,
        correct=right,
        max_pulls=3_000 if name in ORACLES else 10**8,
        misspecified=control,
        progress=False,
    )
    assert rows["stopped"].all() or name in ORACLES
    return int((rows["stopped"] & ~rows["correct"].eq(True)).sum())


MOST = stats.binom.ppf(0.9999, RUNS, DELTA)


@each_rule
def test_errors_stay_below_delta(name, monkeypatch):
    assert errors(name, monkeypatch) <= MOST


@each_rule
def test_a_rule_whose_assumptions_fail_is_noticed(name, monkeypatch):
    assert errors(name, monkeypatch, control=True) > MOST


def test_what_so_many_runs_notice():
    assert stats.binom.sf(MOST, RUNS, NOTICED) > 0.99 > stats.binom.sf(MOST, RUNS, 0.8 * NOTICED)
