"""What a challenger newly breaks and newly fixes against a champion, object by object."""

from dataclasses import dataclass

import numpy as np

from validation.model.evaluation import Evaluation
from validation.model.match import NONE, detections_at, pairs_of_models
from validation.model.scene import Bools, Ints, Scene
from validation.model.worst_frames import Corners, DrawnBox, corners_of, drawn_boxes

_SAME_BOX = 0.5  # two false detections of a class are one mistake of both models from this overlap on


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
    """One object that changed, or one false detection that is new or gone; `score` is there for the latter."""

    class_name: str
    height_px: float
    corners: Corners
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ChangedFrame:
    """A frame in which something changed, and the boxes to draw."""

    frame_id: str
    drive_group: str
    objects: tuple[ChangedObject, ...]
    boxes: tuple[DrawnBox, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """All that changed at the operating scores of both models; frames with the most changed objects come first.

    `broken_groups` and `fixed_groups` count drive groups: many changes in one drive are one change of luck.
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
    left, right = detections_at(model.scene.detected, mine), detections_at(other.scene.detected, theirs)
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


def _frames(
    loser: Evaluation, winner: Evaluation, turned: _Turned, count: int, shown: Evaluation | None = None
) -> tuple[ChangedFrame, ...]:
    """Return frames with the most objects that `loser` lost, then false ones; `shown` is who is drawn."""
    scene = loser.scene
    frames = len(scene.frame_ids)
    lost = np.bincount(scene.truth.frame[turned.objects], minlength=frames)
    false = np.bincount(scene.detected.frame[turned.false], minlength=frames)
    order = np.lexsort((np.arange(frames), -false, -lost))
    rows = [int(row) for row in order[:count] if lost[row] or false[row]]
    return tuple(_frame(loser, winner, turned, row, shown or loser) for row in rows)


def _frame(loser: Evaluation, winner: Evaluation, turned: _Turned, row: int, shown: Evaluation) -> ChangedFrame:
    scene = loser.scene
    objects = turned.objects[scene.truth.frame[turned.objects] == row]
    false = turned.false[scene.detected.frame[turned.false] == row]
    changed = [_object(scene, int(one)) for one in objects] + [_false(scene, int(one)) for one in false]
    others = _of_winner(winner, objects) if shown is loser else _as_champion(loser, false)
    boxes = (*drawn_boxes(shown, row, objects), *others)
    return ChangedFrame(scene.frame_ids[row], scene.groups[scene.frame_group[row]], tuple(changed), boxes)


def _object(scene: Scene, row: int) -> ChangedObject:
    corners = scene.truth.corners[row]
    return ChangedObject(scene.classes[scene.truth.label[row]], float(corners[3] - corners[1]), corners_of(corners))


def _false(scene: Scene, row: int) -> ChangedObject:
    corners, score = scene.detected.corners[row], float(scene.detected.score[row])
    name = scene.classes[scene.detected.label[row]]
    return ChangedObject(name, float(corners[3] - corners[1]), corners_of(corners), score)


def _of_winner(winner: Evaluation, objects: Ints) -> tuple[DrawnBox, ...]:
    """Return the detections with which the champion found the objects that the challenger lost."""
    found = winner.matches.truth[0]
    at = np.flatnonzero(np.isin(found, objects) & (found != NONE) & winner.mistakes.shown)
    return _as_champion(winner, at)


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
