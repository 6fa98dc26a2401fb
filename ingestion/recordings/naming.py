"""Names and identities of frames that lie in a recording."""

import hashlib
import re
from typing import BinaryIO, Final

from driveflow.canonical import digest

_ODD: Final = re.compile(r"[^A-Za-z0-9.-]+")
_PIECE_BYTES: Final = 8 << 20
_SIGNATURES: Final = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"), (b"BM", ".bmp"))


def container_digest(stream: BinaryIO) -> str:
    """Return the sha256 of all that `stream` holds."""
    whole = hashlib.sha256()
    while piece := stream.read(_PIECE_BYTES):
        whole.update(piece)
    return whole.hexdigest()


def frame_identity(container: str, stream: str, stamp: int) -> str:
    """Return the id of the frame that a stream of a container shows at `stamp`, in the stream's own unit."""
    return digest({"container": container, "stream": stream, "stamp": stamp})


def ending_of(data: bytes) -> str:
    """Return what the name of a picture should end in by its first bytes, empty where they are of no known kind."""
    return next((ending for signature, ending in _SIGNATURES if data.startswith(signature)), "")


def name_of_turn(stream: str, turn: int) -> str:
    """Return the name of a frame by its turn in a video, as annotation tools call it: they know videos by numbers.

    >>> name_of_turn("video", 12)
    'video/frame_000012.jpg'
    """
    return f"{stream}/frame_{turn:06d}.jpg"


class FrameNames:
    """Gives every picture of a log a name of its own, "<camera>/<stamp>.jpg", that sorts by time."""

    def __init__(self) -> None:
        """Start with no name taken."""
        self._taken: dict[str, int] = {}  # with the last number that was put behind it: a clock may stand still

    def take(self, camera: str, stamp_ns: int, ending: str) -> str:
        """Return the name for a frame; one that is taken gets a number."""
        folder = _ODD.sub("_", camera).strip("._-") or "camera"
        name = first = f"{folder}/{stamp_ns:019d}{ending}"
        turn = self._taken.get(first, 1)
        while name in self._taken:
            turn += 1
            name = f"{folder}/{stamp_ns:019d}-{turn}{ending}"
        self._taken[first] = turn
        self._taken.setdefault(name, 1)
        return name
