"""Far pairs that are kept from one norm to the next: the answers of a scan of all pairs, to the last bit."""

import numpy as np
import pytest
from arrangements import certified, differences, norms, sphere

from bandits_lib.design import cache_off, far_pairs, pairs, solvers, xy_design, xy_optimal
from bandits_lib.design.directions import Differences, scan
from bandits_lib.design.far_pairs import ManyDifferences, pairs_in_tree


def cube(d):
    return np.stack(np.meshgrid(*[[-1.0, 1.0]] * d), axis=-1).reshape(-1, d)


def clouds(d):
    """Points in R^d: in general position, with heavy tails, off centre, with copies and mirror images, with ties."""
    rng = np.random.default_rng(d)
    yield "sphere", sphere(700, d)
    yield "tails", rng.standard_t(2, size=(500, d))
    yield "off centre", 5.0 + rng.uniform(size=(400, d)) ** 2
    yield "copies", np.tile(sphere(90, d), (4, 1))
    yield "mirrored", np.vstack([sphere(150, d), -sphere(150, d)])
    yield "cube", np.tile(cube(min(d, 6)), (3, 1)) @ np.eye(min(d, 6), d)
    yield "two ends", np.repeat(np.eye(2, d) if d > 1 else np.array([[0.0], [1.0]]), 200, axis=0)


def cases(dimensions):
    return [pytest.param(points, id=f"{name}-{d}") for d in dimensions for name, points in clouds(d)]


def squared_distances(points):
    i, j = np.triu_indices(len(points), 1)
    return i, j, ((points[i] - points[j]) ** 2).sum(axis=1)


@pytest.mark.parametrize("find", [pairs_in_tree, far_pairs._pairs_in_tiles])
@pytest.mark.parametrize("points", cases([1, 4]))
def test_every_pair_above_a_level_is_found_once(find, points):
    points = points - points.mean(axis=0)
    i, j, squared = squared_distances(points)
    level = 0.9 * squared.max()
    room = np.empty((2, len(i)), np.int32)
    found = find(points, level, *room)
    seen = {(min(pair), max(pair)) for pair in room[:, :found].T.tolist()}
    assert len(seen) == found
    assert seen >= set(zip(*(side[squared > level * (1 + 1e-12)].tolist() for side in (i, j)), strict=True))
    longest = squared[[pair in seen for pair in zip(i.tolist(), j.tolist(), strict=True)]]
    assert (longest > level - 1e-4 * squared.max()).all()
    assert find(points, level, *room[:, : found - 1]) == -1


def test_of_partners_at_the_same_distance_the_first_counts():
    points = np.array([[0.0, 3.0], [1.0, 0.0], [-1.0, 0.0]])
    rows, partners = far_pairs.far_pairs(np.eye(2), points).farthest(np.eye(2), points, 9.9, 1, 2, 10)
    assert rows.tolist() == [0] and partners.tolist() == [1]


@pytest.fixture
def small(monkeypatch):
    """Lists and parts of a size for few items; counts the lists that are made."""
    made = []
    monkeypatch.setattr(far_pairs, "KEPT", 3000)
    monkeypatch.setattr(far_pairs, "ROOM", 12_000)
    monkeypatch.setattr(solvers, "MANY_ITEMS", 150)
    monkeypatch.setattr(xy_optimal, "PART_OF_MANY", 50)
    make = far_pairs.far_pairs
    monkeypatch.setattr(far_pairs, "far_pairs", lambda *both: made.append(make(*both)) or made[-1])
    with cache_off():
        yield made


class Scanned(Differences):
    """The same questions, answered by a scan of all pairs each time."""

    def farthest(self, root, points, level, far, near, most):
        return scan(points, level, far, near, once=True)


@pytest.mark.parametrize("few", [0, 9])
@pytest.mark.parametrize("points", cases([2, 3, 6]))
def test_answers_are_those_of_the_scan(small, monkeypatch, points, few):
    """Norms drift, levels and numbers differ; copies and ties are among the points; balls and tiles."""
    monkeypatch.setattr(far_pairs, "FEW", few)
    rng, r = np.random.default_rng(0), points.shape[1]
    plain, kept = Scanned(points), ManyDifferences(points)
    root, asked = np.diag(np.geomspace(1, 3, r)), 0
    for step in (0.3, 0.1, 0.01, 0.001, 1e-4, 0.0):
        root = root + step * rng.normal(size=(r, r))
        assert kept.value(root) == plain.value(root)
        for part in (1.0, 0.999, 0.95, 0.5):
            for most in (3, 40, 10**6):
                level = part * plain.value(root)
                (top, rows), (expected, worst) = kept.beyond(root, level, most), plain.beyond(root, level, most)
                assert top == expected
                np.testing.assert_array_equal(rows, worst)
                asked += 1
    assert len(small) < asked or not any(small)  # lists have answered, unless all pairs tie


def test_a_list_serves_norms_nearby_and_never_another(small):
    """The bound behind it: no direction grows by more than `stretch`; norms of another rank are not vouched for."""
    rng = np.random.default_rng(1)
    points = sphere(400, 4) * [0.5, 1.0, 1.0, 1.0]
    listed = far_pairs.far_pairs(np.eye(4), points)
    for scale in (1e-6, 1e-2, 1.0):
        root = np.eye(4) + scale * rng.normal(size=(4, 4))
        y = rng.normal(size=(5000, 4))
        grown = ((y @ root.T) ** 2).sum(axis=1) / (y**2).sum(axis=1)
        assert grown.max() <= listed.stretch(root) <= 1.5 * np.linalg.norm(root, 2) ** 2
    assert listed.stretch(np.eye(4)[:3]) == np.inf
    assert listed.stretch(np.full((4, 4), np.nan)) == np.inf
    seen = ManyDifferences(points)
    for scale in (1.0, 1.0, 1.001, 0.999):
        seen.value(scale * np.eye(4))
    assert len(small) == 1 + 1
    seen.value(np.diag([9.0, 1.0, 1.0, 1.0]))
    assert len(small) == 1 + 2


def check(arms, items, design, tol=1e-3):
    """The certificate, and the value over all pairs, plainly."""
    certified(design, tol)
    assert design.value == pytest.approx(norms(arms, design.weights, differences(items)).max(), rel=1e-8)


@pytest.mark.parametrize("d", [3, 4, 7])
@pytest.mark.parametrize("kind", ["sphere", "tails", "copies", "mirrored", "cube"])
def test_designs_of_many_items_are_certified_over_all_pairs(small, monkeypatch, kind, d):
    arms = dict(clouds(d))[kind]
    design = xy_design(arms, pairs(arms))
    check(arms, arms, design)
    monkeypatch.setattr(solvers, "MANY_ITEMS", 10**9)
    assert design.value == pytest.approx(xy_design(arms, pairs(arms)).value, rel=1e-3)


@pytest.mark.parametrize("decades", [-12, -6, 6, 12])
def test_many_items_of_any_scale(small, decades):
    """Of arms, of items and of both; units of the coordinates apart by as much."""
    arms, items = sphere(300, 3), np.random.default_rng(0).normal(size=(200, 3))
    plain = xy_design(arms, pairs(items))
    for arms_too, items_too in ((0, 1), (1, 0), (1, 1)):
        design = xy_design(arms * 10.0 ** (arms_too * decades), pairs(items * 10.0 ** (items_too * decades)))
        certified(design)
        assert design.value == pytest.approx(plain.value * 100.0 ** ((items_too - arms_too) * decades), rel=1e-3)
    units = 10.0 ** (decades * np.array([0, 1 / 4, 1 / 2]))
    check(arms, items, xy_design(arms * units, pairs(items * units))._replace(value=plain.value), 5e-3)


def test_many_items_of_few_kinds(small):
    """All items but three are the same, and equal steps miss these three; items of fewer dimensions than arms."""
    arms, items = sphere(40, 4), np.zeros((301, 4))
    items[[101, 150, 207]] = np.eye(3, 4)
    check(arms, items, xy_design(arms, pairs(items)))
    flat = sphere(300, 3) @ np.eye(3, 5)
    check(sphere(60, 5), flat, xy_design(sphere(60, 5), pairs(flat)))


def test_many_items_that_are_no_numbers_are_refused(small):
    items = sphere(300, 3)
    items[212, 1] = np.nan
    with pytest.raises(ValueError, match=r"items must be finite; items\[212, 1\] is nan"):
        xy_design(sphere(20, 3), pairs(items))
