"""A dot and its whisker stay on their scale, whatever the numbers are, and say in words what they show."""

import math
import xml.etree.ElementTree as ET

import pytest

from driveflow.pages.stacked import Stack, stacked_bars
from driveflow.pages.whisker import Whisker, WhiskerScale, axis, difference_scale, whisker
from tests.driveflow.pages.hostile import HOSTILE_NAMES

SCALE = WhiskerScale(-0.2, 0.2, limit=-0.05)


def _dot(drawn: str) -> float:
    return float(ET.fromstring(drawn).find(".//{*}circle[@class='dot info']").get("cx"))


def test_a_larger_value_lies_further_right():
    left, right = (whisker(Whisker(value), SCALE, "x").markup for value in (-0.1, 0.1))

    assert _dot(left) < _dot(right)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -9.0, 9.0])
def test_a_number_off_the_scale_stays_inside_the_drawing(value):
    drawn = whisker(Whisker(value, value, value, "plain", value), SCALE, "x").markup.split("</desc>")[1]

    assert "nan" not in drawn
    assert "inf" not in drawn
    assert "e+" not in drawn


def test_an_end_that_lies_off_the_scale_is_an_arrow_and_no_bar():
    inside, outside = (whisker(Whisker(0.0, low, 0.1), SCALE, "x").markup for low in (-0.1, -0.9))

    assert outside.count("L") == inside.count("L") + 2


def test_the_limit_is_drawn_where_there_is_one():
    assert 'class="limit"' in whisker(Whisker(0.0), SCALE, "x").markup
    assert 'class="limit"' not in whisker(Whisker(0.0), WhiskerScale(-1, 1), "x").markup


def test_a_scale_of_differences_has_zero_in_its_middle_and_holds_the_limit():
    scale = difference_scale([0.01, math.nan], limit=-0.3)

    assert scale.low == -scale.high
    assert scale.low <= -0.3


def test_a_scale_without_a_width_is_refused():
    with pytest.raises(ValueError, match="to a larger one"):
        WhiskerScale(1.0, 1.0)


def test_the_ends_of_an_axis_stand_over_the_ends_of_its_line():
    marks = ET.fromstring(axis(WhiskerScale(0, 1)).markup).findall("{*}text")

    assert [float(node.get("x")) for node in marks] == [9.0, 181.0]


def test_the_axis_spells_both_ends_with_a_true_minus():
    assert [node.text for node in ET.fromstring(axis(SCALE).markup).findall("{*}text")] == ["−0.2", "0", "+0.2"]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_adds_no_element_to_bars_of_parts(name):
    hostile, harmless = (stacked_bars(n, [n, "b"], [Stack(n, [3, 4])]).markup for n in (name, "car"))

    assert [node.tag for node in ET.fromstring(f"<div>{hostile}</div>").iter()] == [
        node.tag for node in ET.fromstring(f"<div>{harmless}</div>").iter()
    ]


def test_bars_of_parts_are_as_long_as_what_they_hold():
    drawn = stacked_bars("t", ["a", "b"], [Stack("new", [10, 30]), Stack("old", [20, math.nan])]).markup
    widths = [
        float(node.get("width")) for node in ET.fromstring(f"<div>{drawn}</div>").iter() if node.tag.endswith("rect")
    ]

    assert widths[1] == pytest.approx(3 * widths[0], rel=0.02)
    assert len(widths) == 3


def test_a_bar_with_too_few_parts_is_refused():
    with pytest.raises(ValueError, match="has 2 parts, got 1"):
        stacked_bars("t", ["a", "b"], [Stack("new", [10])])
