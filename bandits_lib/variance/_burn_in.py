"""How long HEAD must run before its variances can replace the true ones in H-RAGE (weltz2023, appendix D).

H-RAGE needs sigma_x^2 <= 3/2 sigma_hat_x^2 for all arms, with probability 1 - delta / 2 (the event of Lemma E.1).
Appendix D.2 bounds every |sigma_hat_x^2 - sigma_x^2| by A + B + C; with L = log(12 |X| / delta) in all three terms, as
all arms at once need it, S = 1 + 6 epsilon for rounding, and C doubled (its last display forgets the 2 of its
definition), for Gamma pulls

    A = 4 S d L sigma_max^2 / Gamma,    B = sigma_max^2 sqrt(128 S d^2 L / Gamma),
    C = 4 S sigma_max^2 sqrt(40 d^3 L (d log 6 + L)) / Gamma.

A + B + C <= sigma_min^2 / 2 is enough: the estimates are clipped at sigma_min^2 from below, so that sigma_x^2 exceeds
none of them by more than half of it. Without clipping it would take A + B + C <= sigma_min^2 / 3.
The other branch of B's maximum, 16 S d^2 L sigma_max^2 / Gamma, is the larger one only below 2 S d^2 L pulls.
"""

from math import ceil, log, sqrt

from bandits_lib.checks import check_delta, check_option
from bandits_lib.variance.quadratic import check_bounds

FORMS = ("theory", "printed", "paper", "code")
SLACK = 1 + 6 / 60  # 1 + 6 epsilon, for rounding, as in the published code
PER_ATOM = 21  # pulls of a stage per atom of its design: rounding and a certificate of .1 % then lose less than SLACK


def burn_in(form, *, K, d, sigma_min, sigma_max, delta):
    """Pulls after which every sigma_x^2 lies between 1/2 and 3/2 of its clipped estimate (weltz2023, Algorithm 2).

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
    - "theory" solves kappa (A + B + C) = sigma_max^2 / 2 with the three terms of appendix D.2, corrected; never less
      than what lets both stages be rounded with the slack that the terms assume. It is the shortest of the three that
      are proved.
    - "printed" has the last bound of the proof, 7 sigma_max sqrt(16 ...), in place of the three terms:
      4 * 784 (1 + 6 epsilon) kappa^2 d^2 log(12 K / delta), six times as long.
    - "paper" has the constant that the appendix ends with, C' = 2,000 (1 + 6 epsilon), with log(K / delta):
      4 C' kappa^2 d^2 log(K / delta), which is above "printed" for K / delta above 5.
    - "code" is the published code's, 4 * 256 (1 + 6 epsilon) kappa^2 d^2 log(12 / delta), cut to an integer. It has no
      K: the three terms prove it up to some number of arms (190, 174 and 167 in the paper's experiments). That holds
      for estimates that are clipped; the published code does not clip, and for it 1/3 stands in the place of 1/2.

    Epsilon, the slack for rounding, is 1 / 60, as in the code.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Algorithm 2 and appendix D.2.

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
        return max(_solved(K, d, kappa, delta), 2 * PER_ATOM * _atoms(K, d))
    return ceil(784 * scale * log(12 * K / delta) if form == "printed" else 2000 * scale * log(K / delta))


def error(pulls, *, K, d, delta):
    """A + B + C of appendix D.2 after so many pulls, corrected, as a multiple of sigma_max^2."""
    L = log(12 * K / delta)
    root, linear = _terms(K, d, delta)
    return max(sqrt(root / pulls), 16 * SLACK * d**2 * L / pulls) + linear / pulls


def _solved(K, d, kappa, delta):
    """The pulls n that solve kappa (sqrt(root / n) + linear / n) = 1/2."""
    root, linear = _terms(K, d, delta)
    return ceil((kappa * (sqrt(root) + sqrt(root + 2 * linear / kappa))) ** 2)


def _terms(K, d, delta):
    """B = sqrt(root / n) and A + C = linear / n after n pulls, over sigma_max^2."""
    L = log(12 * K / delta)
    return 128 * SLACK * d**2 * L, 4 * SLACK * (d * L + sqrt(40 * d**3 * L * (d * log(6) + L)))


def _atoms(K, d):
    """The most atoms that the design of the phi's can have."""
    M = d * (d + 1) // 2
    return min(K, M * (M + 1) // 2)
