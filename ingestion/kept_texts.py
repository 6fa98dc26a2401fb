"""Keep the label files of a batch that were read once: a few of them in memory, the rest on disk."""

import io
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from typing import Final

_MOST_BYTES: Final = 64 << 20  # in memory


class KeptTexts(Mapping[str, bytes]):
    """Bytes by place. What is more than fits into memory lies in a temporary file without a name; one batch owns it.

    Where there is no folder for temporary files, or no room in it, all stays in memory.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        """Start with nothing."""
        self._most_bytes = most_bytes
        self._held: dict[str, bytes] = {}
        self._held_bytes = 0
        self._spots: dict[str, tuple[int, int]] = {}  # beginning and length in the file
        self._file: io.FileIO | None = None

    def keep(self, place: str, data: bytes) -> None:
        """Keep the bytes of one file."""
        fits = self._held_bytes + len(data) <= self._most_bytes
        if fits or not self._set_aside(place, data):
            self._held[place] = data
            self._held_bytes += len(data)

    def __getitem__(self, place: str) -> bytes:
        """Return the bytes of the file at `place`."""
        if place in self._spots and self._file is not None:
            begin, length = self._spots[place]
            return os.pread(self._file.fileno(), length, begin)
        return self._held[place]

    def __contains__(self, place: object) -> bool:
        """Tell whether the file at `place` is kept; it is not read."""
        return place in self._held or place in self._spots

    def __iter__(self) -> Iterator[str]:
        """Yield every place."""
        yield from self._held
        yield from self._spots

    def __len__(self) -> int:
        """Return how many files are kept."""
        return len(self._held) + len(self._spots)

    def _set_aside(self, place: str, data: bytes) -> bool:
        """Tell whether the file took the bytes."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="driveflow-", buffering=0)  # noqa: SIM115 closed with these texts
                weakref.finalize(self, self._file.close)
            begin = self._file.seek(0, os.SEEK_END)
            if self._file.write(data) < len(data):  # as where the disk is full
                return False
        except OSError:
            return False
        self._spots[place] = (begin, len(data))
        return True
