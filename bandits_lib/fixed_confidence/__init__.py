"""Rules with a fixed confidence: they stop by themselves and are wrong with probability at most delta."""

from bandits_lib.fixed_confidence.alba import alba
from bandits_lib.fixed_confidence.bounded_rage import bounded_rage
from bandits_lib.fixed_confidence.fws import fws
from bandits_lib.fixed_confidence.h_rage import h_rage
from bandits_lib.fixed_confidence.l_t3c import l_t3c
from bandits_lib.fixed_confidence.lazy_track_and_stop import lazy_track_and_stop
from bandits_lib.fixed_confidence.lin_game import lin_game
from bandits_lib.fixed_confidence.lingape import lingape
from bandits_lib.fixed_confidence.rage import rage
from bandits_lib.fixed_confidence.rage_halving import rage_halving
from bandits_lib.fixed_confidence.sphere_track_and_stop import sphere_track_and_stop
from bandits_lib.fixed_confidence.xy_adaptive import xy_adaptive
from bandits_lib.fixed_confidence.xy_oracle import xy_oracle
from bandits_lib.fixed_confidence.xy_static import xy_static

# The order is that of the table in docs/rules.md: the rule to try first comes first.
__all__ = ["rage", "bounded_rage", "xy_static", "fws", "lazy_track_and_stop", "h_rage", "rage_halving", "lingape"]
__all__ += ["lin_game", "l_t3c", "xy_adaptive", "alba", "sphere_track_and_stop", "xy_oracle"]
