"""Kraft's SLSQP of 1988, whose arithmetic is the same on all processors: it has its own linear algebra."""

import os
import sys
import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np


@cache
def is_here():
    """Whether PySLSQP is installed; it has no wheels for systems other than Linux on x86-64."""
    return find_spec("pyslsqp") is not None


@cache
def _optimize():
    """PySLSQP's function; matplotlib is hidden from its import, which would choose a window for all figures."""
    hidden = sys.modules.get("matplotlib")
    sys.modules["matplotlib"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pyslsqp import optimize
    finally:
        del sys.modules["matplotlib"]
        if hidden is not None:
            sys.modules["matplotlib"] = hidden
    return optimize


def last_point(start, objective, gradient, constraint, jacobian):
    """SLSQP's last iterate (n,) for min objective, constraint = 0, x >= 0, by its defaults, solution or not.

    Parameters
    ----------
    start : (n,) ndarray
        The first point.
    objective, gradient, constraint : callable
        Functions of x (n,): a float, (n,) and (m,) ndarrays.
    jacobian : (m, n) ndarray
        Of a linear constraint.

    Returns
    -------
    (n,) ndarray
    """
    functions = {"obj": objective, "grad": gradient, "con": constraint, "jac": lambda x: jacobian}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points clipped to the bounds
        silent = {"iprint": 0, "summary_filename": os.devnull}
        return _optimize()(np.array(start), **functions, meq=len(jacobian), xl=0.0, **silent)["x"]
