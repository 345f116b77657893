"""The panel redraws when a slider moves, and says why when it cannot."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits_lib.design import g_design
from bandits_lib.lab.panel import DESIGNS, panel, picture, weights_of

ARMS = np.array([[1.0, 0.0], [0.9, 0.35], [-0.3, 0.7]])
THETA = np.array([1.0, 0.1])


@pytest.mark.parametrize("design", DESIGNS)
def test_weights_are_the_design_that_is_named(design):
    weights = weights_of(design, ARMS, THETA)
    assert weights.shape == (3,) and weights.sum() == pytest.approx(1) and (weights >= 0).all()
    if design == "G":
        np.testing.assert_array_equal(weights, g_design(ARMS).weights)


def test_the_ellipse_shrinks_as_the_root_of_the_pulls():
    sizes = []
    for pulls in (100, 400):
        fig = picture(ARMS, THETA, pulls=pulls)
        curve = fig.axes[1].lines[0].get_xydata()
        sizes.append(np.ptp(curve, axis=0))
        plt.close(fig)
    np.testing.assert_allclose(sizes[0], 2 * sizes[1])


def test_every_slider_redraws():
    box = panel(ARMS, THETA)
    image, seen = box.children[-1], []
    for name, value in [("x1", 0.5), ("arm", 2), ("x2", 0.2), ("design", "uniform"), ("delta", 1e-3), ("pulls", 1000)]:
        seen.append(image.value)
        box.controls[name].value = value
    assert len({*seen, image.value}) >= 6  # choosing an arm moves nothing by itself


def test_arms_that_tie_are_explained_and_the_picture_stays():
    box = panel(ARMS, THETA)
    before = box.children[-1].value
    box.controls["design"].value = "oracle"
    kept = box.children[-1].value
    assert kept != before
    box.controls["arm"].value = 1
    box.controls["x1"].value, box.controls["x2"].value = 1.0, 0.0  # the same as arm 0: no unique best arm
    assert "unique" in box.children[1].value or "identical" in box.children[1].value


def test_arms_outside_the_plane_are_refused():
    with pytest.raises(ValueError, match="span the plane"):
        picture(np.array([[1.0, 1.0], [2.0, 2.0]]), THETA)
    with pytest.raises(ValueError, match="span the plane"):
        picture(np.eye(3), THETA)
