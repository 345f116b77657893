"""What tests share: time for slow machines, threads that take turns, a process killed at every write, a full disk."""

import errno
import os
import subprocess
import sys

import pytest

from bandits_lib import files

os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "900s")  # a slow machine is not a failure

KILLED = """
import itertools, os, shutil, signal, sys, traceback
from pathlib import Path
from bandits_lib import files

def ends(work, folder, n, last=None):
    if child := os.fork():
        status = os.waitpid(child, 0)[1]
        assert status in (0, signal.SIGKILL), "the writer failed"
        return status == 0
    write, replace, number = files._write, os.replace, itertools.count()

    def write_half(file, content, *sync):
        if next(number) == last:
            file.write(content[: len(content) // 2])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        write(file, content, *sync)

    def do_not_replace(*paths):
        if next(number) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(*paths)

    files._write, os.replace = write_half, do_not_replace
    try:
        work(folder, n)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

def main(work, found):
    assert ends(work, Path("before"), 0) and found(Path("before")) == 1
    for kills in itertools.count():
        folder = Path(str(kills))
        shutil.copytree("before", folder)
        if ends(work, folder, 1, last=kills):
            break
        assert 1 <= found(folder) <= 2
        step = int(found(folder))
        assert ends(work, folder, step) and found(folder) == step + 1
    assert found(folder) == 2
    print(kills)
"""


@pytest.fixture
def killed_at_every_write(tmp_path):
    """killed_at_every_write(script): kill step 1 of some work at its first write, its second, ..., until it ends.

    The script defines `work(folder, n)`, which does step n = 0, 1, ... in a folder, and `found(folder)`, which returns
    how many steps the files there hold, and fails if one is torn. After each kill the files hold step 0, or also all or
    a part of step 1, and the next step ends as if nothing had happened. Returns the number of kills.
    """

    def killed(script):
        file = tmp_path / "killed.py"
        file.write_text(f"{KILLED}\n{script}\nmain(work, found)")
        paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
        told = {"env": os.environ | {"PYTHONPATH": paths}, "capture_output": True, "text": True, "timeout": 600}
        done = subprocess.run([sys.executable, file], cwd=tmp_path, **told)
        assert done.returncode == 0, done.stderr[-2_000:]
        return int(done.stdout)

    return killed


@pytest.fixture
def often_switched():
    """Threads take turns a thousand times as often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(interval / 1_000)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def full_disk(monkeypatch):
    """full_disk(n): the n-th write, sync or replacement fails; a write leaves a part of what was to be written."""

    def fail_at(n):
        left = [n]

        def failing(function, part=None):
            def maybe(*given):
                left[0] -= 1
                if left[0] == 0:
                    if part:
                        part(*given)
                    raise OSError(errno.ENOSPC, "No space left on device")
                return function(*given)

            return maybe

        monkeypatch.undo()
        write = files._write
        monkeypatch.setattr(files, "_write", failing(write, lambda file, content, *more: file.write(content[:-1])))
        monkeypatch.setattr(os, "fsync", failing(os.fsync))
        monkeypatch.setattr(os, "replace", failing(os.replace))
        return left

    yield fail_at
    monkeypatch.undo()
