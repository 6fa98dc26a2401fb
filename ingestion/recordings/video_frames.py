"""Which frames a video has and when they are shown, and the frames themselves, one after another."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

from driveflow.errors import BrokenDataError
from ingestion.containers import Opener

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

MAX_VIDEO_PIXELS: Final = 20_000_000
"""Of a frame: a decoder keeps up to 17 of them."""

_HEAD_BYTES: Final = 16
_MOV_BOXES: Final = {b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}
_STAMPED: Final = {"mov", "matroska", "mpeg"}  # what says of each packet when its frame is shown
_RATE: Final = Fraction(25)
_THREADS: Final = 2
_PACK: Final = 0xBA
_HEVC_FIRST: Final = {0x40, 0x42, 0x44, 0x46}  # parameter sets and delimiters, with which a stream begins


@dataclass(frozen=True, slots=True)
class Listed:
    """The frames of one stream: `stamps` in the order in which they are shown, in units of `unit` seconds."""

    stream: int
    first: int  # number of its first frame
    stamps: tuple[int, ...]
    unit: Fraction
    pixels: int


@dataclass(slots=True)
class VideoStreams:
    """All streams of a video, what is missing of them, and what a person should know."""

    lists: list[Listed] = field(default_factory=list)
    losses: list[tuple[str, str]] = field(default_factory=list)  # reason and detail
    notes: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many frames there are."""
        return sum(len(listed.stamps) for listed in self.lists)


@contextmanager
def opened_video(opener: Opener) -> "Iterator[InputContainer]":
    """Open a video by what it begins with; playlists and scripts, which name other files, are none.

    Raises:
        BrokenDataError: needs_extra, or recording_broken.
    """
    try:
        import av
        import av.error
    except ImportError as error:
        raise BrokenDataError("needs_extra", "video is read by PyAV: pip install driveflow[video]") from error
    with opener() as stream:
        kind = _kind(stream.read(_HEAD_BYTES))
        stream.seek(0)
        if not kind:
            detail = "does not begin as an MP4, MOV, Matroska, WebM, AVI, MPEG or H.26x"
            raise BrokenDataError("recording_broken", detail)
        try:
            with av.open(stream, "r", format=kind, metadata_errors="replace") as video:
                yield video
        except (av.error.FFmpegError, MemoryError) as error:
            why = error.strerror if isinstance(error, av.error.FFmpegError) else error  # not the path on this machine
            raise BrokenDataError("recording_broken", f"cannot be read: {why}; it may be cut short") from error


def list_frames(opener: Opener, at_most: int) -> VideoStreams:
    """Return the frames of all streams.

    Raises:
        BrokenDataError: recording_broken, where there is no picture; too_large; archive_too_large.
    """
    found = VideoStreams()
    with opened_video(opener) as video:
        _list_stamped(video, found, at_most)
    if not found.count:
        found.lists.clear()
        with opened_video(opener) as video:
            _list_counted(video, found, at_most)
    if not found.count:
        raise BrokenDataError("recording_broken", "holds no frame")
    return found


def decoded_frames(opener: Opener, at_most: int) -> "Iterator[tuple[int, VideoFrame]]":
    """Yield every frame with its number, in the order in which the file has them; damaged packets are passed over."""
    stamped = VideoStreams()
    with opened_video(opener) as video:
        _list_stamped(video, stamped, at_most)
    numbers = {
        (listed.stream, stamp): number
        for listed in stamped.lists
        for number, stamp in enumerate(listed.stamps, listed.first)
    }
    with opened_video(opener) as video:
        for turn, (index, frame) in enumerate(_decode(video, _streams(video) if numbers else _streams(video)[:1])):
            number = numbers.get((index, frame.pts or 0)) if numbers else turn
            if number is not None:
                yield number, frame


def _list_stamped(video: "InputContainer", found: VideoStreams, at_most: int) -> None:
    """List the frames by what the packets say; nothing, where one of them does not say when it is shown."""
    streams = _streams(video)
    if video.format.name.partition(",")[0] not in _STAMPED or not streams:
        return
    stamps: dict[int, list[int]] = {stream.index: [] for stream in streams}
    packets = dict.fromkeys(stamps, 0)
    for packet in _packets(video, streams):
        packets[packet.stream_index] += 1
        if packet.pts is None:
            return
        if not packet.is_discard:
            stamps[packet.stream_index].append(packet.pts)
        if sum(packets.values()) > at_most:
            raise BrokenDataError("archive_too_large", f"more than {at_most:,} frames")
    for stream in streams:
        ordered = tuple(sorted(set(stamps[stream.index])))
        unit = stream.time_base or 1 / _RATE
        found.lists.append(Listed(stream.index, found.count, ordered, unit, _pixels(stream)))
        _tell_missing(stream, packets[stream.index], found)
    _tell_early_end(video, found)


def _list_counted(video: "InputContainer", found: VideoStreams, at_most: int) -> None:
    """List the frames of the first stream by decoding all, each at its turn by the rate of the stream."""
    for stream in _streams(video)[:1]:
        count = 0
        for _ in _decode(video, [stream]):
            count += 1
            if count > at_most:
                raise BrokenDataError("archive_too_large", f"more than {at_most:,} frames")
        rate = stream.average_rate or stream.guessed_rate or _RATE
        found.lists.append(Listed(stream.index, 0, tuple(range(count)), 1 / rate, _pixels(stream)))
        _tell_missing(stream, count, found)
        found.notes.append(f"Its frames bear no times: they are counted, {float(rate):g} a second.")


def _tell_missing(stream: "VideoStream", count: int, found: VideoStreams) -> None:
    if (missing := stream.frames - count) > 0:
        detail = f"{count} of {stream.frames} frames are there; {missing} are lost"
        found.losses.append(("recording_cut_short", detail))


def _tell_early_end(video: "InputContainer", found: VideoStreams) -> None:
    """Name what is missing where a file does not count its frames, but says how long it is."""
    if video.duration is None or len(video.streams) != 1 or video.streams[0].frames or not found.count:
        return
    listed = found.lists[0]
    gaps = [after - before for before, after in pairwise(listed.stamps)]
    said_s = Fraction(video.duration, 10**6)
    last = max(listed.stamps[-1], listed.stamps[-1] - listed.stamps[0])  # of a piece of a longer video the end is said
    missing_s = said_s - last * listed.unit
    if missing_s > 3 * max(gaps, default=1) * listed.unit:
        detail = f"{float(said_s - missing_s):.3f} s of {float(said_s):.3f} s are there"
        found.losses.append(("recording_cut_short", detail))


def _streams(video: "InputContainer") -> "list[VideoStream]":
    """Return the streams of moving pictures; cover pictures are none."""
    from av.stream import Disposition

    found = [stream for stream in video.streams.video if not stream.disposition & Disposition.attached_pic]
    for stream in found:
        if not hasattr(stream.codec_context, "width"):
            raise BrokenDataError("unsupported", f"stream {stream.index} is coded in a way that is not known")
        _pixels(stream)
        stream.codec_context.options = {"max_pixels": str(MAX_VIDEO_PIXELS)}
        stream.codec_context.thread_count = _THREADS
    return found


def _pixels(stream: "VideoStream") -> int:
    width, height = stream.codec_context.width, stream.codec_context.height
    if width * height > MAX_VIDEO_PIXELS:
        most = MAX_VIDEO_PIXELS // 1_000_000
        raise BrokenDataError("too_large", f"frames of {width}x{height}; at most {most} megapixels")
    return width * height


def _packets(video: "InputContainer", streams: "list[VideoStream]") -> "Iterator[Packet[VideoStream]]":
    """Yield the packets with data; a file that ends in the middle of one ends before it."""
    import av.error

    try:
        for packet in video.demux(streams):
            if packet.size:
                yield cast("Packet[VideoStream]", packet)
    except av.error.FFmpegError:
        return


def _decode(video: "InputContainer", streams: "list[VideoStream]") -> "Iterator[tuple[int, VideoFrame]]":
    for packet in _packets(video, streams):
        for frame in _decoded(packet.stream, packet):
            yield packet.stream_index, frame
    for stream in streams:
        for frame in _decoded(stream, None):
            yield stream.index, frame


def _decoded(stream: "VideoStream", packet: "Packet[VideoStream] | None") -> "list[VideoFrame]":
    import av.error

    try:
        return stream.codec_context.decode(packet)
    except (av.error.InvalidDataError, av.error.EOFError):
        return []


def _kind(head: bytes) -> str:
    """Return FFmpeg's name for what begins with `head`, empty for what is not read."""
    if head[4:8] in _MOV_BOXES:
        return "mov"
    if head.startswith(b"RIFF") and head[8:12] == b"AVI ":
        return "avi"
    if head.startswith((b"\0\0\1\xba", b"\0\0\1\xb3")):
        return "mpeg" if head[3] == _PACK else "mpegvideo"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    unit = head.lstrip(b"\0")[1:2] if head.startswith((b"\0\0\1", b"\0\0\0\1")) else b""
    if not unit:
        return ""
    return "hevc" if unit[0] & 0x7E in _HEVC_FIRST else "h264"
