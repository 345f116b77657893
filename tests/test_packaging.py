"""The files around the code agree with each other: dependencies, README, Makefile, licence, citation."""

import importlib.metadata
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

ROOT = Path(__file__).resolve().parent.parent
THREADS = [f"{name}_THREADS" for name in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM")]
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


# --- one thread for the linear algebra, wherever it is started


def test_threads_are_set_the_same_by_make_conda_pytest_and_run():
    exported = dict(re.findall(r"^export (\w+_THREADS) = (\d+)", read("Makefile"), flags=re.MULTILINE))
    assert exported == dict.fromkeys(THREADS, "1")
    assert yaml.safe_load(read("environment.yml"))["variables"] == dict.fromkeys(THREADS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["conftest.py", "notebooks/run.py"])
def test_threads_are_set_without_make_too(file):
    """Before NumPy is imported, and so that a kernel started from there inherits it."""
    code = f"import runpy, sys; runpy.run_path({file!r}); import os; print([os.environ.get(n) for n in sys.argv[1:]])"
    bare = {name: value for name, value in os.environ.items() if name not in THREADS}
    done = subprocess.run([sys.executable, "-c", code, *THREADS], cwd=ROOT, env=bare, capture_output=True, text=True)
    assert done.stdout.strip() == str(["1"] * len(THREADS)), done.stdout + done.stderr


# --- what people read


def test_every_make_target_that_is_named_exists():
    """In README, and by the workflow, which alone finds a missing one too late."""
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))
    for name in ("README.md", ".github/workflows/ci.yml", ".ci/run"):
        named = set(re.findall(r"(?:`|^\s*|run: )make ([a-z-]+)", read(name), flags=re.MULTILINE))
        assert named and named <= targets, f"{name} names make {', '.join(sorted(named - targets))}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_files_that_are_named_exist(name):
    named = r"\b(?:bandits_lib|bandits_lab|bandits_companion|notebooks|tests|benchmarks)/[\w/.]+\.(?:py|ya?ml|ipynb)\b"
    for path in re.findall(named, read(name)):
        assert (ROOT / path).exists(), f"{name} names {path}"


def test_citation_names_this_version_and_its_date():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["license"] == project()["project"]["license"]
    assert citation["version"] == project()["project"]["version"]
    date = citation["date-released"]
    assert f"\n## {citation['version']} ({date.day} {date:%B %Y})\n" in read("CHANGELOG.md")


def test_versions_agree():
    import bandits_lib

    version = project()["project"]["version"]
    assert bandits_lib.__version__ == version, "after a change of version run `make setup` again"
    assert f"\n## {version}" in read("CHANGELOG.md")


def test_files_beside_the_modules_are_part_of_the_package():
    from importlib.resources import files

    data = project()["tool"]["setuptools"]["package-data"]
    assert data == {
        "bandits_lib.figures": ["*.mplstyle"],
        "bandits_lib.papers": ["*.csv"],
        "bandits_companion": ["*.html", "*.js", "*.txt"],
    }
    assert all(list(files(package).glob(pattern)) for package, patterns in data.items() for pattern in patterns)
