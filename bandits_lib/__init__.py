"""Pure exploration in linear bandits: the algorithms of four papers, their designs and instances, and simulation."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import bandits_lib.numerics.kernel_cache  # noqa: F401  before any kernel is declared

if TYPE_CHECKING:
    from bandits_lib.problem import LinearBandit
    from bandits_lib.protocol import Result, Sample, rule
    from bandits_lib.simulate.intervals import summary
    from bandits_lib.simulate.monte_carlo import monte_carlo
    from bandits_lib.simulate.play import play

try:
    __version__ = version("bandits_lib")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = ["LinearBandit", "Result", "Sample", "monte_carlo", "play", "rule", "summary"]

HOMES = {
    "LinearBandit": "problem",
    "Result": "protocol",
    "Sample": "protocol",
    "monte_carlo": "simulate.monte_carlo",
    "play": "simulate.play",
    "rule": "protocol",
    "summary": "simulate.intervals",
}
SHORT = {  # modules that notebooks call by one name
    "bars": "figures.bars",
    "data": "papers.data",
    "heteroskedastic": "experiments.heteroskedastic",
    "instances": "papers",
    "intervals": "simulate.intervals",
    "own_rule": "simulate.own_rule",
    "results": "figures.results",
    "style": "figures.style",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, because statistics and figures take a second to load."""
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    if name in SHORT:
        return import_module(f"{__name__}.{SHORT[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES, *SHORT})
