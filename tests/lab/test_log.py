"""Logs that outlive the computer: kills at every byte, two writers, another experiment, arms that a csv has rounded."""

import csv
import io
import os
import re
import subprocess
import sys
import threading
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from bandits_lab import Lab
from bandits_lab import log as logs
from bandits_lab.experiment import Experiment, differences, identify
from bandits_lab.lab import ReplayWarning
from bandits_lib import Result, Sample, rule
from bandits_lib.design import frank_wolfe_design, xy_design
from bandits_lib.files import locked
from bandits_lib.fixed_confidence import fws, rage

ARMS = np.array([[1.0, 0.0], [0.3, 0.7], [np.pi, 1e-3]])


@rule
def patient(arms, delta=0.1, rng=None, design=None, table=None):
    """Three requests; the second asks for what the first returned."""
    first = yield np.array([5, 0, 3])
    second = yield np.array([0, 2 + int(first.sums[0] > 0), 1])
    third = yield np.array([1, 1, 1])
    return Result(1, (first, second, third))


def long():
    return rage(np.eye(3), delta=0.05, sigma=30.0)


def sample(counts, seed=0):
    counts, rng = np.array(counts), np.random.default_rng(seed)
    return Sample.of(np.repeat(np.arange(len(counts)), counts), rng.standard_normal(counts.sum()), len(counts))


def half_way():
    lab = Lab(patient(ARMS))
    lab.tell(sample([2, 0, 1]))
    return lab


# --- what a person sees


def test_the_file_can_be_read_and_adds_up(tmp_path):
    lab = half_way()
    lab.tell(sample([3, 0, 2], seed=3))
    lab.save(tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert lines[0] == "# bandits_lab log 3 of patient" and "# delta = 0.1" in lines
    table = pd.read_csv(tmp_path / "log.csv", comment="#")
    assert list(table) == ["request", "arm", "asked", "count", "sum", "squares"]
    added = table.groupby(["request", "arm"])[["asked", "count"]].sum()
    assert added.loc[1].to_numpy().tolist() == [[5, 5], [3, 3]]
    assert added.loc[2]["count"].tolist() == [0, 0] and added.loc[2]["asked"].tolist() == lab.ask()[1:].tolist()
    assert table["sum"].sum() == pytest.approx(sum(told.sums.sum() for told in lab.log), rel=1e-15)


def test_the_end_is_in_the_log(tmp_path):
    lab = half_way()
    while lab.ask() is not None:
        lab.tell(sample(lab.ask()))
    lab.save(tmp_path / "log.csv")
    assert re.search(r"# done after request 3\n# end [0-9a-f]{8}\n$", (tmp_path / "log.csv").read_text())
    assert Lab(patient(ARMS), tmp_path / "log.csv").result.recommendation == 1


def test_remarks_may_be_added_by_hand(tmp_path):
    half_way().save(tmp_path / "log.csv")
    with open(tmp_path / "log.csv", "a") as file:
        file.write("# 3 March: a new bottle\n\n")
    lab = Lab(patient(ARMS), tmp_path / "log.csv")
    lab.tell(sample([3, 0, 0]))
    lab.save(tmp_path / "log.csv")
    assert "bottle" in (tmp_path / "log.csv").read_text()
    assert Lab(patient(ARMS), tmp_path / "log.csv").ask().tolist() == [0, 0, 2]


def test_a_spreadsheet_may_end_lines_its_own_way(tmp_path):
    half_way().save(tmp_path / "log.csv")
    text = (tmp_path / "log.csv").read_text().replace("\n\n", "\n,,,,,\n").replace("\n", "\r\n")
    (tmp_path / "log.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    lab = Lab(patient(ARMS), tmp_path / "log.csv")
    lab.tell(sample([3, 0, 2]))
    lab.save(tmp_path / "log.csv")
    assert Lab(patient(ARMS), tmp_path / "log.csv").ask().tolist() == lab.ask().tolist()


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r"there is no log nowhere.csv: .* Lab\(algorithm\)"):
        Lab(patient(ARMS), "nowhere.csv")


# --- kills


def without_lines(entry):
    told, asked = ([row._replace(line=0) for row in rows] for rows in (entry.told, entry.asked))
    return entry._replace(told=told, asked=asked)


def test_a_kill_at_any_byte_of_a_save_loses_nothing_that_was_saved_before(tmp_path):
    path, lab = tmp_path / "log.csv", half_way()
    lab.save(path)
    before = path.read_bytes()
    last = sample([3, 0, 2], seed=5)
    lab.tell(last)
    lab.save(path)
    after = path.read_bytes()
    assert after.startswith(before) and len(after) > len(before) + 60
    for end in range(len(before), len(after)):
        path.write_bytes(after[:end])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = Lab(patient(ARMS), path)
        if end == len(after) - 1:  # the last line has come, without its end
            assert not caught and len(again.log) == 2
            continue
        assert [w.category for w in caught] == [ReplayWarning] * (end > len(before) + 1)  # an empty line is none
        assert again.ask().tolist() == [3, 0, 2] and len(again.log) == 1
        again.tell(last)
        again.save(path)
        saved, torn = path.read_bytes(), after[len(before) : end].decode().split("\n")
        assert saved.startswith(before)
        remarks = [f"# left out: {line.rstrip(', ')}" for line in torn if line and not saved.startswith(after[:end])]
        assert [line for line in saved.decode().split("\n") if "left out" in line] == remarks
        told = [(e.told, e.asked, e.marks) for e in map(without_lines, logs.read(path).entries)]
        assert told == [(e.told, e.asked, e.marks) for e in map(without_lines, logs.parse(after).entries)]
        path.write_bytes(after[:end])
        lab.save(path)  # the Lab whose save was interrupted, if it lives
        assert path.read_bytes() == after


@pytest.mark.parametrize("end", ["# entry é".encode()[:-1], b"\0" * 99, b"\0" * 100, b"# entry 12\0\0", b"\x81\x8d"])
def test_an_end_cut_within_a_letter_or_zeros_of_a_power_cut_are_left_out(tmp_path, end):
    path, lab = tmp_path / "log.csv", Lab(patient(ARMS), names=["café", "b", "c"])
    lab.tell(sample([2, 0, 1]))
    lab.save(path)
    path.write_bytes(path.read_bytes() + end)
    with pytest.warns(ReplayWarning, match="is left out: no '# end' follows"):
        again = Lab(patient(ARMS), path, names=lab.names)
    assert again.ask().tolist() == [3, 0, 2]
    again.tell(sample([3, 0, 0]))
    again.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Lab(patient(ARMS), path, names=lab.names).ask().tolist() == [0, 0, 2]


def test_what_a_kill_cut_short_stays_as_a_remark(tmp_path):
    path, lab = tmp_path / "log.csv", half_way()
    lab.save(path)
    for typed in ("1,0,0,1,0.25,0.0625\n", "1,0,0,1,0.2"):  # by a hand that knew no entries, or by a kill
        with open(path, "a") as file:
            file.write(typed)
        with pytest.warns(ReplayWarning, match="its end, '1,0,0,1,0.2.* is left out"):
            lab = Lab(patient(ARMS), path)
        found = path.read_bytes()
        lab.save(path)  # there is nothing to add
        assert path.read_bytes() == found
        lab.tell(sample([0, 0, 1] if typed.endswith("\n") else [1, 0, 0]))
        lab.save(path)
        assert f"# left out: {typed.strip()}\n" in path.read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Lab(patient(ARMS), path).ask().tolist() == [2, 0, 1]


def test_what_is_left_of_a_first_save_that_was_cut_short_is_written_anew(tmp_path):
    half_way().save(tmp_path / "log.csv")
    whole = (tmp_path / "log.csv").read_bytes()
    assert [file.name for file in tmp_path.glob("[!.]*")] == ["log.csv"]
    for end in range(0, whole.index(b"\n\n")):  # as another program may have left it
        (tmp_path / "log.csv").write_bytes(whole[:end])
        said = "line 1: the first save was cut short before any entry: the next save writes the file anew"
        with pytest.raises(ValueError, match=said):
            Lab(patient(ARMS), tmp_path / "log.csv")
        lab = half_way()
        lab.save(tmp_path / "log.csv")
        assert (tmp_path / "log.csv").read_text() == lab._head + "".join(lab._texts)


WRITER = """
import sys, warnings
import numpy as np
import test_log as t
path, me, pulls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
warnings.simplefilter("ignore")
done = 0
print("ready", flush=True)
sys.stdin.readline()
while done < pulls:
    lab = t.Lab(t.long(), path)
    lab.tell(t.Sample.of([0], [me + done / 1000], 3))
    try:
        lab.save(path)
    except ValueError as error:
        assert "another Lab has saved there" in str(error), error
        continue
    done += 1
    print(done, flush=True)
"""


def start(path, me, pulls):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(me), str(pulls)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def told_by(path):
    """How many pulls each writer has in the log."""
    rewards = [row.sum for entry in logs.read(path).entries for row in entry.told]
    return {me: sum(int(reward) == me for reward in rewards) for me in set(map(int, rewards))}


def test_three_processes_that_save_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "log.csv"
    Lab(long()).save(path)
    writers = [start(path, me, 12) for me in (1, 1, 2)]  # two of them have equal results
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert told_by(path) == {1: 24, 2: 12}
    assert sum(told.counts.sum() for told in Lab(long(), path).log) == 36


def test_a_save_waits_for_another_one(tmp_path):
    path, lab = tmp_path / "log.csv", half_way()
    thread = threading.Thread(target=lab.save, args=[path])
    with locked(path):
        thread.start()
        time.sleep(0.1)
        assert not path.exists()
    thread.join()
    assert path.exists()


# --- files that are not this log


def test_the_second_of_two_writers_is_refused_and_nothing_is_lost(tmp_path):
    path = tmp_path / "log.csv"
    half_way().save(path)
    one, other, behind = (Lab(patient(ARMS), path) for _ in range(3))
    one.tell(sample([1, 0, 0], seed=1))
    other.tell(sample([0, 0, 1], seed=2))
    one.save(path)
    saved = path.read_bytes()
    with pytest.raises(
        ValueError,
        match="left as it is: another Lab .* holds 4 measurements, and its entries differ .* Open the file with",
    ):
        other.save(path)
    with pytest.raises(ValueError, match="another Lab .* holds 4 measurements, and its entries differ"):
        half_way().save(path)  # equal pulls, but other measurements
    assert path.read_bytes() == saved
    behind.save(path)  # the file has all of it and more
    assert path.read_bytes() == saved
    one.save(path)  # nothing new
    assert path.read_bytes() == saved
    other.save(tmp_path / "other.csv")
    assert Lab(patient(ARMS), tmp_path / "other.csv").ask().tolist() == [3, 0, 1]


def test_one_measurement_saved_twice_is_one(tmp_path):
    lab = half_way()
    for _ in range(2):
        lab.save(tmp_path / "log.csv")
    Lab(patient(ARMS), tmp_path / "log.csv").save(tmp_path / "log.csv")
    assert len(Lab(patient(ARMS), tmp_path / "log.csv").log) == 1


def test_files_that_are_no_log_are_left_alone(tmp_path):
    path = tmp_path / "measurements.csv"
    notes = b"#\n# notes of mine\n", b"\n# notes of mine\n", b"# bandits_lab\n# notes of mine\n"
    for content in (b"arm,reward\n0,1.0\n", b"\xff\xfe\x00PNG", b"# bandits_lab log 4 of patient\n\n", *notes):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="left as it is: line 1: .*Or save this log under another name"):
            half_way().save(path)
        assert path.read_bytes() == content
        with pytest.raises(ValueError, match="measurements.csv, line 1"):
            Lab(patient(ARMS), path)
    path.write_bytes(b"")  # there is nothing to lose
    half_way().save(path)
    assert len(Lab(patient(ARMS), path).log) == 1


def test_the_log_of_another_experiment_is_left_alone(tmp_path):
    Lab(patient(ARMS, delta=0.2)).save(tmp_path / "log.csv")
    saved = (tmp_path / "log.csv").read_bytes()
    with pytest.raises(ValueError, match="left as it is: .*delta is 0.2 in the log and 0.1 here.* another name"):
        half_way().save(tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_bytes() == saved


def test_a_folder_that_is_missing_and_a_file_that_is_read_only(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot write .*nowhere.log.csv: no such file or directory"):
        half_way().save(tmp_path / "nowhere" / "log.csv")
    lab = half_way()
    lab.save(tmp_path / "log.csv")
    lab.tell(sample([3, 0, 2]))
    os.chmod(tmp_path / "log.csv", 0o444)
    saved = (tmp_path / "log.csv").read_bytes()
    with pytest.raises(PermissionError, match="log.csv is read-only"):
        lab.save(tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_bytes() == saved
    os.chmod(tmp_path / "log.csv", 0o644)
    lab.save(tmp_path / "log.csv")
    assert Lab(patient(ARMS), tmp_path / "log.csv").ask().tolist() == lab.ask().tolist()


def test_a_link_to_a_log_stays_a_link(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "log.csv")
    half_way().save(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and len(Lab(patient(ARMS), tmp_path / "log.csv").log) == 1


# --- the same experiment, and another


def test_arms_that_a_csv_has_rounded_or_another_blas_computed_are_the_same(tmp_path):
    rng = np.random.default_rng(0)
    for trial in range(200):
        arms = rng.standard_normal((4, 3)) * 10.0 ** rng.integers(-2, 3, 3)
        arms[0, 0] = round(arms[0, 0], 12) + 5e-13 * (trial % 2)  # next to where a rounding goes up or down
        here = identify(patient(arms))
        (tmp_path / "arms.csv").write_text("\n".join(",".join(f"{x:.15g}" for x in row) for row in arms))
        for other in (
            np.loadtxt(tmp_path / "arms.csv", delimiter=","),
            np.nextafter(arms, rng.choice([-np.inf, np.inf], arms.shape)),
            arms * (1 + 3e-15 * rng.standard_normal(arms.shape)),
            arms + 1e-13 * np.abs(arms).max(axis=0) * rng.uniform(-1, 1, arms.shape),
        ):
            assert differences(here, identify(patient(other))) == []
        k, j = rng.integers(4), rng.integers(3)
        arms[k, j] += 1e-10 * np.abs(arms[:, j]).max()
        assert len(differences(here, identify(patient(arms)))) == 1


def test_a_log_keeps_the_numbers_it_began_with(tmp_path):
    half_way().save(tmp_path / "log.csv")
    lab = Lab(patient(np.nextafter(ARMS, 9.0)), tmp_path / "log.csv")
    lab.save(tmp_path / "elsewhere.csv")
    assert (tmp_path / "elsewhere.csv").read_bytes() == (tmp_path / "log.csv").read_bytes()


def test_zeros_that_another_blas_rounds_differently_are_the_same():
    arms = np.array([[1.0, 3e-17], [0.5, -1e-17]])
    assert differences(identify(patient(arms)), identify(patient(np.array([[1.0, 0.0], [0.5, 0.0]])))) == []


def test_what_differs_is_named(tmp_path):
    Lab(patient(ARMS, rng=np.random.default_rng(1), design=xy_design, table={"a": [1, 2]})).save(tmp_path / "log.csv")
    used = np.random.default_rng(1)
    used.random()
    fewer, wrong = ARMS[:2], ARMS.copy()
    wrong[2, 0] = 3.0
    same = {"rng": np.random.default_rng(1), "design": xy_design, "table": {"a": [1, 2]}}

    def said(arms=ARMS, **changes):
        with pytest.raises(ValueError, match="another experiment") as refused:
            Lab(patient(arms, **(same | changes)), tmp_path / "log.csv")
        return str(refused.value)

    assert "arms has shape (3, 2) in the log and (2, 2) here" in said(fewer)
    assert "arms[2, 0] is 3.141592653589793 in the log and 3.0 here (1 of 6 numbers differ)" in said(wrong)
    assert "experiment: delta is 0.1 in the log and 0.2 here." in said(delta=0.2)
    assert "rng is in another state" in said(rng=used) and "rng is in another state" in said(
        rng=np.random.default_rng(2)
    )
    assert "design is xy_design in the log and frank_wolfe_design here" in said(design=frank_wolfe_design)
    assert "design is xy_design in the log and None here" in said(design=None)
    assert "table's a[1] is 2 in the log and 3 here" in said(table={"a": [1, 3]})
    assert "delta is 0.1 in the log and 0.2 here; table" in said(delta=0.2, table=5)
    Lab(patient(ARMS.tolist(), **(same | {"rng": np.random.default_rng(1)})), tmp_path / "log.csv")
    with pytest.raises(ValueError, match="the rule is patient in the log and rage here"):
        Lab(rage(ARMS, delta=0.1), tmp_path / "log.csv")


def own_design(arms, directions, tol=1e-3):
    return xy_design(arms, directions)


def shifted(by):
    return lambda arms, directions: xy_design(arms, directions + by)


def test_functions_count_by_name_a_users_by_what_they_do():
    def made(design):
        return identify(patient(ARMS, design=design))

    assert differences(made(own_design), made(own_design)) == []
    assert "design is own_design in the log" in differences(made(own_design), made(lambda arms, directions: None))[0]
    assert differences(made(shifted(1.0)), made(shifted(1.0))) == []
    assert "1.0 in the log and 2.0 here" in differences(made(shifted(1.0)), made(shifted(2.0)))[0]
    assert differences(made(partial(own_design, tol=1e-3)), made(partial(own_design, tol=1e-3))) == []
    assert (
        "tol is 0.001 in the log and 0.01 here"
        in (differences(made(partial(own_design, tol=1e-3)), made(partial(own_design, tol=1e-2)))[0])
    )


def test_an_argument_that_a_later_version_adds_is_no_difference_at_its_default():
    here = identify(rage(ARMS, delta=0.1))
    assert here.defaults["epsilon"] == 0.1 and "delta" not in here.defaults
    older = Experiment("rage", {name: value for name, value in here.arguments.items() if name != "epsilon"})
    assert differences(older, here) == []
    assert differences(older, identify(rage(ARMS, delta=0.1, epsilon=0.2))) == [
        "epsilon is 0.1 in the log and 0.2 here"
    ]
    newer = Experiment("rage", here.arguments | {"patience": 3})
    assert differences(newer, here) == ["there is no patience here"]


def test_an_argument_that_a_rule_has_no_more_is_no_difference_at_the_value_by_which_it_goes(tmp_path):
    here = identify(rage(ARMS, delta=0.1))
    older = {"rule": "widths", "objective": "best", "threshold": None}
    assert differences(Experiment("rage", here.arguments | older), here) == []
    halving = Experiment("rage", here.arguments | older | {"rule": "halving"})
    assert differences(halving, here) == ["rule is halving in the log and widths here"]
    single = identify(fws(ARMS, delta=0.1))
    assert differences(Experiment("fws", single.arguments | {"history": None, "trace": 0}), single) == []
    Lab(rage(ARMS, delta=0.1)).save(tmp_path / "log.csv")
    text = (tmp_path / "log.csv").read_text()
    (tmp_path / "log.csv").write_text(text.replace("# delta", '# rule = "widths"\n# delta'))
    Lab(rage(**logs.arguments(tmp_path / "log.csv")), tmp_path / "log.csv")


def test_the_arguments_in_a_log_make_its_algorithm(tmp_path):
    Lab(rage(ARMS, delta=0.1, sigma=0.7)).save(tmp_path / "log.csv")
    found = logs.arguments(tmp_path / "log.csv")
    np.testing.assert_array_equal(found["arms"], ARMS)
    assert found["items"] is None and found["sigma"] == 0.7 and "design" not in found
    Lab(rage(**found), tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("line", "put", "words"),
    [(1, "# delta = 0.x", "line 2: .* is not '# argument = value'"), (-1, "arm,count", "the columns must be")],
)
def test_a_head_that_is_damaged_is_refused(tmp_path, line, put, words):
    half_way().save(tmp_path / "log.csv")
    opening, _, rest = (tmp_path / "log.csv").read_text().partition("\n\n")
    lines = opening.splitlines()
    lines[line] = put
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n\n" + rest)
    with pytest.raises(ValueError, match=words):
        Lab(patient(ARMS), tmp_path / "log.csv")


# --- what spreadsheets and editors do to the file


def resaved(text, delimiter=",", end="\r\n", commas=False):
    """The file as a spreadsheet writes it: all rows equally wide, cells with a quotation mark in quotation marks."""
    rows = list(csv.reader(text.splitlines()))
    width, file = max(map(len, rows)), io.StringIO()
    if commas:
        rows = [[re.sub(r"^( *-?\d+)\.(\d+)$", r"\1,\2", cell) for cell in row] for row in rows]
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(row + [""] * (width - len(row)) for row in rows)
    return file.getvalue()


RESAVED = {
    "without empty lines": lambda text: re.sub("\n+", "\n", text),
    "without its last line end": lambda text: text.rstrip("\n"),
    "a spreadsheet": resaved,
    "semicolons and decimal commas": lambda text: resaved(text, ";", commas=True),
    "tabs": lambda text: resaved(text, "\t"),
    "semicolons alone": lambda text: text.replace(",", ";"),
    "lines as cells": lambda text: "".join('"{}";;\n'.format(line.replace('"', '""')) for line in text.splitlines()),
    "an old Macintosh": lambda text: text.replace("\n", "\r"),
    "Windows, no empty lines": lambda text: re.sub("\n+", "\r\n", text),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("change", RESAVED.values(), ids=RESAVED)
def test_a_log_that_a_spreadsheet_has_saved_goes_on(change, encoding, tmp_path):
    path, names = tmp_path / "log.csv", ["plain", 'a "bold", wide', "café,"]
    lab = Lab(patient(ARMS, table={"a": [0.25, "b"]}), names=names, unit="µV")
    lab.tell(sample([5, 0, 3]))
    lab.undo('1,5 was meant: "as always", says Zoë;')
    lab.tell(sample([2, 0, 1]))
    lab.save(path)
    path.write_bytes(change(path.read_text(encoding="utf-8")).encode(encoding))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = Lab(patient(ARMS, table={"a": [0.25, "b"]}), path)
    assert again.ask().tolist() == lab.ask().tolist() and again.names == names and again.unit == "µV"
    assert again._texts == lab._texts
    found = path.read_bytes()
    again.save(path)  # there is nothing to add
    lab.save(path)
    assert path.read_bytes().rstrip(b"\n") == found.rstrip(b"\n")
    again.tell(sample([3, 0, 2], seed=1))
    again.save(path)
    table = pd.read_csv(path, comment="#")
    assert table["count"].sum() == 8 and table["sum"].sum() == pytest.approx(sum(s.sums.sum() for s in again.log))
    assert Lab(patient(ARMS, table={"a": [0.25, "b"]}), path)._texts == again._texts


def test_an_entry_that_was_changed_counts_as_it_stands_with_one_warning(tmp_path):
    path, lab = tmp_path / "log.csv", Lab(patient(ARMS))
    lab.tell(Sample.of([0, 0, 2], [0.123456789012345, 1.5, 2.5], 3))
    lab.save(path)
    text = path.read_text()
    rounded = re.sub(r"(?<=,)\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", text)
    assert rounded != text
    for changed in (rounded, text.replace("1,2,0,1,2.5,6.25", "1,2,0,1,2,4")):
        path.write_text(changed)
        with pytest.warns(ReplayWarning) as caught:
            again = Lab(patient(ARMS), path)
        assert len(caught) == 1
        at = changed.splitlines().index(next(e for e in changed.splitlines() if "# rows" in e))
        assert f"the entry in line {at} was changed after it was written" in str(caught[0].message)
        assert again.log[0].sums.sum() == pytest.approx(4.12345679 if changed is rounded else 3.62345679, rel=1e-4)
        again.save(tmp_path / "other.csv")
        with pytest.warns(ReplayWarning, match="was changed"):
            Lab(patient(ARMS), tmp_path / "other.csv")


def test_what_was_changed_by_hand_may_be_undone(tmp_path):
    path, lab = tmp_path / "log.csv", Lab(patient(ARMS))
    lab.tell(Sample.of([0], [18.0], 3))
    lab.save(path)
    path.write_text(path.read_text().replace("1,0,0,1,18,324", "1,0,0,1,1.8,3.24"))
    lab.undo()  # by a Lab that has not read the change
    lab.save(path)
    with pytest.warns(ReplayWarning, match="was changed"):
        assert Lab(patient(ARMS), path).ask().tolist() == [5, 0, 3]


def test_rows_that_are_in_no_entry_are_named_by_their_line(tmp_path):
    path, lab = tmp_path / "log.csv", half_way()
    lab.save(path)
    before = path.read_text()
    path.write_text(before + "1,0,0,1,0.5,0.25\n" + logs.text(logs.entry(1, sample([0, 0, 1]))))
    line = before.count("\n") + 1
    with pytest.raises(
        ValueError, match=f"line {line}: '1,0,0,1,0.5,0.25' belongs to no entry: an entry begins with '# entry'"
    ):
        Lab(patient(ARMS), path)
    path.write_text(re.sub("# end .*\n", "", before, count=1))  # by hand: the entry ends where the next one begins
    with pytest.warns(ReplayWarning, match=r"the entry in line \d+ was changed"):
        assert Lab(patient(ARMS), path).ask().tolist() == lab.ask().tolist()


# --- names and unit


def test_the_names_of_the_arms_are_kept_and_checked(tmp_path):
    path, names = tmp_path / "log.csv", ["plain", "cafe\u0301", "picture"]
    lab = Lab(patient(ARMS), names=names, unit="mV")
    lab.save(path)
    assert lab.names == ["plain", "caf\u00e9", "picture"] and '"caf\u00e9"' in path.read_text(encoding="utf-8")
    again = Lab(patient(ARMS), path)
    assert again.names == lab.names and again.unit == "mV"
    Lab(patient(ARMS), path, names=[" plain", "caf\u00e9", "picture"], unit="mV")
    for wrong, words in (
        (["plain", "picture", "café"], "arm 1 is 'café' in the log and 'picture' here"),
        (["Plain", "café", "picture"], "arm 0 is 'plain' in the log and 'Plain' here"),
    ):
        with pytest.raises(ValueError, match=f"another experiment: {words}. To go on"):
            Lab(patient(ARMS), path, names=wrong)
        with pytest.raises(ValueError, match=f"left as it is: .*{words}"):
            Lab(patient(ARMS), names=wrong).save(path)
    with pytest.raises(ValueError, match="rewards are in 'mV' in the log and in 'V' here"):
        Lab(patient(ARMS), path, unit="V")
    with pytest.raises(ValueError, match="there must be one name for each of the 3 arms; got 2"):
        Lab(patient(ARMS), names=["a", "b"])
    with pytest.raises(ValueError, match="names must differ"):
        Lab(patient(ARMS), names=["a", "b", "a"])


def test_a_log_without_names_opens_with_any(tmp_path):
    half_way().save(tmp_path / "log.csv")
    lab = Lab(patient(ARMS), tmp_path / "log.csv")
    assert lab.names is None and lab.unit == Lab(patient(ARMS), unit=None).unit == ""
    assert Lab(patient(ARMS), tmp_path / "log.csv", names=["a", "b", "c"]).names == ["a", "b", "c"]


def test_a_reason_of_any_characters_is_one_line_that_stays(tmp_path):
    lab = half_way()
    lab.undo('\0caf\udce9,\n"x"\u2028# end 00000000;,')
    lab.save(tmp_path / "log.csv")
    assert "# undone: the last entry: caf\\udce9, 'x' # end 00000000\n" in (tmp_path / "log.csv").read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Lab(patient(ARMS), tmp_path / "log.csv")._texts == lab._texts
