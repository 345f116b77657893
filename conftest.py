"""Set the Makefile's environment variables for a plain `pytest` too, and run long tests first.

The environment comes before NumPy is imported; kernels inherit it.
"""

import os

import pytest

for library in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{library}_THREADS", "1")
os.environ.pop("MPLBACKEND", None)  # notebooks draw inline, whatever the shell was told
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # otherwise every kernel prints a debugger's warning

collect_ignore_glob = ["*conftest.py", "notebooks/*.py"]  # --doctest-modules would import them as modules
SECOND_TIER = {"site", "records", "solve"}  # fixtures that take long: what uses one is marked slow
FEW = 3  # notebooks with kernels of their own, as in notebooks/run.py
PARTS = 12  # of the second tier: `make test-part` runs one of them

# Files (from the root) that take more than ten seconds, the longest first, before all others, so that with several
# workers none is left with a long one at the end. A file, and so a notebook, stays with one worker (--dist loadscope).
LONG = """
    tests/test_book.py tests/test_error_rates.py tests/companion/test_published.py tests/lab/test_users.py
    tests/numerics/test_kernel_cache.py tests/test_processors.py tests/test_jupyterlab.py
    tests/test_notebooks.py notebooks/jedra2020_5_many_arms.ipynb notebooks/jedra2020_3_track_and_stop.ipynb
    notebooks/jedra2020_4_sphere.ipynb notebooks/companion_your_own_arms.ipynb tests/test_contract.py
""".split()


def pytest_addoption(parser):
    parser.addoption("--part", type=int, metavar="DAY", help="of the second tier, only the part whose turn it is")


def pytest_collection_modifyitems(config, items):
    """The long files, then the notebooks, then the rest as it was found; what uses a long fixture is marked slow."""
    for item in items:
        if SECOND_TIER.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    if (day := config.getoption("part")) is not None:
        units = sorted({unit(item) for item in items if item.get_closest_marker("slow")})
        chosen = units[day % PARTS :: PARTS]
        kept = [item for item in items if item.get_closest_marker("slow") and unit(item) in chosen]
        config.hook.pytest_deselected(items=list(set(items).difference(kept)))
        items[:] = kept
    places = {file: place for place, file in enumerate(LONG)}

    def place(item):
        file = os.path.relpath(item.path, os.path.dirname(__file__)).replace(os.sep, "/")
        return places.get(file, len(places) + (not file.startswith("notebooks/")))

    items.sort(key=place)
    if len({item.path for item in items if item.path.suffix == ".ipynb"}) > FEW:
        from bandits_companion.forked_kernels import fork_kernels

        fork_kernels()


def unit(item):
    """What stays in one part: a file, or what it tests of one notebook, one seed of the simulated users or one name."""
    told = item.callspec.params if hasattr(item, "callspec") else {}
    return item.path.as_posix(), str(next((told[name] for name in ("notebook", "records", "name") if name in told), ""))


@pytest.fixture(autouse=True)
def in_an_empty_folder(request):
    """Examples of docstrings run in a folder of their own, where they write and find no data."""
    if isinstance(request.node, pytest.DoctestItem):
        folder, patch = (request.getfixturevalue(name) for name in ("tmp_path", "monkeypatch"))
        patch.chdir(folder)
        patch.setenv("BANDITS_DATA", str(folder))
