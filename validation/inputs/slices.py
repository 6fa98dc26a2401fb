"""What a person may write for slices: dimensions, any attribute that frames have, or a condition on frames."""

import json
import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.dimension_values import NOT_STATED
from driveflow.errors import UsageError
from driveflow.flow.sections import SliceSection
from validation.model.dimensions import quoted
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
        example = f"{column} = {values[min(values)][0]}"
        raise UsageError(f"{name!r} has {len(values):,} values; say a condition, such as {example}.")
    found = {
        f"{name}={value}": " or ".join(f"{column} = {literal}" for literal in values[value]) for value in sorted(values)
    }
    return found | ({} if is_whole else {f"{name}={NOT_STATED}": f"({column} is null or {column} = '')"})


def _given(name: str, frames: pa.Table, sources: pa.Table) -> tuple[dict[str, list[str]], bool]:
    """Return the values that frames have of a column or an attribute, and whether each frame has one.

    Each value is there as a condition spells it: a text in quotes, a number or a yes or no without; `1` and `'1'`, of
    different frames, are both of the value 1.
    """
    table = sources if name in sources.column_names else frames
    given = pc.unique(table[name]).to_pylist() if name in _COLUMNS else _said(frames, name)
    values: dict[str, list[str]] = {}
    for value in (value for value in given if value not in {None, ""}):
        text = _spelled(value)
        literals = values.setdefault(text, [])
        literals += [
            literal for literal in [quoted(text) if isinstance(value, str) else text] if literal not in literals
        ]
    return values, not any(value in {None, ""} for value in given)


def _spelled(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def _said(frames: pa.Table, name: str) -> list[str | float | bool | None]:
    """Return the values of an attribute, each once; a list or a record, which no condition compares, is None."""
    told = [json.loads(text).get(name) if text else None for text in pc.unique(frames["attributes"]).to_pylist()]
    known = [value if isinstance(value, str | int | float | None) else None for value in told]
    return list({(type(value), value): value for value in known}.values())
