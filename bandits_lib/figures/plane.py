"""Arms in the plane and what is known of theta, drawn for a reader who sees both for the first time."""

from itertools import combinations

import numpy as np

DISC = 900  # area of the disc of an arm that gets all pulls, in points squared
AWAY = 7  # of a label from its point, in points


def draw_arms(ax, arms, names, shares, *, gone=(), colour="C0"):
    """Arms as points with their names, and around each a disc whose area is its share of the pulls.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    arms : (K, 2) array
        Arms, one per row.
    names : sequence of str
        Their names.
    shares : (K,) array
        Shares of the pulls.
    gone : collection of int, default ()
        Rows of the arms that are out as an answer: their points are hollow, their names grey.
    colour : str, default "C0"
        Colour of the discs.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = draw_arms(plt.subplots()[1], np.eye(2), "AB", np.array([0.3, 0.7]), gone=[1])
    >>> [text.get_text() for text in ax.texts]
    ['A', 'B']
    """
    ax.scatter(*arms.T, s=DISC * np.asarray(shares), color=colour, alpha=0.4, linewidths=0)
    stays = ~np.isin(np.arange(len(arms)), list(gone))
    ax.scatter(*arms[stays].T, s=12, color="black", zorder=3)
    ax.scatter(*arms[~stays].T, s=12, facecolors="white", edgecolors="0.5", linewidths=0.8, zorder=3)
    for arm, name, black in zip(arms, names, stays, strict=True):
        grey = "black" if black else "0.5"
        ax.annotate(name, arm, (AWAY, AWAY - 2), textcoords="offset points", ha="center", color=grey)
    ax.set(aspect="equal", xlim=(arms[:, 0].min() - 0.15, arms[:, 0].max() + 0.2))
    ax.set(ylim=(arms[:, 1].min() - 0.15, arms[:, 1].max() + 0.2))
    return ax


def draw_cone(ax, items, item, limits):
    """Grey where `item` is the best of the items, in a square of the plane of parameters.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    items : (M, 2) array
        Items, one per row.
    item : int
        Row of the item.
    limits : ((float, float), (float, float))
        Ends of the two axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> draw_cone(plt.subplots()[1], np.eye(2), 0, ((0, 2), (-1, 1))).get_xlim()
    (np.float64(0.0), np.float64(2.0))
    """
    first, second = np.meshgrid(*(np.linspace(low, high, 300) for low, high in limits))
    rivals = np.delete(items, item, axis=0)
    if len(rivals):
        lead = np.min([y[0] * first + y[1] * second for y in items[item] - rivals], axis=0)
        ax.contourf(first, second, lead, levels=[0, np.inf], colors=["0.9"])
        ax.contour(first, second, lead, levels=[0], colors=["0.5"], linewidths=0.8)
    else:
        ax.axvspan(*limits[0], color="0.9", lw=0)
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal")
    ax.grid(False)
    return ax


def draw_ties(ax, items, names, limits, *, open_items=()):
    """The lines of the plane of parameters on which two of the items are equally good.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    items : (M, 2) array
        Items, one per row.
    names : sequence of str
        Their names.
    limits : ((float, float), (float, float))
        Ends of the two axes.
    open_items : collection of int, default ()
        Rows of items whose comparisons are open: their lines are dark, and named where they meet the right edge.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = draw_ties(plt.subplots()[1], np.eye(2), "AB", ((0, 2), (-2, 3)), open_items=[0, 1])
    >>> len(ax.lines), [text.get_text() for text in ax.texts]
    (1, ['A = B'])
    """
    (_, right), (low, high) = limits
    for first, second in combinations(range(len(items)), 2):
        x, y = items[first] - items[second]
        is_open = first in open_items and second in open_items
        ax.axline((0, 0), (-y, x), color="black" if is_open else "0.8", lw=0.8, zorder=2 if is_open else 1)
        if is_open and y and low < (height := -x / y * right) < high:
            told = f"{names[first]} = {names[second]}"
            ax.annotate(told, (right, height), (3, 0), textcoords="offset points", va="center", size=7)
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal")
    ax.grid(False)
    return ax


def draw_ellipse(ax, arms, counts, theta, radius, **line):
    """The parameters x with ||x - theta||_A <= radius, A = sum of counts[k] arms[k] arms[k]', and theta as a dot.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    arms : (K, 2) array
        Arms, one per row.
    counts : (K,) array
        Pulls of each arm, not all on one line.
    theta : (2,) array
        Parameter in the middle.
    radius : float
        Radius in the norm of A, in standard deviations of the noise times its unit.
    **line
        How the curve is drawn, as for `Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Notes
    -----
    The ellipse keeps clear of the line y'x = 0 exactly if |y'theta| is more than radius ||y||_{A^-1}: RAGE's test.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = draw_ellipse(plt.subplots()[1], np.eye(2), np.array([4, 4]), np.zeros(2), 1.0)
    >>> ax.lines[0].get_xdata().max().round(3).item()
    0.5
    """
    root = np.linalg.cholesky(np.linalg.inv((arms.T * counts) @ arms))
    turn = np.linspace(0, 2 * np.pi, 241)
    curve = np.asarray(theta)[:, None] + radius * root @ [np.cos(turn), np.sin(turn)]
    (drawn,) = ax.plot(*curve, marker="", **line)
    ax.plot(*theta, ls="", marker="o", ms=3, color=drawn.get_color())
    return ax
