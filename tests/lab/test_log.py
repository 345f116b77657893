"""Logs that outlive the computer: kills, full disks, two writers, another experiment, lines that were damaged."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from bandits_lab import Lab, read_measurements  # noqa: F401
from bandits_lab import log as logs
from bandits_lab.lab import ReplayWarning
from bandits_lab.log import Experiment, differences, identify
from bandits_lib import Result, Sample, rule
from bandits_lib.design import frank_wolfe_design, xy_design
from bandits_lib.fixed_confidence import rage

ARMS = np.array([[1.0, 0.0], [0.3, 0.7], [np.pi, 1e-3]])


@rule
def patient(arms, delta=0.1, rng=None, design=None, table=None):
    """Three requests; the second asks for what the first returned."""
    first = yield np.array([5, 0, 3])
    second = yield np.array([0, 2 + int(first.sums[0] > 0), 1])
    third = yield np.array([1, 1, 1])
    return Result(1, (first, second, third))


@rule
def endless(arms):
    yield np.array([10**9])


def sample(counts, seed=0):
    counts, rng = np.array(counts), np.random.default_rng(seed)
    return Sample.of(np.repeat(np.arange(len(counts)), counts), rng.standard_normal(counts.sum()), len(counts))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.fixture
def half_way(path):
    lab = Lab(patient(ARMS), path)
    lab.tell(sample([2, 0, 1]))
    return lab


# --- what a person sees


def test_the_file_can_be_read_and_has_every_step(path, half_way):
    half_way.tell(sample([3, 0, 2], seed=3))
    half_way.tell(sample(half_way.ask()))
    half_way.tell(sample(half_way.ask()))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    kinds = [record["kind"] for record in records]
    assert kinds == ["experiment", "asked", "told", "told", "asked", "told", "asked", "told", "done"]
    assert records[0]["rule"] == "patient" and records[0]["arguments"]["delta"] == 0.1 and records[0]["version"]
    assert records[1]["wanted"] == [[0, 5], [2, 3]] and records[2]["rows"][0][:3] == ["", 0, 2]
    assert records[-1]["recommendation"] == half_way.result.recommendation == 1
    assert len({record["id"] for record in records}) == 9 and all(record["time"] for record in records)
    assert Lab(patient(ARMS), path).result.recommendation == 1


def test_nothing_is_written_before_the_first_step(path):
    Lab(patient(ARMS), path)
    assert not path.exists()


# --- kills


def test_a_kill_at_any_byte_loses_nothing_that_was_acknowledged(path, half_way):
    before, last = path.read_bytes(), sample([3, 0, 2], seed=5)
    half_way.tell(last)
    after = path.read_bytes()
    first = before + after[len(before) :].split(b"\n")[0] + b"\n"  # with the record of the measurements
    for end in range(len(before), len(after)):
        path.write_bytes(after[:end])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = Lab(patient(ARMS), path)
        assert [w.category for w in caught] == [ReplayWarning] * (after[end - 1 : end] != b"\n")
        counts = end >= len(first)
        assert again.ask().tolist() == (
            [0, 2 + int(half_way.log[0].sums[0] + last.sums[0] > 0), 1] if counts else [3, 0, 2]
        )
        if not counts:
            again.tell(last)
            assert path.read_bytes().startswith(before) and len(path.read_bytes().splitlines()) == 4
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = Lab(patient(ARMS), path)
        assert again.all_told.counts.tolist() == [5, 0, 3] and again.requests == [1, 1]


def script(text, *arguments, **more):
    """Run a script that may import the tests beside this one; return what it prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])}
    command = [sys.executable, "-W", "ignore", "-c", text, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, **more)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


TELLERS = """
import os, sys
import test_log as t
path, form = sys.argv[1:]
t.Lab(t.endless([[1.0]]), path)
go, start = os.pipe()
children = []
for me in range(3):
    if not (child := os.fork()):
        os.close(start)
        os.read(go, 1)
        for n in range(20):
            lab = t.Lab(t.endless([[1.0]]), path)
            lab.tell(t.read_measurements(f"{form}{(n * (me + 1)) % 12}.csv", [0]))  # of the same twelve files
            lab.tell(t.Sample.of([0], [1000.0 * me + n], 1))
        os._exit(0)
    children.append(child)
os.close(start)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
"""


@pytest.mark.slow
def test_three_processes_that_tell_the_same_and_other_measurements_at_the_same_time(path, tmp_path):
    lab = Lab(endless([[1.0]]), path)
    lab._missing[:] = 120  # tickets for so many
    tickets = [ticket for ticket, _ in lab.tickets()]
    for n in range(12):
        rows = [f"{ticket},0,{n}.5" for ticket in tickets[10 * n : 10 * n + 10]]
        (tmp_path / f"form{n}.csv").write_text("\n".join(["ticket,arm,reward", *rows]))
    script(TELLERS, path, tmp_path / "form")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for one in logs.standing(logs.read(path)[0]) for row in one["rows"]]
    assert sorted(row[3] for row in rows if not row[0]) == sorted(1000.0 * me + n for me in range(3) for n in range(20))
    assert sorted(row[0] for row in rows if row[0]) == sorted(tickets)


def test_two_labs_of_one_log_take_in_each_others_steps(path):
    one, other = (Lab(patient(ARMS), path) for _ in range(2))
    one.tell(sample([5, 0, 0], seed=1))
    with pytest.raises(ValueError, match="but only 0 were asked for"):
        other.tell(sample([1, 0, 0], seed=2))
    other.tell(sample([0, 0, 3], seed=2))
    assert other.ask()[1] and one.undo() == "taken back: 3 measurements"
    assert one.ask().tolist() == [0, 0, 3] == Lab(patient(ARMS), path).ask().tolist()
    other.tell(sample([0, 0, 1], seed=2))
    assert other.ask().tolist() == [0, 0, 2]


# --- disks


@pytest.mark.parametrize("begun", [False, True])
def test_on_a_full_disk_nothing_is_lost_and_nothing_counts_twice(path, full_disk, begun):
    failed = 0
    for n in range(1, 20):
        path.unlink(missing_ok=True)
        lab = Lab(patient(ARMS), path)
        if begun:
            lab.tell(sample([2, 0, 0]))
        before, rest = path.read_bytes() if begun else None, [3 if begun else 5, 0, 3]
        left = full_disk(n)
        try:
            lab.tell(sample(rest, seed=1))
        except OSError as error:
            assert "cannot write" in str(error) and "No space left" in str(error).replace("no", "No")
            failed += 1
            left[0] = 0
            assert (path.read_bytes() if path.exists() else None) == before and lab.ask().tolist() == rest
            lab.tell(sample(rest, seed=1))
        for each in (lab, Lab(patient(ARMS), path)):
            assert each.all_told.counts.tolist() == [5, 0, 3] and len(each.ask()) == 3
        if left[0] > 0:
            break
    assert failed >= 2


def test_a_folder_that_is_missing_and_a_file_that_is_read_only(tmp_path, path, half_way):
    with pytest.raises(FileNotFoundError, match="cannot write .*nowhere.log.jsonl: no such file or directory"):
        Lab(patient(ARMS), tmp_path / "nowhere" / "log.jsonl").tell(sample([1, 0, 0]))
    os.chmod(path, 0o444)
    saved = path.read_bytes()
    with pytest.raises(PermissionError, match=r"log.jsonl is read-only"):
        half_way.tell(sample([3, 0, 2]))
    assert path.read_bytes() == saved and half_way.ask().tolist() == [3, 0, 2]
    os.chmod(path, 0o644)
    half_way.tell(sample([3, 0, 2]))
    assert Lab(patient(ARMS), path).ask().tolist() == half_way.ask().tolist()


def test_a_log_that_is_gone_or_shorter_is_not_written(path, half_way):
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ValueError, match="has become shorter: another program has replaced it"):
        half_way.tell(sample([1, 0, 0]))
    path.unlink()
    with pytest.raises(FileNotFoundError, match="is gone: restore it"):
        half_way.tell(sample([1, 0, 0]))
    assert not path.exists()
    path.write_bytes(whole)
    half_way.tell(sample([1, 0, 0]))


def test_a_link_to_a_log_stays_a_link(tmp_path, path):
    (tmp_path / "link").symlink_to(path)
    Lab(patient(ARMS), tmp_path / "link").tell(sample([2, 0, 1]))
    assert (tmp_path / "link").is_symlink() and len(Lab(patient(ARMS), path).log) == 1


# --- files that are not this log


@pytest.mark.parametrize("damage", [b"}", b'{"kind": "told"}', b'{"kind": "tell", "rows": []}', b"[1]", b"\xff\xfe"])
def test_a_damaged_line_stops_with_its_number_and_the_file_that_has_its_rows(tmp_path, path, half_way, damage):
    kept = sample([1, 0, 0])
    for n in (1, 2):
        (tmp_path / f"measured_000{n}.csv").write_text("arm,reward\n")
    told = type("Kept", (Sample,), {"file": "measured_0001.csv"})(*kept)
    half_way.tell(told)
    half_way.tell(type("Kept", (Sample,), {"file": "measured_0002.csv"})(*kept))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], damage, *lines[4:]]))
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"line 4 of .*log.jsonl cannot be read.* rows are probably in measured_0001.csv\. "
    ):
        Lab(patient(ARMS), path)
    assert path.read_bytes() == before
    path.write_bytes(b"\n".join([*lines[:3], b"", *lines[4:]]).replace(b"\n", b"\r\n"))  # an editor's line ends
    assert Lab(patient(ARMS), path).all_told.counts.tolist() == [3, 0, 1]


@pytest.mark.parametrize(
    "content", [b"arm,reward\n0,1.0\n", b"\xff\xfe\x00PNG", b"notes", b'{"a": 1}\n', b"\n# notes\n"]
)
def test_files_that_are_no_log_are_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="line [12] of .*log.jsonl"):
        Lab(patient(ARMS), path)
    assert path.read_bytes() == content
    path.write_bytes(b"")  # there is nothing to lose
    Lab(patient(ARMS), path).tell(sample([2, 0, 1]))
    assert len(Lab(patient(ARMS), path).log) == 1


def test_a_log_of_release_03_is_refused_with_what_to_do(path):
    path.write_text("# bandits_lab log 3 of patient\n# delta = 0.1\n")
    with pytest.raises(
        ValueError, match="line 1 .* was written by release 0.3: finish the experiment with that release"
    ):
        Lab(patient(ARMS), path)


# --- the same experiment, and another


def test_arms_that_a_csv_has_rounded_or_another_blas_computed_are_the_same(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(100):
        arms = rng.standard_normal((4, 3)) * 10.0 ** rng.integers(-2, 3, 3)
        here = identify(patient(arms))
        (tmp_path / "arms.csv").write_text("\n".join(",".join(f"{x:.15g}" for x in row) for row in arms))
        for other in (
            np.loadtxt(tmp_path / "arms.csv", delimiter=","),
            np.nextafter(arms, rng.choice([-np.inf, np.inf], arms.shape)),
            arms * (1 + 3e-15 * rng.standard_normal(arms.shape)),
        ):
            assert differences(here, identify(patient(other))) == []
        k, j = rng.integers(4), rng.integers(3)
        arms[k, j] *= 1 + 1e-10
        assert len(differences(here, identify(patient(arms)))) == 1


def test_what_differs_is_named(path):
    same = {"rng": np.random.default_rng(1), "design": xy_design, "table": {"a": [1, np.nan]}}
    Lab(patient(ARMS, **same), path).tickets()
    saved, wrong = path.read_bytes(), ARMS.copy()
    wrong[2, 0] = 3.0

    def said(arms=ARMS, **changes):
        with pytest.raises(ValueError, match="is the log of another experiment") as refused:
            Lab(patient(arms, **(same | changes)), path)
        return str(refused.value)

    assert "arms has 3 entries in the log and 2 here" in said(ARMS[:2])
    assert "arms[2][0] is 3.141592653589793 in the log and 3.0 here" in said(wrong)
    assert "experiment: delta is 0.1 in the log and 0.2 here." in said(delta=0.2)
    assert "xy_design' in the log" in said(design=frank_wolfe_design)
    assert "in the log and None here" in said(design=None)
    assert "table's a[0] is 1 in the log and 3 here" in said(table={"a": [3, np.nan]})
    assert "delta is 0.1 in the log and 0.2 here; table" in said(delta=0.2, table=5)
    Lab(patient(ARMS.tolist(), **(same | {"rng": np.random.default_rng(2)})), path)
    with pytest.raises(ValueError, match="the rule is patient in the log and rage here"):
        Lab(rage(ARMS, delta=0.1), path)
    assert path.read_bytes() == saved


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


def test_the_names_of_the_arms_are_kept_and_checked(path):
    names = ["plain", "cafe\u0301", "picture"]
    lab = Lab(patient(ARMS), path, names=names, unit="mV")
    lab.tickets()
    assert lab.names == ["plain", "caf\u00e9", "picture"] and '"caf\u00e9"' in path.read_text(encoding="utf-8")
    again = Lab(patient(ARMS), path)
    assert again.names == lab.names and again.unit == "mV"
    Lab(patient(ARMS), path, names=[" plain", "caf\u00e9", "picture"], unit="mV")
    for wrong, words in (
        (["plain", "picture", "café"], "names[1] is 'café' in the log and 'picture' here"),
        (["Plain", "café", "picture"], "names[0] is 'plain' in the log and 'Plain' here"),
    ):
        with pytest.raises(ValueError) as refused:
            Lab(patient(ARMS), path, names=wrong)
        assert f"another experiment: {words}. To go on" in str(refused.value)
    for unit in ("V", "MV"):
        with pytest.raises(ValueError, match=f"unit is 'mV' in the log and '{unit}' here"):
            Lab(patient(ARMS), path, unit=unit)
    with pytest.raises(ValueError, match="there must be one name for each of the 3 arms; got 2"):
        Lab(patient(ARMS), names=["a", "b"])
    with pytest.raises(ValueError, match="names must differ"):
        Lab(patient(ARMS), names=["a", "b", "a"])


def test_a_log_without_names_opens_with_any_and_has_numbers(path, half_way):
    lab = Lab(patient(ARMS), path)
    assert lab.names is None and lab.unit == Lab(patient(ARMS), unit=None).unit == ""
    with_names = Lab(patient(ARMS), path, names=["a", "b", "c"])
    assert with_names.names == ["a", "b", "c"] and with_names.ask().tolist() == [3, 0, 2]
    with_names.tell(sample([1, 0, 0]))
    assert Lab(patient(ARMS), path, names=["a", "b", "c"]).ask().tolist() == [2, 0, 2]


def test_a_reason_and_names_of_any_characters_stay(path):
    names = ["a\udce9", 'b,"\n', "c\u2028"]
    lab = Lab(patient(ARMS), path, names=names)
    lab.tell(sample([2, 0, 1]))
    lab.undo('\0caf\udce9,\n"x"\u2028;,')
    again = Lab(patient(ARMS), path)
    assert again.names == lab.names and again.ask().tolist() == [5, 0, 3]
    assert logs.read(path)[0][-1]["reason"] == 'caf\udce9, "x" ;,'
