"""Run your own experiment: ask a rule what to measure, hand over the results, keep a log, plan, and check it."""

from bandits_lab.anytime_intervals import standings
from bandits_lab.arms import read_arms
from bandits_lab.diagnosis import LinearityWarning, diagnose
from bandits_lab.lab import Lab, ReplayWarning
from bandits_lab.measurements import read_measurements
from bandits_lab.noise import DriftWarning, SigmaWarning, pilot_size, sigma_upper
from bandits_lab.planning import plan
from bandits_lab.plate_layout import plates
from bandits_lib.rules import rule_named, rules_for

__all__ = [
    "DriftWarning",
    "Lab",
    "LinearityWarning",
    "ReplayWarning",
    "SigmaWarning",
    "diagnose",
    "pilot_size",
    "plan",
    "plates",
    "read_arms",
    "read_measurements",
    "rule_named",
    "rules_for",
    "sigma_upper",
    "standings",
]
