"""The simulator: `play` answers what an algorithm yields, and plays a per-pull rule in a compiled loop.

There is one loop for each pair of rule and noise, stopped now and then for Ctrl-C. numba compiles a function that takes
functions anew in every process, since nothing tells it that they are the same as yesterday. So `_loop` takes none: it
is copied, and `choose`, `update` and `draw` are global names of the copy. A copy made of this package's functions is
named after them and kept on disk, in a folder that knows the package's source (numerics/cache.py); one made of a
function from a notebook or another module is compiled once in each process.
"""

import functools
import sys
from collections.abc import Callable
from time import perf_counter
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit

from bandits_lib.protocol import NO_LIMIT, Algorithm, Loop, Run, checked_batch

PACKAGE = __name__.partition(".")[0]
OVER, CUT_OFF, PAUSED = 0, 1, 2
FIRST_CHUNK = 64  # pulls
SECONDS = 0.1  # a chunk takes about as long; Python hears an interrupt between two chunks

choose: Any = None  # every copy of _loop has its own three
update: Any = None
draw: Any = None


def play(algorithm: Algorithm, problem, rng: np.random.Generator, max_pulls: int | None = None) -> Run:
    """Simulate `algorithm` on `problem` (a `LinearBandit`) until it returns or max_pulls come first.

    Parameters
    ----------
    algorithm : generator
        Fresh generator of a rule, for example `rage(arms, delta=0.05)`.
    problem : LinearBandit
        The truth, from which rewards are drawn.
    rng : numpy.random.Generator
        Draws the rewards, nothing else.
    max_pulls : int, optional
        Number of pulls at which the run is cut off; by default none.

    Returns
    -------
    Run
        `stopped` is False, and `result` None, when `max_pulls` came first; a batch that would pass `max_pulls` is not
        pulled at all.

    Raises
    ------
    ValueError
        For a request that is neither a Loop nor (K,) non-negative integers.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> from bandits_lib.fixed_confidence import rage
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(rage(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    limit = NO_LIMIT if max_pulls is None else int(max_pulls)
    counts, pulls = np.zeros(len(problem.arms), dtype=np.int64), np.zeros(1, dtype=np.int64)
    reply = None
    chunks: dict[Callable, int] = {}
    while True:
        try:
            request = algorithm.send(reply)
        except StopIteration as stop:
            return Run(stop.value, counts, True)
        if isinstance(request, Loop):
            finished = run_loop(request, problem, rng, counts, pulls, limit, chunks)
            reply = None
        else:
            batch = checked_batch(request, len(counts))
            finished = pulls[0] + batch.sum() <= limit
            if finished:
                reply = problem.pull(batch, rng)
                counts += batch
                pulls += batch.sum()
        if not finished:
            algorithm.close()
            return Run(None, counts, False)


def _loop(state, means, sigma, rng, counts, pulls, max_pulls, pause_at):
    while pulls[0] < pause_at:
        arm = choose(state)
        if arm < 0:
            return OVER
        if pulls[0] >= max_pulls:
            return CUT_OFF
        counts[arm] += 1
        pulls[0] += 1
        update(state, arm, draw(means[arm], sigma[arm], rng))
    return PAUSED


def run_loop(loop, problem, rng, counts, pulls, max_pulls, chunks):
    """Play a Loop pull by pull, in chunks of about a tenth of a second; where they end changes no reward and no pull.

    Parameters
    ----------
    loop : Loop
        What the rule yielded.
    problem : LinearBandit
        The truth, from which rewards are drawn.
    rng : numpy.random.Generator
        Draws the rewards.
    counts : (K,) int array
        Pulls of each arm so far, the simulator's own; grows in place.
    pulls : (1,) int array
        Pulls so far, the simulator's own; grows in place.
    max_pulls : int
        Number of pulls in all at which to stop.
    chunks : dict
        Empty at first; remembers from Loop to Loop how many pulls a chunk has.

    Returns
    -------
    bool
        True when `choose` was negative, False when `max_pulls` came first.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> from bandits_lib.fixed_budget import linucb
    >>> world, counts, pulls = instances.benchmark(2), np.zeros(3, np.int64), np.zeros(1, np.int64)
    >>> loop, rng = next(linucb(world.arms, budget=10)), np.random.default_rng(0)
    >>> run_loop(loop, world, rng, counts, pulls, 4, {}), counts.sum().item()
    (False, 4)
    """
    run = runner(loop.choose, loop.update, problem.draw)
    chunk = chunks.get(run, FIRST_CHUNK)
    while True:
        start = perf_counter()
        outcome = run(loop.state, problem.means, problem.sigma, rng, counts, pulls, max_pulls, pulls[0] + chunk)
        if outcome != PAUSED:
            return outcome == OVER
        chunk = chunks[run] = next_chunk(chunk, perf_counter() - start)


def next_chunk(chunk, seconds):
    """Pulls of the next chunk, after one of `chunk` pulls took `seconds`: at least 1, at most 16 times as many.

    Parameters
    ----------
    chunk : int
        Number of pulls of the chunk before.
    seconds : float
        Time that it took.

    Returns
    -------
    int
        Number of pulls that take about a tenth of a second.

    Examples
    --------
    >>> next_chunk(64, 1e-6), next_chunk(10_000, 0.2), next_chunk(64, 100.0)
    (1024, 5000, 1)
    """
    return max(1, int(chunk * min(16.0, SECONDS / max(seconds, 1e-9))))


@functools.cache
def runner(choose, update, draw):
    """The compiled loop of a rule and a noise: function (state, means, sigma, rng, counts, pulls, max_pulls, pause_at).

    Parameters
    ----------
    choose, update : numba function
        Those of a Loop.
    draw : numba function
        Noise: (mean, sigma, rng) -> reward.

    Returns
    -------
    numba function
        It returns OVER, CUT_OFF or PAUSED, and is the same for the same three.

    Examples
    --------
    >>> from bandits_lib.fixed_budget import linucb
    >>> from bandits_lib.problem import draw_gaussian
    >>> request = next(linucb(np.eye(2), budget=10))
    >>> runner(request.choose, request.update, draw_gaussian).__name__
    '_loop-fixed_budget._linucb.choose-numerics.ridge.learn-problem.draw_gaussian'
    """
    parts = {"choose": choose, "update": update, "draw": draw}
    addresses = [_address(part) for part in parts.values()]
    copy = FunctionType(_loop.__code__, globals() | parts)
    copy.__name__ = copy.__qualname__ = "-".join(["_loop", *map(str, addresses)])
    return njit(cache=all(addresses), error_model="numpy")(copy)


def _address(function):
    """Where in this package a function is found by name, "module.name"; None if it is not."""
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if module.startswith(PACKAGE + ".") and getattr(sys.modules[module], name, None) is function:
        return f"{module.removeprefix(PACKAGE + '.')}.{name}"
    return None
