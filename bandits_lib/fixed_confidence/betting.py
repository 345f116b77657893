"""Bets against an item: what rewards in [0, 1] prove about the lead of another over it, whatever their variance.

Theorem. Pull i returns X_i in [0, 1] of mean p_i = x_i'theta given the past. The past may fix s_i and q_i with
1 + s_i (X_i - q_i) > 0. Then E[1 + s_i (X_i - q_i) | past] = 1 + s_i (p_i - q_i) <= exp(s_i (p_i - q_i)), so
    W = prod_i (1 + s_i (X_i - q_i)) exp(s_i q_i - s_i p_i)
is a non-negative supermartingale that starts at 1. In one phase let s_i = lam c_(x_i), where lam > 0 and c are known
before it and sum_i c_(x_i) x_i = y, as in least squares. Then sum_i s_i p_i = lam y'theta. For y = rival - item, with
any rival that the past names, this is <= 0 if the item is best: the *wealth*
    prod_i (1 + s_i (X_i - q_i)) exp(s_i q_i),
over all phases and averaged over several lam with weights of sum 1, is then at most an average of such W. By Ville's
inequality it ever reaches 1 / delta with probability at most delta. So an item whose wealth reaches 1 / delta may go:
the best item goes with probability at most delta, whatever the number of items and phases; nothing is shared out.

Nothing was assumed of the variance. q, lam and c may come from guesses, here means and variances estimated in earlier
phases: a bad guess costs pulls, never the guarantee. The logarithm of wealth grows by about lam y'theta - lam^2 V / 2 a
phase, V the sum of c_x^2 E(X - q_x)^2 over its pulls: it is the true variance that counts. As the lead y'theta is not
known, there is one lam = lead / V for each lead 2^-j, j = 1 to 40, weighted by 1 / (1 + |j - 5|)^2 over their sum.

From counts, sums and squares log(1 + s (X - q)) is bounded below, arm by arm, by the better of two:
- the chord of this concave function on [0, 1], which is exact for rewards 0 and 1;
- u - u^2 (1/2 + f/3 + f^2/2), u = s (X - q) >= -f, f <= 1/2. For (log(1 + u) - u) / u^2 increases in u, and at -f it is
  -(1/2 + f/3 + f^2/4 + f^3/5 + ...) >= -(1/2 + f/3 + f^2/2).
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics import ordered
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.ordered import along, product, total, transposed

STEPS = np.arange(1, 41)
LEADS = 0.5**STEPS  # in the unit of the rule
WEIGHTS = (1 + np.abs(STEPS - 5.0)) ** -2
WEIGHTS /= WEIGHTS.sum()
MOST_LOST = 0.5  # of the wealth, by one pull
SHRINK = 4  # a guessed mean is at least the overall rate over this, and so is the distance from 1


class Guess(NamedTuple):
    """What a phase takes for likely before its pulls: it decides how well bets pay, not whether they are fair."""

    means: np.ndarray  # (K,), q
    sd: np.ndarray  # (K,), roots of E(X - q)^2


def first_guess(K):
    """Means 1/2 and the largest variance there is."""
    return Guess(np.full(K, 0.5), np.full(K, 0.5))


def guess(arms, sample, theta_hat):
    """From all pulls so far: means by the linear model, variances q (1 - q) times what squares show of it."""
    counts, sums, squares = sample
    rate = (total(sums) + 1) / (counts.sum() + 2)
    q = np.clip(along(arms, theta_hat), rate / SHRINK, 1 - (1 - rate) / SHRINK)
    shown, binary = total(squares - 2 * q * sums + counts * q**2), total(counts * q * (1 - q))
    return Guess(q, np.sqrt(q * (1 - q) * (1 + shown) / (1 + binary)))


def log_wealth(arms, sample, guess, away, unit):
    """What the bets of a phase come to: (m, J) logarithms, for `away` (m, d), rivals minus items; and V, (m,)."""
    pulled = np.flatnonzero(sample.counts)
    fit = weighted_least_squares(arms, sample, guess.sd)
    rows, whitened = fit.whitened(arms[pulled]), fit.whitened(away)
    c = product(whitened, transposed(rows)) / guess.sd[pulled] ** 2
    q, V = guess.means[pulled], ordered.squares(whitened)
    most = MOST_LOST / _losses(c, q).max(axis=1)
    lam = np.minimum(unit * LEADS / V[:, None], most[:, None])
    rewards = [field[pulled] for field in sample]
    return np.stack([log_growth(step[:, None] * c, q, *rewards) for step in lam.T], axis=1), V


def log_growth(s, q, counts, sums, squares):
    """log of prod (1 + s (X - q)) exp(s q), or less, (m,): for s (m, n), guesses q (n,) and rewards of n arms."""
    f = _losses(s, q)
    chord = sums * np.log1p(s * (1 - q)) + (counts - sums) * np.log1p(-s * q)
    parabola = s * (sums - counts * q) - s**2 * (squares - 2 * q * sums + counts * q**2) * (0.5 + f / 3 + f**2 / 2)
    return (np.maximum(chord, parabola) + s * q * counts).sum(axis=1)


def _losses(s, q):
    """What one pull can lose at most, -min of s (X - q) over X in [0, 1]."""
    return np.maximum(s * q, -s * (1 - q))


def check_fractions(sample):
    """Refuse rewards that do not lie in [0, 1], as far as counts, sums and squares show it."""
    counts, sums, squares = sample
    slack = 1e-9 * counts
    right = (sums >= -slack) & (squares <= sums + slack) & (sums <= counts + slack)
    right &= squares * counts >= sums**2 * (1 - 1e-9)  # with the others, also refuses NaN
    if not right.all():
        k = int(np.argmin(right))
        raise ValueError(
            f"rewards must lie in [0, 1]; those of arm {k} do not ({counts[k]} pulls of sum {sums[k]:.6g}, squares "
            f"{squares[k]:.6g}): rescale all of them by their smallest and largest possible value, or take rage(..., "
            "sigma=)"
        )
