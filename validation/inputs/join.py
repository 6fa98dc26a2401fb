"""Join truth and predictions by the names or ids of their frames and classes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from driveflow.errors import InvalidInputError
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.picture_finder import bare_stem
from validation.inputs.frame_names import frame_places
from validation.inputs.given import GIVEN_FRAMES, Given
from validation.model.raw import RawBoxes, RawScene
from validation.model.scene import Correction, Ints

_SHOWN = 3
_NO_IDS = (
    "; numbers of a COCO result list need a truth that has them: give the COCO file that they are of as --truth, or "
    "name pictures and classes in their place"
)


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions by the frames and classes that the truth lists, and the names of those that it does not."""

    boxes: RawBoxes
    strange_frames: Sequence[str] = ()
    strange_classes: Sequence[str] = ()
    corrections: tuple[Correction, ...] = ()


def by_names(truth: Given, found: Given) -> tuple[Given, Predicted]:
    """Return the truth, and predictions that name frames and classes themselves in its order, both in pixels.

    Raises:
        InvalidInputError: a frame may be several of the truth, or shares of a picture of unknown size meet pixels.
    """
    meant, loose = frame_places(truth, found)
    truth, found = _in_pixels(truth, found, meant)
    frame_names = [name or key for name, key in found.frames.select("name", "key").iter_rows()]
    frame, strange_frames = _places(meant, frame_names, truth.known_frames)
    class_place = {name: number for number, name in reversed(list(enumerate(_listed(truth.classes["name"], truth))))}
    key_place = {key: number for number, key in reversed(list(enumerate(_listed(truth.classes["key"], truth)))) if key}
    called = [name or f"class {key}" for key, name in found.classes.iter_rows()]
    places = [class_place.get(name, None if name else key_place.get(key)) for key, name in found.classes.iter_rows()]
    label, strange_classes = _places(places, called, truth.known_classes)
    boxes = replace(found.boxes, frame=frame[found.boxes.frame], label=label[found.boxes.label])
    return truth, Predicted(boxes, strange_frames, strange_classes, (*found.corrections, *loose))


def with_names_for_ids(truth: Given, found: Predicted, source: str) -> Predicted:
    """Return results by ids: where not one of these is the truth's, by the names of pictures or classes that they are.

    An id that is a number may also be that of a picture's name: 123 of `000123.jpg`.

    Raises:
        InvalidInputError: such a name may mean several pictures.
    """
    boxes, frames, classes, told = found.boxes, found.strange_frames, found.strange_classes, [*found.corrections]
    if len(boxes) and not (boxes.frame < truth.known_frames).any():
        places = _pictures_called(truth, found, source)
        told += _named_ids("image_id_is_name", "picture", frames, places)
        codes, frames = _places(places, frames, truth.known_frames)
        boxes = replace(boxes, frame=codes[boxes.frame - truth.known_frames])
    if len(boxes) and not (boxes.label < truth.known_classes).any():
        named = {name: number for number, name in reversed(list(enumerate(_listed(truth.classes["name"], truth))))}
        places = [named.get(name) for name in classes]
        told += _named_ids("category_id_is_name", "class", classes, places)
        codes, classes = _places(places, classes, truth.known_classes)
        boxes = replace(boxes, label=codes[boxes.label - truth.known_classes])
    joined = Predicted(boxes, frames, classes, tuple(told))
    return replace(joined, corrections=(*told, *_doubtful_ids(truth, joined)))


def refuse_strangers(truth: Given, found: Predicted, source: str, *, by_ids: bool) -> None:
    """Raise where nothing was predicted of what the truth lists: such a 0 would say nothing of a model.

    `by_ids`: predictions name frames by the truth's ids, and by nothing else.

    Raises:
        InvalidInputError: not one prediction is of a frame, or not one of a class, that the truth lists.
    """
    if not len(found.boxes):
        return
    if not (found.boxes.frame < truth.known_frames).any():
        listed = truth.frames[: truth.known_frames].select("key", "name")
        has_ids = by_ids and any(listed["key"]) and truth.sources is None  # those of a snapshot are digests
        known = _known(listed, by_ids=by_ids)
        ids = ", a COCO result list by the truth's ids" if has_ids else _NO_IDS if by_ids else ""
        raise InvalidInputError(
            f"{source}: no prediction is of a frame of the truth: it names {list(found.strange_frames[:_SHOWN])}, "
            f"the truth has {known}. Both must name pictures alike{ids}."
        )
    if truth.known_classes and not (found.boxes.label < truth.known_classes).any():
        known = _known(truth.classes[: truth.known_classes], by_ids=by_ids)
        ids = _NO_IDS if by_ids and not any(_listed(truth.classes["key"], truth)) else ""
        raise InvalidInputError(
            f"{source}: no prediction is of a class of the truth: it says {list(found.strange_classes[:_SHOWN])}, the "
            f"truth has {known}. Both must name classes alike{ids}."
        )


def _known(listed: pl.DataFrame, *, by_ids: bool) -> list[str]:
    """Return what the truth calls its first frames or classes, with their ids where predictions go by these."""
    rows = listed.select("key", "name").head(_SHOWN).iter_rows()
    return [f"{key} ({name})" if by_ids and key and name else name or key for key, name in rows]


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


def _in_pixels(truth: Given, found: Given, meant: Sequence[int | None]) -> tuple[Given, Given]:
    """Return both sides in pixels, where a size of a picture that one side says serves the other."""
    number_of = {place: number for number, place in enumerate(meant) if place is not None}
    one = truth.with_sizes(_sizes(found, [number_of.get(place) for place in range(len(truth.frames))]))
    other = found.with_sizes(_sizes(truth, meant))
    return one.in_pixels(other_has_shares=other.has_shares), other.in_pixels(other_has_shares=one.has_shares)


def _sizes(side: Given, rows: Sequence[int | None]) -> pl.DataFrame:
    """Return width and height of the frames at `rows`, null where that is none."""
    return side.frames.select(pl.col("width", "height").gather(pl.Series(rows, dtype=pl.UInt32)))


def _pictures_called(truth: Given, found: Predicted, source: str) -> list[int | None]:
    """Return the truth's frame for each stranger among the frames, by its name or by the number that its name is."""
    names = found.strange_frames
    whole = [name if kind_of(name) == "picture" else f"{name}.jpg" for name in names]  # 1.5 is no 1 with an extension
    frames = pl.DataFrame([("", name, None, None, "", "", "{}") for name in whole], schema=GIVEN_FRAMES, orient="row")
    called = truth.frames.with_columns(name=pl.when(pl.col("name") == "").then("key").otherwise("name"))
    places, _loose = frame_places(
        replace(truth, frames=called),
        replace(truth, source=source, frames=frames, boxes=found.boxes, known_frames=len(frames), uploads=False),
    )
    rows = _rows_by_number(truth)
    return [rows.get(name) if place is None else place for place, name in zip(places, names, strict=True)]


def _rows_by_number(truth: Given) -> dict[str, int]:
    """Return the truth's frames whose pictures have a number for a name, by this number, where it is of one alone."""
    names = truth.frames["name"][: truth.known_frames].to_list()
    stems = [bare_stem(name) for name in names]
    numbers = [str(int(stem)) if stem.isdecimal() else "" for stem in stems]
    count = Counter(numbers)
    return {number: row for row, number in enumerate(numbers) if number and count[number] == 1}


def _doubtful_ids(truth: Given, found: Predicted) -> list[Correction]:
    """Say where ids are the truth's in part only, and all of them would be something else: numbers of names, or places.

    Such predictions stand at the wrong pictures or classes, and nothing but a low number would tell.
    """
    told = []
    if found.strange_frames:
        keys, rows = truth.frames["key"][: truth.known_frames], _rows_by_number(truth)
        used = [
            *keys.gather(np.unique(found.boxes.frame[found.boxes.frame < truth.known_frames])),
            *found.strange_frames,
        ]
        if all(key in rows for key in used):
            done = "counted by the truth's ids; all are numbers of names too (12 of 012.jpg): were these meant?"
            told.append(Correction("image_ids_may_be_names", len(used), tuple(found.strange_frames[:_SHOWN]), done))
    ids = set(_listed(truth.classes["key"], truth))
    if list(found.strange_classes) == ["0"] and ids == {str(number + 1) for number in range(len(ids))}:
        done = "counted by the truth's ids, which begin with 1; do those of the predictions begin with 0?"
        told.append(Correction("category_ids_may_begin_with_zero", 1, ("category 0",), done))
    return told


def _named_ids(kind: str, what: str, names: Sequence[str], places: Sequence[int | None]) -> list[Correction]:
    found = [name for name, place in zip(names, places, strict=True) if place is not None]
    done = f"counted as the {what} of that name: the truth's ids are others"
    return [Correction(kind, len(found), tuple(found[:_SHOWN]), done)] if found else []


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
