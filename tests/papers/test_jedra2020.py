"""The published runs of jedra2020's Table 1, played again: printed numbers, and what a threshold may decide."""

import numpy as np
import pytest

from bandits_lib.papers.jedra2020 import published_paths, published_threshold


def stops(paths, **chosen):
    over = (paths["statistic"] > published_threshold(paths, **chosen)) & (paths["t"] >= 2)
    return paths[over].groupby("run")["t"].min()


def of_the_text(t):
    return t**2


def smaller(t):
    return t**1.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("averaging", "union", "mean", "error"),
    [  # what the published code itself gives at K = 1000, its threshold replaced
        (False, of_the_text, 1407.95, 57.28),
        (False, smaller, 1208.50, 42.16),
        (True, of_the_text, 1410.35, 57.31),
        (True, smaller, 1209.00, 42.17),
    ],
)
def test_the_published_runs_at_1000_arms(averaging, union, mean, error):
    found = stops(published_paths(1000, averaging=averaging), union=union)
    assert round(found.mean(), 2) == mean
    assert round(found.std(ddof=0) / np.sqrt(20), 2) == error


def test_a_path_ends_where_the_text_stops_and_smaller_thresholds_stop_earlier():
    paths = published_paths(30, runs=3)
    ends = paths.groupby("run")["t"].max()
    assert (stops(paths) == ends).all()
    for chosen in ({"union": smaller}, {"union": None}, {"u": 0.1, "union": None}):
        assert (stops(paths, **chosen) <= ends).all()


def test_more_runs_change_no_run():
    few, more = published_paths(30, runs=1), published_paths(30, runs=2)
    assert few.equals(more[more["run"] == 0])


def test_the_threshold_is_the_papers():
    A, c, t, delta, u = np.array([[40.0, 5.0], [5.0, 9.0]]), 0.3, 50, 0.05, 0.7
    paths = published_paths(5, runs=1).iloc[:1].assign(t=t, trace=np.trace(A), determinant=np.linalg.det(A), c=c)
    whole = (1 + u) * np.log(np.sqrt(np.linalg.det(A / (u * c) + np.eye(2))) / (6 * delta / (np.pi * t) ** 2))
    assert published_threshold(paths, delta=delta, u=u).item() == pytest.approx(whole)
