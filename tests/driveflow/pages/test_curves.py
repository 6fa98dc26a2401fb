import pytest

from driveflow.pages.curves import Curve, Scale, curve_chart
from tests.driveflow.pages.hostile import HOSTILE_NAMES

BITS = Scale("bits", 0.0, 16.0)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, [0.0, 0.25, 0.5, 0.75, 1.0]), (-6, 6, [-5.0, 0.0, 5.0]), (996, 1000, [996, 997, 998, 999, 1000])],
)
def test_ticks_are_round_values_inside_the_scale(low, high, ticks):
    assert Scale("unit", low, high).ticks() == ticks


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_a_scale_without_width_is_refused(low, high):
    with pytest.raises(ValueError, match="from a number to a larger one"):
        Scale("unit", low, high)


def test_what_is_drawn_is_also_said_in_words():
    chart = curve_chart("kept", Curve([(0, 1.0), (4, 0.5), (16, 0.1)]), BITS, "share", [("now", 4)]).markup

    assert "4: 50.0%" in chart
    assert "now: 4" in chart
    assert chart.count("dashed") == 1


def test_a_limit_off_the_scale_is_said_and_not_drawn():
    chart = curve_chart("kept", Curve([(0, 1.0)]), BITS, "share", [("now", 40)]).markup

    assert "dashed" not in chart
    assert "now: 40" in chart


def test_a_curve_without_points_is_a_chart_all_the_same():
    assert "no point" in curve_chart("kept", Curve([]), BITS, "share").markup


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_leaves_its_place(name):
    chart = curve_chart(name, Curve([(0, 1.0)]), Scale(name, 0, 1), name, [(name, 0.5)]).markup

    assert "<script" not in chart
    assert "<img" not in chart
    assert "<svg onload" not in chart
