"""Compiling the kernels shows how far it is where somebody looks, and says nothing in a file."""

import io

import pytest

from bandits_companion import compile_kernels


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream, shown", [(Terminal(), True), (io.StringIO(), False)], ids=["terminal", "file"])
def test_a_bar_in_a_terminal_and_nothing_in_a_file(stream, shown, monkeypatch):
    compiled = []
    monkeypatch.setattr(compile_kernels, "parts", lambda: [lambda: compiled.append(1)] * 3)
    monkeypatch.setattr("sys.stderr", stream)
    compile_kernels.compile_kernels(processes=1)
    assert len(compiled) == 3
    assert ("kernels: 100%" in stream.getvalue() and "3/3" in stream.getvalue()) == shown
    assert shown or not stream.getvalue()
