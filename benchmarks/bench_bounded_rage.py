"""Rewards 0 and 1 at fixed confidence: visitors, eliminations of the best arm, and bets on two equal arms.

python benchmarks/bench_bounded_rage.py

The shop is that of notebooks/companion_your_own_arms.ipynb, twelve versions of a page: 3 headlines, 2 pictures, 2
buttons.
"""

import inspect

import numpy as np
from tables import show

from bandits_lib import LinearBandit, play
from bandits_lib.fixed_confidence import bounded_rage, h_rage, rage
from bandits_lib.fixed_confidence.bounded_rage import Guess, guess, log_wealth

PAGES = np.array([[1.0, a == 0, a == 1, b, c] for a in range(3) for b in (0, 1) for c in (1, 0)])
SHOPS = {
    "rates 0.03 to 0.23": [0.10, 0.08, -0.03, -0.04, 0.05],
    "rates 0.06 to 0.18": [0.18, -0.04, -0.04, -0.04, -0.04],
    "rates 0.43 to 0.63": [0.50, 0.08, -0.03, -0.04, 0.05],
    "rates 0.006 to 0.046": [0.02, 0.016, -0.006, -0.008, 0.01],
}
HARD = {  # the last two: what is best leads by next to nothing, and there is an end to the pulls
    "0.53 and 0.5": ([0.53, 0.5], None),
    "0.12 and 0.1": ([0.12, 0.1], None),
    "0.03 and 0.02": ([0.03, 0.02], None),
    "0.12 and five of 0.1": ([0.12, *[0.1] * 5], 10**6),
    "0.1 + 1e-9 and 0.1": ([0.1 + 1e-9, 0.1], 10**5),
    "0.1 + 1e-9 and five of 0.1": ([0.1 + 1e-9, *[0.1] * 5], 10**5),
}


def runs(make, problem, n, most=None):
    return [play(make(problem), problem, np.random.default_rng(seed), max_pulls=most) for seed in range(n)]


def mean_and_error(values):
    return f"{np.mean(values):,.0f} +- {np.std(values) / np.sqrt(len(values)):,.0f}"


def rules(sd):
    """Return the rules that are compared; `sd` (K,) are the true standard deviations."""
    bounds = {"sigma_min": sd.min(), "sigma_max": sd.max(), "burn_in": sd}
    return {
        "rage, sigma 0.5": lambda p: rage(p.arms, delta=0.05, sigma=0.5),
        "rage, largest true sigma": lambda p: rage(p.arms, delta=0.05, sigma=sd.max()),
        "h_rage, true sigmas": lambda p: h_rage(p.arms, delta=0.05, **bounds),
        "bounded_rage": lambda p: bounded_rage(p.arms, delta=0.05),
        "bounded_rage, growth 4": lambda p: bounded_rage(p.arms, delta=0.05, growth=4),
        "bounded_rage, growth 1.5": lambda p: bounded_rage(p.arms, delta=0.05, growth=1.5),
    }


def visitors(n=200):
    """Compare visitors, also for the guess 1/2 in every phase: the same proof at the price of sigma = 0.5."""
    yield ["shop, delta 0.05", f"{'rule':>34}", "mean visitors", "batches", "wrong"]
    for name, theta in SHOPS.items():
        shop = LinearBandit(PAGES, theta=theta, noise="bernoulli")
        for rule, make in rules(np.sqrt(shop.means * (1 - shop.means))).items():
            yield row(name, rule, make, shop, n)
        names = bounded_rage.__wrapped__.__globals__
        names["guess"] = lambda arms, *_: Guess(np.full(len(arms), 0.5), np.full(len(arms), 0.5))
        yield row(name, "bounded_rage, guess 1/2", lambda p: bounded_rage(p.arms, delta=0.05), shop, n)
        names["guess"] = guess


def row(name, rule, make, problem, n):
    played = runs(make, problem, n)
    wrong = sum(run.result.recommendation != problem.best_item for run in played)
    batches = np.mean([len(run.result.history) for run in played])
    return name, f"{rule:>34}", mean_and_error([run.counts.sum() for run in played]), batches, f"{wrong} of {n}"


def error_rates(n=1000):
    """Wrong answers, and how often the best was put out, also where the rule was cut off before it had an answer."""
    yield ["rates", "delta", "mean visitors", "cut off", "best put out", "share of delta"]
    for name, (rates, most) in HARD.items():
        problem = LinearBandit(np.eye(len(rates)), theta=rates, noise="bernoulli")
        for delta in (0.05, 0.2):
            out, pulls, cut = [], [], 0
            for seed in range(n):
                gone, made, stopped = until_the_best_is_out(problem, delta, most, np.random.default_rng(seed))
                out.append(gone)
                pulls.append(made)
                cut += not stopped
            yield name, delta, mean_and_error(pulls), cut, int(np.sum(out)), np.mean(out) / delta


def until_the_best_is_out(problem, delta, most, rng):
    """(whether the best item was put out, pulls made, whether the rule stopped)."""
    rule, made, out = bounded_rage(problem.arms, delta=delta), 0, False
    asked = next(rule)
    while most is None or made + asked.sum() <= most:
        made += asked.sum()
        try:
            asked = rule.send(problem.pull(asked, rng))
        except StopIteration as stop:
            return stop.value.recommendation != problem.best_item, made, True
        out = problem.best_item not in inspect.getgeneratorlocals(rule.generator)["active"]
        if out:
            return True, made, True
    return out, made, False


def level_of_single_bets(n=4000):
    """For one phase and two equal arms: how often one bet reaches 1 / level, at the lead with the most cases."""
    levels = 0.5, 0.2, 0.05
    yield ["share of bets, rate", "pulls of each", *(f"over {1 / level:g}, allowed {level}" for level in levels)]
    for rate in (0.5, 0.1, 0.02):
        for pulls in (100, 10_000):
            won = single_bets(rate, pulls, n)
            yield rate, pulls, *((won >= np.log(1 / level)).mean(axis=0).max() for level in levels)


def single_bets(rate, pulls, n):
    """Return the log wealth (n, J) of bets against the first of two equal arms; guesses: as many earlier pulls."""
    world, counts, rng = (
        LinearBandit(np.eye(2), theta=[rate] * 2, noise="bernoulli"),
        np.full(2, pulls),
        np.random.default_rng(0),
    )
    before = world.pull(counts, rng)
    told = guess(world.arms, before, before.sums / before.counts)
    away = np.array([[-1.0, 1.0]])
    return np.array([log_wealth(world.arms, world.pull(counts, rng), told, away, 1.0)[0][0] for _ in range(n)])


if __name__ == "__main__":
    for table in (visitors(), error_rates(), level_of_single_bets()):
        show(table)
