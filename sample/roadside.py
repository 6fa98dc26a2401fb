"""Place and paint what stands at the roadside: buildings, trees, lamps, signs, hedges."""

from dataclasses import dataclass

import numpy as np

from sample.camera import Color
from sample.canvas import Pen
from sample.light import Light
from sample.plan import DrivePlan
from sample.solids import Rect, Solid, SolidMaker, block, box, patches

_WALLS: tuple[Color, ...] = (
    (150, 170, 190), (128, 142, 168), (110, 120, 132), (170, 186, 200), (96, 116, 160), (140, 140, 140),
    (176, 190, 176),
)  # fmt: skip
_LEAVES: tuple[Color, ...] = ((46, 104, 62), (40, 88, 48), (56, 120, 84), (44, 96, 96))


@dataclass(frozen=True, slots=True)
class Fixture:
    """One thing at the roadside: `s_m` along the road, `d_m` right of the lane's middle."""

    kind: str  # building, tree, fir, lamp, sign, post
    s_m: float
    d_m: float
    size_m: float
    color: Color
    solid: Solid | None = None
    blobs: tuple[tuple[float, float, float], ...] = ()  # x, y, radius as shares of the size

    @property
    def reach_m(self) -> float:
        """Return the radius that holds it on the ground."""
        return self.solid.reach_m if self.solid else self.size_m * 0.6


def paint_fixture(pen: Pen, fixture: Fixture) -> None:
    """Paint `fixture` where the pen stands."""
    z_m = pen.pose.z_m
    if fixture.solid:
        pen.solid(fixture.solid, fixture.solid.coarse if z_m > 65 else None)
    elif z_m > 0.9:
        {"tree": _tree, "fir": _fir, "lamp": _lamp, "sign": _sign, "post": _post}[fixture.kind](pen, fixture)


def place_fixtures(
    plan: DrivePlan, light: Light, route_m: float, gap: tuple[float, float] | None, rng: np.random.Generator
) -> list[Fixture]:
    """Return what stands along `route_m`; nothing within `gap`, where another road crosses."""
    made: list[Fixture] = []
    end = route_m + 130.0
    for side in (-1, 1):
        if plan.place == "country":
            made += _trees(side, end, 11.0, (8.0, 20.0), rng) + _posts(side, end)
        elif plan.place == "suburb":
            made += _houses(side, end, rng, lit=light.glow > 0) + _trees(side, end, 10.0, (7.4, 9.0), rng)
        else:
            made += _buildings(side, end, rng, lit=light.glow > 0) + _trees(side, end, 17.0, (6.6, 7.0), rng)
    if plan.place != "country":
        made += _lamps(end, rng)
    made += _signs(end, rng)
    start, end = gap or (0.0, 0.0)
    return [one for one in made if not gap or one.s_m + one.reach_m < start or one.s_m - one.reach_m > end]


def _side_d(side: int, distance_m: float) -> float:
    return distance_m if side > 0 else -distance_m - 1.2  # the oncoming lane makes the left side wider


def _buildings(side: int, end: float, rng: np.random.Generator, *, lit: bool) -> list[Fixture]:
    made, at = [], -14.0
    while at < end:
        length, height, depth = float(rng.uniform(9, 20)), float(rng.uniform(6, 17)), 5.0
        wall = _WALLS[int(rng.integers(len(_WALLS)))]
        front = float(rng.uniform(8.0, 9.4))
        solid = _house_solid(wall, (depth, length / 2, height), rng, lit=lit)
        made.append(Fixture("building", at + length / 2, _side_d(side, front + depth), height, wall, solid))
        at += length + (float(rng.uniform(4, 10)) if rng.random() < 0.3 else 0.3)
    return made


def _houses(side: int, end: float, rng: np.random.Generator, *, lit: bool) -> list[Fixture]:
    made, at = [], -8.0 + 6 * float(rng.random())
    while at < end:
        length, height = float(rng.uniform(8, 12)), float(rng.uniform(3.2, 5.6))
        wall = _WALLS[int(rng.integers(len(_WALLS)))]
        solid = _house_solid(wall, (4.0, length / 2, height), rng, lit=lit, roof=True)
        made.append(
            Fixture("building", at + length / 2, _side_d(side, float(rng.uniform(15, 19))), height, wall, solid)
        )
        at += length + float(rng.uniform(4, 12))
    return made


def _house_solid(
    wall: Color, size: tuple[float, float, float], rng: np.random.Generator, *, lit: bool, roof: bool = False
) -> Solid:
    half, reach, height = size
    made, faces = SolidMaker(), box(half, -reach, reach, 0.0, height)
    made.add_block(faces, wall)
    if roof:
        tiles: Color = ((70, 82, 150), (66, 70, 84), (58, 74, 110))[int(rng.integers(3))]
        made.add_block(
            block(Rect(half + 0.4, -reach - 0.3, reach + 0.3, height), Rect(0.1, -reach, reach, height + 2.4)), tiles
        )
    coarse = made.count()
    floors = max(1, round(height / 3.1))
    for name, columns in (
        ("left", round(reach * 2 / 2.8)),
        ("right", round(reach * 2 / 2.8)),
        ("rear", round(half * 2 / 2.6)),
    ):
        _add_windows(made, faces[name], (floors, max(columns, 1)), rng, lit=lit)
    return made.solid(coarse)


def _add_windows(
    made: SolidMaker, face: np.ndarray, grid: tuple[int, int], rng: np.random.Generator, *, lit: bool
) -> None:
    floors, columns = grid
    across, up = (part.ravel() for part in np.meshgrid(np.arange(columns), np.arange(floors)))
    u, v = (across + 0.22) / columns, (up + 0.3) / floors
    panes = patches(face, np.stack((u, v, u + 0.56 / columns, v + 0.48 / floors), axis=-1))
    levels, shines = rng.uniform(0.6, 1.0, size=len(panes)), rng.random(len(panes)) < (0.35 if lit else 0.0)
    for pane, level, shine in zip(panes, levels.tolist(), shines.tolist(), strict=True):
        made.add(pane, (96, 190, 235) if shine else (112, 98, 84), level, emits=shine)


def _trees(
    side: int, end: float, every_m: float, away_m: tuple[float, float], rng: np.random.Generator
) -> list[Fixture]:
    made, at = [], -6.0 + every_m * float(rng.random())
    while at < end:
        size = float(rng.uniform(4.0, 8.0))
        color = _LEAVES[int(rng.integers(len(_LEAVES)))]
        blobs = tuple(
            (float(rng.uniform(-0.24, 0.24)), float(rng.uniform(0.55, 0.9)), float(rng.uniform(0.13, 0.22)))
            for _ in range(6)
        )
        kind = "fir" if rng.random() < 0.25 else "tree"
        made.append(Fixture(kind, at, _side_d(side, float(rng.uniform(*away_m))), size, color, None, blobs))
        at += every_m * float(rng.uniform(0.5, 1.5))
    return made


def _posts(side: int, end: float) -> list[Fixture]:
    d = 2.5 if side > 0 else -5.9
    return [Fixture("post", float(at), d, 1.0, (225, 225, 225)) for at in range(4, round(end), 25)]


def _lamps(end: float, rng: np.random.Generator) -> list[Fixture]:
    start = 4 + 20 * float(rng.random())
    count = int((end - start) / 24)
    return [Fixture("lamp", start + 24.0 * i, 4.5 if i % 2 else -5.8, 6.6, (120, 122, 122)) for i in range(count)]


def _signs(end: float, rng: np.random.Generator) -> list[Fixture]:
    made, at = [], 10 + 30 * float(rng.random())
    while at < end:
        color: Color = ((50, 40, 200), (190, 110, 30), (40, 190, 230))[int(rng.integers(3))]
        made.append(Fixture("sign", at, 4.6, float(rng.uniform(2.1, 2.6)), color))
        at += 30 * float(rng.uniform(0.7, 1.6))
    return made


def _tree(pen: Pen, fixture: Fixture) -> None:
    size = fixture.size_m
    pen.limb([(0, 0, 0), (0, size * 0.6, 0)], 0.03 * size, (56, 76, 96))
    for x, y, radius in fixture.blobs:
        pen.ball((x * size, y * size, 0), radius * size, fixture.color, 0.7 + 0.6 * (y - 0.5) + x * 0.5)


def _fir(pen: Pen, fixture: Fixture) -> None:
    size = fixture.size_m
    pen.limb([(0, 0, 0), (0, size * 0.3, 0)], 0.025 * size, (50, 66, 86))
    for base, top, half in ((0.15, 0.6, 0.26), (0.4, 0.82, 0.2), (0.62, 1.05, 0.13)):
        pen.face(
            [(-half * size, base * size, 0), (half * size, base * size, 0), (0, top * size, 0)],
            (44, 82, 44),
            0.7 + base * 0.5,
        )


def _lamp(pen: Pen, fixture: Fixture) -> None:
    reach = -1.5 if fixture.d_m > 0 else 1.5
    top = fixture.size_m
    pen.limb([(0, 0, 0), (0, top, 0), (reach, top + 0.3, 0)], 0.07, fixture.color)
    pen.limb(
        [(reach * 0.7, top + 0.26, 0), (reach * 1.2, top + 0.28, 0)],
        0.12,
        (150, 200, 215) if pen.tint.lit else fixture.color,
        1.1,
    )
    if pen.tint.lit:
        pen.glow((reach, top + 0.2, 0), 1.5, (150, 215, 255))


def _sign(pen: Pen, fixture: Fixture) -> None:
    top = fixture.size_m
    pen.limb([(0, 0, 0), (0, top, 0)], 0.04, (130, 130, 130))
    pen.ball((0, top, 0), 0.34, fixture.color)
    pen.ball((0, top, 0), 0.24, (230, 230, 230) if fixture.color[2] > 150 else fixture.color)


def _post(pen: Pen, fixture: Fixture) -> None:
    pen.limb([(0, 0, 0), (0, fixture.size_m, 0)], 0.06, fixture.color)
    pen.limb([(0, 0.72, 0), (0, 0.82, 0)], 0.065, (40, 40, 44))
