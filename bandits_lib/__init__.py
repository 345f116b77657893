"""Pure exploration in linear bandits: the algorithms of four papers, exact simulation, and a Lab for real ones."""

from importlib.metadata import PackageNotFoundError, version

import bandits_lib.cache_folder  # noqa: F401  before any kernel is declared
from bandits_lib.lab import Lab, ReplayWarning
from bandits_lib.monte_carlo import monte_carlo, summary
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import Result, Sample, play

try:
    __version__ = version("bandits_lib")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = ["Lab", "LinearBandit", "ReplayWarning", "Result", "Sample", "monte_carlo", "play", "summary"]
