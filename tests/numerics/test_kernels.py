"""What the compiled loops share. Products and updates are compared with numpy in tests/plain."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from bandits_lib.numerics.kernels import along_all, cholesky, invert, kernel, record, times_vector

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(7, 7))


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


@pytest.mark.parametrize("spread", [1, 1e4, 1e8, 1e12])
def test_invert_errs_by_the_condition_number(spread):
    information = np.eye(7) + (MATRIX * np.geomspace(1, spread, 7)) @ MATRIX.T
    inverse, expected = information.copy(), np.linalg.inv(information)
    logdet = invert(inverse)
    error = 10 * np.finfo(float).eps * np.linalg.cond(information)
    np.testing.assert_allclose(inverse, expected, rtol=0, atol=error * np.abs(expected).max())
    assert logdet == pytest.approx(np.linalg.slogdet(information)[1], abs=error)


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


@pytest.mark.parametrize("n", [1, 3, 4, 7, 9])
def test_products_are_summed_in_order_four_at_a_time(n):
    """To the last bit, whatever is left over when rows or terms are taken by fours."""
    rng = np.random.default_rng(n)
    matrix, vector, product = rng.standard_normal((n, 6)), rng.standard_normal(6), np.empty(n)
    in_order = np.cumsum(matrix * vector, axis=1)[:, -1]
    times_vector(matrix, vector, product)
    assert (product == in_order).all()
    along_all(np.ascontiguousarray(matrix.T), vector, product)
    assert (product == in_order).all()
