"""The text in which a recording says what it holds beside its frames: written by the import, read as labels."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

VERSION: Final = 1
MEMBER: Final = "recording.json"
MARK: Final = "driveflow_recording"


class RecordedFrame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One picture of the recording and when it was taken."""

    path: str  # of the member, seen from the recording
    camera: str = ""
    topic: str = ""  # the stream it came by
    sensor: str = ""  # what its header calls the frame of reference, mostly the camera
    stamp_ns: int = 0  # by its header, where 0 may mean that none is said, or its presentation time
    log_ns: int | None = None  # when it was written down; null in a video


class RecordedBox(msgspec.Struct, frozen=True, omit_defaults=True):
    """One box in pixels; a center with sides is written as corners."""

    class_name: str
    x1: float
    y1: float
    x2: float
    y2: float
    score: float = 0.0
    own_id: str = ""
    rotation_deg: float = 0.0


class RecordedLabels(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message with boxes: it speaks of the picture of `sensor` at `stamp_ns`, even where it has no boxes."""

    topic: str
    sensor: str = ""
    stamp_ns: int = 0
    log_ns: int = 0
    boxes: tuple[RecordedBox, ...] = ()


class RecordedPlace(msgspec.Struct, frozen=True):
    """Where the vehicle was, in degrees."""

    stamp_ns: int
    lat: Annotated[float, Meta(ge=-90, le=90)]
    lon: Annotated[float, Meta(ge=-180, le=180)]


class RecordedSpeed(msgspec.Struct, frozen=True):
    """How fast the vehicle was."""

    stamp_ns: int
    mps: Annotated[float, Meta(ge=0, lt=500)]


class RecordedProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What could not be read, and how many boxes were lost by it where that is known."""

    reason: str
    detail: str
    boxes: int = 0


class RecordingText(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that a recording says; `start_ns` is what its stamps count from, where the file says so."""

    driveflow_recording: int = VERSION
    start_ns: int | None = None
    frames: tuple[RecordedFrame, ...] = ()
    labels: tuple[RecordedLabels, ...] = ()
    places: tuple[RecordedPlace, ...] = ()
    speeds: tuple[RecordedSpeed, ...] = ()
    problems: tuple[RecordedProblem, ...] = ()
    notes: tuple[str, ...] = ()


def write_recording(text: RecordingText) -> bytes:
    """Return `text` as JSON; the mark stands first."""
    mark = f'{{"{MARK}":{VERSION}'.encode()
    body = msgspec.json.encode(text)
    rest = body[1:-1]
    return mark + (b"," + rest if rest else b"") + b"}"


def parse_recording(data: bytes) -> RecordingText:
    """Return what the JSON says.

    Raises:
        msgspec.MsgspecError: it is none of ours, or says what cannot be: a stranger may have written it.
    """
    return msgspec.json.decode(data, type=RecordingText)
