"""The key of a checkpoint changes with the code that ran and the modules that compute, and with nothing else."""

import subprocess
import sys

import pytest

from bandits_lib.simulate import fingerprint as where
from bandits_lib.simulate.fingerprint import HOME, fingerprint, source_fingerprint

CELLS = ["", "runs = 3\ndims = [5, 10]", "table = monte_carlo(rules)"]


class Shell:
    def __init__(self, *cells, execution_count=1):
        self.user_ns, self.execution_count = {"In": cells}, execution_count


@pytest.fixture
def key(monkeypatch):
    """key(*cells): the key in a kernel that has executed these cells."""

    def of(*cells):
        monkeypatch.setattr(where, "_shell", lambda: Shell(*cells))
        return fingerprint("call 0")

    return of


def test_every_executed_cell_counts_in_its_order(key):
    assert key(*CELLS) == key(*CELLS) != key(*CELLS, CELLS[1])
    assert len({key("x = 1", "x = 2"), key("x = 2", "x = 1"), key("x /= 2"), key("x /= 2", "x /= 2")}) == 4
    assert key("runs = 3; x = 1") != key("runs = 3; x = 2")
    assert len({key(*CELLS), key(*CELLS[:2]), key(CELLS[0], CELLS[1].replace("10", "20"), CELLS[2])}) == 3


@pytest.mark.parametrize("line", ["runs = 400", "n_jobs = 8", 'out = "../elsewhere"', 'checkpoint = "../kept/"'])
def test_more_runs_and_other_places_are_the_same_experiment(key, line):
    without, *others = (f"# Parameters\n{text}delta = 0.1" for text in ("", f"{line}\n", "tuning_runs = 400\n"))
    same, other = (key(*CELLS, text) for text in others)
    assert same == key(*CELLS, without) != other, "another count may choose a delta"


def test_calls_are_numbered_within_the_running_cell(monkeypatch):
    numbers = []
    for count in (1, 1, 2, 2, 2, 5):
        monkeypatch.setattr(where, "_shell", lambda count=count: Shell(execution_count=count))
        numbers.append(where.call_number())
    assert numbers == [0, 1, 0, 1, 2, 0]


def test_a_module_of_the_user_counts(key, tmp_path, monkeypatch):
    (tmp_path / "my_module.py").write_text("x = 1")
    before = key(*CELLS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    import my_module  # noqa: F401

    loaded = key(*CELLS)
    (tmp_path / "my_module.py").write_text("x = 2")
    assert len({before, loaded, key(*CELLS)}) == 3


@pytest.mark.parametrize(("file", "counts"), [("fixed_confidence/rage.py", True), ("figures/style.py", False)])
def test_only_modules_that_compute_count(monkeypatch, file, counts):
    read, changed = where.digest_of, []
    monkeypatch.setattr(where, "digest_of", lambda files: read(file for file in files if file not in changed))
    source_fingerprint.cache_clear()
    before = source_fingerprint()
    changed.append(HOME / file)
    source_fingerprint.cache_clear()
    assert (source_fingerprint() != before) == counts
    source_fingerprint.cache_clear()


SCRIPT = """import sys
from bandits_lib import instances, monte_carlo
from bandits_lib.fixed_confidence import rage
assert len(sys.argv) < 4
for delta in (0.1, 0.2):
    play = {"rage": lambda problem, rng, delta=delta: rage(problem.arms, delta=delta)}
    monte_carlo(play, instances.benchmark(2, angle=1.0), runs=1, checkpoint=sys.argv[1] + "/")
"""


@pytest.mark.slow
def test_two_calls_that_look_alike_have_keys_of_their_own_in_every_process(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    for _ in range(2):
        subprocess.run([sys.executable, tmp_path / "script.py", tmp_path / "kept"], check=True)
    kept = sorted((tmp_path / "kept").glob("*.jsonl"))
    subprocess.run([sys.executable, tmp_path / "script.py", tmp_path / "kept", "another"], check=True)
    assert len([*(tmp_path / "kept").glob("*.jsonl")]) == 4, "arguments of a script may decide its rows"
    assert len(kept) == 2 and [len(file.read_text().splitlines()) for file in kept] == [2, 2]


@pytest.mark.slow
def test_code_that_no_file_holds_has_no_key(tmp_path):
    done = subprocess.run([sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True)
    assert "call monte_carlo from a notebook or a file" in done.stderr and not [*tmp_path.iterdir()]
