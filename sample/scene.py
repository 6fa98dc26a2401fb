"""One drive's world: its camera, light, road, sky and roadside."""

from dataclasses import dataclass

import numpy as np

from sample.camera import Camera, Pixels
from sample.ground import Ground, make_ground
from sample.light import Light, light_of
from sample.motion import Route
from sample.plan import DrivePlan
from sample.roadside import Fixture, place_fixtures
from sample.sky import make_sky

WIDTH_PX, HEIGHT_PX = 384, 224
OVERSAMPLING = 2  # the canvas is so many times finer than the picture
_CROSSING_M = (24.0, 42.0)  # where another road crosses, from the stop on


@dataclass(frozen=True, slots=True)
class Scene:
    """What stays the same in a drive."""

    plan: DrivePlan
    camera: Camera
    light: Light
    ground: Ground
    sky: Pixels
    fixtures: tuple[Fixture, ...]
    aside_m: float  # of the camera, from the lane's middle
    crossing_m: tuple[float, float] | None  # where another road crosses, along the route


def make_scene(plan: DrivePlan, route: Route, rng: np.random.Generator) -> Scene:
    """Return the world of a drive."""
    width, height = WIDTH_PX * OVERSAMPLING, HEIGHT_PX * OVERSAMPLING
    camera = Camera(
        width_px=width,
        height_px=height,
        focal_px=1.0 * width * float(rng.uniform(0.94, 1.06)),
        horizon_px=float(round(height * float(rng.uniform(0.38, 0.48)))),
        height_m=float(rng.uniform(1.35, 1.75)),
        bend_per_m=0.0 if plan.motion == "halt" else float(rng.uniform(-1, 1)) / 220.0,
    )
    light = light_of(plan.time_of_day, plan.weather)
    stop_m = route.at(route.stop_s[0]) if route.stop_s else 0.0
    gap = (stop_m + _CROSSING_M[0], stop_m + _CROSSING_M[1]) if route.stop_s else None
    return Scene(
        plan=plan,
        camera=camera,
        light=light,
        ground=make_ground(camera, light, plan.place, rng, wet=plan.weather == "rain"),
        sky=make_sky(camera, light, plan, rng),
        fixtures=tuple(place_fixtures(plan, light, route.length_m, gap, rng)),
        aside_m=float(rng.uniform(-0.3, 0.3)),
        crossing_m=gap,
    )
