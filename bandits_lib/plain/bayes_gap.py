"""BayesGap with theta ~ N(0, eta^2 I) (Hoffman, Shahriari and de Freitas 2014, Algorithm 1; azizi2022, D.1).

The gaps in H are unknown. As the authors suggest, the posterior before every pull bounds them. Each arm is pulled once
first (the B - K of D.1), and eta and epsilon are those of azizi2022's code. As in the library, B is computed after the
last pull, too.
"""

import numpy as np

from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import Result, one_pull


def bayes_gap(arms, budget, sigma=1.0, eta=50.0, epsilon=0.0):
    """Return the row of the best of arms (K, d), up to epsilon, after `budget` pulls; sigma of noise, eta of prior."""
    K, d = arms.shape
    kappa = sum(1 / (x @ x) for x in arms)
    sample = yield np.ones(K, dtype=int)
    T, S = sample.counts, sample.sums
    answer, least = None, np.inf
    while True:
        Sigma = np.linalg.inv((arms.T * T) @ arms / sigma**2 + np.eye(d) / eta**2)  # the posterior's covariance
        mu = arms @ Sigma @ (arms.T @ S) / sigma**2
        s = np.sqrt(np.array([x @ Sigma @ x for x in arms]))
        Delta = np.maximum(largest_of_others(mu + 3 * s) - (mu - 3 * s), 1e-6)
        H = sum(max((gap + epsilon) / 2, epsilon) ** -2 for gap in Delta)
        beta = np.sqrt(((budget - K) / sigma**2 + kappa / eta**2) / (4 * H))
        U, L = mu + beta * s, mu - beta * s
        B = largest_of_others(U) - L
        J = argmax(-B)  # the arm of smallest possible regret
        j = argmax(np.where(np.arange(K) == J, -np.inf, U))  # and its best rival
        if answer is None or B[J] < least - TIE * abs(least):
            answer, least = J, B[J]  # J(t) at the t of smallest B_{J(t)}(t)
        if T.sum() == budget:
            return Result(int(answer))
        a = j if s[j] > s[J] * (1 + TIE) else J  # the less certain of the two
        sample = yield one_pull(a, K)
        T, S = T + sample.counts, S + sample.sums


def largest_of_others(values):
    """Return the maximum over i != k of values_i, for every k: (K,) from (K,)."""
    return np.array([np.delete(values, k).max() for k in range(len(values))])
