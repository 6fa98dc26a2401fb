"""Go through a log once and note all that it holds."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from driveflow.canonical import digest_bytes
from driveflow.errors import BrokenDataError
from driveflow.formats.recording_text import (
    RecordedBox,
    RecordedFrame,
    RecordedLabels,
    RecordedPlace,
    RecordedProblem,
    RecordedSpeed,
    RecordingText,
    write_recording,
)
from ingestion.containers import Member
from ingestion.recordings.definitions import UNDECODABLE, ros_name, standard_types
from ingestion.recordings.meanings import bytes_of, head_of, labels_of, place_of, speed_of
from ingestion.recordings.messages import Message, Topic
from ingestion.recordings.naming import FrameNames, ending_of, frame_identity
from ingestion.recordings.raw_pictures import check_size
from ingestion.recordings.topics import Topics

_SHOWN = 10
_MUTE = {"place": "have no fix, or no place on Earth", "speed": "have no speed that a car can have"}


@dataclass(frozen=True, slots=True)
class _Found:
    """One picture message."""

    topic: str
    sensor: str
    stamp_ns: int
    log_ns: int
    byte_count: int
    ending: str = ""
    frame_id: str = ""
    error: BrokenDataError | None = None


@dataclass(slots=True)
class LogSurvey:
    """All that was noted so far."""

    topics: Topics = field(default_factory=Topics)
    most_said: int = 1_000_000  # messages of boxes, places and speeds, which stay in memory: at 100 a second some hours
    _found: list[_Found] = field(default_factory=list)
    _frames: list[RecordedFrame] = field(default_factory=list)
    _labels: list[RecordedLabels] = field(default_factory=list)
    _places: list[RecordedPlace] = field(default_factory=list)
    _speeds: list[RecordedSpeed] = field(default_factory=list)
    _problems: list[RecordedProblem] = field(default_factory=list)
    _bad: Counter[tuple[str, str]] = field(default_factory=Counter)  # topic and why: messages
    _drawn: Counter[str] = field(default_factory=Counter)  # messages that draw no box, by topic
    _mute: Counter[tuple[str, str]] = field(default_factory=Counter)  # topic and what its messages do not say
    _beyond: Counter[str] = field(default_factory=Counter)  # messages that are too many to be kept
    _unread: Counter[Topic] = field(default_factory=Counter)

    @property
    def pictures(self) -> int:
        """How many messages are pictures."""
        return len(self._found)

    def add(self, message: Message) -> None:
        """Note one message."""
        kind = self.topics.kind(message.topic)
        if kind in {"picture", "raw picture"}:
            self._found.append(self._picture(message, raw=kind == "raw picture"))
        elif kind in {"", "video"}:
            self._unread[message.topic] += 1
        else:
            try:
                self._add_other(kind, message)
            except UNDECODABLE as error:
                self._bad[message.topic.name, str(error).partition("\n")[0]] += 1

    def members(self) -> list[Member]:
        """Return a member for every picture, in the order of the log, and remember what they are called."""
        cameras = _cameras(self._found)
        names = FrameNames()
        members: list[Member] = []
        for number, found in enumerate(self._found):
            name = names.take(cameras[found.topic], found.stamp_ns or found.log_ns, found.ending)
            error = found.error
            refused = (error.code, error.detail) if error else ("", "")
            members.append(Member(number, name, found.byte_count, *refused, frame_id=found.frame_id))
            if error is None:
                times = (found.stamp_ns, found.log_ns)
                self._frames.append(RecordedFrame(name, cameras[found.topic], found.topic, found.sensor, *times))
        return members

    def text(self) -> bytes:
        """Return what the log says beside its pictures; comes after `members`."""
        return write_recording(
            RecordingText(
                frames=tuple(self._frames),
                labels=tuple(self._labels),
                places=tuple(self._places),
                speeds=tuple(self._speeds),
                problems=(*self._problems, *self._topic_problems()),
                notes=self._notes(),
            )
        )

    def _picture(self, message: Message, *, raw: bool) -> _Found:
        topic = message.topic.name
        try:
            decoded = self.topics.decode(message)
            head = head_of(decoded)
            if raw:
                return self._raw_picture(message, decoded)
            data = bytes_of(decoded)
            return _Found(topic, head.sensor, head.stamp_ns, message.log_ns, len(data), ending_of(data))
        except BrokenDataError as error:
            broken = error
        except UNDECODABLE as error:
            broken = BrokenDataError("recording_bad_message", f"cannot be decoded: {error}")
        return _Found(topic, "", 0, message.log_ns, len(message.data), error=broken)

    def _raw_picture(self, message: Message, decoded: Any) -> _Found:  # noqa: ANN401 made by the definition
        width, height, head = int(decoded.width), int(decoded.height), head_of(decoded)
        check_size(width, height)
        # the message is what contains the picture: overlapping parts of a bag, and copies of it, have the same frames
        frame_id = frame_identity(digest_bytes(message.data), message.topic.name, head.stamp_ns or message.log_ns)
        size = 3 * width * height
        return _Found(message.topic.name, head.sensor, head.stamp_ns, message.log_ns, size, ".jpg", frame_id)

    def _add_other(self, kind: str, message: Message) -> None:
        if len(self._labels) + len(self._places) + len(self._speeds) >= self.most_said:
            self._beyond[message.topic.name] += 1
            return
        decoded = self.topics.decode(message)
        stamp_ns = head_of(decoded).stamp_ns or message.log_ns
        if kind == "boxes":
            labels = labels_of(decoded, message)
            if labels is None:
                self._drawn[message.topic.name] += 1
            else:
                self._labels.append(self._whole(labels))
        elif kind == "place" and (place := place_of(decoded, stamp_ns)):
            self._places.append(place)
        elif kind == "speed" and (speed := speed_of(decoded, stamp_ns)):
            self._speeds.append(speed)
        else:
            self._mute[message.topic.name, kind] += 1

    def _whole(self, labels: RecordedLabels) -> RecordedLabels:
        """Return `labels` without boxes that have no numbers, which are named."""
        whole = tuple(box for box in labels.boxes if _is_whole(box))
        if lost := len(labels.boxes) - len(whole):
            detail = f"{lost} boxes on {labels.topic} at {labels.stamp_ns} have no numbers or no size"
            self._problems.append(RecordedProblem("label_bad_box", detail, lost))
        return msgspec.structs.replace(labels, boxes=whole)

    def _topic_problems(self) -> list[RecordedProblem]:
        """Return a row for every topic that may hold what we want and could not be read."""
        rows = [
            RecordedProblem("recording_bad_message", f"{count} messages on {topic} cannot be decoded: {why}")
            for (topic, why), count in sorted(self._bad.items())
        ]
        beyond = f"beyond the first {self.most_said:,} of boxes, places and speeds"
        rows += [
            RecordedProblem("recording_too_large", f"{count} messages on {name} are not read: {beyond}")
            for name, count in self._beyond.items()
        ]
        for topic, count in self._unread.items():
            reason, why = self._why_unread(topic)
            if reason:
                said = f"{count} messages of {topic.type_name or 'no type'} on {topic.name} are not read: {why}"
                rows.append(RecordedProblem(reason, said))
        return rows

    def _why_unread(self, topic: Topic) -> tuple[str, str]:
        """Return reason code and reason; nothing where the type is well known and holds nothing for us."""
        name = ros_name(topic.type_name)
        if topic in self.topics.unreadable:
            return "recording_unreadable_topic", self.topics.unreadable[topic]
        if self.topics.kind(topic) == "video":
            return "recording_unreadable_topic", "video inside messages is not decoded"
        if name in standard_types() or name.startswith(("foxglove.", "foxglove_msgs/")):
            return "", ""
        return "recording_unknown_type", "the type is not known"

    def _notes(self) -> tuple[str, ...]:
        drawn = [
            f"{count} messages on {topic} draw, but no upright rectangle; they are not read."
            for topic, count in self._drawn.items()
        ]
        drawn += [f"{count} messages on {topic} {_MUTE[kind]}." for (topic, kind), count in self._mute.items()]
        known = [topic for topic in self._unread if not self._why_unread(topic)[0]]
        if not known:
            return tuple(drawn)
        shown = [f"{topic.name} ({topic.type_name}, {self._unread[topic]})" for topic in known[:_SHOWN]]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        total = sum(self._unread[topic] for topic in known)
        what = f"{total} messages on {len(known)} topics hold no pictures or boxes"
        return (*drawn, f"{what}: {', '.join(shown)}{more}.")


def _cameras(found: list[_Found]) -> dict[str, str]:
    """Return what the camera of each topic is called: by its header where no other topic says the same.

    A message that cannot be read says nothing of it.
    """
    sensors: dict[str, set[str]] = {picture.topic: set() for picture in found}
    for picture in found:
        if picture.error is None:
            sensors[picture.topic].add(picture.sensor)
    uses = Counter(sensor for names in sensors.values() for sensor in names)
    return {
        topic: next(iter(names)) if len(names) == 1 and uses[min(names)] == 1 and min(names) else topic
        for topic, names in sensors.items()
    }


def _is_whole(box: RecordedBox) -> bool:
    numbers = (box.x1, box.y1, box.x2, box.y2, box.score, box.rotation_deg)
    return all(math.isfinite(number) for number in numbers) and box.x2 > box.x1 and box.y2 > box.y1
