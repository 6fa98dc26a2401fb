"""The box around what was drawn: turned rectangles, circles, polygons."""

import math
from collections.abc import Iterable, Mapping, Sequence

from driveflow.canonical import Json
from driveflow.formats.json_text import number_of

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


def turn_deg(rotation: object) -> float:
    """Return how far a tool's `rotation` says that a box is turned clockwise, from 0 to 360; 0 where it is no number.

    >>> [turn_deg(said) for said in (450, "-90.0", 360.0, True, "x", None)]
    [90.0, 270.0, 0.0, 0.0, 0.0, 0.0]
    """
    return (number_of(rotation) or 0.0) % 360


def with_turn(attributes: Mapping[str, Json], rotation_deg: float) -> dict[str, Json]:
    """Return `attributes` with `rotation_deg` in place of CVAT's `rotation`, which turns what is around it already.

    >>> with_turn({"rotation": "90.0", "occluded": True}, 90.0)
    {'occluded': True, 'rotation_deg': 90.0}
    """
    return {**{name: said for name, said in attributes.items() if name != "rotation"}, "rotation_deg": rotation_deg}


def around_turned_ellipse(centre: tuple[float, float], radii: tuple[float, float], rotation_deg: float) -> Corners:
    """Return the box around an ellipse that is turned clockwise about its centre.

    >>> around_turned_ellipse((5, 5), (3, 1), 0)
    (2.0, 4.0, 8.0, 6.0)
    """
    turn = math.radians(rotation_deg)
    wide = math.hypot(radii[0] * math.cos(turn), radii[1] * math.sin(turn))
    high = math.hypot(radii[0] * math.sin(turn), radii[1] * math.cos(turn))
    return (centre[0] - wide, centre[1] - high, centre[0] + wide, centre[1] + high)
