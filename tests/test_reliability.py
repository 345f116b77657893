"""Runs of four rules have the same rows after kills, by processes, by workers and resumed."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest
import test_contract as contract

from bandits_lib import LinearBandit, monte_carlo

# --- kills

STARTER = """
import os, sys, test_reliability as t
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.environ["KILLED_AT"] = line.strip()
        t.table(checkpoint=sys.argv[1])
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
COMPARED = ("rage", "xy_static", "lingape", "gse")
LIMIT = 900  # seconds: a slow machine is no failure, a state that never comes is


def make(name, problem, rng):
    return contract.ALGORITHMS[name](problem.arms, None, rng)


def make_problem(rng):
    time.sleep(0.01)  # long enough to be killed in the middle
    end = time.monotonic() + LIMIT
    while lines(os.environ.get("KILLED_CHECKPOINT", "")) >= int(os.environ.get("KILLED_AT", 1)):
        if (
            time.monotonic() > end
        ):  # no assert: pytest rewrites it, and the experiment would be another one here and there
            raise TimeoutError("three runs after the kill was due it has not come")
        time.sleep(0.01)
    return LinearBandit(contract.ARMS, theta=np.append(1.0, 0.3 * rng.standard_normal(2)))


def table(runs=40, **kwargs):
    algorithms = {name: partial(make, name) for name in COMPARED}
    return monte_carlo(algorithms, make_problem, runs=runs, max_pulls=200_000, **kwargs).drop(columns="seconds")


@pytest.fixture(scope="module")
def serial():
    return table()


@pytest.mark.slow
def test_kills_lose_nothing(serial, tmp_path):
    """One process, in which nothing has been played, starts the four that are killed."""
    checkpoint, rng, kept = tmp_path / "runs.jsonl", np.random.default_rng(0), []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    environment |= {"KILLED_CHECKPOINT": str(checkpoint)}
    command, pipes = [sys.executable, "-c", STARTER, checkpoint], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as starter:
        for _ in range(4):
            before, goal = lines(checkpoint), lines(checkpoint) + 1 + int(rng.integers(8))
            print(goal + 3, file=starter.stdin, flush=True)
            child = int(starter.stdout.readline())
            end = time.monotonic() + LIMIT
            while lines(checkpoint) < goal and alive(child):
                assert time.monotonic() < end, "the child keeps no more runs"
                time.sleep(0.005)
            assert alive(child), "the child ended before it was killed"
            os.kill(child, signal.SIGKILL)
            assert int(starter.stdout.readline()) == -signal.SIGKILL
            assert lines(checkpoint) >= before
            kept.append(lines(checkpoint) - 1)
    resumed = table(checkpoint=checkpoint)
    pd.testing.assert_frame_equal(resumed, serial)
    assert resumed.to_csv(float_format="%.17g") == serial.to_csv(float_format="%.17g")


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def lines(path):
    return Path(path).read_bytes().count(b"\n") if os.path.isfile(path) else 0


# --- ways of running


@pytest.mark.slow
def test_every_way_of_running_gives_the_same_rows(serial, tmp_path):
    part, ways = tmp_path / "part.jsonl", {"two processes (loky)": table(n_jobs=2)}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        ways["two workers (dask)"] = table(scheduler=cluster.scheduler_address)
        table(runs=13, scheduler=cluster.scheduler_address, checkpoint=part)
    ways["resumed"] = table(checkpoint=part)
    for rows in ways.values():
        pd.testing.assert_frame_equal(rows, serial)
