"""The last lines of a run of notebooks: what counts in the totals, what failed, and where everything lies."""

import os

import pytest
from made_up import claim, leave

from bandits_companion import notebook_runs
from bandits_companion.notebook_runs import Execution, Folders

HOLDS, OPEN, NOT = (0.5, 0.4, 0.6), (0.9, 0.7, 1.1), (2.0, 1.5, 2.5)


@pytest.fixture
def project(tmp_path):
    """project(scale, {notebook: intervals}): a folder in which notebooks left claims."""

    def left(scale, measured):
        for notebook, intervals in measured.items():
            found = [claim(f"{notebook}/{number}", interval) for number, interval in enumerate(intervals)]
            leave(tmp_path / scale, found)
        return tmp_path

    return left


def close(root, played, beside="large"):
    run = Folders(
        root / "build", root / "build" / "notebooks", root / "notebooks", beside and root / beside / "figures", "small"
    )
    return notebook_runs.close(played, 125, run, root / "build")


def test_totals_are_those_of_the_run_in_the_order_of_the_papers(project):
    root = project("build", {"weltz2023_3": [HOLDS, OPEN, NOT], "fiez2019_1": [OPEN, OPEN]})
    said = close(root, [Execution(name, 1.0, 1.0, "done", "") for name in ("weltz2023_3", "fiez2019_1")]).splitlines()
    assert said[:2] == ["2 notebooks in 2.1 min, 0 figures, small", "The papers' sentences small:"]
    assert [line.split(", ")[0] for line in said[3:7]] == ["fiez2019", "fiez2019", "weltz2023", "weltz2023"]
    assert said[3].split()[2:] == ["0", "0", "0", "2", "0", "0"] and said[5].split()[2:] == [
        "1",
        "0",
        "1",
        "1",
        "0",
        "0",
    ]
    assert said[7].startswith("open build/index.html") and len(said) == 8


def test_a_failed_notebook_is_named_with_its_copy_and_its_old_claims_do_not_count(project):
    root = project("build", {"fiez2019_1": [HOLDS], "fiez2019_2": [NOT] * 5})
    played = [
        Execution("fiez2019_1", 1.0, 1.0, "done", ""),
        Execution("fiez2019_2", 1.0, 1.0, "FAILED", "KeyError: 'mine'"),
    ]
    said = close(root, played, beside=None).splitlines()
    assert said[1] == "FAILED fiez2019_2: KeyError: 'mine' (build/notebooks/fiez2019_2.ipynb)"
    assert said[4].split() == ["fiez2019,", "text", "1", "0", "0", "0", "0", "0"]


def test_without_claims_there_is_no_table(project):
    root = project("build", {})
    said = close(root, [Execution("companion_start", 1.0, 1.0, "done", "")])
    assert [line.split()[0] for line in said.splitlines()] == ["1", "open"]


@pytest.mark.parametrize(
    "error, line",
    [
        (RuntimeError("\n\x1b[0;31mKeyError\x1b[0m: 'mine'\n\n"), "KeyError: 'mine'"),
        (RuntimeError(""), "RuntimeError"),
        (RuntimeError("Kernel died"), "Kernel died"),
    ],
)
def test_the_last_line_says_what_it_was(error, line):
    assert notebook_runs.last_line(error) == line


def test_a_page_is_made_again_when_its_source_is_newer(tmp_path):
    run = Folders(
        tmp_path / "build", tmp_path / "build/notebooks", tmp_path / "notebooks", tmp_path / "figures", "small"
    )
    source = tmp_path / "docs" / "page.md"
    source.parent.mkdir()
    source.write_text("early words")
    made = notebook_runs.rendered(source, run)
    assert "early words" in made.read_text(encoding="utf-8")
    source.write_text("later words")
    later = made.stat().st_mtime + 1
    os.utime(source, (later, later))
    assert "later words" in notebook_runs.rendered(source, run).read_text(encoding="utf-8")
