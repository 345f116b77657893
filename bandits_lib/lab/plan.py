"""Before the first measurement: how many there will be, and how often the answer would be wrong, for a guess.

Every rule is played many times against the guess. What comes out is no promise, since the guess may be wrong; the
promises of the rules (`lab.rules`) hold whatever the truth. The floor is a theorem: no rule that is wrong with
probability at most delta on every problem needs fewer pulls on average on this one (jedra2020, Theorem 1).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from bandits_lib.checks import check_arms, check_delta, check_items, check_positive, check_sigma, check_theta
from bandits_lib.complexity import lower_bound
from bandits_lib.lab.arms import Arms
from bandits_lib.lab.guess import hardest
from bandits_lib.lab.plan_table import draw, in_html, in_words, row_of
from bandits_lib.lab.players import OFTEN, hopeless, limit, players, requests
from bandits_lib.numerics.ordered import along
from bandits_lib.problem import LinearBandit
from bandits_lib.simulate.monte_carlo import monte_carlo


class Plan(NamedTuple):
    """What to expect of several rules, for a guess of the truth. It prints as a table.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per rule: runs, pulls (mean) with low and high (95 %, Student), nine_in_ten (the pulls that nine of ten
        runs do not pass), wrong (share of the runs that ended) with wrong_low and wrong_high (95 %, Clopper and
        Pearson), requests (mean number of times that one asks), cut (share of the runs that were cut off; their pulls
        count as they are, so that the mean is too low).
    floor : float
        Mean number of pulls that no rule with this delta can beat, for the guess; 0 for delta of a half or more.
    problem : LinearBandit
        The guess.
    delta : float
        Error probability allowed.
    budget : int or None
        Number of pulls for rules with a budget.
    runs : pandas.DataFrame
        Every run, as `monte_carlo` returns them.

    Examples
    --------
    >>> from bandits_lib.lab.plan import plan
    >>> planned = plan(np.eye(2), gap=1.0, rules=["rage"], runs=5)
    >>> planned.table["wrong"].tolist(), round(planned.floor, 1)
    ([0.0], 21.2)
    """

    table: pd.DataFrame
    floor: float
    problem: LinearBandit
    delta: float
    budget: int | None
    runs: pd.DataFrame

    def __repr__(self):
        return in_words(self)

    def _repr_html_(self):
        return in_html(self)

    @property
    def alt(self):
        """The picture in words, for those who cannot see it.

        Returns
        -------
        str
            The printed table.

        Examples
        --------
        >>> from bandits_lib.lab.plan import plan
        >>> plan(np.eye(2), gap=1.0, rules=["rage"], runs=5).alt.partition(":")[0]
        'Pulls of 1 rule on a logarithmic axis, with the mean, its interval and what nine of ten runs do not pass'
        """
        head = f"Pulls of {len(self.table)} rule{'s' * (len(self.table) > 1)} on a logarithmic axis, with the mean, its"
        return f"{head} interval and what nine of ten runs do not pass: {in_words(self)}"

    def plot(self, ax=None):
        """The pulls of every rule on one axis, with the floor, the budget and the share of wrong answers.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> from bandits_lib.lab.plan import plan
        >>> plan(np.eye(2), gap=1.0, rules=["rage"], runs=5).plot().get_xscale()
        'log'
        """
        return draw(self, ax)


def plan(
    arms,
    *,
    gap=None,
    theta=None,
    items=None,
    sigma=1.0,
    delta=0.05,
    budget=None,
    rules=None,
    theta_bound=None,
    floor=None,
    noise="gaussian",
    runs=100,
    seed=0,
    n_jobs=1,
    scheduler=None,
    max_pulls=1_000_000,
    progress=True,
):
    """Play rules against a guess of the truth, many times: pulls, requests and wrong answers to be expected.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row.
    gap : float, optional
        Smallest lead of the best item that would matter, in units of reward. Alone, it stands for the hardest case:
        every other item is at least `gap` behind, and as little more as the features allow (`lab.guess.hardest`).
    theta : (d,) array_like, optional
        A guess of the parameter; with `gap` it is scaled so that the smallest gap is that.
    items : (M, d) array_like, optional
        Items, one per row, by default the arms.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, one or one for each arm.
    delta : float, default 0.05
        Error probability allowed.
    budget : int, optional
        Number of pulls, for rules that are given one.
    rules : iterable of str, or dict of {str: callable}, optional
        Names of public rules, with the arguments of the plan; or by name, make(problem, rng) -> a fresh generator. By
        default rage, xy_static and lazy_track_and_stop, for a `sigma` of several values h_rage, and with a budget gse,
        od_linbai and peace, as far as they rank `items` and run with the budget.
    theta_bound : float, optional
        Bound on the norm of theta for rules that need it, by default the guess's norm.
    floor : float, optional
        Share of every batch that goes to all arms alike, for rules that have it (rage, xy_static, gse, ...); the others
        are played without.
    noise : {"gaussian", "bernoulli"}, default "gaussian"
        Law of the rewards; "bernoulli" (0 and 1) needs `theta`, whose means are then rates.
    runs : int, default 100
        Number of simulated experiments.
    seed : int, default 0
        Seed of all streams.
    n_jobs : int, default 1
        Number of processes.
    scheduler : str, optional
        Address of a dask scheduler in the place of the processes, as for `monte_carlo`.
    max_pulls : int, default 1_000_000
        Number of pulls at which runs of a rule that decides pull by pull are cut off. Of one whose floor is larger none
        is played.
    progress : bool, default True
        Whether to show a bar after a minute.

    Returns
    -------
    Plan
        A table that prints and plots itself.

    Raises
    ------
    ValueError
        For bad input, neither gap nor theta, a gap that is not positive, two best items under theta, a single item, an
        unknown rule, and a rule that cannot be played so (without a budget, for other items than the arms, ...).

    Warns
    -----
    UserWarning
        Before a rule that will take more than a minute, by a short trial: how long, and what would be shorter.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Theorem 1.

    Examples
    --------
    >>> planned = plan(np.eye(3), gap=1.0, budget=60, rules=["rage", "gse"], runs=20)
    >>> planned.table[["pulls", "requests"]].loc["gse"].tolist()
    [60.0, 2.0]
    """
    problem, delta = _supposed(arms, items, gap, theta, sigma, noise), check_delta(delta)
    if runs != int(runs) or runs < 1:
        raise ValueError(f"runs must be a whole number of at least 1; got {runs!r}")
    check_positive("max_pulls", max_pulls)
    ranked = None if items is None else problem.items
    least = 0.0
    if delta < 0.5:
        least = lower_bound(problem.arms, ranked, theta=problem.theta, delta=delta, sigma=problem.sigma)
    played = {}
    given = _given(problem, ranked, sigma, delta, budget, theta_bound) | {"floor": floor}
    for name, make in players(rules, problem, given).items():
        played[name] = pd.DataFrame(columns=["pulls", "correct", "stopped", "requests"])
        if not hopeless(name, least, max_pulls):
            most = limit(name, make, problem, max(OFTEN * least, budget or 0), int(runs), n_jobs, int(max_pulls))
            how = {"seed": seed, "n_jobs": n_jobs, "scheduler": scheduler, "max_pulls": most, "progress": progress}
            played[name] = monte_carlo({name: make}, problem, runs=int(runs), measure=requests, **how)
    table = pd.DataFrame(map(row_of, played.values()), index=pd.Index(played, name="rule"))
    everything = [rows for rows in played.values() if len(rows)]
    return Plan(table, least, problem, delta, budget, pd.concat(everything or [*played.values()], ignore_index=True))


def _given(problem, items, sigma, delta, budget, theta_bound):
    """What the rules are told, by the names of their arguments; None is not told."""
    bound = np.linalg.norm(problem.theta) if theta_bound is None else theta_bound
    given = {"items": items, "sigma": sigma, "delta": delta, "budget": budget}
    given |= {"noise": problem.noise}
    given |= {"theta_bound": check_positive("theta_bound", bound), "theta_star": problem.theta}
    given |= {"sigma_min": float(problem.sigma.min()), "sigma_max": float(problem.sigma.max())}
    return given | {"burn_in": problem.sigma if np.ndim(sigma) else None}


def _supposed(arms, items, gap, theta, sigma, noise):
    """The guess as a problem."""
    if isinstance(arms, Arms):
        raise ValueError("arms must be a matrix; got what read_arms returns: write plan(arms.features, ...)")
    arms = check_arms(arms)
    items, sigma = check_items(items, arms), check_sigma(sigma, len(arms))
    if len(items) < 2:
        raise ValueError("items must be at least two: a single item is the best without an experiment")
    if gap is None and theta is None:
        raise ValueError("plan needs a guess: gap= (the smallest lead that would matter) or theta= (the parameter)")
    if gap is not None:
        gap = check_positive("gap", gap)
    if noise == "bernoulli" and gap is not None:
        raise ValueError('noise="bernoulli" needs theta alone: a gap does not say how large the rates are')
    if theta is None:
        return LinearBandit(arms, items, hardest(arms, items, gap=gap, sigma=sigma).theta, sigma)
    theta = check_theta("theta", theta, arms.shape[1])
    values = along(items, theta)
    first, second = np.argsort(-values, kind="stable")[:2]
    smallest = values[first] - values[second]
    if smallest <= 1e-12 * np.abs(values).max():
        raise ValueError(f"theta must have one best item; items {first} and {second} tie at {values[first]:.6g}")
    return LinearBandit(arms, items, theta if gap is None else theta * (gap / smallest), sigma, noise=noise)
