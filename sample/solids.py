"""Build things with flat faces: boxes with sloping sides, and patches on their faces."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sample.camera import Color, Floats

_CORNERS = 8  # every face has so many; a face of four repeats its last one
_REPEAT_LAST = (0, 1, 2, 3, 3, 3, 3, 3)
FACE_LEVELS = {"rear": 0.9, "front": 0.9, "left": 0.74, "right": 0.84, "top": 1.06}


@dataclass(frozen=True, slots=True)
class Rect:
    """A level rectangle, in metres of the thing's own frame: x right, y up, z forward."""

    half_width: float
    back: float
    front: float
    y: float


@dataclass(frozen=True, slots=True)
class Solid:
    """Faces in the order they are painted; a face is seen from the side where its corners run counter-clockwise."""

    faces: Floats  # (n, 8, 3)
    colors: Floats  # (n, 3)
    emits: npt.NDArray[np.bool_]  # lamps: keep their colour in the dark
    coarse: int  # so many faces are enough from afar
    reach_m: float  # radius that holds all of it on the ground


class SolidMaker:
    """Collects faces; owned by the function that builds one solid."""

    def __init__(self) -> None:
        self._faces: list[Floats] = []
        self._colors: list[Floats] = []
        self._emits: list[bool] = []

    def add(self, face: Floats, color: Color, level: float = 1.0, *, emits: bool = False) -> None:
        """Add a face of four or eight corners."""
        self._faces.append(face if len(face) == _CORNERS else face[list(_REPEAT_LAST)])
        self._colors.append(np.array(color, dtype=np.float64) * level)
        self._emits.append(emits)

    def add_block(self, faces: dict[str, Floats], color: Color) -> None:
        """Add the five faces of a block, each a little darker or lighter by where it looks."""
        for name, face in faces.items():
            self.add(face, color, FACE_LEVELS[name])

    def count(self) -> int:
        """Return the number of faces so far."""
        return len(self._faces)

    def solid(self, coarse: int | None = None) -> Solid:
        """Return the finished solid."""
        faces, colors = np.stack(self._faces), np.stack(self._colors)
        reach = float(np.abs(faces[:, :, (0, 2)]).max())
        return Solid(faces, colors, np.array(self._emits), self.count() if coarse is None else coarse, reach)


def block(bottom: Rect, top: Rect) -> dict[str, Floats]:
    """Return the faces of a block between two level rectangles; the bottom is never seen."""
    low, high = _corners(bottom), _corners(top)
    sides = {"rear": (0, 1), "right": (1, 2), "front": (2, 3), "left": (3, 0)}
    faces = {name: np.stack((low[i], low[j], high[j], high[i])) for name, (i, j) in sides.items()}
    return {**faces, "top": high}


def _corners(rect: Rect) -> Floats:
    """Return the corners of a level rectangle counter-clockwise as seen from above, the left one at the back first."""
    half, back, front, y = rect.half_width, rect.back, rect.front, rect.y
    return np.array([(-half, y, back), (half, y, back), (half, y, front), (-half, y, front)], dtype=np.float64)


def box(half_width: float, back: float, front: float, bottom_y: float, top_y: float) -> dict[str, Floats]:
    """Return the faces of an upright box."""
    return block(Rect(half_width, back, front, bottom_y), Rect(half_width, back, front, top_y))


def patch(face: Floats, u0: float, v0: float, u1: float, v1: float) -> Floats:
    """Return the part of a face of four corners between two points of it; 0, 0 is lower left, 1, 1 upper right."""
    return patches(face, np.array([[u0, v0, u1, v1]])).reshape(4, 3)


def patches(face: Floats, bounds: Floats) -> Floats:
    """Return a patch for each row u0, v0, u1, v1 of `bounds`."""
    u, v = bounds[:, (0, 2, 2, 0)], bounds[:, (1, 1, 3, 3)]
    shares = np.stack(((1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v), axis=-1)
    return np.asarray(shares @ face[:4])


def wheel(x_m: float, z_m: float, radius_m: float) -> Floats:
    """Return an octagon on the side of a car, seen from outside."""
    side = 1.0 if x_m > 0 else -1.0
    angles = (np.arange(_CORNERS) + 0.5) * (2 * np.pi / _CORNERS)
    along = z_m + side * radius_m * np.cos(angles)
    return np.stack((np.full(_CORNERS, x_m), radius_m + radius_m * np.sin(angles), along), axis=-1)
