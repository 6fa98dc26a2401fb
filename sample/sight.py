"""Find out what of a drive's world can be seen at a moment, where it stands, and how it is lit."""

from dataclasses import dataclass

import numpy as np

from sample.camera import Camera
from sample.canvas import Pose
from sample.light import LampPlaces, Tint, tints
from sample.roadside import Fixture
from sample.scene import Scene
from sample.traffic import REACH_M, SIGHT_M, Actor

_FIXTURE_SIGHT_M = 120.0
_NEAREST_M = 1.2  # what does not reach beyond is beside the camera


@dataclass(frozen=True, slots=True)
class Moment:
    """When and where a frame is taken."""

    t_s: float
    travelled_m: float
    braking: bool
    shake_px: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A thing in sight."""

    thing: Fixture | Actor
    pose: Pose
    tint: Tint


def burning_lamps(scene: Scene, moment: Moment) -> LampPlaces:
    """Return where the street lamps that burn stand."""
    if scene.light.glow < 0.5:
        return ()
    places = [(one.d_m - scene.aside_m, one.s_m - moment.travelled_m) for one in scene.fixtures if one.kind == "lamp"]
    return [(x, z) for x, z in places if -8 < z < 80]


def in_sight(scene: Scene, camera: Camera, actors: list[Actor], moment: Moment) -> list[Standing]:
    """Return everything that can be seen, buildings first, and the farthest of them first."""
    found = [*_fixtures(scene, camera, moment), *_actors(scene, camera, actors, moment)]
    found.sort(key=lambda pair: (not _is_building(pair[0]), -pair[1].z_m))
    x = np.array([pose.x_m for _, pose in found])
    z = np.array([_lit_depth(thing, pose) for thing, pose in found])
    lit = tints(scene.light, (x, z), scene.camera.bend_per_m, burning_lamps(scene, moment))
    return [Standing(thing, pose, tint) for (thing, pose), tint in zip(found, lit, strict=True)]


def _is_building(thing: Fixture | Actor) -> bool:
    return isinstance(thing, Fixture) and thing.kind == "building"


def _lit_depth(thing: Fixture | Actor, pose: Pose) -> float:
    """Return how far away a thing is lit: a long building between its near end and its middle."""
    if isinstance(thing, Fixture) and thing.kind == "building":
        return (max(pose.z_m - thing.reach_m, min(pose.z_m, 1.0)) + pose.z_m) / 2
    return pose.z_m


def _fixtures(scene: Scene, camera: Camera, moment: Moment) -> list[tuple[Fixture | Actor, Pose]]:
    found: list[tuple[Fixture | Actor, Pose]] = []
    for fixture in scene.fixtures:
        x, z = fixture.d_m - scene.aside_m, fixture.s_m - moment.travelled_m
        if z < _FIXTURE_SIGHT_M and camera.sees(x, z, fixture.reach_m):
            found.append((fixture, Pose(x, z)))
    return found


def _actors(scene: Scene, camera: Camera, actors: list[Actor], moment: Moment) -> list[tuple[Fixture | Actor, Pose]]:
    found: list[tuple[Fixture | Actor, Pose]] = []
    for actor in actors:
        x, z = actor.aside_m(moment.t_s) - scene.aside_m, actor.ahead_m(moment.t_s, moment.travelled_m)
        reach = REACH_M[actor.class_name]
        if _NEAREST_M - reach < z < SIGHT_M[actor.class_name] and camera.sees(x, z, reach):
            found.append((actor, Pose(x, z, actor.yaw_rad + camera.bend_per_m * z)))
    return found
