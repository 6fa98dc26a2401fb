"""What of a snapshot a format has a place for, and what an export to it would leave out."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError
from driveflow.formats.export import Export, has_cell
from driveflow.formats.frame_walk import class_lists
from driveflow.formats.label_set import names_ignore_region

_SHOWN: Final = 5
_AT_ONCE: Final = 65_536
_ROUNDING_PX: Final = 0.5  # cut by less is rounding

Fits = Callable[[Json], bool]


def anything(value: Json) -> bool:  # noqa: ARG001 the face of all
    """Say that every value fits."""
    return True


def yes_or_no(value: Json) -> bool:
    """Tell whether `value` is true or false."""
    return isinstance(value, bool)


def number(value: Json) -> bool:
    """Tell whether `value` is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text(value: Json) -> bool:
    """Tell whether `value` is text that survives a format that trims it."""
    return isinstance(value, str) and bool(value) and value == value.strip()


def plain_name(class_name: str) -> str:
    """Return a class name as every format can spell it: readers trim it, and "DontCare" would not be a class.

    >>> plain_name(" traffic light "), plain_name("ignore")
    ('traffic light', 'ignore class')
    """
    name = class_name.strip()
    return f"{name} class" if names_ignore_region(name) else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Carries:
    """What a format has a place for; `attributes` are the keys of boxes it has, each with the values that fit.

    `ignore`: not at all, only regions that are ignored for every class, or class by class. `spelled` turns a class
    name into what the format can spell.
    """

    title: str
    ignore: Literal["no", "every class", "yes"] = "no"
    scores: bool = False
    partly: bool = False  # which classes were looked for, frame by frame
    class_list: bool = True  # without one, a class is only known by its boxes
    attributes: Mapping[str, Fits] = field(default_factory=dict)
    other_attributes: Fits | None = None  # for keys that `attributes` does not name
    frame_attributes: bool = False  # of any kind; else text goes to metadata.csv
    annotator: bool = False
    beyond_edge: bool = True
    spelled: Callable[[str], str] = plain_name

    def fits(self, key: str, value: Json) -> bool:
        """Tell whether the attribute of a box comes back as it is."""
        judge = self.attributes.get(key, self.other_attributes)
        return judge is not None and judge(value)


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
        sentence for find in (_ignored, _scored, _looked_for, _unseen, _spelled, _attributes, _of_frames, _cut)
        for sentence in find(export, carries)
    )  # fmt: skip


def provenance_losses(export: Export, carries: Carries) -> tuple[str, ...]:
    """Return what is left out of where boxes come from; nothing is refused for it."""
    names = ("guideline",) if carries.annotator else ("annotator", "guideline")
    lost = [(name, export.boxes.num_rows - export.boxes[name].null_count) for name in names]
    return tuple(f"{carries.title} has no place for the {name} of {boxes} boxes." for name, boxes in lost if boxes)


def spellings(classes: Sequence[str], spelled: Callable[[str], str]) -> dict[str, str]:
    """Return how each class is written: no two alike, and as it is where the format can spell it.

    >>> spellings(("a b", "a_b"), lambda name: name.replace(" ", "_"))
    {'a b': 'a_b_2', 'a_b': 'a_b'}
    """
    found = {name: name for name in classes if name and spelled(name) == name}
    taken = set(found)
    for name in classes:
        if name not in found:
            wish = spelled(name) or "class"
            words = (f"{wish}_{number}" if number > 1 else wish for number in count(1))
            found[name] = next(word for word in words if word not in taken)
            taken.add(found[name])
    return {name: found[name] for name in classes}


def _ignored(export: Export, carries: Carries) -> Iterator[str]:
    ignored = _true(export.boxes["ignore"])
    if carries.ignore == "no" and ignored:
        yield f"{carries.title} has no ignore regions: {ignored} boxes are left out."
    if carries.ignore == "every class" and ignored:
        some = _ignored_for_some(export)
        if some:
            yield f"{carries.title} ignores for every class alike: {some} ignore regions of some classes get wider."


def _ignored_for_some(export: Export) -> int:
    """Return how many ignore regions are not ignored for every class of the export."""
    corners = ["frame_id", "x1", "y1", "x2", "y2"]
    regions = export.boxes.filter(export.boxes["ignore"]).group_by(corners)
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
    truth = _truth(export)
    drawn = truth["frame_id"].filter(pc.is_in(truth["frame_id"], value_set=unlabeled["frame_id"].combine_chunks()))
    partly += len(drawn.unique())
    if partly:
        yield f"{carries.title} cannot say which classes were looked for: {partly} frames seem complete and are not."


def _unseen(export: Export, carries: Carries) -> Iterator[str]:
    if carries.class_list:
        return
    seen = set(_truth(export)["class_name"].unique().to_pylist())
    looked = set(pc.list_flatten(export.frames["annotated_classes"]).unique().to_pylist())
    unseen = [name for name in export.classes if name in looked - seen]
    if unseen:
        yield f"{carries.title} has no list of classes: that {_some(unseen)} was looked for and not found is left out."


def _spelled(export: Export, carries: Carries) -> Iterator[str]:
    odd = {name: word for name, word in spellings(export.classes, carries.spelled).items() if name != word}
    for name, word in odd.items():
        boxes = _true(pc.equal(export.boxes["class_name"], name))
        yield f"{carries.title} cannot spell the class {name!r} of {boxes} boxes: it is written {word!r}."


def _attributes(export: Export, carries: Carries) -> Iterator[str]:
    kept = export.boxes
    if not carries.scores:
        kept = kept.filter(pc.is_null(kept["score"]))
    if carries.ignore == "no":
        kept = kept.filter(pc.invert(kept["ignore"]))
    yield from _unfit(kept["attributes"], carries.fits, f"{carries.title} has no place for", "boxes")


def _of_frames(export: Export, carries: Carries) -> Iterator[str]:
    if not carries.frame_attributes:
        place = has_cell if export.sources.num_rows else _nowhere
        yield from _unfit(export.frames["attributes"], place, f"{carries.title} has no place for", "frames")


def _cut(export: Export, carries: Carries) -> Iterator[str]:
    if carries.beyond_edge:
        return
    sizes = export.frames.select(["frame_id", "width", "height"])
    boxes = _truth(export).select(["frame_id", "x1", "y1", "x2", "y2"]).join(sizes, "frame_id")
    over = [
        pc.less(boxes["x1"], -_ROUNDING_PX), pc.greater(pc.subtract(boxes["x2"], boxes["width"]), _ROUNDING_PX),
        pc.less(boxes["y1"], -_ROUNDING_PX), pc.greater(pc.subtract(boxes["y2"], boxes["height"]), _ROUNDING_PX),
    ]  # fmt: skip
    beyond = _true(pc.or_(pc.or_(over[0], over[1]), pc.or_(over[2], over[3])))
    if beyond:
        yield f"{carries.title} has no boxes beyond the edge of the picture: {beyond} boxes are cut there."


def _unfit(texts: pa.ChunkedArray, fits: Callable[[str, Json], bool], what: str, whose: str) -> Iterator[str]:
    """Yield a sentence for each attribute of which values do not fit; the rows are decoded a few at a time."""
    lost: Counter[str] = Counter()
    counts = texts.value_counts()
    for start in range(0, len(counts), _AT_ONCE):
        for item in counts[start : start + _AT_ONCE].to_pylist():
            if item["values"] and item["values"] != "{}":
                for key, value in json.loads(item["values"]).items():
                    lost[key] += 0 if fits(key, value) else item["counts"]
    for key, rows in sorted(lost.items()):
        if rows:
            yield f"{what} the attribute {key!r} of {rows} {whose}."


def _truth(export: Export) -> pa.Table:
    plain = pc.and_(pc.is_null(export.boxes["score"]), pc.invert(export.boxes["ignore"]))
    return export.boxes.filter(plain)


def _true(values: pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)


def _nowhere(name: str, value: Json) -> bool:  # noqa: ARG001 the face of `has_cell`
    return False


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
