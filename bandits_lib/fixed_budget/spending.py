"""The loop of the rules that spend a budget pull by pull, and the looks at them on the way.

A state has a record `now` with `pulls`, so far, and `due`, at which the loop ends: at a look, or with the budget.
look(state) gives statistic, threshold and leader of a Trace, the first at `first` pulls or as soon as there are so
many.
"""

from bandits_lib.protocol import NO_LIMIT, Loop, Trace


def spend(choose, update, state, look, *, budget, trace, first=0):
    """Pull until the budget is spent, or `choose` will not go on; returns the Traces of every `trace` pulls."""
    history, now = [], state.now
    ahead = max(first, now.pulls) if trace else NO_LIMIT
    while True:
        now.due = min(ahead, budget)
        yield Loop(choose, update, state)
        if now.pulls >= ahead:
            history.append(Trace(int(now.pulls), state.counts.copy(), *look(state)))
            ahead += trace
        if now.pulls >= budget or now.pulls < now.due:
            return tuple(history)
