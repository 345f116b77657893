"""FWG, Wynn's method and clusters: what they promise, where they stall. What they compute: tests/plain."""

import numpy as np
import pytest
from arrangements import sphere

from bandits_lib.design import clusters_design, design_value, fwg_design, g_design, wynn_design


def test_what_the_designs_promise_is_what_they_hold():
    arms = sphere(60, 6)
    for make in (fwg_design, wynn_design, g_design, clusters_design):
        design = make(arms)
        assert design.weights.sum() == pytest.approx(1) and (design.weights >= 0).all()
        assert design.value == pytest.approx(design_value(arms, design.weights, arms), rel=1e-9)
        assert design.value >= design.lower_bound == 6


def test_frank_wolfe_stalls_where_wynn_arrives():
    """200 arms, d = 10: the published code's grid stalls 14.8 % above the optimum, the text's exact search at 22 %."""
    arms = sphere(200, 10)
    exact, grid, wynn = fwg_design(arms), fwg_design(arms, line_search="grid"), wynn_design(arms)
    assert exact.iterations < 100 and grid.iterations < 100 and wynn.value <= 1.001 * 10
    assert grid.value / 10 - 1 == pytest.approx(0.148, abs=0.0005)
    assert exact.value / 10 - 1 == pytest.approx(0.22, abs=0.005)


def test_the_designs_do_not_depend_on_coordinates_or_units():
    arms, mix = sphere(20, 4), np.random.default_rng(1).standard_normal((4, 4))
    for make in (fwg_design, wynn_design):
        np.testing.assert_allclose(make(1e6 * arms @ mix).weights, make(arms).weights, atol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fwg_design(np.eye(2), steps=0),
        lambda: fwg_design(np.eye(2), line_search="golden"),
        lambda: wynn_design(np.eye(2), tol=0.0),
        lambda: fwg_design(np.zeros((2, 2))),
        lambda: clusters_design(np.zeros((2, 2))),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()
