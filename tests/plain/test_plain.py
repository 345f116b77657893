"""The plain rules are plain: NumPy, SciPy and the designs, no numba, functions of one screen, and words for each."""

import ast
from pathlib import Path

import pytest

from bandits_lib import plain

MODULES = {"math", "itertools", "collections", "numpy", "scipy"}
OURS = {"bandits_lib.protocol", "bandits_lib.design", "bandits_lib.variance", "bandits_lib.numerics.ties"}
SCREEN = 45  # lines
FILES = sorted(Path(plain.__file__).parent.glob("*.py"))

each = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def imported(file):
    """The modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def allowed(module):
    return module.partition(".")[0] in MODULES or module in OURS or module.startswith("bandits_lib.plain.")


def functions(file):
    """The functions of a file; one inside another is part of it."""
    return [node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]


@each
def test_it_imports_only_what_a_reader_knows(file):
    assert [module for module in imported(file) if not allowed(module)] == []


@each
def test_it_is_plain_python(file):
    assert "numba" not in file.read_text(encoding="utf-8")
    assert [node.name for node in functions(file) if node.decorator_list] == []


@each
def test_a_function_fits_on_one_screen(file):
    long = {node.name: node.end_lineno - node.lineno + 1 for node in functions(file)}
    assert {name: lines for name, lines in long.items() if lines > SCREEN} == {}


@each
def test_it_says_what_it_is(file):
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert [node.name for node in functions(file) if not ast.get_docstring(node)] == []
