"""Frames that resemble examples, which come from train or val and never from the hold-out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driveflow.errors import InvalidInputError
from driveflow.flow.miner_section import MinerSection
from filtering.miners.distances import kth_cosine
from filtering.miners.material import Ints, Mask, Material, Scores
from filtering.miners.rare_frames import frame_distances, known_frames

_BITS = 64


@dataclass(frozen=True, slots=True)
class LikeThese:
    """Finds the frames nearest to example frames, or with an object nearest to example boxes."""

    settings: MinerSection
    formula: str = "1 - cosine distance to the nearest example; by hash 1 - bits / 64"
    unit: str = "likeness, at most 1"

    @property
    def reference(self) -> str:
        """What a frame is compared with."""
        return f"{len(self.settings.frames)} example frames and {len(self.settings.boxes)} example boxes"

    def score(self, material: Material) -> Scores:
        """Return how much each other frame of train and val resembles the nearest example.

        Raises:
            InvalidInputError: an example lies in the hold-out, or is not among the kept frames.
        """
        examples = example_rows(material, self.settings.frames)
        boxes = [tuple(text.partition("#")[::2]) for text in self.settings.boxes]
        of_boxes = example_rows(material, [frame for frame, _ in boxes])
        scores = self._by_frame(material, examples)
        scores = np.fmax(scores, self._by_object(material, [box for _, box in boxes], of_boxes))
        scores[~material.in_splits("train", "val")] = np.nan
        scores[examples] = np.nan
        scores[of_boxes] = np.nan
        return scores

    def _by_frame(self, material: Material, examples: Ints) -> Scores:
        scores = np.full(material.count, np.nan)
        known = known_frames(material)
        asked = np.flatnonzero(known)
        kept = _mask(material.count, examples) & known
        apart = frame_distances(material, asked, kept, np.arange(material.count), 1)
        scores[asked] = 1.0 - (apart if material.vectors is not None else apart / _BITS)
        return scores

    def _by_object(self, material: Material, box_ids: Sequence[str], frames: Ints) -> Scores:
        scores = np.full(material.count, np.nan)
        if material.objects is None or not box_ids:
            return scores
        rows = material.rows_of(material.objects.frame_ids)
        named = {(int(row), box): at for at, (row, box) in enumerate(zip(rows, material.objects.box_ids, strict=True))}
        examples = [_box(named, int(row), box) for row, box in zip(frames, box_ids, strict=True)]
        asked = np.flatnonzero(rows >= 0)
        kept = _mask(len(rows), np.array(examples, np.int64))
        apart = kth_cosine(material.objects.vectors, asked, kept, rows, 1)
        np.fmax.at(scores, rows[asked], 1.0 - apart)
        return scores


def example_rows(material: Material, frame_ids: Sequence[str]) -> Ints:
    """Return the rows of the example frames.

    Raises:
        InvalidInputError: one of them lies in the hold-out, or is not among the kept frames.
    """
    rows = material.rows_of(frame_ids)
    held_out = material.in_splits("holdout")
    for frame_id, row in zip(frame_ids, rows.tolist(), strict=True):
        if row < 0:
            raise InvalidInputError(
                f"The example frame {frame_id} is not among the kept frames; a frame of train or val that is would do,"
                f" as its kept twin, where it was dropped as one: `driveflow data explain {frame_id[:16]}` names it."
            )
        if held_out[row]:
            raise InvalidInputError(
                f"The example frame {frame_id} lies in the hold-out, which judges models and steers no search by its"
                " frames; a frame of train or val would do."
            )
    return rows


def _box(named: dict[tuple[int, str], int], row: int, box_id: str) -> int:
    if (row, box_id) not in named:
        raise InvalidInputError(
            f"No box {box_id!r} was found in its example frame; a label or a sure detection would do."
        )
    return named[row, box_id]


def _mask(count: int, rows: Ints) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
