"""Files of every kind outlive a kill at any moment, two writers lose nothing, and no lock file shuts anybody out."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from made_up import claim

from bandits_companion import claims
from bandits_lab import Lab, log
from bandits_lab.experiment import Experiment
from bandits_lib import LinearBandit, Sample, files, monte_carlo, rule
from bandits_lib.figures import results
from bandits_lib.files import atomic_write, locked
from bandits_lib.fixed_confidence import rage
from bandits_lib.simulate.monte_carlo import Checkpoint

LARGE = 2**19  # bytes: a write takes most of the time that a killed process has
KILLS = 20  # of each kind


class Large:
    """A table and a picture of one character, `LARGE` times."""

    def __init__(self, character):
        self.text = character * LARGE

    def to_csv(self, path=None, **how):
        return self.text if path is None else Path(path).write_text(self.text)

    def savefig(self, file, **how):
        file.write(self.text.encode())


# --- what a writer does in its n-th step, and what must be found after the kill: `done` steps had come to their end


def draw(folder, n):
    results.provenance, results.CHECKOUT = lambda parameters, notebook: {"step": n}, Path("nowhere")
    runs, large = pd.DataFrame({"run": [n], "pulls": ["x" * LARGE]}), Large(str(n % 10))
    results.save(large, "p/fig", folder, runs=runs, parameters={}, notebook="")
    results.save_picture(large, "p/fig", folder, alt="")


def drawn(folder, done):
    of = {}
    for ending in (".csv", ".png", ".pdf"):
        text = (folder / "figures" / "p" / f"fig{ending}").read_text()
        assert len(text) == LARGE and len(set(text)) == 1
        of[ending] = int(text[0])
    said = json.loads((folder / "figures" / "p" / "fig.json").read_text())["step"]
    assert said in (done - 1, done) and set(of.values()) <= {(said + more) % 10 for more in (-1, 0, 1)}
    assert len(pd.read_csv(folder / "figures" / "p" / "fig_runs.csv")["pulls"].item()) == LARGE


def judge(folder, n):
    made = [claim(f"fiez2019_demo/{number}", 0.5, quote="x" * LARGE) for number in range(1 + n % 2)]
    claims.show = lambda claims: None
    claims.registry.find = lambda: {one.entry.id: one.entry for one in made}
    claims.save(made, folder)


def judged(folder, done):
    found = pd.read_csv(folder / "figures" / "claims" / "fiez2019_demo.csv")
    assert (found["quote"].str.len() == LARGE).all()
    assert len(found) in (1 + (done - 1) % 2, 1 + done % 2)


@cache
def entry(n):
    rows = tuple(log.Row(0, 1, 0, 0, 1, n + k / 10_000, 1.0) for k in range(500))
    return log.text(log.Entry(rows, id=f"{n:016x}", time="2026-11-23T15:00:00Z"))


EXPERIMENT = Experiment("patient", {"delta": 0.1})


def tell(folder, n):
    first = log.entry(0, asked=[10**6])._replace(id="f" * 16)
    texts = [log.text(first), *map(entry, range(n))]
    log.save(folder / "log.csv", EXPERIMENT, log.head(EXPERIMENT), texts)


def told(folder, done):
    entries = log.read(folder / "log.csv").entries[1:]
    assert len(entries) in (done - 1, done)
    assert [log.text(found) for found in entries] == list(map(entry, range(len(entries))))


def rows_of(n):
    return [{"run": n, "pulls": [n] * 15_000}]


def keep(folder, n, identity="abc"):
    Checkpoint(folder / "kept.jsonl", identity).append(n, rows_of(n))


def kept(folder, done):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Checkpoint(folder / "kept.jsonl", "abc").read()
    assert list(found) == list(range(len(found))) and len(found) in (done, done + 1)
    assert all(rows == rows_of(n) for n, rows in found.items())
    return len(found)


@rule
def endless(arms):
    yield np.array([10**9])


def reward(n):
    return float(np.random.default_rng(n).standard_normal())


@cache
def laboratory(path):
    return Lab(endless([[1.0]]), path if path.exists() else ())


def experiment(folder, n):
    lab = laboratory(folder / "lab.csv")
    lab.tell(Sample.of([0], [reward(len(lab.log))], 1))
    lab.save(folder / "lab.csv")


def experimented(folder, done):
    found = [row.sum for entry in log.read(folder / "lab.csv").entries for row in entry.told]
    assert len(found) in (done, done + 1) and found == list(map(reward, range(len(found))))
    return len(found)


RUNS = 3  # of a step


def rows_played(steps, path):
    sys.modules[monte_carlo.__module__].fingerprint = lambda *texts: "one key"  # each step is the same experiment
    players = {"rage": lambda problem, rng: rage(problem.arms, delta=0.05)}
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0])
    return monte_carlo(players, problem, runs=RUNS * steps, checkpoint=path, progress=False).drop(columns="seconds")


def simulate(folder, n):
    assert rows_played(n + 1, folder / "runs.jsonl")["run"].tolist() == list(range(RUNS * (n + 1)))


def simulated(folder, done):
    path = folder / "runs.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Checkpoint(path, json.loads(path.read_bytes().splitlines()[0])["experiment"]).read()
    assert RUNS * done <= len(found) <= RUNS * (done + 1)
    undisturbed = rows_played(done + 1, folder / "undisturbed.jsonl").to_dict("records")
    for (run, rows), alone in zip(found.items(), undisturbed, strict=False):
        assert [{**row, "seconds": 0} for row in rows] == [{**alone, "seconds": 0}] and run == alone["run"]


KINDS = {"figures": (draw, drawn), "claims": (judge, judged), "log": (tell, told), "checkpoint": (keep, kept)}
AT_ONCE = {"lab": (experiment, experimented), "runs": (simulate, simulated), "figures": (draw, drawn)}


def forked(*loops):
    """A process that does loops (step, numbers) at once: its id, and a pipe with the loop's number after each step."""
    done, told = os.pipe()
    child = os.fork()
    if child:
        os.close(told)
        return child, done
    os.fsync = lambda file: None  # no disk loses its power here, and writing shall take most of the time

    def work(number, step, numbers):
        try:
            for n in numbers:
                step(n)
                os.write(told, bytes([number]))
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    threads = [threading.Thread(target=work, args=(number, *loop)) for number, loop in enumerate(loops)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(0)


def killed(kinds, folder, kills=KILLS, latest=0.03):
    """Kill processes at random moments of their writing, and look at the files each time."""
    rng, n, steps, hit = np.random.default_rng(0), [0] * len(kinds), 0, Counter()
    with TemporaryDirectory() as elsewhere:
        for write, _ in kinds.values():  # imports and compiles
            write(Path(elsewhere), 0)
    for _ in range(kills):
        loops = zip(kinds.values(), n, strict=True)
        child, done = forked(*((partial(write, folder), range(first, first + 1_000)) for (write, _), first in loops))
        said = os.read(done, 1)
        assert said, "the writer failed"
        time.sleep(rng.uniform(0, latest))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer failed"
        while more := os.read(done, 1_000):
            said += more
        os.close(done)
        steps += len(said)
        hit.update(["within a write"] * any(folder.rglob("*.lock")) + [path.stem for path in folder.rglob("*.lock")])
        for number, (_, check) in enumerate(kinds.values()):
            n[number] += said.count(number)
            if n[number]:
                n[number] = check(folder, n[number]) or n[number]
        for beside in folder.rglob(".*.lock"):
            with locked(beside.with_name(beside.name[1:-5]), patience=0.1):
                pass
    for first, (write, check) in zip(n, kinds.values(), strict=True):
        write(folder, first)
        check(folder, first + 1)
    print(*kinds, kills, hit["within a write"], steps, *n, dict(hit))


def in_a_process(call, folder):
    """Fork from a process without threads, which needs seconds where a core is free."""
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    code = f"import test_files as t; {call}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one_or_whole_records(tmp_path):
    said = in_a_process("[t.killed({kind: t.KINDS[kind]}, t.Path('.')) for kind in t.KINDS]", tmp_path)
    assert [line.split()[0] for line in said.splitlines()] == list(KINDS)


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_process_that_writes_everything_at_once_is_killed_and_loses_nothing(tmp_path, kills):
    """A Lab, runs with a checkpoint, and a figure with its tables: what was acknowledged is there, once and whole."""
    said = in_a_process(f"t.killed(t.AT_ONCE, t.Path('.'), {kills}, 0.15)", tmp_path)
    within, _, *each = map(int, said.split()[4:9])
    assert within >= 0.3 * kills, "too many kills between two writes"
    assert all(each), "a writer came to nothing"


def side_by_side(folder, n=30):
    """Two processes add to a checkpoint and replace a file, which a third reads meanwhile."""

    def write(first, number):
        keep(folder, first + number)
        atomic_write(folder / "whole.txt", str(first // n) * LARGE)

    whole = files._whole
    files._whole = lambda file: (whole(file), time.sleep(0.002))[0]  # time for the other to write, if it could
    children = [forked((partial(write, first), range(n))) for first in (0, n)]
    for step in range(n):
        found = Checkpoint(folder / "kept.jsonl", "abc").read()
        assert all(rows == rows_of(run) for run, rows in found.items())
        if step:
            assert (folder / "whole.txt").read_text() in ("0" * LARGE, "1" * LARGE)
        for _, done in children:
            os.read(done, 1)
    assert [os.waitpid(child, 0)[1] for child, _ in children] == [0, 0]
    assert sorted(Checkpoint(folder / "kept.jsonl", "abc").read()) == list(range(2 * n))
    print(*sorted(path.name for path in folder.iterdir()))


def test_two_writers_and_a_reader_lose_nothing(tmp_path):
    found = in_a_process("t.side_by_side(t.Path('.'))", tmp_path).split()
    assert found == [".kept.jsonl.lock", "kept.jsonl", "whole.txt"]


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
    path, start = tmp_path / "log.csv", time.monotonic()
    with locked(path):
        with pytest.raises(TimeoutError, match="log.csv is being written by another program"):
            with locked(path, patience=0.1):
                pass
        assert time.monotonic() < start + 30
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
