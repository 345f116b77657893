"""Logistic regression by Newton's method, i.e. iteratively reweighted least squares (azizi2022, section 5).

The paper uses the maximum-likelihood estimate, which is often infinite. The ridge of the library keeps it finite.
"""

import numpy as np


def logistic_regression(X, counts, sums, ridge=1e-3, start=None):
    """Return theta_hat (d,) from counts (m,) and successes (m,) of arms X (m, d); begin at `start` (d,), or at 0."""
    theta = np.zeros(X.shape[1]) if start is None else start
    for _ in range(100):
        h = 1 / (1 + np.exp(-X @ theta))
        gradient = X.T @ (sums - counts * h) - ridge * theta  # 0 at the maximum, as in section 5 without the ridge
        hessian = (X.T * (counts * h * (1 - h))) @ X + ridge * np.eye(len(theta))
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step <= 1e-12:
            break
        while log_likelihood(X, counts, sums, ridge, theta + step) < log_likelihood(X, counts, sums, ridge, theta):
            step = step / 2
        theta = theta + step
    return theta


def log_likelihood(X, counts, sums, ridge, theta):
    """Return the penalised log-likelihood at theta (d,)."""
    return sums @ X @ theta - counts @ np.logaddexp(0, X @ theta) - ridge / 2 * theta @ theta
