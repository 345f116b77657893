"""Designs, counts, pulls and recommendations on small instances: what must be the same on every processor.

    python benchmarks/processors_instances.py FILE [NUMBER]     the first NUMBER of 60 instances, pickled into FILE

`processors.py` runs this once for each processor it imitates and compares the files bit for bit. Twelve families
take turns; seven of them are full of ties (equal gaps, cubes, regular polygons, copies, mirror images, bent bases),
where equally good designs lie side by side and the last bit of a sum may choose among them.
"""

import pickle
import sys
import warnings
from itertools import product

import numpy as np

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import (
    frank_wolfe_design,
    g_design,
    pairs,
    round_design,
    weighted_design,
    width_design,
    xy_design,
)
from bandits_lib.design.published_designs import fwg_design, wynn_design
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import lazy_track_and_stop, rage
from bandits_lib.variance import head
from bandits_lib.variance.quadratic import features

NUMBER = 60
KINDS = "g phi xy oracle direction weighted frank-wolfe wynn fwg width rage gse head lazy".split()
LAZY_PULLS = 5_000  # at which Lazy Track-and-Stop is cut off


# ---- the instances


def equal_gaps(d):
    """Basis vectors, the first of them the best: d - 1 equal gaps."""
    return LinearBandit(np.eye(d), theta=np.eye(d)[0])


def cube(d, rng):
    """The vertices of the unit cube {0, 1}^d."""
    return LinearBandit(np.array(list(product((0.0, 1.0), repeat=d))), theta=rng.standard_normal(d))


def polygon(n, turn):
    """The vertices of a regular polygon, the first of them the best."""
    angles = 2 * np.pi * np.arange(n) / n + turn
    return LinearBandit(np.column_stack([np.cos(angles), np.sin(angles)]), theta=[np.cos(turn), np.sin(turn)])


def copies(rng):
    """Twelve vectors, each of them an arm three times and an item once."""
    items = instances.sphere(12, rng, d=3)
    return LinearBandit(np.tile(items.arms, (3, 1)), items.arms, theta=items.theta)


def mirrored(rng):
    """Fifteen vectors and their negatives."""
    half = instances.sphere(15, rng, d=4)
    return LinearBandit(np.vstack([half.arms, -half.arms]), theta=half.theta)


FAMILIES = {
    "benchmark": lambda i, rng: instances.benchmark(3 + i % 5, angle=0.1),
    "plane": lambda i, rng: instances.many_arms(40, rng, "code"),
    "sphere 25x4": lambda i, rng: instances.sphere(25, rng, d=4),
    "multivariate": lambda i, rng: instances.multivariate(3, rng),
    "transductive": lambda i, rng: instances.transductive(4 + 2 * (i % 3), angle=0.3),
    "sphere d=9": lambda i, rng: instances.sphere(400 if i % 24 > 12 else 100, rng, d=9),
    "equal gaps": lambda i, rng: equal_gaps(3 + i % 5),
    "cube": lambda i, rng: cube(3 + i % 3, rng),
    "polygon": lambda i, rng: polygon(5 + i % 5, turn=0.1 * i),
    "copies": lambda i, rng: copies(rng),
    "mirrored": lambda i, rng: mirrored(rng),
    "bent basis": lambda i, rng: instances.bent_benchmark(3 + i % 3),
}


def instance(i):
    """Name and problem of instance i: families take turns, so that the first 24 hold two of each."""
    name = list(FAMILIES)[i % len(FAMILIES)]
    return name, FAMILIES[name](i, np.random.default_rng(i))


# ---- what is computed on one


def designs(problem, seed):
    """One function for each kind of design, without arguments."""
    arms = problem.arms
    items = arms if problem.items is None else problem.items
    best = int(problem.item_values.argmax())
    gaps = problem.item_values[best] - problem.item_values
    rivals = np.flatnonzero(gaps > 1e-9)
    nearest = rivals[gaps[rivals].argmin()]
    sigma = np.where(np.arange(len(arms)) % 2, 2.0, 1.0)
    return {
        "g": lambda: g_design(arms),
        "phi": lambda: g_design(features(arms)),
        "xy": lambda: xy_design(arms, pairs(items)),
        "oracle": lambda: xy_design(arms, (items[best] - items[rivals]) / gaps[rivals, None]),
        "direction": lambda: xy_design(arms, (items[best] - items[nearest])[None]),
        "weighted": lambda: weighted_design(arms, pairs(items), sigma),
        "frank-wolfe": lambda: frank_wolfe_design(arms, pairs(items)),
        "wynn": lambda: wynn_design(arms, tol=0.01),
        "fwg": lambda: fwg_design(arms),
        "width": lambda: width_design(arms, items, draws=256, rng=np.random.default_rng(seed)),
    }


def rules(problem):
    """One function for each rule, without arguments, and the pulls at which it is cut off."""
    arms, items = problem.arms, problem.items
    return {
        "rage": (lambda: rage(arms, items, delta=0.05), 10**9),
        "gse": (lambda: gse(arms, budget=400), 400),
        "head": (lambda: head(arms, budget=3000, sigma_min=0.3, sigma_max=2.0), 3000),
        "lazy": (lambda: lazy_track_and_stop(arms, items, delta=0.1), LAZY_PULLS),
    }


def solved(design, arms):
    """The parts of a design: weights, value, lower bound and whole pulls by both roundings."""
    weights = design.weights / design.weights.sum()
    counts = np.append(round_design(weights, 1000), round_design(weights, 60, "regret", arms))
    return {"weights": design.weights, "value": design.value, "bound": design.lower_bound, "counts": counts}


def played(algorithm, problem, seed, most):
    """The parts of a run: pulls of each arm and the item recommended, if any."""
    run = play(algorithm, problem, np.random.default_rng(seed), most)
    pulls = {"pulls": run.counts}
    if run.result is None or not isinstance(run.result.recommendation, int | np.integer):
        return pulls  # cut off, or standard deviations
    return pulls | {"recommendation": int(run.result.recommendation)}


def attempt(function, *arguments):
    """Its parts, or the name of what it raised, which must be the same everywhere too."""
    try:
        return function(*arguments)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return {"refusal": type(error).__name__}


def results(problem, seed, kinds=None):
    """{kind: {part: array or number}} of every design and rule, or of those in `kinds`."""
    found = {}
    for kind, solve in designs(problem, seed).items():
        if kinds is None or kind in kinds:
            found[kind] = attempt(lambda solve=solve: solved(solve(), problem.arms))
    for kind, (rule, most) in rules(problem).items():
        if kinds is None or kind in kinds:
            found[kind] = attempt(lambda rule=rule, most=most: played(rule(), problem, 1000 + seed, most))
    return found


def differences(expected, found):
    """[(kind, part, largest absolute difference)] of two `results` wherever one bit differs; nan: another shape."""
    differing = []
    for kind in expected:
        for part in sorted(expected[kind].keys() | found[kind].keys()):
            one, other = (np.asarray(side[kind].get(part, "none")) for side in (expected, found))
            if one.shape != other.shape or one.dtype != other.dtype:
                differing.append((kind, part, float("nan")))
            elif one.tobytes() != other.tobytes():
                distance = np.abs(one - other).max() if one.dtype.kind in "fi" else np.nan
                differing.append((kind, part, float(distance)))
    return differing


def main(file, number=NUMBER):
    warnings.filterwarnings("ignore", "design certified to", RuntimeWarning)
    table = []
    for i in range(int(number)):
        name, problem = instance(i)
        table.append((f"{i} {name}", results(problem, i)))
    with open(file, "wb") as out:
        pickle.dump(table, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
