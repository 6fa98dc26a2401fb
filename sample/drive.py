"""Render a whole drive to encoded pictures with their truth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from driveflow.canonical import digest_bytes
from sample.camera import Pixels
from sample.motion import Route, Run, make_route
from sample.paint import TruthBox, paint
from sample.plan import RATE_HZ, DrivePlan
from sample.scene import HEIGHT_PX, WIDTH_PX, Scene, make_scene
from sample.sight import Moment
from sample.traffic import Actor, make_traffic
from sample.weather import Defect, Sensor, add_glow, add_rain, expose, make_sensor, mirror

_QUALITY = 88
_METRES_PER_DEGREE = 111_320.0


@dataclass(frozen=True, slots=True)
class Frame:
    """What is true about one picture of a drive."""

    frame_id: str
    number: int
    captured_ns: int
    lat: float
    lon: float
    speed_mps: float
    heading_deg: float
    defect: Defect
    boxes: tuple[TruthBox, ...]


@dataclass(frozen=True, slots=True)
class Drive:
    """A rendered drive; `pictures` are encoded, one a frame."""

    plan: DrivePlan
    frames: tuple[Frame, ...]
    pictures: tuple[bytes, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class _Shoot:
    """All that is fixed before the first frame of a drive is taken."""

    plan: DrivePlan
    route: Route
    scene: Scene
    actors: list[Actor]
    sensor: Sensor
    defects: dict[int, Defect]  # by frame number
    lat: float
    lon: float
    heading_deg: float


def render_drive(plan: DrivePlan) -> Drive:
    """Return the drive of a plan; the same plan gives the same bytes."""
    cv2.setNumThreads(1)
    seeds = np.random.SeedSequence([plan.seed, plan.index]).spawn(5)
    *others, exposure = (np.random.Generator(np.random.PCG64(seed)) for seed in seeds)
    shoot = _set_up(plan, others)
    pictures: dict[int, tuple[bytes, tuple[TruthBox, ...]]] = {}
    for shown in sorted(set(shoot.route.shown)):
        pictures[shown] = _take(shoot, shown, exposure)
    delivered = [pictures[shown] for shown in shoot.route.shown]
    frames = tuple(_frame(shoot, number, *picture) for number, picture in enumerate(delivered))
    return Drive(plan, frames, tuple(data for data, _ in delivered), shoot.route.runs())


def _set_up(plan: DrivePlan, generators: Sequence[np.random.Generator]) -> _Shoot:
    way, world, traffic, lens = generators
    route = make_route(plan, way)
    scene = make_scene(plan, route, world)
    return _Shoot(
        plan=plan,
        route=route,
        scene=scene,
        actors=make_traffic(plan, route, traffic),
        sensor=make_sensor(scene.light, (WIDTH_PX, HEIGHT_PX), lens, wet=plan.weather == "rain"),
        defects=_defects(plan, lens),
        lat=48.1 + float(way.uniform(-0.1, 0.1)),
        lon=11.5 + float(way.uniform(-0.1, 0.1)),
        heading_deg=float(way.uniform(0, 360)),
    )


def _defects(plan: DrivePlan, rng: np.random.Generator) -> dict[int, Defect]:
    """Return which frames fail: none in the hold-out, few elsewhere, most in the batch that is not labeled."""
    if plan.holdout or plan.frames < 8:
        return {}
    kinds: tuple[Defect, ...] = ("blurred", "black", "over_exposed")
    count = 2 if plan.batch == "drives_c" else int(rng.random() < 0.4)
    places = rng.choice(np.arange(1, plan.frames), size=count, replace=False)
    return {int(place): kinds[int(rng.integers(len(kinds)))] for place in places}


def _take(shoot: _Shoot, number: int, rng: np.random.Generator) -> tuple[bytes, tuple[TruthBox, ...]]:
    """Return the encoded picture of a frame and its boxes."""
    speed = shoot.route.speed_mps[number]
    moment = Moment(
        t_s=number / RATE_HZ,
        travelled_m=shoot.route.travelled_m[number],
        braking=speed < 0.85 * shoot.route.speed_mps[max(number - 1, 0)] or speed < 0.5,
        shake_px=int(rng.integers(-2, 3)) if speed > 1.0 else 0,
    )
    canvas, boxes = paint(shoot.scene, shoot.actors, moment)
    small = cv2.resize(canvas.pixels, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_AREA)
    image: Pixels = np.asarray(cv2.cvtColor(small, cv2.COLOR_BGRA2BGR), dtype=np.uint8)
    if shoot.sensor.wet:
        mirror(image, [(int(box.x1), int(box.y1), round(box.x2), round(box.y2)) for box in boxes])
    add_glow(image, canvas.pixels[..., 3], canvas.glows, shoot.sensor)
    defect = shoot.defects.get(number, "")
    image = expose(add_rain(image, shoot.sensor, rng), shoot.sensor, speed, defect, rng)
    return _encode(image), () if defect in ("black", "over_exposed") else tuple(boxes)


def _encode(image: Pixels) -> bytes:
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return data.tobytes()


def _frame(shoot: _Shoot, number: int, data: bytes, boxes: tuple[TruthBox, ...]) -> Frame:
    way, heading = shoot.route.travelled_m[number], math.radians(shoot.heading_deg)
    return Frame(
        frame_id=digest_bytes(data),
        number=number,
        captured_ns=shoot.plan.start_ns + number * (1_000_000_000 // RATE_HZ),
        lat=round(shoot.lat + way * math.cos(heading) / _METRES_PER_DEGREE, 7),
        lon=round(shoot.lon + way * math.sin(heading) / _METRES_PER_DEGREE / math.cos(math.radians(shoot.lat)), 7),
        speed_mps=round(shoot.route.speed_mps[number], 3),
        heading_deg=round(shoot.heading_deg, 2),
        defect=shoot.defects.get(shoot.route.shown[number], ""),
        boxes=boxes,
    )
