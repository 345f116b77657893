"""XY-adaptive allocation (Soare, Lazaric, Munos 2014, section 5), greedy, as run in fiez2019, section 5 and appendix F.

Phase j works on the differences y of the items still active and pulls, one after the other, the arm
    argmin over x of max over y of ||y||^2 in the norm of (A + xx')^-1,   A the sum of the phase's own xx',
until the largest squared norm has fallen below alpha times that of the phase before. Then items are dropped. A phase's
pulls do not depend on its rewards, so it is one batch (of at most BATCH pulls; a longer phase is several).

Departures and readings:
- Soare et al. divide rho of the normalised design by n, which is the largest squared norm itself (ratio="raw"). The
  published code of fiez2019 divides by n once more (ratio="per_pull"), so its phases are shorter and more.
- A needs to be invertible before norms can be compared: every phase begins with spanning arms, found by pivoted QR
  (start="pull"). The published code begins with the identity and counts it as d pulls (start="ridge"); as the world
  counts here, those are d pulls of arm 0 that nobody looks at. Its estimate is then that ridge regression.
- Ties, which the papers do not mention and the published code breaks at random, go to the arm that takes most from
  the worst difference: on the benchmark all arms tie again and again, and always the first would never end.
- Widths have the phase index, not time, in their logarithm, and items that were dropped stay dropped (appendix F).
- Items other than the arms are allowed, and M of them enter the logarithm in place of K (ours).
"""

from collections import OrderedDict
from hashlib import blake2b
from math import log, sqrt

import numpy as np

from bandits_lib.checks import (
    check_arms,
    check_delta,
    check_items,
    check_option,
    check_ridge,
    check_sigma,
    check_told,
)
from bandits_lib.fixed_confidence.elimination import eliminated_by
from bandits_lib.fixed_confidence.greedy import begin, pull_greedily
from bandits_lib.numerics.least_squares import LeastSquares, least_squares
from bandits_lib.numerics.span import basis, scaled_axes
from bandits_lib.protocol import Result, Round, one_pull, total

BATCH = 10**7  # pulls asked for at once: seconds to minutes of computation, between which max_pulls can end a run
LONGEST = 1e5  # arms of the published start: beside longer ones the identity is lost to rounding
REMEMBERED = 64  # phases whose counts are kept for other runs: every run of an experiment shares its first

_known: OrderedDict = OrderedDict()


def xy_adaptive(arms, items=None, *, delta, sigma=1.0, alpha=0.1, ratio="raw", start="pull"):
    """Best item with probability at least 1 - delta, in phases of greedy pulls (fiez2019, appendix F).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    alpha : float, default 0.1
        In (0, 1): a phase ends when its largest squared norm is below alpha times that of the one before.
    ratio : {"raw", "per_pull"}, default "raw"
        What is compared, the largest squared norm or, as published, that over the phase's pulls.
    start : {"pull", "ridge"}, default "pull"
        Every phase begins with spanning arms, or with the identity, counted as d pulls.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best item (int) and the
        history of `Round`, whose `design_value` is n times the phase's largest squared norm and whose `lower_bound` is
        0 (a greedy allocation has no certificate). One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, a number out of range).

    References
    ----------
    .. [1] Soare, Lazaric, Munos. "Best-arm identification in linear bandits". NeurIPS 2014. Section 5.
    .. [2] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Section 5 and appendix F.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = xy_adaptive(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    check_option("ratio", ratio, ("raw", "per_pull"))
    check_option("start", start, ("pull", "ridge"))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1 (share of a phase's value); got {alpha}")

    longest = np.linalg.norm(arms, axis=1).max()
    if start == "ridge" and longest > LONGEST:
        raise ValueError(f"arms must be of length {LONGEST:g} or less beside a ridge; got {longest:.2g}: rescale them")
    if start == "ridge":
        check_ridge(arms, 1.0, "the identity of start='ridge'")

    K, d = arms.shape
    axes = scaled_axes(arms) if start == "pull" else basis(arms)  # norms are computed in the span of the arms
    active, value = np.arange(len(items)), 1 / (d * (d + 1) + 1)  # rho_0 / n_0
    history: list[Round] = []
    while len(active) > 1:
        phase = begin(arms @ axes, (items[active] - items[0]) @ axes, start, d)
        unseen = (yield d * one_pull(0, K)).counts if start == "ridge" else 0
        sample, asked, norm, n = yield from _pull_until(alpha * value, phase, ratio == "per_pull")
        if start == "pull":
            check_told(asked, sample, arms, items[active] - items[active[0]])
        value = norm / n if ratio == "per_pull" else norm
        fit = least_squares(arms, sample) if start == "pull" else _ridge_regression(arms, sample)
        j = len(history) + 1
        radius = sigma * sqrt(2 * log(np.pi**2 * len(items) ** 2 * j**2 / (3 * delta)))
        kept, width = eliminated_by(items[active], fit, radius, "pairs")
        history.append(Round(j, active, sample.counts + unseen, n * norm, 0.0, width, fit.theta_hat))
        active = active[kept]
    return Result(int(active[0]), tuple(history))


def _pull_until(target, phase, per_pull):
    """Sub-generator: greedy pulls until the value is below `target`: (Sample, asked (K,), largest squared norm, n)."""
    key, samples, asked, done = _digest(target, phase, per_pull), [], np.zeros_like(phase.counts), False
    if key in _known:
        counts, norm, n = _known[key]
        return (yield counts.copy()), counts, norm, n
    while not done:
        norm, n, done = pull_greedily(phase, target, per_pull, BATCH)
        samples.append((yield phase.counts - asked))
        asked = phase.counts.copy()
    if len(samples) == 1:
        _remember(key, (asked, norm, n))
    return total(samples), asked, norm, n


def _digest(target, phase, per_pull):
    """A key (bytes) made of a phase and its target."""
    digest = blake2b(repr((target, per_pull, phase.arms.shape, phase.items.shape)).encode(), digest_size=24)
    for array in (phase.arms, phase.items, phase.base, phase.counts):
        digest.update(array.tobytes())
    return digest.digest()


def _remember(key, allocation):
    """Keep an allocation for other runs, and let go of the oldest."""
    _known[key] = allocation
    while len(_known) > REMEMBERED:
        _known.popitem(last=False)


def _ridge_regression(arms, sample):
    """theta_hat (d,) and inverse (d, d) of the published code: A = I + sum of n_x xx'."""
    inverse = np.linalg.inv(np.eye(arms.shape[1]) + (arms.T * sample.counts) @ arms)
    return LeastSquares(inverse @ (arms.T @ sample.sums), inverse)
