"""Continue a rule without an arm, or say what is known if that is impossible.

The `After` of a rule says how it continues and whether its guarantee stands. A running generator cannot drop an arm. It
is therefore made again and sent the same samples, with a design on the arms that are left; or it starts on these arms
alone, with all pulls so far as its history.
"""

import numpy as np

from bandits_lab.anytime_intervals import intervals
from bandits_lab.measurements import nothing
from bandits_lib.design.certificate import Design
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.numerics.span import RANK_TOL, basis, outside
from bandits_lib.protocol import SPENT, UNKNOWN, Result, Sample, checked_batch, total, unroll

UNPROVED = (SPENT, UNKNOWN.why)
IN_VAIN = 100  # successive requests for dropped arms alone, after which the rule is refused
LISTED = 12  # rows that a message names


def going_on(lab):
    """Return the `After` of a rule that can continue without an arm; a ValueError gives the reason if it cannot."""
    found, name = lab._after, lab.experiment.rule
    if not found.how:
        raise ValueError(
            f"{name} cannot go on after an arm is dropped: {found.why}. Begin another experiment with the arms that "
            f"are left, {name}(arms left, ...). It has a probability of error of its own"
        )
    return found


class CannotGoOn(ValueError):
    """The error when the arms that are left cannot distinguish the items in play."""


class Without:
    """A design restricted to the arms that are not in the list `gone`, which may change between calls."""

    def __init__(self, design, gone):
        self.design, self.gone = design, gone

    def __call__(self, arms, directions, **more):
        if not self.gone:
            return self.design(arms, directions, **more)
        left = np.setdiff1d(np.arange(len(arms)), self.gone)
        more = {name: value[left] if np.ndim(value) else value for name, value in more.items()}
        found = self.design(arms[left], directions, **more)
        weights = np.zeros(len(arms))
        weights[left] = found.weights
        return Design(weights, *found[1:])


def following(algorithm, reply, without=None):
    """Return the next request (K,) with pulls, changed by `without`; answer requests without pulls at once."""
    in_vain = 0
    while True:
        request = checked_batch(algorithm.send(reply))
        left = request if without is None else without(request)
        if left.any():
            return left
        in_vain = in_vain + 1 if request.any() else 0
        if in_vain == IN_VAIN:
            raise ValueError(
                f"the algorithm asked {IN_VAIN} times in a row for dropped arms alone: begin another experiment"
            )
        reply = nothing(len(request))


def left_out(request, had, gone, arms=None, may=None):
    """Return a request (K,) without dropped arms; other arms replace them if the rest spans fewer dimensions.

    had : (K,) pulls told in answer to it; arms : (K, d), or None if unknown; may : rows that may be pulled
    """
    left = request.copy()
    left[list(gone)] = 0
    if arms is None or (left == request).all():
        return left
    wanted, measured = arms[request + had > 0], np.flatnonzero(left + had)
    if within(wanted, arms[measured]):
        return left
    pool = np.concatenate([measured, np.setdiff1d(may, gone)])
    if within(wanted, arms[pool]):
        more = np.setdiff1d(pool[spanning_arms(arms[pool] @ basis(arms[pool]))], measured)
        left[more] = -(-(request - left).sum() // len(more))
    elif not within(arms[may] - arms[may[0]], arms[pool]):
        raise CannotGoOn(
            f"the experiment ends here: the arms in play are {_listed(may)}; arms {_listed(gone)} were dropped, and "
            "measurements of the arms that are left cannot distinguish the arms in play"
        )
    return left


def within(directions, arms):
    """Return whether the arms span the directions."""
    scale = np.linalg.norm(directions, axis=1).max()
    axes = basis(arms) if len(arms) else np.zeros((directions.shape[1], 0))
    return bool((outside(directions, axes) <= RANK_TOL * scale).all())


def led(rule, samples, requests, drops, number, from_start):
    """Return a `Rule` made again with a design without dropped arms, unrolled up to a request, and that request.

    samples, requests : the Samples told and the requests that they answered; drops : [(request, dropped arms), ...]
    """
    gone: list[int] = []
    rule = rule.again(design=Without(rule.arguments["design"], gone))
    algorithm = unroll(rule)
    told: dict[int, list[Sample]] = {}
    for sample, request in zip(samples, requests, strict=True):
        told.setdefault(request, []).append(sample)
    reply = asked = None
    for step in range(1, number + 1):
        gone[:] = [arm for at, arms in drops if at <= step or from_start for arm in arms]
        asked = following(algorithm, reply, lambda request: left_out(request, 0, gone))
        reply = total(told[step]) if step in told else nothing(len(asked))
    return rule, algorithm, asked


def restarted(rule, samples, gone, K):
    """Return the unrolled rule on the arms that are left, with all pulls so far as its history."""
    given = rule.arguments
    arms = np.asarray(given["arms"], dtype=float)
    left = np.setdiff1d(np.arange(K), gone)
    features, sample = arms, total([nothing(K), *samples])
    if given.get("history") is not None:
        pair = isinstance(given["history"], tuple | list) and len(given["history"]) == 2
        earlier, known = given["history"] if pair else (arms, given["history"])
        features = np.vstack([features, np.asarray(earlier, dtype=float)])
        sample = Sample(*map(np.concatenate, zip(sample, known, strict=True)))
    items = arms if given["items"] is None else np.asarray(given["items"], dtype=float)
    active = np.arange(len(items))
    if not within(items - items[0], arms[left]):
        active = proved(given, arms, items, samples)
    changes = {"arms": arms[left], "items": items[active]}
    changes |= {"history": (features, sample), "sigma": float(np.max(given["sigma"]))}
    if given.get("allocation") is not None:
        changes["allocation"] = np.asarray(given["allocation"])[left]
    return _embedded(unroll(rule.again(**changes)), left, active, K)


def proved(given, arms, items, samples):
    """Return the rows of the items that eq. 9 of jedra2020 does not exclude, on the event of the stopping rule."""
    told = {"items": items, "sigma": given["sigma"], "delta": given["delta"], "u": given.get("u", 1.0)}
    return np.flatnonzero(intervals(arms, total(samples), **told)["in_play"])


def _embedded(algorithm, left, active, K):
    """Run an algorithm for the arms `left` and the items `active` as an algorithm for all arms and items."""
    reply = None
    while True:
        try:
            request = algorithm.send(reply)
        except StopIteration as stop:
            looks = tuple(look._replace(leader=int(active[look.leader])) for look in stop.value.history)
            return Result(int(active[stop.value.recommendation]), looks)
        counts = np.zeros(K, np.int64)
        counts[left] = request
        sample = yield counts
        reply = Sample(*(field[left] for field in sample))


# --- whether the arms that are left suffice


def checked_arms(arms, K, dropped):
    """Return the rows of arms to drop as a sorted tuple without repetitions; ValueError for anything else."""
    given = np.atleast_1d(arms)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise ValueError(f"arms must be whole numbers, the rows of one or several arms; got {arms!r}")
    if ((given < 0) | (given >= K)).any():
        raise ValueError(f"arms must lie in 0..{K - 1}; got {arms!r}")
    if again := sorted({*given.tolist()} & {*dropped}):
        raise ValueError(f"arm {again[0]} was dropped before: leave it out")
    return tuple(sorted(set(given.tolist())))


def check_left(lab, gone):
    """Refuse a drop after which measurements cannot distinguish the items in play, and say what is known."""
    given, found = lab._fresh.arguments, lab._after
    if found.how == "restart" and lab._request > 1 and any(request == 1 for request, _ in lab._drops):
        raise ValueError(
            f"an arm was dropped in the first request of {lab.experiment.rule}, which set the constant of its "
            "threshold; another drop would change that constant. Begin another experiment, with "
            "history=(arms, total(lab.log))"
        )
    arms = np.asarray(given.get("arms", np.ones((0, 1))), dtype=float)
    left = np.setdiff1d(np.arange(len(arms)), gone)
    if len(arms) and not arms[left].any():
        raise ValueError(f"arms {_listed(gone)} cannot be dropped: no other arm is left to be measured")
    if not len(arms) or found == UNKNOWN:
        return
    items = arms if given.get("items") is None else np.asarray(given["items"], dtype=float)
    active, level = in_play(lab, arms, items), given.get("objective") == "level"
    compared = items if found.how == "as if" else items[active]
    view = compared if level else compared - compared[0]
    if not within(view, arms[left]):
        scale = np.linalg.norm(view, axis=1).max()
        kept = _alike(items[active], basis(arms[left]), scale)[0]
        raise ValueError(_what_stands(lab, gone, active, active[kept], level))


def _what_stands(lab, gone, active, kept, level):
    """Return why an experiment cannot go on, and what is known."""
    rule, delta = lab.experiment.rule, lab._fresh.arguments.get("delta")
    apart = "items in play from the threshold" if level else "the items in play from each other"
    comparable = f"; with the arms left, items {_listed(kept)} can be compared" if 1 < len(kept) < len(active) else ""
    error = "" if delta is None else ", whose probability of error is added to that of this one"
    return (
        f"arms {_listed(gone)} cannot be dropped here: without them no measurement distinguishes {apart}. Known so "
        f"far: items {_listed(active)} are in play{comparable}. To go on with some of them, begin another experiment, "
        f"{rule}(arms without {_listed(gone)}, items=those{'' if delta is None else f', delta={delta}'}, ...){error}. "
        "Nothing was changed"
    )


def in_play(lab, arms, items):
    """Return the rows of the items that the rule, or else eq. 9 of jedra2020, has not eliminated."""
    if lab._rule.active is not None:
        return lab._rule.active
    given = lab._fresh.arguments
    if lab.log and given.get("delta") and "sigma" in given and given.get("objective", "best") == "best":
        return proved(given, arms, items, lab.log)
    return np.arange(len(items))


def _alike(items, axes, scale):
    """Return groups of items (m, d) that differ only in the directions `axes` (d, r), the largest group first."""
    rest = items - (items @ axes) @ axes.T
    groups: list[list[int]] = []
    for row in range(len(items)):
        same = (g for g in groups if np.linalg.norm(rest[row] - rest[g[0]]) <= RANK_TOL * scale)
        if (group := next(same, None)) is None:
            groups.append([row])
        else:
            group.append(row)
    return sorted(groups, key=len, reverse=True)


def _listed(rows):
    rows = list(map(int, rows))
    return ", ".join(map(str, rows[:LISTED])) + (f", ... ({len(rows)} in all)" if len(rows) > LISTED else "")
