"""Paint flat faces, limbs, balls and wheels into a picture that remembers which object owns each pixel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt

from sample.camera import NEAR_M, Camera, Color, Floats, Pixels
from sample.light import Tint
from sample.solids import Solid

_SHIFT = 3  # fractional bits of painted corners
_ONE = 1 << _SHIFT
_FAR_PX = 20_000.0
_CIRCLE = tuple((math.sin(step * math.pi / 8), math.cos(step * math.pi / 8)) for step in range(16))
Fixed = npt.NDArray[np.int32]  # pixels, with fractional bits
Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a thing stands, in metres from the camera, and where it looks: 0 ahead, positive to the right."""

    x_m: float
    z_m: float
    yaw_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class Glow:
    """A lamp that bleeds into its surroundings; pixels of the canvas."""

    u: float
    v: float
    radius_px: float
    color: Color
    owner: int
    foot_v: float  # where the ground below it is, for reflections


@dataclass(slots=True)
class Canvas:
    """A picture being painted; the fourth channel holds the owner of each pixel, 0 for the scenery."""

    pixels: Pixels  # (height, width, 4)
    camera: Camera
    glows: list[Glow] = field(default_factory=list)


class Pen:
    """Paints one thing, given in its own frame, where it stands on the road."""

    def __init__(self, canvas: Canvas, tint: Tint, pose: Pose, owner: int = 0) -> None:
        self.canvas, self.tint, self.pose, self.owner = canvas, tint, pose, owner
        self._cos, self._sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
        self.scale = canvas.camera.scale(max(pose.z_m, NEAR_M))

    def solid(self, solid: Solid, faces: int | None = None) -> None:
        """Paint the faces of `solid` that look at the camera, the first `faces` of them."""
        placed = self._place(solid.faces[:faces])
        depths = placed[..., 2]
        if float(depths.max()) < NEAR_M:
            return
        painted = self._painted(solid)
        whole = np.all(depths >= NEAR_M, axis=1).tolist() if float(depths.min()) < NEAR_M else [True] * len(depths)
        flat = self.canvas.camera.project(placed)
        seen, corners = (_turns(flat) < 0).tolist(), _fixed(flat)
        for face, (complete, color) in enumerate(zip(whole, painted, strict=False)):
            if not complete:
                self._clipped(placed[face], color)
            elif seen[face]:
                self._fill(corners[face], color)

    def face(self, corners: Sequence[Point], color: Color, level: float = 1.0) -> None:
        """Paint one face, from whichever side it is seen."""
        placed = _clip(self._place(np.array(corners, dtype=np.float64)))
        if len(placed) >= 3:
            self._fill(_fixed(self.canvas.camera.project(placed)), [*self.tint.of(color, level), self.owner])

    def limb(self, points: Sequence[Point], radius_m: float, color: Color, level: float = 1.0) -> None:
        """Paint a bent line with round ends."""
        self._line([self._flat(*point) for point in points], radius_m, self.tint.of(color, level), closed=False)

    def ring(self, center: Point, radius_m: float, thick_m: float, color: Color) -> None:
        """Paint a wheel's tyre, standing along the heading."""
        x, y, z = center
        points = [self._flat(x, y + radius_m * up, z + radius_m * along) for up, along in _CIRCLE]
        self._line(points, thick_m / 2, self.tint.of(color), closed=True)

    def ball(self, center: Point, radius_m: float, color: Color, level: float = 1.0) -> None:
        """Paint a disc that always faces the camera."""
        u, v = self._flat(*center)
        color4 = (*self.tint.of(color, level), self.owner)
        cv2.circle(self.canvas.pixels, (round(u), round(v)), max(1, round(radius_m * self.scale)), color4, -1)

    def glow(self, center: Point, radius_m: float, color: Color) -> None:
        """Remember a lamp, to be made to glow once all is painted."""
        x, y, z = center
        if self._depth(x, z) >= NEAR_M:
            (u, v), (_, foot) = self._flat(x, y, z), self._flat(x, 0.0, z)
            self.canvas.glows.append(Glow(u, v, radius_m * self.scale, color, self.owner, foot))

    def faces_camera(self, x_m: float, z_m: float) -> bool:
        """Return whether a face that looks along x, z of the own frame is turned towards the camera."""
        turned_x, turned_z = x_m * self._cos + z_m * self._sin, z_m * self._cos - x_m * self._sin
        return turned_x * self.pose.x_m + turned_z * self.pose.z_m < 0

    def _depth(self, x: float, z: float) -> float:
        return z * self._cos - x * self._sin + self.pose.z_m

    def _flat(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Return where one point lies in the picture; as `Camera.project`, but quick for a single one."""
        camera, depth = self.canvas.camera, max(self._depth(x, z), NEAR_M)
        aside = x * self._cos + z * self._sin + self.pose.x_m
        u = camera.width_px / 2 + camera.focal_px * (aside / depth + camera.bend_per_m * depth / 2)
        return u, camera.horizon_px + camera.focal_px * (camera.height_m - y) / depth

    def _place(self, points: Floats) -> Floats:
        placed = np.empty_like(points)
        x, z = points[..., 0], points[..., 2]
        placed[..., 0] = x * self._cos + z * self._sin + self.pose.x_m
        placed[..., 1] = points[..., 1]
        placed[..., 2] = z * self._cos - x * self._sin + self.pose.z_m
        return placed

    def _painted(self, solid: Solid) -> list[list[float]]:
        colors = self.tint.many(solid.colors)
        if self.tint.lit:
            colors = np.where(solid.emits[:, None], solid.colors, colors)
        return [[*color, self.owner] for color in colors.tolist()]

    def _clipped(self, corners: Floats, color: Sequence[float]) -> None:
        kept = _clip(corners)
        if len(kept) >= 3:
            flat = self.canvas.camera.project(kept)
            if _area(flat) < 0:
                self._fill(_fixed(flat), color)

    def _fill(self, corners: Fixed, color: Sequence[float]) -> None:
        cv2.fillConvexPoly(self.canvas.pixels, corners, color, cv2.LINE_8, _SHIFT)

    def _line(self, flat: list[tuple[float, float]], radius_m: float, color: Color, *, closed: bool) -> None:
        thick = max(1, round(2 * radius_m * self.scale))
        corners = np.array([[round(u * _ONE), round(v * _ONE)] for u, v in flat], dtype=np.int32)
        cv2.polylines(self.canvas.pixels, [corners], closed, (*color, self.owner), thick, cv2.LINE_8, _SHIFT)


def _fixed(flat: Floats) -> Fixed:
    return np.asarray(np.rint(np.minimum(np.maximum(flat, -_FAR_PX), _FAR_PX) * _ONE), dtype=np.int32)


def _turns(flat: Floats) -> Floats:
    """Return, per face, a number that is negative where its first three corners run counter-clockwise."""
    first, second = flat[..., 1, :] - flat[..., 0, :], flat[..., 2, :] - flat[..., 0, :]
    turns: Floats = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    return turns


def _area(flat: Floats) -> float:
    u, v = flat[:, 0], flat[:, 1]
    return float((u * np.roll(v, -1) - np.roll(u, -1) * v).sum())


def _clip(corners: Floats) -> Floats:
    """Return what of a polygon lies beyond the near plane."""
    kept: list[list[float]] = []
    listed = corners.tolist()
    for here, there in zip(listed, listed[1:] + listed[:1], strict=True):
        inside = here[2] >= NEAR_M
        if inside:
            kept.append(here)
        if inside != (there[2] >= NEAR_M):
            share = (NEAR_M - here[2]) / (there[2] - here[2])
            kept.append([a + (b - a) * share for a, b in zip(here, there, strict=True)])
    return np.array(kept, dtype=np.float64).reshape(-1, 3)
