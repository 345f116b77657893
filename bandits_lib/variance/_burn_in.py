"""How long HEAD must run before its variances can replace the true ones in H-RAGE (weltz2023, appendix D).

H-RAGE needs sigma_x^2 <= 3/2 sigma_hat_x^2 for all arms, with probability 1 - delta / 2 (Lemma E.1). Appendix D.2
bounds every |sigma_hat_x^2 - sigma_x^2| after Gamma pulls by A + B + C, L = log(12 |X| / delta), S = 1 + 6 epsilon:
    A = 4 S d L sigma_max^2 / Gamma,    B = sigma_max^2 sqrt(128 S d^2 L / Gamma),
    C = 4 S sigma_max^2 sqrt(40 d^3 L (d log 6 + L)) / Gamma.
Departures:
- L is in all three terms, as all arms at once need it; C is doubled (its last display forgets a 2).
- A + B + C <= sigma_min^2 / 2 is enough for clipped estimates; without clipping it would take sigma_min^2 / 3.
- The other branch of B's maximum, 16 S d^2 L sigma_max^2 / Gamma, is larger only below 2 S d^2 L pulls.
"""

from math import ceil, log, sqrt

from bandits_lib.checks import check_delta, check_option
from bandits_lib.variance.quadratic import check_bounds

FORMS = ("theory", "printed", "paper", "code")
SLACK = 1 + 6 / 60  # 1 + 6 epsilon, for rounding, as in the published code
PER_ATOM = 21  # pulls of a stage per atom of its design: rounding and a certificate of .1 % then lose less than SLACK


def burn_in(form: str, *, K: int, d: int, sigma_min: float, sigma_max: float, delta: float) -> int:
    """Return the pulls after which sigma_x^2 is at most 3/2 of its clipped estimate, for all arms (weltz2023, Alg. 2).

    Parameters
    ----------
    form : {"theory", "printed", "paper", "code"}
        What is taken from appendix D.2, see Notes.
    K, d : int
        Number and dimension of the arms.
    sigma_min, sigma_max : float
        Bounds on the standard deviations of the arms; kappa = (sigma_max / sigma_min)^2.
    delta : float
        Error probability allowed, in (0, 1).

    Returns
    -------
    int
        Number of pulls.

    Raises
    ------
    ValueError
        For bad input, and for an unknown form.

    Notes
    -----
    - "theory" solves kappa (A + B + C) = sigma_max^2 / 2, corrected; the shortest of the three that are proved.
    - "printed" has the last bound of the proof: 4 * 784 (1 + 6 epsilon) kappa^2 d^2 log(12 K / delta).
    - "paper" has the constant that the appendix ends with: 4 * 2000 (1 + 6 epsilon) kappa^2 d^2 log(K / delta).
    - "code" is the published code's, 4 * 256 (1 + 6 epsilon) kappa^2 d^2 log(12 / delta), cut to an integer. It is
      proved for clipped estimates and up to 190, 174 and 167 arms in the paper's experiments.

    Epsilon, the slack for rounding, is 1 / 60, as in the code.

    Examples
    --------
    >>> told = {"K": 9, "d": 4, "sigma_min": 1.0, "sigma_max": 2.5, "delta": 0.05}
    >>> [burn_in(form, **told) for form in ("theory", "printed", "paper", "code")]
    [2765049, 16553474, 28561263, 3858369]
    """
    check_option("form", form, FORMS)
    delta, (low, high) = check_delta(delta), check_bounds(sigma_min, sigma_max)
    kappa, scale = (high / low) ** 2, 4 * SLACK * (high / low) ** 4 * d**2
    if form == "code":
        return int(256 * scale * log(12 / delta))
    if form == "theory":
        root, linear = _terms(K, d, delta)
        solved = ceil((kappa * (sqrt(root) + sqrt(root + 2 * linear / kappa))) ** 2)
        M = d * (d + 1) // 2
        return max(solved, 2 * PER_ATOM * min(K, M * (M + 1) // 2))  # the most atoms of a design of the phi's
    return ceil(784 * scale * log(12 * K / delta) if form == "printed" else 2000 * scale * log(K / delta))


def error(pulls, *, K, d, delta):
    """A + B + C of appendix D.2 after so many pulls, corrected, as a multiple of sigma_max^2."""
    L = log(12 * K / delta)
    root, linear = _terms(K, d, delta)
    return max(sqrt(root / pulls), 16 * SLACK * d**2 * L / pulls) + linear / pulls


def _terms(K, d, delta):
    """B = sqrt(root / n) and A + C = linear / n after n pulls, over sigma_max^2."""
    L = log(12 * K / delta)
    return 128 * SLACK * d**2 * L, 4 * SLACK * (d * L + sqrt(40 * d**3 * L * (d * log(6) + L)))
