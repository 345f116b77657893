"""Every public name says what it takes, gives and refuses, where it comes from, and shows it by an example that runs.

Public is what the site's reference lists (`book/gather.py`). Rules for a docstring:
- its first line is one sentence of at most 120 characters;
- it names every parameter (of a NamedTuple: every field), with shapes and units where these are known by the name (or
  "as for", "as in" another function, "of the stopping rule", ...), says "return" if something is returned,
  and "Raises" if the function, or a private helper of its module, raises ValueError or checks an argument;
- algorithms, complexities and instances name a paper by its key, or another source with its year;
- the lines after `>>>`, run in an empty folder with NumPy as `np` and the name itself at hand, print what stands there.
"""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

BOOK = Path(__file__).resolve().parent.parent / "book" / "gather.py"
NO_EXAMPLE = {
    "bandits_lib.checks": "refusals, shown by the rules that call them and tested in test_contract.py",
    "bandits_lib.companion.warm": "compiles everything: minutes on a new machine",
    "bandits_lib.papers.heteroskedastic": "the experiments of three notebooks, seconds to minutes each",
}
NO_EXAMPLE_NAMES = {
    "settings": "a figure of several panels, drawn in the notebooks of weltz2023",
    "end_with": "ends the process",
    "one_run": "a part of monte_carlo, whose example plays it",
    "automobile_file": "may fetch the file from the network",
    "check_workers": "needs a dask cluster, see test_more_than_one_machine.py",
}
SHAPE = r"\(\w+, ?(\w+|[\w() +/-]+)?\)|\(1?,? ?d,?\)"
SAID = {  # parameter: what a docstring that has it must say
    **dict.fromkeys(("arms", "items", "theta", "counts", "directions", "features"), SHAPE),
    "sigma": "standard deviation",
    "delta": "probability",
    "budget": "pulls",
    "angle": "radians",
}
ELSEWHERE = r"[aA]s (for|in|`|it)|of the Loop"  # said by another docstring
CITING = "fixed_confidence", "fixed_budget", "variance", "complexity", "papers"
CITATION = re.compile(r"fiez2019|jedra2020|azizi2022|weltz2023|\b(19|20)\d\d\b")


def gather():
    spec = importlib.util.spec_from_file_location("gather", BOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_objects():
    """(module, name, object, class it belongs to or None) of every public function, class and public method, once."""
    seen = set()
    for module, names in gather().public_names().items():
        for name in names:
            item = getattr(importlib.import_module(module), name)
            home = plain(item).__module__
            if (home, name) in seen:
                continue
            seen.add((home, name))
            yield home, name, item, None
            if inspect.isclass(item):
                yield from ((home, f"{name}.{key}", method, item) for key, method in methods(item))


def methods(cls):
    """Public methods and properties that a class defines itself; the fields of a NamedTuple are not among them."""
    for key, value in vars(cls).items():
        own = isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
        if own and not key.startswith("_"):
            yield key, value.fget if isinstance(value, property) else getattr(cls, key)


def plain(item):
    """The Python function behind a compiled or wrapped one."""
    return inspect.unwrap(getattr(item, "py_func", item))


OBJECTS = {f"{home}.{name}": (home, name, item) for home, name, item, _ in public_objects()}
every_name = pytest.mark.parametrize("home, name, item", OBJECTS.values(), ids=OBJECTS)


def prose(item):
    return inspect.getdoc(item).partition(">>>")[0]


def tree(function):
    return ast.parse(textwrap.dedent(inspect.getsource(plain(function))))


def parameters(item):
    if hasattr(item, "_fields"):
        return item._fields
    return [name for name in inspect.signature(plain(item)).parameters if name not in ("self", "cls")]


def refuses(function, seen=()):
    """Whether a function raises ValueError or checks an argument, itself or through its module's private helpers."""
    for node in ast.walk(tree(function)):
        if isinstance(node, ast.Raise) and node.exc is not None and "ValueError" in ast.unparse(node.exc):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            called = ast.unparse(node.func)
            if called.rpartition(".")[2].startswith("check") or called.startswith("check."):
                return True
            helper = vars(inspect.getmodule(plain(function))).get(called)
            if called.startswith("_") and called not in seen and inspect.isfunction(plain(helper)):
                if refuses(helper, (*seen, called)):
                    return True
    return False


def returns(function):
    """Whether a function, nested ones aside, gives anything but None."""
    nodes = list(ast.walk(tree(function)))
    nested = {inner for node in nodes[2:] if isinstance(node, ast.FunctionDef | ast.Lambda) for inner in ast.walk(node)}
    given = (node for node in nodes if isinstance(node, ast.Return) and node not in nested)
    return any(node.value is not None and ast.unparse(node.value) != "None" for node in given)


@every_name
def test_the_first_line_is_a_sentence(home, name, item):
    first, _, rest = inspect.getdoc(item).partition("\n")
    assert len(first) <= 120 and first.endswith((".", "?")), first
    assert not rest or rest.startswith("\n"), "an empty line must follow the first"


@every_name
def test_every_parameter_is_named(home, name, item):
    missing = [p for p in parameters(item) if not re.search(rf"\b{p}\b", prose(item))]
    assert not missing


@every_name
def test_shapes_and_units_are_said(home, name, item):
    unsaid = [p for p in parameters(item) if p in SAID and not re.search(f"{SAID[p]}|{ELSEWHERE}", prose(item))]
    assert not unsaid


@every_name
def test_what_is_refused_is_said(home, name, item):
    if hasattr(item, "_fields"):
        return
    function = item.__init__ if inspect.isclass(item) else item
    assert "Raises" in prose(item) or not refuses(function)


@every_name
def test_what_is_returned_is_said(home, name, item):
    if not inspect.isclass(item) and returns(item):
        assert re.search(r"[Rr]eturns?\b", prose(item))


@every_name
def test_rules_and_instances_name_their_source(home, name, item):
    if home.split(".")[1].split("_fixed_budget")[0].split("_heteroskedastic")[0] in CITING:
        assert CITATION.search(prose(item))


def shown(home, name, item):
    """Whether the name needs an example, or has one all the same."""
    return (home not in NO_EXAMPLE and name not in NO_EXAMPLE_NAMES) or ">>>" in inspect.getdoc(item)


def examples(item, name):
    return doctest.DocTestParser().get_doctest(inspect.getdoc(item), {}, name, None, None)


SHOWN = {key: described for key, described in OBJECTS.items() if shown(*described)}


@pytest.mark.parametrize("home, name, item", SHOWN.values(), ids=SHOWN)
def test_the_example_runs(home, name, item, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path))
    example = examples(item, name)
    assert example.examples, "the docstring has no example"
    owner = name.partition(".")[0]
    example.globs = {"np": np, owner: getattr(importlib.import_module(home), owner)}
    printed = []
    doctest.DocTestRunner(verbose=False).run(example, out=printed.append)
    plt.close("all")
    assert not printed, "".join(printed)


def test_what_is_excused_exists():
    homes, names = {home for home, _, _ in OBJECTS.values()}, {name for _, name, _ in OBJECTS.values()}
    assert set(NO_EXAMPLE) <= homes and set(NO_EXAMPLE_NAMES) <= names


def silent():
    """No return, no refusal.

    >>> 1 + 1
    3
    """
    return None


def strict(value):
    if value < 0:
        raise ValueError(value)
    return [inner for inner in (value,)]


def test_the_rules_see_what_is_missing():
    assert refuses(strict) and returns(strict) and parameters(strict) == ["value"]
    assert not refuses(silent) and not returns(silent)
    printed = []
    doctest.DocTestRunner(verbose=False).run(examples(silent, "silent"), out=printed.append)
    assert "Expected:" in "".join(printed)
