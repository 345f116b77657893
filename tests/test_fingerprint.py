"""A hash that differs when anything that decides a result differs, and only then, in every process."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bandits_lib import Lab, instances
from bandits_lib.fingerprint import fingerprint
from bandits_lib.fixed_confidence import rage
from bandits_lib.protocol import unroll

scale = 1.0


class Rule:
    def __init__(self, delta):
        self.delta = delta

    def __call__(self, problem, rng):
        return rage(problem.arms, delta=self.delta)

    def make(self, problem, rng):
        return rage(problem.arms, delta=self.delta)


def closed_over(value):
    return lambda rng: value


def nested(value):
    return lambda rng: [(lambda: value * k)() for k in range(3)]


PAIRS = {
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
        "from bandits_lib.fingerprint import fingerprint; from bandits_lib.fixed_confidence import rage;"
        "print(fingerprint(partial(rage, delta=0.1), instances.benchmark(3), {'b', 'a'}, np.random.default_rng(1)))"
    )
    told = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)}
    assert len(told) == 1 and len(told.pop().strip()) == 16


def test_logs_of_wrapped_or_tabular_experiments_are_told_apart(tmp_path):
    Lab(unroll(rage(np.eye(2), delta=0.1))).save(tmp_path / "log.csv")
    with pytest.raises(ValueError, match="another experiment"):
        Lab(unroll(rage(np.eye(2), delta=0.2)), tmp_path / "log.csv")
    Lab(rage(pd.DataFrame(np.eye(2)), delta=0.1)).save(tmp_path / "table.csv")
    with pytest.raises(ValueError, match="another experiment"):
        Lab(rage(pd.DataFrame(3 * np.eye(2)), delta=0.1), tmp_path / "table.csv")
