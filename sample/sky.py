"""Paint the sky of a drive and the skyline before it."""

import cv2
import numpy as np
import numpy.typing as npt

from sample.camera import Camera, Color, Floats, Pixels, grey_levels
from sample.light import Light
from sample.plan import DrivePlan, Place

_SKIES: dict[tuple[str, str], tuple[Color, Color, float]] = {  # top, above the horizon, brightness of the clouds
    ("day", "clear"): ((214, 158, 96), (236, 222, 204), 1.0),
    ("day", "rain"): ((150, 142, 136), (190, 184, 178), -0.5),
    ("dusk", "clear"): ((110, 62, 52), (112, 150, 232), 0.35),
    ("dusk", "rain"): ((88, 72, 68), (120, 118, 142), -0.3),
    ("night", "clear"): ((26, 14, 10), (52, 36, 28), 0.08),
    ("night", "rain"): ((30, 24, 22), (58, 48, 42), 0.06),
}


def make_sky(camera: Camera, light: Light, plan: DrivePlan, rng: np.random.Generator) -> Pixels:
    """Return the picture above the horizon, a little higher than it needs to be, so that it can shake."""
    rows, columns = round(camera.horizon_px) + 8, camera.width_px
    top, low, clouds = _SKIES[plan.time_of_day, plan.weather]
    share = np.linspace(0.0, 1.0, rows)[:, None, None] ** float(rng.uniform(0.9, 1.7))
    sky = np.array(top) * (1 - share) + np.array(low) * share + rng.uniform(-10, 10, size=3) * light.ambient[1]
    sky = np.repeat(sky, columns, axis=1) + _clouds(rng, rows, columns)[..., None] * 60 * clouds
    picture = grey_levels(sky)
    if plan.time_of_day != "day":
        _paint_sun_or_moon(picture, plan, rng)
    for nearness in (0.35, 0.7):
        _paint_skyline(picture, plan.place, light, nearness, rng)
    return picture


def _clouds(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    total = np.zeros((rows, columns))
    for cells, weight in ((3, 1.0), (7, 0.6), (15, 0.3)):
        coarse = rng.uniform(-1, 1, size=(cells, cells * 3)).astype(np.float32)
        total += weight * np.asarray(
            cv2.resize(coarse, (columns, rows), interpolation=cv2.INTER_CUBIC), dtype=np.float64
        )
    return np.clip(total - 0.15, 0.0, 1.2)


def _paint_sun_or_moon(picture: Pixels, plan: DrivePlan, rng: np.random.Generator) -> None:
    rows, columns = picture.shape[:2]
    if plan.weather == "rain":
        return
    height = 0.82 if plan.time_of_day == "dusk" else 0.25
    center = (int(rng.integers(columns // 8, columns * 7 // 8)), round(rows * height))
    color = (120, 200, 255) if plan.time_of_day == "dusk" else (170, 180, 185)
    cv2.circle(picture, center, round(rows * 0.045), color, -1, cv2.LINE_AA)


def _paint_skyline(picture: Pixels, place: Place, light: Light, nearness: float, rng: np.random.Generator) -> None:
    rows, columns = picture.shape[:2]
    heights = (
        {"city": _roofs, "suburb": _treetops, "country": _hills}[place](rng, columns) * rows * (0.55 - 0.3 * nearness)
    )
    body = np.array((108, 112, 104) if place == "city" else (82, 104, 84)) * np.array(light.ambient)
    color = body * nearness + np.array(light.haze) * (1 - nearness)
    mask = np.arange(rows)[:, None] >= (rows - 8 - heights)[None, :]
    picture[mask] = np.rint(color).astype(np.uint8)
    if place == "city" and light.glow > 0:
        _light_windows(picture, mask, rng)


def _light_windows(picture: Pixels, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> None:
    rows, columns = mask.shape
    for _ in range(90):
        row, column = int(rng.integers(0, rows - 4)), int(rng.integers(0, columns - 4))
        if mask[row, column] and mask[row, column + 2]:
            picture[row : row + 2, column : column + 2] = (70, 140, 170)


def _roofs(rng: np.random.Generator, columns: int) -> Floats:
    heights, at = np.zeros(columns), 0
    while at < columns:
        width = int(rng.integers(20, 70))
        heights[at : at + width] = rng.uniform(0.05, 0.75)
        at += width
    return heights


def _treetops(rng: np.random.Generator, columns: int) -> Floats:
    coarse = rng.uniform(0.12, 0.5, size=(1, columns // 14)).astype(np.float32)
    return _smooth(coarse, columns)


def _hills(rng: np.random.Generator, columns: int) -> Floats:
    coarse = rng.uniform(0.05, 0.65, size=(1, 6)).astype(np.float32)
    return _smooth(coarse, columns)


def _smooth(coarse: npt.NDArray[np.float32], columns: int) -> Floats:
    wide = cv2.resize(coarse, (columns, 1), interpolation=cv2.INTER_CUBIC)
    return np.asarray(wide, dtype=np.float64).reshape(-1)
