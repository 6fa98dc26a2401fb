"""Hand the boxes that a reader makes row by row to its builder, some at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from driveflow.formats.label_set import LabelSetBuilder

_AT_ONCE: Final = 20_000


@dataclass(slots=True)
class BoxRows:
    """Boxes on their way into `builder`, which keeps them as tables: as rows they take many times the memory."""

    builder: LabelSetBuilder
    _rows: list[Mapping[str, object]] = field(default_factory=list)

    def add(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Add rows as `LabelSetBuilder.add_box_rows` takes them."""
        for row in rows:
            self._rows.append(row)
            if len(self._rows) >= _AT_ONCE:
                self.flush()

    def flush(self) -> None:
        """Hand on what is left."""
        self.builder.add_box_rows(self._rows)
        self._rows.clear()
