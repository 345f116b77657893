"""Simulate problems: arms to pull, items to rank, true means, and exact draws of aggregated rewards."""

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.special import expit

from bandits_lib.checks import check_arms, check_items, check_matrix, check_option, check_sigma, check_theta
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Sample


@njit(cache=True)
def draw_gaussian(mean, sigma, rng):
    """Return one Gaussian reward, drawn as `LinearBandit.pull` draws a single pull."""
    return mean + sigma * rng.standard_normal()


@njit(cache=True)
def draw_bernoulli(mean, sigma, rng):
    """Return one reward, 0.0 or 1.0; sigma is not used."""
    return float(rng.binomial(1, mean))


@njit(cache=True)
def draw_gaussian_sums(means, sigma, counts, sums, rng):
    """Set `sums` (K,) to the sums of Gaussian rewards of a batch, drawn as `LinearBandit.pull` draws them."""
    for k in range(counts.shape[0]):
        sums[k] = 0.0
        if counts[k] > 0:
            sums[k] = counts[k] * means[k] + np.sqrt(counts[k]) * sigma[k] * rng.standard_normal()
    for k in range(counts.shape[0]):
        if counts[k] > 1:
            rng.chisquare(counts[k] - 1)  # of the squares, so that later draws are the same


@njit(cache=True)
def draw_bernoulli_sums(means, sigma, counts, sums, rng):
    """Set `sums` (K,) to the sums of a batch of rewards 0 and 1; sigma is not used."""
    for k in range(counts.shape[0]):
        sums[k] = rng.binomial(counts[k], means[k]) if counts[k] > 0 else 0.0


class LinearBandit:
    """Simulate arms with rewards of mean `link(arms @ theta)` and independent noise.

    Parameters
    ----------
    arms, items : (K, d) and (M, d) array_like
        Arms that can be pulled, and items that are ranked, by default the arms.
    theta : (d,) array_like, optional
        The true parameter. Give either `theta` or `means`.
    sigma : float or (K,) array_like
        Standard deviation of the noise, 0 allowed. Bernoulli rewards ignore it: their mean fixes their variance.
    link : {"identity", "logistic"}
        Function from arms @ theta to the mean; "logistic" implies Bernoulli rewards.
    noise : {"gaussian", "bernoulli"}
        Law of the rewards; Bernoulli means must lie in [0, 1].
    means : (K,) array_like, optional
        True mean rewards that need not be linear in the features (real data); the items are then the arms.

    Attributes
    ----------
    item_values, gaps : (M,) array
        True mean values of the items, and their distances from the best.
    best_item : int
        Row of the best item.

    Examples
    --------
    >>> problem = LinearBandit(np.eye(2), theta=[1.0, 0.4])
    >>> problem.best_item, problem.gaps.tolist()
    (0, [0.0, 0.6])
    """

    def __init__(
        self,
        arms: ArrayLike,
        items: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        sigma: ArrayLike = 1.0,
        link: str = "identity",
        noise: str = "gaussian",
        means: ArrayLike | None = None,
    ) -> None:
        self.arms = check_arms(arms)
        self.items = self.arms if items is None else check_items(items, self.arms, distinct=False)
        self.sigma = check_sigma(sigma, len(self.arms), zero=True)
        self.link = check_option("link", link, ("identity", "logistic"))
        self.noise = "bernoulli" if link == "logistic" else check_option("noise", noise, ("gaussian", "bernoulli"))
        if (theta is None) == (means is None):
            passed = "neither" if theta is None else "both"
            raise ValueError(
                f"one of theta or means must be given; got {passed}: pass theta (d,) for a linear model, or means (K,)"
            )
        if means is None:
            self._set_theta(theta)
        else:
            self._set_means(means)
        if self.noise == "bernoulli" and ((self.means < 0) | (self.means > 1)).any():
            low, high = self.means.min(), self.means.max()
            raise ValueError(f"bernoulli means must lie in [0, 1]; got {low:.4g} to {high:.4g}: rescale theta or means")
        self.gaps = self.item_values.max() - self.item_values
        self.best_item = int(argmax(self.item_values))

    def _set_theta(self, theta):
        """Set the means of the arms and the values of the items from theta."""
        theta = check_theta("theta", theta, self.arms.shape[1])
        mean = expit if self.link == "logistic" else np.asarray
        self.theta, self.means, self.item_values = theta, mean(along(self.arms, theta)), mean(along(self.items, theta))

    def _set_means(self, means):
        """Set the means of the arms, which are the items."""
        means = check_matrix("means", np.atleast_2d(means))[0]
        if means.shape != (len(self.arms),):
            raise ValueError(f"means must have one entry per arm, ({len(self.arms)},); got {means.shape}")
        if self.items is not self.arms:
            raise ValueError(
                "means are those of the arms and do not give the values of other items: pass theta, or leave items out"
            )
        self.theta, self.means, self.item_values = None, means, means

    @property
    def draw(self) -> Callable:
        """Return the function (mean, sigma, rng) -> reward; it is looked up by its name, so that it stays compiled."""
        return draw_bernoulli if self.noise == "bernoulli" else draw_gaussian

    @property
    def draw_sums(self) -> Callable:
        """Return the function (means, sigma, counts, sums, rng) that draws the sums of a batch, as `draw` is found."""
        return draw_bernoulli_sums if self.noise == "bernoulli" else draw_gaussian_sums

    def pull(self, counts: np.ndarray, rng: np.random.Generator) -> Sample:
        """Pull arm k `counts[k]` times and return the aggregated rewards, exactly in law, in O(K).

        Parameters
        ----------
        counts : (K,) int array
            Pulls of each arm, not negative.
        rng : numpy.random.Generator
            Source of the draws: binomials for Bernoulli rewards, else normals in index order for counts > 0 and then
            chi-squares for counts > 1.

        Returns
        -------
        Sample
            Counts, sums and sums of squares of the rewards.

        Examples
        --------
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
