"""Logistic regression on aggregated 0/1 rewards, finite whatever the data (azizi2022, section 5 and eq. 4).

With s_i successes in n_i pulls of arm x_i, the fit maximises the concave
    sum_i s_i x_i'theta - n_i log(1 + exp(x_i'theta)) - ridge/2 |theta|^2
by Newton's method (iteratively reweighted least squares) with halved steps.

Departures from the paper, which takes the maximum-likelihood estimate, ridge 0, for granted. A stage of GSE has few
pulls on few arms, and an arm that only won or only lost sends that estimate to infinity: in 11 to 38 % of the stages
of Figure 4. The published code then draws theta at random. A ridge keeps the estimate finite and unique, and as it goes
to 0 the order of the values x'theta_hat, which is all that GSE uses, tends to one that the data decide. The default
1e-3 is a thousandth of what one pull of an undecided arm of length 2 tells along itself.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_positive

MOST_STEPS = 100
DECREMENT = 1e-12  # squared length of the Newton step, in the norm of the Hessian, at which it ends


class LogisticFit(NamedTuple):
    """A logistic fit: theta_hat (d,), inverse (d, d) of the penalised Hessian there, and the Newton steps it took.

    The inverse is the usual estimate of the covariance of theta_hat.

    >>> LogisticFit(np.zeros(2), np.eye(2), 3).steps
    3
    """

    theta_hat: np.ndarray
    inverse: np.ndarray
    steps: int


def logistic_fit(arms, sample, *, ridge=1e-3, start=None):
    """The ridge-penalised logistic regression of 0/1 rewards on the arms (azizi2022, eq. 4).

    arms : (K, d); sample : Sample whose sums count the successes; ridge : positive penalty on |theta|^2 / 2;
    start : (d,) where Newton's method begins, default 0 (the maximum is unique, so it matters for speed only).
    Returns LogisticFit; arms that do not span R^d leave theta_hat in their span.
    Raises ValueError for rewards other than 0 and 1 and for a ridge that is not positive.

    >>> from bandits_lib import Sample
    >>> sample = Sample(np.array([10, 10]), np.array([8.0, 3.0]), np.array([8.0, 3.0]))
    >>> logistic_fit(np.eye(2), sample).theta_hat.round(2).tolist()
    [1.39, -0.85]
    """
    check_successes(sample)
    theta = np.zeros(arms.shape[1]) if start is None else np.array(start, dtype=float)
    hessian = np.empty((len(theta), len(theta)))
    counts, sums = np.asarray(sample.counts, dtype=float), np.asarray(sample.sums, dtype=float)
    steps = newton(np.ascontiguousarray(arms), counts, sums, check_positive("ridge", ridge), theta, hessian)
    return LogisticFit(theta, np.linalg.inv(hessian), steps)


def check_successes(sample):
    """Refuse a Sample whose rewards are not all 0 or 1: a sum must be a whole number between 0 and the count.

    sample : Sample. Raises ValueError with the first arm for which it is not.

    >>> from bandits_lib import Sample
    >>> sample = Sample(np.array([10, 10]), np.array([8.0, 3.0]), np.array([8.0, 3.0]))
    >>> check_successes(sample)
    """
    counts, sums, squares = sample
    wrong = (sums < 0) | (sums > counts) | (sums != np.round(sums)) | (np.abs(squares - sums) > 1e-9 * counts)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(
            f"rewards must be 0 or 1 for the logistic model; those of arm {k} add up to {sums[k]:.6g} in {counts[k]} "
            f"pulls, their squares to {squares[k]:.6g}: use model='linear', or code the rewards as 0 and 1"
        )


@njit(cache=True, error_model="numpy")
def newton(arms, counts, sums, ridge, theta, hessian):
    """Maximise the penalised likelihood in place on `theta` (d,), from where it stands; returns the steps taken.

    arms : (K, d); counts, sums : (K,); ridge : positive. Leaves the penalised Hessian where the last step began in
    `hessian` (d, d).

    >>> theta, counts = np.zeros(2), np.array([10.0, 10.0])
    >>> _ = newton(np.eye(2), counts, np.array([8.0, 3.0]), 1e-3, theta, np.zeros((2, 2)))
    >>> theta.round(2).tolist()
    [1.39, -0.85]
    """
    gradient, trial = np.empty_like(theta), np.empty_like(theta)
    value = objective(arms, counts, sums, ridge, theta)
    for step in range(MOST_STEPS):
        differentiate(arms, counts, sums, ridge, theta, gradient, hessian)
        direction = np.linalg.solve(hessian, gradient)
        decrement = direction @ gradient
        if not decrement > DECREMENT:
            return step
        length = 1.0
        while True:
            trial[:] = theta + length * direction
            reached = objective(arms, counts, sums, ridge, trial)
            if reached >= value + 1e-4 * length * decrement:
                break
            length /= 2
            if length < 1e-10:  # rounding: no step along the gradient gains any more
                return step
        theta[:], value = trial, reached
    return MOST_STEPS


@njit(cache=True, error_model="numpy")
def objective(arms, counts, sums, ridge, theta):
    """sum s_i eta_i - n_i log(1 + exp(eta_i)) - ridge/2 |theta|^2, without overflow.

    arms : (K, d); counts, sums : (K,), n and s; ridge : positive; theta : (d,), eta = arms @ theta. Returns a
    float.

    >>> round(objective(np.eye(2), np.array([1.0, 1.0]), np.array([1.0, 0.0]), 1e-3, np.zeros(2)), 4)
    -1.3863
    """
    value = -0.5 * ridge * (theta @ theta)
    for k in range(arms.shape[0]):
        if counts[k] > 0:
            eta = 0.0
            for i in range(theta.shape[0]):
                eta += arms[k, i] * theta[i]
            value += sums[k] * eta - counts[k] * (max(eta, 0.0) + np.log1p(np.exp(-abs(eta))))
    return value


@njit(cache=True, error_model="numpy")
def differentiate(arms, counts, sums, ridge, theta, gradient, hessian):
    """The objective's gradient (d,) at theta and minus its second derivative (d, d), into the arrays given."""
    d = theta.shape[0]
    gradient[:] = -ridge * theta
    hessian[:] = 0.0
    for i in range(d):
        hessian[i, i] = ridge
    for k in range(arms.shape[0]):
        if counts[k] > 0:
            eta = 0.0
            for i in range(d):
                eta += arms[k, i] * theta[i]
            small = np.exp(-abs(eta))
            p = 1 / (1 + small) if eta >= 0 else small / (1 + small)
            residual, weight = sums[k] - counts[k] * p, counts[k] * small / (1 + small) ** 2
            for i in range(d):
                gradient[i] += residual * arms[k, i]
                for j in range(d):
                    hessian[i, j] += weight * arms[k, i] * arms[k, j]
