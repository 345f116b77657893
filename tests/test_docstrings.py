"""Every exported name is documented by numpydoc's rules, and by four that numpydoc does not know.

Exported is what the site's reference lists (`book/reference.py`). Exported functions and methods have annotations, and
the docstrings of all others are short. numpydoc's own validation checks the summary (ruff its length), every
parameter, what is returned or yielded, and the order of the sections. Beside that:
- where a parameter (of a NamedTuple: a field) is known by its name, its entry says the shape or the unit, or refers to
  another docstring ("as for", "as in" another function, ...);
- it has a section "Raises" if it, or a private helper of its module, raises ValueError or checks an argument;
- rules, complexities and instances name a paper by its key, or another source with its year;
- the lines after `>>>`, run in an empty folder with NumPy as `np` and the name itself at hand, print what stands there.
"""

import ast
import doctest
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from reference import public_names

# Summaries may be nouns that say it all beside the quotes, types in words; names in backticks are links, no "See Also".
NOT_OURS = ("GL01", "GL02", "ES01", "SS05", "PR06", "RT02", "SA01", "SA04", "EX01")
NO_EXAMPLE = {  # modules and names
    "bandits_lib.figures.bars.settings": "a figure of several panels, drawn in the notebooks of weltz2023",
    "bandits_lib.papers.data.automobile_file": "may fetch the file from the network",
}
SHAPE = r"\(\w+, ?(\w+|[\w() +/-]+)?\)|\(1?,? ?d,?\)"
SAID = {  # parameter: what its entry must say
    **dict.fromkeys(("arms", "items", "theta", "counts", "directions", "features"), SHAPE),
    "sigma": "standard deviation",
    "delta": "probability",
    "budget": "pulls",
    "angle": "radians",
}
ELSEWHERE = r"as (for|in|`|it)|of the Loop"  # said by another docstring
CITING = ("fixed_confidence", "fixed_budget", "variance", "complexity")
CITING += ("papers.fiez2019", "papers.azizi2022", "papers.weltz2023")  # not data and experiments
CITATION = re.compile(r"fiez2019|jedra2020|azizi2022|weltz2023|\b(19|20)\d\d\b")


def public_objects():
    """(module, name, object, class it belongs to or None) of every public function, class and public method, once."""
    seen = set()
    for module, names in public_names().items():
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


def faults(item):
    """What numpydoc finds wrong, and what it does not look for; a NamedTuple has fields in place of parameters."""
    function, fields = plain(item), getattr(item, "_fields", ())
    doc = get_doc_object(function)
    passed = NOT_OURS + ("PR01", "PR02") * bool(fields)
    passed += ("RT01",) * inspect.isgeneratorfunction(function)  # numpydoc refuses Returns beside Yields
    found = [f"{code}: {fault}" for code, fault in validate(doc)["errors"] if code not in passed]
    section = doc["Attributes" if fields else "Parameters"]
    entries = {name: f"{entry.type} {entry.desc}" for entry in section for name in entry.name.split(", ")}
    found += [f"Attributes lack {field}" for field in fields if field not in entries]
    for name in entries.keys() & SAID:
        if not re.search(f"{SAID[name]}|{ELSEWHERE}", entries[name], re.IGNORECASE):
            found.append(f"{name} has neither shape nor unit")
    if not fields and not doc["Raises"] and refuses(vars(item).get("__init__") if inspect.isclass(item) else item):
        found.append("Raises is missing")
    return found


def refuses(function, seen=()):
    """Whether a function raises ValueError or checks an argument, itself or through its module's private helpers."""
    if not inspect.isfunction(plain(function)):  # a constructor of Python's own
        return False
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(plain(function))))):
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


@pytest.mark.parametrize("item", [item for _, _, item in OBJECTS.values()], ids=OBJECTS)
def test_the_docstring_has_no_fault(item):
    assert not faults(item)


# --- annotations, and short docstrings of what is not exported

LONGEST = 3  # lines of such a docstring
PACKAGES = [
    Path(importlib.import_module(name).__file__).parent for name in ("bandits_lib", "bandits_lab", "bandits_companion")
]


def unannotated(item):
    """Parameters without annotation, and "return" if that has none; of a class those of its constructor."""
    function = plain(vars(item).get("__init__", item)) if inspect.isclass(item) else plain(item)
    if not inspect.isfunction(function):
        return []
    found = inspect.signature(function)
    lacking = [name for name, given in found.parameters.items() if given.annotation is given.empty]
    lacking += ["return"] * (found.return_annotation is found.empty and not inspect.isclass(item))
    return [name for name in lacking if name not in ("self", "cls")]


def test_exported_functions_have_annotations():
    lacking = {key: names for key, (_, _, item) in OBJECTS.items() if (names := unannotated(item))}
    told = [f"{key}: {', '.join(names)}" for key, names in lacking.items()]
    assert not told, "\n".join(["parameters or return values without annotations:", *told])


def documented(node, prefix):
    """(qualified name, lines of its docstring) of every function and class below a node of a syntax tree."""
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}"
            yield name, len((ast.get_docstring(child) or "").splitlines())
        yield from documented(child, name)


def long_docstrings(file):
    """Names of a file that are not exported and whose docstrings have more than LONGEST lines."""
    parts = file.relative_to(PACKAGES[0].parent).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    named = documented(ast.parse(file.read_text(encoding="utf-8")), module)
    return [name for name, lines in named if lines > LONGEST and name not in OBJECTS]


def test_other_docstrings_are_short():
    """But for `bandits_lib/plain`, which is read in notebooks."""
    told = []
    for file in (file for package in PACKAGES for file in sorted(package.rglob("*.py")) if file.parent.name != "plain"):
        found, path = long_docstrings(file), file.relative_to(PACKAGES[0].parent).as_posix()
        if found:
            told.append(f"{path}: {len(found)}, {', '.join(found)}")
    assert not told, "\n".join([f"names that are not exported have docstrings of more than {LONGEST} lines:", *told])


def test_missing_annotations_and_long_docstrings_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGES", [tmp_path / "pack"])
    file = tmp_path / "pack" / "mod.py"
    file.parent.mkdir()
    text = (
        'class C:\n    def a(self):\n        """A.\n\n        B.\n        """\n\n    def b(self):\n        """B."""\n'
    )
    file.write_text(text.replace("B.\n", "B.\n        C.\n"), encoding="utf-8")
    assert long_docstrings(file) == ["pack.mod.C.a"]
    file.write_text(text, encoding="utf-8")
    assert not long_docstrings(file)
    assert unannotated(strict) == ["value", "delta", "return"] and unannotated(Undescribed) == []


CITED = {key: item for key, (_, _, item) in OBJECTS.items() if key.removeprefix("bandits_lib.").startswith(CITING)}


@pytest.mark.parametrize("item", CITED.values(), ids=CITED)
def test_rules_and_instances_name_their_source(item):
    assert CITATION.search(inspect.getdoc(item).partition(">>>")[0])


def examples(item, name):
    return doctest.DocTestParser().get_doctest(inspect.getdoc(item), {}, name, None, None)


SHOWN = {  # excused names are run all the same if they have an example
    key: described
    for key, described in OBJECTS.items()
    if not key.startswith(tuple(NO_EXAMPLE)) or ">>>" in inspect.getdoc(described[2])
}


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
    assert not [excused for excused in NO_EXAMPLE if not any(key.startswith(excused) for key in OBJECTS)]


def silent():
    """Nothing is taken, returned or refused.

    >>> 1 + 1
    3
    """


def strict(value, delta):
    """Refuse what is negative.

    Parameters
    ----------
    delta : float
        A number.
    """
    if value < 0:
        raise ValueError(value)
    return [inner for inner in (value,)]


class Undescribed(NamedTuple):
    """One number."""

    field: int


def test_the_rules_see_what_is_missing():
    assert [fault.partition(" ")[0] for fault in faults(strict)] == ["PR01:", "RT01:", "delta", "Raises"]
    assert not faults(silent)
    assert faults(Undescribed) == ["Attributes lack field"]
    printed = []
    doctest.DocTestRunner(verbose=False).run(examples(silent, "silent"), out=printed.append)
    assert "Expected:" in "".join(printed)
