"""The README's python runs as it stands, and its pictures exist."""

import re
from pathlib import Path

import pytest

from bandits_lib.lab.rules import rules_for

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split("\n")[0] for block in BLOCKS])
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("path", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_links_and_pictures_exist(path):
    assert (ROOT / path).exists()


def test_the_table_of_rules_is_the_librarys():
    assert rules_for()[["given", "asks", "situation", "paper", "promise"]].to_markdown() in README
