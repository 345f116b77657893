"""The same digits on every processor: a table of processors x (60 instances + all notebooks).

    python benchmarks/processors.py [--kernels NAME ...] [--instances N] [--notebooks NAME ... | none] [--jobs 2]

One processor imitates others (`processors_imitated.py`). Each of them solves and plays the instances of
`processors_instances.py`, compared with those of the first processor bit for bit, and executes the notebooks, compared
with the committed ones by text (`processors_notebooks.py`). What was computed stays in build/processors/<name>.
Prints what differs as it appears, then the table. Exit status 1 if anything differs.
"""

import argparse
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product

import nbclient
import numpy as np
import processors_notebooks as notebooks
from processors_imitated import ROOT, environment, imitations, runnable
from processors_instances import KINDS, NUMBER, differences


def folder(name):
    """Where a processor's results go."""
    return ROOT / "build" / "processors" / name


def solve_instances(name, changes, number):
    """[(instance, results)] of the first `number` instances, computed in a process of its own."""
    file = folder(name) / "instances.pkl"
    script = ROOT / "benchmarks" / "processors_instances.py"
    subprocess.run([sys.executable, script, file, str(number)], env=environment(changes), check=True)
    return pickle.loads(file.read_bytes())


def compare_instances(expected, found):
    """[(instance, kind, part, distance)] of all that differs."""
    both = zip(expected, found, strict=True)
    return [(instance, *what) for (instance, one), (_, other) in both for what in differences(one, other)]


def run_notebook(name, changes, notebook):
    """Cells compared, [(cell, diff)] of those that differ, and seconds, of one notebook on one processor."""
    start = time.perf_counter()
    try:
        notebooks.execute(notebook, folder(name), environment(changes))
        compared, differing = notebooks.compare(notebook, folder(name))
    except nbclient.exceptions.DeadKernelError as error:
        compared, differing = 1, [(0, f"the kernel died: {error}")]
    return compared, differing, time.perf_counter() - start


def print_instances(name, differing, number):
    """A line for each kind and part that differs: on how many instances, by how much at most, on which first."""
    print(f"{name}: {len({instance for instance, *_ in differing})} of {number} instances differ")
    for kind, part in sorted({(kind, part) for _, kind, part, _ in differing}):
        where = [(instance, distance) for instance, *what, distance in differing if what == [kind, part]]
        most = np.max([distance for _, distance in where])
        by = f", by up to {most:.2g}" if most > 0 and part != "recommendation" else ""
        print(f"    {kind} {part}: on {len(where)}{by} ({', '.join(instance for instance, _ in where[:4])} ...)")
    sys.stdout.flush()


def print_notebook(name, notebook, compared, differing, seconds):
    """A line for the notebook, and the first lines of each cell that differs."""
    print(f"{name} {notebook}: {len(differing)} of {compared} cells differ ({seconds:.0f} s)")
    for cell, diff in differing:
        print(f"    code cell {cell}:\n" + "\n".join(f"        {line}" for line in diff.splitlines()))
    sys.stdout.flush()


def table(names, instances, cells):
    """Markdown: a row for each processor, a column for each kind (instances that differ in any part of it)."""
    lines = [f"| processor | {' | '.join(KINDS)} | cells of notebooks |", "|---" * (len(KINDS) + 2) + "|"]
    for name in names:
        counts = [len({instance for instance, what, *_ in instances[name] if what == kind}) for kind in KINDS]
        compared, differing = np.sum(cells[name], axis=0) if cells[name] else ("-", "-")
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {differing} of {compared} |")
    return "\n".join(lines)


def compare(rows, number, chosen, jobs):
    """Solve, execute and print; return {name: differences} of instances, and {name: [(compared, differing)]} of cells.

    chosen : pairs of a name and a notebook.
    """
    instances, cells = {}, {name: [] for name in rows}
    for name in rows:
        notebooks.workplace(folder(name))
    with ThreadPoolExecutor(jobs) as pool:
        solving = {name: pool.submit(solve_instances, name, rows[name], number) for name in rows}
        running = {pool.submit(run_notebook, name, rows[name], one): (name, one) for name, one in chosen}
        reference = next(iter(solving.values())).result()
        for name in rows:
            instances[name] = compare_instances(reference, solving[name].result())
            print_instances(name, instances[name], number)
        for done in as_completed(running):
            print_notebook(*running[done], *done.result())
            compared, differing, _ = done.result()
            cells[running[done][0]].append((compared, len(differing)))
    return instances, cells


def main():
    names = list(imitations())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--instances", type=int, default=NUMBER, metavar="N")
    parser.add_argument("--notebooks", nargs="+", choices=[*notebooks.names(), "none"], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    rows, lines = runnable([name for name in names if name in (names[0], *args.kernels)])
    print("\n".join(f"{name}: {line}" for name, line in lines.items()), flush=True)
    chosen = product([name for name in rows if name in args.kernels], args.notebooks or notebooks.names())
    try:
        instances, cells = compare(rows, args.instances, [pair for pair in chosen if "none" not in pair], args.jobs)
    except KeyboardInterrupt:
        os._exit(130)  # a thread that waits for its kernel cannot be interrupted; the kernels notice and end
    print(f"\n{table(rows, instances, cells)}\nof {args.instances} instances")
    print("".join(f"{name}: {line}\n" for name, line in lines.items() if name not in rows), end="")
    different = any(instances.values()) or any(differing for row in cells.values() for _, differing in row)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
