"""How often each class is there, and whether anybody looked for it."""

from collections.abc import Iterator

import polars as pl

from driveflow.flow.data_validation_section import DataValidationSection
from driveflow.flow.sections import GateSection
from driveflow.tables import SPLITS
from validation.data.boxes import box_suspects
from validation.data.report import Check, ClassRow, judged
from validation.data.request import DataRequest, Prepared

_SHOWN = 8


def class_rows(data: Prepared, classes: tuple[str, ...]) -> tuple[ClassRow, ...]:
    """Return each class with its boxes by split, and the share of the labeled frames in which it was looked for."""
    counted = data.boxes.group_by("class_name", "split").len()
    boxes = {(name, split): count for name, split, count in counted.iter_rows()}
    labeled = _labeled(data)
    looked = labeled.explode("annotated_classes", empty_as_null=False).group_by("annotated_classes").len()
    frames = dict(looked.iter_rows())
    return tuple(
        ClassRow(
            name,
            {split: boxes.get((name, split), 0) for split in SPLITS},
            frames.get(name, 0) / labeled.height if labeled.height else None,
        )
        for name in classes
    )


def check_classes(request: DataRequest, data: Prepared, rows: tuple[ClassRow, ...]) -> Iterator[Check]:
    """Return whether there are labels, and of each class enough, in balance, and looked for."""
    labeled = _labeled(data)
    yield _labels(data, labeled)
    if request.gate is not None:
        yield _holdout(labeled, request.gate)
    yield _support(rows, labeled, request.settings)
    yield _balance(rows, request.settings)
    yield _looked_for(rows)
    yield _unannotated(data, request.settings)


def _labeled(data: Prepared) -> pl.DataFrame:
    return data.frames.filter(pl.col("annotated_classes").list.len() > 0)


def _labels(data: Prepared, labeled: pl.DataFrame) -> Check:
    """A snapshot without one box teaches nothing; one in which nobody looked is waiting for its labels."""
    total, boxes = data.frames.height, data.boxes.height
    lacking = total - labeled.height
    reason = f"{labeled.height:,} of {total:,} frames are labeled, with {boxes:,} boxes"
    if labeled.height and not boxes:
        return Check("labels", "BLOCK", f"{reason}: there is nothing to learn.", 0.0, "boxes", n=total)
    if not labeled.height:
        return Check("labels", "NEEDS REVIEW", f"{reason}: nobody looked yet.", 0.0, "labeled frames", n=total)
    return Check("labels", "PASS", f"{reason}.", float(boxes), "boxes", found=lacking, n=total)


def _holdout(labeled: pl.DataFrame, gate: GateSection) -> Check:
    """Tell before hours of training that what would judge the model cannot."""
    held = labeled.filter(pl.col("split") == "holdout")
    frames, groups = held.height, held["drive_group"].n_unique()
    told = f"The hold-out has {frames:,} labeled frames of {groups:,} drive groups"
    if frames >= gate.min_frames and groups >= gate.min_drive_groups:
        return Check("holdout", "PASS", f"{told}.", float(frames), "labeled frames", n=frames)
    needed = f"the gate needs {gate.min_frames} of {gate.min_drive_groups} groups"
    told = f"{told}; {needed}, so a model can be trained, but not promoted."
    return Check("holdout", "NEEDS REVIEW", told, float(frames), "labeled frames", n=frames)


def _support(rows: tuple[ClassRow, ...], labeled: pl.DataFrame, settings: DataValidationSection) -> Check:
    """Look for classes with too few boxes to learn from, and for those that the hold-out cannot judge."""
    trains = labeled.filter(pl.col("split") == "train").height > 0
    few = [row for row in rows if trains and row.boxes["train"] < settings.min_class_boxes]
    holds = any(row.boxes["holdout"] for row in rows)
    unjudged = [row.class_name for row in rows if holds and not row.boxes["holdout"]]
    told = [f"fewer than {settings.min_class_boxes} training boxes: {_named([row.class_name for row in few])}"] * bool(
        few
    )
    told += [f"none in the hold-out, so not judged: {_named(unjudged)}"] * bool(unjudged)
    least = min((row.boxes["train"] for row in rows), default=0)
    reason = f"{'; '.join(told)}." if told else f"Every class has at least {least:,} training boxes."
    check = Check(
        "class_support",
        "PASS",
        reason[:1].upper() + reason[1:],
        float(len({row.class_name for row in few} | set(unjudged))) if trains or holds else None,
        "classes",
        0.0,
        None,
        len(few),
        len(rows),
    )
    return judged(check, 0)


def _balance(rows: tuple[ClassRow, ...], settings: DataValidationSection) -> Check:
    counts = {row.class_name: sum(row.boxes.values()) for row in rows if sum(row.boxes.values())}
    if len(counts) < 2:
        return Check("class_balance", "NOT JUDGED", "Fewer than two classes have boxes.", n=len(counts))
    most, least = max(counts, key=counts.__getitem__), min(reversed(counts), key=counts.__getitem__)  # never one class
    ratio = counts[most] / counts[least]
    reason = f"{most} has {counts[most]:,} boxes, {least} {counts[least]:,}: {ratio:,.1f} to 1."
    n = sum(counts.values())
    return judged(Check("class_balance", "PASS", reason, ratio, "to 1", settings.max_class_ratio, None, 0, n), 0)


def _looked_for(rows: tuple[ClassRow, ...]) -> Check:
    never = [row.class_name for row in rows if row.looked_for == 0]
    if all(row.looked_for is None for row in rows):
        return Check("classes_looked_for", "NOT JUDGED", "No frame is labeled.", n=len(rows))
    # neither all nor none, however near: a share that is rounded to 100% would deny the sentence
    shares = {row.class_name: row.looked_for for row in rows if row.looked_for is not None and 0 < row.looked_for < 1}
    part = [f"{name} in {min(share, 0.999):.1%}" for name, share in shares.items()]
    told = f"Nobody looked for {_named(never)}." if never else "Every class was looked for."
    told += f" Not in every labeled frame: {_named(part)}." if part else ""
    return judged(
        Check("classes_looked_for", "PASS", told, float(len(never)), "classes", 0.0, None, len(never), len(rows)), 0
    )


def _unannotated(data: Prepared, settings: DataValidationSection) -> Check:
    """Look for boxes that do not count, because the frame does not list their class as looked for."""
    boxes = data.boxes.join(data.frames.select("frame_id", "annotated_classes"), on="frame_id", maintain_order="left")
    odd = boxes.filter(~pl.col("annotated_classes").list.contains(pl.col("class_name")).fill_null(value=False))
    told = f"{odd.height:,} of {boxes.height:,} boxes are of a class that their frame does not list as looked for."
    check = Check(
        "boxes_unannotated",
        "PASS",
        told,
        odd.height / boxes.height if boxes.height else None,
        "share of boxes",
        settings.unannotated_review,
        settings.unannotated_block,
        odd.height,
        boxes.height,
        box_suspects(odd, settings.examples, lambda _: "its class is not listed as looked for"),
    )
    return judged(check, settings.min_n)


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
