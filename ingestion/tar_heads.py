"""Read the heads of a tar's members, never more of them than a member may have."""

import tarfile
from typing import IO, Final, Self, cast

from driveflow.errors import BrokenDataError

_MAX_HEAD_BYTES: Final = 1 << 20  # names, attributes and the map of a sparse file; they are read into memory


class BoundedEntry(tarfile.TarInfo):
    """A member whose head is read as a stranger's: the module believes every length that it says of itself."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        """Return the next member of `tarfile`.

        Raises:
            BrokenDataError: archive_broken, where its head is too large.
        """
        stream = tarfile.fileobj
        if isinstance(stream, _Head):  # the head behind a head: a long name, then the member that bears it
            return super().fromtarfile(tarfile)
        tarfile.fileobj = cast("IO[bytes]", _Head(cast("IO[bytes]", stream)))
        try:
            return super().fromtarfile(tarfile)
        finally:
            tarfile.fileobj = stream


class _Head:
    """The stream of a tar while the head of one member is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = _MAX_HEAD_BYTES

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            detail = f"the head of a member has more than {_MAX_HEAD_BYTES:,} bytes"
            raise BrokenDataError("archive_broken", detail)
        return self._stream.read(size)

    def seek(self, position: int) -> int:
        return self._stream.seek(position)

    def tell(self) -> int:
        return self._stream.tell()
