"""What the stages of GSE and OD-LinBAI share: coordinates of the arms in play, and pulls of these alone.

The basis of the coordinates is orthonormal, unless the scales of the arms are decades apart.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_told
from bandits_lib.design.cache import cached
from bandits_lib.numerics.axes import principal_axes
from bandits_lib.numerics.ordered import product, squares
from bandits_lib.numerics.span import RANK_TOL, basis, far_apart, scaled_axes
from bandits_lib.protocol import Sample

PROJECTIONS = ("span", "first3", "cumulative")


class Stage(NamedTuple):
    """The arms in play as arms (m, r) of rank r, in coordinates x -> basis'x with basis (d, r) of what they span."""

    arms: np.ndarray
    basis: np.ndarray


@cached
def project(arms, projection="span"):
    """The `Stage` of arms (m, d): on what they span (line 2 of GSE), or on the first three axes of it.

    "first3" takes these axes always, "cumulative" only of arms that do not span R^d.
    """
    axes = basis(arms)
    short = axes.shape[1] < arms.shape[1]
    if projection == "first3" or (projection == "cumulative" and short):
        axes = principal_axes(arms, min(3, axes.shape[1])).T.copy()
    inside = product(arms, axes)
    if projection == "cumulative" and short:
        inside[squares(inside) <= RANK_TOL**2 * squares(arms)] = 0.0  # at right angles to the axes
    if not far_apart(inside):
        return Stage(inside, axes)
    scaled = scaled_axes(inside)
    return Stage(product(inside, scaled), product(axes, scaled))


def projected(stage, projection="span"):
    """The `Stage` of the arms of a Stage, projected once more."""
    inner = project(stage.arms, projection)
    return Stage(inner.arms, product(stage.basis, inner.basis))


def measure(stage, active, asked, K):
    """Sub-generator: pull `asked` (m,); the Samples of all K arms and of those in play, and whether it was as asked."""
    counts = np.zeros(K, dtype=np.int64)
    counts[active] = asked
    sample = yield counts
    told = Sample(*(field[active] for field in sample))
    return sample, told, check_told(asked, told, stage.arms, stage.arms - stage.arms[0])
