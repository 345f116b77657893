"""Plates: every pull has a well, and the order in which plates are told makes no difference."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bandits_lab import Lab
from bandits_lab.plate_layout import ROWS, plates, read_plates, wells
from bandits_lib import LinearBandit
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import rage

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
NAMES = ["buffer", "salt", "acid", "both"]
TRUTH = LinearBandit(ARMS, theta=[1.0, 0.25, 0.0])


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


def read(layout, rng):
    """Readings of a plate reader: multiples of 1/64, so that sums are exact in any order."""
    means = layout["arm"].map(dict(zip(NAMES, TRUTH.means, strict=True)))
    rewards = ((means + rng.standard_normal(len(layout))) * 64).round() / 64
    return layout.assign(reward=rewards)[["plate", "well", "reward"]]


def together(make, rng):
    """An experiment told request by request, and its readings."""
    lab, days = Lab(make()), []
    while lab.result is None:
        layout = plates(lab.ask(), NAMES, rng=rng)
        days.append((layout, read(layout, rng)))
        lab.tell(read_plates(days[-1][1], layout, NAMES))
    return lab, days


@pytest.mark.parametrize("make", [lambda: rage(ARMS, delta=0.05), lambda: gse(ARMS, budget=500)], ids=["rage", "gse"])
def test_plates_one_by_one_end_where_whole_requests_end(make, tmp_path):
    lab, days = together(make, np.random.default_rng(0))
    other, order = Lab(make(), tmp_path / "log.jsonl"), np.random.default_rng(1)
    for layout, readings in days:
        for plate in order.permutation(layout["plate"].unique()):
            path = tmp_path / "plate.csv"
            readings[readings["plate"] == plate].sample(frac=1, random_state=int(plate)).to_csv(path, index=False)
            other.tell(read_plates(path, layout, NAMES))
            other = Lab(make(), tmp_path / "log.jsonl")
    assert len(other.log) > len(lab.log)
    for mine, theirs in zip(lab.result.history, other.result.history, strict=True):
        for field, their_field in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(field, their_field)
    assert lab.result.recommendation == other.result.recommendation


def test_failed_wells_stay_wanted():
    lab = Lab(rage(ARMS, delta=0.05))
    wanted = lab.ask()
    layout = plates(wanted, NAMES, rng=np.random.default_rng(0))
    readings = read(layout, np.random.default_rng(0))
    readings.loc[:9, "reward"] = np.nan
    last = layout["plate"].iloc[-1]
    with pytest.warns(UserWarning, match=r"15 wells of the layout have no reward \(A1 on plate 1, .*, \.\.\.\): they"):
        lab.tell(read_plates(readings.iloc[:-5], layout, NAMES))
    assert (readings["plate"].iloc[:-5] == last).any()
    assert lab.ask().sum() == 15


def test_wells_are_read_as_people_write_them():
    layout = plates([3, 2], ["a", "b"], size=6, rng=np.random.default_rng(0))
    written = layout.assign(well=["a01", " A2", "A03", "b1", "B02"], reward="0.5")[["reward", "well", "plate"]]
    assert read_plates(written, layout, ["a", "b"]).counts.tolist() == [3, 2]


def test_wells_of_plates_that_wait_are_not_missing():
    layout = plates([60, 60], size=48, rng=np.random.default_rng(0))
    readings = layout.assign(reward=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_plates(readings[readings["plate"] == 2], layout, K=2).counts.sum() == 48
    with pytest.warns(UserWarning, match=r"1 wells of the layout have no reward \(A1 on plate 2\): they are left out"):
        read_plates(readings[(readings["plate"] == 2) & (readings["well"] != "A1")], layout, K=2)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_files_as_a_reader_and_a_spreadsheet_write_them(tmp_path, encoding):
    layout = plates([2, 1], ["acid", "base"], size=6, rng=np.random.default_rng(0))
    layout.to_csv(tmp_path / "layout.csv", index=False, encoding=encoding, sep=";")
    rows = "".join(f"{arm};{plate};{well};0,5;;\n" for plate, well, arm in layout.itertuples(index=False))
    (tmp_path / "day.csv").write_text(f"sep=;\nArm;Plate;Well;Reward;;\n{rows}\n", encoding=encoding)
    sample = read_plates(tmp_path / "day.csv", tmp_path / "layout.csv", ["acid", "base"])
    assert sample.counts.tolist() == [2, 1] and sample.sums.tolist() == [1.0, 0.5]
    for text, message in {
        f"{rows};;Total;1,5;;\n": "line 6 of .*plate is empty",
        f"{rows};x;A1;1,5;;\n": "line 6 of .*plate must be a finite number; got 'x'",
        rows.replace("0,5", "OVER", 1): "line 3 of .*reward must be a finite .*got 'OVER'. Leave a cell empty only if",
        rows.replace("0,5", "1.234"): "line 3 of .*'1.234' may be a fraction or a thousand",
    }.items():
        (tmp_path / "day.csv").write_text(f"sep=;\nArm;Plate;Well;Reward;;\n{text}", encoding=encoding)
        with pytest.raises(ValueError, match=message):
            read_plates(tmp_path / "day.csv", layout, ["acid", "base"])


def test_readings_that_name_other_arms_are_refused(tmp_path):
    layout = plates([3, 2], ["a", "b"], size=6, rng=np.random.default_rng(0))
    other = layout.assign(reward=1.0, arm=layout["arm"].map({"a": "b", "b": "a"}))
    first = layout["arm"][0]
    with pytest.raises(ValueError, match=f"well A1: the readings say arm '{other['arm'][0]}', the layout '{first}'"):
        read_plates(other, layout, ["a", "b"])
    partly = layout.assign(reward=1.0, arm=[None, *layout["arm"][1:]])
    assert read_plates(partly, layout, ["a", "b"]).counts.tolist() == [3, 2]
    numbered = plates([3, 2], size=6, rng=np.random.default_rng(0))
    floats = numbered.assign(reward=1.0, arm=numbered["arm"].where(numbered["well"] != "A1"))
    assert floats["arm"].dtype == float and read_plates(floats, numbered, K=2).counts.tolist() == [3, 2]


def test_what_cannot_be_read_is_refused():
    layout = plates([3, 2], size=6, rng=np.random.default_rng(0))
    readings = layout.assign(reward=1.0)
    wrong = {
        "comes twice in the readings": pd.concat([readings, readings[:1]]),
        "no well B3 on plate 1": readings.assign(well=["B3", *readings["well"][1:]]),
        "no well A1 on plate 2": readings.assign(plate=[2, *readings["plate"][1:]]),
        "well A1: reward 'OVER' is not a number": readings.assign(reward=["OVER", *[1.0] * 4]),
        "numbers; got nan: leave out rows of": pd.concat([readings, pd.DataFrame([{"reward": 5}])]),
        "reward is missing": layout,
        "rewards must be finite": readings.assign(reward=np.inf),
    }
    for message, table in wrong.items():
        with pytest.raises(ValueError, match=message):
            read_plates(table, layout, K=2)
    with pytest.raises(ValueError, match="is not one of the names"):
        read_plates(readings, layout, ["a", "b"])
    with pytest.raises(ValueError, match="or K"):
        read_plates(readings, layout)


def test_what_cannot_be_laid_out_is_refused():
    rng = np.random.default_rng(0)
    for message, arguments in {
        "the rule is done": (None,),
        "non-negative integers": ([1.5, 2.0],),
        "names must be distinct": ([1, 2], ["a", "a"]),
        "one for each of the 2 arms": ([1, 2], ["a"]),
    }.items():
        with pytest.raises(ValueError, match=message):
            plates(*arguments, rng=rng)
    with pytest.raises(ValueError, match=r"got 0: write rng=np.random.default_rng\(0\)"):
        plates([1, 2], rng=0)
    with pytest.raises(ValueError, match="size must be one of 6, 12"):
        plates([1, 2], size=100, rng=rng)
    assert plates([0, 0], rng=rng).empty


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
