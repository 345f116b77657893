"""When a recommendation is right: the `correct` of `monte_carlo`, for best items, level sets and the unit sphere."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_positive
from bandits_lib.problem import LinearBandit


def best_item(problem: LinearBandit, recommendation: int) -> bool:
    """Return whether the recommended item has the largest true value; any maximiser is correct.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    recommendation : int
        Row of an item.

    Returns
    -------
    bool
        True if no item's value is larger by more than rounding errors.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> best_item(instances.benchmark(2), 0)
    True
    """
    best = problem.item_values.max()
    return bool(problem.item_values[recommendation] >= best - 1e-12 * max(1.0, abs(best)))


class correct_level(NamedTuple):
    """A `correct` for level sets: whether the recommended (M,) of bool is the set of items of value above `threshold`.

    Attributes
    ----------
    threshold : float
        Level, in units of reward. `monte_carlo` refuses a problem with an item exactly on it.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> correct_level(0.5)(LinearBandit(np.eye(2), theta=[0.9, 0.1]), np.array([True, False]))
    True
    """

    threshold: float

    def check(self, problem: LinearBandit) -> None:
        """Raise an error if an item's value is the threshold, to 12 digits.

        Parameters
        ----------
        problem : LinearBandit
            The truth.

        Raises
        ------
        ValueError
            If an item's value is the threshold; the message names the item.

        Examples
        --------
        >>> from bandits_lib import LinearBandit
        >>> correct_level(0.5).check(LinearBandit(np.eye(2), theta=[0.9, 0.1]))
        """
        distance = np.abs(problem.item_values - self.threshold)
        on = int(np.argmin(distance))
        if distance[on] <= 1e-12 * max(1.0, abs(self.threshold)):
            raise ValueError(
                f"threshold {self.threshold} is the value of item {on}: no rule can tell on which side it lies;"
                " move the threshold or drop the item"
            )

    def __call__(self, problem: LinearBandit, recommendation: np.ndarray) -> bool:
        self.check(problem)
        return bool(np.array_equal(recommendation, problem.item_values > self.threshold))


def correct_sphere(epsilon: float) -> Callable[[LinearBandit, np.ndarray], bool]:
    """Return a `correct` for unit vectors: whether the regret is at most epsilon (jedra2020, Definition 2).

    Parameters
    ----------
    epsilon : float
        Regret accepted, positive, in units of reward.

    Returns
    -------
    callable
        Function (problem, recommendation) -> bool, recommendation (d,).

    Raises
    ------
    ValueError
        If `epsilon` is not positive or not finite.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> correct_sphere(0.1)(LinearBandit(np.eye(2), theta=[1.0, 0.0]), np.array([1.0, 0.0]))
    True
    """
    return functools.partial(_regret_within, epsilon=check_positive("epsilon", epsilon))


def _regret_within(problem, recommendation, *, epsilon):
    return bool(sphere_regret(problem, recommendation) <= epsilon * (1 + 1e-12))


def sphere_regret(problem: LinearBandit, recommendation: np.ndarray) -> float:
    """Return how much worse than the best unit vector the recommendation is: |theta| - theta'recommendation.

    Parameters
    ----------
    problem : LinearBandit
        The truth, with a theta.
    recommendation : (d,) array_like
        Unit vector.

    Returns
    -------
    float
        The regret, in units of reward.

    Raises
    ------
    ValueError
        For a problem without theta, and for a vector of another length than 1.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> round(sphere_regret(LinearBandit(np.eye(2), theta=[2.0, 0.0]), np.array([0.6, 0.8])), 6)
    0.8
    """
    vector = np.asarray(recommendation, dtype=float)
    if problem.theta is None or vector.shape != problem.theta.shape or abs(vector @ vector - 1) > 1e-9:
        raise ValueError(f"recommendation must be a unit vector, and the problem have a theta; got {recommendation!r}")
    return float(np.linalg.norm(problem.theta) - problem.theta @ vector)
