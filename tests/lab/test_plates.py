"""Plates: every pull has a well in a random order, and every plate the same share of each arm."""

import numpy as np
import pandas as pd
import pytest

from bandits_lab.plate_layout import ROWS, plates, wells

NAMES = ["buffer", "salt", "acid", "both"]


@pytest.mark.parametrize("size", ROWS)
def test_wells_have_the_names_that_are_printed_on_plates(size):
    names = wells(size)
    assert len(set(names)) == size and names[0] == "A1"
    last = {6: "B3", 12: "C4", 24: "D6", 48: "F8", 96: "H12", 384: "P24", 1536: "AF48"}
    assert names[-1] == last[size]


def test_every_pull_has_one_well_in_a_random_order():
    wanted = np.array([100, 0, 57, 3])
    layout = plates(wanted, NAMES, rng=np.random.default_rng(0))
    assert layout["arm"].value_counts().reindex(NAMES, fill_value=0).tolist() == wanted.tolist()
    assert not layout.duplicated(["plate", "well"]).any()
    assert layout.groupby("plate").size().tolist() == [96, 64]
    again, other = (plates(wanted, NAMES, rng=np.random.default_rng(seed)) for seed in (0, 1))
    pd.testing.assert_frame_equal(layout, again)
    assert (layout["arm"] != other["arm"]).any() and layout["arm"].tolist() != sorted(layout["arm"])


@pytest.mark.parametrize("seed", range(5))
def test_every_plate_has_the_same_share_of_each_arm(seed):
    wanted = np.array([96, 48, 24, 7, 200, 1])
    layout = plates(wanted, rng=np.random.default_rng(seed))
    held = layout.groupby(["plate", "arm"]).size().unstack(fill_value=0)
    share = held.sum(axis=1).to_numpy()[:, None] * wanted / wanted.sum()
    assert (held.sum() == wanted).all()
    assert (abs(held - share) <= 2).all(axis=None)
    first = layout[layout["plate"] == 1]["arm"].to_numpy()
    assert (first[:-1] > first[1:]).any(), "sorted"
    turns = plates([48, 48], rng=np.random.default_rng(seed))["arm"]
    assert (turns[1:].to_numpy() == turns[:-1].to_numpy()).any(), "by turns"


def test_what_cannot_be_laid_out_is_refused():
    rng = np.random.default_rng(0)
    for message, arguments in {
        "the rule is done": (None,),
        "non-negative integers": ([1.5, 2.0],),
        "names must differ": ([1, 2], ["a", "a"]),
        "one name for each of the 2 arms": ([1, 2], ["a"]),
    }.items():
        with pytest.raises(ValueError, match=message):
            plates(*arguments, rng=rng)
    with pytest.raises(ValueError, match=r"got 0: write rng=np.random.default_rng\(0\)"):
        plates([1, 2], rng=0)
    with pytest.raises(ValueError, match="size must be one of 6, 12"):
        plates([1, 2], size=100, rng=rng)
    assert plates([0, 0], rng=rng).empty
