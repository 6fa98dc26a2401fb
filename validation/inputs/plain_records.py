"""Records of numbers and boxes as columns, millions at once; nearly all of COCO's files have no others."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from validation.model.scene import Floats, Ints

if TYPE_CHECKING:
    from validation.inputs.plain_kernel import Fields

_WORD: Final = 8  # bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a record by kind.

    All of `whole` (whole numbers), and `bbox`, are in every record. The others may be missing or null: `numbers`,
    `flags` (0, 1, true or false), `nothing` (an object without anything in it). What else a record has is skipped.
    """

    whole: tuple[str, ...]
    numbers: tuple[str, ...]
    flags: tuple[str, ...] = ()
    nothing: tuple[str, ...] = ()

    @property
    def least_bytes(self) -> int:
        """Fewer than any record has."""
        return sum(len(name) + 4 for name in (*self.whole, "bbox"))


@dataclass(frozen=True, slots=True)
class PlainColumns:
    """Records as columns: numbers are NaN, flags -1 where nothing is said."""

    whole: Mapping[str, Ints]
    numbers: Mapping[str, Floats]
    flags: Mapping[str, NDArray[np.int8]]
    corners: Floats
    size: Floats

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self.corners)


def read_plain(data: bytes | memoryview, layout: Layout, *, comma: bool = False) -> tuple[PlainColumns, int]:
    """Return the records at the beginning of `data`, one comma between two, and where the rest begins.

    `comma`: one stands before the first record too. The rest begins where the data end within a record, where no other
    record follows, or with the first one that is not of `layout`: that one may be right or wrong, and is not read here.
    Numbers are the doubles nearest to what is written.
    """
    from validation.inputs.plain_kernel import Columns, read_records

    most = len(data) // layout.least_bytes + 1
    out = Columns(  # room that is not written to costs nothing
        np.empty((len(layout.whole), most), np.int64),
        np.empty((len(layout.numbers), most)),
        np.empty((len(layout.flags), most), np.int8),
        np.empty((most, 4)),
        np.empty((most, 2)),
    )
    text = np.zeros(len(data) // _WORD + 3, np.uint64)
    text.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    fields = _fields(layout)
    rows, at = read_records(text, comma, fields, np.arange(len(fields.length)), out)
    columns = PlainColumns(
        {name: out.whole[number, :rows] for number, name in enumerate(layout.whole)},
        {name: out.numbers[number, :rows] for number, name in enumerate(layout.numbers)},
        {name: out.flags[number, :rows] for number, name in enumerate(layout.flags)},
        out.corners[:rows],
        out.size[:rows],
    )
    return columns, at


@functools.cache
def _fields(layout: Layout) -> "Fields":
    """Return what the kernel is told of a layout; `bbox` is no column."""
    from validation.inputs.plain_kernel import BOX, EMPTY, FLAG, NUMBER, WHOLE, Fields

    kinds = {WHOLE: layout.whole, BOX: ("bbox",), NUMBER: layout.numbers, FLAG: layout.flags, EMPTY: layout.nothing}
    fields = [(name, kind, column) for kind, names in kinds.items() for column, name in enumerate(names)]
    names = [f'"{name}"'.encode() for name, _, _ in fields]
    longest = -(-max(map(len, names)) // _WORD) * _WORD
    return Fields(
        names=_words([name.ljust(longest, b"\0") for name in names]),
        masks=_words([(b"\xff" * len(name)).ljust(longest, b"\0") for name in names]),
        length=np.array([len(name) for name in names]),
        kind=np.array([kind for _, kind, _ in fields]),
        column=np.array([column for _, _, column in fields]),
        required=(1 << len(layout.whole) + 1) - 1,
    )


def _words(texts: list[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(texts), np.uint64).reshape(len(texts), -1)
