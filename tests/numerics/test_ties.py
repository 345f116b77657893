"""Ties go to the first, however rounding errors fall."""

import numpy as np
import pytest

from bandits_lib.numerics.ties import argmax, highest, largest_first, ranked, ranks, top


def test_ranked_does_not_see_rounding_errors():
    values = np.repeat([3.0, 1.0, 2.0], 4)
    noisy = values * (1 + 1e-13 * np.random.default_rng(0).standard_normal(12))
    assert ranked(noisy).tolist() == ranked(values).tolist() == [4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3]
    assert ranked(-noisy)[:5].tolist() == [0, 1, 2, 3, 8]


def test_ranked_does_see_what_differs():
    assert ranked(np.array([1.0 + 1e-6, 1.0])).tolist() == [1, 0]


@pytest.mark.parametrize("count", [0, 1, 4, 29, 30, 99])
def test_the_largest_first_are_the_beginning_of_all_ranked(count):
    rng = np.random.default_rng(count)
    for values in (
        rng.standard_normal(30),
        np.repeat(rng.standard_normal(5), 6) * (1 + 1e-13 * rng.random(30)),
        np.zeros(0),
    ):
        assert largest_first(values, count).tolist() == ranked(-values)[:count].tolist()


def test_nothing_to_rank():
    assert ranked(np.zeros(0)).size == 0 and ranks(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_top_of_equal_values_is_the_first():
    assert top(np.array([1.0, 2.0, 2.0 - 1e-14, 0.0]), 2).tolist() == [1, 2]
    assert top(np.array([1.0, 1.0 + 1e-14, 1.0]), 1).tolist() == [0]


def test_highest_and_argmax_at_every_length_and_place():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 8, 15, 16, 17, 23, 40):
        for place in range(n):
            values = rng.uniform(-2.0, -1.0, n)
            values[place] = -0.5
            assert highest(values) == -0.5 and argmax(values) == place
            values[(place + 1) % n] = -0.5 - 1e-11
            assert argmax(values) == min(place, (place + 1) % n)
