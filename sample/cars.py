"""Build and paint cars of four kinds."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from sample.camera import Color, Floats
from sample.canvas import Pen
from sample.solids import Rect, Solid, SolidMaker, block, box, patch, wheel


@dataclass(frozen=True, slots=True)
class CarShape:
    """The outline of a kind of car; metres, z from its middle."""

    length: float
    half_width: float
    floor: float
    belt: float  # height where the windows begin
    roof: float
    cabin: tuple[float, float]  # back and front at the belt
    roof_line: tuple[float, float]  # back and front at the roof


SHAPES = {
    "sedan": CarShape(4.5, 0.90, 0.25, 0.84, 1.44, (-1.75, 0.95), (-1.10, 0.20)),
    "hatch": CarShape(3.9, 0.86, 0.25, 0.86, 1.49, (-1.90, 0.85), (-1.60, 0.15)),
    "suv": CarShape(4.6, 0.96, 0.32, 1.00, 1.74, (-2.20, 0.90), (-1.95, 0.30)),
    "van": CarShape(5.0, 0.99, 0.30, 1.08, 2.10, (-2.45, 1.75), (-2.40, 1.15)),
}
PAINTS: tuple[Color, ...] = (
    (236, 236, 238), (38, 36, 36), (128, 126, 124), (188, 186, 182), (44, 38, 176), (150, 78, 34), (62, 92, 46),
    (60, 150, 205), (96, 40, 70), (150, 140, 60),
)  # fmt: skip
_COARSE_FROM_M = 55.0
_GLASS: Color = (92, 80, 66)
_TYRE: Color = (26, 26, 28)
_RED_LAMP: Color = (40, 34, 190)
_RED_LIT: Color = (70, 60, 255)
_WHITE_LAMP: Color = (235, 240, 240)


def paint_car(pen: Pen, kind: str, color: Color, *, braking: bool) -> None:
    """Paint a car with its shadow, and its lamps where they are lit."""
    shape = SHAPES[kind]
    half, reach = shape.half_width, shape.length / 2
    shadow = Pen(pen.canvas, pen.tint, pen.pose)
    shadow.face(_shadow(half + 0.12, reach + 0.12), (36, 34, 34))
    solid = _car(kind, color, pen.tint.lit)
    pen.solid(solid, solid.coarse if pen.pose.z_m > _COARSE_FROM_M else None)
    if pen.tint.lit or braking:
        _light_up(pen, shape, braking=braking)


def _shadow(half: float, reach: float) -> list[tuple[float, float, float]]:
    return [(-half, 0, -reach), (half, 0, -reach), (half, 0, reach), (-half, 0, reach)]


def _light_up(pen: Pen, shape: CarShape, *, braking: bool) -> None:
    x, z = shape.half_width * 0.78, shape.length / 2
    y = shape.floor + (shape.belt - shape.floor) * 0.68
    for side in (-x, x):
        if pen.tint.lit and pen.faces_camera(0, 1):
            pen.glow((side, y, z), 0.85, (225, 250, 255))
        if pen.faces_camera(0, -1):
            pen.glow((side, y, -z), 0.55 if braking else 0.34, (40, 30, 255))


@cache
def _car(kind: str, color: Color, lit: bool) -> Solid:
    shape, made = SHAPES[kind], SolidMaker()
    half, reach = shape.half_width, shape.length / 2
    for side in (-0.72 * half, 0.72 * half):
        tyre = box(0.1, -reach * 0.62 - 0.32, reach * 0.62 + 0.32, 0.0, 0.5)
        for name in ("rear", "front"):
            made.add(tyre[name] + np.array((side, 0.0, 0.0)), _TYRE)
    hood = shape.belt - 0.06
    body = block(Rect(half, -reach, reach, shape.floor), Rect(half * 0.97, -reach + 0.06, reach - 0.1, hood))
    made.add_block(body, color)
    _add_wheels(made, shape)
    cabin = block(Rect(half * 0.95, *shape.cabin, hood), Rect(half * 0.76, *shape.roof_line, shape.roof))
    made.add_block(cabin, color)
    coarse = made.count()
    for name in ("rear", "front"):
        made.add(patch(cabin[name], 0.08, 0.12, 0.92, 0.88), _GLASS, 1.0 if name == "rear" else 1.25)
    for name in ("left", "right"):
        made.add(patch(cabin[name], 0.06, 0.14, 0.48, 0.88), _GLASS, 0.9)
        made.add(patch(cabin[name], 0.53, 0.14, 0.94, 0.88), _GLASS, 0.9)
    _add_ends(made, body["rear"], body["front"], lit=lit)
    return made.solid(coarse)


def _add_wheels(made: SolidMaker, shape: CarShape) -> None:
    for side in (-shape.half_width * 1.01, shape.half_width * 1.01):
        for z in (-shape.length * 0.30, shape.length * 0.31):
            made.add(wheel(side, z, 0.34), _TYRE)
            rim = wheel(side * 1.01, z, 0.2)
            made.add(rim + np.array((0.0, 0.14, 0.0)), (150, 150, 150))


def _add_ends(made: SolidMaker, rear: Floats, front: Floats, *, lit: bool) -> None:
    made.add(patch(rear, 0.0, 0.0, 1.0, 0.24), (46, 46, 48))
    made.add(patch(front, 0.0, 0.0, 1.0, 0.24), (40, 40, 42))
    made.add(patch(front, 0.28, 0.34, 0.72, 0.74), (34, 34, 36))
    made.add(patch(rear, 0.36, 0.36, 0.64, 0.6), (225, 228, 230))
    made.add(patch(front, 0.38, 0.1, 0.62, 0.28), (225, 228, 230))
    for left, right in ((0.02, 0.2), (0.8, 0.98)):
        made.add(patch(rear, left, 0.52, right, 0.9), _RED_LIT if lit else _RED_LAMP, emits=True)
        made.add(patch(front, left + 0.01, 0.5, right + 0.01, 0.86), _WHITE_LAMP, emits=True)
