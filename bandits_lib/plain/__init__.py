"""Every rule a second time in plain NumPy, in the order of the paper's algorithm, with its line or equation numbers.

These versions have no options and no checks beyond what the paper states, and they use the designs of the library. The
rules in `fixed_confidence`, `fixed_budget` and `variance` pull the same arms. Only Peace differs, as peace.py explains.

>>> import numpy as np
>>> from bandits_lib import instances, play
>>> from bandits_lib.plain.rage import rage
>>> problem = instances.benchmark(2, angle=1.0)
>>> play(rage(problem.arms, problem.items, 0.05), problem, np.random.default_rng(0)).result.recommendation
0
"""
