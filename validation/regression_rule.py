"""Hold a model against a regression set: which past failures stay right, which are back, and which cannot be told."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from driveflow.pages.clip import short_name
from validation.model.compare import Counts
from validation.model.places import Places, frame_key, meets, tenths
from validation.model.scored import Scored
from validation.regression import FalseAlarm, PastFailure, RegressionObject, RegressionSet, WrongClass
from validation.verdict import RuleResult

State: TypeAlias = Literal["right", "back", "gone", "relabeled"]
"""right: it stays so. back: the failure is there again. gone: frame, class or object are not in this hold-out.

relabeled: at the place of a false alarm more objects, or an ignore region, are labeled than when it was written down.
"""
RULE: Final = "regression set "
_SAME_PLACE: Final = 0.5  # two boxes of a class are at one place from this overlap on
_SHOWN = 5


def states(model: Scored, failures: Sequence[PastFailure]) -> list[State]:
    """Return how each of `failures` stands with the model, cut at its operating scores."""
    row_of = {key: row for row, key in enumerate(model.frame_key.tolist())}
    label_of = {name: label for label, name in enumerate(model.classes)}
    return [_state(model, one, row_of, label_of) for one in failures]


def objects_there(model: Scored, alarm: FalseAlarm) -> int:
    """Return how many objects of its class lie at the place of a false alarm."""
    row = np.flatnonzero(model.frame_key == np.uint64(frame_key(alarm.frame_id)))
    if not len(row) or alarm.class_name not in model.classes:
        return 0
    return _near(model.objects, int(row[0]), model.classes.index(alarm.class_name), alarm)


def regression_rule(challenger: Scored, champion: Scored | None, wanted: RegressionSet) -> RuleResult:
    """Return whether the challenger keeps everything right that the set holds.

    BLOCK: a failure is back. NEEDS DATA: none is, and one cannot be told on this hold-out.
    """
    failures = wanted.failures
    found = states(challenger, failures)
    back = _those(failures, found, "back")
    judged = [*_those(failures, found, "right"), *back]
    untold = _untold(failures, found)
    share = 1.0 - len(back) / len(judged) if judged else None
    name, counts = f"{RULE}{wanted.name}", _counts(challenger, judged)
    if back:
        reason = (
            f"{len(back)} of {len(failures)} {_are_back(failures)}: {_told(back)}.{_beside(champion, failures)}{untold}"
        )
        return RuleResult(name, "BLOCK", reason, share, 1.0, None, counts)
    if untold:
        return RuleResult(name, "NEEDS DATA", untold.strip(), share, 1.0, None, counts)
    return RuleResult(name, "PASS", _all_right(wanted), share, 1.0, None, counts)


def _state(model: Scored, one: PastFailure, row_of: Mapping[int, int], label_of: Mapping[str, int]) -> State:
    row, label = row_of.get(frame_key(one.frame_id)), label_of.get(one.class_name)
    if row is None or label is None or not model.annotated[row, label]:
        return "gone"
    if isinstance(one, FalseAlarm):
        return _alarm_state(model, one, row, label)
    box = tenths([one.box])[0]
    twins = model.objects.at(row, label)
    twins = twins[(model.object_corners[twins] == box).all(axis=1)]
    if not len(twins):
        return "gone"
    if not model.object_found[twins].any():
        return "back"
    said = label_of.get(one.said) if isinstance(one, WrongClass) else None
    return "back" if said is not None and _near(model.false, row, said, one) else "right"


def _alarm_state(model: Scored, one: FalseAlarm, row: int, label: int) -> State:
    if _near(model.regions, row, label, one) or _near(model.objects, row, label, one) > one.objects:
        return "relabeled"
    return "back" if _near(model.false, row, label, one) else "right"


def _near(found: Places, row: int, label: int, one: PastFailure) -> int:
    boxes = found.corners[found.at(row, label)]
    return int(meets(tenths([one.box])[0], boxes, _SAME_PLACE).sum())


def _counts(model: Scored, failures: Sequence[PastFailure]) -> Counts:
    keys = np.array([frame_key(one.frame_id) for one in failures], np.uint64)
    frames = np.flatnonzero(np.isin(model.frame_key, keys))
    return Counts(len(frames), len(np.unique(model.frame_group[frames])), len(failures))


def _those(failures: Sequence[PastFailure], found: Sequence[State], wanted: State) -> list[PastFailure]:
    return [one for one, state in zip(failures, found, strict=True) if state == wanted]


def _are_back(failures: Sequence[PastFailure]) -> str:
    if all(isinstance(one, RegressionObject) for one in failures):
        return "objects that must stay found are missed"
    if all(isinstance(one, FalseAlarm) for one in failures):
        return "false alarms that must stay gone are back"
    return "past failures that must stay right are back"


def _all_right(wanted: RegressionSet) -> str:
    count = len(wanted.failures)
    if not wanted.false_alarms and not wanted.wrong_classes:
        return f"All {count} objects of the set are found."
    parts = [
        f"{len(wanted.objects)} objects found" if wanted.objects else "",
        f"{len(wanted.wrong_classes)} told by their right class" if wanted.wrong_classes else "",
        f"{len(wanted.false_alarms)} false alarms gone" if wanted.false_alarms else "",
    ]
    return f"All {count} past failures of the set stay right: {', '.join(part for part in parts if part)}."


def _untold(failures: Sequence[PastFailure], found: Sequence[State]) -> str:
    """Return what cannot be told and why, as sentences that go on after others."""
    words = ""
    reasons: tuple[tuple[State, str], ...] = (
        ("gone", "are not in this hold-out"),
        ("relabeled", "lie where the labels have changed"),
    )
    for state, why in reasons:
        those = _those(failures, found, state)
        if those:
            what = "objects" if all(isinstance(one, RegressionObject) for one in failures) else "past failures"
            words += f" {len(those)} of {len(failures)} {what} of the set {why}: {_told(those)}."
    return words


def _beside(champion: Scored | None, failures: Sequence[PastFailure]) -> str:
    if champion is None:
        return ""
    before = states(champion, failures).count("right")
    if all(isinstance(one, RegressionObject) for one in failures):
        return f" The champion finds {before}."
    return f" The champion has {before} right."


def _told(failures: Sequence[PastFailure]) -> str:
    shown = ", ".join(f"{one.told()} in {short_name(one.frame_id)}" for one in failures[:_SHOWN])
    return f"{shown} and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else shown
