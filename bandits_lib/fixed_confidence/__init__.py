"""Rules that stop by themselves, with an answer that is wrong with probability at most delta."""

from bandits_lib.fixed_confidence.alba import alba
from bandits_lib.fixed_confidence.lingape import lingape
from bandits_lib.fixed_confidence.rage import rage
from bandits_lib.fixed_confidence.xy_adaptive import xy_adaptive
from bandits_lib.fixed_confidence.xy_oracle import xy_oracle
from bandits_lib.fixed_confidence.xy_static import xy_static

__all__ = ["alba", "lingape", "rage", "xy_adaptive", "xy_oracle", "xy_static"]
