"""Join truth and predictions by the names or ids of their frames and classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from driveflow.errors import InvalidInputError
from driveflow.formats.path_index import plain_path
from driveflow.formats.picture_finder import stem_of
from validation.inputs.given import Given
from validation.model.raw import RawBoxes, RawScene
from validation.model.scene import Correction, Ints

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions by the frames and classes that the truth lists, and the names of those that it does not."""

    boxes: RawBoxes
    strange_frames: Sequence[str] = ()
    strange_classes: Sequence[str] = ()
    corrections: tuple[Correction, ...] = ()


def with_each_others_sizes(truth: Given, found: Given) -> tuple[Given, Given]:
    """Return both sides in pixels, where a size of a picture that one side says serves the other."""
    places = _frame_places(truth, found)
    own, theirs = (side.frames.select("width", "height") for side in (found, truth))
    rows = [None if place is None else place for place in places]
    found_sizes = theirs[[0 if row is None else row for row in rows]] if len(theirs) else own
    unknown = pl.Series([row is None for row in rows], dtype=pl.Boolean)
    masked = found_sizes.select(pl.when(~unknown).then(pl.col(name)).alias(name) for name in ("width", "height"))
    back = {place: number for number, place in enumerate(places) if place is not None}
    of_found = own[[back.get(number, 0) for number in range(len(theirs))]] if len(own) else theirs
    known = pl.Series([number in back for number in range(len(theirs))], dtype=pl.Boolean)
    kept = of_found.select(pl.when(known).then(pl.col(name)).alias(name) for name in ("width", "height"))
    one, other = truth.with_sizes(kept), found.with_sizes(masked)
    return (
        one.in_pixels(other_has_shares=other.has_shares),
        other.in_pixels(other_has_shares=one.has_shares),
    )


def by_names(truth: Given, found: Given) -> Predicted:
    """Return predictions that name frames and classes themselves, in the truth's order.

    Raises:
        InvalidInputError: not one of them is of a frame that the truth lists.
    """
    frame_names = [name or key for name, key in found.frames.select("name", "key").iter_rows()]
    frame, strange_frames = _places(_frame_places(truth, found), frame_names, truth.known_frames)
    class_place = {name: number for number, name in reversed(list(enumerate(_listed(truth.classes["name"], truth))))}
    key_place = {key: number for number, key in reversed(list(enumerate(_listed(truth.classes["key"], truth)))) if key}
    if len(found.boxes) and not (frame[found.boxes.frame] < truth.known_frames).any():
        known = [name or key for name, key in truth.frames.select("name", "key").head(_SHOWN).iter_rows()]
        raise InvalidInputError(
            f"{found.source}: no prediction is of a frame of the truth: it names {frame_names[:_SHOWN]}, "
            f"the truth has {known}."
        )
    called = [name or f"class {key}" for key, name in found.classes.iter_rows()]
    places = [class_place.get(name, None if name else key_place.get(key)) for key, name in found.classes.iter_rows()]
    label, strange_classes = _places(places, called, truth.known_classes)
    boxes = replace(found.boxes, frame=frame[found.boxes.frame], label=label[found.boxes.label])
    return Predicted(boxes, strange_frames, strange_classes, found.corrections)


def _frame_places(truth: Given, found: Given) -> list[int | None]:
    frames = _FrameNames(truth)
    return [frames.find(name or key) for name, key in found.frames.select("name", "key").iter_rows()]


def raw_scene_of(truth: Given, found: Predicted, names: Sequence[str]) -> RawScene:
    """Return both sides as one; `names` are what the truth's listed frames are called."""
    extra_frames = [name or key for name, key in truth.frames[truth.known_frames :].select("name", "key").iter_rows()]
    extra_classes = truth.classes["name"][truth.known_classes :].to_list()
    frames = sorted({*extra_frames, *found.strange_frames})
    classes = sorted({*extra_classes, *found.strange_classes})
    listed = truth.frames[: truth.known_frames]
    drives = [drive or f"frame {name}" for drive, name in zip(listed["drive"], names, strict=True)]
    groups = sorted(set(drives))
    group_of = {group: number for number, group in enumerate(groups)}
    looked = truth.looked
    known = (truth.known_frames, truth.known_classes)
    return RawScene(
        frame_ids=tuple(names),
        classes=tuple(truth.classes["name"][: truth.known_classes].to_list()),
        groups=tuple(groups),
        frame_group=np.array([group_of[drive] for drive in drives], np.int64),
        annotated=np.ones(known, bool) if looked is None else looked[: known[0], : known[1]],
        truth=_recoded(truth.boxes, known, (extra_frames, frames), (extra_classes, classes)),
        found=_recoded(found.boxes, known, (found.strange_frames, frames), (found.strange_classes, classes)),
        strange_frames=tuple(frames),
        strange_classes=tuple(classes),
        corrections=(*truth.corrections, *found.corrections),
    )


class _FrameNames:
    """The truth's frames by key, by path and by the last part of it, each without the extension."""

    def __init__(self, truth: Given) -> None:
        listed = truth.frames[: truth.known_frames]
        self._keys = {key: number for number, key in enumerate(listed["key"]) if key}
        self._paths: dict[str, int | None] = {}
        self._stems: dict[str, int | None] = {}
        for number, names in enumerate(listed["name"]):
            for name in names.split("\n") if names else ():
                path = stem_of(plain_path(name))
                _enter(self._paths, path, number)
                _enter(self._stems, path.rpartition("/")[2], number)

    def find(self, name: str) -> int | None:
        """Return the frame that `name` means: its whole path, else the last part where that is one frame's."""
        if name in self._keys:
            return self._keys[name]
        path = stem_of(plain_path(name))
        found = self._paths.get(path)
        return found if found is not None else self._stems.get(path.rpartition("/")[2])


def _enter(names: dict[str, int | None], name: str, number: int) -> None:
    names[name] = number if names.get(name, number) == number else None


def _listed(names: pl.Series, truth: Given) -> list[str]:
    return names[: truth.known_classes].to_list()


def _places(found: Sequence[int | None], names: Sequence[str], known: int) -> tuple[Ints, list[str]]:
    """Return a place for everything; what is not known comes after the known ones."""
    strange = list(dict.fromkeys(name for name, place in zip(names, found, strict=True) if place is None))
    place_of = {name: known + number for number, name in enumerate(strange)}
    places = [place_of[name] if place is None else place for name, place in zip(names, found, strict=True)]
    return np.array(places, np.int64), strange


def _recoded(
    boxes: RawBoxes,
    known: tuple[int, int],
    frames: tuple[Sequence[str], Sequence[str]],
    classes: tuple[Sequence[str], Sequence[str]],
) -> RawBoxes:
    """Return boxes whose strangers are numbered as they are in both sides together."""
    frame = _moved(boxes.frame, known[0], *frames)
    return replace(boxes, frame=frame, label=_moved(boxes.label, known[1], *classes))


def _moved(codes: Ints, known: int, old: Sequence[str], new: Sequence[str]) -> Ints:
    if not old:
        return codes
    place = {name: number for number, name in enumerate(new)}
    moved = np.array([place[name] for name in old], np.int64) + known
    return np.where(codes < known, codes, moved[np.maximum(codes - known, 0)])
