"""Choose past failures for a regression set out of the changes that a report.json tells."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from driveflow.errors import InvalidInputError
from validation.regression import FalseAlarm, PastFailure, RegressionObject, WrongClass
from validation.regression_rule import objects_there, states
from validation.scored_file import find_scored

What: TypeAlias = Literal["missed", "false", "class", "all"]
Turn: TypeAlias = Literal["fixed", "broken"]


@dataclass(frozen=True, slots=True)
class Pick:
    """Which changes are wanted: `of` the model that the report judges, what it found anew or what it lost.

    missed: objects. false: false alarms, those with a score of `min_score` and, where it is stated, of one kind of
    `mistake`. class: objects that were taken for another class. all: each of them, an object once. `frame` is the
    beginning of a frame's name. Empty means any.
    """

    of: Turn = "fixed"
    what: What = "missed"
    class_name: str = ""
    frame: str = ""
    mistake: str = ""
    min_score: float = 0.0


@dataclass(frozen=True, slots=True)
class Picked:
    """Past failures that the better model of the report keeps right; `left_out` are those that it does not quite."""

    failures: tuple[PastFailure, ...]
    left_out: int
    unlisted: int  # changes that the report counts and does not list
    has_champion: bool = True


def pick(report: Any, where: str, wanted: Pick) -> Picked:  # noqa: ANN401 JSON
    """Return what of the report's changes is wanted.

    A false alarm that is near another one of the better model, which the report does not call the same, is left out:
    the model that it comes from would be the first that the set blocks.

    Raises:
        InvalidInputError: it is no report of a model beside a champion.
    """
    if not isinstance(report, Mapping) or "changes" not in report:
        raise InvalidInputError(f"{where} is no report of a run (report.json): it tells no changes against a champion.")
    try:
        changes = report["changes"]
        frames = changes[f"{wanted.of}_frames"] if changes is not None else []
        found = sorted({one for frame in frames for one in _of_frame(frame, wanted)}, key=_key)
        unlisted = _unlisted(changes, frames, wanted.of) if changes is not None else 0
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InvalidInputError(f"{where} is no whole report of a run (report.json): {error!r}.") from error
    if not found:
        return Picked((), 0, unlisted, has_champion=changes is not None)
    better = find_scored(report if wanted.of == "fixed" else report["champion"], where)
    known = [replace(one, objects=objects_there(better, one)) if isinstance(one, FalseAlarm) else one for one in found]
    held = tuple(one for one, state in zip(known, states(better, known), strict=True) if state == "right")
    return Picked(held, len(known) - len(held), unlisted)


def _of_frame(frame: Mapping[str, Any], wanted: Pick) -> Iterator[PastFailure]:
    frame_id = str(frame["frame_id"])
    if not frame_id.startswith(wanted.frame):
        return
    for one in frame["objects"]:
        found = _failure(frame_id, one, wanted)
        if found is not None and wanted.class_name in {"", found.class_name}:
            yield found


def _failure(frame_id: str, one: Mapping[str, Any], wanted: Pick) -> PastFailure | None:
    x1, y1, x2, y2 = map(float, one["corners"])
    place = frame_id, str(one["class_name"]), (x1, y1, x2, y2)
    score, said, mistake = one["score"], str(one.get("said", "")), str(one.get("mistake", ""))
    if score is not None:
        asked = wanted.what in {"false", "all"} and wanted.mistake in {"", mistake} and score >= wanted.min_score
        return FalseAlarm(*place, mistake) if asked else None
    if said and wanted.what in {"class", "all"}:
        return WrongClass(*place, said)
    return RegressionObject(*place) if wanted.what in {"missed", "all"} else None


def _key(one: PastFailure) -> tuple[str, str, str, tuple[float, ...], str]:
    return type(one).__name__, one.frame_id, one.class_name, one.box, one.told()


def _unlisted(changes: Mapping[str, Any], frames: list[Any], of: Turn) -> int:
    """Return how many changed objects and false detections the report counts and lists no frame of."""
    counted = changes[f"n_{of}"] + changes["n_gone_false" if of == "fixed" else "n_new_false"]
    return int(counted) - sum(len(frame["objects"]) for frame in frames)
