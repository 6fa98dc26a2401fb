"""Paint the road and what lies beside it, as a picture from above laid out in perspective."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from sample.camera import Camera, Color, Floats, Pixels, grey_levels
from sample.light import LAMP_COLOR, OWN_COLOR, LampPlaces, Light, beam, pools
from sample.plan import Place

MARGIN_PX = 8  # rows below the picture, so that it can shake
_PERIOD_M = 40.0  # the road repeats itself so often
_HALF_WIDTH_M = 24.0
_ACROSS_M, _ALONG_M = 0.06, 0.1  # of one pixel of the picture from above
_MAP_STEP = 4  # the light is worked out on every fourth pixel
_WHITE: Color = (205, 208, 210)
Singles = npt.NDArray[np.float32]

# From, to in metres right of the lane's middle; colour; roughness in grey levels.
_STRIPS: dict[Place, tuple[tuple[float, float, Color, float], ...]] = {
    "city": (
        (-24.0, -8.6, (104, 112, 116), 9.0),
        (-8.6, -5.5, (150, 154, 158), 7.0),
        (-5.5, -5.25, (176, 178, 180), 4.0),
        (-5.25, 1.75, (86, 84, 82), 8.0),
        (1.75, 4.0, (96, 94, 92), 9.0),
        (4.0, 4.25, (176, 178, 180), 4.0),
        (4.25, 7.2, (150, 154, 158), 7.0),
        (7.2, 24.0, (104, 112, 116), 9.0),
    ),
    "suburb": (
        (-24.0, -7.4, (62, 128, 92), 16.0),
        (-7.4, -5.6, (158, 164, 168), 7.0),
        (-5.6, -5.25, (170, 172, 172), 5.0),
        (-5.25, 2.0, (92, 90, 88), 9.0),
        (2.0, 4.1, (100, 98, 98), 9.0),
        (4.1, 4.35, (170, 172, 172), 5.0),
        (4.35, 6.2, (158, 164, 168), 7.0),
        (6.2, 24.0, (62, 128, 92), 16.0),
    ),
    "country": (
        (-24.0, -6.2, (70, 140, 116), 20.0),
        (-6.2, -5.3, (112, 140, 150), 16.0),
        (-5.3, 1.9, (90, 90, 90), 9.0),
        (1.9, 2.8, (112, 140, 150), 16.0),
        (2.8, 24.0, (60, 132, 104), 20.0),
    ),
}


@dataclass(frozen=True, slots=True)
class Ground:
    """The road of a drive from below the horizon on, ready to be painted from any point of it."""

    texture: Pixels
    across: Singles  # columns of the texture, for every pixel
    ahead_m: Singles  # metres ahead, for every row
    far: Pixels  # the road without detail, lit and hazy
    near_weight: Singles
    far_weight: Singles
    light: Light
    x_m: Floats  # on every fourth pixel
    z_m: Floats
    own_light: Floats  # ambient and headlights on every fourth pixel, three colours

    def paint(self, travelled_m: float, lamps: LampPlaces) -> Pixels:
        """Return the ground as seen after `travelled_m`."""
        rows = np.mod(self.ahead_m + np.float32(travelled_m % _PERIOD_M), np.float32(_PERIOD_M)) / np.float32(_ALONG_M)
        along = np.ascontiguousarray(np.broadcast_to(rows[:, None], self.across.shape))
        near = cv2.remap(self.texture, self.across, along, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
        lit = cv2.multiply(near, self._lit(lamps, near.shape), scale=1 / 200)
        return np.asarray(cv2.blendLinear(lit, self.far, self.near_weight, self.far_weight), dtype=np.uint8)

    def _lit(self, lamps: LampPlaces, shape: tuple[int, ...]) -> Pixels:
        light = self.own_light
        if lamps:
            pool = 0.62 * self.light.glow * pools(self.x_m, self.z_m, lamps)
            light = light + pool[..., None] * np.array(LAMP_COLOR)
        small = np.rint(np.clip(light, 0.0, 1.2) * 200).astype(np.uint8)
        return np.asarray(cv2.resize(small, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)


def make_ground(camera: Camera, light: Light, place: Place, rng: np.random.Generator, *, wet: bool) -> Ground:
    """Return the ground of a drive."""
    texture = _texture(place, rng, wet=wet)
    v = np.arange(1, camera.height_px - round(camera.horizon_px) + MARGIN_PX + 1, dtype=np.float64)
    z = camera.focal_px * camera.height_m / v
    u = np.arange(camera.width_px, dtype=np.float64) - camera.width_px / 2
    x = u[None, :] * z[:, None] / camera.focal_px - camera.bend_per_m * z[:, None] ** 2 / 2
    columns = np.clip((x + _HALF_WIDTH_M) / _ACROSS_M, 0, texture.shape[1] - 1).astype(np.float32)
    share = np.clip((z - 9.0) / 32.0, 0.12 if wet else 0.0, 1.0)[:, None] * np.ones_like(x)
    small_x, small_z = x[::_MAP_STEP, ::_MAP_STEP], z[::_MAP_STEP, None] * np.ones_like(x[::_MAP_STEP, ::_MAP_STEP])
    return Ground(
        texture=texture,
        across=columns,
        ahead_m=np.minimum(z, 4000.0).astype(np.float32),
        far=_far(texture, columns, z, light),
        near_weight=(1 - share).astype(np.float32),
        far_weight=share.astype(np.float32),
        light=light,
        x_m=small_x,
        z_m=small_z,
        own_light=_own_light(light, small_x + camera.bend_per_m * small_z**2 / 2, small_z),
    )


def _own_light(light: Light, x: Floats, z: Floats) -> Floats:
    own = light.headlight * beam(x, z) * np.clip(z / 5.0, 0.35, 1.0)
    return np.asarray(np.array(light.ambient) + own[..., None] * np.array(OWN_COLOR))


def _far(texture: Pixels, columns: Singles, z: Floats, light: Light) -> Pixels:
    across = texture.mean(axis=0)[np.rint(columns).astype(np.int64)]
    x = np.zeros_like(columns, dtype=np.float64)
    lit = across * _own_light(light, x, z[:, None] * np.ones_like(x))
    haze = (1 - np.exp(-z / light.haze_range_m))[:, None, None]
    mixed = lit * (1 - haze) + np.array(light.haze, dtype=np.float64) * haze
    return grey_levels(mixed)


def _texture(place: Place, rng: np.random.Generator, *, wet: bool) -> Pixels:
    rows, columns = round(_PERIOD_M / _ALONG_M), round(2 * _HALF_WIDTH_M / _ACROSS_M)
    grain = (
        _grain(rng, rows, columns, 2) * 0.6 + _grain(rng, rows, columns, 9) * 0.6 + _grain(rng, rows, columns, 40) * 0.7
    )
    picture = np.zeros((rows, columns, 3))
    hue = rng.uniform(-8, 8, size=3)
    for start, end, color, rough in _STRIPS[place]:
        strip = slice(_column(start), _column(end))
        picture[:, strip] = np.array(color) + hue + rough * grain[:, strip, None]
    _paint_lines(picture, place, rng)
    return grey_levels(picture * (0.72 if wet else 1.0))


def _paint_lines(picture: Floats, place: Place, rng: np.random.Generator) -> None:
    dash, gap = ((3.0, 5.0), (4.0, 4.0), (2.0, 6.0))[int(rng.integers(3))]
    color = np.array(_WHITE if rng.random() < 0.75 else (70, 190, 220), dtype=np.float64)
    start = 0.0
    while start < _PERIOD_M:
        picture[round(start / _ALONG_M) : round((start + dash) / _ALONG_M), _column(-1.82) : _column(-1.66)] = color
        start += dash + gap
    edges = (1.62, -5.12) if place != "suburb" else ()
    for edge in edges:
        picture[:, _column(edge - 0.06) : _column(edge + 0.08)] = np.array(_WHITE) * 0.92
    if place != "country":
        for joint in range(0, picture.shape[0], 15):
            picture[joint, _column(4.3) : _column(7.0 if place == "city" else 6.2)] *= 0.86
            picture[joint, _column(-7.4) : _column(-5.5)] *= 0.86


def _grain(rng: np.random.Generator, rows: int, columns: int, size: int) -> Floats:
    coarse = rng.uniform(-1.0, 1.0, size=(rows // size + 1, columns // size + 1)).astype(np.float32)
    return np.asarray(cv2.resize(coarse, (columns, rows), interpolation=cv2.INTER_LINEAR), dtype=np.float64)


def _column(x_m: float) -> int:
    return round((x_m + _HALF_WIDTH_M) / _ACROSS_M)
