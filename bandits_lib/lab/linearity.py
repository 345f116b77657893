"""At the end of an experiment, what its measurements say of linearity, on which every promise of a rule rests.

The lack-of-fit test of `diagnose`, at the level LEVEL, and only where linearity is an assumption: more arms than
dimensions, and a rule that was told sigma. Where as many arms were pulled as there are dimensions, a linear fit goes
through all means whatever they are, and that is said.
"""

import numpy as np

from bandits_lib.lab.diagnose import diagnose
from bandits_lib.lab.lack_of_fit import in_units
from bandits_lib.numerics.span import basis
from bandits_lib.protocol import total

LEVEL = 1e-3  # probability of a warning where rewards are linear and their noise is Gaussian
WAY = "With floor=0.1 the rules that take a design give every arm a share"


class LinearityWarning(UserWarning):
    """The measurements contradict a linear model, or could not have contradicted it.

    Parameters
    ----------
    message : str
        Which of the two, and what to do.

    Notes
    -----
    Once, when the algorithm is done, from rules that were told sigma, where there are more arms than dimensions.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", LinearityWarning)
    """

    def __init__(self, message):
        super().__init__(message)


def message(experiment, log):
    """What to warn of at the end of an experiment, or an empty text."""
    arms = np.asarray(experiment.arguments.get("arms", []), dtype=float)
    if "sigma" not in experiment.arguments or arms.ndim != 2 or not log:
        return ""
    if len(np.unique(arms, axis=0)) <= basis(in_units(arms)).shape[1]:
        return ""
    sigma = np.asarray(experiment.arguments["sigma"], dtype=float)
    found = diagnose(arms, total(log), sigma if sigma.ndim else None, level=LEVEL)
    if found.df == 0:
        measured = int(np.count_nonzero(found.table["pulls"]))
        return (
            "whether rewards are linear in the features cannot be seen: a linear fit goes through the means of "
            f"{measured} arms, as many as were measured, whatever they are. The answer is as sure as that assumption. "
            f"{WAY}"
        )
    if found.p_value < LEVEL:
        return (
            "rewards are not linear in the features: the means of the arms differ from a linear fit by more than "
            f"their noise (lack-of-fit test, p = {found.p_value:.2g}). The answer rests on a model that is wrong. "
            "`diagnose(arms, total(lab.log), sigma)` says which arms are off; squares or products among the features, "
            "or np.eye(K) for arms, mend it"
        )
    return ""
