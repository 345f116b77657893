"""Measurements made before the experiment, kept until a request asks for them, each used once.

Every arm has a stack of independent rewards, and a rule reads the next one of the arm it asks for. Who read it first,
and when, is no part of its proof: single rewards may be handed on in the order in which they were made, none left out,
even if what they were decided how many were made. A sum of several pulls can only be used whole, and whether it fits
must not depend on the rewards: their number must have been fixed before.
"""

from collections.abc import Iterable

import numpy as np

from bandits_lib.lab.entries import Row
from bandits_lib.protocol import Sample

WAY_OUT = (
    "give single rewards in the order in which they were made (`measurements.read_each`); or, if the number of pulls "
    "of every arm was fixed before the first of them, say planned=True; or give them to a rule that takes sums, "
    "lazy_track_and_stop(..., history=sample)"
)


def nothing(K):
    """The Sample without a pull."""
    return Sample(np.zeros(K, np.int64), np.zeros(K), np.zeros(K))


class Stock:
    """What was measured before and has not been told."""

    def __init__(self):
        self.pieces: dict[int, list[tuple[int, float, float]]] = {}  # by arm: count, sum, squares, in their order

    def __len__(self):
        return sum(count for pieces in self.pieces.values() for count, *_ in pieces)

    def move(self, rows):
        """Take rows in, or out where their count is negative; ValueError for what is not there."""
        for row in rows:
            pieces = self.pieces.setdefault(row.arm, [])
            if row.count > 0:
                pieces.append((row.count, row.sum, row.squares))
                continue
            piece = (-row.count, 0 - row.sum, 0 - row.squares)
            if piece not in pieces:
                raise ValueError(f"line {row.line}: takes out of what was measured before what is not there")
            pieces.remove(piece)

    def fitting(self, missing):
        """Rows, with the sign turned, of the pieces that a request can take that still wants `missing` (K,)."""
        rows = []
        for arm in sorted(self.pieces):
            wanted = missing[arm]
            for count, total, squares in self.pieces[arm]:
                if wanted == 0:
                    break
                if count <= wanted:
                    rows.append(Row(0, 0, arm, 0, -count, 0 - total, 0 - squares))
                    wanted -= count
        return tuple(rows)


def rows_of(samples, K, planned, check):
    """Rows of what was measured before: of one Sample or of many, each arm of each a piece. check : of a Sample."""
    rows = []
    for sample in [samples] if hasattr(samples, "counts") else _iterated(samples):
        counts, sums, squares = check(sample, K)
        for arm in np.flatnonzero(counts):
            if counts[arm] > 1 and not planned:
                raise ValueError(f"sums of several pulls ({counts[arm]} of arm {arm}) may not fit by chance: {WAY_OUT}")
            rows.append(Row(0, 0, int(arm), 0, int(counts[arm]), float(sums[arm]), float(squares[arm])))
    return tuple(rows)


def _iterated(samples) -> Iterable[Sample]:
    try:
        return iter(samples)
    except TypeError:
        raise ValueError(
            f"what was measured before must be a Sample or several; got {type(samples).__name__}"
        ) from None


def sample_of(rows, K):
    """The Sample of rows with the sign turned."""
    counts, sums, squares = np.zeros(K, np.int64), np.zeros(K), np.zeros(K)
    for row in rows:
        counts[row.arm] -= row.count
        sums[row.arm] -= row.sum
        squares[row.arm] -= row.squares
    return Sample(counts, sums, squares)
