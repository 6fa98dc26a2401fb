"""What every filter of the catalog keeps to."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from driveflow.flow.defect_sections import LowContrastSection, SoiledLensSection
from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.catalog import FILTERS, frame_filters, setting_of
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.measured import MIN_POPULATION, MeasuredFrames, robust_z
from filtering.series import series
from tests.filtering.made import Made, measured, snapshot

PAGE = Path(__file__).resolve().parents[2] / "docs" / "filtering.md"
EVERY = sorted(FILTERS)
ALL = FilterSection(
    low_contrast=LowContrastSection(enabled=True), soiled_lens=SoiledLensSection(enabled=True, window_frames=3)
)
DEFECTS = [
    {},
    {"contrast": 0.0},
    {"dark_share": 1.0, "brightness": 0.0, "contrast": 0.0},
    {"bright_share": 1.0, "brightness": 255.0},
    {"sharpness": 0.0, "edge_ratio": 0.3},
    {"tail_share": 0.5},
    {"green_cast": 135.0},
    {"red_blue_grid": bytes([138] * 8 + [128] * 16 + [122] * 8)},
]
SOILED = {"steepness_grid": bytes([60] * 24 + [12] * 8)}
FROZEN = {"thumbnail_print": 7}


def signals(number: int) -> dict[str, float | bytes]:
    if number % 50 < len(DEFECTS):
        return DEFECTS[number % 50]
    return {20: SOILED, 21: SOILED, 22: SOILED, 30: FROZEN, 31: FROZEN, 32: FROZEN}.get(number % 400, {})


def frames(count: int) -> MeasuredFrames:
    made = [Made(f"f{number:03d}", taken_s=number, signals=signals(number)) for number in range(count)]
    populations = np.zeros(count, np.int64)
    return MeasuredFrames(
        measured(made), populations, series(pa.array([item.name for item in made]), snapshot(made).sources)
    )


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_has_its_limit_from_the_setting_that_is_named_for_it(name):
    built = FILTERS[name](ALL)
    said, value = setting_of(name, ALL).split(": ")

    assert said.partition(".")[0] == name.partition(".")[0]
    assert built is not None
    assert float(value) in {abs(built.limit), getattr(built, "min_frames", None)}


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_answers_to_the_name_it_is_listed_under(name):
    built = FILTERS[name](ALL)

    assert built is not None
    assert built.rule == name
    assert built.unit
    assert built.reason.replace("_", "").isalpha()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("count", [0, 1, 2, 200])
def test_a_filter_scores_every_frame_and_decides_each(name, count):
    built = FILTERS[name](ALL)

    scores = built.score(frames(count))

    assert scores.shape == built.keep(scores).shape == (count,)
    assert scores.dtype == np.float64
    assert built.keep(scores).dtype == np.bool_


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_drops_something_of_its_defect_and_little_else(name):
    built = FILTERS[name](ALL)

    stays = built.keep(built.score(frames(400)))

    assert 0 < (~stays).sum() <= 30


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_does_not_depend_on_the_order_of_frames(name):
    built = FILTERS[name](ALL)
    straight = frames(200)
    order = np.random.default_rng(0).permutation(200)
    mixed = MeasuredFrames(straight.signals.take(order), straight.populations[order], straight.series.take(order))

    assert np.array_equal(built.score(mixed), built.score(straight)[order], equal_nan=True)


def test_a_section_that_is_off_makes_no_filter():
    on = FilterSection()
    sections = [item.name for item in fields(on) if item.name not in {"near_duplicates", "shield", "by_arrival"}]
    off = replace(on, **{name: replace(getattr(on, name), enabled=False) for name in sections})

    assert frame_filters(off) == ()


def test_dead_limits_come_before_relative_ones_and_spare_nobody():
    spares = [built.spares_rare for built in frame_filters(FilterSection())]

    assert spares == sorted(spares)


def test_robust_z_counts_deviations_from_the_median_of_the_own_population():
    values = np.concatenate([np.arange(101.0), 1000 + np.arange(101.0), [5.0]])
    groups = np.array([1] * 101 + [0] * 101 + [2])

    scores = robust_z(values, groups, floor=0.1)

    assert scores[50] == scores[151] == 0
    assert scores[100] == scores[201] == pytest.approx(50 / (1.4826 * 25), abs=0.005)
    assert np.isnan(scores[-1])


@pytest.mark.parametrize(("count", "judged"), [(MIN_POPULATION - 1, False), (MIN_POPULATION, True)])
def test_a_population_needs_50_frames(count, judged):
    scores = robust_z(np.arange(float(count)), np.zeros(count, np.int64), floor=1.0)

    assert np.isnan(scores).any() != judged


@pytest.mark.parametrize("name", EVERY)
def test_every_score_has_its_formula_unit_and_reference_set_in_the_docs_and_its_unit_in_each_decision(name):
    built = FILTERS[name](ALL)
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{built.reason}`")]
    made = [Made(f"f{number:03d}", taken_s=number, signals=signals(number)) for number in range(400)]
    only = replace(ALL, near_duplicates=NearDuplicateSection(enabled=False))

    decisions = filter_frames(FilterRequest(snapshot(made), measured(made), only)).decisions.to_pylist()

    assert rows
    assert all(len([cell for cell in row.split(" | ") if cell.strip(" |")]) == 4 for row in rows)
    assert all(row["detail"].startswith(f"{built.unit} ") for row in decisions if row["rule"] == name)
    assert built.score.__doc__
