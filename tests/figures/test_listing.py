"""Notebooks show files of `plain` as they are."""

import ast
from pathlib import Path

import pytest

import bandits_lib.plain
from bandits_lib.figures.display import algorithm

FOLDER = Path(bandits_lib.plain.__file__).parent


def test_what_is_shown_are_the_files_whole():
    shown = algorithm("rage", "glr").data
    blocks = [block.partition("```")[0] for block in shown.split("```python\n")[1:]]
    texts = [f"# bandits_lib/plain/{n}.py\n" + (FOLDER / f"{n}.py").read_text("utf-8") for n in ("rage", "glr")]
    assert blocks == texts
    assert all(ast.parse(block) for block in blocks)


def test_a_name_without_a_file_is_refused():
    with pytest.raises(ValueError, match="no file bandits_lib/plain/rages.py"):
        algorithm("rage", "rages")
