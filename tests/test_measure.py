"""Waits and benchmarks are measured in clones or in turn, and written into their pages by one command."""

import re
from importlib import import_module

import measure
import pytest

from bandits_companion.ledger import filled

ROOT = measure.ROOT
BLOCK = "Text.\n\n<!-- {0} -->\n\nold\n\n<!-- end {0} -->\n\nMore.\n"
TARGETS = "setup figures test:\n\tsleep {}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose first release, `old`, is slower and cannot verify, and its pages."""
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    for place, page in measure.PAGES.items():
        (tmp_path / page).parent.mkdir()
        (tmp_path / page).write_text(BLOCK.format(place))
    measure.git("init", "-q")
    for name in ("user.name", "user.email"):
        measure.git("config", name, "a@b")
    for tag, makefile in (
        ("old", TARGETS.format(0.3)),
        ("new", TARGETS.format(0.02) + "verify:\n\ttest -n '$$NUMBA_CACHE_DIR'\n"),
    ):
        (tmp_path / "Makefile").write_text(makefile)
        measure.git("add", ".")
        measure.git("commit", "-qm", tag)
        measure.git("tag", tag)
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["measure.py", *arguments])
    measure.main()


def test_waits_stand_beside_those_of_an_earlier_release(project, monkeypatch):
    run(monkeypatch, "waits", "old")
    text = (project / "docs" / "installation.md").read_text()
    assert text.startswith("Text.\n\n<!-- waits -->\n\nMeasured on ") and text.endswith("<!-- end waits -->\n\nMore.\n")
    assert (
        f"| minutes | old | {measure.git('rev-parse', '--short', 'HEAD')} | ratio |" in text and "old\n\n" not in text
    )
    rows = dict(re.findall(r"^\| `make (\w+)` \| (.*) \|$", text, re.M))
    assert list(rows) == list(measure.COMMANDS) and re.fullmatch(r" \| 0\.0 \| ", rows["verify"])
    assert all(0 < float(rows[name].rpartition(" ")[2]) < 0.9 for name in ("setup", "figures", "test"))


def test_without_a_release_there_is_no_ratio(project, monkeypatch):
    run(monkeypatch, "waits")
    assert "ratio" not in (project / "docs" / "installation.md").read_text()


def test_a_command_that_fails_leaves_the_page(project, monkeypatch):
    measure.git("checkout", "-q", "old")
    with pytest.raises(SystemExit, match="make verify failed"):
        run(monkeypatch, "waits")
    assert (project / "docs" / "installation.md").read_text() == BLOCK.format("waits")


def test_the_page_of_benchmarks_has_what_they_print(project, monkeypatch):
    for name, code in (("bench_b", "print(6 * 7)"), ("bench_a", "print('pulls', 1)\nprint('x')"), ("other", "1 / 0")):
        (project / "benchmarks" / f"{name}.py").write_text(f'"""What {name} is.\n\nMore."""\n{code}\n')
    run(monkeypatch, "bench")
    text = (project / "benchmarks" / "README.md").read_text()
    fences = (
        "### bench_a\n\nWhat bench_a is.\n\n```\npulls 1\nx\n```\n\n### bench_b\n\nWhat bench_b is.\n\n```\n42\n```\n"
    )
    assert fences in text and "old" not in text
    (project / "benchmarks" / "bench_c.py").write_text('"""Fails."""\n1 / 0\n')
    with pytest.raises(SystemExit, match="bench_c.py failed"):
        run(monkeypatch, "bench")
    assert (project / "benchmarks" / "README.md").read_text() == text


@pytest.mark.parametrize("place", measure.PAGES)
def test_the_pages_have_a_place_for_what_was_measured(place):
    text = (ROOT / measure.PAGES[place]).read_text(encoding="utf-8")
    assert "new" in filled(text, {place: "new"}).split(f"<!-- {place} -->")[1]


@pytest.mark.parametrize("name", sorted(file.stem for file in (ROOT / "benchmarks").glob("bench_*.py")))
def test_a_benchmark_finds_what_it_imports(name):
    assert import_module(name).__doc__
