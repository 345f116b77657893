"""The rooms of the package: imports go one way, and no name stands for a module and for something in it."""

import ast
import importlib
import types
from pathlib import Path

import pytest

import bandits_lib

HOME = Path(bandits_lib.__file__).parent
FLOORS = (  # each imports from those before it, and from itself
    {"numerics"},
    {"checks", "protocol"},
    {"problem", "design"},
    {"complexity", "variance"},
    {"fixed_confidence", "fixed_budget", "plain"},
    {"simulate"},
    {"lab"},
    {"papers"},
    {"companion"},
)
MODULES = sorted(file for file in HOME.rglob("*.py") if file != HOME / "__init__.py")
PACKAGES = sorted(file.parent for file in HOME.rglob("__init__.py"))


def room(dotted):
    """The first name below bandits_lib."""
    return dotted.split(".")[1]


def imported(file):
    """Rooms that the file imports from, also within functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            above = node.module == "bandits_lib"
            names = [f"bandits_lib.{alias.name}" for alias in node.names] if above else [node.module]
        else:
            continue
        yield from (room(name) for name in names if name.startswith("bandits_lib."))


def floor(name):
    name = bandits_lib.SHORT.get(name, bandits_lib.HOMES.get(name, name)).partition(".")[0]
    (found,) = (level for level, rooms in enumerate(FLOORS) if name in rooms)
    return found, name


def test_every_room_has_a_floor():
    rooms = {file.relative_to(HOME).parts[0].removesuffix(".py") for file in MODULES}
    assert rooms == set().union(*FLOORS)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(HOME)))
def test_imports_go_one_way(file):
    level, here = floor(file.relative_to(HOME).parts[0].removesuffix(".py"))
    for other, name in map(floor, imported(file)):
        assert name == here or other < level, f"{here} imports from {name}"


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_no_name_hides_a_module(folder):
    package = importlib.import_module(".".join(folder.relative_to(HOME.parent).parts))
    for name in {file.stem for file in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}:
        hidden = getattr(package, name, None) if name in vars(package) else None
        assert hidden is None or isinstance(hidden, types.ModuleType), f"{name} of {package.__name__}"
