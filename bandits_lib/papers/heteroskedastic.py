"""The comparison of weltz2023, section 5, made on three experiments: who plays, told what, and with what result.

Every maker of a rule is a `partial` of a function of this module, so that a checkpoint sees its arguments.

Does a burn-in do what H-RAGE needs of it: every |sigma_hat_x^2 - sigma_x^2| <= sigma_hat_x^2 / 2 (weltz2023)?

That is the event of Lemma D.1, on which Lemmas E.1 and E.9 rest. Line 5 of Algorithm 2 prints half of sigma_x^2
instead, which is not enough: an estimate of half of the variance satisfies it, and sigma_x^2 is twice that estimate.
Measured by simulation on a problem whose variances are known; a rule could not do this.
"""

from functools import partial

import numpy as np
import pandas as pd

from bandits_lib.checks import check_option
from bandits_lib.complexity import lower_bound
from bandits_lib.design import xy_design
from bandits_lib.fixed_confidence import h_rage, rage_halving, xy_oracle
from bandits_lib.numerics.span import basis
from bandits_lib.papers.options import option_set
from bandits_lib.papers.weltz2023 import published_noise
from bandits_lib.problem import LinearBandit
from bandits_lib.simulate.intervals import mean_pulls, mean_ratio, summary, wilson_interval
from bandits_lib.simulate.monte_carlo import monte_carlo
from bandits_lib.simulate.play import play
from bandits_lib.variance import burn_in
from bandits_lib.variance._burn_in import FORMS, error
from bandits_lib.variance._head import head

STEP = 2**0.25  # between one length tried and the next


def within_half(problem, estimate, half_of="estimate"):
    """Whether all variances of a VarianceEstimate are off by at most half.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    estimate : VarianceEstimate
        What a burn-in recommends.
    half_of : {"estimate", "truth"}, default "estimate"
        Half of sigma_hat_x^2, as the proof needs (Lemma D.1), or of sigma_x^2, as line 5 of Algorithm 2 prints.

    Returns
    -------
    bool
        True if every |sigma_hat_x^2 - sigma_x^2| is at most half of sigma_hat_x^2, or of sigma_x^2.

    Raises
    ------
    ValueError
        For an unknown `half_of`.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> from bandits_lib.variance import VarianceEstimate
    >>> estimate = VarianceEstimate(np.array([1.1, 0.9]), np.eye(2), 2, np.array([50, 50]))
    >>> within_half(LinearBandit(np.eye(2), theta=[1.0, 0.5]), estimate)
    True
    """
    check_option("half_of", half_of, ("estimate", "truth"))
    found, true = estimate.sigma**2, problem.sigma**2
    return bool((np.abs(found - true) <= (found if half_of == "estimate" else true) / 2).all())


def one_burn_in(problem, budget, rng):
    """The VarianceEstimate of one simulated burn-in by HEAD, told the true bounds on sigma.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    budget : int
        Number of pulls.
    rng : numpy.random.Generator
        Draws the rewards.

    Returns
    -------
    VarianceEstimate
        What HEAD recommends.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> problem = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), theta=[1.0, 0.5])
    >>> one_burn_in(problem, 400, np.random.default_rng(0)).sigma.shape
    (3,)
    """
    rule = head(problem.arms, budget=budget, sigma_min=problem.sigma.min(), sigma_max=problem.sigma.max())
    result = play(rule, problem, rng).result
    assert result is not None
    return result.recommendation


def coverage(problem, budget, *, runs, seed=0, half_of="estimate"):
    """How often HEAD, told the true bounds on sigma, has all variances within half (weltz2023, Lemma D.1).

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    budget : int
        Number of pulls of each burn-in.
    runs : int
        Number of burn-ins.
    seed : int, default 0
        Run r draws from SeedSequence(seed, spawn_key=(r,)), whatever the budget, so that two budgets see the same
        normals.
    half_of : {"estimate", "truth"}, default "estimate"
        As for `within_half`.

    Returns
    -------
    rate : float
        Share of the runs that cover.
    low, high : float
        Wilson's interval, of confidence 0.95.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Algorithm 2 and appendix D.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> problem = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), theta=[1.0, 0.5])
    >>> tuple(round(value, 2) for value in coverage(problem, 400, runs=20))
    (1.0, 0.84, 1.0)
    """
    right = 0
    for r in range(runs):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(r,)))
        right += within_half(problem, one_burn_in(problem, budget, rng), half_of)
    return wilson_interval(right, runs)


def shortest_burn_in(problem, *, delta, runs, seed=0, half_of="estimate"):
    """The shortest burn-in that is seen to cover: the lower end of its coverage is at least 1 - delta / 2.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    delta : float
        Error probability allowed.
    runs : int
        Number of burn-ins per length.
    seed : int, default 0
        As for `coverage`.
    half_of : {"estimate", "truth"}, default "estimate"
        As for `within_half`.

    Returns
    -------
    int
        Number of pulls, one of 100 * 2^(k/4), k = 0, 1, ..., found by bisection.

    Raises
    ------
    ValueError
        If `runs` cannot show such a coverage.

    Notes
    -----
    A yardstick beside the lengths of `burn_in` (weltz2023, appendix D), no rule, since it needs the truth.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Appendix D.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> problem = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), theta=[1.0, 0.5])
    >>> shortest_burn_in(problem, delta=0.5, runs=20)
    100
    """
    if wilson_interval(runs, runs)[1] < 1 - delta / 2:
        raise ValueError(f"runs must be more than {runs} to show a coverage of {1 - delta / 2:.4g}: even all would not")
    simulated = {"runs": runs, "seed": seed, "half_of": half_of}
    low, high = -1, 16
    while coverage(problem, _length(high), **simulated)[1] < 1 - delta / 2:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        covers = coverage(problem, _length(middle), **simulated)[1] >= 1 - delta / 2
        low, high = (low, middle) if covers else (middle, high)
    return _length(high)


def _length(k):
    return round(100 * STEP**k)


ORACLES = {
    f"{name}_oracle_{stops}": {"noise": noise, "stop": stop}
    for stops, stop in (("verifying", "widths"), ("told", "truth"))
    for name, noise in (("heteroskedastic", "own"), ("homoskedastic", "largest"))
}


def bounds(problem):
    """What H-RAGE is told: the smallest and the largest standard deviation of the arms.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.

    Returns
    -------
    dict
        {"sigma_min": ..., "sigma_max": ...}.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> bounds(instances.three_arms(4.0))
    {'sigma_min': 1.0, 'sigma_max': 2.0}
    """
    return {"sigma_min": float(problem.sigma.min()), "sigma_max": float(problem.sigma.max())}


def burn_ins(problem, *, delta, runs, seed=0):
    """Five lengths of a burn-in in pulls, four by formula and the shortest by simulation.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.
    delta : float
        Error probability allowed, in (0, 1).
    runs : int
        Simulated burn-ins per length.
    seed : int, default 0
        Seed of the simulation, as for `coverage`.

    Returns
    -------
    dict
        {form: pulls} of "theory", "printed", "paper", "code" and "shortest".

    Raises
    ------
    ValueError
        If `runs` are too few to show the coverage that is asked for.
    """
    told = bounds(problem) | {"K": len(problem.arms), "d": basis(problem.arms).shape[1], "delta": delta}
    lengths = {form: burn_in(form, **told) for form in FORMS}
    return lengths | {"shortest": shortest_burn_in(problem, delta=delta, runs=runs, seed=seed)}


def covered(problem, lengths, *, runs, seed):
    """How often each burn-in has all variances within half of their estimates, as H-RAGE needs it.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.
    lengths : dict
        {form: pulls} of the burn-ins.
    runs : int
        Simulated burn-ins per length.
    seed : int
        Seed of the simulation, as for `coverage`.

    Returns
    -------
    DataFrame
        One row per burn-in, with columns pulls, coverage, low and high.
    """
    rows = [(form, n, *coverage(problem, n, runs=runs, seed=seed)) for form, n in lengths.items()]
    return pd.DataFrame(rows, columns=["burn-in", "pulls", "coverage", "low", "high"]).set_index("burn-in")


def three_terms(problem, lengths, *, delta):
    """What appendix D.2's three terms, corrected, prove of each burn-in: its largest error, in units of sigma_min^2.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.
    lengths : dict
        {form: pulls} of the burn-ins.
    delta : float
        Error probability allowed, in (0, 1).

    Returns
    -------
    Series
        The sum kappa (A + B + C), one row per burn-in; 1/2 is needed of clipped estimates, 1/3 of others.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Appendix D.2.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> three_terms(instances.signal_to_noise(), {"code": 3858369}, delta=0.05).round(4).tolist()
    [0.4225]
    """
    kappa = (problem.sigma.max() / problem.sigma.min()) ** 2
    told = {"K": len(problem.arms), "d": basis(problem.arms).shape[1], "delta": delta}
    return pd.Series({form: kappa * error(pulls, **told) for form, pulls in lengths.items()}, name="three terms")


def algorithms(lengths, *, delta):
    """The players of section 5: four oracles, RAGE, and H-RAGE with each burn-in, the shortest first.

    Parameters
    ----------
    lengths : dict
        {form: pulls} of the burn-ins.
    delta : float
        Error probability allowed, in (0, 1).

    Returns
    -------
    dict
        {name: make}, where make(problem, rng) gives a fresh generator. An oracle that is "verifying" stops when the
        best item beats all others by its confidence width, one that is "told" as soon as it leads: it knows the answer.

    Examples
    --------
    >>> list(algorithms({"code": 500, "theory": 4000}, delta=0.05))[3:]
    ['homoskedastic_oracle_told', 'rage', 'h_rage_code', 'h_rage_theory']
    """
    oracles = {name: partial(make_oracle, delta=delta, **how) for name, how in ORACLES.items()}
    order = sorted(lengths, key=lengths.__getitem__)
    ours = {f"h_rage_{form}": partial(make_h_rage, burn_in=lengths[form], delta=delta) for form in order}
    return oracles | {"rage": partial(make_rage, delta=delta)} | ours


def make_oracle(problem, rng, *, noise, delta, stop="widths"):
    """An oracle on its certified design, pulled in rounds.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.
    rng : numpy.random.Generator
        The rule's own, as `monte_carlo` hands it over.
    noise : {"own", "largest"}
        The sigma that it is told: of each arm, or the largest for all.
    delta : float
        Error probability allowed, in (0, 1).
    stop : {"widths", "truth"}, default "widths"
        When to stop, as for `xy_oracle`.

    Returns
    -------
    generator
        A fresh one, of `xy_oracle`.
    """
    sigma = problem.sigma if noise == "own" else problem.sigma.max()
    told = {"theta_star": problem.theta, "delta": delta, "sigma": sigma, "rng": rng}
    return xy_oracle(problem.arms, problem.items, **told, batches="rounds", stop=stop, design=xy_design)


def make_rage(problem, rng, *, delta, **options):
    """RAGE as weltz2023's Algorithm 5, told the largest noise.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.
    rng : numpy.random.Generator
        Not used.
    delta : float
        Error probability allowed, in (0, 1).
    **options
        Arguments of `rage_halving`.

    Returns
    -------
    generator
        A fresh one, of `rage_halving`.
    """
    return rage_halving(problem.arms, problem.items, delta=delta, sigma=problem.sigma.max(), **options)


def make_h_rage(problem, rng, *, burn_in, delta, **options):
    """H-RAGE, told the smallest and the largest noise.

    Parameters
    ----------
    problem : LinearBandit
        The problem that is played.
    rng : numpy.random.Generator
        Not used.
    burn_in : {"theory", "printed", "paper", "code"} or int or (K,) array
        Burn-in, as for `h_rage`: a form, pulls, or standard deviations estimated before.
    delta : float
        Error probability allowed, in (0, 1).
    **options
        Further arguments of `h_rage`.

    Returns
    -------
    generator
        A fresh one, of `h_rage`.
    """
    return h_rage(problem.arms, problem.items, delta=delta, burn_in=burn_in, **bounds(problem), **options)


def burnt(problem, run):
    """A `measure` of `monte_carlo`: pulls that were burn-in.

    Parameters
    ----------
    problem : LinearBandit
        Not used.
    run : Run
        A run that stopped by itself.

    Returns
    -------
    dict
        {"burn_in": pulls}.
    """
    return {"burn_in": int(sum(phase.counts.sum() for phase in run.result.history if phase.index <= 0))}


def estimates(table, problems, by, *, delta):
    """The `summary` of a table, with mean burn-in and the lower bound of each setting (pulls).

    Parameters
    ----------
    table : DataFrame
        Runs, of `monte_carlo` with the measure `burnt`.
    problems : dict
        {setting: LinearBandit}.
    by : str
        Column that holds the setting, as it was told to `monte_carlo`.
    delta : float
        Error probability allowed, in (0, 1).

    Returns
    -------
    DataFrame
        As `summary` returns it, with columns burn_in and lower_bound.
    """
    found = summary(table, by)
    found["burn_in"] = table.groupby([by, "algorithm"])["burn_in"].mean()
    told = {"delta": delta}
    floor = {name: lower_bound(p.arms, p.items, theta=p.theta, sigma=p.sigma, **told) for name, p in problems.items()}
    found["lower_bound"] = found.index.get_level_values(by).map(floor)
    return found


def in_millions(found):
    """Estimates for print: pulls in millions.

    Parameters
    ----------
    found : DataFrame
        As `estimates` returns it.

    Returns
    -------
    DataFrame
        Pulls in millions and error rates, rounded to three decimals.
    """
    shown = found[["mean", "low", "high", "burn_in", "lower_bound"]] / 1e6
    return shown.join(found[["error_rate", "error_high", "not_stopped"]]).round(3)


def side_by_side(variants, *, delta, **options):
    """RAGE and H-RAGE with the published burn-in on several variants of a problem: pulls, ratio, wrong answers.

    Parameters
    ----------
    variants : dict
        {variant: (problem, changes)}. The changes are arguments of both rules, and mistaken=True for the published
        code's noise (`published_noise`).
    delta : float
        Error probability allowed, in (0, 1).
    **options
        Arguments of `monte_carlo`.

    Returns
    -------
    DataFrame
        One row per variant: mean pulls of both rules and the ratio of the means, each with its 95 % interval, and the
        number of wrong answers.

    Notes
    -----
    With the published noise HEAD still sees the right one, so it is played first and H-RAGE goes on from its estimates.
    """
    rows = []
    for name, (problem, changes) in variants.items():
        told = bounds(problem) | {"K": len(problem.arms), "d": basis(problem.arms).shape[1], "delta": delta}
        length = {"h_rage": burn_in("code", **told)}
        played = _elsewhere(problem, length, **{"mistaken": False} | changes, delta=delta, options=options)
        means = [np.array(mean_pulls(played, rule)) / 1e6 for rule in ("rage", "h_rage")]
        numbers = np.concatenate([*means, mean_ratio(played, "h_rage", "rage")])
        rows.append((name, *map(float, numbers), int((~played["correct"]).sum())))
    intervals = [("RAGE, 10^6", "RAGE low", "RAGE high"), ("H-RAGE, 10^6", "H-RAGE low", "H-RAGE high")]
    columns = ["variant", *sum(intervals, ()), "ratio", "low", "high", "errors"]
    return pd.DataFrame(rows, columns=columns).set_index("variant")


def as_published(problem, lengths, *, delta, **options):
    """The players of `algorithms` with all options of the published code, whose noise is mistaken (`published_noise`).

    Parameters
    ----------
    problem : LinearBandit
        The problem as it should be.
    lengths : dict
        {form: pulls} of the burn-ins.
    delta : float
        Error probability allowed, in (0, 1).
    **options
        Arguments of `monte_carlo`.

    Returns
    -------
    DataFrame
        Runs as `monte_carlo` returns them, with the column burn_in, in the order of `algorithms`. The oracles that are
        "told" are the published ones.

    Notes
    -----
    HEAD sees the right noise, as in the published code, and its estimates are clipped, which they are not there.
    """
    code = option_set("weltz2023_code")
    forms = {f"h_rage_{form}": pulls for form, pulls in lengths.items()}
    changes = {"mistaken": True, **code["rage_halving"]}
    rules = _elsewhere(problem, forms, **changes, delta=delta, options=options)
    told = {"truth": problem, "delta": delta}
    oracles = {name: {name: partial(_oracle_elsewhere, **told, **how)} for name, how in ORACLES.items()}
    worlds = {name: published_noise(problem, how["noise"]) for name, how in ORACLES.items()}
    table = pd.concat([monte_carlo(oracles.get, worlds, by="world", **options).assign(burn_in=0), rules])
    return in_order(table.drop(columns="world"), lengths)


def in_order(table, lengths):
    """Runs in the order in which section 5's players are drawn.

    Parameters
    ----------
    table : DataFrame
        Runs, with a column algorithm.
    lengths : dict
        {form: pulls} of the burn-ins.

    Returns
    -------
    DataFrame
        The rows of each algorithm together, in the order of `algorithms`.
    """
    order = list(algorithms(lengths, delta=0.5))
    return table.sort_values("algorithm", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


def _elsewhere(problem, lengths, *, mistaken, delta, options, **changes):
    """Runs of RAGE, and of H-RAGE with burn-ins {name: pulls}, in the published worlds or in the right one."""
    of_h_rage = {
        name: partial(_h_rage_elsewhere, truth=problem, length=length, delta=delta, **changes)
        for name, length in lengths.items()
    }
    players = {"largest": {"rage": partial(_rage_elsewhere, truth=problem, delta=delta, **changes)}, "own": of_h_rage}
    worlds = {noise: published_noise(problem, noise) if mistaken else problem for noise in players}
    table = monte_carlo(players.get, worlds, by="world", **options)
    burnt = table["algorithm"].map(lengths).fillna(0).astype(np.int64)
    return table.assign(pulls=table["pulls"] + burnt, burn_in=burnt)


def _oracle_elsewhere(world, rng, *, truth, noise, delta, stop):
    """An oracle in `world`, told the noise of `truth`."""
    told = LinearBandit(world.arms, world.items, world.theta, truth.sigma)
    return make_oracle(told, rng, noise=noise, delta=delta, stop=stop)


def _rage_elsewhere(world, rng, *, truth, delta, **changes):
    """RAGE in `world`, told the largest noise of `truth`."""
    return rage_halving(world.arms, world.items, delta=delta, sigma=truth.sigma.max(), **changes)


def _h_rage_elsewhere(world, rng, *, truth, length, delta, **changes):
    """H-RAGE in `world`, told the bounds of `truth` and the variances that a burn-in there has estimated."""
    found = one_burn_in(truth, length, rng)
    return h_rage(world.arms, world.items, delta=delta, burn_in=found.sigma, **bounds(truth), **changes)


def oracle_shares(own, largest, names):
    """The two oracle designs beside each other.

    Parameters
    ----------
    own : Design
        The design for each arm's own noise.
    largest : Design
        The design for the largest noise.
    names : sequence of str
        Names of the K arms.

    Returns
    -------
    DataFrame
        Shares of pulls, one row per arm and one column per oracle.
    """
    share = {"heteroskedastic_oracle": own.weights, "homoskedastic_oracle": largest.weights}
    return pd.DataFrame(share, index=pd.Index(names, name="arm")).map(np.float64)
