"""How a test run ends: counts, skipped tests by reason, what the table of reliability comes to and where it lies."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reliability

TESTS = Path(__file__).resolve().parent
SOME = """
import pytest, reliability

@pytest.mark.parametrize("number", range(3))
def test_passes(number):
    pass

@pytest.mark.parametrize("number", range(2))
def test_skips(number):
    pytest.skip("no browser here: install one")

def test_skips_otherwise():
    pytest.importorskip("surely_missing", reason="no such package: install it")

def test_records():
    reliability.record("1_bad_input", [{"bad input": "no arms", "algorithms tried": 4, "refused": 3}])
"""
RECORDED = {
    "1_bad_input": [
        {"bad input": "no arms", "algorithms tried": 4, "refused": 4},
        {"bad input": "no items", "algorithms tried": 3, "refused": 2},
    ],
    "2_kills": [{"kills": 4, "finished runs kept at each": "[6, 12, 17, 20]", "csv after resuming": "byte-identical"}],
    "3_ways": [{"compared with serial": way, "rows": 160, "differing": k} for k, way in enumerate(["loky", "dask"])],
    "4_error_rates": [
        {"algorithm": "rage", "runs": 100, "error_rate": 0.0, "not_stopped": 0},
        {"algorithm": "alba", "runs": 100, "error_rate": 0.02, "not_stopped": 1},
    ],
    "5_processors": [{"against Haswell": "Zen", "instances": 24, "results": 1116, "differ": 2}],
}


def run(folder, *options):
    (folder / "tests").mkdir()
    for name in ("conftest.py", "reliability.py"):
        shutil.copy(TESTS / name, folder / "tests")
    (folder / "tests" / "test_some.py").write_text(SOME)
    (folder / "build" / "reliability").mkdir(parents=True)
    old = folder / "build" / "reliability" / "2_kills.json"
    old.write_text(json.dumps(RECORDED["2_kills"]))
    always = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath=tests"]
    command = [sys.executable, "-m", "pytest", *always, *options, "tests"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def test_a_run_ends_in_counts_reasons_and_totals(tmp_path):
    """What an earlier run recorded is not told again."""
    said = run(tmp_path)
    lines = said.partition(" in short ")[2].splitlines()[1:]
    assert re.fullmatch(r"4 passed, 3 skipped in [\d.]+ min \(tests, and cells of notebooks\)", lines[0]), said
    assert lines[1:3] == ["2 skipped: no browser here: install one", "1 skipped: no such package: install it"]
    assert lines[3] == "reliability, row by row in build/reliability/table.txt:"
    assert lines[4] == "  bad input of 1 kinds: 3 of 4 calls refused with a reason"
    assert len(lines) <= 7, said
    table = (tmp_path / "build" / "reliability" / "table.txt").read_text()
    assert "no arms" in table and "kills" not in table


def test_without_the_tests_of_reliability_nothing_is_said_of_it(tmp_path):
    said = run(tmp_path, "-k", "passes")
    assert "3 passed, 4 deselected in" in said and "reliability" not in said


def test_what_the_table_comes_to():
    assert reliability.totals(RECORDED) == [
        "bad input of 2 kinds: 6 of 7 calls refused with a reason",
        "4 kills: csv after resuming byte-identical",
        "2 ways of running beside the serial one: 1 rows differ",
        "errors of 2 rules, 100 runs each: at most 0.02 (alba), 1 runs did not stop",
        "1 imitated processors: 2 of 1116 results differ",
    ]
    assert all(row["algorithm"] in reliability.table(RECORDED) for row in RECORDED["4_error_rates"])


LACKS = {  # what a clean clone lacks; "nothing to do" is for other systems
    "tests/browser.py": ["NONE"],
    "tests/companion/test_quotes.py": ["copies.NONE"],
    "tests/test_packaging.py": ["NONE"],
    "tests/papers/test_data.py": ["HOW_TO_GET", "data.HOW_TO_GET_MOTOR"],
}


def reasons(file):
    """The reasons of a file's skips, as they are written."""
    for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("skip", "skipif", "importorskip")):
            yield ast.unparse(next((word.value for word in call.keywords if word.arg == "reason"), call.args[0]))


def test_nothing_is_skipped_that_a_clean_clone_could_run():
    for file in TESTS.rglob("*.py"):
        known = LACKS.get(file.relative_to(TESTS.parent).as_posix(), [])
        others = [
            text for text in reasons(file) if not text.strip("f").startswith(("'nothing to do: ", '"nothing to do: '))
        ]
        assert others == known, f"{file.name} skips: {', '.join(others)}"
