"""Say which pictures a frame of OpenLABEL is about, and when they were taken."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.capture_time import utc_ns
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.json_text import number_of, object_of, plain, text_of

_NAMES: Final = ("uri", "file", "file_name", "filename", "image", "image_name", "path")
_NO_ATTRIBUTES: Final = frozenset([*_NAMES, "streams", "transforms", "timestamp", "odometry"])
_NUMBERED: Final = re.compile(r"%0?(\d*)d")
_NO_CAMERAS: Final = frozenset(["lidar", "radar", "gps_imu", "gps", "imu"])


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of a document by name."""

    by_name: Mapping[str, object]

    def cameras(self) -> list[str]:
        """Return the names of the streams that may have pictures."""
        kinds = {name: text_of(object_of(stream).get("type")) for name, stream in self.by_name.items()}
        return [name for name, kind in kinds.items() if kind not in _NO_CAMERAS]

    def uri(self, stream: str) -> str:
        """Return where the document says that the pictures of a stream are."""
        return _name_in(object_of(self.by_name.get(stream)))

    def picture(self, stream: str, frame: int | None) -> str:
        """Return the picture of a stream in a frame, where the uri of the stream tells that by itself."""
        uri = self.uri(stream)
        numbered = _NUMBERED.search(uri)
        if numbered and frame is not None:
            width = min(int(numbered[1] or 0), 20)
            return uri[: numbered.start()] + str(frame).zfill(width) + uri[numbered.end() :]
        return uri if kind_of(uri) == "picture" else ""

    def shift(self, stream: str) -> int:
        """Return how many frames a stream is ahead of the frames of the document."""
        return _whole(_sync(self.by_name.get(stream)).get("frame_shift")) or 0

    def size(self, stream: str) -> tuple[int | None, int | None]:
        """Return width and height by the intrinsics of a stream, nothing where it has none."""
        properties = object_of(object_of(self.by_name.get(stream)).get("stream_properties"))
        camera = object_of(properties.get("intrinsics_pinhole")) or object_of(properties.get("intrinsics_fisheye"))
        width, height = number_of(camera.get("width_px")), number_of(camera.get("height_px"))
        usable = width and height and 0 < width < 2**31 and 0 < height < 2**31
        return (int(width), int(height)) if usable and width and height else (None, None)


@dataclass(frozen=True, slots=True)
class FrameProperties:
    """What a frame says beside its objects."""

    said: Mapping[str, object]

    def pictures(self) -> dict[str, str]:
        """Return the picture of each stream that the frame names; under "" the one that is of no stream."""
        found = {"": _name_in(self.said)} if _name_in(self.said) else {}
        for stream, said in object_of(self.said.get("streams")).items():
            inner = object_of(object_of(said).get("stream_properties"))
            name = _name_in(object_of(said)) or _name_in(inner)
            if name:
                found[stream] = name
        return found

    def captured_ns(self, stream: str) -> int | None:
        """Return the time of the stream in this frame, else that of the frame."""
        sync = _sync(object_of(self.said.get("streams")).get(stream))
        times = (utc_ns(sync.get("timestamp")), utc_ns(self.said.get("timestamp")))
        return next((time for time in times if time is not None), None)

    def number(self, stream: str) -> int | None:
        """Return the number of the frame of a stream that was seen then, where that is said."""
        return _whole(_sync(object_of(self.said.get("streams")).get(stream)).get("frame_stream"))

    def attributes(self) -> dict[str, Json]:
        """Return what else the frame says in plain values; a timestamp that does not tell its unit too."""
        found = {name: plain(value) for name, value in self.said.items() if name not in _NO_ATTRIBUTES}
        timestamp = plain(self.said.get("timestamp"))
        unclear = timestamp is not None and utc_ns(timestamp) is None
        found |= {"timestamp": timestamp} if unclear else {}
        return {name: value for name, value in found.items() if isinstance(value, bool | int | float | str)}


def _name_in(said: Mapping[str, object]) -> str:
    return next((text_of(said[name]) for name in _NAMES if text_of(said.get(name))), "")


def _sync(stream: object) -> Mapping[str, object]:
    return object_of(object_of(object_of(stream).get("stream_properties")).get("sync"))


def _whole(value: object) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number.is_integer() and abs(number) < 2**53 else None
