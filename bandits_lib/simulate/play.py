"""Simulate rules: `play` draws the rewards that an algorithm asks for, and runs a pull-by-pull rule in a compiled loop.

If a function takes other functions as arguments, numba compiles it again in every process. `_loop` therefore takes
none: it is copied for each rule, and `choose`, `update` and `draw` are global names of the copy. The same holds for
`_loop_of_batches`. A copy with this package's functions is named after them and kept on disk
(numerics/kernel_cache.py). A copy with other functions is compiled once in each process.
"""

import functools
import sys
from collections.abc import Callable
from time import perf_counter
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit

from bandits_lib.checks import check_dimension, check_sigma
from bandits_lib.numerics.kernels import kernel
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import NO_LIMIT, Algorithm, Loop, Rule, Run, Trace, checked_batch

PACKAGE = __name__.partition(".")[0]
OVER, CUT_OFF, PAUSED = 0, 1, 2
FIRST_CHUNK = 64  # pulls in the first chunk
BELOW = 1 - 1e-9  # tolerance for rounding errors when standard deviations are compared
SECONDS = 0.1  # duration of a later chunk; Python handles an interrupt only between two chunks

choose: Any = None  # every copy of _loop has its own three
update: Any = None
draw: Any = None


def play(
    algorithm: Algorithm,
    problem: LinearBandit,
    rng: np.random.Generator,
    max_pulls: int | None = None,
    *,
    misspecified: bool = False,
    trace: int = 0,
) -> Run:
    """Return the Run of `algorithm` on `problem`, which ends when the algorithm stops, or else after `max_pulls`.

    Parameters
    ----------
    algorithm : generator
        Fresh generator of a rule, for example `rage(arms, delta=0.05)`.
    problem : LinearBandit
        The true problem, from which rewards are drawn.
    rng : numpy.random.Generator
        Source of the rewards, and of nothing else.
    max_pulls : int, optional
        Number of pulls at which the run is cut off.
    misspecified : bool, default False
        Whether a rule made by `@rule` may have another noise level than the problem. By default, `sigma` must be the
        standard deviation of each arm, or the largest for all arms, and `sigma_min` and `sigma_max` must enclose them.
        An upper bound is enough for rewards 0 and 1 (0.5 always is). Without noise every sigma is accepted.
    trace : int, default 0
        Pulls between two records (`Trace`) of a rule that pulls one by one, from its first single pull until it stops;
        0 records none.

    Returns
    -------
    Run
        `stopped` is False, and `result` None, if `max_pulls` came first. A batch that would exceed it is not pulled.
        `trace` holds the records.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> from bandits_lib.fixed_confidence import rage
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(rage(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    if isinstance(algorithm, Rule) and not misspecified:
        check_noise(algorithm, problem)
    check_dimension("trace", trace, 0)
    limit = NO_LIMIT if max_pulls is None else int(max_pulls)
    counts, pulls = np.zeros(len(problem.arms), dtype=np.int64), np.zeros(1, dtype=np.int64)
    reply = loop = None
    chunks: dict[Callable, int] = {}
    traces: list[Trace] = []
    while True:
        try:
            request = algorithm.send(reply)
        except StopIteration as stop:
            if trace and loop and loop.look and not (traces and traces[-1].pulls == pulls[0]):
                traces.append(look(loop, counts))
            return Run(stop.value, counts, True, tuple(traces))
        if isinstance(request, Loop):
            loop = request
            finished = run_loop(loop, problem, rng, counts, pulls, limit, chunks, traces, trace)
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
            return Run(None, counts, False, tuple(traces))


def check_noise(rule, problem):
    """Refuse a rule whose sigma, sigma_min or sigma_max contradicts the noise of the problem."""
    bernoulli, given = problem.noise == "bernoulli", rule.arguments
    noise = np.sqrt(problem.means * (1 - problem.means)) if bernoulli else problem.sigma
    low, high, wrong = noise.min(), noise.max(), ""
    sigma, sigma_min, sigma_max = (given.get(name) for name in ("sigma", "sigma_min", "sigma_max"))
    if sigma is not None and high > 0:
        assumed = check_sigma(sigma, len(noise))
        equal = any(np.allclose(assumed, true, rtol=1 - BELOW, atol=0) for true in (noise, high))
        if not ((assumed >= noise * BELOW).all() if bernoulli else equal):
            must = "be at least" if bernoulli else "be"
            wrong = f"sigma must {must} the standard deviation of the rewards, {high:.6g}; got {sigma}"
    if (sigma_min is not None and sigma_min * BELOW > low) or (sigma_max is not None and sigma_max < high * BELOW):
        wrong = f"sigma_min and sigma_max must enclose {low:.6g} to {high:.6g}; got {sigma_min} and {sigma_max}"
    if wrong:
        raise ValueError(
            f"{rule.function.__name__} has another noise level than the problem: {wrong}."
            " Correct it, or pass misspecified=True if the difference is intended"
        )


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


def _loop_of_batches(state, means, sigma, rng, counts, pulls, max_pulls, pause_at):
    while pulls[0] < pause_at:
        if choose(state) < 0:
            return OVER
        asked = 0
        for k in range(counts.shape[0]):
            asked += state.batch[k]
        if asked > max_pulls - pulls[0]:
            return CUT_OFF
        for k in range(counts.shape[0]):
            counts[k] += state.batch[k]
        pulls[0] += asked
        draw(means, sigma, state.batch, state.rewards, rng)
        update(state)
    return PAUSED


def run_loop(loop, problem, rng, counts, pulls, max_pulls, chunks, traces, every):
    """Play a Loop in chunks; return True if `choose` ended it, False if `max_pulls` came first.

    Chunks end at the pulls at which a Trace is due, `every` pulls after the last one of `traces`, and add it there.
    """
    run = runner(loop.choose, loop.update, problem.draw_sums if loop.batches else problem.draw, loop.batches)
    chunk = chunks.get(run, FIRST_CHUNK)
    while True:
        due = NO_LIMIT
        if every and loop.look:
            due = traces[-1].pulls + every if traces else pulls[0]
        ahead, start = min(chunk, due - pulls[0]), perf_counter()
        outcome = run(loop.state, problem.means, problem.sigma, rng, counts, pulls, max_pulls, pulls[0] + ahead)
        if outcome != PAUSED:
            return outcome == OVER
        chunk = chunks[run] = next_chunk(ahead, perf_counter() - start)
        if pulls[0] >= due:
            traces.append(look(loop, counts))


def look(loop, counts):
    """Return the Trace of a Loop at this moment."""
    return Trace(int(counts.sum()), counts.copy(), *loop.look(loop.state))


def next_chunk(chunk, seconds):
    """Return how many pulls take about SECONDS, given that `chunk` pulls took `seconds`: at most 16 times as many."""
    return max(1, int(chunk * min(16.0, SECONDS / max(seconds, 1e-9))))


@functools.cache
def runner(choose, update, draw, batches=False):
    """Return the compiled loop of a rule and a noise, which returns OVER, CUT_OFF or PAUSED."""
    parts, loop = {"choose": choose, "update": update, "draw": draw}, _loop_of_batches if batches else _loop
    addresses = [_address(part) for part in parts.values()]
    copy = FunctionType(loop.__code__, globals() | parts)
    copy.__name__ = copy.__qualname__ = "-".join([loop.__name__, *map(str, addresses)])
    return (kernel if all(addresses) else njit(error_model="numpy"))(copy)


def _address(function):
    """Return the name "module.name" under which this package has a function, or None if it does not have it."""
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if module.startswith(PACKAGE + ".") and getattr(sys.modules[module], name, None) is function:
        return f"{module.removeprefix(PACKAGE + '.')}.{name}"
    return None
