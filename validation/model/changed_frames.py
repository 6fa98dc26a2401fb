"""What a challenger newly breaks and newly fixes against a champion, object by object."""

from dataclasses import dataclass

import numpy as np

from validation.model.drawn_boxes import BoxRows, Corners, DrawnBox, corners_of, drawn_boxes
from validation.model.errors import KINDS
from validation.model.evaluation import Evaluation
from validation.model.frame_rows import FrameRows, Ranks, first_of_classes, ranked
from validation.model.match import NONE, pairs_of_models
from validation.model.scene import Bools, Ints, Scene

_SAME_BOX = 0.5  # two false detections of a class are one mistake of both models from this overlap on
_MOST_LISTED = 1_000  # frames of either kind whose changes are told; pictures are made of far fewer


@dataclass(frozen=True, slots=True)
class ClassChange:
    """One class: objects that only the champion found, only the challenger found, and false detections likewise."""

    class_name: str
    objects: int
    broken: int
    fixed: int
    new_false: int
    gone_false: int


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """One object that changed, or one false detection that is new or gone; `score` is there for the latter.

    `mistake` is the kind of a false detection (`Bkg`, `Dupe`, `Cls`, `Loc`, `Both`). `said` is the class that the model
    which does not find an object takes it for, where the other does not say so too; else both are empty.
    """

    class_name: str
    height_px: float
    corners: Corners
    score: float | None = None
    mistake: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class ChangedFrame:
    """A frame in which something changed, and the boxes to draw, where it is one to look at."""

    frame_id: str
    drive_group: str
    objects: tuple[ChangedObject, ...]
    boxes: tuple[DrawnBox, ...]
    ranks: Ranks


@dataclass(frozen=True, slots=True)
class Changes:
    """All that changed at the operating scores of both models; frames with the most changed objects come first.

    Up to a thousand frames are told of either kind; those to look at have ranks. `broken_groups` and `fixed_groups`
    count drive groups: many changes in one drive are one change of luck.
    """

    per_class: tuple[ClassChange, ...]
    broken_groups: int
    fixed_groups: int
    broken: tuple[ChangedFrame, ...]
    fixed: tuple[ChangedFrame, ...]

    def total(self, kind: str) -> int:
        """Return the sum of one kind of change over all classes: broken, fixed, new_false or gone_false."""
        return sum(int(getattr(part, kind)) for part in self.per_class)


@dataclass(frozen=True, slots=True)
class _Turned:
    """Rows of the truth, and of the losing model's detections, that are wrong in one model and right in the other."""

    objects: Ints
    false: Ints


def changes(challenger: Evaluation, champion: Evaluation, most_frames: int) -> Changes:
    """Return what changed; both must have been measured on the same hold-out (`refuse_other_measure`)."""
    mine, theirs = _found(challenger), _found(champion)
    broken = _Turned(np.flatnonzero(theirs & ~mine), _only(challenger, champion))
    fixed = _Turned(np.flatnonzero(mine & ~theirs), _only(champion, challenger))
    return Changes(
        per_class=_per_class(challenger, champion, broken, fixed),
        broken_groups=_groups(challenger.scene, broken.objects),
        fixed_groups=_groups(challenger.scene, fixed.objects),
        broken=_frames(challenger, champion, broken, most_frames),
        fixed=_frames(champion, challenger, fixed, most_frames, shown=challenger),
    )


def _found(model: Evaluation) -> Bools:
    found: Bools = ~model.scene.truth.ignore
    found[model.mistakes.missed] = False
    return found


def _only(model: Evaluation, other: Evaluation) -> Ints:
    """Return the false detections of `model` that `other` does not make too."""
    mine, theirs = model.mistakes.false, other.mistakes.false
    left, right = model.scene.detected.rows(mine), other.scene.detected.rows(theirs)
    both = pairs_of_models(left, right, len(model.scene.frame_ids), _SAME_BOX).detection
    return np.delete(mine, np.unique(both))


def _per_class(
    challenger: Evaluation, champion: Evaluation, broken: _Turned, fixed: _Turned
) -> tuple[ClassChange, ...]:
    scene, size = challenger.scene, len(challenger.scene.classes)
    lost, won = (np.bincount(scene.truth.label[part.objects], minlength=size) for part in (broken, fixed))
    new = np.bincount(scene.detected.label[broken.false], minlength=size)
    gone = np.bincount(champion.scene.detected.label[fixed.false], minlength=size)
    objects = np.bincount(scene.truth.label[~scene.truth.ignore], minlength=size)
    return tuple(
        ClassChange(name, *(int(column[label]) for column in (objects, lost, won, new, gone)))
        for label, name in enumerate(scene.classes)
    )


def _groups(scene: Scene, objects: Ints) -> int:
    return len(np.unique(scene.frame_group[scene.truth.frame[objects]]))


class _Side:
    """A model that lost what `turned` says to the other one, and rows by frame; `shown` is the model that is drawn."""

    def __init__(self, loser: Evaluation, winner: Evaluation, turned: _Turned, shown: Evaluation) -> None:
        self.loser, self.winner, self.shown = loser, winner, shown
        scene, frames = loser.scene, len(loser.scene.frame_ids)
        self.turned = turned
        self.objects = FrameRows(scene.truth.frame[turned.objects], frames)
        self.false = FrameRows(scene.detected.frame[turned.false], frames)
        self.boxes = BoxRows(shown)
        self.of_winner = BoxRows(winner) if shown is loser else self.boxes
        taken = dict(zip(loser.mistakes.taken_for.tolist(), loser.mistakes.false.tolist(), strict=True))
        false = set(turned.false.tolist())
        self.said_by = {one: detection for one, detection in taken.items() if one != NONE and detection in false}


def _frames(
    loser: Evaluation, winner: Evaluation, turned: _Turned, count: int, shown: Evaluation | None = None
) -> tuple[ChangedFrame, ...]:
    """Return frames with the most objects that `loser` lost, then false ones; `shown` is who is drawn."""
    scene = loser.scene
    frames = len(scene.frame_ids)
    frame = np.concatenate([scene.truth.frame[turned.objects], scene.detected.frame[turned.false]])
    label = np.concatenate([scene.truth.label[turned.objects], scene.detected.label[turned.false]])
    lost = np.bincount(scene.truth.frame[turned.objects], minlength=frames)
    false = np.bincount(scene.detected.frame[turned.false], minlength=frames)
    order = np.lexsort((np.arange(frames), -false, -lost))
    listed = [int(row) for row in order[:_MOST_LISTED] if lost[row] or false[row]]
    chosen = ranked(listed[:count], first_of_classes(frame, label, false, count), scene.classes)
    side = _Side(loser, winner, turned, shown or loser)
    return tuple(_frame(side, row, chosen.get(row, Ranks())) for row in dict.fromkeys([*listed, *chosen]))


def _frame(side: _Side, row: int, ranks: Ranks) -> ChangedFrame:
    scene = side.loser.scene
    objects, false = side.turned.objects[side.objects.of(row)], side.turned.false[side.false.of(row)]
    changed = [_object(side, int(one)) for one in objects] + [_false(side.loser, int(one)) for one in false]
    boxes: tuple[DrawnBox, ...] = ()
    if ranks.is_chosen:
        found = side.of_winner.detected(row)
        others = (
            _of_winner(side.winner, found, objects) if side.shown is side.loser else _as_champion(side.loser, false)
        )
        boxes = (*drawn_boxes(side.shown, side.boxes, row, objects), *others)
    return ChangedFrame(scene.frame_ids[row], scene.groups[scene.frame_group[row]], tuple(changed), boxes, ranks)


def _object(side: _Side, row: int) -> ChangedObject:
    scene = side.loser.scene
    corners, taken = scene.truth.corners[row], side.said_by.get(row)
    said = scene.classes[scene.detected.label[taken]] if taken is not None else ""
    name, height = scene.classes[scene.truth.label[row]], float(corners[3] - corners[1])
    return ChangedObject(name, height, corners_of(corners), said=said)


def _false(model: Evaluation, row: int) -> ChangedObject:
    scene = model.scene
    corners, score = scene.detected.corners[row], float(scene.detected.score[row])
    kind = int(model.errors.kind[row]) if model.errors is not None else NONE
    name, height = scene.classes[scene.detected.label[row]], float(corners[3] - corners[1])
    return ChangedObject(name, height, corners_of(corners), score, KINDS[kind] if kind != NONE else "")


def _of_winner(winner: Evaluation, detections: Ints, objects: Ints) -> tuple[DrawnBox, ...]:
    """Return those of the champion's `detections` with which it found the objects that the challenger lost."""
    found = winner.matches.truth[0][detections]
    return _as_champion(winner, detections[np.isin(found, objects) & (found != NONE)])


def _as_champion(model: Evaluation, detections: Ints) -> tuple[DrawnBox, ...]:
    scene = model.scene
    return tuple(
        DrawnBox(
            corners_of(scene.detected.corners[one]),
            scene.classes[scene.detected.label[one]],
            float(scene.detected.score[one]),
            right=True,
            by_champion=True,
        )
        for one in detections.tolist()
    )
