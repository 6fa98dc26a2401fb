"""Paint one moment of a drive, the farthest thing first, and find out what can be seen of every road user."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from sample.camera import Pixels
from sample.canvas import Canvas, Pen, Pose
from sample.light import tints
from sample.roadside import Fixture, paint_fixture
from sample.scene import OVERSAMPLING, Scene
from sample.sight import Moment, Standing, burning_lamps, in_sight
from sample.traffic import REACH_M, Actor

MIN_SIDE_PX = 6.0  # of a box; what is smaller has none
_MIN_SHARE = 0.4  # of an object's pixels; what is more hidden has no box
_MAX_OBJECTS = 200  # owners are bytes


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
    camera = replace(scene.camera, horizon_px=scene.camera.horizon_px + moment.shake_px)
    canvas = Canvas(_backdrop(scene, moment), camera)
    _paint_crossing(scene, canvas, moment)
    painted: list[_Painted] = []
    for standing in in_sight(scene, camera, actors, moment):
        if isinstance(standing.thing, Fixture):
            paint_fixture(Pen(canvas, standing.tint, standing.pose), standing.thing)
        elif len(painted) < _MAX_OBJECTS:
            painted.append(_paint_actor(canvas, standing, standing.thing, moment, len(painted) + 1))
    boxes = [_visible_box(canvas.pixels[..., 3], one) for one in painted]
    return canvas, [box for box in boxes if box]


def _backdrop(scene: Scene, moment: Moment) -> Pixels:
    horizon = round(scene.camera.horizon_px) + moment.shake_px
    ground = scene.ground.paint(moment.travelled_m, burning_lamps(scene, moment))
    whole = np.concatenate((scene.sky[:horizon], ground[: scene.camera.height_px - horizon]))
    return np.asarray(cv2.cvtColor(whole, cv2.COLOR_BGR2BGRA), dtype=np.uint8)  # owner 255: nobody


def _paint_crossing(scene: Scene, canvas: Canvas, moment: Moment) -> None:
    """Paint the road that crosses, and the zebra before it."""
    if not scene.crossing_m:
        return
    start, end = (way - moment.travelled_m for way in scene.crossing_m)
    place = np.zeros(1), np.array([(start + end) / 2])
    (tint,) = tints(scene.light, place, 0.0, burning_lamps(scene, moment))
    pen = Pen(canvas, tint, Pose(0.0, 0.0))
    pen.face([(-60, 0, start), (60, 0, start), (60, 0, end), (-60, 0, end)], (92, 90, 88))
    near, far = start - 18.6, start - 16.4
    for stripe in range(-5, 3):
        left, right = stripe * 1.15, stripe * 1.15 + 0.55
        pen.face([(left, 0, near), (right, 0, near), (right, 0, far), (left, 0, far)], (215, 218, 220))


def _paint_actor(canvas: Canvas, standing: Standing, actor: Actor, moment: Moment, owner: int) -> _Painted:
    actor.paint(Pen(canvas, standing.tint, standing.pose, owner), moment.t_s, braking=moment.braking)
    rows, columns = _window(canvas, standing.pose, REACH_M[actor.class_name])
    pixels = int(np.count_nonzero(canvas.pixels[rows, columns, 3] == owner))
    return _Painted(actor.class_name, owner, rows, columns, pixels)


def _window(canvas: Canvas, pose: Pose, reach: float) -> tuple[slice, slice]:
    """Return a part of the canvas that surely holds an object: all of it where the object is very near."""
    height, width = canvas.pixels.shape[:2]
    nearest, farthest = pose.z_m - reach, pose.z_m + reach
    if nearest < 2.0:
        return slice(0, height), slice(0, width)
    left, right = pose.x_m - reach - 0.3, pose.x_m + reach + 0.3
    corners = np.array([(x, y, z) for x in (left, right) for y in (-0.2, 2.5) for z in (nearest, farthest)])
    flat = canvas.camera.project(corners)
    low, high = np.floor(flat.min(axis=0)).astype(int), np.ceil(flat.max(axis=0)).astype(int)
    return slice(max(low[1], 0), max(high[1], 0) + 1), slice(max(low[0], 0), max(high[0], 0) + 1)


def _visible_box(owners: Pixels, one: _Painted) -> TruthBox | None:
    mask = owners[one.rows, one.columns] == one.owner
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows) or int(np.count_nonzero(mask)) < _MIN_SHARE * one.pixels:
        return None
    top, left = one.rows.start, one.columns.start
    box = TruthBox(
        one.class_name,
        float(left + columns[0]) / OVERSAMPLING,
        float(top + rows[0]) / OVERSAMPLING,
        float(left + columns[-1] + 1) / OVERSAMPLING,
        float(top + rows[-1] + 1) / OVERSAMPLING,
    )
    return box if min(box.x2 - box.x1, box.y2 - box.y1) >= MIN_SIDE_PX else None
