"""What the compiled loops share, against plain numpy."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from bandits_lib.numerics.kernels import (
    add_outer,
    along_all,
    cholesky,
    inverse_from,
    inverse_of,
    invert,
    kernel,
    lowest,
    record,
    shrink,
    shrink_squares,
    squared_distance,
    squared_norms,
    times,
    times_vector,
)

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(7, 7))


def test_products():
    columns, product, products = RNG.normal(size=(7, 11)), np.empty(7), np.empty(11)
    times(MATRIX, columns, 4, product)
    np.testing.assert_allclose(product, MATRIX @ columns[:, 4], rtol=1e-13)
    along_all(columns, product, products)
    np.testing.assert_allclose(products, columns.T @ product, rtol=1e-13)
    times_vector(columns.T.copy(), product, products)
    np.testing.assert_allclose(products, columns.T @ product, rtol=1e-13)
    x, y = columns.T[:2]
    assert squared_distance(x, y, MATRIX) == pytest.approx((x - y) @ MATRIX @ (x - y))
    squared_norms(columns, MATRIX, products)
    np.testing.assert_allclose(products, np.diag(columns.T @ MATRIX @ columns), rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_sherman_and_morrison(weight):
    """The inverse after an arm of some weight, and for weight 1 the squared norms that are left."""
    columns, u, before, after = RNG.normal(size=(7, 11)), np.empty(7), np.empty(11), np.empty(11)
    information, inverse = MATRIX @ MATRIX.T + np.eye(7), np.empty((7, 7))
    inverse_of(information, inverse)
    squared_norms(columns, inverse, before)
    x = columns[:, 4].copy()
    times_vector(inverse, x, u)
    gain = 1 + weight * x @ u
    add_outer(information, x, weight)
    shrink(inverse, u, weight, gain)
    np.testing.assert_allclose(inverse, np.linalg.inv(information), rtol=1e-9, atol=1e-12)
    if weight == 1:
        squared_norms(columns, inverse, after)
        shrink_squares(before, columns.T @ u, gain)
        np.testing.assert_allclose(before, after, rtol=1e-9)


def test_a_record_is_written_by_kernels_and_by_python():
    @njit
    def pull(now):
        now.pulls += 1
        now.done = now.pulls > 2

    now = record(pulls=1, statistic=0.5, done=False)
    pull(now)
    assert (now.pulls, now.statistic, bool(now.done)) == (2, 0.5, False)
    now.pulls = 7
    pull(now)
    assert now.pulls == 8 and now.done and now.dtype.names == ("pulls", "statistic", "done")


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_lowest(n):
    values = RNG.integers(5, size=n).astype(float)
    assert lowest(values) == values.argmin()


@pytest.mark.parametrize("spread", [1, 1e4, 1e8, 1e12])
def test_invert_errs_by_the_condition_number(spread):
    information = np.eye(7) + (MATRIX * np.geomspace(1, spread, 7)) @ MATRIX.T
    inverse, expected = information.copy(), np.linalg.inv(information)
    logdet = invert(inverse)
    error = 10 * np.finfo(float).eps * np.linalg.cond(information)
    np.testing.assert_allclose(inverse, expected, rtol=0, atol=error * np.abs(expected).max())
    assert logdet == pytest.approx(np.linalg.slogdet(information)[1], abs=error)


def test_cholesky_and_the_inverse_are_those_of_numpy():
    rows = np.random.default_rng(0).standard_normal((9, 5))
    matrix, factor, inverse = rows.T @ rows, np.zeros((5, 5)), np.empty((5, 5))
    logdet = cholesky(matrix, 0.5, 2.0, factor)
    assert logdet == pytest.approx(np.linalg.slogdet(2 * matrix + 2 * np.eye(5))[1])
    np.testing.assert_allclose(factor, np.linalg.cholesky(2 * matrix + 2 * np.eye(5)).T, rtol=1e-12)
    cholesky(matrix, 1.0, 0.0, factor)
    inverse_from(factor, inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-9)


def test_cholesky_fails_exactly_above_the_least_eigenvalue():
    rows = np.random.default_rng(1).standard_normal((9, 4))
    matrix, work = rows.T @ rows, np.zeros((4, 4))
    least = np.linalg.eigvalsh(matrix)[0]
    assert cholesky(matrix, 1.0, -least * (1 - 1e-9), work) > -np.inf
    assert cholesky(matrix, 1.0, -least * (1 + 1e-9), work) == -np.inf


def test_a_kernel_cannot_make_arrays():
    def wasteful(values):
        return values.copy()

    assert njit(wasteful)(np.zeros(2)).shape == (2,)
    with pytest.raises(NumbaError):
        kernel(wasteful, cache=False)(np.zeros(2))
