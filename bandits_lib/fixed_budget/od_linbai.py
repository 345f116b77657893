"""OD-LinBAI: halving by dimension with a G-optimal design in each phase (Yang and Tan 2021, Algorithm 1).

azizi2022 (Azizi et al., section 7) compares GSE with this rule. The rule keeps ceil(d / 2^r) arms after phase r of
R = ceil(log2 d). Every phase pulls arm i ceil(pi_i m) times, with
m = (budget - min(K, d(d+1)/2) - sum_{r < R} ceil(d / 2^r)) / R. Departures:
- d is the rank of the arms. For d = 1 the formula gives no phase; the rule then has one phase.
- The first design of `g_design` has at most d(d+1)/2 atoms; the published code's `wolfe_atwood_design` may have more.
"""

from collections.abc import Callable

import numpy as np

from bandits_lib.checks import check_budget, check_noisy
from bandits_lib.design import g_design
from bandits_lib.design.rounding import check_floor, floored
from bandits_lib.fixed_budget.stages import measure, project
from bandits_lib.numerics.linear_algebra import along, combine, product, squares, transposed
from bandits_lib.numerics.span import quick_inverse_root
from bandits_lib.numerics.ties import argmax, top
from bandits_lib.protocol import BATCHES, FALLS, Algorithm, Result, Round, Row, rule


@rule(
    label="OD-LinBAI",
    row=Row(BATCHES, "as gse, fewer batches", "Yang and Tan 2021", FALLS),
)
def od_linbai(
    arms: np.ndarray, *, budget: int, sigma: float | np.ndarray = 1.0, design: Callable = g_design, floor: float = 0.0
) -> Algorithm:
    """Find the best arm within a budget, by halving: d / 2^r arms are left after phase r (Yang and Tan 2021).

    It yields pulls, returns a `Result` and raises errors as `gse` does. A budget that leaves no pull to a phase is an
    error, whose message gives the smallest one.

    Parameters
    ----------
    arms, budget, sigma : (K, d) array_like, int, and float or (K,) array_like
        As for `gse`.
    design : callable
        Function (arms (m, r)) -> `Design`, G-optimal. A design with more than r(r+1)/2 atoms may exceed the budget, by
        at most one pull for each atom beyond that number.
    floor : float
        As for `gse`. If it is positive, K pulls are set aside for rounding up.
    """
    arms, sigma = check_noisy(arms, sigma)
    floor = check_floor(floor)
    if len(arms) == 1:
        return Result(0)
    kept, m = phases(len(arms), project(arms).arms.shape[1], budget, floor)

    active, history = np.arange(len(arms)), []
    for r, survivors in enumerate(kept, start=1):
        if not arms[active].any():  # arms that are all 0 are equally good
            break
        stage = project(arms[active])  # a_r(i), in d_r dimensions
        lam = floored(design(stage.arms), floor, stage.arms, stage.arms)  # pi_r
        counts = np.ceil(lam.weights * m - 1e-9).astype(np.int64)  # T_r(i); 5.000000000001 counts as 5
        sample, of_active = yield from measure(active, counts, len(arms))
        pulled = of_active.counts > 0
        root, _ = quick_inverse_root(stage.arms[pulled], of_active.counts[pulled])
        whitened = product(stage.arms, transposed(root))
        theta = combine(combine(of_active.sums, whitened), root)
        values = along(stage.arms, theta)
        width = sigma * np.sqrt(squares(whitened - whitened[argmax(values)]).max())
        history.append(Round.of(r, active, sample, lam, width, stage.basis @ theta))
        active = active[top(values, min(survivors, len(active)))]  # the ceil(d / 2^r) arms of largest estimates
    return Result(int(active[0]), tuple(history))


def phases(K, rank, budget, floor=0.0):
    """Return the arms kept after each of the R phases (list of R), and m, pulls of a phase before rounding up."""
    kept = [-(-rank // 2**r) for r in range(1, max(1, (rank - 1).bit_length()) + 1)]
    atoms = (K if floor else min(K, rank * (rank + 1) // 2)) + sum(kept[:-1])
    why = f"OD-LinBAI sets {atoms} pulls aside for rounding up and needs one more"
    return kept, (check_budget(budget, atoms + 1, why) - atoms) / len(kept)
