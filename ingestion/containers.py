"""What every container of files is to the import: archives, recordings, tables with pictures in them.

A container lists its members once and is then read from its beginning to its end; nothing of it is unpacked to a disk.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from driveflow.errors import BrokenDataError

RECORDING_TEXT = "recording.json"
"""The member in which a recording tells what else it holds: times, places, boxes, and what could not be read."""

Opener = Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True)
class Member:
    """One file in a container; `refused` is a reason code, empty where the member may be read.

    A refused member without a name stands for something the container itself has lost.
    """

    number: int  # position in the container; those that may be read have one of their own
    name: str  # with "/" between its parts and no leading "./"
    byte_count: int  # of a frame with a `frame_id`: of its pixels, three bytes each
    refused: str = ""
    detail: str = ""
    frame_id: str = ""  # of a frame known by its place in a recording; empty: it is the sha256 of the bytes


class Container(Protocol):
    """A file that holds files. It keeps no file open between calls, and holds a bounded part of it in memory."""

    def members(self) -> Sequence[Member]:
        """Return the members in their order, those included that must not be read.

        Raises:
            BrokenDataError: nothing of the container can be used.
        """

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the members at `numbers` in the order of the container; one that cannot be read comes as its error.

        Raises:
            BrokenDataError: the container cannot be read any further.
        """
