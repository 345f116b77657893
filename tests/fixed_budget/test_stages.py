"""The coordinates of a stage."""

import numpy as np

from bandits_lib.fixed_budget.stages import Stage, project, projected


def test_first3_keeps_the_three_longest_axes():
    arms = np.diag([4.0, 3.0, 2.0, 1.0])
    stage = project(arms, "first3")
    np.testing.assert_allclose(np.abs(stage.basis), np.eye(4)[:, :3], atol=1e-12)
    assert project(arms).arms.shape == (4, 4) and project(arms[:2], "first3").arms.shape == (2, 2)


def test_scales_that_are_decades_apart_are_brought_together():
    arms = np.array([[1.0, 0.0], [0.0, 1e-9], [1.0, 1e-9]])
    stage = project(arms)
    assert np.linalg.cond(stage.arms) < 10
    np.testing.assert_allclose(arms @ stage.basis, stage.arms, rtol=1e-12)


def test_cumulative_projects_only_arms_that_do_not_span_the_space():
    arms = np.diag([4.0, 3.0, 2.0, 1.0])
    assert project(arms, "cumulative").arms.shape == (4, 4)
    five = np.column_stack([arms, np.zeros(4)])
    stage = project(five, "cumulative")
    np.testing.assert_allclose(np.abs(stage.basis), np.eye(5)[:, :3], atol=1e-12)
    assert not stage.arms[3].any()


def test_what_was_projected_is_projected_again():
    """e_1 and an arm at .1 from it are one point once four arms of R^7 are seen in three axes; alone they differ."""
    arms = np.eye(7)[[0, 2, 3, 4]]
    arms[3] = np.cos(0.1) * np.eye(7)[0] + np.sin(0.1) * np.eye(7)[1]
    first = projected(Stage(arms, np.eye(7)), "cumulative")
    last = projected(Stage(first.arms[[0, 3]], first.basis), "cumulative")
    assert last.arms.shape == (2, 1) and abs(last.arms[0, 0] - last.arms[1, 0]) < 1e-12
    np.testing.assert_allclose(arms[[0, 3]] @ last.basis, last.arms, atol=1e-12)
    assert project(arms[[0, 3]], "first3").arms.shape == (2, 2)
