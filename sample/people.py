"""Paint pedestrians who stand and walk."""

import math
from dataclasses import dataclass

from sample.camera import Color
from sample.canvas import Pen, Point

SKINS: tuple[Color, ...] = ((150, 175, 225), (110, 140, 200), (70, 95, 150), (48, 62, 96))
TOPS: tuple[Color, ...] = (
    (60, 50, 190), (170, 90, 40), (70, 130, 60), (40, 170, 220), (210, 210, 215), (60, 60, 66),
    (130, 60, 120), (160, 150, 90),
)  # fmt: skip
TROUSERS: tuple[Color, ...] = ((90, 60, 45), (44, 42, 42), (120, 130, 140), (70, 90, 110))
HAIR: tuple[Color, ...] = ((30, 32, 40), (40, 66, 100), (110, 160, 190), (140, 140, 145))


@dataclass(frozen=True, slots=True)
class Look:
    """What somebody wears; shared by pedestrians and riders."""

    height_m: float
    skin: Color
    top: Color
    trousers: Color
    hair: Color
    bag: bool


def paint_pedestrian(pen: Pen, look: Look, stride: float) -> None:
    """Paint somebody who walks along the heading; `stride` is the phase of the gait, in steps of two pi."""
    k = look.height_m / 1.75
    swing = 0.34 * math.sin(stride) * k
    hip, shoulder = 0.9 * k, 1.42 * k
    for side, move, level in ((-1, -swing, 0.8), (1, swing, 1.0)):
        _leg(pen, look, (0.09 * side * k, hip, 0.0), move, level)
    pen.limb([(-0.2 * k, shoulder - 0.05, 0), (-0.27 * k, hip + 0.2, -swing * 0.7)], 0.065 * k, look.top, 0.8)
    _torso(pen, look, hip, shoulder)
    pen.limb([(0.2 * k, shoulder - 0.05, 0), (0.27 * k, hip + 0.2, swing * 0.7)], 0.065 * k, look.top, 0.9)
    if look.bag:
        pen.limb([(0, hip + 0.15, -0.24), (0, shoulder - 0.12, -0.22)], 0.13 * k, (50, 70, 120))
    head(pen, (0.0, 1.62 * k, 0.02), look.skin, look.hair)


def head(pen: Pen, center: Point, skin: Color, hair: Color) -> None:
    """Paint a head, with hair or a helmet on top."""
    x, y, z = center
    pen.ball((x, y, z), 0.125, skin)
    pen.ball((x, y + 0.045, z - 0.045), 0.125, hair)
    if pen.faces_camera(0, 1):
        pen.ball((x, y - 0.02, z + 0.02), 0.09, skin)


def _leg(pen: Pen, look: Look, top: Point, move: float, level: float) -> None:
    x, hip, z = top
    knee = (x, hip * 0.52, z + move * 0.55)
    foot = (x, 0.07, z + move - (0.1 if move < 0 else 0.0))
    pen.limb([top, knee, foot], 0.085, look.trousers, level)
    pen.limb([foot, (x, 0.06, foot[2] + 0.12)], 0.05, (40, 40, 46), level)


def _torso(pen: Pen, look: Look, hip: float, shoulder: float) -> None:
    pen.limb([(-0.09, hip, 0), (0.09, hip, 0)], 0.12, look.trousers)
    pen.limb([(-0.1, shoulder - 0.12, 0), (-0.07, hip + 0.1, 0)], 0.13, look.top)
    pen.limb([(0.1, shoulder - 0.12, 0), (0.07, hip + 0.1, 0)], 0.13, look.top)
