"""Measure waits and benchmarks in one go, and write them with date and processor into their pages.

    python benchmarks/measure.py waits [REVISION]    docs/installation.md: make commands in fresh clones
    python benchmarks/measure.py bench               benchmarks/README.md: what every bench_*.py prints

Let nothing else run meanwhile. `waits` gives each command to a clone of REVISION, an earlier release, and at once to a
clone of HEAD. Each clone has a cache of compiled kernels of its own. If a command of HEAD or a benchmark fails, nothing
is written.
"""

import argparse
import ast
import os
import subprocess
import sys
from datetime import UTC, datetime
from math import isnan, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pandas as pd

from bandits_companion.ledger import filled, markdown
from bandits_companion.notebook_runs import processor
from bandits_lib.files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"waits": "docs/installation.md", "bench": "benchmarks/README.md"}
COMMANDS = ("setup", "figures", "test", "verify")
OURS = ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")  # what a clone must not inherit


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def minutes(command, clone):
    """Return the minutes of a make command by the clock, NaN if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    environment["NUMBA_CACHE_DIR"] = str(clone.with_name(f"kernels of {clone.name}"))
    start = perf_counter()
    return (
        nan
        if subprocess.run(["make", command], cwd=clone, env=environment).returncode
        else (perf_counter() - start) / 60
    )


def waits(*revisions):
    """Return a table of the minutes of each command at each revision, and of the last over those of the others."""
    rows = []
    with TemporaryDirectory() as folder:
        clones = [Path(folder) / revision for revision in revisions]
        for revision, clone in zip(revisions, clones, strict=True):
            git("clone", "--quiet", str(ROOT), str(clone))
            git("-C", str(clone), "checkout", "--quiet", revision)
        for command in COMMANDS:
            *earlier, took = [minutes(command, clone) for clone in clones]
            if isnan(took):
                sys.exit(f"make {command} failed in a clone of {revisions[-1]}: nothing was written")
            numbers = [*(f"{each:.1f}" for each in (*earlier, took)), *(f"{took / each:.2f}" for each in earlier)]
            rows.append([f"`make {command}`", *(number.replace("nan", "") for number in numbers)])
    return markdown(pd.DataFrame(rows, columns=["minutes", *revisions, *["ratio"] * (len(revisions) - 1)]))


def printed(script):
    """Return the first line of a benchmark's docstring and what it prints, which is shown as it comes."""
    title = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).partition("\n")[0]
    print(f"== {script.name}", flush=True)
    with subprocess.Popen([sys.executable, "-u", script], stdout=subprocess.PIPE, text=True) as process:
        lines = [line for line in process.stdout if print(line, end="", flush=True) is None]
    if process.returncode:
        sys.exit(f"{script.name} failed: nothing was written")
    return f"### {script.stem}\n\n{title}\n\n```\n{''.join(lines).strip()}\n```"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=PAGES, help="waits for make commands, or benchmarks")
    parser.add_argument("revision", nargs="*", metavar="REVISION", help="an earlier release, for waits")
    args = parser.parse_args()
    if args.what == "waits":
        block = waits(*args.revision, git("rev-parse", "--short", "HEAD"))
    else:
        block = "\n\n".join(map(printed, sorted((ROOT / "benchmarks").glob("bench_*.py"))))
    said = f"Measured on {datetime.now(UTC):%d %B %Y} on {os.cpu_count()} cores of {processor()}."
    text = (ROOT / PAGES[args.what]).read_text(encoding="utf-8")
    atomic_write(ROOT / PAGES[args.what], filled(text, {args.what: f"{said}\n\n{block}"}))


if __name__ == "__main__":
    main()
