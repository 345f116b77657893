"""Play the same runs in one process, in several and on a local dask cluster: what a run costs, what limits workers.

python benchmarks/bench_workers.py [--workers 1 2] [--on-paper 8 64 1000]

The first two tables are measured, with as many dask workers as `--workers` says (each is a process), and also with as
many processes without dask. The third is computed from these two: of n runs on w workers, the last run ends after

    start of a setting + the largest of: n runs / w;  the longest run;  n times what client and scheduler do for one.

It counts no network: a run sends and receives the bytes of the second table.
"""

import argparse
import json
from time import perf_counter, process_time

import cloudpickle
from distributed import LocalCluster
from tables import show

from bandits_lib import instances, monte_carlo
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import lingape, rage

PAPER_RUNS = 1_000  # of one setting


def random_sphere(rng):
    return instances.sphere(64, rng, d=10)


def benchmark(rng):
    return instances.benchmark(10)


KINDS = {  # a run takes milliseconds, or the better part of a second
    "GSE on 64 arms": ({"gse": lambda p, rng: gse(p.arms, budget=1_280)}, random_sphere, 6_000),
    "RAGE and LinGapE, 1a": (
        {
            "rage": lambda p, rng: rage(p.arms, delta=0.05),
            "lingape": lambda p, rng: lingape(p.arms, delta=0.05, theta_bound=2.0),
        },
        benchmark,
        16,
    ),
}


def measured(kind, runs=None, **where):
    """Wall seconds, CPU seconds of this process, and the table."""
    rules, make, usual = KINDS[kind]
    start, cpu = perf_counter(), process_time()
    table = monte_carlo(rules, make, runs=runs or usual, progress=False, **where)
    return perf_counter() - start, process_time() - cpu, table


def beside_processes(workers, seen):
    """Warm: each way has played a few runs before; `seen` keeps what the next tables need."""
    yield ["runs of", "workers", "runs", "one by one s", "processes s", "dask s", "dask / processes"]
    for w in workers:
        with LocalCluster(n_workers=w, threads_per_worker=1, dashboard_address=None) as cluster:
            dask = {"scheduler": cluster.scheduler_address}
            for kind in KINDS:
                for way in ({}, {"n_jobs": w}, dask):
                    measured(kind, runs=4 * w, **way)
                seen[kind] = {way: measured(kind, **where) for way, where in (("alone", {}), ("dask", dask))}
                few, cpu, table = measured(kind, runs=w, **dask)
                seen[kind]["setting"] = few - table.groupby("run")["seconds"].sum().max()
                seen[kind]["client"] = (seen[kind]["dask"][1] - cpu) / (KINDS[kind][2] - w)
                alone, there = (seen[kind][way][0] for way in ("alone", "dask"))
                processes = measured(kind, n_jobs=w)[0]
                yield kind, w, KINDS[kind][2], alone, processes, there, there / processes


def parts(kind, seen):
    """Milliseconds of a run, of the longest, of client and scheduler for one; bytes to and fro; seconds of a setting.

    The time of client and scheduler for a run does not depend on its length: it is taken from the kind with most runs.
    """
    rules, make, _ = KINDS[kind]
    each = seen[kind]["alone"][2].groupby("run")["seconds"].sum()
    sent = len(cloudpickle.dumps((0, rules, make, 0, None, None, None)))
    rows = seen[kind]["dask"][2].drop(columns="seconds")
    received = len(json.dumps(rows[rows["run"] == 0].to_dict("records"), default=str))
    client = max(0.0, seen[max(KINDS, key=lambda kind: KINDS[kind][2])]["client"])
    return 1e3 * each.mean(), 1e3 * each.max(), 1e3 * client, sent, received, max(0.0, seen[kind]["setting"])


def costs(seen):
    yield ["runs of", "ms a run", "longest ms", "client ms", "bytes sent", "bytes back", "s a setting"]
    for kind in KINDS:
        yield kind, *parts(kind, seen)


def on_paper(workers, seen):
    yield [f"computed: {PAPER_RUNS:,} runs of", "workers", "s", "times one worker", "limited by"]
    for kind in KINDS:
        run, longest, client, _, _, setting = parts(kind, seen)
        alone = PAPER_RUNS * run / 1e3
        for w in workers:
            limits = {
                "the runs": alone / w,
                "the longest run": longest / 1e3,
                "the client": PAPER_RUNS * client / 1e3,
            }
            what = max(limits, key=limits.get)
            seconds = setting + limits[what]
            yield kind, w, seconds, alone / seconds, what if setting < limits[what] else "the start of a setting"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--on-paper", type=int, nargs="+", default=[2, 8, 64, 1000])
    given, seen = parser.parse_args(), {}
    show(beside_processes(given.workers, seen))
    show(costs(seen))
    show(on_paper(given.on_paper, seen))
