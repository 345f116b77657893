"""What bad input gets: a `ValueError` that names the argument, the rule, the value and the way out."""

import numpy as np

NUMBER = (int, float, np.integer, np.floating)
LARGEST = 1e100  # entry of a vector, and the inverse of the least: squares and their products are then finite


def matrix(name, values):
    """`values` as a finite (n, d) float array with n, d >= 1; anything else raises."""
    array = np.ascontiguousarray(values, dtype=float)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be a 2-D array, one vector per row, but has shape {array.shape}; "
            f"use {name}.reshape(n, d) or {name}[None, :] for a single vector"
        )
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one vector but has shape {array.shape}; add a row")
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise ValueError(f"{name} must be finite but row {row} is {array[row]}; drop or repair it")
    longest = np.abs(array).max(axis=1)
    extreme = (longest > LARGEST) | ((longest < 1 / LARGEST) & (longest > 0))
    if extreme.any():
        row = int(np.argmax(extreme))
        raise ValueError(f"{name} must hold numbers that can be squared but row {row} is {array[row]}; rescale it")
    return array


def some_nonzero(name, array):
    """Raise if every row of `array` is the zero vector."""
    if not array.any():
        raise ValueError(f"{name} must hold a non-zero vector but all {len(array)} are zero; nothing can be measured")


def same_dimension(name, array, arms):
    """Raise if the rows of `array` do not have as many entries as the arms."""
    if array.shape[1] != arms.shape[1]:
        raise ValueError(
            f"{name} must have the dimension of arms, {arms.shape[1]}, but has {array.shape[1]}; "
            f"give both in the same coordinates"
        )


def tolerance(tol):
    """`tol` as a float in (0, 1); it is a relative duality gap."""
    if not (isinstance(tol, NUMBER) and 0 < tol < 1):
        raise ValueError(f"tol must lie in (0, 1) but is {tol}; 1e-3 certifies the value to .1 %")
    return float(tol)


def standard_deviations(sigma, n_arms):
    """`sigma`, a positive scalar or (K,) array, as a (K,) array."""
    array = np.asarray(sigma, dtype=float)
    if array.shape not in ((), (n_arms,)):
        raise ValueError(f"sigma must be a scalar or have shape ({n_arms},), one per arm, but has shape {array.shape}")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"sigma must be positive and finite but its least entry is {array.min()}; clip it from below")
    return np.ascontiguousarray(np.broadcast_to(array, (n_arms,)))


def simplex(name, weights):
    """`weights` as a (K,) array on the simplex (sum 1 within 1e-6), divided by its sum."""
    array = np.ascontiguousarray(weights, dtype=float)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty 1-D array, one entry per arm, but has shape {array.shape}")
    if not np.isfinite(array).all() or array.min() < 0:
        raise ValueError(f"{name} must be finite and non-negative but holds {array.min()}; clip and renormalise")
    if abs(array.sum() - 1) > 1e-6:
        raise ValueError(f"{name} must sum to 1 but sums to {array.sum()}; pass {name} / {name}.sum()")
    return array / array.sum()
