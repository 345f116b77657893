"""Check arguments before any pull; a ValueError names the argument, the rule that it breaks, its value and a remedy."""

import numpy as np

from bandits_lib.numerics.span import RANK_TOL, basis, outside

LARGEST = 1e100  # largest entry of a vector, and the inverse of the smallest: squares and their products stay finite
BLOCK = 1 << 14  # vectors checked at a time
MOST = 2**62  # pulls: counts are 64-bit integers
FAR_APART = 1e3  # ratio of the sizes of columns above which their units are checked
SHORT, HIDDEN, FAR = 0.1, 0.1, 1e-6  # thresholds of `check_ridge`


def _numbers(name, values):
    """Return values as a float array, or raise a ValueError that names the argument."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers; got {values!r}: pass one number or an array of numbers") from None


def check_matrix(name, rows):
    """Return vectors as a C-contiguous float array (n, d), whose entries are finite and can be squared."""
    try:
        rows = np.ascontiguousarray(rows, dtype=float)
    except (TypeError, ValueError) as error:
        hint = f": pass {name}.features" if hasattr(rows, "features") else ""
        raise ValueError(f"{name} must be a matrix of numbers; got {type(rows).__name__} ({error}){hint}") from None
    if rows.ndim != 2:
        raise ValueError(f"{name} must be a matrix with one row per vector; got shape {rows.shape}: reshape it")
    if rows.size == 0:
        raise ValueError(f"{name} must not be empty; got shape {rows.shape}: give at least one row and one column")
    sizes = (np.abs(rows[low : low + BLOCK]) for low in range(0, len(rows), BLOCK))
    if not all(s.max() <= LARGEST and not ((s < 1 / LARGEST) & (s > 0)).any() for s in sizes):  # NaN is not <= LARGEST
        _check_sizes(name, rows)
    return rows


def _check_sizes(name, rows):
    """Refuse an entry that is not finite and a row that cannot be squared."""
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"{name} must be finite; {name}[{i}, {j}] is {rows[i, j]}: remove or repair that row")
    longest = np.abs(rows).max(axis=1)
    extreme = (longest > LARGEST) | ((longest < 1 / LARGEST) & (longest > 0))
    if extreme.any():
        i = int(np.argmax(extreme))
        raise ValueError(f"{name} must not be too large or too small to be squared; row {i} is {rows[i]}: rescale it")


def check_arms(arms):
    """Return the arms as a float array (K, d), not all zero, in units that do not hide a dimension."""
    arms = check_matrix("arms", arms)
    check_some_nonzero("arms", arms)
    _check_units(arms)
    return arms


def _check_units(arms):
    """Refuse columns whose sizes differ so much that the rank rule sees fewer dimensions than there are."""
    columns = np.ascontiguousarray(arms.T)
    sizes = np.maximum(columns.max(axis=1), -columns.min(axis=1))
    large, small = int(np.argmax(sizes)), int(np.argmin(np.where(sizes > 0, sizes, np.inf)))
    if sizes[large] <= FAR_APART * sizes[small]:
        return
    rank, scaled = (basis(rows).shape[1] for rows in (arms, arms / np.where(sizes > 0, sizes, 1.0)))
    if rank != scaled:
        raise ValueError(
            f"arms have features in units so different that rounding errors hide what they measure (the computed rank "
            f"is {rank} instead of {scaled}): column {large} is {sizes[large] / sizes[small]:.2g} times as large as "
            f"column {small}. Divide every column of numbers by half its range (if there is a column of ones, first "
            "subtract the middle of the range), as bandits_lab.arms.read_arms does. The answers do not change"
        )


def check_some_nonzero(name, rows):
    """Refuse vectors that are all zero."""
    if not rows.any():
        raise ValueError(f"{name} must not all be zero, or there is nothing to learn: pass at least one non-zero row")


def check_same_dimension(name, rows, arms):
    """Refuse vectors with more or fewer entries than the arms."""
    if rows.shape[1] != arms.shape[1]:
        raise ValueError(
            f"{name} must have the same number of columns as the arms; got {rows.shape[1]} and {arms.shape[1]}: "
            "describe both by the same features"
        )


def check_items(items, arms, distinct=True):
    """Return the items (M, d), by default the arms, whose differences lie in the span of the arms."""
    if items is None:
        items = arms
    items = check_matrix("items", items)
    check_same_dimension("items", items, arms)
    if distinct:
        order = np.lexsort(items.T)
        same = (items[order[1:]] == items[order[:-1]]).all(axis=1)
        if same.any():
            i, j = sorted(order[int(np.argmax(same)) :][:2].tolist())
            raise ValueError(
                f"items must be distinct; rows {i} and {j} are identical, so the best item may not be unique: drop one"
            )
    if items is not arms:
        differences = items - items[0]
        check_span(differences, arms, "differences of items", np.linalg.norm(differences, axis=1).max())
    return items


def check_noisy(arms, sigma):
    """Return checked arms and the largest sigma."""
    arms = check_arms(arms)
    return arms, check_sigma(sigma, len(arms)).max()


def check_problem(arms, items, delta, sigma):
    """Return checked arms, items and delta, and the largest sigma, of a rule with fixed confidence."""
    arms = check_arms(arms)
    items = check_items(items, arms)
    return arms, items, check_delta(delta), check_sigma(sigma, len(arms)).max()


def check_span(directions, arms, name, scale=None):
    """Refuse directions (n, d) outside the span of the arms, up to RANK_TOL times `scale`, by default their lengths."""
    axes = basis(arms)
    scale = np.linalg.norm(directions, axis=1) if scale is None else np.full(len(directions), scale)
    distance = outside(directions, axes)
    worst = int(np.argmax(distance - RANK_TOL * scale))
    if distance[worst] > RANK_TOL * scale[worst]:
        raise ValueError(
            f"{name} must lie in the span of the arms (dimension {axes.shape[1]}); row {worst} is "
            f"{distance[worst]:.3g} away from it and cannot be estimated: add arms or drop that item"
        )


def check_ridge(arms, ridge, name="ridge"):
    """Refuse arms whose rewards a ridge would hide, because the ridge would then decide which arm is best."""
    # A hidden arm is the only one that measures some direction, and is at most a tenth as long as the longest arm. In
    # addition, either one pull of it adds at most a tenth of the ridge to A, or it is at most a millionth as long as
    # the longest arm, so that one pull of it adds less than the rounding errors of the other arms.
    lengths = np.linalg.norm(arms, axis=1)
    relative = lengths / lengths.max()
    short = (relative <= SHORT * (1 + 1e-9)) & ((lengths**2 <= HIDDEN * ridge) | (relative <= FAR))
    hidden = np.flatnonzero(short & (outside(arms, basis(arms[~short])) > RANK_TOL * lengths))
    if len(hidden):
        raise ValueError(
            f"arms differ too much in length for a rule with a ridge: {name} = {ridge:.3g} hides the rewards of arms "
            f"{', '.join(map(str, hidden[:5]))}, which are the only ones to measure a direction and are at most "
            f"{lengths[hidden].max():.2g} long, while the longest arm has length {lengths.max():.2g}: rescale the "
            f"coordinates so that lengths are alike, lower {name}, or use a rule without a ridge"
        )


def check_cost(cost, K):
    """Return the cost of one pull of each arm as an array (K,) of positive numbers, or None."""
    if cost is None:
        return None
    cost = _numbers("cost", cost)
    if cost.shape != (K,):
        raise ValueError(f"cost must have one number per arm ({K},); got shape {cost.shape}")
    if (wrong := ~(np.isfinite(cost) & (cost > 0))).any():
        raise ValueError(f"cost must be positive and finite; got {cost[wrong][0]} for arm {int(np.argmax(wrong))}")
    return cost


def check_delta(delta):
    """Return the error probability as a float in (0, 1)."""
    if not isinstance(delta, int | float | np.number) or not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1 (the allowed error probability); got {delta!r}")
    return float(delta)


def check_sigma(sigma, K, name="sigma", zero=False):
    """Return a new array (K,) of standard deviations from one number or one per arm; `zero` allows 0."""
    sigma = _numbers(name, sigma)
    if sigma.shape not in ((), (K,)):
        raise ValueError(f"{name} must be one standard deviation or one per arm ({K},); got shape {sigma.shape}")
    wrong = ~(sigma <= LARGEST) | (sigma < 0) | ((sigma == 0) & (not zero))
    if wrong.any():
        allowed = f"positive, and at most {LARGEST:g}" if LARGEST < sigma[wrong][0] < np.inf else "positive and finite"
        raise ValueError(f"{name} must be {allowed} (a standard deviation); got {sigma[wrong][0]}")
    return np.full(K, sigma) if sigma.ndim == 0 else sigma.copy()


def check_theta(name, theta, d):
    """Return a parameter as a float array of d finite numbers."""
    theta = np.asarray(theta, dtype=float)
    if theta.shape != (d,) or not np.isfinite(theta).all():
        raise ValueError(f"{name} must be {d} finite numbers, one per column of items; got {theta}")
    return theta


def check_budget(budget, least, why, name="budget"):
    """Return a whole number of pulls from `least` to 2^62 as an int; `why` explains the smallest number."""
    number = isinstance(budget, int | float | np.integer | np.floating) and not isinstance(budget, bool)
    if not number or budget % 1 or not least <= budget <= MOST:
        hint = ": raise it" if number and budget < least else ": lower it" if number and budget > MOST else ""
        raise ValueError(f"{name} must be a whole number of pulls, at least {least} here ({why}); got {budget}{hint}")
    return int(budget)


def check_dimension(name, value, least):
    """Refuse a value that is not an integer of at least `least`."""
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or value % 1 or not value >= least:  # nan % 1 is nan, which is true
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}")


def check_positive(name, value):
    """Return a positive, finite float."""
    if not (isinstance(value, int | float | np.number | np.ndarray) and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite; got {value!r}")
    return float(value)


def check_option(name, value, options):
    """Return a value that is one of the options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return value


def check_tolerance(tol):
    """Return a relative duality gap as a float in (0, 1)."""
    if not isinstance(tol, int | float | np.number) or not 0 < tol < 1:
        raise ValueError(f"tol must lie in (0, 1); got {tol!r}: 1e-3 certifies the value to 0.1 %")
    return float(tol)


def check_weights(weights):
    """Return non-negative shares of pulls (K,), divided by their sum, which must be 1 to six digits."""
    weights = np.ascontiguousarray(weights, dtype=float)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"weights must be a non-empty 1-D array, one entry per arm; got shape {weights.shape}")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(f"weights must be finite and non-negative; got {weights.min()}: clip and renormalise")
    if abs(weights.sum() - 1) > 1e-6:
        raise ValueError(f"weights must sum to 1; got {weights.sum()}: pass weights / weights.sum()")
    return weights / weights.sum()
