"""The coordinates of a stage."""

import numpy as np

from bandits_lib.fixed_budget.stages import project


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
