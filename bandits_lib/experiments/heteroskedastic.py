"""The comparison of weltz2023, section 5, in three notebooks, and simulated burn-ins of H-RAGE.

A burn-in covers if every |sigma_hat_x^2 - sigma_x^2| <= sigma_hat_x^2 / 2, the event of Lemma D.1. Line 5 of Algorithm
2 prints half of sigma_x^2 instead. That is not enough, because an estimate of half the variance satisfies it.

`problem` is a LinearBandit whose noise differs between arms, `delta` the allowed error probability, and `lengths` is
{form: pulls} of burn-ins. The functions that make rules are `partial` objects of functions of this module.
"""

from collections.abc import Generator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd

from bandits_lib.complexity import lower_bound
from bandits_lib.design import Design, xy_design
from bandits_lib.fixed_confidence import h_rage, rage_halving, xy_oracle
from bandits_lib.numerics.span import basis
from bandits_lib.papers import option_set
from bandits_lib.papers.weltz2023 import published_noise
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import Run
from bandits_lib.simulate.intervals import mean_pulls, mean_ratio, summary, wilson_interval
from bandits_lib.simulate.monte_carlo import monte_carlo
from bandits_lib.simulate.play import play
from bandits_lib.variance import burn_in
from bandits_lib.variance.head import FORMS, error, head


def within_half(problem, estimate):
    """Return whether every |sigma_hat_x^2 - sigma_x^2| is at most half of sigma_hat_x^2 (Lemma D.1)."""
    variances = estimate.sigma**2
    return bool((np.abs(variances - problem.sigma**2) <= variances / 2).all())


def one_burn_in(problem, budget, rng):
    """Return the VarianceEstimate of one simulated burn-in by HEAD with the true bounds on sigma."""
    rule = head(problem.arms, budget=budget, sigma_min=problem.sigma.min(), sigma_max=problem.sigma.max())
    result = play(rule, problem, rng).result
    assert result is not None
    return result.recommendation


def coverage(problem, budget, *, runs, seed=0):
    """Return how often HEAD has all variances within half, with Wilson's interval; streams do not depend on budget."""
    return wilson_interval(sum(_each(problem, budget, runs, seed)), runs)


def _each(problem, budget, runs, seed):
    """Yield of each simulated burn-in whether HEAD has all variances within half."""
    for r in range(runs):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(r,)))
        yield within_half(problem, one_burn_in(problem, budget, rng))


def shortest_burn_in(problem: LinearBandit, *, delta: float, runs: int, seed: int = 0) -> int:
    """Return the shortest of 100 * 2^(k/4) pulls whose simulated coverage is surely at least 1 - delta / 2.

    A rule cannot use it, because it depends on the true variances.
    """
    if wilson_interval(runs, runs)[1] < 1 - delta / 2:
        raise ValueError(
            f"runs must be more than {runs} to show a coverage of {1 - delta / 2:.4g}, even if all burn-ins cover"
        )
    most = 0  # misses
    while wilson_interval(runs - most - 1, runs)[1] >= 1 - delta / 2:
        most += 1

    def covers(k):  # without the runs after the first miss too many
        misses = (not within for within in _each(problem, _length(k), runs, seed))
        return all(count <= most for count in accumulate(misses))

    low, high = -1, 16
    while not covers(high):
        low, high = high, high + 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    return _length(high)


def _length(k):
    return round(100 * (2**0.25) ** k)


ORACLES: dict[str, dict[str, Any]] = {
    f"{name}_oracle_{stops}": {"noise": noise, "stop": stop}
    for stops, stop in (("verifying", "widths"), ("told", "truth"))
    for name, noise in (("heteroskedastic", "own"), ("homoskedastic", "largest"))
}


def bounds(problem):
    """Return the bounds for H-RAGE: the smallest and the largest standard deviation of the arms."""
    return {"sigma_min": float(problem.sigma.min()), "sigma_max": float(problem.sigma.max())}


def _sizes(problem, delta):
    """Return the arguments of the formulas of a burn-in besides the bounds."""
    return {"K": len(problem.arms), "d": basis(problem.arms).shape[1], "delta": delta}


def burn_ins(problem: LinearBandit, *, delta: float, runs: int, seed: int = 0) -> dict[str, int]:
    """Return {form: pulls} of five burn-ins: four by formula, and the shortest by simulation."""
    lengths = {form: burn_in(form, **bounds(problem), **_sizes(problem, delta)) for form in FORMS}
    return lengths | {"shortest": shortest_burn_in(problem, delta=delta, runs=runs, seed=seed)}


def covered(problem: LinearBandit, lengths: dict[str, int], *, runs: int, seed: int) -> pd.DataFrame:
    """Return a table with pulls and simulated coverage of each burn-in, with its interval."""
    rows = [(form, n, *coverage(problem, n, runs=runs, seed=seed)) for form, n in lengths.items()]
    return pd.DataFrame(rows, columns=["burn-in", "pulls", "coverage", "low", "high"]).set_index("burn-in")


def three_terms(problem: LinearBandit, lengths: dict[str, int], *, delta: float) -> pd.Series:
    """Return the bound on the error of each burn-in from the three terms of appendix D.2, corrected.

    It is sum kappa (A + B + C) in units of sigma_min^2. Clipped estimates need at most 1/2, others at most 1/3.
    """
    kappa = (problem.sigma.max() / problem.sigma.min()) ** 2
    sizes = _sizes(problem, delta)
    return pd.Series({form: kappa * error(pulls, **sizes) for form, pulls in lengths.items()}, name="three terms")


def algorithms(lengths: dict[str, int], *, delta: float) -> dict[str, partial[Generator]]:
    """Return {name: make} of section 5: four oracles, RAGE, and H-RAGE with each burn-in, the shortest first.

    A "verifying" oracle stops by its confidence widths; a "told" one knows the best item and stops when it leads.
    """
    oracles = {name: partial(make_oracle, delta=delta, **how) for name, how in ORACLES.items()}
    order = sorted(lengths, key=lengths.__getitem__)
    ours = {f"h_rage_{form}": partial(make_h_rage, burn_in=lengths[form], delta=delta) for form in order}
    return oracles | {"rage": partial(make_rage, delta=delta)} | ours


def make_oracle(
    problem: LinearBandit, rng: np.random.Generator, *, noise: str, delta: float, stop: str = "widths"
) -> Generator:
    """Return `xy_oracle` with its certified design in rounds; `noise` is "own" or "largest"."""
    sigma = problem.sigma if noise == "own" else problem.sigma.max()
    assumed = {"theta_star": problem.theta, "delta": delta, "sigma": sigma, "rng": rng}
    return xy_oracle(problem.arms, problem.items, **assumed, batches="rounds", stop=stop, design=xy_design)


def make_rage(problem: LinearBandit, rng: np.random.Generator | None, *, delta: float, **options: Any) -> Generator:
    """Return RAGE, in the form of weltz2023's Algorithm 5, with the largest noise; it needs no `rng`."""
    return rage_halving(problem.arms, problem.items, delta=delta, sigma=problem.sigma.max(), **options)


def make_h_rage(
    problem: LinearBandit,
    rng: np.random.Generator | None,
    *,
    burn_in: str | int | np.ndarray,
    delta: float,
    **options: Any,
) -> Generator:
    """Return H-RAGE with the smallest and the largest noise of the problem as its bounds; it needs no `rng`."""
    return h_rage(problem.arms, problem.items, delta=delta, burn_in=burn_in, **bounds(problem), **options)


def burnt(problem: LinearBandit, run: Run) -> dict[str, int]:
    """Return the pulls in the burn-in of a run, as a `measure` of `monte_carlo`."""
    assert run.result is not None
    return {"burn_in": int(sum(phase.counts.sum() for phase in run.result.history if phase.index <= 0))}


def estimates(table: pd.DataFrame, problems: dict[Any, LinearBandit], by: str, *, delta: float) -> pd.DataFrame:
    """Return the `summary` of a table, with the mean burn-in and the lower bound of each setting in pulls."""
    means = summary(table, by)
    means["burn_in"] = table.fillna({"burn_in": 0}).groupby([by, "algorithm"])["burn_in"].mean()
    floors = (lower_bound(p.arms, p.items, theta=p.theta, sigma=p.sigma, delta=delta) for p in problems.values())
    means["lower_bound"] = means.index.get_level_values(by).map(dict(zip(problems, floors, strict=True)))
    return means


def in_millions(means: pd.DataFrame) -> pd.DataFrame:
    """Return what `estimates` returns with pulls in millions, rounded to three decimals."""
    pulls = means[["mean", "low", "high", "burn_in", "lower_bound"]] / 1e6
    return pulls.join(means[["error_rate", "error_high", "not_stopped"]]).round(3)


def side_by_side(
    variants: dict[str, tuple[LinearBandit, dict[str, Any]]], *, delta: float, **options: Any
) -> pd.DataFrame:
    """Return the pulls of RAGE and of H-RAGE with the published burn-in for {variant: (problem, changes)}.

    The changes are arguments of both rules; mistaken=True selects the noise of the published code (`published_noise`).
    """
    rows = []
    for name, (problem, changes) in variants.items():
        length = {"h_rage": burn_in("code", **bounds(problem), **_sizes(problem, delta))}
        played = _elsewhere(problem, length, **{"mistaken": False} | changes, delta=delta, options=options)
        means = [np.array(mean_pulls(played, rule)) / 1e6 for rule in ("rage", "h_rage")]
        numbers = np.concatenate([*means, mean_ratio(played, "h_rage", "rage")])
        rows.append((name, *map(float, numbers), int((~played["correct"]).sum())))
    intervals = [("RAGE, 10^6", "RAGE low", "RAGE high"), ("H-RAGE, 10^6", "H-RAGE low", "H-RAGE high")]
    columns = ["variant", *sum(intervals, ()), "ratio", "low", "high", "errors"]
    return pd.DataFrame(rows, columns=columns).set_index("variant")


def as_published(problem: LinearBandit, lengths: dict[str, int], *, delta: float, **options: Any) -> pd.DataFrame:
    """Return runs of `algorithms` with all options of the published code and its mistaken noise (`published_noise`).

    HEAD has the correct noise and is played first, as in the published code; its estimates are clipped here only.
    """
    code = option_set("weltz2023_code")
    forms = {f"h_rage_{form}": pulls for form, pulls in lengths.items()}
    changes = {"mistaken": True, **code["rage_halving"]}
    rules = _elsewhere(problem, forms, **changes, delta=delta, options=options)
    options_of_all = {"make": make_oracle, "truth": problem, "delta": delta}
    oracles = {name: {name: partial(_told_the_truth, **options_of_all, **how)} for name, how in ORACLES.items()}
    worlds = {name: published_noise(problem, how["noise"]) for name, how in ORACLES.items()}
    played = monte_carlo(oracles.get, worlds, by="world", misspecified=True, **options)
    table = pd.concat([played.assign(burn_in=0), rules])
    order = list(algorithms(lengths, delta=delta))
    table = table.drop(columns="world")
    return table.sort_values("algorithm", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


def _elsewhere(problem, lengths, *, mistaken, delta, options, **changes):
    """Return runs of RAGE, and of H-RAGE with burn-ins {name: pulls}, with the published or the correct noise."""
    of_both = {"truth": problem, "delta": delta, **changes}
    of_h_rage = {name: partial(_after_a_burn_in, length=length, **of_both) for name, length in lengths.items()}
    players = {"largest": {"rage": partial(_told_the_truth, make=make_rage, **of_both)}, "own": of_h_rage}
    worlds = {noise: published_noise(problem, noise) if mistaken else problem for noise in players}
    table = monte_carlo(players.get, worlds, by="world", misspecified=mistaken, **options)
    burnt = table["algorithm"].map(lengths).fillna(0).astype(np.int64)
    return table.assign(pulls=table["pulls"] + burnt, burn_in=burnt)


def _told_the_truth(world, rng, *, make, truth, **options):
    """Return a rule that assumes the problem `truth`; it is played in `world`, where only the noise differs."""
    return make(truth, rng, **options)


def _after_a_burn_in(world, rng, *, truth, length, **options):
    """Return H-RAGE with the bounds of `truth` and the variances that a burn-in on `truth` has estimated."""
    return make_h_rage(truth, rng, burn_in=one_burn_in(truth, length, rng).sigma, **options)


def oracle_shares(own: Design, largest: Design, names: Sequence[str]) -> pd.DataFrame:
    """Return the designs for the noise of each arm and for the largest noise side by side."""
    share = {"heteroskedastic_oracle": own.weights, "homoskedastic_oracle": largest.weights}
    return pd.DataFrame(share, index=pd.Index(names, name="arm")).map(np.float64)
