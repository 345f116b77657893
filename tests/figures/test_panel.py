"""The panel redraws when a slider moves, and says why when it cannot."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits_lib.design import g_design
from bandits_lib.figures.display import png
from bandits_lib.figures.plane import DESIGNS, panel, picture, weights_of

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


def test_a_picture_has_no_date_and_its_figure_is_closed():
    first, second = (png(picture(ARMS, THETA)) for _ in range(2))
    assert first == second and b"Software" not in first
    assert not plt.get_fignums()


@pytest.mark.slow
def test_every_slider_redraws():
    box = panel(ARMS, THETA)
    image, seen = box.children[-1], []
    for name, value in [("x1", 0.5), ("arm", 2), ("x2", 0.2), ("design", "uniform"), ("delta", 1e-3), ("pulls", 1000)]:
        seen.append(image.value)
        box.controls[name].value = value
    assert len({*seen, image.value}) >= 6  # choosing an arm moves nothing by itself
    for name, value in [("theta1", 0.6), ("theta2", -0.4)]:
        seen.append(image.value)
        box.controls[name].value = value
    assert len({*seen, image.value}) >= 8


@pytest.mark.parametrize("design", DESIGNS)
def test_two_best_arms_are_said_under_the_sliders_whatever_the_design(design):
    box = panel(ARMS, THETA)
    note, image = box.children[1:]
    box.controls["design"].value = design
    box.controls["arm"].value = 1
    box.controls["x1"].value = 1.0
    kept = image.value
    box.controls["x2"].value = 0.0  # the same as arm 0, which is best
    assert "arms 0 and 1 are identical" in note.value and image.value == kept
    box.controls["x2"].value = 0.5
    assert note.value == "" and image.value != kept


def test_theta_that_makes_two_arms_best_is_said():
    box = panel(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([1.0, 0.5]))
    box.controls["theta2"].value = 1.0
    assert "arms 0 and 1 are equally good under theta" in box.children[1].value
    box.controls["theta1"].value = box.controls["theta2"].value = 0.0
    assert "equally good" in box.children[1].value
    box.controls["theta1"].value = 1.0
    assert box.children[1].value == ""


def test_arms_moved_onto_a_line_are_said():
    box = panel(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.5]))
    box.controls["x1"].value = 0.0
    assert "must span the plane" in box.children[1].value


@pytest.mark.slow
def test_reset_brings_the_beginning_back():
    box = panel(ARMS, THETA)
    first = box.children[-1].value
    moves = {"arm": 2, "x1": 0.5, "theta2": 0.9, "design": "G", "delta": 1e-3, "pulls": 900}
    start = {name: box.controls[name].value for name in moves}
    for name, value in moves.items():
        box.controls[name].value = value
    assert box.children[-1].value != first
    box.controls["reset"].click()
    assert box.children[-1].value == first and box.children[1].value == ""
    assert {name: box.controls[name].value for name in moves} == start
    box.controls["arm"].value = 2
    assert (box.controls["x1"].value, box.controls["x2"].value) == tuple(ARMS[2])  # the arms, too, are back


def test_choosing_an_arm_moves_none():
    box = panel(ARMS, THETA)
    before = box.children[-1].value
    for arm in (2, 1, 0, 2):
        box.controls["arm"].value = arm
        assert [box.controls[name].value for name in ("x1", "x2")] == ARMS[arm].tolist()
    box.controls["pulls"].value = 240
    box.controls["pulls"].value = 200
    assert box.children[-1].value == before


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_sliders_reach_the_arms_in_any_unit(scale):
    box = panel(ARMS * scale, THETA)
    assert box.controls["x1"].value == scale and box.controls["x1"].max == 2 * scale
    assert box.controls["x1"].step == pytest.approx(scale / 20)


def test_arms_in_one_place_share_a_label():
    fig = picture(np.vstack([ARMS, ARMS[2]]), THETA, design="uniform")
    assert sorted(text.get_text() for text in fig.axes[0].texts) == ["0: 25%", "1: 25%", "2, 3: 50%"]
    plt.close(fig)


def test_arms_outside_the_plane_are_refused():
    with pytest.raises(ValueError, match=r"got shape \(2, 1\): give rows \(x1, x2\)"):
        panel(np.array([[1.0], [2.0]]), THETA)
    with pytest.raises(ValueError, match="theta must be 2 finite numbers"):
        panel(ARMS, [1.0, np.nan])
    with pytest.raises(ValueError, match="span the plane"):
        picture(np.array([[1.0, 1.0], [2.0, 2.0]]), THETA)
    with pytest.raises(ValueError, match="span the plane"):
        picture(np.eye(3), THETA)
