"""Your own experiment: ask a rule what to measure, tell it the results, keep a log, and plan and check with it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bandits_lab.anytime_intervals import standings
    from bandits_lab.arms import read_arms
    from bandits_lab.diagnosis import LinearityWarning, diagnose
    from bandits_lab.lab import Lab, ReplayWarning
    from bandits_lab.noise import SigmaWarning, sigma_upper
    from bandits_lab.planning import plan

__all__ = [
    "Lab",
    "LinearityWarning",
    "ReplayWarning",
    "SigmaWarning",
    "diagnose",
    "plan",
    "read_arms",
    "sigma_upper",
    "standings",
]

HOMES = {
    "Lab": "lab",
    "LinearityWarning": "diagnosis",
    "ReplayWarning": "lab",
    "SigmaWarning": "noise",
    "diagnose": "diagnosis",
    "plan": "planning",
    "read_arms": "arms",
    "sigma_upper": "noise",
    "standings": "anytime_intervals",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: statistics and pictures take a second to load."""
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
