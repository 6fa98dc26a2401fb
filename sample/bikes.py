"""Paint cyclists, and riders of electric bikes: fat wheels, a battery box, an upright seat, a lamp, a cargo box."""

import math
from functools import cache

from sample.camera import Color
from sample.canvas import Pen
from sample.people import Look, head
from sample.solids import Solid, SolidMaker, box

FRAMES: tuple[Color, ...] = ((50, 40, 170), (150, 110, 40), (40, 40, 44), (200, 205, 210), (60, 130, 40))
EBIKE_PAINTS: tuple[Color, ...] = ((40, 215, 165), (215, 190, 30), (30, 130, 250))
_TYRE: Color = (30, 30, 32)
_DARK: Color = (40, 40, 44)
_HELMET: Color = (250, 250, 252)


def paint_cyclist(pen: Pen, look: Look, frame: Color, turn: float) -> None:
    """Paint a cyclist who rides along the heading; `turn` is the angle of the pedals."""
    for z in (-0.52, 0.52):
        pen.ring((0, 0.34, z), 0.33, 0.06, _TYRE)
    _legs(pen, look, turn)
    pen.limb([(0, 0.34, -0.52), (0, 0.3, 0.0), (0, 0.8, 0.42), (0, 0.34, 0.52)], 0.028, frame)
    pen.limb([(0, 0.3, 0.0), (0, 0.88, -0.18), (0, 0.78, 0.38)], 0.028, frame)
    pen.limb([(-0.24, 0.98, 0.4), (0.24, 0.98, 0.4)], 0.025, (50, 50, 54))
    hip, shoulder = (0.0, 0.98, -0.2), (0.0, 1.4, 0.14)
    for side in (-1, 1):
        pen.limb(
            [(0.17 * side, 1.38, 0.12), (0.24 * side, 1.12, 0.25), (0.23 * side, 0.99, 0.4)], 0.055, look.top, 0.85
        )
    pen.limb([(-0.08, hip[1], hip[2]), (-0.1, shoulder[1], shoulder[2])], 0.13, look.top)
    pen.limb([(0.08, hip[1], hip[2]), (0.1, shoulder[1], shoulder[2])], 0.13, look.top)
    head(pen, (0.0, 1.6, 0.24), look.skin, look.hair)
    if pen.tint.lit and pen.faces_camera(0, -1):
        pen.glow((0, 0.7, -0.5), 0.2, (40, 30, 255))


def paint_ebike(pen: Pen, look: Look, color: Color) -> None:
    """Paint an electric bike with its rider; its front lamp shines by day, too."""
    for z in (-0.56, 0.56):
        pen.ring((0, 0.26, z), 0.21, 0.15, _TYRE)
    towards = pen.faces_camera(0, 1)
    for part in (_cargo_box, _rider_and_front) if towards else (_rider_and_front, _cargo_box):
        part(pen, look, color)
    if towards:
        pen.ball((0, 0.92, 0.62), 0.12, (255, 255, 255), 1.3)
        pen.glow((0, 0.92, 0.62), 0.8 if pen.tint.lit else 0.3, (255, 250, 235))
    else:
        pen.ball((0, 0.72, -0.8), 0.09, (60, 50, 255), 1.2)
        pen.glow((0, 0.72, -0.8), 0.45 if pen.tint.lit else 0.16, (50, 40, 255))


def _cargo_box(pen: Pen, _look: Look, color: Color) -> None:
    pen.solid(_cargo_solid(color))


def _rider_and_front(pen: Pen, look: Look, color: Color) -> None:
    pen.solid(_battery_solid(color))
    for side in (-1, 1):
        pen.limb([(0.1 * side, 0.8, -0.2), (0.17 * side, 0.74, 0.2), (0.17 * side, 0.3, 0.26)], 0.085, look.trousers)
    pen.limb([(-0.09, 0.86, -0.24), (-0.1, 1.34, -0.2)], 0.14, look.top)
    pen.limb([(0.09, 0.86, -0.24), (0.1, 1.34, -0.2)], 0.14, look.top)
    for side in (-1, 1):
        pen.limb([(0.22 * side, 1.32, -0.18), (0.34 * side, 1.1, 0.1), (0.3 * side, 1.02, 0.42)], 0.06, look.top, 0.85)
    pen.limb([(-0.34, 1.04, 0.44), (0.34, 1.04, 0.44)], 0.03, _DARK)
    pen.solid(_shield_solid(color))
    head(pen, (0.0, 1.6, -0.18), look.skin, _HELMET)
    pen.ball((0.0, 1.66, -0.2), 0.15, _HELMET)


@cache
def _cargo_solid(color: Color) -> Solid:
    made = SolidMaker()
    made.add_block(box(0.3, -0.82, -0.36, 0.82, 1.36), color)
    stripe = box(0.305, -0.825, -0.355, 1.02, 1.12)
    for name in ("rear", "left", "right"):
        made.add(stripe[name], (250, 250, 250))
    return made.solid()


@cache
def _battery_solid(color: Color) -> Solid:
    made = SolidMaker()
    made.add_block(box(0.15, -0.5, 0.36, 0.24, 0.62), color)
    dark = box(0.155, -0.3, 0.2, 0.32, 0.54)
    for name in ("left", "right"):
        made.add(dark[name], _DARK)
    return made.solid()


@cache
def _shield_solid(color: Color) -> Solid:
    made = SolidMaker()
    made.add_block(box(0.17, 0.44, 0.54, 0.36, 1.0), color)
    return made.solid()


def _legs(pen: Pen, look: Look, turn: float) -> None:
    for side, phase in ((-1, turn), (1, turn + math.pi)):
        foot = (0.12 * side, 0.3 + 0.16 * math.sin(phase), 0.16 * math.cos(phase))
        knee = (0.13 * side, 0.72 + 0.08 * math.sin(phase), 0.12 + 0.06 * math.cos(phase))
        pen.limb([(0.09 * side, 0.95, -0.18), knee, foot], 0.075, look.trousers, 0.85 if side < 0 else 1.0)
