"""Labels beside points that do not print over one another: computed from sizes in points of type, without a canvas."""

import numpy as np

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
