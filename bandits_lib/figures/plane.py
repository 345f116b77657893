"""Draw arms and parameters in the plane, also with sliders that move them (`panel`, which needs ipywidgets)."""

from collections.abc import Collection, Sequence
from html import escape
from itertools import combinations
from math import ceil, floor, log10
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bandits_lib.checks import check_arms, check_option, check_theta
from bandits_lib.complexity import oracle_design
from bandits_lib.design import g_design, pairs, xy_design
from bandits_lib.figures.display import png
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.span import basis

DISC = 900  # area of the disc of an arm that gets all pulls, in points squared
AWAY = 7  # distance of a label from its point, in points
DESIGNS = ("XY", "G", "oracle", "uniform")
COLOURS = {"uniform": "0.45", "G": "#7b3294", "XY": "#de8f05", "oracle": "#029e73"}
Limits = tuple[tuple[float, float], tuple[float, float]]


def draw_arms(
    ax: Axes,
    arms: np.ndarray,
    names: Sequence[str],
    shares: np.ndarray,
    *,
    gone: Collection[int] = (),
    colour: str = "C0",
) -> None:
    """Draw arms as points with their names, each with a disc whose area is the arm's share of the pulls.

    Parameters
    ----------
    ax, arms, names, shares : Axes, (K, 2) array, sequence of str, (K,) array
        Where to draw; arms, one per row, their names, and their shares of the pulls.
    gone : collection of int, default ()
        Rows of the arms that are eliminated; their points are hollow and their names grey.
    colour : str, default "C0"
        Colour of the discs.
    """
    ax.scatter(arms[:, 0], arms[:, 1], s=DISC * np.asarray(shares), color=colour, alpha=0.4, linewidths=0)
    stays = ~np.isin(np.arange(len(arms)), list(gone))
    ax.scatter(arms[stays, 0], arms[stays, 1], s=12, color="black", zorder=3)
    ax.scatter(arms[~stays, 0], arms[~stays, 1], s=12, facecolors="white", edgecolors="0.5", linewidths=0.8, zorder=3)
    for arm, name, black in zip(arms, names, stays, strict=True):
        grey = "black" if black else "0.5"
        ax.annotate(name, arm, (AWAY, AWAY - 2), textcoords="offset points", ha="center", color=grey)
    ax.set(aspect="equal", xlim=(arms[:, 0].min() - 0.15, arms[:, 0].max() + 0.2))
    ax.set(ylim=(arms[:, 1].min() - 0.15, arms[:, 1].max() + 0.2))


def draw_cone(ax: Axes, items: np.ndarray, item: int, limits: Limits) -> None:
    """Draw in grey the parameters for which `item` is the best of the items, in a rectangle of their plane.

    Parameters
    ----------
    ax, items, item : Axes, (M, 2) array, int
        Where to draw; items, one per row, and the row of the item.
    limits : ((float, float), (float, float))
        Ends of the two axes.
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


def draw_ties(
    ax: Axes, items: np.ndarray, names: Sequence[str], limits: Limits, *, open_items: Collection[int] = ()
) -> None:
    """Draw the lines in the plane of parameters on which two of the items are equally good.

    Parameters
    ----------
    ax, items, names, limits : Axes, (M, 2) array, sequence of str, pairs of float
        As for `draw_cone`, and the names of the items.
    open_items : collection of int, default ()
        Rows of items not yet compared; their lines are dark, and named where they meet the right edge.
    """
    (_, right), (low, high) = limits
    for first, second in combinations(range(len(items)), 2):
        x, y = items[first] - items[second]
        is_open = first in open_items and second in open_items
        ax.axline((0, 0), (-y, x), color="black" if is_open else "0.8", lw=0.8, zorder=2 if is_open else 1)
        if is_open and y and low < (height := -x / y * right) < high:
            equality = f"{names[first]} = {names[second]}"
            ax.annotate(equality, (right, height), (3, 0), textcoords="offset points", va="center", size=7)
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal")
    ax.grid(False)


def draw_ellipse(ax: Axes, arms: np.ndarray, counts: np.ndarray, theta: np.ndarray, radius: float, **line: Any) -> None:
    """Draw the parameters x with ||x - theta||_A <= radius, A = sum of counts[k] arms[k] arms[k]', and theta as a dot.

    The ellipse does not touch the line y'x = 0 exactly if |y'theta| > radius ||y||_{A^-1}, which is RAGE's test.

    Parameters
    ----------
    ax, arms, counts : Axes, (K, 2) array, (K,) array
        As for `draw_arms`, and the pulls of each arm; the arms that are pulled span the plane.
    theta, radius : (2,) array, float
        The centre, and the radius in the norm of A, in units of the noise's standard deviation.
    **line
        Options of the curve, as for `Axes.plot`.
    """
    root = np.linalg.cholesky(np.linalg.inv((arms.T * counts) @ arms))
    turn = np.linspace(0, 2 * np.pi, 241)
    curve = np.asarray(theta)[:, None] + radius * root @ [np.cos(turn), np.sin(turn)]
    (drawn,) = ax.plot(*curve, marker="", **line)
    ax.plot(*theta, ls="", marker="o", ms=3, color=drawn.get_color())


# --- sliders


def weights_of(design, arms, theta):
    """Return the shares of the pulls (K,) for the design of that name; the oracle's design is for `theta`."""
    if check_option("design", design, DESIGNS) == "uniform":
        return np.full(len(arms), 1 / len(arms))
    if design == "G":
        return g_design(arms).weights
    return (oracle_design(arms, theta=theta) if design == "oracle" else xy_design(arms, pairs(arms))).weights


def picture(
    arms: np.ndarray, theta: np.ndarray, *, design: str = "XY", delta: float = 0.05, pulls: int = 200
) -> Figure:
    """Return a figure of two panels: the shares of the pulls, and the confidence ellipse of theta.

    Parameters
    ----------
    arms, theta : (K, 2) array_like, (2,) array_like
        Arms, one per row, which are also the items and span the plane, and the parameter. The best arm must be unique.
    design : {"XY", "G", "oracle", "uniform"}, default "XY"
        Name of the design.
    delta, pulls : float, int
        Allowed error probability (by default 0.05) and number of pulls (by default 200).

    Returns
    -------
    matplotlib.figure.Figure
        Left, a disc for each arm, whose area is its share of the pulls. Right, the plane of parameters: in the grey
        cone the best arm stays best. The curve is {||x - theta||^2_A = 2 log(K / delta) / pulls} (fiez2019, section
        2.1).

    Examples
    --------
    >>> arms, theta = np.array([[1.0, 0.0], [0.9, 0.35], [-0.3, 0.7]]), np.array([1.0, 0.1])
    >>> picture(arms, theta, pulls=400).axes[1].get_aspect()
    1.0
    """
    arms, theta = _in_the_plane(arms), check_theta("theta", theta, 2)
    _check_best(arms, theta)
    weights = weights_of(design, arms, theta)
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
    places, place_of = np.unique(arms, axis=0, return_inverse=True)
    shares = np.bincount(place_of, weights)
    rows = [", ".join(map(str, np.flatnonzero(place_of == place))) for place in range(len(places))]
    names = [f"{numbers}: {share:.0%}" for numbers, share in zip(rows, shares, strict=True)]
    draw_arms(left, places, names, shares, colour=COLOURS[design])
    plt.setp(left.texts, fontsize=7)
    reach = 1.35 * np.abs(arms).max()
    left.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="$x_1$", ylabel="$x_2$")
    reach = 1.6 * max(np.abs(theta).max(), 0.5)
    limits = (theta[0] - reach, theta[0] + reach), (theta[1] - reach, theta[1] + reach)
    draw_cone(right, arms, int(np.argmax(along(arms, theta))), limits)
    radius = np.sqrt(2 * np.log(len(arms) / delta) / pulls)
    draw_ellipse(right, arms, weights, theta, radius, color=COLOURS[design])
    right.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    return fig


def _in_the_plane(arms):
    arms = check_arms(arms)
    if arms.shape[1] != 2 or basis(arms).shape[1] < 2:
        raise ValueError(f"arms must span the plane; got shape {arms.shape}: give rows (x1, x2), not all on one line")
    return arms


def _check_best(arms, theta):
    values = along(arms, theta)
    first, second = sorted(np.argsort(-values, kind="stable")[:2].tolist())
    if abs(values[first] - values[second]) <= 1e-12 * np.abs(values).max():
        why = "are identical" if (arms[first] == arms[second]).all() else "are equally good under theta"
        raise ValueError(
            f"the best arm must be unique, but arms {first} and {second} {why}: move one of them, or theta"
        )


def panel(arms: np.ndarray, theta: np.ndarray) -> Any:
    """Return a picture with sliders above it, which change one arm, theta, the confidence and the pulls.

    Parameters
    ----------
    arms, theta : (K, 2) and (2,) array_like
        As for `picture`.

    Returns
    -------
    ipywidgets.VBox
        Its attribute `controls` has the sliders and the button `reset` by name; the last child is the image. If
        `picture` refuses the values, a line above the image says why, and the last picture stays.

    Examples
    --------
    >>> arms, theta = np.array([[1.0, 0.0], [0.9, 0.35], [-0.3, 0.7]]), np.array([1.0, 0.1])
    >>> sorted(panel(arms, theta).controls)
    ['arm', 'delta', 'design', 'pulls', 'reset', 'theta1', 'theta2', 'x1', 'x2']
    """
    import ipywidgets as widgets

    first, theta = _in_the_plane(arms), check_theta("theta", theta, 2)
    arms = first.copy()
    controls = _controls(widgets, first, theta)
    start = {name: control.value for name, control in controls.items()}
    controls["reset"] = widgets.Button(description="reset")
    image, note = widgets.Image(format="png"), widgets.HTML()
    moving = []  # while the sliders follow the arm, they do not move it

    def put(values):
        moving.append(True)
        for name, value in values.items():
            controls[name].value = value
        moving.clear()

    def choose(change):
        put(dict(zip(("x1", "x2"), arms[change["new"]].tolist(), strict=True)))

    def draw(change=None):
        if moving:
            return
        if change is not None and change["owner"] in (controls["x1"], controls["x2"]):
            arms[controls["arm"].value] = controls["x1"].value, controls["x2"].value
        try:
            options = {name: controls[name].value for name in ("design", "delta", "pulls")}
            theta = [controls["theta1"].value, controls["theta2"].value]
            image.value, note.value = png(picture(arms, np.array(theta), **options)), ""
        except ValueError as error:
            note.value = escape(str(error))

    def reset(button):
        arms[:] = first
        put(start)
        draw()

    controls["arm"].observe(choose, "value")
    controls["reset"].on_click(reset)
    for name in start.keys() - {"arm"}:
        controls[name].observe(draw, "value")
    draw()
    sliders = widgets.GridBox([*controls.values()], layout={"grid_template_columns": "1fr 1fr"})
    box = widgets.VBox([sliders, note, image])
    box.controls = controls
    return box


def _controls(widgets, arms, theta):
    still = {"continuous_update": False}
    move, turn = ({"min": -size, "max": size, "step": size / 40, **still} for size in map(_size, (arms, theta)))
    return {
        "arm": widgets.Dropdown(options=range(len(arms)), description="arm"),
        "design": widgets.Dropdown(options=DESIGNS, description="design"),
        "x1": widgets.FloatSlider(arms[0, 0], **move, description="its x1"),
        "x2": widgets.FloatSlider(arms[0, 1], **move, description="its x2"),
        "theta1": widgets.FloatSlider(theta[0], **turn, description="theta 1"),
        "theta2": widgets.FloatSlider(theta[1], **turn, description="theta 2"),
        "delta": widgets.FloatLogSlider(0.05, min=-6, max=-0.5, step=0.25, description="delta", **still),
        "pulls": widgets.IntSlider(200, min=20, max=2000, step=20, description="pulls", **still),
    }


def _size(numbers):
    """Return the end of a slider: the largest of the numbers and a quarter more, rounded up to one digit."""
    largest = 1.25 * float(np.abs(numbers).max()) or 1.0
    unit = 10.0 ** floor(log10(largest))
    return unit * ceil(largest / unit)
