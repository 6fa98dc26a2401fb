"""Send cars, pedestrians, cyclists and now and then an electric bike along a route."""

import math
from dataclasses import dataclass

import numpy as np

from sample.bikes import EBIKE_PAINTS, FRAMES, paint_cyclist, paint_ebike
from sample.camera import Color
from sample.canvas import Pen
from sample.cars import PAINTS, SHAPES, paint_car
from sample.motion import Route
from sample.people import HAIR, SKINS, TOPS, TROUSERS, Look, paint_pedestrian
from sample.plan import DrivePlan

SIGHT_M = {"car": 60.0, "pedestrian": 24.0, "cyclist": 26.0, "ebike": 28.0}
REACH_M = {"car": 2.6, "pedestrian": 0.5, "cyclist": 1.0, "ebike": 1.1}
_AHEAD, _TOWARDS, _RIGHTWARDS, _LEFTWARDS = 0.0, math.pi, math.pi / 2, -math.pi / 2


@dataclass(frozen=True, slots=True)
class Actor:
    """A road user; `s_m` along the road and `d_m` right of the lane's middle, at time 0."""

    class_name: str
    kind: str  # of a car
    color: Color
    look: Look
    s_m: float
    d_m: float
    along_mps: float
    across_mps: float
    yaw_rad: float
    follows: bool = False  # the recording car at the distance `s_m`
    phase: float = 0.0

    def ahead_m(self, t_s: float, travelled_m: float) -> float:
        """Return how far ahead of the recording car it is."""
        if self.follows:
            return self.s_m + 1.3 * math.sin(0.5 * t_s + self.phase)
        return self.s_m + self.along_mps * t_s - travelled_m

    def aside_m(self, t_s: float) -> float:
        """Return how far right of the lane's middle it is."""
        return self.d_m + self.across_mps * t_s

    def paint(self, pen: Pen, t_s: float, *, braking: bool) -> None:
        """Paint it where the pen stands."""
        moves = abs(self.along_mps) + abs(self.across_mps)
        if self.class_name == "car":
            paint_car(pen, self.kind, self.color, braking=braking and self.follows)
        elif self.class_name == "pedestrian":
            paint_pedestrian(pen, self.look, self.phase + 4.4 * moves * t_s)
        elif self.class_name == "cyclist":
            paint_cyclist(pen, self.look, self.color, self.phase + 1.6 * moves * t_s)
        else:
            paint_ebike(pen, self.look, self.color)


@dataclass(frozen=True, slots=True)
class _Lane:
    """A row of road users that share a speed; `every_m` is the mean distance between two."""

    class_name: str
    every_m: float
    d_m: float
    along_mps: float
    yaw_rad: float
    wander_m: float = 0.0  # to either side


def make_traffic(plan: DrivePlan, route: Route, rng: np.random.Generator) -> list[Actor]:
    """Return every road user of a drive."""
    actors: list[Actor] = []
    for lane in _lanes(plan, rng):
        actors += _fill(lane, route, rng)
    actors += _queue(plan, rng)
    if plan.motion in ("cruise", "frozen") and plan.place != "country":
        actors += _jaywalkers(plan, route, rng)
    if route.stop_s:
        actors += _crossing(route, rng)
    if plan.ebike:
        actors.append(_ebike(plan, route, rng))
    return actors


def _lanes(plan: DrivePlan, rng: np.random.Generator) -> list[_Lane]:
    quiet = (1.0 if plan.time_of_day == "day" else 1.25) * (1.25 if plan.weather == "rain" else 1.0)
    oncoming = {"slow": -0.5, "halt": 0.0}.get(plan.motion, -9.0)
    if plan.place == "country":
        return [
            _Lane("car", 30.0, -3.45, -14.0, _TOWARDS, 0.15),
            _Lane("cyclist", 34.0 * quiet, 1.55, 4.5, _AHEAD, 0.2),
            _Lane("cyclist", 50.0 * quiet, -4.9, -5.0, _TOWARDS, 0.2),
            _Lane("pedestrian", 22.0 * quiet, 2.7, 1.3, _AHEAD, 0.4),
            _Lane("pedestrian", 26.0 * quiet, -6.2, -1.3, _TOWARDS, 0.4),
        ]
    busy = 1.0 if plan.place == "city" else 1.4
    return [
        _Lane("car", 13.0 if plan.motion == "slow" else 26.0 * busy, -3.45, oncoming, _TOWARDS, 0.15),
        _Lane("car", 15.0 * busy, 2.95, 0.0, _AHEAD, 0.12),
        _Lane("cyclist", 22.0 * quiet, 1.35, 4.2, _AHEAD, 0.15),
        _Lane("cyclist", 34.0 * quiet, -4.85, -4.6, _TOWARDS, 0.15),
        _Lane("pedestrian", 9.0 * quiet * busy, 5.2, 1.3, _AHEAD, 0.9),
        _Lane("pedestrian", 11.0 * quiet * busy, 4.9, -1.2, _TOWARDS, 0.6),
        _Lane("pedestrian", 10.0 * quiet * busy, -6.4, 1.2, _AHEAD, 0.7),
        _Lane("pedestrian", 20.0 * quiet * busy, 4.7, 0.0, float(rng.uniform(-2.5, -0.6)), 0.4),
    ]


def _fill(lane: _Lane, route: Route, rng: np.random.Generator) -> list[Actor]:
    """Return the road users of a lane who are in sight at some time of the route."""
    end = route.duration_s
    starts = [-lane.along_mps * t + route.at(t) for t in np.linspace(0.0, end, 9).tolist()]
    low, high = min(starts) + 3.0, max(starts) + SIGHT_M[lane.class_name]
    made, at = [], low + lane.every_m * float(rng.random())
    closest = 6.5 if lane.class_name == "car" else 1.5
    while at < high:
        aside = lane.d_m + lane.wander_m * float(rng.uniform(-1, 1))
        made.append(_actor(rng, lane.class_name, (at, aside), (lane.along_mps, 0.0), lane.yaw_rad))
        at += max(closest, lane.every_m * float(rng.uniform(0.25, 1.75)))
    return made


def _queue(plan: DrivePlan, rng: np.random.Generator) -> list[Actor]:
    """Return the cars ahead in the own lane."""
    if plan.motion in ("slow", "halt"):
        gaps = [(11.5 if plan.motion == "halt" else 9.0) + 8.5 * place for place in range(3)]
    else:
        gaps = [float(rng.uniform(13, 30))] if rng.random() < 0.65 else []
    return [_actor(rng, "car", (gap, float(rng.uniform(-0.2, 0.2))), (0.0, 0.0), _AHEAD, follows=True) for gap in gaps]


def _jaywalkers(plan: DrivePlan, route: Route, rng: np.random.Generator) -> list[Actor]:
    """Return people who cross the road wherever they like."""
    made, at = [], 8.0 + 8 * float(rng.random())
    while at < route.length_m + SIGHT_M["pedestrian"]:
        pace = float(rng.uniform(1.0, 1.5)) * (1.0 if rng.random() < 0.5 else -1.0)
        when = route.duration_s * float(rng.uniform(0.2, 0.8))
        place = (at, float(rng.uniform(-4.5, 3.5)) - pace * when)
        made.append(_actor(rng, "pedestrian", place, (0.0, pace), _RIGHTWARDS if pace > 0 else _LEFTWARDS))
        at += (12.0 if plan.place == "city" else 18.0) * float(rng.uniform(0.6, 1.4))
    return made


def _crossing(route: Route, rng: np.random.Generator) -> list[Actor]:
    """Return who crosses the road while the recording car stands."""
    start, end = route.stop_s or (0.0, 0.0)
    stop_m, made = route.at(start), []
    for _ in range(3):
        side = 1.0 if rng.random() < 0.5 else -1.0
        when, pace = float(rng.uniform(start - 3, end - 1)), float(rng.uniform(1.1, 1.6))
        place = (stop_m + float(rng.uniform(5.6, 6.8)), -side * (5.5 + pace * when))
        made.append(_actor(rng, "pedestrian", place, (0.0, side * pace), _RIGHTWARDS if side > 0 else _LEFTWARDS))
    for class_name, pace, ahead in (("car", 7.0, 33.0), ("car", 7.0, 33.0), ("cyclist", 4.0, 7.6)):
        side = 1.0 if rng.random() < 0.5 else -1.0
        when = float(rng.uniform(start, end))
        place = (stop_m + ahead + 3.0 * side * (class_name == "car"), -side * pace * when)
        made.append(_actor(rng, class_name, place, (0.0, side * pace), _RIGHTWARDS if side > 0 else _LEFTWARDS))
    return made


def _ebike(plan: DrivePlan, route: Route, rng: np.random.Generator) -> Actor:
    """Return an electric bike that is near in the middle of the drive, and only for a short time."""
    middle = route.duration_s * float(rng.uniform(0.4, 0.6))
    there = route.at(middle) + 12.0
    if plan.motion == "halt":
        return _actor(rng, "ebike", (there - 4.4, 6.5 * middle), (0.0, -6.5), _LEFTWARDS)
    way = int(rng.integers(3))
    if way == 0:
        pace = -8.0
        return _actor(rng, "ebike", (there - pace * middle, -4.3), (pace, 0.0), _TOWARDS)
    if way == 1:
        pace = 8.0 + 2 * route.length_m / max(route.duration_s, 1.0) * 0.5
        return _actor(rng, "ebike", (there - pace * middle, 1.25), (pace, 0.0), _AHEAD)
    pace = 6.0
    return _actor(rng, "ebike", (there + 2.0, -pace * middle), (0.0, pace), _RIGHTWARDS)


def _actor(
    rng: np.random.Generator,
    class_name: str,
    place: tuple[float, float],
    speed_mps: tuple[float, float],
    yaw_rad: float,
    *,
    follows: bool = False,
) -> Actor:
    colors = {"car": PAINTS, "ebike": EBIKE_PAINTS}.get(class_name, FRAMES)
    kinds = tuple(SHAPES)
    return Actor(
        class_name=class_name,
        kind=kinds[int(rng.integers(len(kinds)))],
        color=_pick(colors, rng),
        look=_look(rng),
        s_m=place[0],
        d_m=place[1],
        along_mps=speed_mps[0],
        across_mps=speed_mps[1],
        yaw_rad=yaw_rad,
        follows=follows,
        phase=float(rng.uniform(0, 2 * math.pi)),
    )


def _look(rng: np.random.Generator) -> Look:
    return Look(
        height_m=float(rng.uniform(1.55, 1.9)),
        skin=_pick(SKINS, rng),
        top=_pick(TOPS, rng),
        trousers=_pick(TROUSERS, rng),
        hair=_pick(HAIR, rng),
        bag=rng.random() < 0.4,
    )


def _pick(colors: tuple[Color, ...], rng: np.random.Generator) -> Color:
    return colors[int(rng.integers(len(colors)))]
