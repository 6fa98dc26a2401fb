"""The laws of writers: what fits into a format comes back, and nothing that a snapshot holds breaks an export."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from driveflow.canonical import canonical_json
from driveflow.formats.carries import spellings
from driveflow.formats.export import has_cell
from driveflow.formats.losses import losses
from driveflow.formats.writers import WRITERS
from tests.driveflow.formats.exports import (
    CORNERS,
    SIZE,
    SPLIT_NAMES,
    box,
    boxes_of,
    come_back,
    export_of,
    frame,
    imported,
    looked_for,
    without,
)

NAMES = (
    "car",
    "traffic light",
    "<b>&\"c'",
    "Straße 漢字",
    "two\nlines",
    "7",
    "ignore",
    "a#b",
    "tab\tin",
    "nan",
    "-",
    "%s",
)
TEXTS = ("night", 'a, b;"c"', "<x/>", "two\nlines", " edge ", "", "true", "0", "é" * 3)
KEYS = ("track_id", "occluded", "truncated", "difficult", "visibility", "colour", "a b", "text", "<k>", "crowd")

_values = st.sampled_from(TEXTS) | st.booleans() | st.sampled_from([0, 1, 3, 0.25, 12]) | st.just([1, "x"])
_attributes = st.dictionaries(st.sampled_from(KEYS), _values, max_size=3)
_low, _high = (
    st.floats(low, high, width=32).map(lambda side: round(side, 3))  # no side lies half-way between what is compared
    for low, high in ((-3, 30), (31, 70))
)


class Drawn:
    """An export that shows what counts when a test fails."""

    def __init__(self, export):
        self.export = export

    def __repr__(self):
        rows = self.export.frames.to_pylist()
        frames = [(row["frame_id"][:4], row["split"], row["annotated_classes"], row["attributes"]) for row in rows]
        return f"{frames} {boxes_of(self.export.boxes, 'box_id', 'score', 'attributes')}"


@st.composite
def exports(draw):
    """Draw small exports with everything in them that snapshots may have."""
    classes = tuple(sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3))))
    frames, boxes = [], []
    for seed in sorted(draw(st.sets(st.integers(0, 11), min_size=1, max_size=4))):
        annotated = draw(st.sampled_from([classes, classes, classes[:1], ()]))
        attributes = draw(st.dictionaries(st.sampled_from(["weather", "a b", "path"]), _values, max_size=2))
        row = frame(seed, draw(st.sampled_from(sorted(SPLIT_NAMES))), annotated, attributes=attributes)
        frames.append(row)
        for number in range(draw(st.integers(0, 3))):
            boxes += _boxes(draw, row, number, classes)
    return Drawn(export_of(frames, boxes, classes, [f"drive {row['frame_id'][:1]}" for row in frames]))


def _boxes(draw, row, number, classes):
    corners = (draw(_low), draw(_low), draw(_high), draw(_high))
    kind = draw(st.sampled_from(["plain", "plain", "plain", "prediction", "region", "some"]))
    if kind == "region":
        return [box(row, f"{number}-{name}", name, corners, ignore=True) for name in classes]
    name = draw(st.sampled_from(classes))
    more = {"score": draw(st.floats(0, 1))} if kind == "prediction" else {"ignore": kind == "some"}
    return [box(row, str(number), name, corners, attributes=draw(_attributes), **more)]


def _fitted(export, carries):
    """Return what of the export the format can carry."""
    words = spellings(export.classes, carries.spelled)
    boxes = [row | {"class_name": words[row["class_name"]]} for row in without(export, carries).boxes.to_pylist()]
    if not carries.beyond_edge:
        boxes = [row | _inside(row) for row in boxes]
    boxes = [row for row in boxes if carries.ignore == "yes" or not row["ignore"] or "-" in row["box_id"]]
    said = ("frame_id", "class_name", *CORNERS, "score", "ignore")  # a prediction that is there twice is one
    boxes = [*{(*(row[name] for name in said), row["score"] is None and row["box_id"]): row for row in boxes}.values()]
    looked = {row["frame_id"] for row in export.frames.to_pylist() if row["annotated_classes"]}
    boxes = [row for row in boxes if row["score"] is not None or row["frame_id"] in looked or carries.partly]
    classes = sorted(words.values())
    frames = [
        row | {"annotated_classes": _annotated(row, words, classes, carries), "attributes": _texts(row, carries)}
        for row in export.frames.to_pylist()
    ]
    return export_of(frames, boxes, classes, export.sources["drive"].to_pylist())


def _inside(row):
    sides = zip(CORNERS, (0, 1, 0, 1), strict=True)
    return {name: min(max(row[name], 0.0), float(SIZE[side])) for name, side in sides}


def _annotated(row, words, classes, carries):
    if carries.partly:
        return sorted(words[name] for name in row["annotated_classes"])
    return classes if row["annotated_classes"] else []


def _texts(row, carries):
    judge = carries.frame_attributes or has_cell
    return canonical_json({key: value for key, value in json.loads(row["attributes"]).items() if judge(key, value)})


_FEW = settings(max_examples=5, suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate))


@pytest.mark.parametrize("name", sorted(WRITERS))
@_FEW
@given(drawn=exports())
def test_what_fits_into_a_format_is_not_refused_and_comes_back_as_it_was(name, drawn):
    export = _fitted(drawn.export, WRITERS[name].carries)
    assume(any(export.frames["annotated_classes"].to_pylist()))
    assert losses(export, WRITERS[name].carries) == ()

    with tempfile.TemporaryDirectory() as folder:
        back = come_back(export, name, Path(folder) / "out").tables

    assert boxes_of(back.boxes, "score") == boxes_of(export.boxes, "score")
    assert looked_for(back.frames) == looked_for(export.frames)
    by_id = sorted(export.frames.to_pylist(), key=lambda row: row["frame_id"])
    assert back.frames["attributes"].to_pylist() == [row["attributes"] for row in by_id]


@pytest.mark.parametrize("name", sorted(WRITERS))
@_FEW
@given(drawn=exports())
def test_whatever_a_snapshot_holds_an_export_is_written_and_read_without_a_problem(name, drawn):
    with tempfile.TemporaryDirectory() as folder:
        WRITERS[name].write(drawn.export, Path(folder) / "out")
        back = imported(Path(folder) / "out")

    assert back.tables.frames.num_rows == drawn.export.frames.num_rows
    assert back.counts["label_problems"] == 0
