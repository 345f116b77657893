"""Problem of Tirinzoni and Degenne (2022), called as `instances.tied_arms`."""

from pathlib import Path

import numpy as np

from bandits_lib.problem import LinearBandit


def tied_arms() -> LinearBandit:
    """Return 50 arms of which four tie for second place and five for third: Tirinzoni and Degenne (2022), Table 1.

    The arms are e_1, ..., e_10 in R^20 and 40 drawn unit vectors whose means are at most 0.5. Theta begins with 1, four
    times 0.9 and five times 0.8, and the rest was drawn. The file beside this module has these numbers.

    Returns
    -------
    LinearBandit
        The problem with standard deviation 1, of which row 0 is best.

    Examples
    --------
    >>> tied_arms().means[:6].tolist()
    [1.0, 0.9, 0.9, 0.9, 0.9, 0.8]
    """
    rows = np.loadtxt(Path(__file__).with_suffix(".csv"), delimiter=",")
    return LinearBandit(rows[1:], theta=rows[0])
