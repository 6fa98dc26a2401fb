"""Read a step's settings, which arrive as JSON text, into the records that trades take."""

import functools
from dataclasses import asdict
from typing import Any, TypeVar, cast

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError

Section = TypeVar("Section")


def read_section(kind: "type[Section]", value: Json) -> Section:
    """Return `value` as the frozen record `kind`, checked."""
    from pydantic import ValidationError

    try:
        section: Section = _adapter(cast("Any", kind)).validate_python(value)
    except ValidationError as error:
        raise InvalidInputError(f"The settings are no {kind.__name__}: {error}") from error
    return section


def write_section(section: Any) -> Json:  # noqa: ANN401 any frozen record
    """Return the record `section` as plain JSON values."""
    return _plain(asdict(section))


@functools.cache
def _adapter(kind: Any) -> Any:  # noqa: ANN401 a type known at run time only
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _plain(value: Any) -> Json:  # noqa: ANN401 what asdict returns
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value  # type: ignore[no-any-return]
