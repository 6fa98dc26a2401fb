"""Paint one moment of a drive, the farthest thing first, and find out what can be seen of every road user."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import cv2
import numpy as np

from sample.camera import Camera, Pixels
from sample.canvas import Canvas, Pen, Pose
from sample.light import LampPlaces, Tint, tint_at
from sample.roadside import Fixture, paint_fixture
from sample.scene import OVERSAMPLING, Scene
from sample.traffic import REACH_M, SIGHT_M, Actor

MIN_SIDE_PX = 6.0  # of a box; what is smaller has none
_MIN_SHARE = 0.25  # of an object's pixels; what is more hidden has no box
_FIXTURE_SIGHT_M = 120.0
_MAX_OBJECTS = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """When and where a frame is taken."""

    t_s: float
    travelled_m: float
    braking: bool
    shake_px: int


@dataclass(frozen=True, slots=True)
class TruthBox:
    """What can be seen of a road user, in pixels of the picture."""

    class_name: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class _Painted:
    """An object on the canvas: the window it lies in, and its pixels before anything hid it."""

    class_name: str
    owner: int
    rows: slice
    columns: slice
    pixels: int


def paint(scene: Scene, actors: list[Actor], moment: Moment) -> tuple[Canvas, list[TruthBox]]:
    """Return the painted canvas of a moment and the boxes of its objects, the farthest first."""
    lamps = _burning_lamps(scene, moment)
    camera = replace(scene.camera, horizon_px=scene.camera.horizon_px + moment.shake_px)
    canvas = Canvas(_backdrop(scene, moment, lamps), camera)
    _paint_crossing(scene, canvas, moment, lamps)
    near: list[tuple[float, Fixture | Actor]] = []
    for z, fixture in _fixtures_in_sight(scene, camera, moment):
        if fixture.kind == "building":
            _paint_fixture(scene, canvas, fixture, z, lamps)
        else:
            near.append((z, fixture))
    near += _actors_in_sight(scene, camera, actors, moment)
    near.sort(key=lambda pair: -pair[0])
    painted: list[_Painted] = []
    for z, thing in near:
        if isinstance(thing, Fixture):
            _paint_fixture(scene, canvas, thing, z, lamps)
        elif len(painted) < _MAX_OBJECTS:
            painted.append(_paint_actor(scene, canvas, thing, z, (moment, lamps, len(painted) + 1)))
    boxes = [_visible_box(canvas.pixels[..., 3], one) for one in painted]
    return canvas, [box for box in boxes if box]


def _burning_lamps(scene: Scene, moment: Moment) -> LampPlaces:
    if scene.light.glow < 0.5:
        return ()
    places = [(one.d_m - scene.aside_m, one.s_m - moment.travelled_m) for one in scene.fixtures if one.kind == "lamp"]
    return [(x, z) for x, z in places if -8 < z < 80]


def _backdrop(scene: Scene, moment: Moment, lamps: LampPlaces) -> Pixels:
    horizon = round(scene.camera.horizon_px) + moment.shake_px
    ground = scene.ground.paint(moment.travelled_m, lamps)[: scene.camera.height_px - horizon]
    whole = np.concatenate((scene.sky[:horizon], ground))
    return np.asarray(cv2.cvtColor(whole, cv2.COLOR_BGR2BGRA), dtype=np.uint8)  # owner 255: nobody


def _paint_crossing(scene: Scene, canvas: Canvas, moment: Moment, lamps: LampPlaces) -> None:
    if not scene.crossing_m:
        return
    start, end = (way - moment.travelled_m for way in scene.crossing_m)
    middle = (start + end) / 2
    pen = Pen(canvas, tint_at(scene.light, 0.0, middle, lamps), Pose(0.0, 0.0))
    pen.face([(-60, 0, start), (60, 0, start), (60, 0, end), (-60, 0, end)], (92, 90, 88))
    near, far = start - 18.6, start - 16.4
    for stripe in range(-5, 3):
        left, right = stripe * 1.15, stripe * 1.15 + 0.55
        pen.face([(left, 0, near), (right, 0, near), (right, 0, far), (left, 0, far)], (215, 218, 220))


def _fixtures_in_sight(scene: Scene, camera: Camera, moment: Moment) -> Iterator[tuple[float, Fixture]]:
    places = sorted(((one.s_m - moment.travelled_m, index) for index, one in enumerate(scene.fixtures)), reverse=True)
    for z, index in places:
        one = scene.fixtures[index]
        if z < _FIXTURE_SIGHT_M and camera.sees(one.d_m - scene.aside_m, z, one.reach_m):
            yield z, one


def _actors_in_sight(scene: Scene, camera: Camera, actors: list[Actor], moment: Moment) -> list[tuple[float, Actor]]:
    seen = []
    for actor in actors:
        z, x = actor.ahead_m(moment.t_s, moment.travelled_m), actor.aside_m(moment.t_s) - scene.aside_m
        reach = REACH_M[actor.class_name]
        if 1.2 - reach < z < SIGHT_M[actor.class_name] and camera.sees(x, z, reach):
            seen.append((z, actor))
    return seen


def _paint_fixture(scene: Scene, canvas: Canvas, fixture: Fixture, z: float, lamps: LampPlaces) -> None:
    x = fixture.d_m - scene.aside_m
    nearest = max(z - fixture.reach_m, min(z, 1.0)) if fixture.kind == "building" else z
    pen = Pen(canvas, _tint(scene, x, (nearest + z) / 2, lamps), Pose(x, z))
    paint_fixture(pen, fixture, z)


def _tint(scene: Scene, x: float, z: float, lamps: LampPlaces) -> Tint:
    bend = scene.camera.bend_per_m * z * z / 2
    return tint_at(scene.light, x + bend, z, [(lamp_x + bend, lamp_z) for lamp_x, lamp_z in lamps])


def _paint_actor(
    scene: Scene, canvas: Canvas, actor: Actor, z: float, rest: tuple[Moment, LampPlaces, int]
) -> _Painted:
    moment, lamps, owner = rest
    x = actor.aside_m(moment.t_s) - scene.aside_m
    yaw = actor.yaw_rad + scene.camera.bend_per_m * z
    actor.paint(Pen(canvas, _tint(scene, x, z, lamps), Pose(x, z, yaw), owner), moment.t_s, braking=moment.braking)
    rows, columns = _window(canvas, x, z, REACH_M[actor.class_name])
    pixels = int(np.count_nonzero(canvas.pixels[rows, columns, 3] == owner))
    return _Painted(actor.class_name, owner, rows, columns, pixels)


def _window(canvas: Canvas, x: float, z: float, reach: float) -> tuple[slice, slice]:
    """Return a part of the canvas that surely holds an object: all of it where the object is very near."""
    height, width = canvas.pixels.shape[:2]
    nearest = z - reach
    if nearest < 2.0:
        return slice(0, height), slice(0, width)
    left, right, far = x - reach - 0.3, x + reach + 0.3, z + reach
    corners = np.array([(side, y, depth) for side in (left, right) for y in (-0.2, 2.5) for depth in (nearest, far)])
    flat = canvas.camera.project(corners)
    low, high = np.floor(flat.min(axis=0)).astype(int), np.ceil(flat.max(axis=0)).astype(int)
    return slice(max(low[1], 0), max(high[1], 0) + 1), slice(max(low[0], 0), max(high[0], 0) + 1)


def _visible_box(owners: Pixels, one: _Painted) -> TruthBox | None:
    mask = owners[one.rows, one.columns] == one.owner
    left_over = int(np.count_nonzero(mask))
    if not one.pixels or left_over < _MIN_SHARE * one.pixels:
        return None
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, left = one.rows.start, one.columns.start
    box = TruthBox(
        one.class_name,
        float(left + columns[0]) / OVERSAMPLING,
        float(top + rows[0]) / OVERSAMPLING,
        float(left + columns[-1] + 1) / OVERSAMPLING,
        float(top + rows[-1] + 1) / OVERSAMPLING,
    )
    return box if min(box.x2 - box.x1, box.y2 - box.y1) >= MIN_SIDE_PX else None
