import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.errors import UsageError
from sample.plan import MIN_FRAMES, plan_drives


@given(st.integers(MIN_FRAMES, 5000))
def test_the_drives_have_the_frames_that_were_asked_for(frames: int) -> None:
    plans = plan_drives(frames, 7)

    assert sum(plan.frames for plan in plans) == frames
    assert min(plan.frames for plan in plans) >= 2
    assert len({plan.name for plan in plans}) == len(plans)


def test_too_few_frames_are_refused() -> None:
    with pytest.raises(UsageError, match="40 frames or more, got 39"):
        plan_drives(39, 7)


def test_the_holdout_of_a_thousand_frames_has_every_light_and_rain_in_ten_drives() -> None:
    holdout = [plan for plan in plan_drives(1000, 7) if plan.holdout]

    assert len(holdout) == 10
    assert {plan.time_of_day for plan in holdout} == {"day", "dusk", "night"}
    assert {plan.weather for plan in holdout} == {"clear", "rain"}


def test_the_unlabeled_batch_holds_no_holdout_drive() -> None:
    assert not [plan for plan in plan_drives(1000, 7) if plan.holdout and plan.batch == "drives_c"]
