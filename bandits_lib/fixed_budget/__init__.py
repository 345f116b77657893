"""Fixed budget: a number of pulls is given, the error probability is what comes out (azizi2022)."""

from bandits_lib.fixed_budget.bayes_gap import bayes_gap
from bandits_lib.fixed_budget.gse import gse
from bandits_lib.fixed_budget.lingape_budget import lingape_budget
from bandits_lib.fixed_budget.linucb import linucb
from bandits_lib.fixed_budget.od_linbai import od_linbai
from bandits_lib.fixed_budget.peace import peace
from bandits_lib.fixed_budget.peps import peps
from bandits_lib.fixed_budget.ucb_glm import ucb_glm

__all__ = ["bayes_gap", "gse", "lingape_budget", "linucb", "od_linbai", "peace", "peps", "ucb_glm"]
