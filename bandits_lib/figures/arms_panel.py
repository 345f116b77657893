"""Arms in the plane, moved by hand: the optimal design and its confidence ellipse follow. Needs ipywidgets.

Labels beside points that do not print over one another: computed from sizes in points of type, without a canvas.
"""

from contextlib import contextmanager
from html import escape
from io import BytesIO
from math import ceil, floor, log10

import matplotlib.pyplot as plt
import numpy as np

from bandits_lib.checks import check_arms, check_option, check_theta
from bandits_lib.complexity import oracle_design
from bandits_lib.design import g_design, pairs, xy_design
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.span import basis

DIRECTIONS = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0)])
DISTANCES = (5, 14, 26, 40)  # from the point, in points of type
SIDE, FONT = 175, 7  # of the square and of its labels, in points of type
WIDE, HIGH = 0.62, 1.25  # of a character, in font sizes


def write(ax, arms, weights, reach):
    """Number and share beside every arm (K, 2), one label for those in one place, on axes from -reach to reach."""
    together = groups(arms, reach / 50)
    texts = [f"{', '.join(map(str, group))}: {weights[group].sum():.0%}" for group in together]
    points = (arms[[group[0] for group in together]] / reach + 1) / 2 * SIDE
    for point, corner, text in zip(points, places(points, texts, SIDE, FONT), texts, strict=True):
        ends = {"xy": (point / SIDE * 2 - 1) * reach, "xytext": corner - point, "textcoords": "offset points"}
        far = np.abs(corner - point).max() > 10
        arrow = {"arrowstyle": "-", "lw": 0.4, "color": "0.6", "shrinkA": 0, "shrinkB": 1} if far else None
        ax.annotate(text, **ends, fontsize=FONT, arrowprops=arrow)


def groups(points, near):
    """Rows of points (n, 2) that lie within `near` of the first of their group, as lists."""
    found: list[list[int]] = []
    for k, point in enumerate(points):
        home = next((group for group in found if np.hypot(*(points[group[0]] - point)) <= near), None)
        if home is None:
            found.append([k])
        else:
            home.append(k)
    return found


def places(points, texts, side, fontsize):
    """Lower left corners (n, 2) of texts beside points (n, 2), outward first; all in points of type, in a square."""
    boxes: list[tuple[float, float, float, float]] = [(x - 2, y - 2, x + 2, y + 2) for x, y in points]
    corners = []
    units = DIRECTIONS / np.hypot(*DIRECTIONS.T)[:, None]
    for point, text in zip(points, texts, strict=True):
        size = np.array([WIDE * fontsize * len(text), HIGH * fontsize])
        away = DIRECTIONS[np.argsort(-(units @ (point - points.mean(axis=0))).round(6), kind="stable")]
        tried = [_box(point, size, direction, far) for far in DISTANCES for direction in away]
        best = min(tried, key=lambda box: sum(_overlap(box, other) for other in boxes) + 10 * _outside(box, side))
        boxes.append(best)
        corners.append(best[:2])
    return np.array(corners)


def _box(point, size, direction, far):
    """(left, low, right, high) of a text of this size at a distance from a point."""
    reach = far / np.hypot(*direction) * direction + np.where(direction < 0, -size, 0)
    low = point + reach - np.where(direction == 0, size / 2, 0)
    return (*low, *(low + size))


def _overlap(one, other):
    """Area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)


def _outside(box, side):
    """How far a box reaches out of the square."""
    return max(0.0, -box[0]) + max(0.0, -box[1]) + max(0.0, box[2] - side) + max(0.0, box[3] - side)


DESIGNS = ("XY", "G", "oracle", "uniform")
COLOURS = {"uniform": "0.45", "G": "#7b3294", "XY": "#de8f05", "oracle": "#029e73"}


def weights_of(design, arms, theta):
    """Shares of the pulls under a design that is called by its name.

    Parameters
    ----------
    design : {"XY", "G", "oracle", "uniform"}
        Name of the design; the oracle's is for `theta`.
    arms : (K, d) array_like
        Arms, one per row, also the items.
    theta : (d,) array_like
        Parameter.

    Returns
    -------
    (K,) float array
        Shares of the pulls.

    Raises
    ------
    ValueError
        For another name, and as the designs do.

    Examples
    --------
    >>> arms, theta = np.array([[1.0, 0.0], [0.9, 0.35], [-0.3, 0.7]]), np.array([1.0, 0.1])
    >>> weights_of("G", arms, theta).round(2).tolist()
    [0.16, 0.36, 0.47]
    """
    if check_option("design", design, DESIGNS) == "uniform":
        return np.full(len(arms), 1 / len(arms))
    if design == "G":
        return g_design(arms).weights
    return (oracle_design(arms, theta=theta) if design == "oracle" else xy_design(arms, pairs(arms))).weights


def picture(arms, theta, *, design="XY", delta=0.05, pulls=200):
    """A figure of two panels: the shares of the pulls, and what they say about theta.

    Parameters
    ----------
    arms : (K, 2) array_like
        Arms, one per row, also the items; they span the plane.
    theta : (2,) array_like
        Parameter.
    design : {"XY", "G", "oracle", "uniform"}, default "XY"
        Name of the design.
    delta : float, default 0.05
        Error probability allowed.
    pulls : int, default 200
        Number of pulls.

    Returns
    -------
    matplotlib.figure.Figure
        Left, a disc per arm, its area the share of the pulls. Right, the plane of parameters: the grey cone is where
        the best arm stays best, the curve {||x - theta||^2_A = 2 log(K / delta) / pulls} (fiez2019, section 2.1).

    Raises
    ------
    ValueError
        For arms not in the plane or on one line (the ellipse is open), and for two best arms, identical or equally good
        (there is no cone).

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
    _draw_arms(left, arms, weights, COLOURS[design])
    _draw_ellipse(right, arms, weights, theta, np.sqrt(2 * np.log(len(arms) / delta) / pulls), COLOURS[design])
    return fig


def _in_the_plane(arms):
    """The arms, checked."""
    arms = check_arms(arms)
    if arms.shape[1] != 2 or basis(arms).shape[1] < 2:
        raise ValueError(f"arms must span the plane; got shape {arms.shape}: give rows (x1, x2), not all on one line")
    return arms


def _check_best(arms, theta):
    """Refuse two best arms."""
    values = along(arms, theta)
    first, second = sorted(np.argsort(-values, kind="stable")[:2].tolist())
    if abs(values[first] - values[second]) <= 1e-12 * np.abs(values).max():
        why = "are identical" if (arms[first] == arms[second]).all() else "are equally good under theta"
        raise ValueError(
            f"the best arm must be unique, but arms {first} and {second} {why}: move one of them, or theta"
        )


def _draw_arms(ax, arms, weights, colour):
    ax.scatter(*arms.T, s=700 * weights, color=colour, alpha=0.5, lw=0)
    ax.scatter(*arms.T, s=8, color="k", zorder=3)
    reach = 1.35 * np.abs(arms).max()
    write(ax, arms, weights, reach)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")


def _draw_ellipse(ax, arms, weights, theta, radius, colour):
    turn = np.linspace(0, 2 * np.pi, 200)
    root = np.linalg.cholesky(np.linalg.inv((arms.T * weights) @ arms))
    reach = 1.6 * max(np.abs(theta).max(), 0.5)
    first, second = np.meshgrid(*2 * [np.linspace(-reach, reach, 300)]) + theta[:, None, None]
    best = int(np.argmax(arms @ theta))
    margin = np.min([y[0] * first + y[1] * second for y in arms[best] - np.delete(arms, best, axis=0)], axis=0)
    ax.contourf(first, second, margin, levels=[0, np.inf], colors=["0.9"])
    ax.plot(*(theta[:, None] + radius * root @ [np.cos(turn), np.sin(turn)]), color=colour)
    ax.plot(*theta, "k.")
    limits = [(middle - reach, middle + reach) for middle in theta]
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")


def panel(arms, theta):
    """Sliders that move one arm, theta, the confidence and the pulls, above the picture that follows them.

    Parameters
    ----------
    arms : (K, 2) array_like
        Arms, one per row, also the items; they span the plane.
    theta : (2,) array_like
        Parameter.

    Returns
    -------
    ipywidgets.VBox
        Its attribute `controls` names the sliders and the button `reset`, and the last child is the image.

    Raises
    ------
    ValueError
        For arms not in the plane or on one line, and a theta that is no two numbers. What the sliders do that `picture`
        refuses is said in a line under them; the last picture stays.

    Examples
    --------
    >>> arms, theta = np.array([[1.0, 0.0], [0.9, 0.35], [-0.3, 0.7]]), np.array([1.0, 0.1])
    >>> sorted(panel(arms, theta).controls)
    ['arm', 'delta', 'design', 'pulls', 'reset', 'theta1', 'theta2', 'x1', 'x2']
    """
    import ipywidgets as widgets

    first = _in_the_plane(arms), check_theta("theta", theta, 2)
    arms = first[0].copy()
    controls = _controls(widgets, *first)
    start = {name: control.value for name, control in controls.items()}
    controls["reset"] = widgets.Button(description="reset")
    image, note = widgets.Image(format="png"), widgets.HTML()
    moving = []  # while the sliders follow the arm, they do not move it

    @contextmanager
    def following():
        moving.append(True)
        try:
            yield
        finally:
            moving.clear()

    def choose(change):
        with following():
            controls["x1"].value, controls["x2"].value = arms[change["new"]].tolist()

    def draw(change=None):
        if moving:
            return
        if change is not None and change["owner"] in (controls["x1"], controls["x2"]):
            arms[controls["arm"].value] = controls["x1"].value, controls["x2"].value
        try:
            options = {name: controls[name].value for name in ("design", "delta", "pulls")}
            theta = [controls["theta1"].value, controls["theta2"].value]
            image.value, note.value = _png(picture(arms, theta, **options)), ""
        except ValueError as error:
            note.value = escape(str(error))

    def reset(button):
        arms[:] = first[0]
        with following():
            for name, value in start.items():
                controls[name].value = value
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
    """Sliders and menus by name, as they stand at the beginning."""
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
    """The end of a slider: a quarter beyond the largest of the numbers, in one digit."""
    largest = 1.25 * float(np.abs(numbers).max()) or 1.0
    unit = 10.0 ** floor(log10(largest))
    return unit * ceil(largest / unit)


def _png(fig):
    file = BytesIO()
    fig.savefig(file, format="png", dpi=110)
    plt.close(fig)
    return file.getvalue()
