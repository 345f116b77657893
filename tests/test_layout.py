"""The layout: imports go one way, and folders stay small."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bandits_lib
from bandits_lib.simulate.fingerprint import PACKAGES

ROOT = Path(bandits_lib.__file__).parents[1]
LEVELS = (  # each imports from those before it, and from itself
    {"bandits_lib.numerics"},
    {"bandits_lib.checks", "bandits_lib.files", "bandits_lib.protocol"},
    {"bandits_lib.problem", "bandits_lib.design"},
    {"bandits_lib.complexity", "bandits_lib.variance", "bandits_lib.glr"},
    {"bandits_lib.fixed_confidence", "bandits_lib.plain"},
    {"bandits_lib.fixed_budget"},
    {"bandits_lib.simulate"},
    {"bandits_lib.papers", "bandits_lib.figures"},
    {"bandits_lib.experiments"},
    {"bandits_lab"},
    {"bandits_companion"},
)
MODULES = sorted(
    file for package in PACKAGES for file in (ROOT / package).rglob("*.py") if file != ROOT / "bandits_lib/__init__.py"
)
FOLDERS = sorted({file.parent for file in MODULES})
MANY = 15  # files in a folder; the folders of rules have one for each rule
OF_RULES = {"plain", "fixed_confidence", "fixed_budget"}


def part(dotted):
    """bandits_lib's part that a dotted name lies in, or the other package."""
    names = dotted.split(".")
    if names[0] == "bandits_lib":
        home = bandits_lib.SHORT.get(names[1], bandits_lib.HOMES.get(names[1], names[1]))
        return f"bandits_lib.{home.partition('.')[0]}"
    return names[0]


def imported(file):
    """Parts that the file imports from, also within functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (part(name) for name in names if name.partition(".")[0] in PACKAGES and "." in name)


def level(name):
    (found,) = (number for number, parts in enumerate(LEVELS) if name in parts)
    return found


def own_part(file):
    return part(".".join(file.relative_to(ROOT).with_suffix("").parts))


def test_every_part_has_a_level():
    assert {own_part(file) for file in MODULES} == set().union(*LEVELS)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_one_way(file):
    here = own_part(file)
    for other in imported(file):
        assert other == here or level(other) < level(here), f"{here} imports from {other}"


def test_the_library_loads_neither_of_the_other_packages():
    library = [file for file in MODULES if file.is_relative_to(ROOT / "bandits_lib")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in library]
    loads = "import importlib, sys\n" + "".join(f"importlib.import_module({name!r})\n" for name in names)
    loaded = f"{loads}print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & set(PACKAGES) == {"bandits_lib"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_folders_stay_small(folder):
    assert folder.name in OF_RULES or len(list(folder.glob("*.py"))) <= MANY
