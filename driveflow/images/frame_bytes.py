"""Where the encoded bytes of frames come from, for who needs nothing but these."""

from typing import Protocol


class FrameBytes(Protocol):
    """Gives the encoded bytes of a frame, checked against its digest; safe to use from many threads."""

    def read(self, frame_id: str) -> bytes:
        """Return the encoded bytes of a frame."""
