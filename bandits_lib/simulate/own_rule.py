"""Load a rule from a file of the user's own, so that `monte_carlo` plays it in any process.

`load("my_rule.py:mine")` keeps the text of the file. A process or a dask worker without the file therefore runs the
same text, and the hash of an experiment changes with the text. Requests and recommendations are checked, and each error
is one sentence. `played` returns the runs that a figure draws beside those of the papers' rules.
"""

import ast
import functools
import hashlib
import inspect
import linecache
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import Loop, Result, Run, checked_batch
from bandits_lib.simulate.fingerprint import user_files
from bandits_lib.simulate.monte_carlo import monte_carlo
from bandits_lib.simulate.play import play

OF_PROBLEM = {  # {argument of a rule: what it gets from the problem}
    "arms": lambda problem: problem.arms,
    "items": lambda problem: problem.items,
    "sigma": lambda problem: float(problem.sigma.max()),
    "theta_bound": lambda problem: float(np.linalg.norm(problem.theta)),
    "theta_star": lambda problem: problem.theta,
}
OWN = "own"  # name of a reader's rule among the rules of a figure
NEEDS = {  # arguments that a rule must have to be played in a figure, and why
    "delta": "has a fixed confidence",
    "budget": "has a fixed budget",
    "items": "ranks items that are not its arms",
}
LIMIT, TIMES = 10**9, 20  # a run is cut off at LIMIT pulls, or at TIMES the longest run of the papers' rules if more


class OwnRule(NamedTuple):
    """A function from a file as `monte_carlo` calls it: (problem, rng) -> a fresh generator."""

    file: str
    name: str
    source: str
    given: dict[str, Any]
    max_seconds: float = 60.0

    @property
    def place(self):
        """Return the file and the function, "<file>.py:<function>"."""
        return f"{self.file}:{self.name}"

    @property
    def function(self):
        """Return the function itself, from the text of the file."""
        return getattr(_module(self.file, self.source), self.name)

    def takes_items(self):
        """Return whether the rule can rank items that are not its arms."""
        return "items" in inspect.signature(self.function).parameters

    def __call__(self, problem, rng):
        """Run the rule, and check its requests and its answer."""
        algorithm, reply = self.begun(problem, rng), None
        end = perf_counter() + self.max_seconds
        while True:
            try:
                with _time_limit(end):
                    request = algorithm.send(reply)
            except StopIteration as stop:
                return self._answer(stop.value, problem)
            except (Exception, _TooLongError) as error:
                raise self._in_words(error) from error
            if not isinstance(request, Loop):
                self._check_batch(request, len(problem.arms))
            try:
                reply = yield request
            except GeneratorExit:  # `play` cuts a run off
                if (budget := self.given.get("budget")) is None:
                    raise
                raise RuntimeError(f"{self.place} asked for more pulls than its budget of {budget:,}") from None

    def begun(self, problem, rng):
        """Return the generator of the reader's function, called with the values that its arguments name."""
        function, names = self.function, inspect.signature(self.function).parameters
        values = {"rng": rng, **{name: OF_PROBLEM[name](problem) for name in names if name in OF_PROBLEM}, **self.given}
        try:
            algorithm = function(**{name: values[name] for name in names if name in values})
        except Exception as error:
            raise self._in_words(error) from error
        if not isinstance(algorithm, Generator):
            raise RuntimeError(f"{self.place} is not a generator: it must `yield` the pulls that it asks for")
        return algorithm

    def _in_words(self, error):
        """Return the error of a rule as one sentence, with the line of the file in which it was raised."""
        if isinstance(error, _TooLongError):
            return RuntimeError(
                f"{self.place} was still going after {self.max_seconds:g} seconds of one run: let it ask for more"
                " pulls at a time"
            )
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.file]
        line = f" in line {frames[-1].lineno}" if frames else ""
        return RuntimeError(f"{self.place} raised {type(error).__name__}{line}: {_one_line(error)}")

    def _check_batch(self, request, K):
        try:
            checked_batch(request, K)
        except ValueError as error:
            raise RuntimeError(
                f"{self.place} asked for {_short(request)}; it must yield how often to pull each of the"
                f" {K} arms, non-negative integers ({K},), or a Loop"
            ) from error

    def _answer(self, result, problem):
        """Return the result with the row of an item; a rule without `items` answers with the row of an arm."""
        if not isinstance(result, Result):
            raise RuntimeError(f"{self.place} returned {_short(result)}; it must return Result(<row of an item>)")
        row, rows = result.recommendation, problem.items if self.takes_items() else problem.arms
        if not isinstance(row, int | np.integer) or isinstance(row, bool) or not 0 <= row < len(rows):
            raise RuntimeError(
                f"{self.place} recommended {_short(row)}; it must be the row of"
                f" {'an item' if rows is problem.items else 'an arm'}, 0 to {len(rows) - 1}"
            )
        if rows is problem.items:
            return result
        equal_items = np.flatnonzero((problem.items == rows[row]).all(axis=1))
        if not len(equal_items):
            raise RuntimeError(f"{self.place} recommended arm {row}, which is no item: give it an argument `items`")
        return result._replace(recommendation=int(equal_items[0]))


class _TooLongError(BaseException):  # which `except Exception` in a rule does not catch
    """A run has taken all of its seconds."""


@contextmanager
def _time_limit(end):
    """Raise _TooLongError at `end`, also in a loop without requests; other threads than the main one only before it."""
    seconds = end - perf_counter()
    if seconds <= 0:
        raise _TooLongError
    if threading.current_thread() is not threading.main_thread():  # which alone may have signals
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise_too_long(*_):
    raise _TooLongError


def load(place: str, *, max_seconds: float = 60.0, **given: Any) -> OwnRule:
    """Return a function from a file as a rule that `monte_carlo` plays, in this process and in any other.

    Parameters
    ----------
    place : str
        "<file>.py:<function>", relative to the current folder. The file may not import another file of yours.
    max_seconds : float, default 60.0
        Seconds after which a run that still asks for pulls ends with an error.
    **given
        Arguments of the function that are the same in every run, such as `delta` or `budget`. Those that the function
        does not have are left out.

    Returns
    -------
    OwnRule
        Function (problem, rng) -> generator. The rule gets the arguments that it names: `arms`, `items`, `sigma` (the
        largest standard deviation), `rng`, what is `given`, and `theta_bound` and `theta_star` from the true theta.
    """
    file, colon, name = place.rpartition(":")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        raise ValueError(f'a rule is named "<file>.py:<function>", "my_rule.py:mine" for instance; got {place!r}')
    if not Path(file).is_file():
        near = ", ".join(sorted(path.name for path in Path(file).parent.glob("*.py"))) or "no Python file"
        raise ValueError(f"there is no file {file} in the folder {Path.cwd().name}/; its folder has {near}")
    rule = OwnRule(Path(file).name, name, Path(file).read_text(encoding="utf-8"), dict(given), max_seconds)
    module = _module(rule.file, rule.source)
    _check_imports(rule)
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        functions = inspect.getmembers(module, lambda value: getattr(value, "__module__", None) == module.__name__)
        raise ValueError(f"{rule.file} has no function {name}; it has {', '.join(dict(functions)) or 'none'}")
    parameters = inspect.signature(function).parameters
    _check_arguments(rule, parameters)
    return rule._replace(given={key: value for key, value in given.items() if key in parameters})


def misfit(rule: OwnRule, needs: Iterable[str]) -> str:
    """Return a sentence on why a rule cannot be played in a figure that needs the arguments `needs`, or ""."""
    parameters = inspect.signature(rule.function).parameters
    lacking = next((name for name in needs if name not in parameters), None)
    return f"{rule.place} has no argument `{lacking}`, and this figure {NEEDS[lacking]}" if lacking else ""


def played(
    place: str,
    problems: LinearBandit | Callable | dict,
    arguments: dict[str, Any],
    *,
    by: str | list[str] | None = None,
    items: bool = False,
    beside: pd.DataFrame | None = None,
    **options: Any,
) -> pd.DataFrame | None:
    """Return the runs of a reader's rule on the problems of a figure, or None without a rule.

    The arms, and items that are not the arms, have another order in each run, because some papers put the best first.

    Parameters
    ----------
    place : str
        As for `load`, or "" for no rule.
    problems, by : LinearBandit, callable, or dict of these; str or list of str, optional
        As for `monte_carlo`.
    arguments : dict
        What the rules of the figure are told: `delta` or `budget`, and `sigma` if it is not the problem's. A function
        of the setting gives each setting a value of its own.
    items : bool, default False
        Whether the figure ranks (M, d) items that are not the arms.
    beside : pandas.DataFrame, optional
        Runs of the papers' rules. A run is cut off at a billion pulls, or at 20 times the pulls of the longest of
        these runs if that is more. With a budget, a rule that asks for more pulls than its budget is refused.
    **options
        Further arguments of `monte_carlo`.

    Returns
    -------
    pandas.DataFrame or None
        Runs of the algorithm "own"; pandas.concat leaves out None.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bandits_lib import instances
    >>> head = "from bandits_lib import Result\\n\\n"
    >>> body = "def first(arms, *, delta):\\n    yield [1] * len(arms)\\n    return Result(0)\\n"
    >>> _ = Path("my_rule.py").write_text(head + body)
    >>> problems = {d: instances.benchmark(d) for d in (2, 3)}
    >>> runs = played("my_rule.py:first", problems, {"delta": 0.05}, by="d", runs=2)
    >>> runs[["d", "algorithm", "pulls"]].drop_duplicates().to_numpy().tolist()
    [[2, 'own', 3], [3, 'own', 4]]
    """
    if not place:
        return None
    unknown: dict[str, Any] = dict.fromkeys(["delta", "budget", *arguments])
    rule = load(place, **unknown)
    if fault := misfit(rule, [name for name in NEEDS if name in arguments or (name == "items" and items)]):
        raise ValueError(fault)
    limit = LIMIT if beside is None else max(LIMIT, TIMES * beside["pulls"].max())
    tables = []
    for setting, make in problems.items() if isinstance(problems, dict) else [(None, problems)]:
        values = {name: value(setting) if callable(value) else value for name, value in arguments.items()}
        given = rule.given | {name: value for name, value in values.items() if name in rule.given}
        rules: dict[str, Any] = {OWN: rule._replace(given=given)}
        reordered = functools.partial(_reordered, make)
        of_setting = reordered if by is None else {setting: reordered}
        tables.append(monte_carlo(rules, of_setting, by=by, max_pulls=values.get("budget", limit), **options))
    return pd.concat(tables, ignore_index=True)


def _reordered(make, rng):
    """Return the problem of a run with its arms in a random order, and its items too if they are not the arms."""
    problem = make(rng) if callable(make) else make
    arms = rng.permutation(len(problem.arms))
    items = None if problem.items is problem.arms else problem.items[rng.permutation(len(problem.items))]
    truth = {"theta": problem.theta} if problem.theta is not None else {"means": problem.means[arms]}
    noise = {"sigma": problem.sigma[arms], "link": problem.link, "noise": problem.noise}
    return LinearBandit(problem.arms[arms], items, **truth, **noise)


def rehearse(rule: OwnRule, problem: LinearBandit, rng: np.random.Generator, max_pulls: int) -> Run:
    """Return one run of a rule on an easy problem; refuse a rule that does not stop by itself.

    Parameters
    ----------
    rule, problem, rng, max_pulls : OwnRule, LinearBandit, Generator, int
        A rule as `load` returns it, an easy problem, the source of rewards and of the rule's own draws, and the number
        of pulls at which the run is cut off.

    Returns
    -------
    Run
        The run.
    """
    run = play(rule(problem, rng), problem, rng, max_pulls)
    if not run.stopped:
        K, d = problem.arms.shape
        raise ValueError(
            f"{rule.place} had not stopped after {max_pulls:,} pulls of an easy problem ({K} arms in {d} dimensions)"
        )
    return run


@functools.cache
def _module(file, source):
    """Return the module of a source text, which is executed once per process; tracebacks show its lines."""
    module = types.ModuleType(f"own_rule_{hashlib.sha256(source.encode()).hexdigest()[:16]}")
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    sys.modules[module.__name__] = module  # dataclasses look up their module
    try:
        exec(compile(source, file, "exec"), vars(module))
    except Exception as error:
        raise ValueError(f"{file} cannot be run: {type(error).__name__}: {_one_line(error)}") from error
    return module


def _check_imports(rule):
    """Refuse a second file of the user's, of which another process may lack or remember another state."""
    nodes = [*ast.walk(ast.parse(rule.source))]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    if second := sorted(modules & user_files().keys()):
        raise ValueError(
            f"{rule.file} imports {second[0]}, which is not an installed library. Put the rule into one file, because"
            " other processes and machines get this file alone"
        )


def _check_arguments(rule, parameters):
    """Refuse a function without `arms`, or with an argument that has neither a default nor a value."""
    names = {"rng", *OF_PROBLEM, *rule.given}
    needed = [
        p for p in parameters.values() if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if unknown := [parameter.name for parameter in needed if parameter.name not in names]:
        raise ValueError(
            f"{rule.place} has the argument {unknown[0]}, for which there is no value: give it a default, or use only "
            f"{', '.join(sorted(names))}"
        )
    if "arms" not in parameters:
        raise ValueError(f"{rule.place} has no argument `arms`; it has {', '.join(parameters) or 'none'}")


def _one_line(error):
    return " ".join(str(error).split())


def _short(value):
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) <= 60 else f"{text[:57]}..."
