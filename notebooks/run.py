"""Execute the notebooks of this folder without opening them.

`run.py --help` lists the commands, and `run.py COMMAND --help` the options of one of them.
"""

import argparse
import os
import re
import shutil
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

sys.modules["rfc3987_syntax"] = None  # otherwise nbformat builds 39 unused parsers of web addresses, in a second

try:
    import joblib
    import nbclient
    import nbformat
    import papermill
    import papermill.iorw
    import papermill.parameterize
    import threadpoolctl
    import yaml
except ModuleNotFoundError as error:
    sys.exit(f"run.py: this Python has no {error.name}: run `make setup`, then `. .venv/bin/activate`")

NOTEBOOKS = Path(__file__).resolve().parent
ROOT = NOTEBOOKS.parent
WIDGET = "application/vnd.jupyter.widget-view+json"
FEW = 3  # notebooks with kernels of their own; more are forked from one process
AT_ONCE = 2  # notebooks at the papers' scale, which share the cores
LEDGER = "companion_ledger"  # merges the claims of all others, so it runs last
for library in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{library}_THREADS", "1")  # as in the Makefile; kernels inherit it
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # otherwise every kernel prints a debugger's warning

import numpy as np  # after the threads, which it reads
import pandas as pd

from bandits_companion import claims, claims_table, forked_kernels, ledger, notebook_runs, seeds
from bandits_companion.notebook_runs import Execution, duration
from bandits_companion.registry import sentence
from bandits_lib import instances
from bandits_lib.figures import parameters, results
from bandits_lib.files import atomic_write, locked
from bandits_lib.simulate import own_rule

KERNEL = {
    "kernel_manager_class": forked_kernels.UninterruptedEnd,
    "extra_arguments": ["--log-level=ERROR"],  # kernels warn of missing encryption, which one machine does not need
}

# --- which notebooks, with which parameters


def known_names() -> list[str]:
    return sorted((path.stem for path in NOTEBOOKS.glob("*.ipynb")), key=lambda name: (name == LEDGER, name))


def select(names: list[str]) -> list[str]:
    """Return the names of the notebooks asked for, or all names; `notebooks/x.ipynb` may be given for `x`."""
    wanted = {Path(name).stem for name in names} or set(known_names())
    if unknown := wanted - set(known_names()):
        raise ValueError(f"no notebook {', '.join(sorted(unknown))}; there are {', '.join(known_names())}")
    return [name for name in known_names() if name in wanted]


def parameters_of(name: str) -> dict:
    """Return {name: Parameter} of the cell tagged `parameters`."""
    return parameters.read(NOTEBOOKS / f"{name}.ipynb")


def check_parameters(name: str, given: dict) -> None:
    """Refuse wrong parameters, which papermill would accept, with one sentence."""
    parameters.check(name, parameters_of(name), given)


def check_out(out: str) -> None:
    """Refuse the repository as the folder of small figures; print the folder if it is not build/."""
    folder = (NOTEBOOKS / out).resolve()
    if folder == ROOT.resolve():
        raise ValueError(
            f"out = {out!r} is the repository, whose figures/ belong to `run.py paper`: give another folder"
        )
    if folder != (ROOT / "build").resolve():
        inside = "" if folder.is_relative_to(ROOT.resolve()) else ", outside this repository"
        print(f"figures, claims and index.html go to {folder}{inside} (relative paths count from notebooks/)")


# --- one notebook


def execute(name: str, parameters: dict, run: notebook_runs.Folders, progress: bool = False) -> str:
    """Run one notebook with papermill into `run.executed`; pass progress bars of the kernel on to standard error."""
    run.executed.mkdir(parents=True, exist_ok=True)
    papermill.execute_notebook(
        NOTEBOOKS / f"{name}.ipynb",
        run.executed / f"{name}.ipynb",
        parameters,
        kernel_name="python3",
        language="python",
        progress_bar=False,
        request_save_on_cell_execute=progress,  # each save costs as much as the last one
        stderr_file=sys.stderr if progress else None,
        **KERNEL,
    )
    notebook_runs.rendered(run.executed / f"{name}.ipynb", run)  # a second, in which other kernels use the cores
    return "done"


def redraw_notebook(name: str) -> str:
    """Execute only the cells tagged `draw`, which read the published csv files and write the pictures beside them."""
    notebook = papermill.iorw.load_notebook_node(str(NOTEBOOKS / f"{name}.ipynb"))
    given = {**published_parameters(name), "out": ".."}
    notebook.cells = [cell for cell in notebook.cells if {"parameters", "draw"} & {*cell.metadata.get("tags", [])}]
    if not any("draw" in cell.metadata.get("tags", []) for cell in notebook.cells):
        raise ValueError(f"{name} has no cell tagged `draw`")
    notebook = papermill.parameterize.parameterize_notebook(notebook, given)
    nbclient.NotebookClient(notebook, kernel_name="python3", **KERNEL).execute()
    return "done"


def refresh(name: str) -> str:
    """Re-execute a committed notebook in place; if it fails, the file stays as it is."""
    path = NOTEBOOKS / f"{name}.ipynb"
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    nbclient.NotebookClient(
        notebook, kernel_name="python3", record_timing=False, coalesce_streams=True, **KERNEL
    ).execute()
    strip(notebook)
    texts = [str(output.get("text", "")) for cell in notebook.cells for output in cell.get("outputs", [])]
    if differs := [text for text in texts if "\nDIFFERS: " in text]:
        raise ValueError(differs[0].strip())
    after = nbformat.writes(notebook) + "\n"
    if after != before:
        atomic_write(path, after)
    return "unchanged" if after == before else "rewritten"


def strip(notebook: nbformat.NotebookNode) -> None:
    """Remove what changes from run to run or from machine to machine; keep outputs and execution counts."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "pygments_lexer": "ipython3"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in ("tags", "jupyter") if cell.metadata.get(key)}
        )
        if cell.cell_type == "code":
            cell.outputs = [
                out
                for out in cell.outputs
                if out.get("name") != "stderr"  # progress bars
                and WIDGET not in out.get("data", {})
            ]  # sliders need a running kernel


# --- many notebooks


def attempt(function, name: str, *arguments) -> Execution:
    """Run `function(name, ...)` and return how it ended; a notebook that fails does not stop the others."""
    start, before = time.perf_counter(), forked_kernels.ended_cpu_seconds()
    try:
        message, error = function(name, *arguments), ""
    except Exception as failure:
        error = notebook_runs.last_line(failure)
        message = f"FAILED\n{failure}" if function is refresh else f"FAILED  {error}"  # `refresh` keeps no copy
    cpu = forked_kernels.ended_cpu_seconds() - before
    return Execution(name, time.perf_counter() - start, cpu, message, error)


def fork_kernels_of(names) -> None:
    if len(names) > FEW:
        forked_kernels.fork_kernels()


def at_once(most: int, attempts: list[tuple], after: dict[str, set[str]] | None = None):
    """Yield how each notebook ended, in the order in which they end; `most` of them run at a time.

    They start in the order given, but one with an entry in `after` waits until the notebooks there have ended."""
    # threads suffice: each notebook has its own kernel, and kernels, unlike worker processes, end with this process
    pool, waiting, running = ThreadPoolExecutor(most), list(attempts), {}
    while waiting or running:
        unfinished = {name for _, name, *_ in waiting} | {*running.values()}
        ready = [each for each in waiting if not (after or {}).get(each[1], set()) & unfinished]
        for each in ready[: most - len(running)]:
            waiting.remove(each)
            running[pool.submit(attempt, *each)] = each[1]
        for one in wait(running, return_when=FIRST_COMPLETED).done:
            del running[one]
            yield one.result()


def side_by_side(function, names: list[str], *arguments, meanwhile=None) -> list[Execution]:
    """Run notebooks on as many kernels as cores, the ledger after all others; return how each notebook ended.

    `meanwhile()` is called while the process of the kernels imports what they use."""
    played = []
    fork_kernels_of(names)
    cores = joblib.cpu_count()
    if len(names) > cores:
        print(f"{len(names)} notebooks, {cores} at a time; a line when one is done:", flush=True)
    if meanwhile:
        meanwhile()
    file = NOTEBOOKS / "paper.yaml"
    plan = (yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None) or {}
    cost = {name: entry.get("verify_minutes", 0) for name, entry in plan.items()}  # the longest starts first
    others = sorted((name for name in names if name != LEDGER), key=lambda name: -cost.get(name, 0))
    for group in (others, [name for name in names if name == LEDGER]):
        for one in at_once(cores, [(function, name, *arguments) for name in group]):
            print(f"{one.name:<40} {one.seconds:6.1f} s  {one.message}", flush=True)
            played.append(one)
    return played


def all_ran(played: list[Execution]) -> bool:
    return not any(one.error for one in played)


# --- the commands


def figures(names: list[str], given: dict) -> bool:
    started, selected = time.perf_counter(), select(names)
    given = {"n_jobs": 1, **given}
    for name in selected:
        check_parameters(name, given)
    out = given.get("out", "../build")
    check_out(out)
    if "runs" in given and len(selected) <= FEW:
        say_what_runs_leaves(selected, given)
    executed = (NOTEBOOKS / out).resolve() / "notebooks"
    for described in (NOTEBOOKS / out / "figures").glob("*/*.json"):
        if notebook_runs.drawn_by(described) in selected:
            described.unlink()  # what an earlier run compared does not count
    run = notebook_runs.Folders(NOTEBOOKS / out, executed, NOTEBOOKS, ROOT / "figures", notebook_runs.SMALL)
    played = side_by_side(execute, selected, given, run, meanwhile=partial(notebook_runs.led_to, run))
    seconds = time.perf_counter() - started
    print("\n" + notebook_runs.close(played, seconds, run, NOTEBOOKS / out))
    comparison = notebook_runs.compared(run.out / "figures", selected)
    print("\n".join(notebook_runs.in_words(comparison)))
    return all_ran(played) and comparison.equal == comparison.compared


def say_what_runs_leaves(names: list[str], given: dict) -> None:
    for name in names:
        if unmoved := parameters.unmoved(parameters_of(name), given):
            print(f"{name}: -p runs leaves {unmoved}; `run.py parameters {name}` lists them", flush=True)


def seen_from_notebooks(place: str) -> str:
    """Return the place of a rule relative to notebooks/; its file may be given relative to the current folder."""
    file, _, name = place.rpartition(":")
    if file and Path(file).is_file() and not (NOTEBOOKS / file).is_file():
        return f"{Path(os.path.relpath(file, NOTEBOOKS)).as_posix()}:{name}"
    return place


def own(place: str, given: dict, names: list[str]) -> bool:
    """Play a reader's rule in every figure that compares rules, and write a page of these figures."""
    rule = own_rule.load(place, delta=None, budget=None)
    asked = {name: notebook_runs.needs_of(NOTEBOOKS / f"{name}.ipynb") for name in select(names)}
    if names and None in asked.values():
        none = next(name for name, needs in asked.items() if needs is None)
        raise ValueError(f"{none} draws no figure that can show a rule of your own: leave it out")
    asked = {name: needs for name, needs in asked.items() if needs is not None}
    left_out = {name: why for name, needs in asked.items() if (why := own_rule.misfit(rule, needs))}
    known = {name: parameters_of(name) for name in asked if name not in left_out}
    if unknown := [key for key in given if known and not any(key in of_notebook for of_notebook in known.values())]:
        raise ValueError(f"no notebook that plays {rule.place} has a parameter {unknown[0]}")
    folder = ROOT / "build" / "own"
    given = {"n_jobs": 1, **given, "own": place, "out": "../build/own"}
    jobs = {name: {key: value for key, value in given.items() if key in known[name]} for name in known}
    for name, job in jobs.items():
        check_parameters(name, job)
    if "runs" in given:
        say_what_runs_leaves(list(jobs), given)
    example = {name: {"delta": 0.05, "budget": 100}[name] for name in rule.given}
    try:
        rule._replace(given=example).begun(instances.benchmark(2), np.random.default_rng(0))
    except RuntimeError as error:
        raise ValueError(error) from error
    folder.parent.mkdir(exist_ok=True)
    try:
        with locked(folder, patience=0):
            return play_own(place, jobs, asked, left_out, folder)
    except TimeoutError:
        raise ValueError(f"another run.py own is writing {folder.relative_to(ROOT)}: wait until it has ended") from None


def play_own(place: str, jobs: dict, asked: dict, left_out: dict, folder: Path) -> bool:
    """Execute the notebooks with the rule, and write the page and the sentences."""
    shutil.rmtree(folder, ignore_errors=True)
    run = notebook_runs.Folders(folder, folder / "notebooks", NOTEBOOKS, ROOT / "figures", notebook_runs.SMALL)
    pages = partial(notebook_runs.led_to, run)
    played = side_by_side(lambda name: execute(name, jobs[name], run), list(jobs), meanwhile=pages)
    failed = {one.name: one.error.partition("Error: ")[2] or one.error for one in played if one.error}
    sentences = notebook_runs.sentences_of(run, asked)
    heading = f"{place} in every figure that compares rules"
    notebook_runs.save(folder / "index.html", run, failed, sentences=sentences, heading=heading, left_out=left_out)
    for name, words in [*left_out.items(), *failed.items(), *sentences.items()]:
        print(f"{name}: {words}")
    print(f"open build/own/index.html: {notebook_runs.count(len(sentences), 'figure')} with {place}")
    return not failed


def show_parameters(names: list[str]) -> bool:
    print("\n\n".join(parameters.listing(name, parameters_of(name)) for name in select(names)))
    return True


def paper_entries() -> dict[str, dict]:
    """Return the entries of paper.yaml, one for each notebook."""
    entries = yaml.safe_load((NOTEBOOKS / "paper.yaml").read_text(encoding="utf-8")) or {}
    if missing := set(known_names()) ^ set(entries):
        raise ValueError(f"paper.yaml must have one entry for each notebook; correct {', '.join(sorted(missing))}")
    return entries


def figure_key(name: str) -> str:
    """Return a figure as paper.yaml names it, fiez2019/1a, also if the name of its file is given, fiez2019/fig_1a."""
    return name.replace("/fig_", "/")


def paper_plan(paper: str, figure: str) -> dict[str, dict]:
    """Return the entries of paper.yaml that belong to a paper or a figure, in the order of their names."""
    entries = paper_entries()
    plan = {
        name: entries[name]
        for name in known_names()
        if (not paper or name.startswith(f"{paper}_")) and (not figure or figure in entries[name]["figures"])
    }
    if not plan:
        known = sorted({name.split("_")[0] for name in entries} | {f for e in entries.values() for f in e["figures"]})
        raise ValueError(f"nothing belongs to paper {paper!r}, figure {figure!r}; known are {', '.join(known)}")
    return plan


def write_minutes(key: str, played: list[Execution]) -> None:
    """Write CPU minutes of notebooks into paper.yaml, as `minutes` or `verify_minutes`, and their sums into docs/."""
    file, page = NOTEBOOKS / "paper.yaml", ROOT / "docs" / "paper_scale.md"
    text = file.read_text(encoding="utf-8")
    for one in played:
        if not one.error:
            text = re.sub(rf"(?m)(^{one.name}:\n(?:  .*\n)*?  {key}: )\S+", rf"\g<1>{one.cpu / 60:.2g}", text)
    atomic_write(file, text)
    if page.exists():
        table = notebook_runs.minutes(yaml.safe_load(text))
        atomic_write(page, ledger.filled(page.read_text(encoding="utf-8"), {"minutes": table}))


def paper_order(plan: dict[str, dict]) -> tuple[list[str], dict[str, set[str]]]:
    """Return the notebooks without the ledger, the longest first, and {name: those whose results it reads}."""
    names = [name for name in plan if name != LEDGER]
    readers = [name for name in names if "claims_folder" in plan[name]["parameters"]]
    after = {one: {name for name in names if _paper_of(name) == _paper_of(one)} - {*readers} for one in readers}
    ends = {name: max((plan[one]["minutes"] for one in readers if name in after[one]), default=0) for name in names}
    return sorted(names, key=lambda name: -(plan[name]["minutes"] + ends[name])), after


def _paper_of(name: str) -> str:
    return name.partition("_")[0]


def paper_jobs(plan: dict[str, dict], scheduler: str, seed_of: dict[str, int], folder: Path) -> dict[str, dict]:
    """Return the parameters of every notebook of a plan; a notebook that belongs to no paper keeps its own seed."""
    out = Path(os.path.relpath(folder, NOTEBOOKS)).as_posix()
    where = {"out": out, **({"scheduler": scheduler} if scheduler else {})}
    cores = max(1, joblib.cpu_count() // max(1, min(AT_ONCE, len(plan) - 1)))  # of a notebook; the ledger comes last
    jobs = {}
    for name, entry in plan.items():
        given = {"n_jobs": cores, **entry["parameters"], **where}
        if "claims_folder" in given:
            given["claims_folder"] = f"{out}/figures/claims"
        if "checkpoint" in given:
            given["checkpoint"] = f"{Path(os.path.relpath(checkpoints(name, folder), NOTEBOOKS)).as_posix()}/"
        paper = _paper_of(name)
        jobs[name] = {**given, "seed": seed_of[paper]} if paper in seed_of else given
        check_parameters(name, jobs[name])
    return jobs


def checkpoints(name: str, folder: Path) -> Path:
    """Return the folder of a notebook's checkpoints in a run that writes to `folder`."""
    kept = ROOT / "build" / "checkpoints"
    return (kept if folder == ROOT else kept / folder.name) / name


def paper(paper: str, figure: str, scheduler: str, seed: int | None = None, why: str = "") -> bool:
    """Run at the papers' scale: into figures/ with the edition's seeds, into a folder of its own with another seed."""
    if seed is not None and seed < 0:
        raise ValueError(f"the seed must be 0 or more; it is {seed}")
    plan, log = paper_plan(paper, figure), ROOT / "figures" / "seeds.csv"
    plan |= {LEDGER: paper_entries()[LEDGER]}  # it takes up the claims of every run
    papers = list(dict.fromkeys(name.partition("_")[0] for name in plan if not name.startswith("companion_")))
    whole = [one for one in papers if not figure]  # only runs of whole papers are listed
    if seed is None:
        seeds.check_committed()
    seed_of = {one: seeds.seed(one, log) if seed is None else seed for one in papers}
    folder = ROOT if seed is None else ROOT / "build" / f"seed_{seed}"
    jobs = paper_jobs(plan, scheduler, seed_of, folder)
    announce(plan, seed_of, folder / "figures")
    fresh = {name for name in jobs if not checkpoints(name, folder).exists()}  # the others' minutes would be too few
    if seed is None:
        seeds.begin(whole, seed_of, log, why)
        if why and figure:
            seeds.drew(papers, seed_of, log, figure, why)
    fork_kernels_of(jobs)
    started = time.perf_counter()
    executed, played = ROOT / "build" / "paper" if seed is None else folder / "notebooks", []
    beside, page = (None, executed) if seed is None else (ROOT / "figures", folder)
    said = "the edition's seeds" if seed is None else f"seed {seed}"
    run = notebook_runs.Folders(folder, executed, NOTEBOOKS, beside, f"at the papers' scale, {said}")
    others, after = paper_order(plan)
    for group in filter(None, (others, [LEDGER])):
        if group == [LEDGER] and seed is None and all_ran(played):  # whose reports say how many runs ended
            seeds.end(whole, seed_of, log, claims_table.read(ROOT / "figures" / "claims"))
        print(f"{', '.join(group)} ...", flush=True)
        for one in at_once(AT_ONCE, [(execute, name, jobs[name], run, True) for name in group], after):
            print(f"{one.name:<40} {duration(one.seconds / 60):>12}  {one.message}", flush=True)
            played.append(one)
            if seed is None and not scheduler and one.name in fresh and one.name != LEDGER:
                write_minutes("minutes", [one])
    if all_ran(played):
        for name in jobs:
            shutil.rmtree(checkpoints(name, folder), ignore_errors=True)
    print("\n" + notebook_runs.close(played, time.perf_counter() - started, run, page))
    return all_ran(played)


def published_parameters(name: str) -> dict:
    """Return the parameters of a notebook's published figures, with this machine's folders and one process."""
    given = {key: known.default for key, known in parameters_of(name).items()} | paper_entries()[name]["parameters"]
    return {key: value for key, value in given.items() if key not in (*parameters.ELSEWHERE, "own")}


FEW_RUNS = 3  # of each rule in a verification
VERIFIED = ("date", "commit", "processor", "kernels", "runs", "of", "rows", "equal", "not_compared", "cpu_minutes")


def verify(figure: str, runs: int) -> bool:
    """Play a few runs of each rule at the published parameters, and compare them with the published rows."""
    if runs < 1:
        raise ValueError(f"--runs must be 1 or more; it is {runs}")
    plan, folder = paper_plan("", figure), ROOT / "build" / "verify"
    folder.parent.mkdir(exist_ok=True)
    try:
        with locked(folder, patience=0):
            return verify_plan(plan, figure, runs, folder)
    except TimeoutError:
        raise ValueError("another run.py verify is at work in build/verify: wait until it has ended") from None


def verify_plan(plan: dict, figure: str, runs: int, folder: Path) -> bool:
    """Play and compare the notebooks of a plan; a published table that cannot be read is a failure."""
    started, commit = time.perf_counter(), results.commit()
    jobs = {}
    for name, entry in plan.items():
        published = published_parameters(name)
        given = parameters.at_most(published, runs)
        given |= {} if given == published else entry.get("verify", {})
        jobs[name] = {**given, "n_jobs": 1}
    run = notebook_runs.Folders(folder, folder / "notebooks", NOTEBOOKS, None, f"with at most {runs} runs of each rule")
    played = play_apart(jobs, run)
    if runs == FEW_RUNS:
        write_minutes("verify_minutes", played)
    comparison = notebook_runs.compared(run.out / "figures", [one.name for one in played])
    cpu = sum(one.cpu for one in played) / 60
    print(f"\n{notebook_runs.count(len(played), 'notebook')} in {duration((time.perf_counter() - started) / 60)}")
    print("\n".join(notebook_runs.in_words(comparison)))
    if not all_ran(played):
        return False
    values = (datetime.now(UTC).strftime("%Y-%m-%d %H:%M"), commit, notebook_runs.processor(), kernels(), runs)
    values += (figure or "all", comparison.compared, comparison.equal, sum(comparison.left_out.values()), f"{cpu:.1f}")
    seeds.append_row(ROOT / "figures" / "verified.csv", VERIFIED, values)
    unreadable = [reason for reason in comparison.left_out if re.search(" has (no|other columns|rows that)", reason)]
    return comparison.compared == comparison.equal > 0 and not unreadable


def play_apart(jobs: dict[str, dict], run: notebook_runs.Folders) -> list[Execution]:
    """Execute notebooks with published parameters into a folder of their own, which is emptied first."""
    shutil.rmtree(run.out, ignore_errors=True)
    jobs = {name: {**job, "out": Path(os.path.relpath(run.out, NOTEBOOKS)).as_posix()} for name, job in jobs.items()}
    for name, job in jobs.items():
        check_parameters(name, job)
    return side_by_side(lambda name: execute(name, jobs[name], run), list(jobs))


def recompute(asked: str) -> bool:
    """Play the runs of a claim, or of all claims of a sentence, once more, and compare their numbers."""
    published = claims_table.read(ROOT / "figures" / "claims").set_index("id", drop=False)
    ids = [id for id in published.index if asked in (id, sentence(id)) and not published.loc[id, "untestable"]]
    if not ids:
        name = asked.partition("/")[0]
        known = [id for id in published.index if id.startswith(f"{name}/")] or known_names()
        raise ValueError(f"no measured claim is called {asked}; there are {', '.join(known)}")
    name, folder = asked.partition("/")[0], ROOT / "build" / "recompute"
    print(f"{name}: about {duration(paper_entries()[name]['minutes'])} of one core's time", flush=True)
    run = notebook_runs.Folders(folder, folder / "notebooks", NOTEBOOKS, None, "with all published runs")
    (played,) = play_apart({name: {**published_parameters(name), "n_jobs": joblib.cpu_count()}}, run)
    if played.error:
        return False
    again = claims_table.read(folder / "figures" / "claims").set_index("id", drop=False)
    ours, theirs = (table.loc[ids, claims_table.MEASURED].to_numpy(float) for table in (again, published))
    same = np.isclose(ours, theirs, rtol=1e-9, atol=1e-12).all(axis=1)
    for id, equal in zip(ids, same, strict=True):
        numbers = [claims_table.with_interval(table.loc[id]) for table in (again, published)]
        print(f"{id}: {numbers[0]}, {'equal to the published numbers' if equal else f'PUBLISHED {numbers[1]}'}")
    return bool(same.all())


def kernels() -> str:
    """Return the kernels that the library of linear algebra chose for this processor."""
    return " ".join(sorted({one.get("architecture") or one["internal_api"] for one in threadpoolctl.threadpool_info()}))


def redraw(names: list[str]) -> bool:
    """Draw the pictures of notebooks or figures again from the csv files in figures/, without a run."""
    plan = paper_entries()
    if not all(names):
        raise ValueError("give a figure or a notebook, such as FIGURE=fiez2019/1a")
    wanted = [name for given in names for name in (paper_plan("", given) if "/" in given else select([given]))]
    if unknown := [name for name in wanted if not plan[name]["figures"]]:
        raise ValueError(f"{unknown[0]} has no figures")
    played = side_by_side(redraw_notebook, [*dict.fromkeys(wanted)])
    return all_ran(played)


def announce(plan: dict[str, dict], seed_of: dict[str, int], figures: Path) -> None:
    total = duration(sum(entry["minutes"] for entry in plan.values()))
    said = ", ".join(f"{paper} {seed}" for paper, seed in seed_of.items())
    print(
        f"About {total} of one core's time; {joblib.cpu_count()} cores share it. "
        f"Seeds: {said}. {figures.relative_to(ROOT)}/:"
    )
    for name, entry in plan.items():
        print(f"  {name:<40} {duration(entry['minutes']):>12}  {' '.join(entry['figures'])}")
    print("If the run is stopped, give the same command again: it continues where it was.", flush=True)


def write_rules() -> None:
    """Write the table of rules into docs/rules.md, their number into README, and their names into figures/README.md."""
    from bandits_lab import rules_for  # takes a second
    from bandits_lib.figures import style

    rules = rules_for()[["given", "asks", "situation", "paper"]].rename_axis("rule").rename(index="`{}`".format)
    names = pd.DataFrame([(key, look.label) for key, look in style.LOOKS.items()], columns=["key", "name"])
    blocks = {
        "docs/rules.md": ("rules", ledger.markdown(rules.reset_index())),
        "README.md": ("rules", f"[All {len(rules)} rules](docs/rules.md) says for which situation each rule is made."),
        "figures/README.md": ("names", ledger.markdown(names)),
    }
    for page, (place, block) in blocks.items():
        if (file := ROOT / page).exists():
            atomic_write(file, ledger.filled(file.read_text(encoding="utf-8"), {place: block}))


def rejudge() -> bool:
    """Judge the measured claims by the present claims.yaml; write ledger, coverage, errata, reports and rules again."""
    write_rules()
    changed = claims.rejudge(ROOT / "figures")
    print(f"{len(changed)} claims have another criterion than in their run{': ' * bool(changed)}{', '.join(changed)}")
    run = notebook_runs.Folders(ROOT, ROOT / "build" / "paper", NOTEBOOKS, None, "at the papers' scale")
    return all_ran(side_by_side(lambda name: execute(name, {**published_parameters(name), "out": ".."}, run), [LEDGER]))


def reword() -> bool:
    """Take over the words of claims.yaml as `rejudge` does, and execute the notebooks whose boxes have others."""
    done = rejudge()
    stale = [name for name in known_names() if boxes(name) not in ([], [ledger.box(name)])]
    return done and all_ran(side_by_side(refresh, stale))


def boxes(name: str) -> list[str]:
    """Return the texts that the cell with `ledger.box` of a committed notebook shows."""
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    shown = [output for cell in cells if "ledger.box(" in cell.source for output in cell.outputs]
    return [output["data"]["text/markdown"] for output in shown]


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Execute the notebooks of this folder without opening them.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, said, **options):
        return commands.add_parser(name, help=said, description=said, **options)

    some = {"metavar": "NAME", "help": "a notebook, such as fiez2019_5a_benchmark; without a name all notebooks"}
    small = command("figures", "execute notebooks at their small default parameters into build/")
    small.add_argument("names", nargs="*", **some)
    told = "docs/your_own_rule.md says what a rule is told."
    mine = command("own", "play a rule of your own in every figure that compares rules, into build/own", epilog=told)
    mine.add_argument("rule", metavar="FILE.py:FUNCTION", help="your file, and in it the generator that is your rule")
    mine.add_argument("--notebooks", nargs="+", default=[], metavar="NAME", help="only the figures of these notebooks")
    for parser_of in (small, mine):
        said = "another value in the notebooks that have this parameter, such as -p runs 20; may be given again"
        parser_of.add_argument(
            "-p", nargs=2, action="append", default=[], metavar=("PARAMETER", "VALUE"), dest="parameters", help=said
        )
    large = command("paper", "execute notebooks at the papers' scale into figures/, which takes hours")
    large.add_argument("--paper", default="", help="only the notebooks of this paper, such as fiez2019")
    large.add_argument("--scheduler", default="", help="play the runs on this dask cluster, such as tcp://address:8786")
    large.add_argument("--seed", type=int, help="another seed than the edition's, from 0; writes to build/seed_SEED")
    large.add_argument("--why", default="", help="why digits change, for figures/seeds.csv")
    check = command(
        "verify",
        "play a few runs at the papers' scale into build/verify, and compare their rows with the published ones",
    )
    said = "largest number of runs of a rule; at its default it also writes the minutes of each notebook"
    check.add_argument("--runs", type=int, default=FEW_RUNS, help=f"{said} (default: %(default)s)")
    for parser_of in (large, check):
        said = "only the notebook of this figure or table, such as fiez2019/1a"
        parser_of.add_argument("--figure", default="", type=figure_key, help=said)
    of = command("recompute", "play the runs of a claim once more, and compare its numbers with the published ones")
    of.add_argument("claim", metavar="CLAIM", help="an id in figures/claims.csv; without part and reading, all of them")
    of = command("redraw", "draw pictures again from the csv files in figures/, without a run")
    said = "a notebook, or a figure such as fiez2019/1a"
    of.add_argument("names", nargs="+", metavar="NAME", type=figure_key, help=said)
    command("parameters", "list the parameters for -p").add_argument("names", nargs="*", **some)
    command("rejudge", "judge the measured claims by the present claims.yaml; write ledger, reports and rules again")
    command("reword", "take over corrected quotations as rejudge does, and execute notebooks whose boxes change")
    of = command("changes", "write what changed in the claims into figures/claims_changes.md")
    of.add_argument("edition", metavar="EDITION", help="the git revision with which the edition before ended")
    said = "the last git revision with its runs, whose claims are judged by the present rules; without it, EDITION"
    of.add_argument("same_runs", metavar="SAME_RUNS", nargs="?", help=said)
    command("notebooks", "execute committed notebooks again, in place").add_argument("names", nargs="*", **some)
    return parser


def main() -> int:
    args = command_line().parse_args()
    if args.command == "own":
        args.rule = seen_from_notebooks(args.rule)
    os.chdir(NOTEBOOKS)  # where kernels start, as in JupyterLab and under nbval
    try:
        if args.command == "figures":
            success = figures(args.names, {name: parameters.typed(value) for name, value in args.parameters})
        elif args.command == "own":
            given = {name: parameters.typed(value) for name, value in args.parameters}
            success = own(args.rule, given, args.notebooks)
        elif args.command == "paper":
            success = paper(args.paper, args.figure, args.scheduler, args.seed, args.why)
        elif args.command == "verify":
            success = verify(args.figure, args.runs)
        elif args.command == "recompute":
            success = recompute(args.claim)
        elif args.command == "redraw":
            success = redraw(args.names)
        elif args.command == "parameters":
            success = show_parameters(args.names)
        elif args.command == "rejudge":
            success = rejudge()
        elif args.command == "reword":
            success = reword()
        elif args.command == "changes":
            seeds.save_changes(args.edition, args.same_runs or args.edition, ROOT / "figures")
            success = True
        else:
            success = all_ran(side_by_side(refresh, select(args.names)))
    except ValueError as error:
        sys.exit(f"run.py: {error}")
    except OSError as error:
        if not (error.filename and error.strerror):
            raise
        sys.exit(
            f"run.py: {error.filename}: {error.strerror}. Run it from a checkout that you may write, with free space"
        )
    except KeyboardInterrupt:
        print("run.py: stopped", file=sys.stderr, flush=True)
        os._exit(130)  # a thread that waits for its kernel cannot be interrupted; the kernels notice and end
    return 0 if success else 1


if __name__ == "__main__":
    sys.exit(main())
