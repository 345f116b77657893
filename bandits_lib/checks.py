"""What bad input gets: a ValueError that names the argument, the rule, the value and the way out, before any pull."""

import numpy as np

from bandits_lib.numerics.span import RANK_TOL, basis, outside

LARGEST = 1e100  # entry of a vector, and the inverse of the least: squares and their products are then finite
BLOCK = 1 << 14  # vectors looked at at a time
MOST = 2**62  # pulls: counts are 64-bit integers
FAR_APART = 1e3  # ratio of the sizes of columns above which their units are looked at
SHORT, HIDDEN, FAR = 0.1, 0.1, 1e-6  # of `check_ridge`


def check_matrix(name, rows):
    """Vectors as a C-contiguous float array (n, d), n, d >= 1, all entries finite and of a size that can be squared.

    Parameters
    ----------
    name : str
        What the vectors are called in the message.
    rows : (n, d) array_like
        Vectors, one per row.

    Returns
    -------
    (n, d) float array
        The vectors.

    Raises
    ------
    ValueError
        For anything else: another shape, no entry, one that is not finite, or a row whose largest entry is beyond 1e100
        in size, or below 1e-100 and not 0.
    """
    rows = np.ascontiguousarray(rows, dtype=float)
    if rows.ndim != 2:
        raise ValueError(f"{name} must be a matrix with one row per vector; got shape {rows.shape}: reshape it")
    if rows.size == 0:
        raise ValueError(f"{name} must not be empty; got shape {rows.shape}: give at least one row and one column")
    if not all(_ordinary(rows[low : low + BLOCK]) for low in range(0, len(rows), BLOCK)):
        _check_sizes(name, rows)
    return rows


def _ordinary(rows):
    """Whether every entry is 0 or of a size between 1e-100 and 1e100."""
    sizes = np.abs(rows)
    return sizes.max() <= LARGEST and not ((sizes < 1 / LARGEST) & (sizes > 0)).any()  # NaN is not <= LARGEST


def _check_sizes(name, rows):
    """Refuse an entry that is not finite and a row that cannot be squared."""
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"{name} must be finite; {name}[{i}, {j}] is {rows[i, j]}: remove or repair that row")
    longest = np.abs(rows).max(axis=1)
    extreme = (longest > LARGEST) | ((longest < 1 / LARGEST) & (longest > 0))
    if extreme.any():
        i = int(np.argmax(extreme))
        raise ValueError(f"{name} must hold numbers that can be squared; row {i} is {rows[i]}: rescale it")


def check_arms(arms):
    """The `arms` as a float array (K, d), at least one of them non-zero.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row.

    Returns
    -------
    (K, d) float array
        The arms.

    Raises
    ------
    ValueError
        As `check_matrix`, if all arms are zero, and if the features are in units so different that rounding errors hide
        a dimension: the rank would be another if every column were divided by its largest size.
    """
    arms = check_matrix("arms", arms)
    check_some_nonzero("arms", arms)
    _check_units(arms)
    return arms


def _check_units(arms):
    """Refuse columns whose sizes are so far apart that the rank rule sees fewer dimensions than there are."""
    sizes = np.maximum(arms.max(axis=0), -arms.min(axis=0))
    large, small = int(np.argmax(sizes)), int(np.argmin(np.where(sizes > 0, sizes, np.inf)))
    if sizes[large] <= FAR_APART * sizes[small]:
        return
    rank, scaled = (basis(rows).shape[1] for rows in (arms, arms / np.where(sizes > 0, sizes, 1.0)))
    if rank != scaled:
        raise ValueError(
            f"arms have features in units so different that rounding errors hide what they measure (rank {rank} of "
            f"{scaled}): column {large} is {sizes[large] / sizes[small]:.2g} times as large as column {small}. Take "
            "from every column of numbers its middle, if there is a column of ones, and divide by half its range, as "
            "lab.arms.read_arms does; answers do not change by that"
        )


def check_some_nonzero(name, rows):
    """Refuse vectors that are all zero.

    Parameters
    ----------
    name : str
        What the vectors are called in the message.
    rows : (n, d) float array
        Vectors, one per row.

    Raises
    ------
    ValueError
        If every entry is 0.
    """
    if not rows.any():
        raise ValueError(f"{name} must not all be zero: nothing could be learnt from their rewards")


def check_same_dimension(name, rows, arms):
    """Refuse vectors with more or fewer entries than the arms.

    Parameters
    ----------
    name : str
        What the vectors are called in the message.
    rows : (n, d') float array
        Vectors, one per row.
    arms : (K, d) float array
        Arms, one per row.

    Raises
    ------
    ValueError
        If d' is not d.
    """
    if rows.shape[1] != arms.shape[1]:
        raise ValueError(f"{name} must have as many columns as arms; got {rows.shape[1]} and {arms.shape[1]}")


def check_items(items, arms, distinct=True):
    """The `items` as a float array (M, d), default the arms, whose differences lie in the span of the arms.

    Parameters
    ----------
    items : (M, d) array_like or None
        Items, one per row; None for the arms.
    arms : (K, d) float array
        Arms, checked.
    distinct : bool, default True
        Whether to refuse identical rows, which have no unique best item (fixed confidence).

    Returns
    -------
    (M, d) float array
        The items.

    Raises
    ------
    ValueError
        As `check_matrix`, if the items have another dimension than the arms, if two of them are identical, or if a
        difference is outside the span; it says which rows, and the way out.
    """
    if items is None:
        items = arms
    items = check_matrix("items", items)
    check_same_dimension("items", items, arms)
    if distinct and len(items) > 1:
        check_distinct(items)
    if items is not arms:
        differences = items - items[0]
        check_span(differences, arms, "differences of items", np.linalg.norm(differences, axis=1).max())
    return items


def check_distinct(items):
    """Refuse identical rows: no rule with fixed confidence can tell them apart.

    Parameters
    ----------
    items : (M, d) float array
        Items, one per row.

    Raises
    ------
    ValueError
        If two rows are identical; it names them.
    """
    order = np.lexsort(items.T)
    same = (items[order[1:]] == items[order[:-1]]).all(axis=1)
    if same.any():
        first = int(np.argmax(same))
        i, j = sorted((int(order[first]), int(order[first + 1])))
        raise ValueError(f"items must be distinct; rows {i} and {j} are identical, so no best item is unique: drop one")


def check_span(directions, arms, name, scale=None):
    """Refuse directions outside the span of the arms: their values cannot be estimated.

    Parameters
    ----------
    directions : (n, d) float array
        Directions, one per row.
    arms : (K, d) float array
        Arms, one per row.
    name : str
        What the directions are called in the message.
    scale : float, optional
        What a distance from the span is compared with (RANK_TOL of it is rounding errors), by default each direction's
        own length.

    Raises
    ------
    ValueError
        If a direction is outside; it names the worst.
    """
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
    """Refuse arms whose values a ridge would keep near 0 whatever their rewards, so that the ridge names the best.

    Parameters
    ----------
    arms : (K, d) float array
        Arms, one per row.
    ridge : float
        The lambda of A = lambda I + sum xx'.
    name : str, default "ridge"
        What sets the ridge, in the message.

    Raises
    ------
    ValueError
        If there are such arms; it names them.

    Notes
    -----
    These arms alone measure a direction, are at most a tenth as long as the longest arm, and one pull of them adds at
    most a tenth of the ridge to A, or less than rounding errors of the others' (a millionth of the longest).
    """
    lengths = np.linalg.norm(arms, axis=1)
    relative = lengths / lengths.max()
    short = (relative <= SHORT * (1 + 1e-9)) & ((lengths**2 <= HIDDEN * ridge) | (relative <= FAR))
    hidden = np.flatnonzero(short & (outside(arms, basis(arms[~short])) > RANK_TOL * lengths))
    if len(hidden):
        raise ValueError(
            f"arms must not differ so much in length beside a ridge: {name} = {ridge:.3g} hides the rewards of arms "
            f"{', '.join(map(str, hidden[:5]))}, which alone measure a direction and are at most "
            f"{lengths[hidden].max():.2g} long, where the longest is {lengths.max():.2g}: rescale the coordinates so "
            f"that lengths are alike, lower {name}, or take a rule without a ridge"
        )


def check_told(asked, sample, arms, directions):
    """Whether a sample has the counts asked for; refuse another, out of a log, that leaves a direction unmeasured.

    Parameters
    ----------
    asked : (K,) int array
        Pulls of each arm that the rule computed.
    sample : Sample
        What came.
    arms : (K, d) float array
        Arms, one per row.
    directions : (n, d) float array
        Directions that the rule estimates from the sample.

    Returns
    -------
    bool
        True if the counts are those asked for.

    Raises
    ------
    ValueError
        If the counts differ and the arms pulled do not span the directions.
    """
    if np.array_equal(asked, sample.counts):
        return True
    pulled = np.flatnonzero(sample.counts)
    told = f"{sample.counts.sum()} pulls of arms {', '.join(map(str, pulled[:5]))}{', ...' if len(pulled) > 5 else ''}"
    try:
        check_span(directions, arms[pulled] if len(pulled) else np.zeros((1, arms.shape[1])), "what is compared")
    except ValueError as error:
        raise ValueError(f"{told} are not what this rule asks for here and cannot stand in for it: {error}") from None
    return False


def check_delta(delta):
    """The error probability allowed, `delta`, as a float in (0, 1).

    Parameters
    ----------
    delta : float
        Error probability allowed.

    Returns
    -------
    float
        The probability.

    Raises
    ------
    ValueError
        For anything that is not a number strictly between 0 and 1.
    """
    if not isinstance(delta, int | float | np.number) or not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1 (error probability allowed); got {delta!r}")
    return float(delta)


def check_sigma(sigma, K, name="sigma", zero=False):
    """The noise as a float array (K,), from one standard deviation or one per arm.

    Parameters
    ----------
    sigma : float or (K,) array_like
        Noise: one standard deviation for all arms, or one per arm.
    K : int
        Number of arms.
    name : str, default "sigma"
        What the noise is called in the message.
    zero : bool, default False
        Whether 0 is admitted.

    Returns
    -------
    (K,) float array
        A new array, one standard deviation per arm.

    Raises
    ------
    ValueError
        For another shape, and for what is negative, not finite, or 0 where that is not admitted.
    """
    sigma = np.asarray(sigma, dtype=float)
    if sigma.shape not in ((), (K,)):
        raise ValueError(f"{name} must be one standard deviation or one per arm ({K},); got shape {sigma.shape}")
    wrong = ~np.isfinite(sigma) | (sigma < 0) | ((sigma == 0) & (not zero))
    if wrong.any():
        raise ValueError(f"{name} must be positive and finite (a standard deviation); got {sigma[wrong][0]}")
    return np.full(K, sigma) if sigma.ndim == 0 else sigma.copy()


def check_theta(name, theta, d):
    """A parameter as a float array of `d` finite numbers.

    Parameters
    ----------
    name : str
        What the parameter is called in the message.
    theta : (d,) array_like
        The parameter.
    d : int
        Number of its entries.

    Returns
    -------
    (d,) float array
        The parameter.

    Raises
    ------
    ValueError
        For another shape, or an entry that is not finite.
    """
    theta = np.asarray(theta, dtype=float)
    if theta.shape != (d,) or not np.isfinite(theta).all():
        raise ValueError(f"{name} must be {d} finite numbers, one per column of items; got {theta}")
    return theta


def check_budget(budget, least, why, name="budget"):
    """A whole number of pulls as an int.

    Parameters
    ----------
    budget : int
        Number of pulls; a float without fraction will do.
    least : int
        The smallest number of pulls that runs.
    why : str
        Why it is the smallest, for the message.
    name : str, default "budget"
        What the number is called in the message.

    Returns
    -------
    int
        The number of pulls.

    Raises
    ------
    ValueError
        For a fraction, what is no number, fewer pulls than `least` or more than 2^62.
    """
    number = isinstance(budget, int | float | np.integer | np.floating) and not isinstance(budget, bool)
    if not number or budget % 1 or not least <= budget <= MOST:
        raise ValueError(
            f"{name} must be a whole number of pulls, at least {least} here ({why}); got {budget}: raise it"
        )
    return int(budget)


def check_dimension(name, value, least):
    """Refuse a `value` that is not an integer of at least `least`.

    Parameters
    ----------
    name : str
        What the value is called in the message.
    value : int
        The value; a float without fraction will do.
    least : int
        The smallest value admitted.

    Raises
    ------
    ValueError
        For a fraction, or a value below `least`.
    """
    if int(value) != value or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value}")


def check_positive(name, value):
    """A `value` as a positive, finite float.

    Parameters
    ----------
    name : str
        What the value is called in the message.
    value : float
        The value.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ValueError
        If it is not positive or not finite.
    """
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite; got {value}")
    return float(value)


def check_option(name, value, options):
    """A `value`, one of the `options`.

    Parameters
    ----------
    name : str
        What the value is called in the message.
    value : object
        The value.
    options : sequence
        Values admitted.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ValueError
        If it is none of the options; it lists them.
    """
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return value


def check_tolerance(tol):
    """A relative duality gap, `tol`, as a float in (0, 1).

    Parameters
    ----------
    tol : float
        Relative gap.

    Returns
    -------
    float
        The gap.

    Raises
    ------
    ValueError
        For anything that is not a number strictly between 0 and 1.
    """
    if not isinstance(tol, int | float | np.number) or not 0 < tol < 1:
        raise ValueError(f"tol must lie in (0, 1); got {tol!r}: 1e-3 certifies the value to .1 %")
    return float(tol)


def check_weights(weights):
    """Shares of pulls, (K,) and non-negative, divided by their sum, which is 1 to six digits.

    Parameters
    ----------
    weights : (K,) array_like
        Shares of the pulls.

    Returns
    -------
    (K,) float array
        The shares, of sum 1.

    Raises
    ------
    ValueError
        For another shape, an entry that is negative or not finite, or a sum further than 1e-6 from 1.
    """
    weights = np.ascontiguousarray(weights, dtype=float)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"weights must be a non-empty 1-D array, one entry per arm; got shape {weights.shape}")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(f"weights must be finite and non-negative; got {weights.min()}: clip and renormalise")
    if abs(weights.sum() - 1) > 1e-6:
        raise ValueError(f"weights must sum to 1; got {weights.sum()}: pass weights / weights.sum()")
    return weights / weights.sum()
