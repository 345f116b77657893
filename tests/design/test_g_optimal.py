"""G-designs of very many arms: certified over all of them, whatever the working set was."""

import numpy as np
import pytest
from arrangements import certified, norms, sphere

from bandits_lib.checks import BLOCK
from bandits_lib.design import cache_off, g_design, g_optimal


@pytest.fixture
def small(monkeypatch):
    """Working sets of a size for few arms."""
    monkeypatch.setattr(g_optimal, "MANY_ARMS", 200)
    monkeypatch.setattr(g_optimal, "PART", 40)
    monkeypatch.setattr(g_optimal, "PER_ATOM", 1)
    monkeypatch.setattr(g_optimal, "COMING", 20)
    monkeypatch.setattr(g_optimal, "BLOCK", 77)
    with cache_off():
        yield


def rare():
    """Indicators of ten groups, nine of them rare, and of a size."""
    arms = np.zeros((3000, 11))
    arms[:, 0], arms[:, 10] = 1.0, np.random.default_rng(0).uniform(size=3000)
    arms[np.arange(1, 10) * 301 + 5, np.arange(1, 10)] = 1.0
    return arms


CLOUDS = {
    "sphere": sphere(3000, 5),
    "normal": np.random.default_rng(0).normal(size=(3000, 8)),
    "tails": np.random.default_rng(1).standard_cauchy(size=(3000, 4)),
    "copies": np.tile(sphere(30, 4), (100, 1)),
    "cube": np.tile(np.indices((2,) * 6).reshape(6, -1).T.astype(float), (20, 1)),
    "rank 3 in R^6": sphere(3000, 3) @ np.random.default_rng(2).normal(size=(3, 6)),
    "rare": rare(),
    "first at the end": np.vstack([np.zeros((2000, 3)), np.eye(3)]),
    "one dimension": np.linspace(-1, 2, 1000)[:, None],
}


@pytest.mark.parametrize("name", CLOUDS)
def test_working_set_is_certified_over_all_arms(small, monkeypatch, name):
    arms = CLOUDS[name]
    design, rank = g_design(arms), np.linalg.matrix_rank(arms)
    certified(design)
    assert design.lower_bound == rank
    assert design.value == pytest.approx(max(rank, norms(arms, design.weights, arms).max()), rel=1e-6)
    assert np.count_nonzero(design.weights) <= rank * (rank + 1) // 2
    monkeypatch.setattr(g_optimal, "MANY_ARMS", 10**9)
    assert design.value == pytest.approx(g_design(arms).value, rel=1e-3)


@pytest.mark.parametrize("decades", [-12, -6, 6, 12])
def test_many_arms_of_any_scale(small, decades):
    """All of them; the units of the coordinates; the lengths of some, in a basis that is bent."""
    arms = sphere(1000, 4)
    units = 10.0 ** (decades * np.array([0, 1 / 6, 1 / 4, 1 / 2]))  # 7 decades and more leave the rank
    for scaled in (arms * 10.0**decades, arms * units):
        design = g_design(scaled)
        certified(design)
        assert norms(arms, design.weights, arms).max() == pytest.approx(design.value, rel=1e-6)
    lengths = np.where(np.arange(1000) % 50 < 3, 10.0**decades, 1.0)
    certified(g_design(arms * lengths[:, None]))


def test_a_set_that_misses_arms_grows_until_none_is_beyond(small):
    """Long arms between the steps: the first part has none of them, and the value is that of all all the same."""
    arms = sphere(2001, 6)
    arms[1::2] *= np.linspace(1, 3, 1000)[:, None]
    found = g_optimal.working_set(arms, 8e-4, 1000)
    longest = g_optimal.norms_of_all(arms, found.space, found.weights).max()
    assert longest <= (1 + 8e-4) * 6
    assert 40 < len(found.chosen) < 1000 and (found.chosen % 2).any()


def test_a_number_that_is_none_is_named_wherever_it_is():
    arms = np.ones((2 * BLOCK, 2))
    arms[BLOCK + 3, 1] = np.nan
    with pytest.raises(ValueError, match=rf"arms must be finite; arms\[{BLOCK + 3}, 1\] is nan"):
        g_design(arms)
    arms[BLOCK + 3] = 1e-200
    with pytest.raises(ValueError, match=rf"row {BLOCK + 3} is"):
        g_design(arms)
