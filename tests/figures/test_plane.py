"""What is drawn of arms and parameters in the plane is what it is said to be."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits_lib import LinearBandit, play
from bandits_lib.figures.plane import draw_arms, draw_cone, draw_ellipse, draw_ties
from bandits_lib.fixed_confidence import rage

ITEMS = np.array([[1.0, 0.0], [0.8, 0.5], [0.6, 0.9], [0.0, 1.0]])
SQUARE = ((0.0, 2.0), (-1.0, 1.0))


@pytest.fixture
def ax():
    fig, ax = plt.subplots()
    yield ax
    plt.close(fig)


def test_discs_are_shares_and_points_are_hollow_where_an_arm_is_gone(ax):
    draw_arms(ax, ITEMS, "ABCD", np.array([0.25, 0, 0, 0.75]), gone=[1, 3])
    discs, stay, gone = ax.collections
    np.testing.assert_allclose(discs.get_sizes()[3] / discs.get_sizes()[0], 3)
    np.testing.assert_array_equal(stay.get_offsets(), ITEMS[[0, 2]])
    np.testing.assert_array_equal(gone.get_offsets(), ITEMS[[1, 3]])
    assert gone.get_facecolor()[0].tolist() == [1, 1, 1, 1] and not stay.get_facecolor()[0][:3].any()


def test_the_cone_holds_the_parameters_of_which_the_item_is_best(ax):
    draw_cone(ax, ITEMS, 0, SQUARE)
    inside = ax.collections[0].get_paths()[0]
    for theta in np.random.default_rng(0).uniform([0.1, -0.9], [1.9, 0.9], (200, 2)):
        values = ITEMS @ theta
        if abs(values[0] - values[1:].max()) > 0.02:  # the grid is no finer
            assert inside.contains_point(theta) == (values.argmax() == 0)


def test_a_single_item_is_best_everywhere(ax):
    draw_cone(ax, ITEMS[:1], 0, SQUARE)
    assert ax.get_xlim() == SQUARE[0] and ax.patches[0].get_width() == 2.0


def test_the_ellipse_has_its_radius_in_the_norm_of_the_information(ax):
    counts, theta = np.array([3, 0, 1, 5]), np.array([1.0, 0.2])
    draw_ellipse(ax, ITEMS, counts, theta, 0.7)
    away = ax.lines[0].get_xydata() - theta
    information = (ITEMS.T * counts) @ ITEMS
    np.testing.assert_allclose(np.einsum("nd,de,ne->n", away, information, away), 0.49)


def test_ties_are_where_two_items_are_equally_good_and_open_ones_are_named(ax):
    draw_ties(ax, ITEMS, "ABCD", SQUARE, open_items=[0, 1, 2])
    pairs = [ITEMS[first] - ITEMS[second] for first in range(4) for second in range(first + 1, 4)]
    for y, line in zip(pairs, ax.lines, strict=True):
        assert y @ np.subtract(line.get_xy2(), line.get_xy1()) == pytest.approx(0)
    assert [text.get_text() for text in ax.texts] == ["A = B", "A = C"], "B = C leaves the square above"
    assert [line.get_color() for line in ax.lines] == ["black", "black", "0.8", "black", "0.8", "0.8"]


def test_items_stay_on_the_list_exactly_if_the_ellipse_crosses_their_ties(ax):
    """What the start page says of the picture, in 20 runs: for pairs that stay the line is crossed."""
    problem = LinearBandit(ITEMS, theta=[1.0, 0.2], sigma=0.5)
    crossed = decided = 0
    for run in range(20):
        result = play(rage(ITEMS, delta=0.05, sigma=0.5), problem, np.random.default_rng(run)).result
        lists = [phase.active for phase in result.history[1:]] + [np.array([result.recommendation])]
        for phase, stays in zip(result.history, lists, strict=True):
            radius = 0.5 * np.sqrt(2 * np.log(len(ITEMS) ** 2 * phase.index**2 / 0.05))
            ax.clear()
            draw_ellipse(ax, ITEMS, phase.counts, phase.theta_hat, radius)
            curve = ax.lines[0].get_xydata()
            for item in phase.active:
                ties = [curve @ (ITEMS[item] - ITEMS[other]) for other in phase.active if other != item]
                beaten = any((sides < 0).all() for sides in ties)
                assert beaten == (item not in stays)
                decided, crossed = decided + beaten, crossed + (not beaten)
    assert decided and crossed
