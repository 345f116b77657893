"""Logistic regression on aggregated 0/1 rewards, finite whatever the data (azizi2022, section 5 and eq. 4).

With s_i successes in n_i pulls of arm x_i, the fit maximises the concave
    sum_i s_i x_i'theta - n_i log(1 + exp(x_i'theta)) - ridge/2 |theta|^2
by Newton's method (iteratively reweighted least squares) with halved steps. The maximum is unique, so where the method
starts matters for speed only; arms that do not span R^d leave theta_hat in their span.

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
    """A logistic fit; the inverse is the usual estimate of the covariance of theta_hat."""

    theta_hat: np.ndarray  # (d,)
    inverse: np.ndarray  # (d, d), of the penalised Hessian there
    steps: int  # of Newton's method


def logistic_fit(arms, sample, *, ridge=1e-3, start=None):
    """The `LogisticFit` of 0/1 rewards on arms (K, d), Newton's method from `start` or 0 (azizi2022, eq. 4)."""
    check_successes(sample)
    theta = np.zeros(arms.shape[1]) if start is None else np.array(start, dtype=float)
    hessian = np.empty((len(theta), len(theta)))
    counts, sums = np.asarray(sample.counts, dtype=float), np.asarray(sample.sums, dtype=float)
    steps = newton(np.ascontiguousarray(arms), counts, sums, check_positive("ridge", ridge), theta, hessian)
    return LogisticFit(theta, np.linalg.inv(hessian), steps)


def check_successes(sample):
    """Refuse a Sample whose rewards are not all 0 or 1: a sum must be a whole number between 0 and the count."""
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
    """Maximise in place on `theta` (d,), from where it stands, leaving a `hessian` (d, d); returns the steps."""
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
    """sum s_i eta_i - n_i log(1 + exp(eta_i)) - ridge/2 |theta|^2 with eta = arms @ theta, without overflow."""
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
