"""The entries of a COCO file as columns: a file may have a million annotations, so nothing is done for each of them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias, TypeGuard

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from driveflow.canonical import Json, canonical_json
from driveflow.formats.coco_records import CocoAnnotation, Key, PlainAnnotation, PlainBox, key_text, plain_json
from driveflow.formats.json_text import number_of
from driveflow.formats.shapes import around_turned, turn_deg, with_turn

Annotations: TypeAlias = Sequence[CocoAnnotation] | Sequence[PlainAnnotation]
Numbers: TypeAlias = Mapping[str, npt.NDArray[np.float64]]
_MISSING: Final = [np.nan] * 4
_UNSET: Final = frozenset(["", "0", "0.0", "false", "no", "none"])


def key_column(keys: Sequence[Key]) -> pl.Series:
    """Return ids as text, as `key_text` spells them; whole numbers, which nearly all are, without a look at each.

    >>> key_column([7, 7.0, "7", None]).to_list(), key_column([1, 2]).to_list()
    (['7', '7', '7', ''], ['1', '2'])
    """
    numbers = whole_numbers(keys)
    if numbers is not None:
        return pl.Series(numbers).cast(pl.String)
    return pl.Series([key_text(key) for key in keys], dtype=pl.String)


def whole_numbers(keys: Sequence[Key]) -> npt.NDArray[np.int64] | None:
    """Return ids as numbers, None where any of them is something else.

    >>> whole_numbers([7, 8]), whole_numbers([7.0, 8]), whole_numbers([7.5, 8]), whole_numbers(["7"])
    (array([7, 8]), array([7, 8]), None, None)
    """
    try:
        numbers = pa.array(keys)  # of a type that is asked for, fractions would be cut off
        if numbers.null_count or not (pa.types.is_integer(numbers.type) or pa.types.is_floating(numbers.type)):
            return None if len(numbers) else np.zeros(0, np.int64)
        return np.asarray(numbers.cast(pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def as_ids(keys: Sequence[str], kind: pl.DataType) -> pl.Series:
    """Return ids as `annotation_columns` has them, null for those that no annotation can have.

    >>> as_ids(["7", "07", "x"], pl.Int64()).to_list(), as_ids(["7", "07", "x"], pl.String()).to_list()
    ([7, None, None], ['7', '07', 'x'])
    """
    texts = pl.Series(keys, dtype=pl.String)
    if kind != pl.Int64:
        return texts
    numbers = texts.cast(pl.Int64, strict=False)
    return pl.select(pl.when(numbers.cast(pl.String) == texts).then(numbers)).to_series()


def pixels(values: Sequence[float | None]) -> Sequence[int | None] | int | None:
    """Return sides of pictures as a column, one number where all are equal; None for what is no side."""
    known = {value: int(value) if value is not None and 0 < value < 2**31 else None for value in set(values)}
    if len(known) == 1:
        return next(iter(known.values()))
    return [known[value] for value in values]


def annotation_columns(annotations: Annotations) -> pl.DataFrame:
    """Return one row an annotation, in order.

    Columns are row, image and category (ids as whole numbers where all are, else as text), own_id, x1, y1, x2, y2,
    usable, ignore, attributes and score. A box is usable that has an area and finite corners; `own_id` is empty where
    it is not unique: ours (`box_id`) in its image, COCO's in the file.
    """
    if _are_plain(annotations):
        found = _spelled(plain_columns(annotations))
    else:
        found = _columns([whole(annotation) for annotation in annotations])
    x1, y1, x2, y2 = (found[name] for name in ("x1", "y1", "x2", "y2"))
    usable = x1.is_finite() & y1.is_finite() & x2.is_finite() & y2.is_finite() & (x2 > x1) & (y2 > y1)
    return found.with_columns(usable=usable).with_row_index("row")


def _are_plain(annotations: Annotations) -> TypeGuard[Sequence[PlainAnnotation]]:
    """Tell of which kind all annotations of a file are."""
    return bool(annotations) and isinstance(annotations[0], PlainAnnotation)


def plain_columns(annotations: Sequence[PlainAnnotation]) -> Numbers:
    """Return the numbers of all annotations as columns.

    MessagePack spells a record of nothing but numbers in the same count of bytes each time.
    """
    parts = [
        _records(msgspec.msgpack.encode(annotations[start : start + _AT_ONCE]))
        for start in range(0, len(annotations), _AT_ONCE)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _records(encoded: bytes) -> Numbers:
    """Return the columns of a list in MessagePack, which begins with a few bytes for how many records there are."""
    count = len(encoded) // _RECORD.itemsize
    raw = np.frombuffer(encoded, _RECORD, count, len(encoded) - count * _RECORD.itemsize)
    return {name: raw[name].astype(np.float64) for name in _RECORD.names or ()}


def _record_layout() -> np.dtype[np.void]:
    """Return where the numbers of a `PlainAnnotation` are in MessagePack: after each name and a byte for the type."""
    names: list[str] = []
    offsets: list[int] = []
    place = 1  # the count of fields
    for name in PlainAnnotation.__struct_fields__:
        place += 1 + len(name)
        if name == "bbox":
            names += PlainBox.__struct_fields__
            offsets += [place + 2 + 9 * number for number in range(4)]
            place += 1 + 4 * 9
        elif name in _NUMBERS:
            names.append(name)
            offsets.append(place + 1)
            place += 9
        else:
            place += 1  # null
    return np.dtype({"names": names, "formats": [">f8"] * len(names), "offsets": offsets, "itemsize": place})


_NUMBERS: Final = ("id", "image_id", "category_id", "iscrowd")
_AT_ONCE: Final = 8_192
_RECORD: Final = _record_layout()


def whole(annotation: CocoAnnotation | PlainAnnotation) -> CocoAnnotation:
    """Return `annotation` with all that one may have."""
    if isinstance(annotation, CocoAnnotation):
        return annotation
    keys = (annotation.id, annotation.image_id, annotation.category_id)
    return CocoAnnotation(*keys, list(msgspec.structs.astuple(annotation.bbox)), annotation.iscrowd)


def _spelled(numbers: Numbers) -> pl.DataFrame:
    """Return the columns of annotations that are nothing but numbers."""
    x, y, crowd = numbers["x"], numbers["y"], numbers["iscrowd"] != 0
    ids = pl.Series(numbers["id"].astype(np.int64))
    texts = ids.cast(pl.String)
    again = ids.is_duplicated() if (np.diff(numbers["id"]) <= 0).any() else None
    nothing = pl.lit("{}")
    attributes = pl.when("ignore").then(pl.lit('{"iscrowd":true}')).otherwise(nothing) if crowd.any() else nothing
    return pl.DataFrame(
        {
            "image": numbers["image_id"].astype(np.int64),
            "category": numbers["category_id"].astype(np.int64),
            "own_id": texts if again is None else texts.set(again, ""),
            "x1": x,
            "y1": y,
            "x2": x + numbers["width"],
            "y2": y + numbers["height"],
            "ignore": crowd,
        }
    ).with_columns(attributes=attributes, score=pl.lit(None, pl.Float64))


def _columns(annotations: Sequence[CocoAnnotation]) -> pl.DataFrame:
    image = key_column([annotation.image_id for annotation in annotations])
    turns = [_turn_deg(annotation) for annotation in annotations]
    boxes = [_upright(annotation.bbox, turn) for annotation, turn in zip(annotations, turns, strict=True)]
    x1, y1, x2, y2 = _corners(boxes).T
    attributes = [_attributes(annotation, turn) for annotation, turn in zip(annotations, turns, strict=True)]
    flags = [_is_set(annotation.iscrowd) or _is_set(annotation.ignore) for annotation in annotations]
    return pl.DataFrame(
        {
            "image": image,
            "category": key_column([annotation.category_id for annotation in annotations]),
            "own_id": _own_ids(annotations, image),
            "x1": x1,
            "y1": y1,
            "x2": x2,
            "y2": y2,
            "ignore": pl.Series(flags, dtype=pl.Boolean),
            "attributes": pl.Series(attributes, dtype=pl.String),
            "score": pl.Series([_score(annotation.score) for annotation in annotations], dtype=pl.Float64),
        }
    )


def _corners(boxes: Sequence[list[float] | None]) -> npt.NDArray[np.float64]:
    whole: Iterable[list[float]] = [box if box is not None and len(box) == 4 else _MISSING for box in boxes]
    corners = np.fromiter(chain.from_iterable(whole), np.float64, 4 * len(boxes)).reshape(-1, 4)
    corners[:, 2:] += corners[:, :2]
    return corners


def _upright(box: list[float] | None, rotation_deg: float) -> list[float] | None:
    """Return x, y, width and height of the box around what was drawn, which CVAT may have turned."""
    if not rotation_deg or box is None or len(box) != 4 or min(box[2:]) <= 0:
        return box
    x1, y1, x2, y2 = around_turned((box[0], box[1], box[0] + box[2], box[1] + box[3]), rotation_deg)
    return [x1, y1, x2 - x1, y2 - y1]


def _turn_deg(annotation: CocoAnnotation) -> float:
    """Return how far CVAT's export says that a box was turned: its corners are those before the turn.

    Our own, which have a `box_id`, are upright, whatever an attribute is called.
    """
    said = annotation.attributes if annotation.box_id is None else None
    turn = said.get("rotation") if isinstance(said, dict) and "occluded" in said else None
    return 0.0 if turn is None or isinstance(turn, str) else turn_deg(turn)


def _own_ids(annotations: Sequence[CocoAnnotation], image: pl.Series) -> pl.Series:
    ours = pl.Series([annotation.box_id or "" for annotation in annotations], dtype=pl.String)
    theirs = key_column([annotation.id for annotation in annotations])
    if not (ours != "").any():
        return pl.select(pl.when(theirs.is_duplicated()).then(pl.lit("")).otherwise(theirs)).to_series()
    ids = pl.DataFrame({"where": image, "id": ours, "other": theirs}).select(
        pl.when(pl.col("id") == "").then(pl.lit("")).otherwise(pl.col("where")).alias("where"),
        pl.when(pl.col("id") == "").then(pl.col("other")).otherwise(pl.col("id")).alias("id"),
    )
    return pl.select(pl.when(ids.is_duplicated()).then(pl.lit("")).otherwise(ids["id"])).to_series()


def _attributes(annotation: CocoAnnotation, rotation_deg: float) -> str:
    is_crowd = _is_set(annotation.iscrowd)
    if annotation.track_id is None and not annotation.attributes and not is_crowd:
        return "{}"
    found: dict[str, Json] = {}
    value = plain_json(annotation.attributes)
    if isinstance(value, dict):
        found.update(value)
    if rotation_deg:
        found = with_turn(found, rotation_deg)
    if annotation.track_id is not None:
        found["track_id"] = plain_json(annotation.track_id)
    if is_crowd and not _is_set(annotation.ignore):
        found["iscrowd"] = True
    return canonical_json(found) if found else "{}"


def _is_set(flag: object) -> bool:
    """Tell whether a flag is set: 1 or true, also where a tool writes all values as text."""
    return flag.strip().lower() not in _UNSET if isinstance(flag, str) else bool(flag)


def _score(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else number_of(value)
