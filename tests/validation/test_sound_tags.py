"""AC-D21: wrong tags of a time of day must not poison slices."""

import json

import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.flow.sections import SliceSection, WhereSection
from tests.strategies import source_row
from tests.validation.data.made import signal
from tests.validation.scenes import boxes_table, frames_table, predictions_table, square
from validation.model.evaluate import evaluate
from validation.model.scene import EvaluationRequest

TAGS = {"a": "daytime", "b": "daytime", "c": "night", "d": "night"}
DARK = {"a": 110, "b": 12, "c": 30, "d": 140}  # b is a night that is called a day, d a day that is called a night
BY_DAY = {"attributes": {"time_of_day": ("daytime",)}}


def request(levels=DARK, sources=None, slices=()):
    attributes = {name: json.dumps({"time_of_day": tag, "weather": "dry"}) for name, tag in TAGS.items()}
    truth = [(name, "car", square(5.0)) for name in TAGS]
    signals = [signal(name, level) for name, level in levels.items()]
    return EvaluationRequest(
        frames=frames_table(TAGS, ("car",), attributes=attributes),
        boxes=boxes_table(truth),
        predictions=predictions_table([(*row, 0.9) for row in truth if row[0] != "b"]),
        classes=("car",),
        slices=slices,
        sources=sources,
        signals=pa.Table.from_pylist(signals, tables.SIGNALS),
    )


def the_correction(evaluation):
    return [item for item in evaluation.corrections if item.kind == "time_of_day_doubted"]


def test_ac_d21_frames_whose_daypart_is_inconsistent_are_listed_and_counted_before_slicing():
    (found,) = the_correction(evaluate(request()))

    assert found.count == 2
    assert found.examples == (
        "b said to be daytime, but brightness is 12.0", "d said to be night, but brightness is 140.0",
    )  # fmt: skip
    assert "in no slice by time of day" in found.done


@pytest.mark.parametrize(
    "section",
    [
        SliceSection(name="day", where=WhereSection(**BY_DAY)),
        SliceSection(name="day", expression="attributes.time_of_day = 'daytime'"),
        SliceSection(name="day", by=("time_of_day",)),
    ],
)
def test_ac_d21_a_frame_with_a_doubted_tag_is_in_no_slice_however_it_is_cut(section):
    doubted, believed = (evaluate(request(levels, slices=(section,))) for levels in (DARK, {}))

    of_day = [
        next(part for part in one.per_slice if part.name in {"day", "day/daytime"}) for one in (doubted, believed)
    ]
    assert [part.frames for part in of_day] == [1, 2]
    assert of_day[0].numbers["AP50"] == pytest.approx(1.0)
    assert of_day[1].numbers["AP50"] < 1.0, "the night that is called a day drags the day down"


def test_ac_d21_the_frame_itself_and_its_other_tags_count_as_before():
    dry = SliceSection(name="dry", where=WhereSection(attributes={"weather": ("dry",)}))

    doubted, believed = (evaluate(request(levels, slices=(dry,))) for levels in (DARK, {}))

    assert (doubted.frames, doubted.objects, doubted.numbers) == (believed.frames, believed.objects, believed.numbers)
    assert doubted.per_slice[0].frames == believed.per_slice[0].frames == 4


def test_ac_d21_where_place_and_time_are_known_the_sun_is_asked():
    noon_ns = 1_700_046_000 * 10**9  # 11:00 UTC of 15 November 2023
    spot = {"lat": 48.1, "lon": 11.5, "captured_ns": noon_ns, "clock": "utc"}
    sources = pa.Table.from_pylist([source_row(name, **spot) for name in TAGS], tables.SOURCES)

    (found,) = the_correction(evaluate(request({}, sources)))

    assert found.count == 2
    assert found.examples[0].startswith("c said to be night, but sun is 2")


def test_without_a_tag_a_picture_or_a_place_nothing_is_doubted():
    assert the_correction(evaluate(request({}))) == []
