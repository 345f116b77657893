"""Here a design that misses its tolerance, which is a warning, is an error."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def failures_are_loud():
    """A design that misses its tolerance warns; here that is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
