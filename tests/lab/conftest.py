"""A command of the laboratory, run in an empty folder."""

import re

import pytest

from bandits_lab.__main__ import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command and return what it prints, or with the code 2 the one sentence of its refusal."""
    monkeypatch.chdir(tmp_path)

    def run(*given, code=0):
        capsys.readouterr()
        try:
            returned = main(list(map(str, given)))
        except SystemExit as end:
            returned = end.code
        said, refused = capsys.readouterr()
        refused = re.sub(r".*\r", "", refused)  # a progress bar
        assert returned == code, refused or said
        assert code != 2 or refused.count("\n") == 1 and refused.endswith((".\n", "?\n")), refused
        return refused if code else said

    return run
