"""The matrix game against a linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from bandits_lib.fixed_confidence.fws import maximin


def game(payoffs):
    """Value and a best mixture of the columns, by HiGHS: maximise v with payoffs @ z >= v."""
    J, K = payoffs.shape
    program = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.column_stack([-payoffs, np.ones(J)]),
        b_ub=np.zeros(J),
        A_eq=np.append(np.ones(K), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * K + [(None, None)],
    )
    return -program.fun, program.x[:-1]


@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (2, 30), (5, 5), (7, 3), (12, 40)])
def test_the_matrix_game_has_the_value_of_the_linear_program(shape):
    rng, z = np.random.default_rng(0), np.empty(shape[1])
    for payoffs in (
        rng.standard_normal(shape),
        rng.integers(-2, 3, shape).astype(float),
        1e-7 * rng.random(shape) + 5,
        np.repeat(rng.random((1, shape[1])), shape[0], axis=0),
        np.zeros(shape),
    ):
        maximin(payoffs, z)
        assert (z >= 0).all() and z.sum() == pytest.approx(1)
        unit = max(np.ptp(payoffs), 1e-300)
        assert abs((payoffs @ z).min() - game((payoffs - payoffs.min()) / unit)[0] * unit - payoffs.min()) < 1e-6 * unit
