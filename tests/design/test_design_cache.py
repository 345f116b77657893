"""The cache of designs changes nothing, confuses nothing and is bounded."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from arrangements import sphere

from bandits_lib.design import (
    cache,
    cache_clear,
    cache_off,
    frank_wolfe_design,
    g_design,
    pairs,
    weighted_design,
    wynn_design,
    xy_design,
)


def test_cache_changes_nothing():
    arms = sphere(60, 4, 11)
    cache_clear()
    first, again = xy_design(arms, pairs(arms)), xy_design(arms.copy(), pairs(arms.copy()))
    assert again is first
    with cache_off():
        anew = xy_design(arms, pairs(arms))
    assert anew is not first
    for design in (first, anew):
        assert not design.weights.flags.writeable
    np.testing.assert_array_equal(anew.weights, first.weights)
    assert anew[1:] == first[1:]


def test_cache_tells_arguments_apart():
    """Same bytes, different meaning: items against directions, tolerance, sigma, shape, solver."""
    arms = sphere(6, 2, 1)
    designs = [
        xy_design(arms, arms),
        xy_design(arms, pairs(arms)),
        xy_design(arms, arms, 1e-2),
        weighted_design(arms, arms, 2.0),
        xy_design(arms.reshape(4, 3), arms.reshape(4, 3)),
        frank_wolfe_design(arms, arms),
        frank_wolfe_design(arms, arms, prune=0),
        g_design(arms),
    ]
    assert len({id(design) for design in designs}) == len(designs)
    assert designs[0].value != designs[1].value


def test_two_solvers_of_the_same_arguments_are_told_apart():
    """`g_design` and `wynn_design` both hand the arms and a tolerance of 1e-3 to the cache, in one process."""
    arms = sphere(30, 3, 5)
    cache_clear()
    certified, wynn = g_design(arms), wynn_design(arms)
    assert np.count_nonzero(certified.weights) <= 6 and np.count_nonzero(wynn.weights) == 30


def test_cache_is_bounded(monkeypatch):
    cache_clear()
    monkeypatch.setattr(cache, "MAX_BYTES", 5000)
    for seed in range(40):
        g_design(sphere(20, 2, seed))
    assert 1 <= len(cache._designs) < 10
    cache_clear()
    assert not cache._designs


def test_contexts_without_the_cache_may_overlap():
    """As in two threads: the first that begins is the first that ends."""
    first, second, arms = cache_off(), cache_off(), np.eye(2)
    cache_clear()
    with first:
        second.__enter__()
    assert g_design(arms) is not g_design(arms)
    second.__exit__(None, None, None)
    assert g_design(arms) is g_design(arms)


@pytest.mark.usefixtures("often_switched")
def test_threads_share_the_cache(monkeypatch):
    """Threads that press designs out of each other's reach end without an error, and the bytes are still counted."""
    cache_clear()
    monkeypatch.setattr(cache, "MAX_BYTES", 1_500)  # two designs
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(g_design, [np.eye(2 + n % 4) for n in range(4_000)]))
    assert all(len(design.weights) == 2 + n % 4 for n, design in enumerate(found))
    assert cache._state["bytes"] == sum(map(cache._size, cache._designs.values())) <= 1_500
