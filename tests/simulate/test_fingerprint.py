"""A hash that differs when anything that decides a result differs, and only then, in every process."""

import ast
import importlib
import os
import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bandits_lab import Lab
from bandits_lib import instances, rule
from bandits_lib.fixed_confidence import rage
from bandits_lib.numerics.kernel_cache import HOME, kernel_sources
from bandits_lib.protocol import unroll
from bandits_lib.simulate.fingerprint import _Description, fingerprint

scale = 1.0


class Rule:
    def __init__(self, delta):
        self.delta = delta

    def __call__(self, problem, rng):
        return rage(problem.arms, delta=self.delta)

    def make(self, problem, rng):
        return rage(problem.arms, delta=self.delta)


class Row(NamedTuple):
    value: int


class Sealed:
    def __init__(self, value):
        self.value = value

    def __reduce_ex__(self, protocol):
        raise TypeError("not to be pickled")


class SealedToo(Sealed):
    pass


def tries_both(lab):
    try:
        lab.one()
        lab.other()
    except ValueError:
        lab.stop()


def tries_one(lab):
    try:
        lab.one()
    except ValueError:
        lab.stop()
    else:
        lab.other()


tries_one.__qualname__ = tries_both.__qualname__


def closed_over(value):
    return lambda rng: value


def nested(value):
    return lambda rng: [(lambda: value * k)() for k in range(3)]


def decorated(value):
    @rule
    def mine(arms):
        yield np.full(len(arms), value)

    return mine


PAIRS = {
    "decorated rules": (decorated(1), decorated(2)),
    "decorated rules that were called": (decorated(1)(np.eye(2)), decorated(2)(np.eye(2))),
    "arrays": (np.eye(2), 2 * np.eye(2)),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "numbers": (1, 1.5),
    "partials": (partial(rage, delta=0.1), partial(rage, delta=0.2)),
    "closures": (closed_over(1), closed_over(2)),
    "nested closures": (nested(1), nested(2)),
    "code": (lambda x: x + 1, lambda x: x + 2),
    "callables": (Rule(0.1), Rule(0.2)),
    "methods": (Rule(0.1).make, Rule(0.2).make),
    "sets": ({1, 2}, {1, 3}),
    "ranges": (range(3), range(4)),
    "paths": (Path("a"), Path("b")),
    "frames": (pd.DataFrame(np.eye(2)), pd.DataFrame(2 * np.eye(2))),
    "streams": (np.random.default_rng(1), np.random.default_rng(2)),
    "types of tuple": (Row(1), (1,)),
    "masks": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "signatures": (lambda *x: x, lambda **x: x),
    "what is tried": (tries_both, tries_one),
    "methods of lists": ([1].append, [2].append),
    "what cannot be pickled": (Sealed(1), Sealed(2)),
    "classes that cannot be pickled": (Sealed(1), SealedToo(1)),
    "objects in arrays": (np.array([{1}, None]), np.array([{2}, None])),
    "generators": (rage(np.eye(2), delta=0.1), rage(np.eye(2), delta=0.2)),
    "problems": (instances.benchmark(3), instances.benchmark(3, angle=0.2)),
    "dictionaries": ({"a": 1}, {"a": 2}),
}


@pytest.mark.parametrize(("one", "other"), PAIRS.values(), ids=PAIRS.keys())
def test_what_differs_has_another_hash_and_the_same_thing_the_same(one, other):
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)


def test_a_global_read_only_inside_a_comprehension_counts(monkeypatch):
    def reader(rng):
        return [(lambda: scale * k)() for k in range(3)]

    before = fingerprint(reader)
    monkeypatch.setattr(sys.modules[__name__], "scale", 2.0)
    assert fingerprint(reader) != before


def test_the_same_in_another_process():
    code = (
        "import numpy as np; from functools import partial; from bandits_lib import instances;"
        "from bandits_lib.simulate.fingerprint import fingerprint; from bandits_lib.fixed_confidence import rage;"
        "print(fingerprint(partial(rage, delta=0.1), instances.benchmark(3), {'b', 'a'}, np.random.default_rng(1)))"
    )
    told = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)}
    assert len(told) == 1 and len(told.pop().strip()) == 16


def test_logs_of_wrapped_or_tabular_experiments_are_told_apart(tmp_path):
    wrapped = rule(unroll)
    Lab(wrapped(rage(np.eye(2), delta=0.1))).save(tmp_path / "log.csv")
    with pytest.raises(ValueError, match="another experiment"):
        Lab(wrapped(rage(np.eye(2), delta=0.2)), tmp_path / "log.csv")
    Lab(rage(pd.DataFrame(np.eye(2)), delta=0.1)).save(tmp_path / "table.csv")
    with pytest.raises(ValueError, match="another experiment"):
        Lab(rage(pd.DataFrame(3 * np.eye(2)), delta=0.1), tmp_path / "table.csv")


# --- modules and classes of the user

MODULE = """
import enum
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import NamedTuple

from numba import njit

SCALE = 1.0
KNOWN = {"near", "far", "beyond"}

def helper(x):
    return SCALE * x

def make_problem(rng):
    return helper(rng)

def another(rng):
    return -helper(rng)

def recursive(n):
    return n and recursive(n - 1) + odd(n)

def odd(n):
    return recursive(n)

def twice(function):
    @wraps(function)
    def wrapper(*args):
        return 2 * function(*args)
    return wrapper

@twice
def wrapped(x):
    return x + 1

@lru_cache
def remembered(x):
    return x + 1

@njit
def compiled(x):
    return x + 1

def among(x):
    return x in {"a", "b", "c", "d", 1.5}

def guarded(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        return 0.0

class Base:
    def shared(self):
        return 1

class Player(Base):
    "What is said of it."
    limit = 3

    def __call__(self, rng):
        return self.gap(rng)

    def gap(self, rng):
        return rng

    @property
    def shown(self):
        return 1

    @cached_property
    def kept(self):
        return 1

    @staticmethod
    def alone():
        return 1

class Row(NamedTuple):
    gap: float = 1.0

    def double(self):
        return self.gap

@dataclass
class Options:
    gap: float = 1.0
    names: list = field(default_factory=lambda: ["a"])

    def double(self):
        return self.gap

class Slotted:
    __slots__ = ("rule",)

    def __init__(self):
        self.rule = lambda x: x

class Kind(enum.Enum):
    NEAR = 1

def nobody_asks():
    return 1
"""
TASKS = """
import sys
from functools import partial
import numpy as np
import parts.lines as lines
import parts
from parts.lines import KNOWN, Kind, Options, Player, Row, Slotted, among, another, compiled, guarded, make_problem
from parts.lines import recursive, remembered, wrapped
from bandits_lib.simulate.fingerprint import fingerprint

def inside(rng):
    import parts.lines
    return parts.lines.make_problem(rng)

def from_inside(rng):
    from parts.lines import make_problem as make
    return make(rng)

tasks = {
    "attribute": lambda rng: lines.make_problem(rng), "nested attribute": lambda rng: parts.lines.make_problem(rng),
    "inside": inside, "from inside": from_inside, "function": make_problem, "recursive": recursive,
    "wrapped": wrapped, "remembered": remembered, "compiled": compiled, "among": among, "guarded": guarded,
    "known": lambda rng: KNOWN, "class": Player, "instance": Player(), "method": Player().gap, "row": Row(2.0),
    "rows": Row, "options": Options(2.0), "slots": Slotted(), "kind": Kind.NEAR, "partial": partial(Player(), 1),
    "set": {(name, task) for name, task in zip("abcd", [make_problem, another, Player, among])},
    "array": np.array([{"a", "b", "c"}, "d"], dtype=object),
    "all": lambda rng: (lines, Player, Row, Options, {Player, Row, among}),
}
hashes = {name: fingerprint(task) for name, task in tasks.items()}
if __name__ == "__main__":
    print(hashes)
"""


def written(folder, module):
    """The folder with TASKS in it, and the module that they refer to."""
    (folder / "parts").mkdir()
    (folder / "parts" / "__init__.py").touch()
    (folder / "parts" / "lines.py").write_text(module)
    (folder / "tasks.py").write_text(TASKS)
    return folder


def told(folder):
    """{task: fingerprint}, with the module as it stands in the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name in ("tasks", "parts", "parts.lines"):
            sys.modules.pop(name, None)
        return importlib.import_module("tasks").hashes


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return told(written(tmp_path_factory.mktemp("before"), MODULE))


def test_the_same_under_every_seed_of_hashing(tmp_path):
    folder, seen = written(tmp_path, MODULE), []
    for seed in "012":
        given = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        done = subprocess.run([sys.executable, str(folder / "tasks.py")], capture_output=True, text=True, env=given)
        assert done.returncode == 0, done.stderr
        seen.append(ast.literal_eval(done.stdout))
    assert seen[0] == seen[1] == seen[2]
    assert len(set(seen[0].values())) == len(seen[0])


BY_FILE = {"attribute", "nested attribute", "inside", "from inside", "all"}  # the module itself is referred to
EDITS = {
    "a helper": ("SCALE * x", "SCALE + x", {"function", "set"}),
    "a module's global": ("SCALE = 1.0", "SCALE = 2.0", {"function", "set"}),
    "a function that calls itself": ("odd(n)\n\ndef", "2 * odd(n)\n\ndef", {"recursive"}),
    "one of two that call each other": ("return recursive(n)\n", "return recursive(n - 1)\n", {"recursive"}),
    "a decorator": ("2 * function", "3 * function", {"wrapped"}),
    "what is decorated": ("wrapped(x):\n    return x + 1", "wrapped(x):\n    return x + 2", {"wrapped"}),
    "what is remembered": ("remembered(x):\n    return x + 1", "remembered(x):\n    return x + 2", {"remembered"}),
    "what is compiled": ("compiled(x):\n    return x + 1", "compiled(x):\n    return x + 2", {"compiled"}),
    "how it is compiled": ("@njit\n", "@njit(fastmath=True)\n", {"compiled"}),
    "a set in the code": ('"d", 1.5}', '"d", 2.5}', {"among", "set"}),
    "a set": ('"beyond"}', '"behind"}', {"known"}),
    "what is caught": ("except ZeroDivisionError", "except ValueError", {"guarded"}),
    "a method": ("gap(self, rng):\n        return rng", "gap(self, rng):\n        return -rng", "Player"),
    "a base class": ("shared(self):\n        return 1", "shared(self):\n        return 2", "Player"),
    "a class attribute": ("limit = 3", "limit = 4", "Player"),
    "a property": ("shown(self):\n        return 1", "shown(self):\n        return 2", "Player"),
    "a cached property": ("kept(self):\n        return 1", "kept(self):\n        return 2", "Player"),
    "a static method": ("alone():\n        return 1", "alone():\n        return 2", "Player"),
    "a row's default": ("NamedTuple):\n    gap: float = 1.0", "NamedTuple):\n    gap: float = 2.0", "Row"),
    "an option's default": ('lambda: ["a"]', 'lambda: ["b"]', {"options"}),
    "a lambda in a slot": ("lambda x: x", "lambda x: -x", {"slots"}),
    "an enumeration": ("NEAR = 1", "NEAR = 2", {"kind"}),
    "a docstring": ("What is said of it", "What else is said of it", set()),
    "what nobody asks for": ("nobody_asks():\n    return 1", "nobody_asks():\n    return 2", set()),
}
GROUPS = {"Player": {"class", "instance", "method", "partial", "set"}, "Row": {"row", "rows"}}


@pytest.mark.parametrize(("old", "new", "seen_by"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_seen_by_all_that_it_decides_and_by_nothing_else(before, tmp_path, old, new, seen_by):
    assert MODULE.count(old) == 1
    after = told(written(tmp_path, MODULE.replace(old, new)))
    assert {name for name in before if after[name] != before[name]} == GROUPS.get(str(seen_by), seen_by) | BY_FILE


def test_a_value_set_in_a_module_counts(before, monkeypatch):
    parts = importlib.import_module("parts")
    readers = lambda rng: parts.lines.SCALE, lambda rng: parts.lines.make_problem(rng)
    as_written = [fingerprint(reader) for reader in readers]
    monkeypatch.setattr(parts.lines, "SCALE", 2.0)
    assert all(fingerprint(reader) != old for reader, old in zip(readers, as_written, strict=True))


def test_a_function_of_a_notebook_counts_by_its_code(monkeypatch):
    """There the main module is the kernel's launcher, a file of an installed library."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "/site-packages/ipykernel_launcher.py", raising=False)
    one, other = lambda rng: rng + 1, lambda rng: rng + 2
    one.__module__ = other.__module__ = "__main__"
    assert fingerprint(one) != fingerprint(other)


def test_a_function_is_described_once_however_many_lead_to_it():
    """Two on each of twelve floors, each of which calls both of the next: 2^12 ways down."""
    house = {"__name__": "house"}
    for k in range(12):
        exec(f"def f{k}(): return f{k + 1}(), g{k + 1}()\ndef g{k}(): return g{k + 1}(), f{k + 1}()", house)
    assert len(_Description()(house["f0"])) < 24 * 1_000


def test_libraries_count_by_name_and_the_global_generator_has_no_state():
    def reader(rng):
        return np.linalg.norm(rng), pd.DataFrame, stats.norm, np.random.normal

    frozen, drawn = stats.norm(0, 1), fingerprint(stats.norm(0, 1), np.random.normal, reader)
    np.random.normal()
    assert fingerprint(frozen, np.random.normal, reader) == drawn


def test_what_cannot_be_pickled_does_no_harm():
    everything = [threading.Lock(), {"self": sys.modules[__name__]}, iter([1]), "\ud800", np.array([{1, 2}, None])]
    everything.append(everything)
    assert fingerprint(everything) == fingerprint(everything)


def test_bound_methods_of_generators_have_their_state():
    one, same, other = (np.random.default_rng(seed).standard_normal for seed in (1, 1, 2))
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)


def test_kernels_are_keyed_by_what_they_are_made_of_and_by_nothing_else(tmp_path):
    """A file that uses numba, and what such files import in any form: not those that import them, nor bystanders."""
    files = {
        "__init__": "from pack.rule import rule\n",
        "kernels": "from numba import njit\nfrom pack import constants\n",
        "constants": "import pack.deep.more\nA = 1\n",
        "deep/__init__": "",
        "deep/more": "from pack.deep import (\n    last,\n)\n",
        "deep/last": "B = 2\n",
        "rule": "from pack.kernels import f\n",
        "bystander": "C = 3  # from numba import njit\n",
        "of_kernels": "from pack.kernels import kernel\n\n\n@kernel\ndef f():\n    pass\n",
    }
    (tmp_path / "pack" / "deep").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "pack" / f"{name}.py").write_text(text)
    pack = tmp_path / "pack"
    found = [file.relative_to(pack).with_suffix("").as_posix() for file in kernel_sources(pack)]
    assert found == ["constants", "deep/__init__", "deep/last", "deep/more", "kernels", "of_kernels"]
    assert {"span.py", "play.py", "linear_algebra.py"} <= {file.name for file in kernel_sources(HOME)}
    assert "_rage.py" not in {file.name for file in kernel_sources(HOME)}


def test_every_file_with_a_kernel_counts():
    decorator = re.compile(r"^@\w*(compiled|kernel|inlined|merged|jit)", re.M)
    decorated = {file for file in HOME.rglob("*.py") if decorator.search(file.read_text())}
    assert len(decorated) > 30 and decorated <= set(kernel_sources(HOME))
