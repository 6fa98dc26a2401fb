"""What the report found beyond the evaluations, for programs: changed objects, labels in doubt, worst frames."""

from dataclasses import asdict

from driveflow.canonical import Json
from validation.model.changed_frames import ChangedFrame, Changes
from validation.model.frame_rows import Ranks
from validation.model.suspects import Suspect
from validation.model.worst_frames import WorstFrame

_KINDS = ("objects", "broken", "fixed", "new_false", "gone_false")


def changes_json(found: Changes | None) -> Json:
    """Return what is newly broken and fixed; null where there is no champion."""
    if found is None:
        return None
    totals: dict[str, Json] = {f"n_{kind}": found.total(kind) for kind in _KINDS}
    return {
        **totals,
        "n_broken_drives": found.broken_groups,
        "n_fixed_drives": found.fixed_groups,
        "per_class": [
            {"class_name": part.class_name, **{f"n_{kind}": int(getattr(part, kind)) for kind in _KINDS}}
            for part in found.per_class
        ],
        "broken_frames": [_frame(frame) for frame in found.broken],
        "fixed_frames": [_frame(frame) for frame in found.fixed],
    }


def suspects_json(found: tuple[Suspect, ...]) -> list[Json]:
    """Return labels in doubt, the surest first."""
    return [{**asdict(item), "corners": list(item.corners)} for item in found]


def worst_json(frame: WorstFrame) -> dict[str, Json]:
    """Return one of the worst frames with what is wrong in it."""
    mistakes: list[Json] = [asdict(mistake) for mistake in frame.mistakes]
    return {**_where(frame.frame_id, frame.drive_group, frame.ranks), "mistakes": mistakes}


def _frame(frame: ChangedFrame) -> dict[str, Json]:
    objects: list[Json] = [{**asdict(item), "corners": list(item.corners)} for item in frame.objects]
    return {**_where(frame.frame_id, frame.drive_group, frame.ranks), "objects": objects}


def _where(frame_id: str, drive_group: str, ranks: Ranks) -> dict[str, Json]:
    """Return a frame and its place (0 is first) over all and for each class that it is shown for."""
    by_class: list[Json] = [{"class_name": name, "place": place} for name, place in ranks.by_class.items()]
    return {"frame_id": frame_id, "drive_group": drive_group, "place": ranks.overall, "by_class": by_class}
