"""Compiling the kernels plays every public rule, and shows its progress in a terminal."""

import inspect
import io

import pytest

from bandits_companion import compile_kernels
from bandits_lib import fixed_budget
from bandits_lib.protocol import rule


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


@pytest.fixture
def played(monkeypatch):
    """Names of the rules that are played, once for each problem."""
    names = []
    monkeypatch.setattr(compile_kernels, "play", lambda made, *_: names.append(made.function.__name__))
    return names


def test_every_public_rule_is_played(played, monkeypatch):
    monkeypatch.setattr(compile_kernels, "DESIGNS", ())
    for part in compile_kernels.parts():
        part()
    public = [vars(package)[name] for package in compile_kernels.PACKAGES for name in package.__all__]
    rules = {function.__name__ for function in public if inspect.isgeneratorfunction(inspect.unwrap(function))}
    assert set(played) == rules and {"rage", "gse", "head"} <= rules


def test_a_rule_that_is_added_is_played_without_another_edit(played, monkeypatch):
    @rule
    def added(arms, *, budget, rng):
        yield [budget // len(arms)] * len(arms)

    monkeypatch.setattr(fixed_budget, "added", added, raising=False)
    monkeypatch.setattr(fixed_budget, "__all__", [*fixed_budget.__all__, "added"])
    (part,) = (part for part in compile_kernels.parts() if getattr(part, "args", ())[:1] == (added,))
    part()
    assert played == ["added", "added"], "on Gaussian and on Bernoulli rewards"


def test_an_argument_without_a_value_is_named():
    @rule
    def puzzling(arms, *, budget, riddle):
        yield [1] * len(arms)

    with pytest.raises(ValueError, match="puzzling requires riddle: add a value of riddle to ARGUMENTS"):
        compile_kernels._play(puzzling, {})
