"""LinGapE's gaps (Xu, Honda, Sugiyama 2018, Algorithm 1), with fixed confidence or with a budget.

The leader i is compared with its most ambiguous rival j, at which (z_j - z_i)'theta + ||z_j - z_i|| C_t is largest,
    C_t = sigma sqrt(2 log(M^2 det(A)^(1/2) det(ridge I)^(-1/2) / delta)) + sqrt(ridge) theta_bound;
this maximum is B (select-direction). The arm is pulled that the optimal allocation for the single direction z_i - z_j
lacks most ("ratio") or that shrinks the norm of that direction most ("greedy"). Both rules bring a regression each,
with `values` of the items and a `logdet`: the one has to be precise, the other cheap.
"""

from math import log
from typing import Any, NamedTuple

import numpy as np

from bandits_lib.design.allocations import Table, find
from bandits_lib.numerics.kernels import inlined, read, record
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, Trace


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,)
    now: np.record  # see `begin`
    fit: Any  # the regression
    table: Table
    program: Any  # what solves for a pair in the loop; None: the loop ends at a pair that is not in the table
    leads: np.ndarray  # (M,), upper bounds on the lead of each item over the leader
    gains: np.ndarray  # (K,), scratch of the greedy rule
    lack: np.ndarray  # (r + 1,), scratch: minus counts over share, along an allocation
    sigma: float
    union: float  # log(M^2 / delta)
    bias: float  # sqrt(ridge) theta_bound
    epsilon: float  # the lead that is accepted
    greedy: bool


def begin(sample, fit, known, rule, *, sigma, delta, bias, epsilon):
    """The State after a first Sample that `fit` knows; `known` : Allocations."""
    K, M, size = len(sample.counts), len(fit.values), known.table.shares.shape[1]
    now = record(
        pulls=sample.counts.sum(),
        due=NO_LIMIT,  # pulls at which the loop ends, for a look or with the budget
        leader=-1,
        rival=-1,
        row=-1,  # the pair's in the table of allocations, -1 if it is not there
        lead=np.inf,  # B, the upper bound on the rival's
    )
    scratch = np.empty(M), np.empty(K), np.empty(size)
    constants = float(sigma), log(M**2 / delta), bias, float(epsilon), rule == "greedy"
    return State(sample.counts.astype(np.int64), now, fit, known.table, known.program, *scratch, *constants)


def explore(choose, update, state, allocations, *, trace, first=0, budget=NO_LIMIT):
    """Loops, then the Result: no rival may lead by more than epsilon, or the budget is spent. `trace` 0: no Trace."""
    history, now = [], state.now
    look = max(first, now.pulls) if trace else NO_LIMIT
    while True:
        now.due = min(look, budget)
        yield Loop(choose, update, state)
        seen = read(now)
        if seen.pulls >= look:
            history.append(Trace(seen.pulls, state.counts.copy(), -seen.lead, -state.epsilon, seen.leader))
            look += trace
        if seen.lead <= state.epsilon or seen.pulls >= budget:
            return Result(seen.leader, tuple(history))
        if seen.row < 0 and not state.greedy:
            now.row = allocations.enter(seen.leader, seen.rival)
            state = state._replace(table=allocations.table)


@inlined
def compare(state, leader, apart):
    """Set the rival j, the argmax of (z_j - z_i)'theta + sqrt(apart_j) C_t, and that maximum, B; whether to go on."""
    now, values, leads = state.now, state.fit.values, state.leads
    width = state.sigma * np.sqrt(2 * (state.union + 0.5 * state.fit.logdet[0])) + state.bias
    ahead = values[leader]
    for m in range(leads.shape[0]):
        leads[m] = values[m] - ahead + np.sqrt(max(0.0, apart[m])) * width
    leads[leader] = -np.inf
    rival = argmax(leads)
    if now.leader != leader or now.rival != rival:
        now.row = find(state.table, min(leader, rival) * leads.shape[0] + max(leader, rival))
    now.leader, now.rival, now.lead = leader, rival, leads[rival]
    return now.lead > state.epsilon and now.pulls < now.due


@inlined
def lagging(state):
    """The arm of the pair's allocation with the least counts / share; -1 at a pair that is not in the table."""
    row, n, counts, lack, shares = state.now.row, 0, state.counts, state.lack, state.table.shares
    if row < 0:
        return -1
    while n < lack.shape[0] and shares[row, n] > 0:
        lack[n] = -counts[state.table.support[row, n]] / shares[row, n]
        n += 1
    return state.table.support[row, argmax(lack[:n])]


@inlined
def shrinking(state, norms):
    """The arm that shrinks ||y||, y = z_i - z_j, most: argmax gains^2 / (1 + norms), gains y'A^-1x, norms x'A^-1x."""
    gains = state.gains
    for k in range(gains.shape[0]):
        gains[k] = gains[k] * gains[k] / (1 + norms[k])
    return argmax(gains)
