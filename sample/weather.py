"""What happens between the scene and the file: lamps that glow, wet roads, rain, noise, and failures of the camera."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import cv2
import numpy as np
import numpy.typing as npt

from sample.camera import Color, Pixels, grey_levels
from sample.canvas import Glow
from sample.light import Light

Defect = Literal["", "blurred", "black", "over_exposed"]
_DISC = 64  # side of the glow that is scaled to every lamp
_NOISE_TILE = 512


@dataclass(frozen=True, slots=True)
class Sensor:
    """What a drive's pictures get on their way to the file."""

    light: Light
    wet: bool
    noise: npt.NDArray[np.int16]  # a tile of noise, larger than a picture
    streaks: Pixels | None


def make_sensor(light: Light, size: tuple[int, int], rng: np.random.Generator, *, wet: bool) -> Sensor:
    """Return the sensor of a drive; `size` is width and height in pixels."""
    shape = (3, _NOISE_TILE, _NOISE_TILE, 3)
    noise = rng.integers(-128, 128, size=shape, dtype=np.int8).sum(axis=0, dtype=np.int16)  # three uniforms: a bell
    scaled = np.rint(noise * np.float32(light.noise_levels / 128.0)).astype(np.int16)
    return Sensor(light, wet, scaled, _streaks(size, rng) if wet else None)


def add_glow(image: Pixels, owners: Pixels, glows: list[Glow], sensor: Sensor) -> None:
    """Let every lamp that is not hidden bleed into `image`; on a wet road it is mirrored below."""
    disc = _disc()
    for glow in glows:
        u, v = round(glow.u), round(glow.v)
        inside = 0 <= v < owners.shape[0] and 0 <= u < owners.shape[1]
        if not inside or owners[v, u] != glow.owner:
            continue
        radius = max(2.0, glow.radius_px / 2 * max(sensor.light.glow, 0.5))
        _add(image, disc, (glow.u / 2, glow.v / 2), (radius, radius), glow.color)
        if sensor.wet and sensor.light.glow > 0.4:
            below = glow.foot_v + (glow.foot_v - glow.v) * 0.6
            _add(image, disc // 2, (glow.u / 2, below / 2), (radius * 0.8, radius * 3.5), glow.color)


def add_rain(image: Pixels, sensor: Sensor, rng: np.random.Generator) -> Pixels:
    """Return `image` behind falling rain."""
    if sensor.streaks is None:
        return image
    height, width = image.shape[:2]
    down, aside = int(rng.integers(height)), int(rng.integers(width))
    streaks = np.roll(sensor.streaks, (down, aside), axis=(0, 1))
    strength = 0.20 if sensor.light.glow > 0.9 else 0.34
    soft = cv2.GaussianBlur(image, (3, 3), 0.6)
    return np.asarray(cv2.addWeighted(soft, 1.0, streaks, strength, 0.0), dtype=np.uint8)


def mirror(image: Pixels, objects: list[tuple[int, int, int, int]]) -> None:
    """Paint a dim upside-down picture of each box of `objects` (left, top, right, bottom) on the ground below it."""
    height = image.shape[0]
    for left, top, right, bottom in objects:
        depth = min((bottom - top) * 2 // 3, height - bottom)
        if depth < 3 or right - left < 3:
            continue
        upside = cv2.blur(image[bottom - depth : bottom, left:right][::-1], (3, 5))
        below = image[bottom : bottom + depth, left:right]
        below[:] = cv2.addWeighted(below, 0.68, upside, 0.32, 0.0)


def expose(image: Pixels, sensor: Sensor, speed_mps: float, defect: Defect, rng: np.random.Generator) -> Pixels:
    """Return what the sensor makes of `image`: motion blur, noise, and now and then a failure."""
    if speed_mps > 3.0:
        image = np.asarray(cv2.GaussianBlur(image, (3, 3), min(0.25 + speed_mps * 0.03, 0.75)), dtype=np.uint8)
    if defect == "blurred":
        image = np.asarray(cv2.blur(cv2.GaussianBlur(image, (21, 21), 5.0), (25, 5)), dtype=np.uint8)
    top, left = (int(part) for part in rng.integers(0, _NOISE_TILE - max(image.shape[:2]), size=2))
    noise = sensor.noise[top : top + image.shape[0], left : left + image.shape[1]]
    levels = image.astype(np.int16)
    if defect == "blurred":
        noise = noise // 6
    elif defect == "black":
        levels, noise = levels // 80, noise // 3
    elif defect == "over_exposed":  # never quite white: two such frames would be one
        levels, noise = 249 + levels // 40, noise // 2
    return np.asarray(np.clip(levels + noise, 0, 255), dtype=np.uint8)


def _streaks(size: tuple[int, int], rng: np.random.Generator) -> Pixels:
    width, height = size
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    for _ in range(150):
        u, v, length = int(rng.integers(width)), int(rng.integers(height)), int(rng.integers(5, 22))
        level = int(rng.integers(90, 220))
        cv2.line(picture, (u, v), (u + length // 6, v + length), (level, level, level), 1, cv2.LINE_AA)
    return picture


@cache
def _disc() -> Pixels:
    along = (np.arange(_DISC) + 0.5) / (_DISC / 2) - 1
    away = np.sqrt(along[:, None] ** 2 + along[None, :] ** 2)
    bright = np.clip(1 - away, 0, 1) ** 2
    return grey_levels(np.repeat(bright[..., None], 3, axis=2) * 255)


def _add(image: Pixels, disc: Pixels, center: tuple[float, float], radii: tuple[float, float], color: Color) -> None:
    height, width = image.shape[:2]
    left, top = round(center[0] - radii[0]), round(center[1] - radii[1])
    right, bottom = round(center[0] + radii[0]) + 1, round(center[1] + radii[1]) + 1
    if right <= 0 or bottom <= 0 or left >= width or top >= height or right - left > width * 2:
        return
    scaled = cv2.resize(disc, (right - left, bottom - top), interpolation=cv2.INTER_AREA)
    cut = scaled[max(-top, 0) : height - top, max(-left, 0) : width - left]
    place = image[max(top, 0) : bottom, max(left, 0) : right]
    place[:] = cv2.add(place, (cut * (np.array(color) / 255)).astype(np.uint8))
