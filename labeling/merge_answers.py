"""Put the answers about one frame onto what is known of it: a three-way merge of sent, local and returned boxes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from driveflow.canonical import Json, canonical_json, digest
from labeling.answer_boxes import AnswerBox, Corners, clip, content_id, corners_of
from labeling.entries import Entry

SAME_BOX_MIN_IOU = 0.9

Row = dict[str, Json]  # one row of the BOXES or CONFLICTS table


@dataclass(slots=True)
class FrameMerge:
    """The labels of one frame after the merge, owned by who merges it.

    `boxes` are rows of the BOXES table, `annotated` all classes somebody looked for, `taken` those this merge decided.
    """

    frame_id: str
    boxes: list[Row]
    annotated: set[str]
    taken: set[str] = field(default_factory=set)
    new: set[str] = field(default_factory=set)  # of `taken`, those that were not annotated before
    conflicts: list[Row] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def merge_frame(frame_id: str, local: Sequence[Row], annotated: Iterable[str], entries: Sequence[Entry]) -> FrameMerge:
    """Return the labels of a frame: of several answers about a class the newest counts, labels of others stay.

    `local` are the rows of the frame's boxes, `entries` all answers about it, newest first, each of its campaigns.
    The answer decides over every box of its class that was sent or that an earlier reading of these campaigns left.
    """
    merge = FrameMerge(frame_id, [], set(annotated))
    distinct = _without_repeats(entries, merge.counts)
    names = sorted({name for entry in distinct for name in entry.boxes})
    merge.boxes = [row for row in local if row["class_name"] not in names]
    campaigns = {f"campaign:{entry.campaign_id}" for entry in entries}
    winners: set[int] = set()
    for name in names:
        answers = [entry for entry in distinct if name in entry.boxes]
        mine = [row for row in local if row["class_name"] == name]
        if _ClassMerge(merge, name, mine, campaigns).decide(answers):
            winners.add(id(answers[0]))
    for entry in distinct:
        merge.counts["answers_taken" if id(entry) in winners else "answers_superseded"] += 1
        merge.conflicts += [_conflict(frame_id, ("copied_box_id", "both"), box_id, None) for box_id in entry.copied_ids]
    merge.boxes.sort(key=lambda row: (row["origin"] in campaigns, str(row["class_name"]), str(row["box_id"])))
    _part_equal_ids(merge.boxes)
    return merge


def _without_repeats(entries: Sequence[Entry], counts: Counter[str]) -> list[Entry]:
    distinct: dict[object, Entry] = {}
    for entry in entries:
        if distinct.setdefault(entry.says(), entry) is not entry:
            counts["answers_repeated"] += 1
            counts["boxes_repeated"] += entry.box_count()
    return list(distinct.values())


@dataclass(frozen=True, slots=True)
class _ClassMerge:
    """Decides one class of one frame; `local` are its rows of that class, `campaigns` the origins under our hand."""

    merge: FrameMerge
    name: str
    local: list[Row]
    campaigns: set[str]

    def decide(self, answers: Sequence[Entry]) -> bool:
        """Write the class's boxes into the merge and return whether the newest answer was taken."""
        newest = answers[0]
        for older in answers[1:]:
            self._set_aside(newest, older)
        foreign = [row for row in self.local if row["origin"] not in self.campaigns and not row["ignore"]]
        is_ours = any(row["origin"] in self.campaigns for row in self.local)
        is_annotated = self.name in self.merge.annotated
        if is_annotated and not is_ours and (foreign or self.name not in newest.frame.missing_classes):
            self._keep(newest)
            return False
        self._take(newest, foreign)
        if is_annotated and not self.local and newest.boxes[self.name]:
            self._disagree(("answer_over_empty", "right"), [], _spell_boxes(newest, self.name), "annotated_classes")
        return True

    def _set_aside(self, newest: Entry, older: Entry) -> None:
        if older.boxes[self.name] == newest.boxes[self.name]:
            self.merge.counts["boxes_repeated"] += len(older.boxes[self.name])
            return
        self.merge.counts["boxes_superseded"] += len(older.boxes[self.name])
        rule = _why_newer(newest, older)
        self._disagree((rule, "left"), _spell_boxes(newest, self.name), _spell_boxes(older, self.name))

    def _keep(self, newest: Entry) -> None:
        boxes = newest.boxes[self.name]
        self.merge.boxes += self.local
        self.merge.counts["boxes_superseded"] += len(boxes)
        if {box.corners for box in boxes} != {_corners(row) for row in self.local}:
            left = [_spell_row(row) for row in self.local]
            self._disagree(("already_annotated", "left"), left, _spell_boxes(newest, self.name))

    def _take(self, newest: Entry, foreign: list[Row]) -> None:
        boxes = newest.boxes[self.name]
        self.merge.boxes += [row for row in self.local if row["ignore"] and row["origin"] not in self.campaigns]
        self.merge.taken.add(self.name)
        if self.name not in self.merge.annotated:
            self.merge.new.add(self.name)
        self.merge.boxes += self._merge_local(newest, foreign)
        self.merge.annotated.add(self.name)
        self.merge.boxes += [_box_row(newest, self.name, box) for box in boxes]
        self.merge.counts["boxes_taken"] += len(boxes)
        self.merge.counts.update(_prelabel_fates(newest, self.name))

    def _merge_local(self, newest: Entry, foreign: list[Row]) -> list[Row]:
        """Return the local boxes that stay beside the answer; say where somebody changed them since the hand-off."""
        sent = {box.box_id: box for box in newest.frame.prelabels if not box.origin.startswith("model:")}
        returned = {box.box_id: box for boxes in newest.boxes.values() for box in boxes if box.sent}
        here = {str(row["box_id"]): row for row in self.local}
        for box_id, start in sent.items():
            if start.class_name == self.name and box_id in returned and box_id not in here:
                self._disagree(("deleted_here", "right"), None, _spell_box(returned[box_id]))
        for box_id in sorted({str(row["box_id"]) for row in foreign} & sent.keys()):
            answer = returned.get(box_id)
            if self._inside(here[box_id], newest) != corners_of(sent[box_id]):
                self._disagree(
                    ("changed_here", "right"), _spell_row(here[box_id]), _spell_box(answer) if answer else None
                )
        return [row for row in foreign if str(row["box_id"]) not in sent and self._stays(row, newest)]

    def _inside(self, row: Row, newest: Entry) -> Corners:
        return clip(_corners(row), newest.frame.width, newest.frame.height)

    def _stays(self, row: Row, newest: Entry) -> bool:
        twin = max(newest.boxes[self.name], key=lambda box: _iou(box.corners, _corners(row)), default=None)
        is_same = twin is not None and _iou(twin.corners, _corners(row)) >= SAME_BOX_MIN_IOU
        verdict = ("added_here", "right" if is_same else "both")
        self._disagree(verdict, _spell_row(row), _spell_box(twin) if is_same and twin else None)
        return not is_same

    def _disagree(self, verdict: tuple[str, str], left: Json, right: Json, kind: str = "box") -> None:
        self.merge.conflicts.append(
            _conflict(self.merge.frame_id, verdict, _of(self.name, left), _of(self.name, right), kind)
        )


def _of(name: str, value: Json) -> Json:
    return {"class_name": name, "boxes": value}


def _conflict(frame_id: str, verdict: tuple[str, str], left: Json, right: Json, kind: str = "box") -> Row:
    rule, winner = verdict
    sides = {"left": canonical_json(left), "right": canonical_json(right)}
    return {"frame_id": frame_id, "kind": kind, "rule": rule, "winner": winner, **sides}


def _why_newer(newest: Entry, older: Entry) -> str:
    if newest.order.returned_ns != older.order.returned_ns:
        return "later_returned_at"
    return "later_in_file" if newest.order.sha256 == older.order.sha256 else "greater_file_digest"


def _prelabel_fates(entry: Entry, name: str) -> Counter[str]:
    """Count what became of the boxes of class `name` that were sent: each in exactly one way."""
    returned = {box.box_id: (group, box) for group, boxes in entry.boxes.items() for box in boxes if box.sent}
    fates: Counter[str] = Counter()
    for sent in entry.frame.prelabels:
        if sent.class_name != name:
            continue
        group, box = returned.get(sent.box_id, ("", None))
        fates["prelabels_answered"] += 1
        if box is None:
            fates["prelabels_rejected"] += 1
        elif group != name:
            fates["prelabels_reclassified"] += 1
        else:
            fates["prelabels_confirmed" if box.corners == corners_of(sent) else "prelabels_moved"] += 1
    return fates


def _box_row(entry: Entry, name: str, box: AnswerBox) -> Row:
    x1, y1, x2, y2 = box.corners
    corners: Row = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return {
        "frame_id": entry.frame_id,
        "box_id": box.box_id,
        "class_name": name,
        **corners,
        "score": None,
        "origin": f"campaign:{entry.campaign_id}",
        "annotator": entry.annotator or None,
        "guideline": entry.guideline or None,
        "ignore": box.ignore,
        "attributes": box.attributes,
    }


def _part_equal_ids(rows: list[Row]) -> None:
    """Give a new id to the later of two boxes that carry the same: a sent id that came back under a second class."""
    seen: set[str] = set()
    for row in rows:
        box_id = str(row["box_id"])
        if box_id in seen:
            box_id = content_id(str(row["frame_id"]), str(row["class_name"]), _corners(row), str(row["attributes"]))
        while box_id in seen:  # two boxes that differ in nothing but `ignore`
            box_id = digest([box_id])[:32]
        row["box_id"] = box_id
        seen.add(box_id)


def _corners(row: Mapping[str, Json]) -> Corners:
    x1, y1, x2, y2 = (float(str(row[name])) for name in ("x1", "y1", "x2", "y2"))
    return x1, y1, x2, y2


def _spell_row(row: Row) -> Json:
    return {"box_id": row["box_id"], "origin": row["origin"], "corners": list(_corners(row))}


def _spell_box(box: AnswerBox) -> Json:
    return {"box_id": box.box_id, "corners": list(box.corners)}


def _spell_boxes(entry: Entry, name: str) -> Json:
    boxes = [_spell_box(box) for box in entry.boxes[name]]
    return {"campaign_id": entry.campaign_id, "file": entry.path, "annotator": entry.annotator, "boxes": boxes}


def _iou(a: Corners, b: Corners) -> float:
    """Return intersection over union of two boxes with an area.

    >>> _iou((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)
