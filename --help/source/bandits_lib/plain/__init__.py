"""Every rule once more in plain numpy, in the order of the paper's algorithm, with its line or equation numbers.

No options and no checks beyond what the paper states; designs are the library's. The rules that are played (in
`fixed_confidence`, `fixed_budget` and `variance`) pull the same arms; Peace does but for the short cuts that it names.

>>> import numpy as np
>>> from bandits_lib import instances, play
>>> from bandits_lib.plain.rage import rage
>>> problem = instances.benchmark(2, angle=1.0)
>>> play(rage(problem.arms, problem.items, 0.05), problem, np.random.default_rng(0)).result.recommendation
0
"""
