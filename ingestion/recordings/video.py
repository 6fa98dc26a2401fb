"""A video as a container of its frames, known by their presentation times; decoded from the beginning, never sought."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from driveflow.errors import BrokenDataError
from driveflow.formats.recording_text import RecordedFrame, RecordingText, write_recording
from ingestion.containers import RECORDING_TEXT, Member, Opener
from ingestion.recordings.messages import int64_or_zero
from ingestion.recordings.naming import container_digest, frame_identity, name_of_turn
from ingestion.recordings.raw_pictures import encode_pixels
from ingestion.recordings.video_frames import Listed, VideoStreams, decoded_frames, list_frames, opened_video

if TYPE_CHECKING:
    from av import VideoFrame

_YEARS = range(1990, 2262)  # recorders without a clock write 1904 or 1970; later ones do not fit into 64 bits


@dataclass(slots=True)
class VideoContainer:
    """A video; frames are numbered stream by stream in the order in which they are shown, the text comes last."""

    opener: Opener
    every_s: float
    max_members: int
    _text: bytes = field(default=b"", repr=False)
    _text_number: int = -1

    def members(self) -> Sequence[Member]:
        """Return a member for every frame that is wanted, the text, and a refused one for what is missing.

        Raises:
            BrokenDataError: recording_broken, needs_extra, too_large or archive_too_large.
        """
        with self.opener() as stream:
            digest = container_digest(stream)
        streams = list_frames(self.opener, self.max_members)
        with opened_video(self.opener) as video:
            started = video.metadata.get("creation_time", "")
        members: list[Member] = []
        frames: list[RecordedFrame] = []
        for listed in streams.lists:
            camera = f"stream-{listed.stream}" if len(streams.lists) > 1 else ""
            for number, stamp in self._wanted(listed):
                stamp_ns = to_ns(stamp, listed.unit)
                name = name_of_turn(camera or "video", number - listed.first)
                frame_id = frame_identity(digest, str(listed.stream), stamp)
                members.append(Member(number, name, listed.pixels * 3, frame_id=frame_id))
                frames.append(RecordedFrame(name, camera, camera, stamp_ns=stamp_ns))
        self._text_number = streams.count
        self._text = write_recording(
            RecordingText(start_ns=_start_ns(started), frames=tuple(frames), notes=self._notes(streams, len(frames)))
        )
        text = Member(self._text_number, RECORDING_TEXT, len(self._text))
        return [*members, text, *(Member(-1, "", 0, reason, detail) for reason, detail in streams.losses)]

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the frames at `numbers` as JPEG; one that the decoder does not give comes as an error at the end."""
        wanted = set(numbers)
        frames = wanted - {self._text_number}
        if frames:
            for number, frame in decoded_frames(self.opener, self.max_members):
                if number in frames:
                    frames.discard(number)
                    yield number, _picture(frame)
                if not frames:
                    break
        for number in sorted(frames):
            yield number, BrokenDataError("corrupt", "the decoder does not give this frame")
        if self._text_number in wanted:
            yield self._text_number, self._text

    def _wanted(self, listed: Listed) -> Iterator[tuple[int, int]]:
        """Yield number and stamp of the frames that are far enough apart."""
        every_ns, last_ns = round(self.every_s * 10**9), None
        for turn, stamp in enumerate(listed.stamps):
            stamp_ns = to_ns(stamp, listed.unit)
            if last_ns is None or stamp_ns - last_ns >= every_ns:
                last_ns = stamp_ns
                yield listed.first + turn, stamp

    def _notes(self, streams: VideoStreams, kept: int) -> tuple[str, ...]:
        notes = list(streams.notes)
        if kept < streams.count:
            notes.append(f"{kept} of {streams.count} frames are taken, every {self.every_s:g} s.")
        return tuple(notes)


def to_ns(stamp: int, unit: Fraction) -> int:
    """Return `stamp` in whole nanoseconds, rounded down; no float on the way.

    >>> to_ns(1001, Fraction(1, 30000))
    33366666
    """
    return int64_or_zero(stamp * unit.numerator * 10**9 // unit.denominator)


def _start_ns(text: str) -> int | None:
    """Return when the recording began by the file's own words; None where it does not say, or says nonsense."""
    try:
        began = datetime.fromisoformat(text)
    except ValueError:
        return None
    if began.year not in _YEARS or began.tzinfo is None:
        return None
    epoch = datetime.fromtimestamp(0, began.tzinfo)
    return ((began - epoch) // (began.resolution)) * 1000


def _picture(frame: "VideoFrame") -> bytes | BrokenDataError:
    """Return a frame upright as a JPEG; the decoder knows its range of colours."""
    if frame.is_corrupt:
        return BrokenDataError("corrupt", "the frame is damaged in the video")
    pixels = frame.to_ndarray(format="rgb24")
    return encode_pixels(np.rot90(pixels, round(frame.rotation / 90) % 4))
