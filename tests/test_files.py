"""Files of every kind outlive a kill at every write, two writers lose nothing, and no lock file shuts anybody out."""

import errno
import json
import multiprocessing
import os
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import claim

from bandits_companion import claims
from bandits_lib import LinearBandit, files, monte_carlo
from bandits_lib.figures import results
from bandits_lib.files import atomic_write, locked
from bandits_lib.fixed_confidence import rage
from bandits_lib.simulate.monte_carlo import Checkpoint

LONG = 10_000  # characters: what is cut in half shows it


class Large:
    """A table and a picture of one character, `LONG` times."""

    def __init__(self, character):
        self.text = character * LONG

    def to_csv(self, path=None, **how):
        return self.text if path is None else Path(path).write_text(self.text)

    def savefig(self, file, **how):
        file.write(self.text.encode())


# --- what a writer does in its n-th step, and how many steps the files hold; a torn file is a failure


def draw(folder, n):
    results.provenance = lambda parameters, notebook: {"step": n, "command": ""}
    results.drawing_code, results.CHECKOUT = str, Path("nowhere")
    runs, large = pd.DataFrame({"run": [n], "pulls": ["x" * LONG]}), Large(str(n))
    results.save(large, "p/fig", folder, runs=runs, parameters={}, notebook="")
    results.save_picture(large, "p/fig", folder, alt="")


def drawn(folder):
    for ending in (".csv", ".png", ".pdf"):
        text = (folder / "figures" / "p" / f"fig{ending}").read_text()
        assert len(text) == LONG and len(set(text)) == 1
    assert len(pd.read_csv(folder / "figures" / "p" / "fig_runs.csv")["pulls"].item()) == LONG
    return json.loads((folder / "figures" / "p" / "fig.json").read_text())["step"] + 1


def judge(folder, n):
    folder.mkdir(exist_ok=True)
    made = [claim(f"fiez2019_demo/{number}", 0.5, quote="x" * LONG) for number in range(n + 1)]
    claims.show = lambda claims: None
    claims.registry.find = lambda: {one.entry.id: one.entry for one in made}
    claims.save(made, folder)


def judged(folder):
    found = pd.read_csv(folder / "figures" / "claims" / "fiez2019_demo.csv")
    assert (found["quote"].str.len() == LONG).all()
    return len(found)


RUNS = 3  # of a step


def play_runs(runs, path=None):
    players = {"rage": lambda problem, rng: rage(problem.arms, delta=0.05)}
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0])
    return monte_carlo(players, problem, runs=runs, checkpoint=path, progress=False).drop(columns="seconds")


def simulate(folder, n):
    folder.mkdir(exist_ok=True)
    kept = play_runs(RUNS * (n + 1), folder / "runs.jsonl")
    pd.testing.assert_frame_equal(kept, play_runs(RUNS * (n + 1)))


def simulated(folder):
    _, *whole = (folder / "runs.jsonl").read_bytes().split(b"\n")[:-1]
    assert [json.loads(line)["run"] for line in whole] == list(range(len(whole)))
    return len(whole) / RUNS


KINDS = {  # at least so many writes in a step
    "figures": (draw, drawn, 5),
    "claims": (judge, judged, 1),
    "runs": (simulate, simulated, RUNS),
}


@pytest.mark.parametrize(
    "kind", ["claims", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("figures", "runs"))]
)
def test_a_kill_at_any_write_leaves_the_old_file_or_the_new_one_or_whole_records(kind, killed_at_every_write):
    work, found, writes = KINDS[kind]
    assert killed_at_every_write(f"from test_files import {work.__name__} as work, {found.__name__} as found") >= writes


def rows_of(n):
    return [{"run": n, "pulls": [n] * 15_000}]


def keep(folder, n):
    Checkpoint(folder / "kept.jsonl", "abc").append(n, rows_of(n))


def write_thirty(folder, first):
    whole = files._whole
    files._whole = lambda file: (whole(file), time.sleep(0.002))[0]  # time for the other to write, if it could
    for n in range(first, first + 30):
        keep(folder, n)
        atomic_write(folder / "whole.txt", str(first // 30) * LONG)


@pytest.mark.slow
def test_two_writers_and_a_reader_lose_nothing(tmp_path):
    start = multiprocessing.get_context("spawn")
    writers = [start.Process(target=write_thirty, args=(tmp_path, first)) for first in (0, 30)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        found = Checkpoint(tmp_path / "kept.jsonl", "abc").read()
        assert all(rows == rows_of(run) for run, rows in found.items())
        if (tmp_path / "whole.txt").exists():
            assert (tmp_path / "whole.txt").read_text() in ("0" * LONG, "1" * LONG)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sorted(Checkpoint(tmp_path / "kept.jsonl", "abc").read()) == list(range(60))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kept.jsonl.lock", "kept.jsonl", "whole.txt"]


# --- checkpoints


def test_a_torn_line_goes_and_what_another_process_wrote_meanwhile_stays(tmp_path):
    path = tmp_path / "c.jsonl"
    slow = Checkpoint(path, "abc")
    slow.read()
    for n in (0, 1):
        Checkpoint(path, "abc").append(n, rows_of(n))
    whole = path.read_bytes()
    for torn in (b'{"run": 2', b'{"run": 2, "rows": [' + b"1" * 60_000):
        path.write_bytes(whole + torn)
        assert list(slow.read()) == [0, 1] and path.read_bytes() == whole + torn, "reading changes nothing"
    slow.append(2, rows_of(2))
    assert path.read_bytes().startswith(whole) and list(slow.read()) == [0, 1, 2]


@pytest.mark.parametrize("other", [b'{"experiment": "abd"}\n{"run": 0, "rows": []}\n', b"notes of mine", b"\x00\xff\n"])
def test_a_file_of_another_version_or_kind_is_refused_and_left_as_it_is(tmp_path, other):
    (tmp_path / "kept.jsonl").write_bytes(other)
    for use in (lambda: Checkpoint(tmp_path / "kept.jsonl", "abc").read(), lambda: keep(tmp_path, 0)):
        with pytest.raises(ValueError, match="kept.jsonl is of another experiment"):
            use()
    assert (tmp_path / "kept.jsonl").read_bytes() == other


# --- one file


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    atomic_write(path, "old\n")
    monkeypatch.setattr(os, "fsync", refusing(errno.ENOSPC))
    with pytest.raises(OSError, match="cannot write .*a.csv: no space left on device"):
        atomic_write(path, "new\n")
    assert path.read_text() == "old\n" and [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_every_byte_is_written_before_the_disk_is_asked_to_keep_it(tmp_path, monkeypatch):
    sizes, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (sizes.append(os.fstat(number).st_size), fsync(number)))
    atomic_write(tmp_path / "a", "one\n")
    files.append(tmp_path / "a", b"two\n")
    assert sizes == [4, 8]


def test_mode_and_links_of_a_file_stay(tmp_path):
    (tmp_path / "folder").mkdir()
    path, link = tmp_path / "folder" / "a.csv", tmp_path / "link.csv"
    atomic_write(path, "é\n")
    path.chmod(0o640)
    link.symlink_to(path)
    atomic_write(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="a.csv is read-only: make it writable, or save under another name"):
        atomic_write(path, "newer")
    assert path.read_bytes() == b"new"


# --- the lock


def test_the_lock_is_exclusive_and_any_user_may_take_it_after_a_kill(tmp_path):
    path = tmp_path / "log.csv"
    with locked(path):
        with pytest.raises(TimeoutError, match="log.csv is being written by another program"):
            with locked(path, patience=0.1):
                pass
        assert (tmp_path / ".log.csv.lock").stat().st_mode & 0o777 == 0o666
    (tmp_path / ".log.csv.lock").write_text("left by a computer that lost its power")
    with locked(path, patience=0.1):
        pass


def test_a_writer_waits_for_the_other(tmp_path):
    path, order = tmp_path / "a", []

    def later():
        with locked(path, patience=60):
            order.append("second")

    with locked(path):
        thread = threading.Thread(target=later)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


def refusing(number):
    def refuse(*arguments, **more):
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EDQUOT])
def test_what_is_wrong_with_a_disk_is_said_in_one_sentence(tmp_path, monkeypatch, number):
    monkeypatch.setattr(os, "fsync", refusing(number))
    said = f"cannot write .*a.csv: {os.strerror(number).lower()}; what was saved before is still there"
    with pytest.raises(OSError, match=said) as raised:
        atomic_write(tmp_path / "a.csv", "text")
    assert raised.value.errno == number and not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot write .*nowhere.a.csv: no such file or directory"):
        atomic_write(tmp_path / "nowhere" / "a.csv", "text")
