"""An animated GIF as a container of its frames, each shown after the delays of those before it."""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageSequence

from driveflow.errors import BrokenDataError
from driveflow.formats.recording_text import RecordedFrame, RecordingText, write_recording
from driveflow.images.quiet import quiet
from ingestion.containers import RECORDING_TEXT, Member, Opener
from ingestion.recordings.naming import container_digest, frame_identity, name_of_turn
from ingestion.recordings.raw_pictures import encode_pixels

_MAX_PIXELS = 10_000_000  # of a frame: the decoder keeps several, of four bytes each
_MAX_PIXELS_IN_ALL = 20_000_000_000
_NS_IN_MS = 10**6
_BROKEN = (OSError, ValueError, EOFError, SyntaxError, IndexError, TypeError, MemoryError, Image.DecompressionBombError)


@dataclass(slots=True)
class AnimationContainer:
    """A GIF; its frames are numbered as they are shown, the text comes last."""

    opener: Opener
    every_s: float
    max_members: int
    _text: bytes = field(default=b"", repr=False)
    _text_number: int = -1

    def members(self) -> Sequence[Member]:
        """Return a member for every frame that is wanted, and the text.

        Raises:
            BrokenDataError: recording_broken, too_large, or archive_too_large.
        """
        with self.opener() as stream:
            digest = container_digest(stream)
        last_ms = -math.inf
        members: list[Member] = []
        frames: list[RecordedFrame] = []
        stamps, pixels, lost = self._stamps()
        for number, stamp_ms in enumerate(stamps):
            if stamp_ms - last_ms < 1000 * self.every_s:
                continue
            last_ms = stamp_ms
            name = name_of_turn("gif", number)
            frame_id = frame_identity(digest, str(number), stamp_ms)  # frames without a delay share a time
            members.append(Member(number, name, 3 * pixels, frame_id=frame_id))
            frames.append(RecordedFrame(name, stamp_ns=stamp_ms * _NS_IN_MS))
        self._text_number = len(stamps)
        self._text = write_recording(RecordingText(frames=tuple(frames)))
        return [*members, Member(self._text_number, RECORDING_TEXT, len(self._text)), *lost]

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the frames at `numbers` as JPEG."""
        wanted = set(numbers)
        frames = wanted - {self._text_number}
        if frames:
            last = max(frames)
            with self._opened() as image:
                for number, frame in enumerate(ImageSequence.Iterator(image)):
                    if number in frames:
                        yield number, encode_pixels(np.asarray(frame.convert("RGBA").convert("RGB")))
                    if number >= last:
                        break
        if self._text_number in wanted:
            yield self._text_number, self._text

    def _stamps(self) -> tuple[list[int], int, list[Member]]:
        """Return when each frame is shown, in milliseconds, how many pixels each has, and what is lost."""
        stamps: list[int] = []
        lost: list[Member] = []
        now_ms = 0
        with self._opened() as image:
            pixels = math.prod(image.size)
            try:
                for frame in ImageSequence.Iterator(image):
                    frame.load()
                    stamps.append(now_ms)
                    now_ms += int(frame.info.get("duration", 0))
                    self._check_count(len(stamps), pixels)
            except _BROKEN as error:
                if not stamps or isinstance(error, BrokenDataError):
                    raise
                detail = f"after {len(stamps)} frames no more can be read: {error}"
                lost.append(Member(-1, "", 0, "recording_cut_short", detail))
        return stamps, pixels, lost

    def _check_count(self, count: int, pixels: int) -> None:
        if count > self.max_members or count * pixels > _MAX_PIXELS_IN_ALL:
            raise BrokenDataError("archive_too_large", f"more than {count - 1:,} frames")

    @contextmanager
    def _opened(self) -> Iterator[Image.Image]:
        with self.opener() as stream, quiet():
            try:
                with Image.open(stream, formats=["GIF"]) as image:
                    _check_size(*image.size)
                    yield image
            except BrokenDataError:
                raise
            except _BROKEN as error:
                raise BrokenDataError("recording_broken", f"cannot be read: {error}") from error


def _check_size(width: int, height: int) -> None:
    if width * height > _MAX_PIXELS:
        raise BrokenDataError("too_large", f"frames of {width}x{height}; at most {_MAX_PIXELS:,} pixels")


def is_animation(opener: Opener) -> bool:
    """Tell whether there is a GIF with more than one frame; what cannot be opened is none."""
    with opener() as stream, quiet():
        try:
            with Image.open(stream, formats=["GIF"]) as image:
                if math.prod(image.size) <= _MAX_PIXELS:  # else it is refused for its size
                    image.seek(1)
        except _BROKEN:
            return False
    return True
