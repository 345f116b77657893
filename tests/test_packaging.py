"""The files around the code agree with each other: dependencies, README, Makefile, licence, citation."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from reading_copies import NONE, paper_text

ROOT = Path(__file__).resolve().parent.parent
THREADS = [f"{name}_THREADS" for name in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM")]
PYTHONS = ("3.11.0", "3.12.0", "3.13.0", "3.14.0")
LOCKED_ON = {
    "python_version": "3.11",
    "python_full_version": "3.11.7",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project():
    return tomllib.loads(read("pyproject.toml"))


def direct():
    """{name: Requirement} of pyproject.toml, all extras together."""
    table = project()["project"]
    lines = [*table["dependencies"], *(line for extra in table["optional-dependencies"].values() for line in extra)]
    requirements = map(Requirement, lines)
    return {canonicalize_name(r.name): r for r in requirements if r.name != table["name"]}


def locked():
    """{name: version}, whatever systems a package is for."""
    pins = (line.partition(";")[0].split("==") for line in read("requirements.lock").splitlines())
    return {canonicalize_name(name): version for name, version in pins}


# --- dependencies


def test_lock_has_only_exact_pins_and_no_hosts_or_paths():
    for line in read("requirements.lock").splitlines():
        pin, _, systems = line.partition("; ")
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.!+]*", pin), line
        if systems:
            assert Requirement(line).marker == direct()[canonicalize_name(pin.partition("==")[0])].marker


def test_direct_dependencies_are_locked_within_their_range():
    lock = locked()
    for name, requirement in direct().items():
        assert name in lock, f"{name} is not in requirements.lock"
        assert Version(lock[name]) in requirement.specifier, f"{requirement} excludes the locked {lock[name]}"


def test_build_backend_is_locked_because_setup_builds_without_isolation():
    for requirement in map(Requirement, project()["build-system"]["requires"]):
        assert Version(locked()[canonicalize_name(requirement.name)]) in requirement.specifier


def test_lock_holds_everything_the_direct_dependencies_need():
    """Elsewhere pip adds what only that place needs, such as appnope on macOS."""
    lock, seen, todo = locked(), set(), [(name, frozenset()) for name in direct()]
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for line in importlib.metadata.requires(name) or []:
            need = Requirement(line)
            places = [{**LOCKED_ON, "extra": extra} for extra in extras | {""}]
            if need.marker is None or any(map(need.marker.evaluate, places)):
                needed = canonicalize_name(need.name)
                assert needed in lock, f"{needed}, which {name} needs, is not in requirements.lock"
                assert need.specifier.contains(lock[needed], prereleases=True), f"{name} needs {need}"
                todo.append((needed, frozenset(need.extras)))


def test_environment_yml_pins_the_same_direct_dependencies():
    environment = yaml.safe_load(read("environment.yml"))
    assert environment["name"] == project()["project"]["name"]
    assert environment["channels"][0] == "conda-forge"
    pins = dict(line.split("=") for line in environment["dependencies"] if isinstance(line, str) and "=" in line)
    assert Version(pins.pop("python")) in Requirement("python" + project()["project"]["requires-python"]).specifier
    *by_pip, package = environment["dependencies"][-1]["pip"]
    assert package == "-e ."
    pins |= dict(line.partition(";")[0].split("==") for line in by_pip)
    assert pins == {name: locked()[name] for name in direct()}


def test_every_locked_package_installs_on_every_python_from_the_first_3_11():
    checked = 0
    for name, version in locked().items():
        metadata = importlib.metadata.metadata(name)
        if metadata["Version"] == version and (asks := metadata.get("Requires-Python")):
            refused = [python for python in PYTHONS if not Requirement(f"python{asks}").specifier.contains(python)]
            assert not refused, f"{name} {version} asks for Python {asks}, which excludes {', '.join(refused)}"
            checked += 1
    assert checked > 100, "what is installed is not what is locked: run `make setup`"


# --- one thread for the linear algebra, wherever it is started


def test_threads_are_set_the_same_by_make_conda_pytest_and_run():
    exported = dict(re.findall(r"^export (\w+_THREADS) = (\d+)", read("Makefile"), flags=re.MULTILINE))
    assert exported == dict.fromkeys(THREADS, "1")
    assert yaml.safe_load(read("environment.yml"))["variables"] == dict.fromkeys(THREADS, 1)


@pytest.mark.parametrize("file", ["conftest.py", "notebooks/run.py"])
def test_threads_are_set_without_make_too(file):
    """Before NumPy is imported, and so that a kernel started from there inherits it."""
    code = f"import runpy, sys; runpy.run_path({file!r}); import os; print([os.environ.get(n) for n in sys.argv[1:]])"
    bare = {name: value for name, value in os.environ.items() if name not in THREADS}
    done = subprocess.run([sys.executable, "-c", code, *THREADS], cwd=ROOT, env=bare, capture_output=True, text=True)
    assert done.stdout.strip() == str(["1"] * len(THREADS)), done.stdout + done.stderr


# --- hosted CI


@pytest.fixture
def workflow():
    return yaml.load(read(".github/workflows/ci.yml"), yaml.BaseLoader)  # plain YAML 1.1 reads `on` as true


def steps(job, key):
    return [step[key] for step in job["steps"] if key in step]


def test_the_workflow_runs_at_every_change_every_night_every_week_and_by_hand(workflow):
    assert {"push", "pull_request", "schedule", "workflow_dispatch"} == set(workflow["on"])
    assert workflow["on"]["push"] == {"branches": ["main"], "tags": ["v*"]}
    nightly, weekly = (time["cron"] for time in workflow["on"]["schedule"])
    assert re.fullmatch(r"\d+ \d+ \* \* \*", nightly) and re.fullmatch(r"\d+ \d+ \* \* [0-6]", weekly)
    alone = {name for name, job in workflow["jobs"].items() if job["if"] == f"github.event.schedule == '{weekly}'"}
    assert alone == {"newest"} and not any("newest" in job.get("needs", ()) for job in workflow["jobs"].values())
    for name in ("reproduce", "site"):
        assert workflow["jobs"][name]["if"].endswith(f"&& github.event.schedule != '{weekly}'")
    by_hand = "github.event_name == 'workflow_dispatch'"
    assert {name for name, job in workflow["jobs"].items() if job["if"] == by_hand} == {"paper"}
    assert workflow["concurrency"]["group"].startswith(f"${{{{ {by_hand} && github.run_id")


def test_the_workflow_calls_make_targets_that_exist(workflow):
    commands = [line for job in workflow["jobs"].values() for line in steps(job, "run")]
    night = "(github.event_name == 'schedule' || github.ref_type == 'tag')"
    reproduce = workflow["jobs"]["reproduce"]
    assert reproduce["env"] == {"TESTS": f"${{{{ {night} && 'test-all' || 'test' }}}}"}
    assert [line for line in steps(reproduce, "run") if "make" in line] == [
        "make setup PYTHON=python", "make lint", "make ${{ env.TESTS }}", "make figures", "make verify"
    ]  # fmt: skip
    targets = {line.split()[1] for line in commands if line.startswith("make ")} - {"${{"} | {"test", "test-all"}
    assert targets == {"book", "figures", "lint", "paper", "setup", "test", "test-all", "verify"}
    assert targets <= set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))


def test_the_first_tier_is_what_is_not_slow_and_ci_runs_lint_and_it_with_fixed_examples():
    recipes = dict(re.findall(r"^(test|test-all):.*\n\t(.*)", read("Makefile"), flags=re.MULTILINE))
    assert recipes["test"] == recipes["test-all"].replace("(PYTEST)", "(PYTEST) -m 'not slow'")
    assert read(".ci/run").splitlines()[-3:-2][0].startswith("export CI=true")
    assert read(".ci/run").splitlines()[-2:] == ["make lint", "make test"]
    told = "import hypothesis; print(hypothesis.settings(max_examples=5, deadline=None).derandomize)"
    done = subprocess.run([sys.executable, "-c", told], env=os.environ | {"CI": "true"}, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_every_test_has_a_limit_of_time(pytestconfig):
    """Compiled code hears no signal: what pytest-timeout cannot end the other limit does."""
    assert 0 < float(pytestconfig.getini("timeout")) < float(pytestconfig.getini("faulthandler_timeout")) < 3600
    assert pytestconfig.getini("faulthandler_exit_on_timeout")


def test_the_workflow_tests_three_machines_with_a_browser_each(workflow):
    job = workflow["jobs"]["reproduce"]
    assert {"ubuntu-latest", "ubuntu-24.04-arm", "macos-15"} == set(job["strategy"]["matrix"]["os"])
    supported = Requirement("python" + project()["project"]["requires-python"]).specifier
    assert all(supported.contains(python) for python in job["strategy"]["matrix"]["python"])
    (browser,) = (step for step in job["steps"] if "playwright" in step.get("run", ""))
    assert browser["if"] == "env.TESTS == 'test-all' && runner.os == 'Linux' && runner.arch == 'ARM64'"
    order = steps(job, "run")
    setup, tests = order.index("make setup PYTHON=python"), order.index("make ${{ env.TESTS }}")
    assert setup < order.index(browser["run"]) < tests


def test_the_site_is_published_from_main_when_all_else_is_well_and_never_by_a_fork(workflow):
    publish = workflow["jobs"]["publish"]
    assert set(publish["needs"]) == {"reproduce", "site"}
    for condition in ("github.event_name == 'push'", "'refs/heads/main'", "!github.event.repository.fork"):
        assert condition in publish["if"]
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values() if job is not publish)
    site = workflow["jobs"]["site"]
    assert not any("continue-on-error" in step for step in [site, *site["steps"]])
    assert steps(site, "run") == ["make book PYTHON=python"]
    assert steps(site, "with")[-1] == {"path": "build/book/html"}


def test_a_run_by_hand_names_paper_figure_and_seed_and_keeps_its_figures(workflow):
    asked = workflow["on"]["workflow_dispatch"]["inputs"]
    paper = workflow["jobs"]["paper"]
    assert paper["env"] == {name.upper(): f"${{{{ inputs.{name} }}}}" for name in asked}
    (recipe,) = re.findall(r"^paper:.*\n\t(.*)", read("Makefile"), flags=re.MULTILINE)
    assert set(asked) == {"paper", "figure", "seed"} and all(f"$({name.upper()})" in recipe for name in asked)
    assert steps(paper, "with")[-1]["path"].split() == ["figures", "build/seed_*/figures"]


def test_make_hands_on_what_a_run_by_hand_names():
    named = {"PAPER": "fiez2019", "FIGURE": "fiez2019/1a", "SEED": "0"}
    dry = ["make", "--dry-run", "--assume-old=.venv/.installed", "paper"]
    done = subprocess.run(dry, cwd=ROOT, env=os.environ | named, capture_output=True, text=True)
    assert "--paper 'fiez2019' --figure 'fiez2019/1a'" in done.stdout and "--seed '0'" in done.stdout, done.stderr
    unnamed = subprocess.run(dry, cwd=ROOT, env=os.environ | dict.fromkeys(named, ""), capture_output=True, text=True)
    assert "--paper '' --figure ''" in unnamed.stdout and "--seed" not in unnamed.stdout


# --- peak memory, for make bench


@pytest.fixture
def memory():
    spec = importlib.util.spec_from_file_location("memory", ROOT / "benchmarks" / "memory.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_peak_memory_is_that_of_this_process_in_megabytes(memory):
    import numpy as np

    before, held = memory.peak_megabytes(), np.ones(50 * 2**17)  # 50 MB; this process had its peak or reaches it now
    after = memory.peak_megabytes()
    assert held.nbytes == 50 * 2**20 and 50 < before <= after < before + 60


def test_peak_memory_without_proc_minds_the_unit(memory, monkeypatch):
    monkeypatch.setattr(memory, "STATUS", ROOT / "nowhere")
    usage = type("Usage", (), {"ru_maxrss": 300 * 2**20})
    monkeypatch.setattr(memory.resource, "getrusage", lambda who: usage)
    for platform, expected in (("darwin", 300), ("linux", 300 * 2**10)):
        monkeypatch.setattr(memory.sys, "platform", platform)
        assert memory.peak_megabytes() == expected


# --- what people read


def test_every_make_target_in_readme_exists():
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^\s*)make ([a-z-]+)", read("README.md"), flags=re.MULTILINE))
    assert {"figures", "test"} <= named
    assert named <= targets, f"README names make {', '.join(sorted(named - targets))}, which the Makefile lacks"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_files_that_are_named_exist(name):
    named = r"\b(?:bandits_lib|bandits_lab|bandits_companion|notebooks|tests|benchmarks)/[\w/.]+\.(?:py|ya?ml|ipynb)\b"
    for path in re.findall(named, read(name)):
        assert (ROOT / path).exists(), f"{name} names {path}"


def test_the_binder_badge_leads_where_pyproject_says():
    badges = re.findall(r"\[!\[Binder\]\([^)]*\)\]\(([^)]*)\)", read("README.md"))
    address = project()["tool"]["bandits_lib"]["binder"]
    assert badges == ([address] if address else [])
    environment = yaml.safe_load(read("environment.yml"))  # what Binder installs: JupyterLab and this package
    assert any(str(line).startswith("jupyterlab=") for line in environment["dependencies"])


def test_license_is_bsd_3_clause():
    text = " ".join(read("LICENSE").split())
    assert text.startswith("BSD 3-Clause License Copyright (c) 2026, the bandits_lib authors")
    assert all(f" {clause}. " in text for clause in (1, 2, 3)) and " 4. " not in text
    assert "Neither the name of the copyright holder nor the names of its contributors" in text
    assert project()["project"]["license"] == "BSD-3-Clause"


def bibtex():
    """{key: {field: value}} of papers.bib, which has one field a line."""
    entries = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", read("papers.bib"), flags=re.MULTILINE | re.DOTALL)
    return {key: dict(re.findall(r"^  (\w+) = \{(.*)\},$", fields, flags=re.MULTILINE)) for key, fields in entries}


def as_bibtex(paper):
    """The fields of papers.bib that a reference of CITATION.cff stands for."""
    (identifier,) = paper["identifiers"]
    pages = {"pages": f"{paper['start']}--{paper['end']}"} if "start" in paper else {}
    return pages | {
        "author": " and ".join(f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]),
        "booktitle": paper["collection-title"],
        "eprint": identifier["value"].removeprefix("arXiv:"),
        "archiveprefix": "arXiv",
        **{key: str(paper[key]) for key in ("title", "year", "volume", "doi", "url") if key in paper},
    }


def test_citation_names_this_version_and_its_date():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["license"] == project()["project"]["license"]
    assert citation["version"] == project()["project"]["version"]
    date = citation["date-released"]
    assert f"\n## {citation['version']} ({date.day} {date:%B %Y})\n" in read("CHANGELOG.md")


def test_citation_and_bibtex_have_the_same_papers():
    citation = yaml.safe_load(read("CITATION.cff"))
    keys = {paper["authors"][0]["family-names"].lower() + str(paper["year"]): paper for paper in citation["references"]}
    assert list(keys) == ["fiez2019", "jedra2020", "azizi2022", "weltz2023"]
    *papers, own = bibtex().items()
    assert dict(papers) == {key: as_bibtex(paper) for key, paper in keys.items()}
    assert own == (
        project()["project"]["name"],
        {
            "author": f"{{{citation['authors'][0]['name']}}}",
            "title": citation["title"],
            "note": f"Version {citation['version']}",
            "year": str(citation["date-released"].year),
        },
    )


def test_titles_and_authors_are_as_printed_on_the_papers():
    for paper in yaml.safe_load(read("CITATION.cff"))["references"]:
        text = paper_text(paper["authors"][0]["family-names"].lower() + str(paper["year"]))
        if text is None:
            pytest.skip(NONE)
        head = " ".join(text.partition("Abstract")[0].split())
        assert paper["title"] in head
        assert all(f"{author['given-names']} {author['family-names']}" in head for author in paper["authors"])


def test_versions_agree():
    import bandits_lib

    version = project()["project"]["version"]
    assert bandits_lib.__version__ == version, "after a change of version run `make setup` again"
    assert f"\n## {version}" in read("CHANGELOG.md")


def test_style_sheet_and_template_are_part_of_the_package():
    from importlib.resources import files

    data = project()["tool"]["setuptools"]["package-data"]
    assert data == {"bandits_lib.figures": ["*.mplstyle"], "bandits_companion": ["*.html"]}
    assert all(list(files(package).glob(pattern)) for package, patterns in data.items() for pattern in patterns)
