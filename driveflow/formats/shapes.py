"""The box around what was drawn: turned rectangles, circles, polygons."""

import math
from collections.abc import Iterable, Sequence

Corners = tuple[float, float, float, float]


def has_area(corners: Sequence[float]) -> bool:
    """Tell whether x1, y1, x2, y2 are finite and make a box with an area."""
    x1, y1, x2, y2 = corners
    return all(map(math.isfinite, corners)) and x1 < x2 and y1 < y2


def around(points: Iterable[tuple[float, float]]) -> Corners:
    """Return the box around `points`, of which there is at least one.

    >>> around([(4, 1), (2, 8)])
    (2, 1, 4, 8)
    """
    horizontal, vertical = zip(*points, strict=True)
    return (min(horizontal), min(vertical), max(horizontal), max(vertical))


def around_turned(corners: Corners, rotation_deg: float) -> Corners:
    """Return the box around the rectangle `corners` that is turned clockwise about its centre.

    >>> [round(value, 6) for value in around_turned((0, 0, 4, 2), 90)]
    [1.0, -1.0, 3.0, 3.0]
    """
    if rotation_deg % 360 == 0:
        return corners
    x1, y1, x2, y2 = corners
    turn = math.radians(rotation_deg)
    width = abs((x2 - x1) * math.cos(turn)) + abs((y2 - y1) * math.sin(turn))
    height = abs((x2 - x1) * math.sin(turn)) + abs((y2 - y1) * math.cos(turn))
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def around_turned_ellipse(centre: tuple[float, float], radii: tuple[float, float], rotation_deg: float) -> Corners:
    """Return the box around an ellipse that is turned clockwise about its centre.

    >>> around_turned_ellipse((5, 5), (3, 1), 0)
    (2.0, 4.0, 8.0, 6.0)
    """
    turn = math.radians(rotation_deg)
    wide = math.hypot(radii[0] * math.cos(turn), radii[1] * math.sin(turn))
    high = math.hypot(radii[0] * math.sin(turn), radii[1] * math.cos(turn))
    return (centre[0] - wide, centre[1] - high, centre[0] + wide, centre[1] + high)
