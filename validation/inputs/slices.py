"""What a person may write for slices: what the flow's slices are made of, or any other attribute that frames have."""

import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from driveflow.errors import UsageError
from driveflow.flow.sections import SliceSection
from driveflow.predicates import attribute
from validation.model.slice_words import DIMENSIONS, slice_sections

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_MOST_VALUES: Final = 100


def slices_of(words: Sequence[str], frames: pa.Table) -> tuple[tuple[SliceSection, ...], tuple[tuple[str, str], ...]]:
    """Return the slices that `words` mean: sections as in a flow, and a name and a condition for each other attribute.

    Raises:
        UsageError: a word is no dimension, no condition and no attribute, or an attribute has too many values.
    """
    plain = [name.strip() for word in words for name in word.split(",") if _NAME.fullmatch(name.strip())]
    own = [name for name in dict.fromkeys(plain) if name not in DIMENSIONS]
    found = {name: _values(name, frames) for name in own}
    known = {name for name, values in found.items() if values}
    sections = slice_sections(word for word in words if word.strip() not in known)
    return sections, tuple(pair for name in own if name in known for pair in found[name].items())


def _values(name: str, frames: pa.Table) -> dict[str, str]:
    values = sorted({str(value) for value in attribute(frames, name).tolist() if value})
    if len(values) > _MOST_VALUES:
        example = f"attributes.{name} = {_quoted(values[0])}"
        raise UsageError(f"{name!r} has {len(values):,} values; say a condition, such as {example}.")
    return {f"{name}/{value}": f"attributes.{name} = {_quoted(value)}" for value in values}


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
