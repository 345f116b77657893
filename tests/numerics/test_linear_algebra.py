"""Sums in the order in which they are written: to the last bit what Python's own floats give, term by term."""

import numpy as np
import pytest

from bandits_lib.numerics import linear_algebra
from bandits_lib.numerics.kernels import inner
from bandits_lib.numerics.linear_algebra import jacobi, principal_axes

SHAPES = [(1, 1, 1), (3, 5, 2), (7, 4, 9), (20, 13, 31), (5, 3, 300), (300, 9, 5), (600, 4, 3), (4, 0, 2)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def wide(rng, *shape):
    """Numbers of many sizes, so that every other order of summation rounds differently."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-6, 6, shape)


def in_turn(terms):
    out = 0.0
    for term in terms:
        out += float(term)
    return out


def by_eight(terms):
    """As `inner` promises: eight sums over every eighth term, the rest on the first, added in pairs."""
    terms = [float(term) for term in terms]
    if len(terms) < 8:
        return in_turn(terms)
    whole = 8 * (len(terms) // 8)
    a, b, c, d, e, f, g, h = (in_turn(terms[i:whole:8]) for i in range(8))
    for term in terms[whole:]:
        a += term
    return ((a + e) + (b + f)) + ((c + g) + (d + h))


@pytest.mark.parametrize("n, k, m", SHAPES)
def test_products_are_summed_term_by_term(rng, n, k, m):
    left, right = wide(rng, n, k), wide(rng, k, m)
    expected = [[in_turn(left[i] * right[:, j]) for j in range(m)] for i in range(n)]
    assert (linear_algebra.product(left, right) == np.array(expected)).all()


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_zeros_in_the_left_factor_change_no_bit(rng, share):
    left, right = wide(rng, 41, 33) * (rng.random((41, 33)) < share), wide(rng, 33, 150)
    expected = [[in_turn(left[i] * right[:, j]) for j in range(150)] for i in range(41)]
    assert (linear_algebra.product(left, right) == np.array(expected)).all()


@pytest.mark.parametrize("n, k", [(1, 1), (6, 5), (33, 12), (300, 9)])
def test_lower_product_is_the_lower_triangle_of_the_product(rng, n, k):
    left, right = wide(rng, n, k), wide(rng, k, n)
    assert (np.tril(linear_algebra.lower_product(left, right)) == np.tril(linear_algebra.product(left, right))).all()


@pytest.mark.parametrize("n", [1, 5, 7, 8, 9, 16, 50])
def test_inner_products_are_eight_sums(rng, n):
    x, y = wide(rng, n), wide(rng, n)
    assert inner(x, y) == by_eight(x * y)
    assert linear_algebra.squares(x[None])[0] == by_eight(x * x)
    assert linear_algebra.ordered_sum(x) == in_turn(x)


def test_another_order_would_be_noticed(rng):
    x, y = wide(rng, 50), wide(rng, 50)
    assert inner(x, y) != in_turn(x * y)


def test_combine_and_apply(rng):
    matrix, vector, other = wide(rng, 6, 11), wide(rng, 6), wide(rng, 11)
    assert linear_algebra.combine(vector, matrix).tolist() == [in_turn(vector * matrix[:, j]) for j in range(11)]
    assert linear_algebra.apply(matrix, other).tolist() == [by_eight(matrix[i] * other) for i in range(6)]


def test_information_is_the_weighted_sum_and_leaves_zeros_out(rng):
    rows, weights = rng.standard_normal((40, 5)), rng.uniform(size=40)
    weights[::3] = 0.0
    rows[0] = np.nan
    out = linear_algebra.information(rows, weights)
    assert np.allclose(out, sum(w * np.outer(x, x) for w, x in zip(weights[1:], rows[1:], strict=True)))
    assert (out == out.T).all()


@pytest.mark.parametrize("n", [5, 16, 43])
def test_zeros_at_the_ends_of_a_column_change_no_bit_of_the_information(rng, n):
    rows = wide(rng, n, n) * (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < 3)
    weighted = rows * 0.3
    expected = [[by_eight(weighted[:, max(i, j)] * rows[:, min(i, j)]) for j in range(n)] for i in range(n)]
    assert (linear_algebra.information(rows, np.full(n, 0.3)) == np.array(expected)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 40])
def test_factors_inverses_and_solutions(rng, n):
    rows = rng.standard_normal((2 * n, n))
    matrix, vector = rows.T @ rows, rng.standard_normal(n)
    upper, regular = linear_algebra.upper_factor(matrix)
    assert regular and (np.tril(upper, -1) == 0).all() and np.allclose(upper.T @ upper, matrix)
    assert np.allclose(linear_algebra.inverse_triangle(upper) @ upper, np.eye(n))
    assert np.allclose(matrix @ linear_algebra.solve_factored(upper, vector), vector)
    assert np.allclose(rows[:n] @ linear_algebra.solve(rows[:n].copy(), vector), vector)
    assert np.allclose(linear_algebra.triangle(rows), upper)


def test_what_has_no_factor_or_solution_is_said(rng):
    assert not linear_algebra.upper_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))[1]
    assert not linear_algebra.upper_factor(np.full((5, 5), np.nan))[1]
    assert np.isnan(linear_algebra.solve(np.ones((2, 2)), np.ones(2))).all()


def test_solve_takes_the_largest_pivot():
    matrix = np.array([[1e-20, 1.0], [1.0, 1.0]])
    assert np.allclose(linear_algebra.solve(matrix, np.array([1.0, 2.0])), [1.0, 1.0])


@pytest.mark.parametrize("n, k, rank", [(5, 3, 3), (3, 5, 3), (40, 6, 4), (600, 4, 4), (1, 1, 1)])
def test_independent_rows_span_what_the_rows_span(rng, n, k, rank):
    rows = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, k))
    chosen, basis = linear_algebra.independent(rows, 1e-9)
    assert len(chosen) == len(basis) == rank == np.linalg.matrix_rank(rows[chosen])
    assert np.allclose(basis @ basis.T, np.eye(rank), atol=1e-14)
    assert np.allclose(rows @ basis.T @ basis, rows)
    for unit in (2.0**-60, 2.0**60):
        assert (linear_algebra.independent(unit * rows, 1e-9)[0] == chosen).all()


def test_independent_takes_the_farthest_and_of_equal_ones_the_first():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0 + 1e-13], [0.5, 0.5]])
    assert linear_algebra.independent(rows, 1e-9)[0].tolist() == [0, 1]
    assert linear_algebra.independent(rows[::-1].copy(), 1e-9)[0].tolist() == [1, 3]


@pytest.mark.parametrize("dependent", [False, True])
def test_projector_onto_what_is_orthogonal_to_all_columns(rng, dependent):
    columns = rng.standard_normal((12, 5))
    if dependent:
        columns[:, 4] = columns[:, 0] - columns[:, 1]
    projector, dimension = linear_algebra.outside_projector(columns)
    assert dimension == (8 if dependent else 7) == round(np.trace(projector))
    assert np.allclose(projector @ columns, 0, atol=1e-12)
    assert np.allclose(projector @ projector, projector, atol=1e-12)


# --- principal axes


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_jacobi_diagonalises(d):
    rows = np.random.default_rng(d).standard_normal((d + 2, d))
    values, vectors = jacobi(rows.T @ rows)
    assert np.allclose(vectors @ vectors.T, np.eye(d), atol=1e-13)
    assert np.allclose(vectors.T @ np.diag(values) @ vectors, rows.T @ rows)


def test_simple_axes_are_the_eigenvectors():
    rows = np.random.default_rng(0).standard_normal((30, 4)) * [4.0, 3.0, 2.0, 1.0]
    axes = principal_axes(rows, 3)
    _, _, expected = np.linalg.svd(rows)
    assert np.allclose(np.abs((axes * expected[:3]).sum(axis=1)), 1)
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes)


def test_a_multiple_eigenvalue_has_one_choice_of_axes():
    rng = np.random.default_rng(0)
    rows = np.vstack([np.eye(5)[:4] * 2, np.eye(5)[4:]])
    turned, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    for noise in range(5):
        noisy = turned @ (rows * (1 + 1e-14 * rng.standard_normal(rows.shape)))
        assert np.allclose(principal_axes(noisy, 3), np.eye(5)[:3], atol=1e-10), noise


@pytest.mark.parametrize("K", [16, 64])
def test_equal_axes_come_in_the_order_of_their_first_coordinates(K):
    """As numpy's svd has the first two of e_1, e_2, an arm at .1 from e_1 and others: what tells it is kept."""
    rng = np.random.default_rng(K)
    near = np.cos(0.1) * np.eye(K - 1)[0] + np.sin(0.1) * np.eye(K - 1)[1]
    for _ in range(20):
        others = np.eye(K - 1)[rng.choice(np.arange(2, K - 1), K // 2 - 3, replace=False)]
        rows = np.vstack([np.eye(K - 1)[:2], others, near])[rng.permutation(K // 2)]
        axes, expected = principal_axes(rows, 3), np.linalg.svd(rows.T @ rows)[0].T
        assert np.allclose(np.abs(axes[:2] @ expected[:2].T), np.eye(2))
