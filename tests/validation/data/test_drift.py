import numpy as np
import polars as pl
import pytest

from driveflow.flow.data_validation_section import DataValidationSection
from tests.validation.data.made import checked, labeled, side
from validation.data.distances import (
    exact_kolmogorov_smirnov,
    jensen_shannon,
    kolmogorov_smirnov,
    stability_index,
    standard_difference,
)
from validation.data.drift import drift_of
from validation.data.drift_columns import Column

SETTINGS = DataValidationSection()


def rows(values, groups=40, prefix="d"):
    """Values as one column of a side, each of a frame of its own, dealt out to drive groups in turn."""
    return pl.DataFrame({
        "frame_id": [f"{prefix}{n}" for n in range(len(values))],
        "drive_group": [f"{prefix}-{n % groups}" for n in range(len(values))],
        "value": values,
    })  # fmt: skip


def numbers(count, mean=0.0, seed=0, groups=40, prefix="d"):
    return rows(np.random.default_rng(seed).normal(mean, 1.0, count), groups, prefix)


def judge(kind, before, now):
    return drift_of(Column("x", kind, before, now), SETTINGS)


def test_ac_d19_eight_samples_never_give_drift_however_different_they_are():
    found = judge("number", numbers(8, groups=8), numbers(8, mean=100.0, groups=8))

    assert (found.outcome, found.effect) == ("NOT JUDGED", None)
    assert "too few to tell, 100 of 8 are needed" in found.reason


def test_ac_d19_many_frames_of_a_few_drives_never_give_drift_either():
    found = judge("number", numbers(5_000, groups=3), numbers(5_000, mean=5.0, groups=3))

    assert found.outcome == "NOT JUDGED"


def test_ac_d19_a_difference_that_is_significant_and_small_is_no_drift():
    """With 60,000 frames a twentieth of a deviation has a p-value near 0; its size says that it is nothing."""
    before, now = numbers(60_000, seed=1), numbers(60_000, mean=0.05, seed=2, prefix="e")

    found = judge("number", before, now)

    significant_from = 1.63 * np.sqrt(2 / 60_000)  # Kolmogorov-Smirnov at 1 %
    assert found.effect > significant_from
    assert found.outcome == "PASS"


@pytest.mark.parametrize("count", [400, 20_000])
def test_ac_d19_the_size_of_an_effect_does_not_grow_with_the_number_of_frames(count):
    found = judge("number", numbers(count, seed=1), numbers(count, mean=1.0, seed=2, prefix="e"))

    assert found.effect == pytest.approx(0.383, abs=0.06)  # D of two normals a deviation apart
    assert found.difference == pytest.approx(1.0, abs=0.15)
    assert found.outcome == "NEEDS REVIEW"


def test_ac_d19_drives_that_differ_among_themselves_are_no_drift():
    """Brightness is nearly the same all along a drive: which drives came last explains a large difference."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(30):
        sides = []
        for prefix in ("d", "e"):
            level = rng.normal(0.0, 1.0, 8)
            sides.append(rows(np.tile(level, 50) + rng.normal(0.0, 0.05, 400), 8, prefix))
        alarms += judge("number", *sides).outcome != "PASS"

    assert alarms <= 3  # of 30, where 1.5 are expected by the 95 % that exchanges of drives stay under


def test_a_mix_of_classes_that_turned_over_is_drift_and_says_which():
    before = rows(["car"] * 800 + ["bus"] * 200)
    now = rows(["car"] * 300 + ["bus"] * 700, prefix="e")

    found = judge("category", before, now)

    assert found.outcome == "NEEDS REVIEW"
    assert found.effect == pytest.approx(0.437, abs=0.001)
    assert found.index == pytest.approx(1.117, abs=0.01)
    assert "was 80.0%, is 30.0%" in found.reason or "was 20.0%, is 70.0%" in found.reason


def test_the_same_frames_have_not_drifted_at_all():
    one = side(*labeled(200))

    report, checks = checked(one, against=one)

    assert checks["drift"].outcome == "PASS"
    assert all(row.effect in {None, 0.0} for row in report.drift)


def test_boxes_that_are_drawn_smaller_are_drift_of_their_height():
    frames, boxes = labeled(300, prefix="g")
    smaller = [box | {"y2": box["y1"] + (box["y2"] - box["y1"]) / 2} for box in boxes]

    report, checks = checked(side(frames, smaller), against=side(*labeled(300)))

    drifted = {row.column for row in report.drift if row.outcome == "NEEDS REVIEW"}
    assert {"height of boxes", "aspect of boxes", "height of car"} <= drifted
    assert "class of boxes" not in drifted
    assert report.verdict == checks["drift"].outcome == "NEEDS REVIEW"


def test_new_frames_of_another_kind_are_seen_among_many_that_were_there_before():
    old_frames, old_boxes = labeled(1_000)
    new_frames, new_boxes = labeled(120, prefix="g")
    smaller = [box | {"y2": box["y1"] + (box["y2"] - box["y1"]) / 2} for box in new_boxes]

    report, checks = checked(
        side([*old_frames, *new_frames], [*old_boxes, *smaller]), against=side(old_frames, old_boxes)
    )

    outcome = {row.column: row.outcome for row in report.drift}
    assert (outcome["height of boxes"], outcome["height of boxes (new frames)"]) == ("PASS", "NEEDS REVIEW")
    assert checks["drift"].outcome == "NEEDS REVIEW"


def test_distances_are_those_of_their_definitions():
    left, right = np.array([10.0, 0.0]), np.array([0.0, 7.0])

    assert float(jensen_shannon(left, right)) == 1.0
    assert float(jensen_shannon(left, left * 3)) == 0.0
    assert stability_index(np.array([50.0, 50.0]) * 1e6, np.array([60.0, 40.0]) * 1e6) == pytest.approx(
        (0.6 - 0.5) * np.log(0.6 / 0.5) + (0.4 - 0.5) * np.log(0.4 / 0.5), abs=1e-6
    )
    assert float(kolmogorov_smirnov(np.array([5.0, 5.0]), np.array([10.0, 0.0]))) == 0.5
    assert exact_kolmogorov_smirnov(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0, 6.0])) == 0.5
    assert standard_difference(np.array([0.0, 2.0]), np.array([1.0, 3.0])) == 1.0
