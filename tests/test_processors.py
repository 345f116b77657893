"""The same digits on every processor: designs, counts, pulls and recommendations, bit for bit.

One processor imitates others (benchmarks/processors_imitated.py): with every kernel of the linear algebra that runs
here, and as one without AVX, in NumPy and the C library too. The instances are two of each family of
benchmarks/processors_instances.py: spheres of 25, 100 and 400 arms and sets full of ties. `make processors` has more
of both, and the notebooks.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from processors_imitated import ROOT, environment, imitations, kernels, runnable
from processors_instances import differences

NUMBER = 24
NAMES = [name for name in imitations() if name in (*kernels(), "without-avx")]


@pytest.fixture(scope="module")
def here():
    """(rows, lines): environments of the processors that can be imitated here, and a line on each."""
    return runnable(NAMES)


@pytest.fixture(scope="module")
def solve(here, tmp_path_factory):
    """solve(name): [(instance, results)] on that processor, computed once."""
    folder, known = tmp_path_factory.mktemp("processors"), {}

    def solved(name):
        if name not in known:
            command = [sys.executable, ROOT / "benchmarks" / "processors_instances.py", folder / name, str(NUMBER)]
            subprocess.run(command, env=environment(here[0][name]), check=True)
            known[name] = pickle.loads((folder / name).read_bytes())
        return known[name]

    return solved


@pytest.mark.parametrize("name", NAMES)
def test_nothing_depends_on_the_processor(name, here, solve):
    rows, lines = here
    if name not in rows:
        pytest.skip(f"nothing to do: an imitated processor that {lines[name]}")
    reference = next(iter(rows))
    if name == reference:
        pytest.skip("nothing to do: the imitated processor that the others are compared with")
    expected, found = solve(reference), solve(name)
    differing = [
        f"{instance}: {kind} {part}"
        for (instance, one), (_, other) in zip(expected, found, strict=True)
        for kind, part, _ in differences(one, other)
    ]
    results = sum(len(parts) for _, kinds in found for parts in kinds.values())
    assert not differing, f"{len(differing)} of {results} differ:\n" + "\n".join(differing)


@pytest.mark.slow
def test_there_is_something_to_compare(here):
    """Where NumPy brings OpenBLAS, at least two of its kernels run."""
    rows, lines = here
    if "no OpenBLAS" in lines[kernels()[0]]:
        pytest.skip("nothing to do: NumPy has no OpenBLAS, so the linear algebra has kernels for this processor only")
    assert len([name for name in rows if name in kernels()]) > 1, lines


def test_one_bit_is_a_difference():
    found = {"g": {"weights": np.array([0.25, 0.75]), "value": 2.0}, "rage": {"refusal": "ValueError"}}
    assert differences(found, found) == []
    nudged = found | {"g": found["g"] | {"value": np.nextafter(2.0, 3.0)}}
    assert [what[:2] for what in differences(found, nudged)] == [("g", "value")]
    fewer = found | {"g": {"weights": np.array([0.25, 0.75, 0.0]), "value": 2.0}, "rage": {"pulls": np.ones(2)}}
    assert [what[:2] for what in differences(found, fewer)] == [
        ("g", "weights"),
        ("rage", "pulls"),
        ("rage", "refusal"),
    ]
