"""Find what an export to a format would leave out, before anything is written."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError
from driveflow.formats.carries import Carries, spellings
from driveflow.formats.export import Export, has_cell
from driveflow.formats.frame_walk import class_lists

Said: TypeAlias = Mapping[str, Json]
_AT_ONCE: Final = 65_536
_ROUNDING_PX: Final = 0.5  # cut by less is rounding


def refuse_losses(export: Export, carries: Carries) -> None:
    """Raise where an export would not come back as it is.

    Raises:
        InvalidInputError: it would lose something; all of it is listed with its count.
    """
    lost = losses(export, carries)
    if lost:
        told = "".join(f"\n  {sentence}" for sentence in lost)
        raise InvalidInputError(f"{carries.title} cannot carry all of this, and --lossy would leave it out:{told}")


def losses(export: Export, carries: Carries) -> tuple[str, ...]:
    """Return what an export to the format leaves out of frames and boxes, as sentences with counts."""
    return tuple(
        sentence for find in (_ignored, _scored, _looked_for, _spelled, _attributes, _mixed, _of_frames, _cut)
        for sentence in find(export, carries)
    )  # fmt: skip


def left_out(export: Export, carries: Carries) -> tuple[str, ...]:
    """Return all that an export to the format does not say, as sentences with counts."""
    return losses(export, carries) + _provenance(export, carries) + tuple(_drives(export))


def _drives(export: Export) -> Iterator[str]:
    """Say how many frames hold several drives together: in no format is there a place for more than one a picture."""
    drives = export.sources.select(["frame_id", "drive"]).group_by("frame_id").aggregate([("drive", "count_distinct")])
    several = _true(pc.greater(drives["drive_count_distinct"], 1))
    if several:
        yield f"{several} frames are of several drives: only the first comes back, and holds no others together."


def _provenance(export: Export, carries: Carries) -> tuple[str, ...]:
    """Return what is left out of where boxes come from: nothing is refused for it."""
    names = ("guideline",) if carries.annotator else ("annotator", "guideline")
    lost = [(name, export.boxes.num_rows - export.boxes[name].null_count) for name in names]
    return tuple(f"{carries.title} has no place for the {name} of {boxes} boxes." for name, boxes in lost if boxes)


def _ignored(export: Export, carries: Carries) -> Iterator[str]:
    is_drawn = pc.is_null(export.boxes["score"])
    ignored = _true(pc.and_(export.boxes["ignore"], is_drawn))
    if carries.ignore == "no" and ignored:
        yield f"{carries.title} has no ignore regions: {ignored} boxes are left out."
    if carries.ignore == "every class" and ignored:
        some = _ignored_for_some(export, is_drawn)
        if some:
            yield f"{carries.title} ignores for every class alike: {some} ignore regions of some classes get wider."
    guessed = _true(export.boxes["ignore"]) - ignored
    if carries.ignore == "every class" and carries.scores and guessed:
        yield f"{carries.title} has no predictions that are ignored: {guessed} boxes with a score come back as others."


def _ignored_for_some(export: Export, is_drawn: pa.ChunkedArray) -> int:
    """Return how many ignore regions are not ignored for every class of the export."""
    corners = ["frame_id", "x1", "y1", "x2", "y2"]
    regions = export.boxes.filter(pc.and_(export.boxes["ignore"], is_drawn)).group_by(corners)
    counts = regions.aggregate([("class_name", "count_distinct")])["class_name_count_distinct"]
    return _true(pc.multiply(counts, pc.cast(pc.less(counts, len(export.classes)), pa.int64())))


def _scored(export: Export, carries: Carries) -> Iterator[str]:
    scored = export.boxes.num_rows - export.boxes["score"].null_count
    if scored and not carries.scores:
        yield f"{carries.title} has no predictions: {scored} boxes with a score are left out."


def _looked_for(export: Export, carries: Carries) -> Iterator[str]:
    if carries.partly:
        return
    everything = set(export.classes)
    partly = sum(some for names, some in class_lists(export.frames).items() if names and set(names) != everything)
    unlabeled = export.frames.filter(pc.equal(pc.list_value_length(export.frames["annotated_classes"]), 0))
    truth = _plain(export) if carries.ignore == "no" else export.boxes.filter(pc.is_null(export.boxes["score"]))
    drawn = truth["frame_id"].filter(pc.is_in(truth["frame_id"], value_set=unlabeled["frame_id"].combine_chunks()))
    partly += len(drawn.unique())
    if partly:
        yield f"{carries.title} cannot say which classes were looked for: {partly} frames seem complete and are not."


def _spelled(export: Export, carries: Carries) -> Iterator[str]:
    odd = {name: word for name, word in spellings(export.classes, carries.spelled).items() if name != word}
    for name, word in odd.items():
        boxes = _true(pc.equal(export.boxes["class_name"], name))
        yield f"{carries.title} cannot spell the class {name!r} of {boxes} boxes: it is written {word!r}."


def _attributes(export: Export, carries: Carries) -> Iterator[str]:
    kept = export.boxes
    if not carries.scores:
        kept = kept.filter(pc.is_null(kept["score"]))
    what = f"{carries.title} has no place for"
    regions = kept.filter(kept["ignore"])["attributes"]
    if carries.ignore == "every class":
        yield from _unfit(regions, _of_regions, what, "ignore regions")
    elif carries.ignore == "yes":
        yield from _unfit(regions, partial(carries.fitting, ignored=True), what, "ignore regions")
    yield from _unfit(kept.filter(pc.invert(kept["ignore"]))["attributes"], carries.fitting, what, "boxes")


def _mixed(export: Export, carries: Carries) -> Iterator[str]:
    """Yield a sentence for each attribute that is now of one kind, now of another, where a format has one for all."""
    if carries.kind is None:
        return
    drawn = _plain(export)
    for name in export.classes:
        kinds: dict[str, Counter[str]] = {}
        for said, boxes in _said(drawn.filter(pc.equal(drawn["class_name"], name))["attributes"]):
            for key, value in said.items():
                if carries.fits(key, value) and (kind := carries.kind(key, value)):
                    kinds.setdefault(key, Counter())[kind] += boxes
        for key, counts in sorted(kinds.items()):
            if len(counts) > 1:
                others = counts.total() - counts["text"]
                told = f"{carries.title} has one kind of attribute {key!r} for {name!r}"
                yield f"{told}: of {others} boxes it becomes text."


def _of_frames(export: Export, carries: Carries) -> Iterator[str]:
    judge, beside = carries.frame_attributes, bool(export.sources.num_rows)

    def fits(name: str, value: Json) -> bool:
        return judge(name, value) if judge else beside and has_cell(name, value)

    def fitting(said: Said) -> Said:
        return {name: value for name, value in said.items() if fits(name, value)}

    yield from _unfit(export.frames["attributes"], fitting, f"{carries.title} has no place for", "frames")


def _cut(export: Export, carries: Carries) -> Iterator[str]:
    if carries.beyond_edge:
        return
    sizes = export.frames.select(["frame_id", "width", "height"])
    boxes = _plain(export).select(["frame_id", "x1", "y1", "x2", "y2"]).join(sizes, "frame_id")
    over = [
        pc.less(boxes["x1"], -_ROUNDING_PX), pc.greater(pc.subtract(boxes["x2"], boxes["width"]), _ROUNDING_PX),
        pc.less(boxes["y1"], -_ROUNDING_PX), pc.greater(pc.subtract(boxes["y2"], boxes["height"]), _ROUNDING_PX),
    ]  # fmt: skip
    beyond = _true(pc.or_(pc.or_(over[0], over[1]), pc.or_(over[2], over[3])))
    if beyond:
        yield f"{carries.title} has no boxes beyond the edge of the picture: {beyond} boxes are cut there."


def _unfit(texts: pa.ChunkedArray, fitting: Callable[[Said], Said], what: str, whose: str) -> Iterator[str]:
    """Yield a sentence for each attribute of which values do not fit."""
    lost: Counter[str] = Counter()
    for said, rows in _said(texts):
        lost.update(dict.fromkeys(said.keys() - fitting(said).keys(), rows))
    for key, rows in sorted(lost.items()):
        yield f"{what} the attribute {key!r} of {rows} {whose}."


def _said(texts: pa.ChunkedArray) -> Iterator[tuple[dict[str, Json], int]]:
    """Yield attributes that say something, and of how many rows they are; they are decoded a few at a time."""
    counts = texts.value_counts()
    for start in range(0, len(counts), _AT_ONCE):
        for item in counts[start : start + _AT_ONCE].to_pylist():
            if item["values"] and item["values"] != "{}":
                yield json.loads(item["values"]), item["counts"]


def _plain(export: Export) -> pa.Table:
    plain = pc.and_(pc.is_null(export.boxes["score"]), pc.invert(export.boxes["ignore"]))
    return export.boxes.filter(plain)


def _true(values: pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)


def _of_regions(said: Said) -> Said:
    """Return what the data that was read calls a region: the next reader says what it found."""
    return {name: value for name, value in said.items() if name == "foreign_class"}
