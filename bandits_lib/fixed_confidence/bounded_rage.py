"""RAGE by betting, for rewards in [0, 1]. It is not of the four papers; companion_your_own_arms has the proof.

The phases are those of RAGE (Fiez et al. 2019, Algorithm 1). The differences are:
- Every item has a wealth, which grows when rewards support that the item is not the best. An item whose wealth reaches
  1 / delta is eliminated.
- The rival of an item is the leader so far; the rival of the leader is the runner-up.
- The pulls of all phases count, and each phase has `growth` times as many pulls as the one before.
- Designs and least squares are weighted by the variances estimated in earlier phases (as in weltz2023, section 4).

A bet has coefficients s = lam c_x: c are those of least squares for y = rival - item, and lam = lead / V, where V is
the sum of c_x^2 E(X - q_x)^2 over the pulls. The lead is unknown, so each of 40 leads unit / 2^j has its own bet. The
sum of log(1 + s (X - q)) over the pulls of an arm is bounded from below by the larger sum of
- the chord of this concave function on [0, 1], which is exact for rewards 0 and 1;
- u - u^2 (1/2 + f/3 + f^2/2), for u = s (X - q) >= -f and f <= 1/2.
"""

from collections.abc import Callable
from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_problem
from bandits_lib.design import pairs, round_design, weighted_design
from bandits_lib.elimination import feasible
from bandits_lib.numerics import linear_algebra
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.linear_algebra import along, ordered_sum, product, transposed
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import BATCHES, DELTA, OWN, Algorithm, Result, Round, Row, Sample, rule, total

STEPS = np.arange(1, 41)
LEADS = 0.5**STEPS  # in multiples of `unit`
WEIGHTS = (1 + np.abs(STEPS - 5.0)) ** -2
WEIGHTS /= WEIGHTS.sum()
MOST_LOST = 0.5  # the largest share of the wealth that one pull may lose
SHRINK = 4  # a guessed mean is at least the overall rate / SHRINK, and 1 - mean at least (1 - rate) / SHRINK


class Guess(NamedTuple):
    """Means and deviations that a phase assumes; they affect the growth of the wealth, not the guarantee."""

    means: np.ndarray  # (K,), q
    sd: np.ndarray  # (K,), square roots of E(X - q)^2


def guess(arms, sample, theta_hat):
    """Return the `Guess` from all pulls so far: means by the linear model, variances scaled to the residuals."""
    counts, sums, squares = sample
    rate = (ordered_sum(sums) + 1) / (counts.sum() + 2)
    q = np.clip(along(arms, theta_hat), rate / SHRINK, 1 - (1 - rate) / SHRINK)
    observed = ordered_sum(squares - 2 * q * sums + counts * q**2)
    of_binary = ordered_sum(counts * q * (1 - q))  # what rewards 0 and 1 of these means would have
    return Guess(q, np.sqrt(q * (1 - q) * (1 + observed) / (1 + of_binary)))


def log_wealth(arms, sample, guess, directions, unit):
    """Return the change (m, J) of the log wealth in a phase, and V (m,); `directions` : (m, d), rivals minus items."""
    pulled = np.flatnonzero(sample.counts)
    fit = weighted_least_squares(arms, sample, guess.sd)
    rows, whitened = fit.whitened(arms[pulled]), fit.whitened(directions)
    c = product(whitened, transposed(rows)) / guess.sd[pulled] ** 2
    q, V = guess.means[pulled], linear_algebra.squares(whitened)
    largest = MOST_LOST / _losses(c, q).max(axis=1)
    lam = np.minimum(unit * LEADS / V[:, None], largest[:, None])
    rewards = [field[pulled] for field in sample]
    return np.stack([log_growth(step[:, None] * c, q, *rewards) for step in lam.T], axis=1), V


def log_growth(s, q, counts, sums, squares):
    """Return a lower bound (m,) on log of prod (1 + s (X - q)) exp(s q), for s (m, n), guesses q (n,) and n rewards."""
    f = _losses(s, q)
    chord = sums * np.log1p(s * (1 - q)) + (counts - sums) * np.log1p(-s * q)
    parabola = s * (sums - counts * q) - s**2 * (squares - 2 * q * sums + counts * q**2) * (0.5 + f / 3 + f**2 / 2)
    return (np.maximum(chord, parabola) + s * q * counts).sum(axis=1)


def _losses(s, q):
    """Return the largest loss of one pull, -min of s (X - q) over X in [0, 1]."""
    return np.maximum(s * q, -s * (1 - q))


def check_fractions(sample):
    """Refuse rewards outside [0, 1], as far as counts, sums and squares reveal them."""
    counts, sums, squares = sample
    slack = 1e-9 * counts
    valid = (sums >= -slack) & (squares <= sums + slack) & (sums <= counts + slack)
    valid &= squares * counts >= sums**2 * (1 - 1e-9)  # with the others, also refuses NaN
    if not valid.all():
        k = int(np.argmin(valid))  # noqa: TID251  of booleans
        raise ValueError(
            f"rewards must lie in [0, 1]; those of arm {k} do not ({counts[k]} pulls of sum {sums[k]:.6g} and sum of "
            f"squares {squares[k]:.6g}). Rescale all rewards by their smallest and largest possible values, or use "
            "rage(..., sigma=...)"
        )


@rule(
    label="RAGE by betting",
    row=Row(
        BATCHES,
        "rewards 0 and 1, or between: pays for their true variance",
        "none: proof in companion_your_own_arms",
        DELTA,
        OWN,
    ),
    check=check_fractions,
)
def bounded_rage(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    growth: float = 2.0,
    design: Callable = weighted_design,
) -> Algorithm:
    """Find the best item with probability at least 1 - delta from rewards in [0, 1] of unknown variance.

    It yields pulls, returns a `Result` and raises errors as `rage` does, and for rewards outside [0, 1].
    The bets are those of Waudby-Smith and Ramdas (2024). If the noise is small and known, `rage` with that sigma takes
    fewer pulls. The width of a Round is sqrt(2 (1 + log(1 / delta)) V), and its theta_hat is estimated from all pulls
    so far.

    Parameters
    ----------
    arms, items, delta : array_like and float
        As for `rage`, with means x'theta in [0, 1] given the past. An offset that all rewards of a phase
        share breaks the guarantee. `bandits_lab.plates` spreads every arm evenly over the plates.
    growth : float
        Factor above 1 by which the pulls grow from phase to phase while the items stay the same. A smaller factor
        costs fewer pulls.
    design : callable
        As for `rage`, called with `sigma=`, too.

    Examples
    --------
    >>> from bandits_lib import LinearBandit, play
    >>> pages = LinearBandit([[1.0, 0.0], [1.0, 1.0]], theta=[0.1, 0.05], noise="bernoulli")
    >>> play(bounded_rage(pages.arms, delta=0.05), pages, np.random.default_rng(0)).result.recommendation
    1
    """
    arms, items, delta, _ = check_problem(arms, items, delta, sigma=1.0)
    if not isinstance(growth, int | float | np.number) or not 1 < growth <= 1000:
        raise ValueError(
            f"growth must be above 1 and at most 1000 (the factor by which pulls of a phase grow); got {growth!r}"
        )
    demand = 2 * (1 - log(delta))  # a lead is detected when lead^2 / V is about this large

    active, history, rank = np.arange(len(items)), list[Round](), basis(arms).shape[1]
    wealth = np.tile(np.log(WEIGHTS), (len(items), 1))  # logarithms, (M, J)
    assumed = Guess(np.full(len(arms), 0.5), np.full(len(arms), 0.5))  # the largest possible variance
    values, samples, unit = np.zeros(len(items)), list[Sample](), 0.0
    while len(active) > 1:
        t = len(history) + 1
        lam = design(arms, pairs(items[active]), sigma=assumed.sd)
        unit = unit or sqrt(lam.value / rank)
        scale = unit * float(growth) ** (-t / 2)
        n = feasible(demand * lam.value / scale**2, t, active, scale=f"{scale:.2g}")
        n = max(ceil(n), 2 * np.count_nonzero(lam.weights))
        counts = round_design(lam.weights / lam.weights.sum(), n)
        directions = rivals(items[active], values[active]) - items[active]  # chosen from past data alone
        sample = yield counts
        check_fractions(sample)
        gained, V = log_wealth(arms, sample, assumed, directions, unit)
        wealth[active] += gained
        samples.append(sample)
        so_far = total(samples)
        theta_hat = weighted_least_squares(arms, so_far, assumed.sd).theta_hat
        values, assumed = along(items, theta_hat), guess(arms, so_far, theta_hat)
        width = sqrt(demand * V.max())
        history.append(Round.of(t, active, sample, lam, width, theta_hat))
        kept = active[np.logaddexp.reduce(wealth[active], axis=1) < -log(delta)]
        active = kept if len(kept) else active[[argmax(values[active])]]
    return Result(int(active[0]), tuple(history))


def rivals(items, values):
    """Return the rival (m, d) of each item: the leader by the values (m,), or for the leader the runner-up."""
    leader = argmax(values)
    followers = np.delete(np.arange(len(items)), leader)
    rival = np.tile(items[leader], (len(items), 1))
    rival[leader] = items[followers[argmax(values[followers])]]
    return rival
