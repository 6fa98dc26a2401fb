"""What the messages of a recording mean: pictures, boxes, places, speeds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from driveflow.errors import BrokenDataError
from driveflow.formats.recording_text import RecordedBox, RecordedLabels, RecordedPlace, RecordedSpeed
from ingestion.recordings.messages import Message, int64_or_zero

Kind: TypeAlias = Literal["picture", "raw picture", "boxes", "place", "speed", "video", ""]

_KINDS: Final[Mapping[str, Kind]] = {
    "sensor_msgs/msg/CompressedImage": "picture",
    "foxglove.CompressedImage": "picture",
    "foxglove_msgs/msg/CompressedImage": "picture",
    "sensor_msgs/msg/Image": "raw picture",
    "foxglove.RawImage": "raw picture",
    "foxglove_msgs/msg/RawImage": "raw picture",
    "vision_msgs/msg/Detection2DArray": "boxes",
    "foxglove.ImageAnnotations": "boxes",
    "foxglove_msgs/msg/ImageAnnotations": "boxes",
    "sensor_msgs/msg/NavSatFix": "place",
    "foxglove.LocationFix": "place",
    "foxglove_msgs/msg/LocationFix": "place",
    "geometry_msgs/msg/TwistStamped": "speed",
    "geometry_msgs/msg/TwistWithCovarianceStamped": "speed",
    "nav_msgs/msg/Odometry": "speed",
    "foxglove.CompressedVideo": "video",
    "foxglove_msgs/msg/CompressedVideo": "video",
}
_FIRST_FIX: Final = 0  # -1: no fix, -2: not known yet
_VIDEO: Final = (b"\0\0\1", b"\0\0\0\1")
_RECTANGLE: Final = 4  # corners


@dataclass(frozen=True, slots=True)
class Head:
    """When a message was made and what by; `stamp_ns` is 0 where its header does not say."""

    stamp_ns: int
    sensor: str


def kind_of_type(type_name: str) -> Kind:
    """Return what messages of a type (ROS 2 spelling) are to us; empty: nothing."""
    return _KINDS.get(type_name, "")


def head_of(decoded: Any) -> Head:  # noqa: ANN401 a class that the definition makes
    """Return the head of a decoded message; whole nanoseconds, never a float."""
    header = getattr(decoded, "header", None)
    if header is not None:
        return Head(_nanoseconds(header.stamp), str(header.frame_id))
    stamp = getattr(decoded, "timestamp", None)
    return Head(_nanoseconds(stamp) if stamp is not None else 0, str(getattr(decoded, "frame_id", "")))


def bytes_of(decoded: Any) -> bytes:  # noqa: ANN401
    """Return the payload of a picture message.

    Raises:
        BrokenDataError: unsupported, where it is depth, or a piece of a video.
    """
    data = decoded.data
    data = data if isinstance(data, bytes) else data.tobytes()
    if "compresseddepth" in str(getattr(decoded, "format", "")).lower():
        raise BrokenDataError("unsupported", "depth (compressedDepth), which is no picture of a camera")
    if data.startswith(_VIDEO):
        raise BrokenDataError("unsupported", "a piece of an H.26x video; video inside messages is not decoded")
    return data


def labels_of(decoded: Any, message: Message) -> RecordedLabels | None:  # noqa: ANN401
    """Return the boxes of a message; None where it draws, but no upright rectangle: then it says nothing of boxes."""
    if hasattr(decoded, "detections"):
        head = head_of(decoded)
        boxes = [_detection(item) for item in decoded.detections]
    else:
        outlines = [points for points in decoded.points if _is_box(points)]
        if not outlines:
            return None
        head = _first_head(decoded)
        boxes = [_outline(points, decoded) for points in outlines]
    return RecordedLabels(message.topic.name, head.sensor, head.stamp_ns, message.log_ns, tuple(boxes))


def place_of(decoded: Any, stamp_ns: int) -> RecordedPlace | None:  # noqa: ANN401
    """Return where a satellite fix says the vehicle was; None where it has no fix or is no place on Earth."""
    status = getattr(decoded, "status", None)
    lat, lon = float(decoded.latitude), float(decoded.longitude)
    if status is not None and status.status < _FIRST_FIX:
        return None
    return RecordedPlace(stamp_ns, lat, lon) if abs(lat) <= 90 and abs(lon) <= 180 else None


def speed_of(decoded: Any, stamp_ns: int) -> RecordedSpeed | None:  # noqa: ANN401
    """Return how fast a twist or odometry says the vehicle was."""
    twist = getattr(decoded.twist, "twist", decoded.twist)
    speed = math.hypot(float(twist.linear.x), float(twist.linear.y))
    return RecordedSpeed(stamp_ns, speed) if math.isfinite(speed) and speed < 500 else None


def _nanoseconds(stamp: Any) -> int:  # noqa: ANN401
    """Return seconds and nanoseconds as one number; ROS 1, ROS 2 and protobuf name them differently."""
    for seconds, rest in (("sec", "nanosec"), ("seconds", "nanos"), ("sec", "nsec")):
        if hasattr(stamp, seconds) and hasattr(stamp, rest):
            return int64_or_zero(int(getattr(stamp, seconds)) * 10**9 + int(getattr(stamp, rest)))
    return 0


def _detection(item: Any) -> RecordedBox:  # noqa: ANN401
    """Return one detection; its center lies flat in vision_msgs 3 and has a position in 4."""
    center = item.bbox.center
    spot = getattr(center, "position", center)
    half_x, half_y = abs(float(item.bbox.size_x)) / 2, abs(float(item.bbox.size_y)) / 2
    turn = float(center.theta)
    half_x, half_y = _around(half_x, half_y, turn) if turn else (half_x, half_y)
    name, score = _best(item.results)
    x, y = float(spot.x), float(spot.y)
    corners = (x - half_x, y - half_y, x + half_x, y + half_y)
    own_id = str(getattr(item, "id", "") or getattr(item, "tracking_id", ""))
    return RecordedBox(name, *corners, score=score, own_id=own_id, rotation_deg=math.degrees(turn))


def _around(half_x: float, half_y: float, turn: float) -> tuple[float, float]:
    """Return the half sides of the upright box around one that is turned by `turn` radians."""
    cosine, sine = abs(math.cos(turn)), abs(math.sin(turn))
    return half_x * cosine + half_y * sine, half_x * sine + half_y * cosine


def _best(results: Any) -> tuple[str, float]:  # noqa: ANN401
    """Return class and score of the likeliest hypothesis; it is nested from vision_msgs 2 on, `id` in 1."""
    found = [getattr(result, "hypothesis", result) for result in results]
    if not found:
        return "", 0.0
    best = max(found, key=lambda item: float(item.score))
    return str(getattr(best, "class_id", getattr(best, "id", ""))), float(best.score)


def _is_box(points: Any) -> bool:  # noqa: ANN401
    """Tell whether an annotation is an outline of four corners, upright."""
    if int(points.type) != 2 or len(points.points) != _RECTANGLE:
        return False
    return len({point.x for point in points.points}) == len({point.y for point in points.points}) == 2


def _outline(points: Any, decoded: Any) -> RecordedBox:  # noqa: ANN401
    """Return a drawn rectangle; its class is the text written nearest to its first corner."""
    xs, ys = [float(point.x) for point in points.points], [float(point.y) for point in points.points]
    corners = (min(xs), min(ys), max(xs), max(ys))
    texts = sorted(decoded.texts, key=lambda text: _distance(text.position, corners))
    return RecordedBox(str(texts[0].text) if texts else "", *corners)


def _distance(position: Any, corners: tuple[float, ...]) -> float:  # noqa: ANN401
    return math.hypot(float(position.x) - corners[0], float(position.y) - corners[1])


def _first_head(decoded: Any) -> Head:  # noqa: ANN401
    return next((head_of(points) for points in decoded.points), Head(0, ""))
