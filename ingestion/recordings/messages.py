"""What every log of messages looks like once it is open: topics, messages, losses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

MAX_CHUNK_BYTES = 256 << 20
"""What a log may keep in one piece, packed or unpacked; logs write pieces of a few megabytes."""

MAX_SCHEMA_BYTES = 1 << 20

_INT64 = 2**63


def int64_or_zero(stamp_ns: int) -> int:
    """Return a time that tables can hold; one that they cannot is none, which is written 0."""
    return stamp_ns if -_INT64 <= stamp_ns < _INT64 else 0


@dataclass(frozen=True, slots=True)
class Topic:
    """One stream of messages and how they are written."""

    name: str
    type_name: str  # sensor_msgs/msg/Image, foxglove.CompressedImage ...
    encoding: str  # cdr, ros1, protobuf ...
    schema_encoding: str = ""  # ros2msg, ros2idl, ros1msg, protobuf; empty: the log holds no definition
    schema: bytes = b""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it lies in the log."""

    topic: Topic
    log_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a log that could not be read."""

    reason: str
    detail: str
    byte_count: int = 0


class MessageLog(Protocol):
    """A log of messages, readable from its beginning to its end any number of times."""

    def messages(self, losses: list[Loss]) -> Iterator[Message]:
        """Yield all messages that are whole, in the order of the log, and add to `losses` what is not.

        Raises:
            BrokenDataError: it is no such log at all.
        """
