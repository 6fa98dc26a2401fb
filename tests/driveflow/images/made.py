"""Small pictures made for tests."""

import io

import numpy as np
from PIL import Image


def scene(seed: int = 0, width: int = 64, height: int = 48, noise: float = 12.0) -> np.ndarray:
    """A smooth gradient with noise, different for every seed."""
    random = np.random.default_rng(seed)
    ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[:, :, None] + random.integers(0, 60)
    return (ramp + random.normal(0, noise, (height, width, 3))).clip(0, 255).astype(np.uint8)


def encode(pixels: np.ndarray, kind: str = "JPEG", **options: object) -> bytes:
    """The picture file of `pixels`."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def oriented(pixels: np.ndarray, value: int) -> bytes:
    """A JPEG whose EXIF asks for orientation `value`."""
    exif = Image.Exif()
    exif[0x0112] = value
    return encode(pixels, quality=95, exif=exif)
