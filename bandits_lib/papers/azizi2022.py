"""The problems of azizi2022, one function each; the variance of the noise is `sigma2`, as the paper prints it.

The names are those of `instances`, from which they are meant to be called.
"""

import numpy as np

from bandits_lib.checks import check_dimension, check_matrix, check_option, check_positive
from bandits_lib.problem import LinearBandit


def static(gap, *, K=16, best=0, sigma2=10.0):
    """azizi2022 section 8.2 (Figure 1): arms e_1, ..., e_K, theta = gap e_1, so that no arm tells about another.

    gap : distance of the best arm from the others, positive; best : its number, 0 in the paper (rules that break ties
    by the lowest number gain by that); sigma2 : variance of the noise. The text gives none; the published jobs have
    10, with which no rule gets far, so 1 is worth a look. K : arms. Returns a LinearBandit.
    Raises ValueError for K < 2 or best outside 0..K-1.

    >>> static(0.5, K=4).means.tolist()
    [0.5, 0.0, 0.0, 0.0]
    """
    check_dimension("K", K, 2)
    if best not in range(K):
        raise ValueError(f"best must be the number of an arm, 0..{K - 1}; got {best}")
    theta = np.zeros(K)
    theta[best] = check_positive("gap", gap)
    return LinearBandit(np.eye(K), theta=theta, sigma=np.sqrt(check_positive("sigma2", sigma2)))


def logistic(d, rng, *, K=8, spread="variance"):
    """azizi2022 section 8.4 (Figure 4): K arms uniform on [-1/2, 1/2]^d, 0/1 rewards of mean 1 / (1 + exp(-x'theta)).

    rng : draws arms and theta ~ N(0, s^2 I); spread "variance": s^2 = 3 / d, as the text has it; "sd": s = 3 / d, as
    the published code has it. d, K : dimension, arms. Returns a LinearBandit.
    Raises ValueError for d < 1 or K < 2.

    >>> logistic(3, np.random.default_rng(0)).means.round(2).tolist()
    [0.61, 0.33, 0.52, 0.69, 0.53, 0.43, 0.54, 0.39]
    """
    check_dimension("d", d, 1)
    check_dimension("K", K, 2)
    check_option("spread", spread, ("variance", "sd"))
    arms = rng.uniform(-0.5, 0.5, (K, d))
    return LinearBandit(
        arms, theta=rng.normal(0, np.sqrt(3 / d) if spread == "variance" else 3 / d, d), link="logistic"
    )


def rows_of_data(features, values, rng, *, K=8, replace=False, sigma2=0.1):
    """azizi2022 appendix E.2 (Figure 5): K rows of a data set as arms, their values as mean rewards, linear or not.

    features : (n, d); values : (n,); rng : draws the rows, without replacement unless `replace` (the published code:
    with, so that a row may be there twice); sigma2 : variance of the Gaussian noise (the paper: .1);
    K : arms. Returns a LinearBandit with `means`, whose theta is None.
    Raises ValueError for K < 2, K > n without replacement, lengths that differ, NaN.

    >>> rows_of_data(np.eye(9), np.arange(9) / 9, np.random.default_rng(0), K=3).means.round(2).tolist()
    [0.78, 0.44, 0.56]
    """
    check_dimension("K", K, 2)
    features, values = check_matrix("features", features), check_matrix("values", np.atleast_2d(values))[0]
    if len(features) != len(values):
        raise ValueError(f"features and values must be equally long; got {len(features)} and {len(values)}")
    if K > len(values) and not replace:
        raise ValueError(f"K must be at most the number of rows, {len(values)}, unless replace=True; got {K}")
    rows = rng.choice(len(values), K, replace=replace)
    return LinearBandit(features[rows], means=values[rows], sigma=np.sqrt(check_positive("sigma2", sigma2)))
