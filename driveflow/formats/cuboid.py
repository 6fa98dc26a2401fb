"""Project 3D boxes into a picture: what lies behind the near plane or beside the picture is cut off first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

NEAR_M: Final = 0.1
"""Nothing nearer than this is in a picture."""

_SIGNS: Final = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_FACES: Final = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))
Array: TypeAlias = npt.NDArray[np.float64]
_Point: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """Where something stands in the space around it: `rotation` is 3 x 3, `translation` is in metres."""

    rotation: Array
    translation: Array

    def to_inner(self, points: Array) -> Array:
        """Return `points` (... x 3) of the space around as seen from the pose."""
        return np.asarray((points - self.translation) @ self.rotation)


@dataclass(frozen=True, slots=True)
class Pinhole:
    """A camera that looks along its z axis, x to the right and y down."""

    intrinsic: Array  # 3 x 3, pixels
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Projected:
    """Boxes in a picture."""

    corners: Array  # n x 4: x1, y1, x2, y2 in pixels; NaN where nothing of the box is in the picture
    cut: npt.NDArray[np.bool_]  # which boxes go on outside the picture


def rotation_of(quaternion: Sequence[float]) -> Array:
    """Return the 3 x 3 rotation of a quaternion w, x, y, z of any length but 0.

    Raises:
        ValueError: it is no rotation.
    """
    length = math.hypot(*quaternion) if len(quaternion) == 4 else 0.0
    if not 1e-9 < length < 1e9:
        raise ValueError(f"{list(quaternion)} is no rotation w, x, y, z")
    w, x, y, z = (float(number) / length for number in quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def cuboid_corners(pose: Pose, length_width_height: Sequence[float]) -> Array:
    """Return the eight corners of a box about `pose`, whose length lies along its x axis and height along z."""
    half = np.asarray(length_width_height, dtype=np.float64) / 2
    return np.asarray((_SIGNS * half) @ pose.rotation.T + pose.translation)


def project_cuboids(corners: Array, camera: Pinhole) -> Projected:
    """Return the boxes around what `camera` sees of each cuboid; `corners` is n x 8 x 3 as seen from the camera.

    A cuboid that reaches behind the camera is cut at the near plane and at the sides of the picture before anything is
    divided by its distance: to leave out its corners there would make its box too small.
    """
    points = corners @ camera.intrinsic.T  # (u z, v z, z)
    found = np.full((len(points), 4), np.nan)
    slack = _slack(points, camera)
    whole = (slack >= 0).all(axis=(1, 2))
    pixels = points[whole, :, :2] / points[whole, :, 2:]
    found[whole] = np.concatenate([pixels.min(axis=1), pixels.max(axis=1)], axis=1)
    beyond = np.any(np.all(slack < 0, axis=1), axis=1)  # all corners are on the outer side of one plane
    for number in np.flatnonzero(~whole & ~beyond):
        found[number] = _cut_box(points[number], camera)
    return Projected(found, ~whole & ~np.isnan(found[:, 0]))


def _slack(points: Array, camera: Pinhole) -> Array:
    """Return how far inside each of the five planes of the view the points are: n x 8 x 5."""
    u, v, z = points[..., 0], points[..., 1], points[..., 2]
    return np.stack([z - NEAR_M, u, camera.width * z - u, v, camera.height * z - v], axis=-1)


def _cut_box(points: Array, camera: Pinhole) -> tuple[float, float, float, float]:
    planes = (
        (0.0, 0.0, 1.0, -NEAR_M),
        (1.0, 0.0, 0.0, 0.0),
        (-1.0, 0.0, float(camera.width), 0.0),
        (0.0, 1.0, 0.0, 0.0),
        (0.0, -1.0, float(camera.height), 0.0),
    )
    corners: list[_Point] = [(float(u), float(v), float(z)) for u, v, z in points]
    seen: list[_Point] = []
    for face in _FACES:
        polygon = [corners[number] for number in face]
        for plane in planes:
            polygon = _cut(polygon, plane)
        seen += polygon
    us = [u / z for u, _, z in seen]
    vs = [v / z for _, v, z in seen]
    if not seen or max(us) <= min(us) or max(vs) <= min(vs):
        return (np.nan, np.nan, np.nan, np.nan)
    return (
        max(min(us), 0.0),
        max(min(vs), 0.0),
        min(max(us), float(camera.width)),
        min(max(vs), float(camera.height)),
    )


def _cut(polygon: Sequence[_Point], plane: tuple[float, float, float, float]) -> list[_Point]:
    """Return the part of a polygon on the inner side of a plane (Sutherland and Hodgman)."""
    inner = [plane[0] * u + plane[1] * v + plane[2] * z + plane[3] for u, v, z in polygon]
    kept: list[_Point] = []
    for number, point in enumerate(polygon):
        before, here = inner[number - 1], inner[number]
        if (before < 0) != (here < 0):
            share = before / (before - here)
            start = polygon[number - 1]
            kept.append((
                start[0] + share * (point[0] - start[0]),
                start[1] + share * (point[1] - start[1]),
                start[2] + share * (point[2] - start[2]),
            ))  # fmt: skip
        if here >= 0:
            kept.append(point)
    return kept
