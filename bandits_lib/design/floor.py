"""A floor under a design: a share f of the pulls is spread evenly over all arms, so that lack of fit can be seen.

An optimal design pulls few arms more than it has dimensions, and a linear fit goes through nearly all their means. With
weights (1 - f) lambda + f / K it is put to the test by all the others (`bandits_lib.lab.diagnose`). The information is
at least (1 - f) A(lambda), so every squared norm, and the value, is at most 1 / (1 - f) times as large. A rule that
computes its pulls from the value of the design in use keeps its guarantee.
"""

import numpy as np

from bandits_lib.design.solvers import design_value


def floored(design, floor, arms, directions, sigma=1.0):
    """The same design over a floor: weights (1 - floor) lambda + floor / K, with the value that they have.

    Parameters
    ----------
    design : Design
        A design on the arms.
    floor : float
        Share of the pulls, in [0, 1), that all arms get evenly; 0 gives the design back.
    arms : (K, d) array_like
        Arms, one per row.
    directions : (n, d) array_like or Pairs
        What the value of the design is a maximum over (of a G-design the arms).
    sigma : float or (K,) array_like, default 1.0
        Positive standard deviation of the noise, one for all arms or one per arm, as it entered the design.

    Returns
    -------
    Design
        `value` is computed at the new weights, at most 1 / (1 - floor) times the old one. `lower_bound` is that of the
        design: no design at all is below it, and value / lower_bound now holds the price of the floor.

    Raises
    ------
    ValueError
        For a floor outside [0, 1), and as `design_value`.

    Examples
    --------
    >>> from bandits_lib.design import xy_design
    >>> from bandits_lib.design.floor import floored
    >>> arms, ahead = np.vstack([np.eye(2), [1.0, 1.0]]), np.array([[1.0, -1.0]])
    >>> design = floored(xy_design(arms, ahead), 0.3, arms, ahead)
    >>> design.weights.round(2).tolist(), round(design.value, 2), round(design.lower_bound, 2)
    ([0.45, 0.45, 0.1], 4.44, 4.0)
    """
    floor = check_floor(floor)
    if floor == 0:
        return design
    weights = np.asarray(design.weights, dtype=float)
    weights = (1 - floor) * (weights / weights.sum()) + floor / len(weights)
    return design._replace(weights=weights, value=design_value(arms, weights, directions, sigma))


def check_floor(floor):
    """The share that is spread evenly as a float in [0, 1), or a ValueError."""
    if not isinstance(floor, int | float | np.number) or not 0 <= floor < 1:
        raise ValueError(f"floor must lie in [0, 1) (share of the pulls that all arms get evenly); got {floor!r}: 0.1")
    return float(floor)


def evenly(extra, counts):
    """`extra` pulls (K,) spread evenly over the arms, those left over to the arms that `counts` (K,) pull least."""
    each, left = divmod(extra, len(counts))
    pulls = np.full(len(counts), each, dtype=np.int64)
    pulls[np.argsort(counts, kind="stable")[:left]] += 1
    return pulls
