"""Move the recording car: how far it has come and how fast it is at each frame of a drive."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sample.plan import RATE_HZ, DrivePlan

_STEPS = 10  # of the integration, between two frames
_SLOW_MPS = 0.7
_SHORTEST_RUN = 3  # frames
_CRUISE_MPS = {"city": 8.5, "suburb": 8.0, "country": 15.0}


@dataclass(frozen=True, slots=True)
class Run:
    """Frames that show nearly or exactly the same: the car stands or crawls, or the camera is frozen."""

    kind: str  # standstill, slow, frozen
    first: int
    exclusive_end: int


@dataclass(frozen=True, slots=True)
class Route:
    """The way of the recording car, one entry a frame; `shown` is the frame that the camera delivers."""

    travelled_m: tuple[float, ...]
    speed_mps: tuple[float, ...]
    shown: tuple[int, ...]  # an earlier frame again where the camera is frozen
    stop_s: tuple[float, float] | None  # exclusive end; when the car stands

    @property
    def length_m(self) -> float:
        """Return how far the car comes."""
        return self.travelled_m[-1]

    @property
    def duration_s(self) -> float:
        """Return the time from the first frame to the last."""
        return (len(self.travelled_m) - 1) / RATE_HZ

    def at(self, t_s: float) -> float:
        """Return how far the car has come at `t_s`."""
        times = np.arange(len(self.travelled_m)) / RATE_HZ
        return float(np.interp(t_s, times, self.travelled_m))

    def runs(self) -> tuple[Run, ...]:
        """Return the runs of three frames and more, the first one first."""
        kinds = [self._kind(frame) for frame in range(len(self.shown))]
        edges = [0, *(i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1]), len(kinds)]
        found = [Run(kinds[start], start, end) for start, end in pairwise(edges)]
        return tuple(run for run in found if run.kind and run.exclusive_end - run.first >= _SHORTEST_RUN)

    def _kind(self, frame: int) -> str:
        if self.shown.count(self.shown[frame]) > 1:
            return "frozen"
        speed = self.speed_mps[frame]
        return "standstill" if speed < 0.02 else "slow" if speed < _SLOW_MPS else ""


def make_route(plan: DrivePlan, rng: np.random.Generator) -> Route:
    """Return the way of the recording car in a drive."""
    base = _CRUISE_MPS[plan.place] * float(rng.uniform(0.85, 1.2))
    phase = float(rng.uniform(0, 2 * math.pi))
    duration = plan.frames / RATE_HZ
    stop = (duration * 0.25, duration * 0.8) if plan.motion == "halt" else None
    travelled, speeds, way = [], [], 0.0
    for frame in range(plan.frames):
        t = frame / RATE_HZ
        travelled.append(way)
        speeds.append(_speed(plan, base, phase, t, stop))
        for step in range(_STEPS):
            way += _speed(plan, base, phase, t + step / _STEPS / RATE_HZ, stop) / RATE_HZ / _STEPS
    return Route(tuple(travelled), tuple(speeds), _shown(plan), stop)


def _speed(plan: DrivePlan, base: float, phase: float, t: float, stop: tuple[float, float] | None) -> float:
    if plan.motion == "slow":
        return max(0.0, 0.05 + 0.5 * math.sin(t * 0.7 + phase))
    if stop:
        braking = min(max((stop[0] - t) / 1.5, 0.0), 1.0)
        leaving = min(max((t - stop[1]) / 1.5, 0.0), 1.0)
        return base * (braking if t < stop[1] else leaving)
    return base * (1 + 0.12 * math.sin(t * 0.7 + phase))


def _shown(plan: DrivePlan) -> tuple[int, ...]:
    if plan.motion != "frozen":
        return tuple(range(plan.frames))
    start, end = round(plan.frames * 0.4), round(plan.frames * 0.7)
    return tuple(start if start < frame < end else frame for frame in range(plan.frames))
