"""One frame of a return file: check it box by box, so that a bad box costs what it must and no more."""

import reprlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from driveflow.canonical import Json
from driveflow.pages.how_many import how_many
from labeling.answer_boxes import AnswerBox, clip, corners_of, turn_of, with_ids
from labeling.campaigns import RawReturn
from labeling.class_names import ClassNames
from labeling.manifest import MAX_BOXES, CampaignManifest, ReturnedBox, ReturnedFrame, SentFrame, unknown_fields

EDGE_TOLERANCE_PX = 1.0  # tools round; a corner this little outside is put on the edge


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that came back and was not taken, for the QUARANTINE table."""

    campaign_id: str
    path: str
    reason: str
    detail: str
    byte_count: int | None

    def row(self) -> dict[str, Json]:
        """Return the row of the QUARANTINE table."""
        return {
            "batch": f"campaign:{self.campaign_id}",
            "path": self.path,
            "reason": self.reason,
            "detail": self.detail,
            "byte_count": self.byte_count,
            "line": None,
        }


@dataclass(frozen=True, slots=True, order=True)
class EntryOrder:
    """Which of two answers is newer: by stated time, then by the digest of their files, then by place in one file."""

    returned_ns: int
    sha256: str
    index: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What one return file says about one frame; `boxes` has a key for every class that somebody looked for."""

    campaign_id: str
    path: str
    order: EntryOrder
    frame_id: str
    annotator: str
    guideline: str
    frame: SentFrame
    boxes: Mapping[str, tuple[AnswerBox, ...]]
    copied_ids: tuple[str, ...] = ()  # sent ids that came back on several boxes

    def box_count(self) -> int:
        """Return how many boxes the entry holds."""
        return sum(len(found) for found in self.boxes.values())

    def says(self) -> tuple[str, str, tuple[tuple[str, tuple[AnswerBox, ...]], ...]]:
        """Return what makes two entries the same answer: campaign, frame and boxes, not file, time or annotator."""
        return self.campaign_id, self.frame_id, tuple(sorted(self.boxes.items()))


@dataclass(slots=True)
class FrameReading:
    """What reading one frame gave."""

    entry: Entry | None = None
    refusals: list[Refusal] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FrameReader:
    """Reads the frames of one return file."""

    raw: RawReturn
    manifest: CampaignManifest
    annotator: str
    guideline: str

    def read(self, value: object, frames: Mapping[str, SentFrame], order: EntryOrder) -> FrameReading:
        """Return what `value`, one item of the file's frames, says.

        A box that cannot be placed makes the answer about its class incomplete: that class is then not taken from this
        answer, because a half-read answer must not pass for a whole one.
        """
        reading = FrameReading()
        found_boxes = value.get("boxes") if isinstance(value, dict) else None
        boxes: list[object] = found_boxes if isinstance(found_boxes, list) else []
        reading.counts["boxes_in"] = len(boxes)
        try:
            frame, answer = self._outer(value, frames, reading)
            found = _BoxSorter(self.manifest, frame, answer.annotated_classes).sort(boxes)
        except _RefusedFrameError as error:
            return self._refuse_all(reading, error)
        reading.unknown += found.unknown
        self._take(reading, found, (frame, order))
        return reading

    def _outer(
        self, value: object, frames: Mapping[str, SentFrame], reading: FrameReading
    ) -> tuple[SentFrame, ReturnedFrame]:
        if not isinstance(value, dict):
            raise _RefusedFrameError("broken_frame", f"an item of 'frames' is no object: {reprlib.repr(value)}")
        boxes = value.get("boxes")
        if not isinstance(boxes, list) or len(boxes) > MAX_BOXES:
            raise _RefusedFrameError("broken_frame", f"'boxes' is no list of at most {MAX_BOXES}")
        try:
            answer = msgspec.convert({**value, "boxes": []}, ReturnedFrame)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise _RefusedFrameError("broken_frame", f"frame {reprlib.repr(value.get('frame_id'))}: {error}") from error
        reading.unknown += [f"frames[].{name}" for name in unknown_fields(value, ReturnedFrame)]
        if answer.frame_id not in frames:
            raise _RefusedFrameError("unknown_frame", _unknown_frame(answer.frame_id, frames))
        frame = frames[answer.frame_id]
        if (answer.width or frame.width, answer.height or frame.height) != (frame.width, frame.height):
            raise _RefusedFrameError(
                "wrong_size",
                f"frame {frame.frame_id}: a picture of {answer.width} x {answer.height} was labeled, "
                f"one of {frame.width} x {frame.height} was sent",
            )
        return frame, answer

    def _take(self, reading: FrameReading, found: "_Sorted", place: tuple[SentFrame, EntryOrder]) -> None:
        frame, order = place
        for reason, detail in found.refused:
            reading.refusals.append(self._refusal(reason, f"frame {frame.frame_id}: {detail}"))
        boxes, copied = with_ids(frame, found.boxes)
        taken = sum(len(items) for items in boxes.values())
        reading.counts["boxes_repeated"] += found.kept - taken
        reading.counts["boxes_quarantined"] += reading.counts["boxes_in"] - found.kept
        if boxes:
            reading.entry = Entry(
                campaign_id=self.manifest.campaign_id,
                path=self.raw.path,
                order=order,
                frame_id=frame.frame_id,
                annotator=self.annotator,
                guideline=self.guideline,
                frame=frame,
                boxes=boxes,
                copied_ids=copied,
            )
        else:
            reading.counts["answers_quarantined" if found.refused else "answers_empty"] += 1

    def _refuse_all(self, reading: FrameReading, error: "_RefusedFrameError") -> FrameReading:
        reading.counts["answers_quarantined"] += 1
        reading.counts["boxes_quarantined"] += reading.counts["boxes_in"]
        reading.refusals.append(self._refusal(error.reason, error.detail))
        return reading

    def _refusal(self, reason: str, detail: str) -> Refusal:
        return Refusal(
            self.raw.campaign_id, self.raw.path, reason, detail.encode(errors="replace").decode(), self.raw.byte_count
        )


class _RefusedFrameError(Exception):
    """Ends the reading of one frame; never leaves this file."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(slots=True)
class _Sorted:
    """The sound boxes of a frame by class, and what was refused with its reason."""

    boxes: dict[str, list[ReturnedBox]]
    refused: list[tuple[str, str]] = field(default_factory=list)
    incomplete: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)

    @property
    def kept(self) -> int:
        """How many boxes are sound."""
        return sum(len(found) for found in self.boxes.values())


@dataclass(frozen=True, slots=True)
class _BoxSorter:
    """Parts the boxes of one frame into sound and refused ones."""

    manifest: CampaignManifest
    frame: SentFrame
    stated: tuple[str, ...]

    def sort(self, values: list[object]) -> _Sorted:
        known = {name: self._names.find(name) for name in self.stated}
        found = _Sorted({name: [] for name in known.values() if name is not None})
        for name in sorted(name for name, meant in known.items() if meant is None):
            found.refused.append(("unknown_class", f"class {name!r} is none of the campaign's"))
        for value in values:
            self._sort_one(value, found)
        for name in sorted(found.incomplete & set(found.boxes)):
            others = len(found.boxes.pop(name))
            too = f", which takes {how_many(others, 'sound box', 'sound boxes')} with it" if others else ""
            found.refused.append(("incomplete_class", f"{name!r} stays unlabeled here: a box of it is unusable{too}"))
        return found

    def _sort_one(self, value: object, found: _Sorted) -> None:
        try:
            box = msgspec.convert(value, ReturnedBox)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            self._broken(value, f"box {reprlib.repr(value)}: {error}", found)
            return
        if isinstance(value, dict):
            found.unknown += [f"frames[].boxes[].{name}" for name in unknown_fields(value, ReturnedBox)]
        name = box.class_name if box.class_name in found.boxes else self._names.find(box.class_name)
        if name is None:
            self._unknown_class(box, found)
            return
        box = box if name == box.class_name else replace(box, class_name=name)
        turn = turn_of(value)
        reason, why = ("turned", f" is turned by {turn} degrees") if turn else self._objection(box, found)
        if turn:
            found.incomplete.add(name)
        if reason:
            found.refused.append((reason, f"box {_spell(box)}{why}"))
        else:
            found.boxes[name].append(box)

    @property
    def _names(self) -> ClassNames:
        return ClassNames(self.manifest.classes, self.manifest.aliases)

    def _unknown_class(self, box: ReturnedBox, found: _Sorted) -> None:
        """Refuse a box of a class that is none; the class that is meant must not pass for one that was looked for."""
        meant = self._names.nearest(box.class_name)
        if meant is not None:
            found.incomplete.add(meant)
        hint = f", {meant!r} would do" if meant else f"; the campaign's are {', '.join(self.manifest.classes[:5])}"
        found.refused.append(("unknown_class", f"box {_spell(box)}: there is no class {box.class_name!r}{hint}"))

    def _broken(self, value: object, detail: str, found: _Sorted) -> None:
        name = value.get("class_name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            raise _RefusedFrameError(
                "broken_box", f"frame {self.frame.frame_id}: {detail}; no class is whole without it"
            )
        found.refused.append(("broken_box", detail))
        found.incomplete.add(self._names.find(name) or self._names.nearest(name) or name)

    def _objection(self, box: ReturnedBox, found: _Sorted) -> tuple[str, str]:
        """Return why `box` is refused, and words on it; a box of no area holds no object and spoils nothing."""
        if box.class_name not in found.boxes:
            return "class_not_stated", ", which annotated_classes does not name"
        if box.x2 < box.x1 or box.y2 < box.y1:
            found.incomplete.add(box.class_name)
            return "negative_size", ": x2 and y2 are the corner at the bottom right, not a size"
        if self._is_outside(box):
            found.incomplete.add(box.class_name)
            return "outside", f": the picture is {self.frame.width} x {self.frame.height} pixels"
        x1, y1, x2, y2 = clip(corners_of(box), self.frame.width, self.frame.height)
        return ("", "") if x1 < x2 and y1 < y2 else ("empty_box", " has no area")

    def _is_outside(self, box: ReturnedBox) -> bool:
        low, high = min(box.x1, box.y1), max(box.x2 - self.frame.width, box.y2 - self.frame.height)
        return low < -EDGE_TOLERANCE_PX or high > EDGE_TOLERANCE_PX


def _unknown_frame(name: str, frames: Mapping[str, SentFrame]) -> str:
    meant = name.rpartition("/")[2].partition(".")[0].strip().lower()
    hint = f"; its frame_id is {meant!r} alone" if meant in frames else ""
    return f"frame {name[:80]!r} was not sent in this campaign{hint}"


def _spell(box: ReturnedBox) -> str:
    return f"{box.class_name!r} at {box.x1:g},{box.y1:g},{box.x2:g},{box.y2:g}"
