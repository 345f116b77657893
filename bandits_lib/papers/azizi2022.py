"""Problems of azizi2022, called as `instances.static` and so on; `sigma2` is the variance of the noise."""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_dimension, check_matrix, check_option, check_positive
from bandits_lib.problem import LinearBandit


def static(gap: float, *, K: int = 16, best: int = 0, sigma2: float = 10.0) -> LinearBandit:
    """Return the problem with arms e_1, ..., e_K and theta = gap e_best: azizi2022 section 8.2 (Figure 1).

    Parameters
    ----------
    gap, K : float, int
        Distance of the best arm from the others, positive, and the number of arms, at least 2, by default 16.
    best : int, default 0
        Row of the best arm, 0 in the paper. With 0, rules that break ties by the smallest row have an advantage.
    sigma2 : float, default 10.0
        Variance of the noise, 10 in the published jobs; the text does not give it.

    Returns
    -------
    LinearBandit
        The problem, with arms (K, K).

    Examples
    --------
    >>> static(0.5, K=4).means.tolist()
    [0.5, 0.0, 0.0, 0.0]
    """
    check_dimension("K", K, 2)
    if best not in range(K):
        raise ValueError(f"best must be the row of an arm, 0..{K - 1}; got {best}")
    theta = np.zeros(K)
    theta[best] = check_positive("gap", gap)
    return LinearBandit(np.eye(K), theta=theta, sigma=np.sqrt(check_positive("sigma2", sigma2)))


def logistic(d: int, rng: np.random.Generator, *, K: int = 8, spread: str = "variance") -> LinearBandit:
    """Return arms uniform on [-1/2, 1/2]^d with 0/1 rewards of mean 1 / (1 + exp(-x'theta)): azizi2022 section 8.4.

    Parameters
    ----------
    d, rng, K : int, numpy.random.Generator, int
        Dimension, the generator that draws the arms and theta ~ N(0, s^2 I), and the number of arms, by default 8.
    spread : {"variance", "sd"}, default "variance"
        With "variance", s^2 = 3 / d, as in the text; with "sd", s = 3 / d, as in the published code.

    Returns
    -------
    LinearBandit
        The problem, with arms (K, d) and Bernoulli rewards.

    Examples
    --------
    >>> logistic(3, np.random.default_rng(0)).means.round(2).tolist()
    [0.61, 0.33, 0.52, 0.69, 0.53, 0.43, 0.54, 0.39]
    """
    check_dimension("d", d, 1)
    check_dimension("K", K, 2)
    check_option("spread", spread, ("variance", "sd"))
    arms, s = rng.uniform(-0.5, 0.5, (K, d)), np.sqrt(3 / d) if spread == "variance" else 3 / d
    return LinearBandit(arms, theta=rng.normal(0, s, d), link="logistic")


def rows_of_data(
    features: np.ndarray,
    values: np.ndarray,
    rng: np.random.Generator,
    *,
    K: int = 8,
    replace: bool = False,
    sigma2: float = 0.1,
) -> LinearBandit:
    """Return a problem with rows of a data set as arms and their values as means: azizi2022 appendix E.2 (Figure 5).

    Parameters
    ----------
    features, values : (n, d) and (n,) array_like
        Rows of the data set, and their values.
    rng, K : numpy.random.Generator, int
        Generator that draws the rows, and the number of arms, at least 2, by default 8.
    replace : bool, default False
        If true, draw rows with replacement, as in the published code, so that a row may occur twice.
    sigma2 : float, default 0.1
        Variance of the Gaussian noise, 0.1 in the paper.

    Returns
    -------
    LinearBandit
        The problem, with arms (K, d) and with `means`, so that its theta is None.

    Examples
    --------
    >>> rows_of_data(np.eye(9), np.arange(9) / 9, np.random.default_rng(0), K=3).means.round(2).tolist()
    [0.78, 0.44, 0.56]
    """
    check_dimension("K", K, 2)
    features, values = check_matrix("features", features), check_matrix("values", np.atleast_2d(values))[0]
    if len(features) != len(values):
        raise ValueError(f"features and values must be equally long; got {len(features)} and {len(values)} rows")
    if K > len(values) and not replace:
        raise ValueError(f"K must be at most the number of rows, {len(values)}, unless replace=True; got {K}")
    rows = rng.choice(len(values), K, replace=replace)
    return LinearBandit(features[rows], means=values[rows], sigma=np.sqrt(check_positive("sigma2", sigma2)))


class Job(NamedTuple):
    """Dimension, budget in pulls and variance of the noise of a published job for one rule."""

    d: int
    budget: int
    sigma2: float


VARIANCES = {1: 10.0, 2: 10.0, 3: 10.0, 4: 10.0, 5: 0.1, 6: 1.0, 7: 1.0}  # passed by the published jobs, by figure


def published_job(figure: int, rule: str, *, K: int, d: int, budget: int) -> Job:
    """Return the dimension, budget and variance that a published job of azizi2022 uses for a setting (d, budget).

    A projection leaves an array with four columns (three features and the mean reward), and the code takes this number
    as the dimension of later runs. Figures 3, 4 and 6 draw new arms in every run, so there the arms of GSE and
    OD-LinBAI have 4 dimensions from the second run on. The jobs of Figures 6 and 7 spend the budget on every arm,
    because they pass a switch as a list, which counts as true. BayesGap gets the variance 10 in Figure 4, too, although
    its rewards are 0 and 1.

    Parameters
    ----------
    figure : {1, 2, 3, 4, 5, 6, 7}
        Number of the figure.
    rule : {"gse", "od_linbai", "other"}
        The rule; only GSE and OD-LinBAI project their arms.
    K, d, budget : int
        Number of arms; dimension and budget (in pulls) in the figure.

    Returns
    -------
    Job
        Dimension, budget and variance.

    Examples
    --------
    >>> published_job(3, "gse", K=64, d=10, budget=1280)
    Job(d=4, budget=1280, sigma2=10.0)
    >>> published_job(7, "gse", K=24, d=2, budget=25)
    Job(d=2, budget=600, sigma2=1.0)
    """
    check_option("figure", figure, tuple(VARIANCES))
    check_option("rule", rule, ("gse", "od_linbai", "other"))
    for name, value in (("K", K), ("d", d), ("budget", budget)):
        check_dimension(name, value, 1)
    leaks = figure in (3, 4, 6) and rule != "other" and d >= 3
    return Job(4 if leaks else d, budget * K if figure in (6, 7) else budget, VARIANCES[figure])
