"""What is known of an experiment at one moment, as a table, in a sentence and as a picture."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

IN_PLAY, OUT, ANSWER = "#0173b2", "0.6", "#029e73"
MARKERS = {IN_PLAY: "o", OUT: "x", ANSWER: "*"}


class Standings(NamedTuple):
    """What is known at this moment. It prints as a table with a sentence.

    Attributes
    ----------
    table : pandas.DataFrame
        As `intervals` returns it; after the end `behind` is what an item is behind the answer (negative: ahead of it).
    leader : int
        Row of the item of largest estimate; after the end, of the answer.
    lead : tuple of float
        Interval of the true lead of that item over the best of the others, in units of reward; below 0 it is not the
        best.
    ended : bool
        Whether the rule has named its answer.
    pulls : int
        Number of pulls so far.
    sigma : float
        The standard deviation of the noise that the intervals rest on.
    source : str
        Where it is from.
    delta : float
        Error probability allowed: that any interval, at any time, is wrong.

    Examples
    --------
    >>> from bandits_lib import Lab, Sample
    >>> from bandits_lib.fixed_budget import gse
    >>> lab = Lab(gse(np.eye(2), budget=400, sigma=0.5))
    >>> lab.tell(Sample(np.array([200, 200]), np.array([200.0, 0.0]), np.array([250.0, 50.0])))
    >>> tuple(round(end, 2) for end in lab.standings().lead)
    (0.71, 1.29)
    """

    table: pd.DataFrame
    leader: int
    lead: tuple[float, float]
    ended: bool
    pulls: int
    sigma: float
    source: str
    delta: float

    def __repr__(self):
        return f"{self.table.to_string(float_format='{:.4g}'.format)}\n{_in_words(self)}"

    def _repr_html_(self):
        return f"{self.table.to_html()}<p>{_in_words(self)}</p>"

    @property
    def alt(self):
        """The picture in words, for those who cannot see it.

        Returns
        -------
        str
            What is in play, the lead, and what the intervals rest on.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"behind": [0.0], "low": [0.0], "high": [0.0], "in_play": [True]}, index=["a"])
        >>> Standings(table, 0, (np.inf, np.inf), False, 5, 1.0, "given", 0.05).alt.partition(":")[0]
        'How far 1 item is behind a, with intervals'
        """
        some = "1 item is" if len(self.table) == 1 else f"{len(self.table)} items are"
        return f"How far {some} behind {self.table.index[self.leader]}, with intervals: {_in_words(self)}"

    def plot(self, ax=None, *, most=50):
        """How far every item is behind the leader, with intervals; blue dots are in play, grey crosses out.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure, as high as the items need.
        most : int, default 50
            Number of items drawn, the best of them; a line says how many there are beside.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"behind": [0.0], "low": [0.0], "high": [0.0], "in_play": [True]}, index=["a"])
        >>> Standings(table, 0, (np.inf, np.inf), False, 5, 1.0, "given", 0.05).plot().get_xlabel()
        'behind a'
        """
        return _draw(self, ax, most)


def _in_words(known):
    """A `Standings` in sentences."""
    leader, table = known.table.index[known.leader], known.table
    if known.ended:
        said = f"After {known.pulls:,} pulls the answer is {leader}: {_lead(*known.lead)}."
    else:
        count = int(table["in_play"].sum())
        said = f"After {known.pulls:,} pulls {count} of {len(table)} may still be the best"
        said += f", and {leader} has the largest estimate." if known.pulls else "."
    return (
        f"{said} All intervals are right together, at all times, with probability {1 - known.delta:.6g} if the noise "
        f"has a standard deviation of at most {known.sigma:.4g} ({known.source})."
    )


def _lead(low, high):
    """What the interval of the answer's lead means."""
    if low == np.inf:
        return "there is no other"
    if low == -np.inf:
        return "these pulls alone say nothing about its lead"
    between = f"its lead over the best of the others lies between {low:.4g} and {high:.4g}"
    if low > 0:
        return f"{between}, so it is proved to be the best"
    if high < 0:
        return f"{between}, so another is better"
    return f"{between}, so these pulls alone do not prove it: another may be better, by {-low:.4g} at most"


def _draw(known, ax=None, most=50):
    """A `Standings` as a picture: a row per item, the best at the top."""
    order = known.table.sort_values("behind", kind="stable")
    shown = order.iloc[: max(1, most)]
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 1.0 + 0.19 * len(shown)), layout="constrained")
    low, high = _limits(shown)
    answer = known.table.index[known.leader] if known.ended else None
    for row, item in enumerate(shown.itertuples()):
        colour = ANSWER if answer is not None and item.Index == answer else IN_PLAY if item.in_play else OUT
        ax.plot(np.clip([item.low, item.high], low, high), [row, row], color=colour, lw=1.3)
        ax.plot(item.behind, row, MARKERS[colour], ms=8 if colour == ANSWER else 4.5, color=colour)
    ax.axvline(0, color="0.35", lw=0.8, ls="--", zorder=0)
    ax.set(xlim=(low, high), ylim=(len(shown) - 0.4, -0.6), yticks=range(len(shown)))
    ax.set_yticklabels(shown.index, fontsize=max(5, min(8, 300 / len(shown))))
    hidden = order.iloc[len(shown) :]
    beside = f"; {len(hidden)} more items, {int(hidden['in_play'].sum())} of them in play" if len(hidden) else ""
    ax.set_xlabel(f"behind {known.table.index[known.leader]}{beside}")
    return ax


def _limits(shown):
    """Ends of the axis: those of the finite intervals, with room; others run out of the picture."""
    ends = shown[["low", "high", "behind"]].to_numpy(float)
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    low, high = ends.min(), ends.max()
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room
