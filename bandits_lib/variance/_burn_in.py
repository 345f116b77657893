"""How long HEAD must run before its variances can replace the true ones in H-RAGE (weltz2023, appendix D).

Appendix D.2: for more than 16 L d^2 (1 + 6 epsilon) pulls, every |sigma_hat^2 - sigma^2| is at most
7 sigma_max^2 sqrt(16 L d^2 (1 + 6 epsilon) / Gamma), L = log(12 |X| / delta), with probability at least 1 - delta / 2
(the paper has a sigma_max^2 in the condition, which is a slip of scale). Since 49 * 16 = 784, the error relative to
sigma_min^2 is sqrt(784 (1 + 6 epsilon) kappa^2 d^2 L / Gamma), and H-RAGE asks for at most 1/2.
"""

from math import ceil, log

from bandits_lib.checks import check_delta, check_option
from bandits_lib.variance.quadratic import check_bounds

FORMS = ("theory", "paper", "code")
SLACK = 1 + 6 / 60  # 1 + 6 epsilon, for rounding, as in the published code


def burn_in(form, *, K, d, sigma_min, sigma_max, delta):
    """Pulls after which every sigma_x^2 lies between 1/2 and 3/2 of its estimate: Gamma = 4 C' kappa^2 d^2 log(...).

    Parameters
    ----------
    form : {"theory", "paper", "code"}
        The constants of Gamma, see Notes.
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
    - "theory" has C' = 784 (1 + 6 epsilon) with log(12 K / delta), what appendix D.2 of weltz2023 proves.
    - "paper" has its rounded C' = 2,000 (1 + 6 epsilon) with log(K / delta) (which is above "theory" for K / delta
      above 5).
    - "code" has C' = 256 (1 + 6 epsilon) with log(12 / delta), cut to an integer, as published: no theorem covers it.

    Epsilon, the slack for rounding, is 1 / 60, as in the code.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Algorithm 2 and appendix D.2.

    Examples
    --------
    >>> told = {"K": 9, "d": 4, "sigma_min": 1.0, "sigma_max": 1.0, "delta": 0.05}
    >>> [burn_in(form, **told) for form in ("theory", "paper", "code")]
    [423769, 731169, 98774]
    """
    check_option("form", form, FORMS)
    delta, (low, high) = check_delta(delta), check_bounds(sigma_min, sigma_max)
    scale = 4 * SLACK * (high / low) ** 4 * d**2
    if form == "code":
        return int(256 * scale * log(12 / delta))
    return ceil(784 * scale * log(12 * K / delta) if form == "theory" else 2000 * scale * log(K / delta))
