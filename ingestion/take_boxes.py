"""Turn what labels say into boxes of frames: upright pixels, the project's classes, nothing outside a picture."""

import json
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.as_polars import as_polars
from driveflow.canonical import canonical_json
from driveflow.flow.sections import BatchSection
from driveflow.formats.label_set import LabelProblem, LabelSet
from driveflow.table_digest import first_of_equal
from ingestion.disputes import Rule
from ingestion.identity import with_box_ids
from ingestion.merge_boxes import BoxRules, Claims, unite_boxes
from ingestion.taxonomy import ClassMap
from ingestion.upright import in_upright_pixels, with_turn

SAME_BOX_MIN_IOU = 0.9
"""Two labels of one frame inside a batch agree on a box from this overlap on."""

_ONE_BOX = BoxRules(Rule("union", "union", SAME_BOX_MIN_IOU))
_SPEAKER = ["path", "label_file", "listing"]
_RECKONED = ("exif_turn", "turn", "place", "width", "height")


@dataclass(frozen=True, slots=True)
class TakenBoxes:
    """Boxes by frame (columns of BOXES), the classes looked for in each frame, and what went another way.

    boxes_read + boxes_multiplied = boxes + boxes_dropped + boxes_quarantined + boxes_without_picture + boxes_united.
    """

    boxes: pl.DataFrame
    annotated: pl.DataFrame  # frame_id, annotated_classes (sorted)
    problems: list[LabelProblem]
    conflicts: list[dict[str, str]]
    counts: dict[str, int] = field(default_factory=dict)


def take_boxes(labels: LabelSet, pictures: pl.DataFrame, classes: ClassMap, section: BatchSection) -> TakenBoxes:
    """Return the boxes of the kept `pictures` (path, name, frame_id, width, height, turned; sorted by path)."""
    speakers = _speakers(labels, pictures)
    boxes = _spoken(labels.boxes, speakers)
    fitting = _only(boxes, boxes["exif_turn"].is_not_null())
    upright = in_upright_pixels(fitting)
    is_inside = upright.select(_is_inside()).to_series()
    inside = _only(upright, is_inside)
    problems = [*_size_problems(boxes, speakers), *_outside_problems(upright.filter(~is_inside), speakers)]
    mapped = _mapped(inside, speakers, classes, section.name)
    looked = _looked(labels, _believed(speakers, boxes, inside), classes, section)
    united = unite_boxes(Claims(mapped, looked), _ONE_BOX)
    foreign = [name for name, to in classes.outcomes.items() if to]
    kept_foreign = int(inside["class_name"].is_in(foreign).sum())
    counts = {
        "boxes_read": labels.boxes_read,
        "boxes": united.boxes.height,
        "boxes_multiplied": mapped.height - kept_foreign,
        "boxes_dropped": inside.height - kept_foreign,
        "boxes_quarantined": sum(problem.boxes for problem in (*labels.problems, *problems)),
        "boxes_without_picture": labels.boxes.num_rows - boxes.height,
        "boxes_united": united.united,
        "boxes_ignored": int(united.boxes["ignore"].sum()),
    }
    annotated = _annotated(looked)
    conflicts = united.conflicts.to_pylist()
    return TakenBoxes(united.boxes.select(columns.BOXES.names), annotated, problems, conflicts, counts)


def _only(boxes: pl.DataFrame, mask: pl.Series) -> pl.DataFrame:
    return boxes if mask.all() else boxes.filter(mask)


def _speakers(labels: LabelSet, pictures: pl.DataFrame) -> pl.DataFrame:
    """Return each listing of a kept picture with how it sees the picture and its turn among those of one frame.

    `speaker` numbers the listings, `place` the frames in order of their ids.
    """
    images = as_polars(labels.images).rename({"width": "stated_width", "height": "stated_height"})
    images = images.select(*_SPEAKER, "class_list", "stated_width", "stated_height")
    if images["path"].is_duplicated().any():
        images = images.unique(_SPEAKER, keep="first")
    found = with_turn(images.join(pictures, on="path")).sort(_SPEAKER)
    place = found["frame_id"].rank("dense").cast(pl.Int64)
    alone = place.max() == found.height
    turn = pl.lit(0, pl.Int64) if alone else pl.int_range(pl.len(), dtype=pl.Int64).over(place)
    return found.with_columns(turn=turn, place=place, by=pl.col("name")).with_row_index("speaker")


def _spoken(boxes: pa.Table, speakers: pl.DataFrame) -> pl.DataFrame:
    """Return the boxes of the pictures of `speakers`, with the speaker of each and what it is to be reckoned with.

    Boxes of one listing mostly stand together, so that each listing is looked up but a few times.
    """
    boxes = boxes.combine_chunks()
    begins = first_of_equal(boxes.select(_SPEAKER))
    told = as_polars(boxes.select(_SPEAKER).take(pa.array(begins)))
    asked = speakers.select(*_SPEAKER, "speaker", *_RECKONED)
    runs = told.join(asked, on=_SPEAKER, how="left", maintain_order="left")
    lengths = np.diff(begins, append=boxes.num_rows)
    spread = pl.DataFrame(
        [pl.Series(name, runs[name].to_arrow()).gather(np.repeat(np.arange(len(begins)), lengths))
         for name in ("speaker", *_RECKONED)]
    )  # fmt: skip
    whole = as_polars(boxes.drop_columns(_SPEAKER)).hstack(spread)
    return _only(whole, whole["speaker"].is_not_null())


def _is_inside() -> pl.Expr:
    """Tell which boxes overlap their picture; those partly outside stay as they are."""
    return (
        (pl.col("x2") > 0) & (pl.col("y2") > 0) & (pl.col("x1") < pl.col("width")) & (pl.col("y1") < pl.col("height"))
    )


def _believed(speakers: pl.DataFrame, boxes: pl.DataFrame, inside: pl.DataFrame) -> pl.DataFrame:
    """Return those who looked: not who brought useless boxes only, which is no example of "nothing to see".

    Nor who brought a box with a score: that is a model, and what it did not see may be there.
    """
    had, useful, models = (
        np.isin(speakers["speaker"].to_numpy(), numbers["speaker"].unique().to_numpy())
        for numbers in (boxes, inside, boxes.filter(pl.col("score").is_not_null()))
    )
    return speakers.filter(pl.Series(~(had & ~useful) & ~models, dtype=pl.Boolean))


def _looked(labels: LabelSet, speakers: pl.DataFrame, classes: ClassMap, section: BatchSection) -> pl.DataFrame:
    """Return frame_id, annotated_classes, turn and by of everybody who looked for classes."""
    stated = sorted(section.annotated_classes)
    lists = [stated or sorted(classes.annotated(names)) for names in labels.class_lists]
    schema = [("class_list", pl.Int32()), ("annotated_classes", pl.List(pl.String))]
    looked = pl.DataFrame(list(enumerate(lists)), schema=schema, orient="row")
    return speakers.join(looked, on="class_list").select("frame_id", "annotated_classes", "turn", "by")


def _annotated(looked: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id and the classes that anybody looked for, sorted."""
    table = looked.select("frame_id", "annotated_classes")
    again = table["frame_id"].is_duplicated()
    if not again.any():
        return table
    names = table.filter(again).explode("annotated_classes", empty_as_null=False).unique()
    united = names.group_by("frame_id").agg(pl.col("annotated_classes").sort())
    return pl.concat([table.filter(~again), united])


def _mapped(boxes: pl.DataFrame, speakers: pl.DataFrame, classes: ClassMap, batch: str) -> pl.DataFrame:
    """Return `boxes` in the project's classes, with the columns of BOXES, `turn` and `by`."""
    rows = [(name, own, name in classes.ignored) for name, to in classes.outcomes.items() for own in to]
    schema = [("class_name", pl.String()), ("to", pl.String()), ("ignored", pl.Boolean())]
    outcomes = pl.DataFrame(rows, schema=schema, orient="row")
    meant = boxes.select("class_name").join(outcomes, on="class_name", how="left", maintain_order="left_right")
    if meant.height == boxes.height and not meant["to"].has_nulls():  # each becomes one box, which is mostly so
        found = boxes.hstack(meant.select("to", "ignored"))
    else:
        found = boxes.join(outcomes, on="class_name", how="inner", maintain_order="left_right")
    if found["ignored"].any():
        told = zip(found["attributes"], found["class_name"], found["ignored"], strict=True)
        attributes = [_with_foreign_class(text, name) if ignored else text for text, name, ignored in told]
        found = found.with_columns(attributes=pl.Series(attributes, dtype=pl.String))
    found = found.with_columns(ignore=pl.col("ignore") | pl.col("ignored"), class_name=pl.col("to"))
    found = found.drop("to", "ignored", "normalised", "exif_turn", "width", "height")
    found = with_box_ids(found, speakers)
    said = {"frame_id": speakers["frame_id"], "by": speakers["by"]}
    found = found.with_columns(**{name: values.gather(found["speaker"]) for name, values in said.items()})
    found = found.with_columns(origin=pl.lit(f"batch:{batch}"), guideline=pl.lit(None, pl.String))
    return found.select(*columns.BOXES.names, "turn", "by")


def _with_foreign_class(attributes: str, class_name: str) -> str:
    return canonical_json({**json.loads(attributes), "foreign_class": class_name})


def _size_problems(boxes: pl.DataFrame, speakers: pl.DataFrame) -> list[LabelProblem]:
    """Report the labels of pictures of another size: their boxes would be in the wrong place."""
    wrong = boxes.filter(pl.col("exif_turn").is_null()).select("speaker").join(speakers, on="speaker")
    fields = ["label_file", "name", "stated_width", "stated_height", "width", "height"]
    return [
        LabelProblem(file, "label_size_mismatch", f"{name} is said to be {w}x{h}, but is {width}x{height}", None, count)
        for file, name, w, h, width, height, count in wrong.group_by(fields).len().sort(fields).iter_rows()
    ]


def _outside_problems(boxes: pl.DataFrame, speakers: pl.DataFrame) -> list[LabelProblem]:
    named = boxes.join(speakers.select("speaker", "path", "name", "label_file"), on="speaker")
    return [
        LabelProblem(row["label_file"], "label_outside_picture", _describe(row), row["line"], 1)
        for row in named.sort("label_file", "line", "path", "x1", "y1").iter_rows(named=True)
    ]


def _describe(row: dict[str, object]) -> str:
    corners = ", ".join(f"{row[name]:.1f}" for name in ("x1", "y1", "x2", "y2"))
    whose = f"box {row['own_id']} of {row['name']}" if row["own_id"] else f"a box of {row['name']}"
    return f"{whose} at {corners} lies outside the picture of {row['width']}x{row['height']}"
