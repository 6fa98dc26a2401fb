"""Every picture once decoded and fitted, as rows of one file that all workers of a machine share."""

import os
from pathlib import Path
from typing import TypeAlias

import numpy as np

from driveflow.canonical import digest
from driveflow.detectors.fitting import Fit, fit_picture, fit_size
from driveflow.images.decode import decode_rgb_reduced
from training.builtin.examples import Example

PictureRows: TypeAlias = np.memmap[tuple[int, int, int, int], np.dtype[np.uint8]]


def prepare_pictures(
    examples: tuple[Example, ...], size: tuple[int, int], scratch: Path, share: tuple[int, int]
) -> Path:
    """Decode the `share[0]`-th of `share[1]` parts of the pictures into the shared file, and return its path.

    A row is height x width x 3 (RGB) of `size` (width, height). All workers call this with a share of their own, and
    wait for each other before any reads. Rows of an interrupted call are made again.
    """
    path = scratch / f"pictures-{digest([list(size), [example.frame_id for example in examples]])[:16]}.u8"
    rows = open_pictures(path, len(examples), size, write=True)
    for number in range(share[0], len(examples), share[1]):
        example = examples[number]
        rows[number] = fit_picture(decode_rgb_reduced(example.picture.read_bytes(), max(size)), size)[0]
    rows.flush()
    return path


def open_pictures(path: Path, count: int, size: tuple[int, int], *, write: bool = False) -> PictureRows:
    """Return the rows of the shared file; it is made where it is missing and `write` is set."""
    row_bytes = size[0] * size[1] * 3
    if write:
        with path.open("ab") as file:
            os.ftruncate(file.fileno(), max(count, 1) * row_bytes)  # all workers ask for the same length
    return np.memmap(path, np.uint8, "r+" if write else "r", shape=(max(count, 1), size[1], size[0], 3))


def fit_of(example: Example, size: tuple[int, int]) -> Fit:
    """Return how the picture of `example` lies in its row."""
    return fit_size(example.width, example.height, size)
