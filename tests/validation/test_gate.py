"""The gate says PASS, BLOCK or NEEDS DATA, always, and why."""

from dataclasses import replace

import pytest

from driveflow.errors import InvalidInputError, UsageError
from driveflow.flow.sections import FloorSection, GateSection
from tests.validation.drives import NO_LEAK, Drives, evaluate_drives, measure
from tests.validation.scenes import frames_table, simple, square
from validation.gate import JudgeRequest, Verdict, judge
from validation.leak import Leak, LeakReport
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation

DRIVES = Drives()
FLOOR = GateSection(floors=(FloorSection(metric="AP50", at_least=0.5),))


@pytest.fixture(scope="module")
def good() -> Evaluation:
    return measure(DRIVES, 0.8, 1)


def _judge(challenger, champion=None, gate=FLOOR, leak=NO_LEAK) -> Verdict:
    return judge(JudgeRequest(challenger, champion, gate, leak))


def _empty(drives):
    return frames_table(drives, ("bus", "car"))


def _rules(verdict: Verdict) -> dict[str, str]:
    return {rule.name: rule.outcome for rule in verdict.rules}


def test_ac_d11_a_first_model_without_floors_needs_data_and_says_so(good):
    """AC-D11: without limits there is an explicit verdict still."""
    verdict = _judge(good, gate=GateSection())

    assert verdict.outcome == "NEEDS DATA"
    assert "first model" in verdict.reason
    assert "floor" in verdict.reason


def test_a_first_model_that_reaches_its_floors_passes(good):
    assert _judge(good).outcome == "PASS"


def test_ac_d12_a_missed_floor_blocks_with_value_limit_interval_n_and_reason(good):
    """AC-D12: the reason is in the verdict."""
    verdict = _judge(good, gate=GateSection(floors=(FloorSection(metric="AP", class_name="bus", at_least=0.99),)))

    rule = verdict.rules[0]
    assert (verdict.outcome, rule.outcome, rule.name) == ("BLOCK", "BLOCK", "floor AP of bus")
    assert rule.limit == 0.99
    assert rule.value == pytest.approx(good.per_class[0].numbers["AP"])
    assert rule.interval.low < rule.value < rule.interval.high
    assert rule.counts.objects == 240
    assert f"{rule.value:.3f}" in rule.reason
    assert rule.reason in verdict.reason


def test_every_rule_of_every_verdict_has_a_reason(good):
    for champion in (None, measure(DRIVES, 0.8, 2), good):
        assert all(rule.reason for rule in _judge(good, champion).rules)


def test_a_challenger_that_is_far_worse_is_blocked(good):
    verdict = _judge(measure(DRIVES, 0.55, 3), good)

    assert verdict.outcome == "BLOCK"
    assert _rules(verdict)["AP50 against the champion"] == "BLOCK"
    assert "is proven" in verdict.reason


def test_ac_d20_a_challenger_that_is_clearly_better_passes_with_an_interval_over_drives(good):
    """AC-D20: a number comes with the interval that resampling drives gives."""
    verdict = _judge(measure(DRIVES, 0.95, 4), good)

    rule = verdict.rules[0]
    assert verdict.outcome == "PASS"
    assert rule.interval.low > 0
    assert (rule.interval.drive_groups, rule.interval.resamples) == (30, 10_000)


def test_a_difference_that_so_few_drives_cannot_tell_needs_data():
    few = Drives(groups=6)

    verdict = _judge(measure(few, 0.8, 5), measure(few, 0.8, 6))

    assert verdict.outcome == "NEEDS DATA"
    assert "cannot be told from 6 drive groups" in verdict.reason


def test_a_loss_in_one_slice_blocks_although_the_headline_holds(good):
    gate = GateSection(max_drop=0.3, max_slice_drop=0.05)

    verdict = _judge(measure(DRIVES, 0.9, 7, night=0.4), good, gate)

    assert verdict.outcome == "BLOCK"
    assert _rules(verdict)["slice night"] == "BLOCK"
    assert _rules(verdict)["AP50 against the champion"] != "BLOCK"


def test_a_slice_of_two_drives_is_not_judged(good):
    verdict = _judge(measure(DRIVES, 0.8, 2), good)

    rule = next(rule for rule in verdict.rules if rule.name == "slice rain")
    assert rule.outcome == "NOT JUDGED"
    assert "2 drive groups" in rule.reason


def test_ac_d15_models_measured_on_different_holdouts_are_refused(good):
    """AC-D15: a comparison across data versions is no comparison."""
    with pytest.raises(InvalidInputError, match="different hold-outs"):
        _judge(measure(DRIVES, 0.8, 2, holdout="holdout-2"), good)


def test_models_measured_on_different_truth_under_one_name_are_refused(good):
    with pytest.raises(InvalidInputError, match="different hold-outs"):
        _judge(measure(Drives(groups=29), 0.8, 2), good)


def test_a_challenger_that_is_the_champion_is_nothing_new(good):
    verdict = _judge(good, good)

    assert verdict.nothing_new
    assert verdict.outcome == "PASS"
    assert "Nothing new" in verdict.reason


def test_any_leak_blocks(good):
    leak = LeakReport(100, 120, 2, 0, 1, 0, 0, (Leak("near_duplicate", "t1", "h1", "g", 1),))

    verdict = _judge(good, leak=leak)

    assert verdict.outcome == "BLOCK"
    assert "1 near-duplicate" in verdict.reason


@pytest.mark.parametrize(
    ("drives", "rule"),
    [(Drives(groups=6, frames=3), "hold-out frames"), (Drives(groups=4, frames=20), "hold-out drive groups")],
)
def test_too_small_a_holdout_needs_data(drives, rule):
    verdict = _judge(measure(drives, 0.9, 1))

    assert verdict.outcome == "NEEDS DATA"
    assert _rules(verdict)[rule] == "NEEDS DATA"


def test_a_floor_on_what_the_holdout_does_not_have_needs_data():
    drives = Drives(classes=("bus", "car", "tram"))
    truth = [row for row in drives.truth() if row[1] != "tram"]
    without = Drives(classes=("bus", "car", "tram"))
    object.__setattr__(without, "truth", lambda: truth)
    model = evaluate_drives(without, [(*row, 0.9) for row in truth], "model")

    verdict = _judge(model, gate=GateSection(floors=(FloorSection(metric="AP50", class_name="tram", at_least=0.5),)))

    assert verdict.outcome == "NEEDS DATA"
    assert "no such object" in verdict.reason


@pytest.mark.parametrize("class_name", ["", "bus"])
def test_what_is_found_in_too_few_drives_reaches_no_floor_and_equals_no_champion(class_name):
    drives = [f"drive-{number:02d}" for number in range(30)]
    truth = [(drive, "bus", square(0)) for drive in drives[:2]]
    models = [
        evaluate(replace(simple(truth, [(*row, 0.9) for row in truth], model_digest=name), frames=_empty(drives)))
        for name in ("challenger", "champion")
    ]
    floor = FloorSection(metric="AP50", class_name=class_name, at_least=0.5)

    verdict = _judge(*models, gate=GateSection(floors=(floor,)))

    headline, floored = verdict.rules[:2]
    assert (verdict.outcome, headline.outcome, floored.outcome) == ("NEEDS DATA", "NEEDS DATA", "NEEDS DATA")
    assert (headline.value, floored.value) == (0.0, pytest.approx(1.0))
    assert all("30 frames of 30 drive groups, 2 of them with an object" in rule.reason for rule in (headline, floored))


@pytest.mark.parametrize("floor", [{"slice": "fog"}, {"class_name": "tank"}])
def test_a_floor_that_names_nothing_known_is_a_usage_error(good, floor):
    with pytest.raises(UsageError, match=r"fog|tank"):
        _judge(good, gate=GateSection(floors=(FloorSection(at_least=0.5, **floor),)))


def test_two_models_alike_are_seldom_blocked_over_many_holdouts():
    drives = Drives(groups=12, frames=3)

    pairs = [(measure(drives, 0.8, 100 + number), measure(drives, 0.8, 200 + number)) for number in range(8)]
    blocked = sum(_judge(*pair).outcome == "BLOCK" for pair in pairs)

    assert blocked <= 1
