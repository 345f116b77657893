"""OD-LinBAI: halving by dimension with a G-optimal design in each phase (Yang and Tan 2021, Algorithm 1).

The rival of azizi2022, section 7. It has R = ceil(log2 d) phases and keeps ceil(d / 2^r) arms after phase r, so all
but half the dimension of the arms go in the first, however many there are. A phase pulls arm i ceil(pi_i m) times,
    m = (budget - min(K, d(d+1)/2) - sum_{r < R} ceil(d / 2^r)) / R,  which must be positive.
That stays within the budget only if the first design has at most d(d+1)/2 atoms; `g_design` guarantees that. The
code published with azizi2022 has its design from a minimum-volume ellipsoid by away steps, `wolfe_atwood_design`: most
arms get no weight, but with many arms more than d(d+1)/2 get some.

d is the rank of the arms throughout. For d = 1 the formula gives no phase, and we take one.
"""

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_sigma
from bandits_lib.design import g_design
from bandits_lib.design.rounding import check_floor, floored
from bandits_lib.fixed_budget.stages import measure, project
from bandits_lib.numerics.linear_algebra import along, combine, product, squares, transposed
from bandits_lib.numerics.span import quick_inverse_root
from bandits_lib.numerics.ties import argmax, top
from bandits_lib.protocol import Result, Round
from bandits_lib.rules import BATCHES, FALLS, LARGEST, SPENT, After, Row, rule


@rule(
    label="OD-LinBAI",
    row=Row(BATCHES, LARGEST, "as gse, fewer batches", "Yang and Tan 2021", FALLS),
    guarantee=After("in play", SPENT),
)
def od_linbai(arms, *, budget, sigma=1.0, design=g_design, floor=0.0):
    """Best arm within a budget of pulls, eliminating down to half the dimension at once (Yang and Tan 2021).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled; identical ones are allowed.
    budget : int
        Number of pulls, never exceeded with the default design; the history says what each phase took.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, for the widths in the history only; of several the largest is used.
    design : callable, default g_design
        Function (arms (m, r)) -> `Design`, G-optimal. With more than r(r+1)/2 atoms it may pass the budget, by no more
        than there are more.
    floor : float, default 0.0
        Share of every phase's pulls, in [0, 1), that the arms in play get evenly, so that lack of fit can be seen
        (`design.floored`). K pulls are set aside for rounding up in the first phase then.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best arm (int) and the
        history of `Round`, whose `width` is the largest standard deviation of an estimated difference from the phase's
        leader. One arm: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input, and for a budget that leaves nothing to split (it says the smallest that runs).

    References
    ----------
    .. [1] Yang, Tan. "Minimax optimal fixed-budget best arm identification in linear bandits". arXiv 2021, NeurIPS
       2022. Algorithm 1.
    .. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022.
       Section 7 and appendix D.3.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = od_linbai(problem.arms, budget=60)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_arms(arms), check_sigma(sigma, len(arms)).max()
    floor = check_floor(floor)
    if len(arms) == 1:
        return Result(0)
    kept, m = phases(len(arms), project(arms).arms.shape[1], budget, floor)

    active, history = np.arange(len(arms)), []
    for r, survivors in enumerate(kept, start=1):
        if not arms[active].any():  # all 0: one is as good as another
            break
        stage = project(arms[active])
        weights, value, lower_bound, _ = floored(design(stage.arms), floor, stage.arms, stage.arms)
        asked = np.ceil(weights * m - 1e-9).astype(np.int64)
        sample, told, _ = yield from measure(stage, active, asked, len(arms))
        pulled = told.counts > 0
        root, _ = quick_inverse_root(stage.arms[pulled], told.counts[pulled])
        whitened = product(stage.arms, transposed(root))
        theta = combine(combine(told.sums, whitened), root)
        values = along(stage.arms, theta)
        width = sigma * np.sqrt(squares(whitened - whitened[argmax(values)]).max())
        history.append(Round(r, active, sample.counts, value, lower_bound, float(width), stage.basis @ theta))
        active = active[top(values, min(survivors, len(active)))]
    return Result(int(active[0]), tuple(history))


def phases(K, rank, budget, floor=0.0):
    """Arms kept after each of the R phases (list of R) and m, pulls of a phase before rounding up, or ValueError."""
    kept = [-(-rank // 2**r) for r in range(1, max(1, (rank - 1).bit_length()) + 1)]
    atoms = (K if floor else min(K, rank * (rank + 1) // 2)) + sum(kept[:-1])
    why = f"OD-LinBAI sets {atoms} pulls aside for rounding up and needs one more"
    return kept, (check_budget(budget, atoms + 1, why) - atoms) / len(kept)
