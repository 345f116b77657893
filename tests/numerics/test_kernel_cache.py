"""Compiled kernels are those of the source at hand: an edit in any file of the package is seen by every process."""

import ast
import os
import shutil
import subprocess
import sys
import time
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import pytest

import bandits_lib
from bandits_lib.numerics import kernel_cache

PACKAGE = Path(bandits_lib.__file__).parent


def in_process(code, package=PACKAGE, **environment):
    """Lines that `code` prints in a fresh process that finds `package` first; None unsets a variable."""
    given = os.environ | {"PYTHONPATH": str(package.parent)} | environment
    given = {key: value for key, value in given.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=given, cwd=package.parent, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, with nothing compiled."""
    return shutil.copytree(PACKAGE, tmp_path / "copy" / "bandits_lib", ignore=shutil.ignore_patterns("__pycache__"))


TOP_LEVEL = """
import numpy as np
from bandits_lib.comparison import passes
print(passes(np.array([1.0, 3.0])))
"""
CALLER = """from bandits_lib.numerics.kernels import kernel, lowest

@kernel
def passes(values):
    return values[lowest(values)] < 2.0
"""


@pytest.mark.slow
def test_an_edit_of_another_file_is_seen(copy, tmp_path):
    """`passes` holds `lowest` of kernels.py; its own file does not change."""
    (copy / "comparison.py").write_text(CALLER)
    root = str(tmp_path / "cache")
    assert in_process(TOP_LEVEL, copy, NUMBA_CACHE_DIR=root) == ["True"]
    source = (copy / "numerics" / "kernels.py").read_text()
    edited = source.replace("return k\n", "return k + 1\n")
    assert edited != source
    (copy / "numerics" / "kernels.py").write_text(edited)
    assert in_process(TOP_LEVEL, copy, NUMBA_CACHE_DIR=root) == ["False"]
    assert len(list(Path(root).iterdir())) == 2
    (copy / "numerics" / "kernels.py").write_text(source)
    assert in_process(TOP_LEVEL, copy, NUMBA_CACHE_DIR=root) == ["True"]
    assert len(list(Path(root).iterdir())) == 2


def test_no_kernel_takes_a_constant_from_a_file_that_is_not_hashed():
    """numba compiles imported constants in; functions that are not kernels cannot be compiled in."""
    hashed = {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in kernel_cache.kernel_files()}
    assert {"bandits_lib.glr", "bandits_lib.simulate.play", "bandits_lib.numerics.ties"} <= hashed
    for file in kernel_cache.kernel_files():
        nodes = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        for node in nodes:
            if node.module.startswith("bandits_lib.") and node.module not in hashed:
                values = [getattr(import_module(node.module), name.name, None) for name in node.names]
                assert all(callable(value) or ismodule(value) or value is None for value in values), (file, node.module)


@pytest.mark.slow
@pytest.mark.parametrize("file, counts", [("figures/style.py", False), ("papers/fiez2019.py", False), ("glr.py", True)])
def test_only_edits_of_hashed_files_need_another_folder(copy, tmp_path, file, counts):
    before = where(copy, NUMBA_CACHE_DIR=str(tmp_path))
    with open(copy / file, "a") as edited:
        edited.write("# edited\n")
    assert (where(copy, NUMBA_CACHE_DIR=str(tmp_path)) != before) == counts


# --- where

WHERE = "import bandits_lib, os; from numba import config; print(os.environ['NUMBA_CACHE_DIR'], config.CACHE_DIR)"


def where(package, **environment):
    told, set_in_numba = in_process(WHERE, package, **environment)[-1].split()
    assert told == set_in_numba
    return Path(told)


@pytest.mark.slow
def test_kernels_are_in_the_users_cache_and_in_the_checkout_if_that_cannot_be_written(copy, tmp_path):
    home = {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    (copy.parent / "pyproject.toml").touch()
    assert tmp_path / "home" in where(copy, **home).parents
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "home").touch()  # as good as a home that cannot be written
    assert where(copy, **home).parent == copy.parent / ".numba_cache"


PRODUCT = """
import numpy as np
from bandits_lib.numerics.linear_algebra import transposed
transposed(np.eye(2))
print(sum(transposed.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_second_copy_compiles_nothing_and_a_damaged_file_is_compiled_again(copy, tmp_path):
    root = tmp_path / "cache"
    assert in_process(PRODUCT, copy, NUMBA_CACHE_DIR=str(root)) == ["0"]
    second = shutil.copytree(copy, tmp_path / "second" / "bandits_lib")
    for file in second.rglob("*.py"):
        os.utime(file, (0, 0))
    assert in_process(PRODUCT, second, NUMBA_CACHE_DIR=str(root)) == ["1"]
    for kind in ("nbi", "nbc"):
        (damaged,) = root.rglob(f"*.{kind}")
        os.truncate(damaged, damaged.stat().st_size // 2)
        assert in_process(PRODUCT, second, NUMBA_CACHE_DIR=str(root)) == ["0"]
        assert in_process(PRODUCT, copy, NUMBA_CACHE_DIR=str(root)) == ["1"]


@pytest.mark.slow
def test_with_nothing_to_write_to_the_folder_goes_with_the_process(copy, tmp_path):
    (tmp_path / "home").touch()
    nowhere = {"NUMBA_CACHE_DIR": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
    folder = where(copy, **nowhere, HOME=str(tmp_path / "home"))
    with pytest.raises(AssertionError, match="every start compiles them again.*set NUMBA_CACHE_DIR"):
        where(copy, **nowhere, HOME=str(tmp_path / "home"), PYTHONWARNINGS="error")
    assert folder.name.startswith("bandits_lib-") and not folder.parent.exists()


@pytest.mark.slow
def test_children_share_the_folder_and_one_of_another_source_takes_another(copy, tmp_path):
    folder = where(copy, NUMBA_CACHE_DIR=str(tmp_path / "root"))
    assert folder.parent == tmp_path / "root"
    assert where(copy, NUMBA_CACHE_DIR=str(folder)) == folder
    with open(copy / "numerics" / "kernels.py", "a") as file:
        file.write("# edited\n")
    other = where(copy, NUMBA_CACHE_DIR=str(folder))
    assert other.parent == folder.parent and other != folder


@pytest.mark.slow
def test_numba_imported_first_and_a_relative_folder(tmp_path):
    code = f"import os; os.chdir({str(tmp_path)!r}); import numba; {WHERE}"
    told = in_process(code, NUMBA_CACHE_DIR="near")[-1].split()
    assert [Path(folder).parent for folder in told] == [tmp_path / "near"] * 2


# --- no more than a few


def test_only_the_newest_folders_stay_and_those_in_use(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    now = time.time()
    ages = {f"bandits_lib-{k:016x}": 7_200 * (k + 1) for k in range(8)} | {"of_numba_itself": 10**6}
    for name, age in ages.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbi").touch()
        os.utime(tmp_path / name, (now - age, now - age))
    ours = kernel_cache.choose_folder()
    left = {folder.name for folder in tmp_path.iterdir()}
    assert left == {ours.name, "of_numba_itself", *(f"bandits_lib-{k:016x}" for k in range(4))}
    for k in range(4):
        os.utime(tmp_path / f"bandits_lib-{k:016x}")
    for k in range(4, 9):
        (tmp_path / f"bandits_lib-{k:016x}").mkdir()  # just begun: nobody knows for how long they are used
    shutil.rmtree(ours)
    kernel_cache.choose_folder()
    assert len(list(tmp_path.iterdir())) == 11


RACE = """
import contextlib, os, pathlib
from bandits_lib.numerics import kernel_cache
kernel_cache.IDLE = -10
root = pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).parent
for k in range(200):
    with contextlib.suppress(FileExistsError):  # another made it, and with exist_ok looks whether it still is there
        (root / f"bandits_lib-{k:016x}").mkdir()
    kernel_cache.forget(root)
"""


@pytest.mark.slow
def test_processes_that_remove_at_once_do_not_disturb_each_other(tmp_path):
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    racing = [subprocess.Popen([sys.executable, "-c", RACE], env=given, stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate(timeout=300)[1] for process in racing] == [b""] * 3
