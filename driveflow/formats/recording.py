"""Read what recordings say of their frames: times, places, boxes; see `recording_text` for how they say it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Final

import msgspec

from driveflow.canonical import Json
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.path_index import folder_of
from driveflow.formats.recording_text import (
    MARK,
    MEMBER,
    RecordedBox,
    RecordedLabels,
    RecordedPlace,
    RecordedSpeed,
    RecordingText,
    parse_recording,
)
from driveflow.formats.recording_times import Timed, Timeline, timed_frames
from driveflow.formats.rosbag2_folder import BagFolders
from driveflow.formats.scores import odd_scores
from driveflow.formats.sniff import Sniffer

_NEAR_NS: Final = 500_000_000  # a place or a speed counts for pictures within half a second
_SURE: Final = frozenset([0.0, 1.0])


def recording_files(sniffer: Sniffer) -> list[str]:
    """Return the texts of recordings."""
    named = [path for path in sniffer.paths if path.rpartition("/")[2] == MEMBER]
    return [path for path in named if sniffer.head(path).startswith(f'{{"{MARK}"'.encode())]


def read_recording(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Read the text of every recording, or of those at `annotations`.

    A message with boxes belongs to the picture of its sensor with exactly its stamp, else to the nearest within half a
    frame period. The boxes of a topic are truth where all its scores are 0 or 1, else predictions.
    """
    builder = LabelSetBuilder()
    found = recording_files(Sniffer(files))
    if annotations:
        found = [path for path in found if path == annotations or path.startswith(f"{annotations.rstrip('/')}/")]
    bags = BagFolders(files)
    recordings = []
    for path in found:
        builder.files.add(path)
        try:
            recordings.append(_Recording(path, bags.drive_of(folder_of(path)), parse_recording(files.read(path))))
        except msgspec.MsgspecError as error:
            builder.problems.append(LabelProblem(path, "label_syntax", f"no text of a recording: {error}"))
    classes = sorted({name for recording in recordings for name in recording.truth_classes()})
    for recording in recordings:
        _Reading(builder, recording, builder.class_list(classes)).read()
    builder.files |= bags.settings
    builder.problems += bags.problems
    return builder.build()


@dataclass(frozen=True, slots=True)
class _Recording:
    """One recording: where its text lies, the drive it is (a part of), and what it says."""

    path: str
    drive: str
    text: RecordingText

    def prediction_topics(self) -> frozenset[str]:
        """Return the topics on which a machine speaks: not all its scores are 0 or 1."""
        return frozenset(
            labels.topic for labels in self.text.labels if any(box.score not in _SURE for box in labels.boxes)
        )

    def truth_classes(self) -> set[str]:
        guessing = self.prediction_topics()
        truth = [labels for labels in self.text.labels if labels.topic not in guessing]
        return {box.class_name for labels in truth for box in labels.boxes if box.class_name}


@dataclass(slots=True)
class _Reading:
    """One recording as it is read."""

    builder: LabelSetBuilder
    recording: _Recording
    class_list: int
    near: Counter[str] = field(default_factory=Counter)  # label messages that were matched by the nearest stamp

    def read(self) -> None:
        text = self.recording.text
        frames, notes = timed_frames(text)
        spoken = self._matched(frames)
        self.builder.notes += [*(self._say(note) for note in (*text.notes, *notes)), *self._near_notes()]
        self.builder.problems += [self._problem(item.reason, item.detail, item.boxes) for item in text.problems]
        places = Timeline([(place.stamp_ns, place) for place in text.places], _NEAR_NS)
        speeds = Timeline([(speed.stamp_ns, speed) for speed in text.speeds], _NEAR_NS)
        guessing = self.recording.prediction_topics()
        scores = [box.score for labels in text.labels if labels.topic in guessing for box in labels.boxes]
        self.builder.notes += map(self._say, odd_scores("Its", scores))
        for frame in frames:
            seen = self._seen(frame, places.nearest(frame.stamp_ns), speeds.nearest(frame.stamp_ns))
            for listing, labels in enumerate(spoken.get(frame.path, [None])):
                is_truth = labels is not None and labels.topic not in guessing
                class_list = self.class_list if is_truth else None
                self.builder.add_image(replace(seen, listing=listing, class_list=class_list))
                if labels is not None:
                    self._add_boxes(seen.path, labels, listing, scored=not is_truth)

    def _seen(self, frame: Timed, place: RecordedPlace | None, speed: RecordedSpeed | None) -> ImageLabels:
        return ImageLabels(
            path=f"{folder_of(self.recording.path)}/{frame.path}",
            label_file=self.recording.path,
            drive=self.recording.drive,
            camera=frame.camera,
            captured_ns=frame.captured_ns,
            clock=frame.clock,
            lat=place.lat if place else None,
            lon=place.lon if place else None,
            speed_mps=speed.mps if speed else None,
        )

    def _add_boxes(self, path: str, labels: RecordedLabels, listing: int, *, scored: bool) -> None:
        spot = {"path": path, "label_file": self.recording.path, "listing": listing}
        named = [box for box in labels.boxes if box.class_name and box.x2 > box.x1 and box.y2 > box.y1]
        self.builder.add_box_rows([{**spot, **_box(box, scored=scored)} for box in named])
        if nameless := len(labels.boxes) - len(named):
            detail = f"{nameless} boxes on {labels.topic} at {labels.stamp_ns} have no class, or no size"
            self.builder.problems.append(self._problem("label_no_class", detail, nameless))

    def _matched(self, frames: Sequence[Timed]) -> dict[str, list[RecordedLabels | None]]:
        """Return the label messages that speak of each picture."""
        cameras = _by_camera(frames)
        by_camera = {camera: _Camera(own) for camera, own in cameras.items()}
        found: dict[str, list[RecordedLabels | None]] = {}
        for labels in self.recording.text.labels:
            wanted = _cameras_of(labels, cameras)
            matched = [by_camera[camera].find(labels) for camera in wanted]
            paths = [match for match in matched if match is not None]
            self.near[labels.topic] += any(not exact for _, exact in paths)
            for path, _ in paths:
                found.setdefault(path, []).append(labels)
            if not paths:
                self.builder.problems.append(self._unmatched(labels, known=bool(wanted)))
        return found

    def _unmatched(self, labels: RecordedLabels, *, known: bool) -> LabelProblem:
        reason = "label_missing_picture" if known else "label_unknown_camera"
        why = "no picture within half a frame period" if known else f"no camera is called {labels.sensor!r}"
        detail = f"{len(labels.boxes)} boxes on {labels.topic} at {labels.stamp_ns or labels.log_ns}: {why}"
        return self._problem(reason, detail, len(labels.boxes))

    def _near_notes(self) -> Iterable[str]:
        for topic, count in sorted(self.near.items()):
            if count:
                yield self._say(f"{count} messages on {topic} were matched to the picture with the nearest stamp.")

    def _say(self, note: str) -> str:
        return f"{folder_of(self.recording.path).removesuffix('!')}: {note}"

    def _problem(self, reason: str, detail: str, boxes: int) -> LabelProblem:
        return LabelProblem(self.recording.path, reason, detail, None, boxes)


class _Camera:
    """The pictures of one camera by their stamps, and by when they were written down."""

    def __init__(self, frames: Sequence[Timed]) -> None:
        self._exact: dict[int, str] = {}
        for frame in frames:
            self._exact.setdefault(frame.stamp_ns, frame.path)
        self._stamps = Timeline(list(self._exact.items()), _half_period(self._exact))
        logged = {frame.log_ns: frame.path for frame in reversed(frames) if frame.log_ns is not None}
        self._logged = Timeline(list(logged.items()), _half_period(logged))

    def find(self, labels: RecordedLabels) -> tuple[str, bool] | None:
        """Return the picture that `labels` speaks of, and whether its stamp is exactly the same."""
        if labels.stamp_ns in self._exact:
            return self._exact[labels.stamp_ns], True
        near = self._stamps.nearest(labels.stamp_ns) if labels.stamp_ns else self._logged.nearest(labels.log_ns)
        return (near, False) if near is not None else None


def _half_period(stamps: Iterable[int]) -> int:
    ordered = sorted(stamps)
    return int(median([after - before for before, after in pairwise(ordered)] or [0])) // 2


def _by_camera(frames: Sequence[Timed]) -> dict[str, list[Timed]]:
    found: dict[str, list[Timed]] = {}
    for frame in frames:
        found.setdefault(frame.topic, []).append(frame)
    return found


def _cameras_of(labels: RecordedLabels, cameras: Mapping[str, Sequence[Timed]]) -> list[str]:
    """Return the topics of the pictures that `labels` speaks of: those of its sensor, or the only ones there are."""
    same = [topic for topic, frames in cameras.items() if labels.sensor and frames[0].sensor == labels.sensor]
    return same or (list(cameras) if len(cameras) == 1 else [])


def _box(box: RecordedBox, *, scored: bool) -> dict[str, object]:
    attributes: dict[str, Json] = {"track_id": box.own_id} if box.own_id else {}
    if box.rotation_deg:
        attributes["rotation_deg"] = box.rotation_deg
    return {
        "class_name": box.class_name,
        "x1": box.x1,
        "y1": box.y1,
        "x2": box.x2,
        "y2": box.y2,
        "attributes": msgspec.json.encode(dict(sorted(attributes.items()))).decode(),
        "score": box.score if scored else None,
    }
