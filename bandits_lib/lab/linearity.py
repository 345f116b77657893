"""At the end of an experiment, what its measurements say of linearity, on which every promise of a rule rests.

The lack-of-fit test of `diagnose`, at the level LEVEL, where linearity is an assumption: more different arms than
dimensions, and a rule that promises something and fits a line. F takes the noise of all arms for the same, but a sigma
may be a bound that some arms stay far below: the test is made once more with each arm's own replicates, and both must
refuse. Without replicates that differ, the promised sigma takes their place. It bounds the noise, so L / sigma^2 is at
most chi-square.

Arms that were never measured, and those through whose means the fit goes whatever they are (leverage 1), may differ
from the model by anything, and no test sees it: they are named. Optimal designs leave such arms in most experiments.
So are, where the answer is an arm, those of which a departure by TWICE what they are behind would be found with a
probability below .8 (`visible` of `diagnose`). In simulated experiments of which each had one arm raised above the best
by a departure of 1.3 or 2 times what it was behind, up to 22 % were wrong without a word before that, and below 1 %
with it, at floors of .1 and .3.
"""

import numpy as np
from scipy import stats

from bandits_lib.lab.diagnose import diagnose
from bandits_lib.lab.lack_of_fit import BLURRED, fit, in_units
from bandits_lib.lab.replicates import within
from bandits_lib.numerics.span import basis
from bandits_lib.protocol import Sample, total

LEVEL = 1e-3  # probability of a warning where rewards are linear and their noise is Gaussian
DIGITS = 9  # arms that agree to so many, in units of the largest, are one
LISTED = 6
TWICE = 2.0
WAY = "With floor=0.1, or more, the rules that take a design give every arm a share"


class LinearityWarning(UserWarning):
    """The measurements contradict a linear model, or could not have contradicted it.

    Parameters
    ----------
    message : str
        Which of the two, and what to do.

    Notes
    -----
    Once, when the algorithm is done, from rules that rank by a linear fit, where there are more arms than dimensions.
    A departure that is small beside the noise is not seen either: `diagnose` says for each arm what would be.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", LinearityWarning)
    """

    def __init__(self, message):
        super().__init__(message)


def message(experiment, log, result=None):
    """What to warn of at the end of an experiment, with its `Result`, or an empty text."""
    arms = _arms(experiment.arguments, experiment.rule)
    if not log or arms is None or arms.shape[0] != len(log[0].counts) or not arms.any():
        return ""
    if not np.isfinite(total(log)).all():
        return ""
    kinds, kind = np.unique(np.round(in_units(arms), DIGITS), axis=0, return_inverse=True)
    if len(kinds) <= basis(kinds).shape[1]:
        return ""
    p_value, found = _tested(arms, log, experiment.arguments.get("sigma"))
    if p_value < LEVEL:
        return (
            "rewards are not linear in the features: the means of the arms differ from a linear fit by more than "
            f"their noise (lack-of-fit test, p = {p_value:.2g}). The answer rests on a model that is wrong. "
            "`diagnose(arms, total(lab.log), sigma)` says which arms are off; squares or products among the features, "
            "or np.eye(K) for arms, mend it"
        )
    is_arm = experiment.arguments.get("items") is None and isinstance(
        getattr(result, "recommendation", None), int | np.integer
    )
    return _unseen(kinds, kind.ravel(), total(log)) or (_hardly_seen(found, result.recommendation) if is_arm else "")


def _arms(told, rule):
    """The arms (K, d) of a rule that promises something and fits a line; None for others."""
    try:
        arms = np.asarray(told.get("arms", []), dtype=float)
        np.asarray(told.get("sigma", 1.0), dtype=float)
    except (TypeError, ValueError):
        return None
    promises = "sigma" in told or rule in ("h_rage", "bounded_rage")
    curved = told.get("model", "linear"), told.get("kernel", "linear"), told.get("mode", "linear")
    if not promises or arms.ndim != 2 or not np.isfinite(arms).all():
        return None
    if {"logistic", "disjoint"} & {*curved} or curved[1] != "linear":
        return None
    return arms


def _tested(arms, log, sigma):
    """The p-value of linearity, 1 without a test, and the `Diagnosis` of it if there was a test by replicates.

    The larger of those of the F test and of the test with each arm's own noise.
    """
    sample, sds = total(log), None if sigma is None else np.asarray(sigma, dtype=float)
    found = diagnose(arms, sample, sds if sds is not None and sds.ndim else None, level=LEVEL)
    if found.df == 0:
        return 1.0, None
    if not found.noise > 0 or _made_up(log):
        return (1.0 if sds is None else _against_sigma(arms, sample, sds.max(), found.df)), None
    if found.p_value >= LEVEL:
        return found.p_value, found
    own = diagnose(arms, sample, _own(sample, found.noise), level=LEVEL)
    return max(found.p_value, own.p_value), found


def _against_sigma(arms, sample, sigma, df):
    """The p-value of the misfit if the noise is at most sigma."""
    means, fitted = fit(in_units(arms), sample, np.full(len(arms), sigma))[:2]
    return float(stats.chi2.sf(np.nansum(sample.counts * (means - fitted) ** 2) / sigma**2, df))


def _made_up(log):
    """Whether all replicates that were told together are equal: squares computed from means, and no noise."""
    found = [within(sample) for sample in log]
    return any(f.df for f in found) and all(f.squares <= BLURRED * f.blur for f in found)


def _own(sample, noise):
    """The standard deviation of each arm's replicates, `noise` where there are none or all are equal."""
    n = np.maximum(sample.counts, 2)
    squares = np.maximum(sample.squares - sample.sums * (sample.sums / n), 0.0)
    own = np.sqrt(squares / (n - 1))
    return np.where((sample.counts > 1) & (own > 1e-6 * noise), own, noise)


def _unseen(kinds, kind, sample):
    """Which arms may differ from the model by anything; kinds : different arms, kind : (K,) which of them an arm is."""
    merged = Sample(*(np.bincount(kind, field, len(kinds)) for field in sample))
    free = fit(kinds, merged._replace(counts=merged.counts.astype(np.int64)), np.ones(len(kinds)))[3]
    blind = np.flatnonzero((free == 0)[kind])
    if not len(blind):
        return ""
    if len(blind) == len(kind):
        measured = int(np.count_nonzero(merged.counts))
        return (
            "whether rewards are linear in the features cannot be seen: a linear fit goes through the means of "
            f"{measured} arms, as many as were measured, whatever they are. The answer is as sure as that assumption. "
            f"{WAY}"
        )
    one = len(blind) == 1
    return (
        f"whether rewards are linear in the features cannot be seen for arm{_listed(blind)}: never "
        "measured, or the linear fit goes through the mean whatever it is. That "
        f"{'it is' if one else 'these are'} not the best is as sure as that assumption. {WAY}"
    )


def _hardly_seen(found, answer):
    """Arms that may be better than the answer with no more than a few times the departure that would be found."""
    if found is None:
        return ""
    behind = found.table["fitted"].to_numpy()[answer] - found.table["fitted"].to_numpy()
    behind[answer] = np.min(np.delete(behind, answer))
    faint = np.flatnonzero(found.table["visible"].to_numpy() > TWICE * np.maximum(behind, 0.0))
    if not len(faint):
        return ""
    return (
        f"whether rewards are linear in the features can hardly be seen for arm{_listed(faint)}: a departure by "
        f"{TWICE:g} times what lies between it and the answer (for the answer: the next) would be missed with a "
        "probability above 0.2, and the answer could be wrong. `diagnose(arms, total(lab.log), sigma)` says what would "
        f"be seen of each arm. {WAY}"
    )


def _listed(arms):
    more = f", ... ({len(arms)} in all)" if len(arms) > LISTED else ""
    return f"{'' if len(arms) == 1 else 's'} {', '.join(map(str, arms[:LISTED]))}{more}"
