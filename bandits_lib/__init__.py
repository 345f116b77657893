"""Pure exploration in linear bandits: the algorithms of four papers, exact simulation, and a Lab for real ones."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import bandits_lib.numerics.cache  # noqa: F401  before any kernel is declared

if TYPE_CHECKING:
    from bandits_lib.lab.lab import Lab, ReplayWarning
    from bandits_lib.lab.linearity import LinearityWarning
    from bandits_lib.lab.noise import SigmaWarning
    from bandits_lib.problem import LinearBandit
    from bandits_lib.protocol import Result, Sample
    from bandits_lib.simulate.intervals import summary
    from bandits_lib.simulate.monte_carlo import monte_carlo
    from bandits_lib.simulate.play import play

try:
    __version__ = version("bandits_lib")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = [
    "Lab",
    "LinearBandit",
    "LinearityWarning",
    "ReplayWarning",
    "Result",
    "Sample",
    "SigmaWarning",
    "monte_carlo",
    "play",
    "summary",
]

HOMES = {
    "Lab": "lab.lab",
    "LinearBandit": "problem",
    "ReplayWarning": "lab.lab",
    "Result": "protocol",
    "Sample": "protocol",
    "LinearityWarning": "lab.linearity",
    "SigmaWarning": "lab.noise",
    "monte_carlo": "simulate.monte_carlo",
    "play": "simulate.play",
    "summary": "simulate.intervals",
}
SHORT = {  # modules that notebooks call by one name
    "bars": "companion.bars",
    "claims": "companion.claims",
    "clicks": "papers.clicks",
    "data": "papers.data",
    "errata": "companion.errata",
    "heteroskedastic": "papers.heteroskedastic",
    "instances": "papers",
    "intervals": "simulate.intervals",
    "ledger": "companion.ledger",
    "results": "companion.results",
    "style": "companion.style",
    "tested": "companion.tested",
}


def __getattr__(name: str) -> Any:
    """What is asked for is imported then, and not before: statistics and pictures take a second to load."""
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    if name in SHORT:
        return import_module(f"{__name__}.{SHORT[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES, *SHORT})
