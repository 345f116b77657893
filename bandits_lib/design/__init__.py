"""Compute experimental designs for linear bandits: the share of the pulls that each arm should get."""

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
