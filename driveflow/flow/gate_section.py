"""The parts of the gate's section that are lists of records."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from driveflow.flow.fields import STRICT as _STRICT
from driveflow.flow.fields import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSliceSection:
    """A slice with a margin of its own; a `required` one must be proven not worse."""

    __pydantic_config__ = _STRICT
    name: Annotated[str, Field(min_length=1)]
    required: bool = False
    max_drop: Share = 0.1
