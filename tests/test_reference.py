"""The site's reference: which notebooks use a name, which plain version it has; a warning of sphinx fails the build."""

import ast
import importlib

import gather
import pytest
import reference

from bandits_lab import Lab
from bandits_lib import LinearBandit, play
from bandits_lib.complexity import lower_bound
from bandits_lib.fixed_confidence import rage, xy_static
from bandits_lib.papers import benchmark


def test_a_name_counts_if_it_is_imported_or_reached_through_a_module():
    code = ast.parse("""
import bandits_lib
import bandits_lib.complexity as theory
from bandits_lab import Lab
from bandits_lib import instances as problems
from bandits_lib.fixed_confidence import rage as rule

problems.benchmark(2).means
theory.lower_bound
bandits_lib.play(rule)
table.summary, problems.nothing
xy_static = "xy_static"
""")
    found = list(reference.named_in(code))
    for item in (Lab, rage, benchmark, lower_bound, play):
        assert any(item is other for other in found), item
    assert xy_static not in found and LinearBandit not in found and len(found) == 5


def test_every_rule_has_a_plain_version_and_every_plain_file_a_page():
    for module in ("fixed_confidence", "fixed_budget"):
        home = importlib.import_module(f"bandits_lib.{module}")
        assert all(reference.plain_version(home.__name__, name) for name in home.__all__)
    assert reference.plain_version("bandits_lib.fixed_confidence", "sphere_track_and_stop") == "sphere"
    assert reference.plain_version("bandits_lib.design", "g_design") is None
    assert reference.plain_version("bandits_lib.papers", "sphere") is None
    assert set(reference.plain_files()) == {file.stem for file in reference.PLAIN.glob("*.py")} - {"__init__"}


@pytest.mark.slow
def test_a_page_that_sphinx_doubts_fails_the_build(tmp_path, monkeypatch):
    def one_page(source):
        source.mkdir()
        text = "`A link <nowhere.html>`_ and :doc:`nowhere`."
        (source / "index.rst").write_text(f"{reference.title('Start')}\n\n{text}\n", encoding="utf-8")

    monkeypatch.setattr(gather, "gather", one_page)
    assert gather.main(tmp_path) != 0
