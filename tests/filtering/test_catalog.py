"""What every filter of the catalog keeps to."""

import numpy as np
import pytest

from driveflow.flow.sections import BlurSection, ExposureSection, FilterSection
from filtering.catalog import FILTERS, frame_filters
from filtering.measured import MIN_POPULATION, MeasuredFrames, robust_z
from tests.filtering.made import Made, measured

EVERY = sorted(FILTERS)
DEFECTS = [
    {},
    {"contrast": 0.0},
    {"dark_share": 1.0, "brightness": 0.0, "contrast": 0.0},
    {"bright_share": 1.0, "brightness": 255.0},
    {"sharpness": 0.0},
]


def frames(count: int) -> MeasuredFrames:
    made = [Made(f"f{number:03d}", signals=DEFECTS[number % 40] if number % 40 < 5 else {}) for number in range(count)]
    return MeasuredFrames(measured(made), np.arange(count) % 2)


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_answers_to_the_name_it_is_listed_under(name):
    built = FILTERS[name](FilterSection())

    assert built is not None
    assert built.rule == name
    assert built.unit
    assert built.reason.replace("_", "").isalpha()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("count", [0, 1, 2, 200])
def test_a_filter_scores_every_frame_and_decides_each(name, count):
    built = FILTERS[name](FilterSection())

    scores = built.score(frames(count))

    assert scores.shape == built.keep(scores).shape == (count,)
    assert scores.dtype == np.float64
    assert built.keep(scores).dtype == np.bool_


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_drops_something_of_its_defect_and_little_else(name):
    built = FILTERS[name](FilterSection())

    stays = built.keep(built.score(frames(400)))

    assert 0 < (~stays).sum() <= 30


@pytest.mark.parametrize("name", EVERY)
def test_a_filter_does_not_depend_on_the_order_of_frames(name):
    built = FILTERS[name](FilterSection())
    straight = frames(200)
    order = np.random.default_rng(0).permutation(200)
    mixed = MeasuredFrames(straight.signals.take(order), straight.populations[order])

    assert np.array_equal(built.score(mixed), built.score(straight)[order], equal_nan=True)


def test_a_section_that_is_off_makes_no_filter():
    off = FilterSection(blur=BlurSection(enabled=False), exposure=ExposureSection(enabled=False))

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
