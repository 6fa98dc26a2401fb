"""What a person may write for slices: dimensions, any attribute that frames have, or a condition on frames."""

import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.dimension_values import NOT_STATED
from driveflow.errors import UsageError
from driveflow.flow.sections import SliceSection
from driveflow.predicates import attribute
from validation.model.slice_words import DIMENSIONS, sections_of

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_COLUMNS: Final = ("camera", "drive", "drive_group", "split")
_OF_FRAMES: Final = frozenset([*_COLUMNS, "time_of_day", "weather"])
_MOST_VALUES: Final = 100

Conditions = tuple[tuple[str, str], ...]


def slices_of(words: Sequence[str], frames: pa.Table, sources: pa.Table) -> tuple[tuple[SliceSection, ...], Conditions]:
    """Return the slices that `words` mean: sections along dimensions, and names with conditions on frames.

    Raises:
        UsageError: a word is no dimension, no condition and no attribute, or an attribute has too many values.
    """
    sections, others = sections_of(words)
    found: dict[str, str] = {}
    for word in others:
        found |= _values(word, frames, sources) if _NAME.fullmatch(word) else {word: word}
    return sections, tuple(found.items())


def _values(name: str, frames: pa.Table, sources: pa.Table) -> dict[str, str]:
    column = name if name in _COLUMNS else f"attributes.{name}"
    values, is_whole = _given(name, frames, sources)
    if not values:
        words = dict.fromkeys([*DIMENSIONS, *_COLUMNS])
        known = ", ".join(word for word in words if word not in _OF_FRAMES or _given(word, frames, sources)[0])
        raise UsageError(f"{name!r}: no frame has such an attribute. Known here: {known}, and conditions on frames.")
    if len(values) > _MOST_VALUES:
        example = f"{column} = {_quoted(values[0])}"
        raise UsageError(f"{name!r} has {len(values):,} values; say a condition, such as {example}.")
    silent = {} if is_whole else {f"{name}={NOT_STATED}": f"({column} is null or {column} = '')"}
    return {f"{name}={value}": f"{column} = {_quoted(value)}" for value in values} | silent


def _given(name: str, frames: pa.Table, sources: pa.Table) -> tuple[list[str], bool]:
    """Return the values that frames have of a column or an attribute, and whether each of them has one."""
    table = sources if name in sources.column_names else frames
    given = pc.unique(table[name]).to_pylist() if name in _COLUMNS else attribute(frames, name).tolist()
    return sorted({str(value) for value in given if value}), all(given)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
