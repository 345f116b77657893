"""Rules with a fixed budget: they make a given number of pulls and keep the error probability small (azizi2022)."""

from bandits_lib.fixed_budget.bayes_gap import bayes_gap
from bandits_lib.fixed_budget.gse import gse
from bandits_lib.fixed_budget.lingape_budget import lingape_budget
from bandits_lib.fixed_budget.linucb import linucb
from bandits_lib.fixed_budget.od_linbai import od_linbai
from bandits_lib.fixed_budget.peace import peace
from bandits_lib.fixed_budget.ucb_glm import ucb_glm

# The order is that of the table in docs/rules.md: the rule to try first comes first.
__all__ = ["gse", "od_linbai", "peace", "bayes_gap", "lingape_budget", "linucb", "ucb_glm"]
