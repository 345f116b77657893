"""What the compiled loops share, against plain numpy."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from bandits_lib.numerics.kernels import along_all, invert, kernel, largest, times

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(7, 7))


def test_products():
    columns, product, products = RNG.normal(size=(7, 11)), np.empty(7), np.empty(11)
    times(MATRIX, columns, 4, product)
    np.testing.assert_allclose(product, MATRIX @ columns[:, 4], rtol=1e-13)
    along_all(columns, product, products)
    np.testing.assert_allclose(products, columns.T @ product, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_largest(n):
    values = -1 - RNG.random(n)
    assert largest(values) == values.max()


@pytest.mark.parametrize("spread", [1, 1e4, 1e8, 1e12])
def test_invert_errs_by_the_condition_number(spread):
    information = np.eye(7) + (MATRIX * np.geomspace(1, spread, 7)) @ MATRIX.T
    inverse, expected = information.copy(), np.linalg.inv(information)
    logdet = invert(inverse)
    error = 10 * np.finfo(float).eps * np.linalg.cond(information)
    np.testing.assert_allclose(inverse, expected, rtol=0, atol=error * np.abs(expected).max())
    assert logdet == pytest.approx(np.linalg.slogdet(information)[1], abs=error)


def test_a_kernel_cannot_make_arrays():
    def wasteful(values):
        return values.copy()

    assert njit(wasteful)(np.zeros(2)).shape == (2,)
    with pytest.raises(NumbaError):
        kernel(wasteful, cache=False)(np.zeros(2))
