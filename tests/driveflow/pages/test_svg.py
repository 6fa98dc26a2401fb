"""A chart is well-formed, says in words what it shows, and survives any number and name."""

import math
import xml.etree.ElementTree as ET

import pytest

from driveflow.pages.svg import Bar, Calibration, Line, bar_chart, line_chart, reliability
from tests.driveflow.pages.hostile import HOSTILE_NAMES

SVG = "{http://www.w3.org/2000/svg}"


def _charts(name: str, value: float) -> list[str]:
    return [
        bar_chart(name, [Bar(name, value, name)]).markup,
        line_chart(name, [Line(name, [(value, value), (0.5, 1.0)])], name, name).markup,
        reliability(name, [Calibration(value, value, 3), Calibration(0.5, 0.5, 0)]).markup,
    ]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_adds_no_element(name):
    for hostile, harmless in zip(_charts(name, 0.5), _charts("car", 0.5), strict=True):
        assert [node.tag for node in ET.fromstring(hostile).iter()] == [
            node.tag for node in ET.fromstring(harmless).iter()
        ]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, 1e300, 0.0])
def test_numbers_off_the_scale_stay_inside_the_chart(value):
    for chart in _charts("car", value):
        drawn = chart.split("</desc>")[1]

        assert "nan" not in drawn
        assert "inf" not in drawn
        assert "e+" not in drawn


def test_every_chart_has_a_title_and_a_description():
    for chart in _charts("car", 0.25):
        root = ET.fromstring(chart)

        assert root.find(f"{SVG}title").text == "car"
        assert root.find(f"{SVG}desc").text


def test_charts_of_nothing_are_charts():
    for chart in (bar_chart("t", []), line_chart("t", [], "x", "y"), reliability("t", [])):
        ET.fromstring(chart.markup)


def test_a_longer_bar_is_drawn_for_a_larger_value():
    root = ET.fromstring(bar_chart("t", [Bar("a", 0.2), Bar("b", 0.8)]).markup)
    widths = [float(node.attrib["width"]) for node in root.iter(f"{SVG}rect")]

    assert widths[1] == pytest.approx(4 * widths[0], abs=0.3)
