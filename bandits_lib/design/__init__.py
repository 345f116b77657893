"""Experimental designs for linear bandits: which share of the pulls each arm should get.

Certified optimal designs (`g_design`, `xy_design`, `weighted_design`), designs of least Gaussian width
(`width_design`), the papers' solvers and allocations for replication (`frank_wolfe_design`, `fwg_design`,
`wynn_design`, `wolfe_atwood_design`, `clusters_design`), the way from weights to whole pulls (`round_design`), what
given weights are worth (`design_value`), and a share of the pulls for all arms (`floored`).
"""

from bandits_lib.design.cache import cache_clear, cache_off
from bandits_lib.design.certificate import Design
from bandits_lib.design.directions import pairs
from bandits_lib.design.frank_wolfe import frank_wolfe_design
from bandits_lib.design.gaussian_width import width_design
from bandits_lib.design.published_designs import clusters_design, fwg_design, wolfe_atwood_design, wynn_design
from bandits_lib.design.rounding import floored, round_design
from bandits_lib.design.solvers import design_value, g_design, weighted_design, xy_design

__all__ = [
    "Design",
    "cache_clear",
    "cache_off",
    "clusters_design",
    "design_value",
    "floored",
    "frank_wolfe_design",
    "fwg_design",
    "g_design",
    "pairs",
    "round_design",
    "weighted_design",
    "width_design",
    "wolfe_atwood_design",
    "wynn_design",
    "xy_design",
]
