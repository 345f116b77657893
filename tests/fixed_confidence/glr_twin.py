"""The generalised likelihood ratio test in plain numpy, for the twins of rules that pull one by one."""

import numpy as np

from bandits_lib.fixed_confidence.stopping import opening
from bandits_lib.numerics.ties import argmax


class Twin:
    """Pulls, least squares and stopping rule (u = 1), everything computed afresh at every pull."""

    def __init__(self, problem, rng, delta, sigma=1.0):
        self.problem, self.rng, self.delta, self.sigma = problem, rng, delta, sigma
        start = opening(problem.arms, problem.items)
        self.arms, self.items, self.c = start.arms, start.items, start.c
        self.counts, self.sums = start.counts.copy(), problem.pull(start.counts, rng).sums
        self.refresh()

    def refresh(self):
        self.information = (self.arms.T * self.counts) @ self.arms
        self.inverse = np.linalg.inv(self.information)
        self.theta = self.inverse @ self.arms.T @ self.sums
        self.values = self.items @ self.theta
        self.leader = argmax(self.values)
        self.t = self.counts.sum()

    def pull(self, arm):
        self.counts[arm] += 1
        self.sums[arm] += self.problem.means[arm] + self.problem.sigma[arm] * self.rng.standard_normal()
        self.refresh()

    def costs(self, leader, inverse):
        """(M,) (y'theta)_+^2 / (2 y'inverse y), infinite for the leader itself."""
        y = self.items[leader] - self.items
        with np.errstate(invalid="ignore"):
            costs = np.maximum(y @ self.theta, 0) ** 2 / (2 * np.einsum("md,de,me->m", y, inverse, y))
        costs[leader] = np.inf
        return costs

    def beta(self):
        r = len(self.theta)
        logdet = np.linalg.slogdet(self.information / self.c + np.eye(r))[1]
        return 2 * self.sigma**2 * (logdet / 2 - np.log(self.delta))

    def stopped(self):
        return self.costs(self.leader, self.inverse).min() > self.beta()
