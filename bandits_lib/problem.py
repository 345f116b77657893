"""The world: arms that can be pulled, items to be ranked, true rewards, and exact draws of aggregated rewards."""

import numpy as np
from numba import njit
from scipy.special import expit

from bandits_lib.checks import check_arms, check_items, check_matrix, check_option, check_sigma, check_theta
from bandits_lib.numerics.ordered import along
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Sample


@njit(cache=True)
def draw_gaussian(mean, sigma, rng):
    """One Gaussian reward; the same draw as `LinearBandit.pull` makes for a single pull.

    mean, sigma : mean reward and its standard deviation; rng : np.random.Generator. Returns a float.

    >>> round(draw_gaussian(1.0, 0.1, np.random.default_rng(0)), 4)
    1.0126
    """
    return mean + sigma * rng.standard_normal()


@njit(cache=True)
def draw_bernoulli(mean, sigma, rng):
    """One Bernoulli reward.

    mean : probability of reward 1; sigma : the standard deviation of a Gaussian reward, not used here;
    rng : np.random.Generator. Returns 0.0 or 1.0.

    >>> draw_bernoulli(0.9, 0.0, np.random.default_rng(0))
    1.0
    """
    return float(rng.binomial(1, mean))


class LinearBandit:
    """Arms with rewards of mean `link(arms @ theta)` and independent noise.

    Parameters
    ----------
    arms : (K, d), what can be pulled.
    items : (M, d), what is to be ranked; default the arms.
    theta : (d,), the true parameter; or else
    means : (K,), true mean rewards that no linear model need fit (real data); the items are then the arms.
    sigma : standard deviation of the noise, one or (K,); Bernoulli noise has its own and ignores it.
    link : "identity" or "logistic" (which implies Bernoulli rewards).
    noise : "gaussian" or "bernoulli" (means must lie in [0, 1]).

    Attributes
    ----------
    arms, items, theta (None if `means` were given), sigma (K,), means (K,), link, noise,
    item_values (M,) true mean values of the items, gaps (M,) their distances from the best, best_item.

    Raises ValueError for wrong shapes, NaN, negative sigma, Bernoulli means outside [0, 1], an unknown option.

    >>> problem = LinearBandit(np.eye(2), theta=[1.0, 0.4])
    >>> problem.best_item, problem.gaps.tolist()
    (0, [0.0, 0.6])
    """

    def __init__(self, arms, items=None, theta=None, sigma=1.0, link="identity", noise="gaussian", means=None):
        self.arms = check_arms(arms)
        self.items = self.arms if items is None else check_items(items, self.arms, distinct=False)
        self.sigma = check_sigma(sigma, len(self.arms), zero=True)
        self.link = check_option("link", link, ("identity", "logistic"))
        self.noise = "bernoulli" if link == "logistic" else check_option("noise", noise, ("gaussian", "bernoulli"))
        if (theta is None) == (means is None):
            raise ValueError("theta or means must be given, not both: theta (d,) for a linear model, else means (K,)")
        if means is None:
            self._set_theta(theta)
        else:
            self._set_means(means)
        if self.noise == "bernoulli" and ((self.means < 0) | (self.means > 1)).any():
            low, high = self.means.min(), self.means.max()
            raise ValueError(f"bernoulli means must lie in [0, 1]; got {low:.4g} to {high:.4g}: rescale theta or means")
        self.gaps = self.item_values.max() - self.item_values
        self.best_item = int(argmax(self.item_values))
        self.draw = draw_bernoulli if self.noise == "bernoulli" else draw_gaussian

    def _set_theta(self, theta):
        theta = check_theta("theta", theta, self.arms.shape[1])
        mean = expit if self.link == "logistic" else np.asarray
        self.theta, self.means, self.item_values = theta, mean(along(self.arms, theta)), mean(along(self.items, theta))

    def _set_means(self, means):
        means = check_matrix("means", np.atleast_2d(means))[0]
        if means.shape != (len(self.arms),):
            raise ValueError(f"means must have one entry per arm, ({len(self.arms)},); got {means.shape}")
        if self.items is not self.arms:
            raise ValueError("means are of the arms and say nothing of other items; give theta, or leave items out")
        self.theta, self.means, self.item_values = None, means, means

    def pull(self, counts, rng):
        """Pull arm k `counts[k]` times and return the aggregated rewards, exactly in law, in O(K).

        counts : (K,) non-negative integers; rng : np.random.Generator. Returns a Sample.
        Draws normals in index order for counts > 0, then chi-squares for counts > 1 (Gaussian), or binomials;
        nothing for counts == 0. Gaussian: sum ~ N(n mu, n s^2), within-arm squares ~ s^2 chi2(n - 1), independent.

        >>> problem = LinearBandit(np.eye(2), theta=[0.25, 0.75], noise="bernoulli")
        >>> problem.pull(np.array([100, 4]), np.random.default_rng(0)).sums.tolist()
        [26.0, 4.0]
        """
        pulled = np.flatnonzero(counts)
        n, mean, sigma = counts[pulled], self.means[pulled], self.sigma[pulled]
        sums, squares = np.zeros(len(counts)), np.zeros(len(counts))
        if self.noise == "bernoulli":
            sums[pulled] = squares[pulled] = rng.binomial(n, mean)
            return Sample(np.array(counts), sums, squares)
        sums[pulled] = n * mean + np.sqrt(n) * sigma * rng.standard_normal(len(n))
        within = np.zeros(len(n))
        within[n > 1] = rng.chisquare(n[n > 1] - 1)
        squares[pulled] = sums[pulled] ** 2 / n + sigma**2 * within
        return Sample(np.array(counts), sums, squares)
