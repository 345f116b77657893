"""Logistic regression on aggregated 0/1 rewards, finite for all data (azizi2022, section 5 and eq. 4).

With s_i successes in n_i pulls of arm x_i, Newton's method with halved steps maximises the concave function
    sum_i s_i x_i'theta - n_i log(1 + exp(x_i'theta)) - ridge/2 |theta|^2.
The paper has ridge 0. Its estimate is infinite if all rewards of an arm are equal, as in 11 to 38 % of the stages of
Figure 4. As the ridge tends to 0, the order of the values x'theta_hat tends to one that the data determine.

Along a step v the weights of the Hessian H change by a factor of at most e^R, R = max_i |x_i'v|. Hence a whole step
with R <= 1 gains v'Hv (1 - (e^R - 1 - R) / R^2) > v'Hv / 4. The squared length of the next step is at most
e^R ((e^R - 1 - R) / R)^2 v'Hv < 3/2 R^2 v'Hv; if that bound is below DECREMENT, the present step is the last one.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_positive
from bandits_lib.numerics.kernels import kernel, merged

MOST_STEPS = 100
DECREMENT = 1e-12  # stop below this squared length of the Newton step, in the norm of the Hessian
FLAT = 1e-15  # lower limit of pivots, relative to the diagonal entry
SURE = 1.0  # a step with a reach up to this is known to increase the objective


class LogisticFit(NamedTuple):
    """A logistic fit; `inverse` is the usual estimate of the covariance of theta_hat."""

    theta_hat: np.ndarray  # (d,)
    inverse: np.ndarray  # (d, d), of the penalised Hessian at theta_hat
    steps: int  # of Newton's method


def logistic_fit(arms, sample, *, ridge=1e-3, start=None):
    """Return the `LogisticFit` of 0/1 rewards on arms (K, d), by Newton's method from `start` (azizi2022, eq. 4)."""
    check_successes(sample)
    arms, ridge = np.ascontiguousarray(arms), check_positive("ridge", ridge)
    theta = np.zeros(arms.shape[1]) if start is None else np.array(start, dtype=float)
    counts, sums = np.asarray(sample.counts, dtype=np.int64), np.asarray(sample.sums, dtype=float)
    room = room_for(arms)
    steps = newton(arms, counts, sums, ridge, theta, room)
    differentiate(arms, counts, sums, ridge, theta, room)
    return LogisticFit(theta, np.linalg.inv(np.tril(room.hessian) + np.tril(room.hessian, -1).T), steps)  # noqa: TID251  shown only


class Room(NamedTuple):
    """Scratch arrays of Newton's method."""

    gradient: np.ndarray  # (d,); the solution, the step, overwrites it
    decrement: np.ndarray  # (1,), squared length of the step in the norm of the Hessian
    trial: np.ndarray  # (d,)
    hessian: np.ndarray  # (d, d), lower triangle: minus the second derivative
    factor: np.ndarray  # (d, d), lower triangle: Cholesky factor


def room_for(arms):
    """Return the `Room` for arms (K, d)."""
    d = arms.shape[1]
    return Room(np.empty(d), np.empty(1), np.empty(d), np.zeros((d, d)), np.empty((d, d)))


def check_successes(sample):
    """Refuse a Sample whose rewards are not all 0 or 1: a sum must be a whole number between 0 and the count."""
    counts, sums, squares = sample
    invalid = (sums < 0) | (sums > counts) | (sums != np.round(sums)) | (np.abs(squares - sums) > 1e-9 * counts)
    if invalid.any():
        k = int(np.argmax(invalid))  # noqa: TID251  of booleans
        raise ValueError(
            f"rewards must be 0 or 1 for the logistic model; those of arm {k} have the sum {sums[k]:.6g} and the sum "
            f"of squares {squares[k]:.6g} in {counts[k]} pulls: use model='linear', or code the rewards as 0 and 1"
        )


@kernel
def newton(arms, counts, sums, ridge, theta, room):
    """Maximise in place on `theta` (d,), from its present value; return the number of steps."""
    step, trial = room.gradient, room.trial
    for number in range(MOST_STEPS):
        differentiate(arms, counts, sums, ridge, theta, room)
        solve_step(room)
        decrement = room.decrement[0]
        if not decrement > DECREMENT:
            return number
        reach = reach_of(arms, counts, step)
        if not reach <= SURE and not shorten(arms, counts, sums, ridge, theta, step, trial, decrement):
            return number
        for i in range(theta.shape[0]):
            theta[i] += step[i]
        if reach <= SURE and 1.5 * reach * reach * decrement <= DECREMENT:
            return number + 1
    return MOST_STEPS


@merged
def solve_step(room):
    """Set the step H^-1 gradient in place of the gradient, by the Cholesky factor L of H, and |L^-1 gradient|^2."""
    step, factor, decrement = room.gradient, room.factor, 0.0
    for i in range(step.shape[0]):
        for j in range(i + 1):
            entry = room.hessian[i, j]
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = entry * factor[j, j]
            else:  # the diagonal holds 1 / L
                factor[i, i] = 1 / np.sqrt(max(entry, FLAT * room.hessian[i, i]))
        for k in range(i):
            step[i] -= factor[i, k] * step[k]
        step[i] *= factor[i, i]
        decrement += step[i] * step[i]
    for i in range(step.shape[0] - 1, -1, -1):
        step[i] *= factor[i, i]
        for k in range(i):
            step[k] -= factor[i, k] * step[i]
    room.decrement[0] = decrement


@merged
def reach_of(arms, counts, step):
    """Return R, the largest |x'step| of the arms that were pulled."""
    reach = 0.0
    for k in range(arms.shape[0]):
        if counts[k] > 0:
            along = 0.0
            for i in range(step.shape[0]):
                along += arms[k, i] * step[i]
            reach = max(reach, abs(along))
    return reach


@kernel
def shorten(arms, counts, sums, ridge, theta, step, trial, decrement):
    """Halve the `step` in place until it gains enough; return False if rounding errors hide every gain."""
    value, length = objective(arms, counts, sums, ridge, theta), 1.0
    while length >= 1e-10:
        for i in range(step.shape[0]):
            trial[i] = theta[i] + length * step[i]
        if objective(arms, counts, sums, ridge, trial) >= value + 1e-4 * length * decrement:
            for i in range(step.shape[0]):
                step[i] *= length
            return True
        length /= 2
    return False


@kernel
def objective(arms, counts, sums, ridge, theta):
    """Return sum s_i eta_i - n_i log(1 + exp(eta_i)) - ridge/2 |theta|^2, eta = arms @ theta, without overflow."""
    value = 0.0
    for i in range(theta.shape[0]):
        value -= 0.5 * ridge * theta[i] * theta[i]
    for k in range(arms.shape[0]):
        if counts[k] > 0:
            eta = 0.0
            for i in range(theta.shape[0]):
                eta += arms[k, i] * theta[i]
            value += sums[k] * eta - counts[k] * (max(eta, 0.0) + np.log1p(np.exp(-abs(eta))))
    return value


@kernel
def differentiate(arms, counts, sums, ridge, theta, room):
    """Write the gradient (d,) at theta and the lower triangle of minus the second derivative (d, d) into the room."""
    d, gradient, hessian = theta.shape[0], room.gradient, room.hessian
    for i in range(d):
        gradient[i] = -ridge * theta[i]
        for j in range(i + 1):
            hessian[i, j] = ridge if i == j else 0.0
    for k in range(arms.shape[0]):
        if counts[k] > 0:
            eta = 0.0
            for i in range(d):
                eta += arms[k, i] * theta[i]
            decay = np.exp(-abs(eta))
            p = 1 / (1 + decay) if eta >= 0 else decay / (1 + decay)
            residual, weight = sums[k] - counts[k] * p, counts[k] * decay / (1 + decay) ** 2
            for i in range(d):
                gradient[i] += residual * arms[k, i]
                scaled = weight * arms[k, i]
                for j in range(i + 1):
                    hessian[i, j] += scaled * arms[k, j]
