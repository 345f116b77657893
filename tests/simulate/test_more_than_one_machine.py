"""A cluster that loses a worker, or whose worker has no such package or another version of it."""

import os
import signal
import subprocess
import sys
import threading
import time

import distributed
import pandas as pd
import pytest

from bandits_lib import instances, monte_carlo
from bandits_lib.fixed_confidence import rage
from bandits_lib.simulate import fingerprint, own_rule
from bandits_lib.simulate import monte_carlo as where

pytestmark = pytest.mark.slow
OWN = """from bandits_lib import Result


def mine(arms):
    sample = yield [{pulls}] * len(arms)
    return Result(int(sample.sums.argmax()))
"""
LIMIT = 900  # seconds: a slow machine is not a failure


def held_problem(rng):
    """The next problem; once five runs are kept it waits for the file that HOLD names to go."""
    end = time.monotonic() + LIMIT
    while os.path.exists(hold := os.environ.get("HOLD", "")) and lines(f"{hold}.jsonl") >= 6:
        if time.monotonic() > end:
            raise TimeoutError("the file is still there")
        time.sleep(0.05)
    return instances.many_arms(20, rng, "code")


def make_rage(problem, rng):
    return rage(problem.arms, delta=0.05)


def table(**kwargs):
    return monte_carlo({"rage": make_rage}, held_problem, runs=16, **kwargs).drop(columns="seconds")


def lines(path):
    return open(path).read().count("\n") if os.path.exists(path) else 0


@pytest.fixture(scope="module")
def hold(tmp_path_factory):
    """A file: the workers wait while it is there."""
    return tmp_path_factory.mktemp("cluster") / "hold"


@pytest.fixture(scope="module")
def cluster(hold):
    """A scheduler and two workers, each in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLD", str(hold))  # workers inherit it
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            yield cluster


def test_workers_with_another_version_are_named(cluster, monkeypatch):
    monkeypatch.setattr(where, "source_fingerprint", os.getpid)  # another one in each process
    with pytest.raises(RuntimeError, match="holds another version of bandits_lib .one changed byte.* rule of your own"):
        table(scheduler=cluster.scheduler_address)


def test_a_rule_of_ones_own_is_played_as_its_file_says_now_by_workers_without_the_file(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for pulls in (5, 6):
        (tmp_path / "my_rule.py").write_text(OWN.format(pulls=pulls))
        mine = {"mine": own_rule.load("my_rule.py:mine")}
        (tmp_path / "my_rule.py").unlink()
        here, there = (
            monte_carlo(mine, instances.benchmark(2), runs=6, scheduler=place).drop(columns="seconds")
            for place in (None, cluster.scheduler_address)
        )
        pd.testing.assert_frame_equal(here, there)
        assert set(there["pulls"]) == {3 * pulls}


def test_an_error_of_ones_own_rule_comes_back_from_a_worker_in_one_sentence(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_rule.py").write_text("def mine(arms):\n    yield [1] * len(arms)\n    return arms[7]\n")
    mine = {"mine": own_rule.load("my_rule.py:mine")}
    with pytest.raises(RuntimeError, match="my_rule.py:mine raised IndexError in line 3: index 7 is out of bounds"):
        monte_carlo(mine, instances.benchmark(2), runs=2, scheduler=cluster.scheduler_address)


def test_a_worker_killed_in_the_middle_loses_nothing(cluster, hold, monkeypatch):
    monkeypatch.setattr(fingerprint, "executed", list)
    hold.touch()
    finished, victim, rows = hold.with_suffix(".jsonl"), cluster.workers[0].pid, {}
    keep = {"scheduler": cluster.scheduler_address, "checkpoint": finished}
    thread = threading.Thread(target=lambda: rows.update(table=table(**keep)))
    thread.start()
    end = time.monotonic() + LIMIT
    while lines(finished) < 3:
        time.sleep(0.05)
        assert thread.is_alive(), "the runs ended before the kill"
        assert time.monotonic() < end, "the workers keep no runs"
    os.kill(victim, signal.SIGKILL)
    assert lines(finished) < 17, "the kill came too late"
    hold.unlink()
    thread.join(LIMIT)
    pd.testing.assert_frame_equal(rows["table"], table())


BARE = """
import sys
from distributed.cli.dask_worker import main
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "bandits_lib":
            raise ModuleNotFoundError("No module named 'bandits_lib'", name="bandits_lib")
sys.meta_path.insert(0, Missing())
main()
"""


def test_a_worker_without_the_package_is_named():
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        worker = subprocess.Popen(
            [sys.executable, "-c", BARE, address, "--no-nanny", "--no-dashboard", "--nthreads", "1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with distributed.Client(address) as client:
                client.wait_for_workers(1, timeout=LIMIT)
            with pytest.raises(RuntimeError, match=r"dask worker tcp://\S+ .*bandits_lib"):
                table(scheduler=address)
        finally:
            worker.terminate()
            worker.wait(LIMIT)
