"""The files around the code agree with each other: dependencies, README, Makefile, licence, citation."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
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
    pins = (line.split("==") for line in read("requirements.lock").splitlines())
    return {canonicalize_name(name): version for name, version in pins}


# --- dependencies


def test_lock_has_only_exact_pins_and_no_hosts_or_paths():
    for line in read("requirements.lock").splitlines():
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.!+]*", line), line


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
    pins |= dict(line.split("==") for line in by_pip)
    assert pins == {name: locked()[name] for name in direct()}


# --- what people read


def test_every_make_target_in_readme_exists():
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^\s*)make ([a-z]+)", read("README.md"), flags=re.MULTILINE))
    assert {"figures", "test"} <= named
    assert named <= targets, f"README names make {', '.join(sorted(named - targets))}, which the Makefile lacks"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_files_that_are_named_exist(name):
    for path in re.findall(r"\b(?:bandits_lib|notebooks|tests|benchmarks)/[\w/.]+\.(?:py|ya?ml|ipynb)\b", read(name)):
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


def test_citation_names_this_version_and_the_four_papers():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["license"] == project()["project"]["license"]
    assert str(citation["version"]) == project()["project"]["version"]
    papers = {(paper["authors"][0]["family-names"].lower(), paper["year"]) for paper in citation["references"]}
    assert papers == {("fiez", 2019), ("jedra", 2020), ("azizi", 2022), ("weltz", 2023)}
    assert all(author["given-names"] for paper in citation["references"] for author in paper["authors"])


def test_versions_agree():
    import bandits_lib

    version = project()["project"]["version"]
    assert bandits_lib.__version__ == version, "after a change of version run `make setup` again"
    assert f"\n## {version}" in read("CHANGELOG.md")


def test_style_sheet_is_part_of_the_package():
    from importlib.resources import files

    assert list(files("bandits_lib").glob("*.mplstyle"))
    assert project()["tool"]["setuptools"]["package-data"]["bandits_lib"] == ["*.mplstyle"]
