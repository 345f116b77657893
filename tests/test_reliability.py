"""Runs of four rules have the same rows by processes, by workers and resumed."""

import sys
from functools import partial

import distributed
import numpy as np
import pandas as pd
import pytest
import test_contract as contract

from bandits_lib import LinearBandit, monte_carlo

COMPARED = ("rage", "xy_static", "lingape", "gse")


def make(name, problem, rng):
    return contract.ALGORITHMS[name](problem.arms, None, rng)


def make_problem(rng):
    return LinearBandit(contract.ARMS, theta=np.append(1.0, 0.3 * rng.standard_normal(2)))


def table(runs=40, **kwargs):
    algorithms = {name: partial(make, name) for name in COMPARED}
    return monte_carlo(algorithms, make_problem, runs=runs, max_pulls=200_000, **kwargs).drop(columns="seconds")


@pytest.fixture(scope="module")
def serial():
    return table()


@pytest.mark.slow
def test_every_way_of_running_gives_the_same_rows(serial, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[monte_carlo.__module__], "call_number", lambda: 0)  # as in another process
    part, ways = tmp_path / "part.jsonl", {"two processes (loky)": table(n_jobs=2)}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        ways["two workers (dask)"] = table(scheduler=cluster.scheduler_address)
        table(runs=13, scheduler=cluster.scheduler_address, checkpoint=part)
    ways["resumed"] = table(checkpoint=part)
    for rows in ways.values():
        pd.testing.assert_frame_equal(rows, serial)
