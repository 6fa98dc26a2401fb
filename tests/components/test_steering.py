import pytest

from components.work.steering import read_reviews, steering
from driveflow.by_hand import Said, say_by_hand
from driveflow.flow.load import load_flow_text
from driveflow.ledger.rows import DecisionRow, TrainedModelRow
from tests.components.made_steps import context

FLOW = """
name: city
classes: [car, bus]
batches: [a]
corner_cases:
  - {name: weak, miner: failed_slices}
validation:
  slices:
    - {name: night, where: {attributes: {time_of_day: night}}}
    - {name: bus, where: {classes: [bus]}}
    - {name: rain, where: {attributes: {weather: rain}}}
"""


def judged(ledger, *rules, digest="m1", at="2026-01-01T00:00:00Z", model="city", run_id="run"):
    places = {"model": model, "snapshot_uri": "s", "holdout_uri": "h", "report_uri": "r", "run_id": run_id}
    ledger.record_trained(TrainedModelRow(digest=digest, model_uri="m", verdict="BLOCK", created_at=at, **places))
    ledger.record_decision(
        DecisionRow(digest=digest, verdict="BLOCK", detail={"rules": list(rules)}, decided_at=at, **places)
    )


def rule(name, outcome, value=0.1, limit=0.5):
    return {"name": name, "outcome": outcome, "value": value, "limit": limit}


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        (rule("slice night", "BLOCK", -0.3, -0.1), ["night"]),
        (rule("slice night", "PASS", 0.0, -0.1), []),
        (rule("slice night", "NOT JUDGED", None, -0.1), []),
        (rule("floor AP50 in slice rain", "BLOCK"), ["rain"]),
        (rule("floor AP50 of bus in slice rain", "BLOCK"), ["rain"]),
        (rule("floor AP50 in slice rain", "NEEDS DATA"), ["rain"]),
        (rule("floor AP50 in slice rain", "NEEDS DATA", 0.6), []),
        (rule("floor AP50 of bus", "BLOCK"), []),
        (rule("slice gone", "BLOCK"), []),
    ],
)
def test_a_slice_that_was_worse_or_missed_a_floor_is_searched_by_its_predicate(tmp_path, said, failed):
    step = context(tmp_path, {})
    judged(step.ledger, said)

    found = steering(step, load_flow_text(FLOW, "flow"))

    assert [part["name"] for part in found["failed_slices"]] == failed
    assert all(part["where"]["classes"] or part["where"]["attributes"] for part in found["failed_slices"])


def test_only_the_newest_model_is_asked(tmp_path):
    step = context(tmp_path, {})
    judged(step.ledger, rule("slice night", "BLOCK"), digest="old", at="2026-01-01T00:00:00Z")
    judged(step.ledger, rule("slice bus", "BLOCK"), digest="new", at="2026-02-01T00:00:00Z")

    found = steering(step, load_flow_text(FLOW, "flow"))

    assert [part["name"] for part in found["failed_slices"]] == ["bus"]


def test_what_the_gate_of_another_name_says_of_the_same_bytes_steers_nothing_here(tmp_path):
    step = context(tmp_path, {})
    judged(step.ledger, rule("slice night", "BLOCK"))
    judged(step.ledger, rule("slice bus", "BLOCK"), at="2026-02-01T00:00:00Z", model="town", run_id="later")

    found = steering(step, load_flow_text(FLOW, "flow"))

    assert [part["name"] for part in found["failed_slices"]] == ["night"]


def test_before_any_model_no_slice_failed(tmp_path):
    assert steering(context(tmp_path, {}), load_flow_text(FLOW, "flow")) == {"failed_slices": []}


def test_a_flow_that_asks_for_nothing_is_steered_by_nothing(tmp_path):
    plain = FLOW.replace("miner: failed_slices", "where: {classes: [bus]}")

    assert steering(context(tmp_path, {}), load_flow_text(plain, "flow")) == {}


def test_reviews_of_the_flows_corner_cases_are_frozen(tmp_path):
    step = context(tmp_path, {})
    words = [
        Said(about="review", frame_id="a", who="ada", at="2026-01-01T00:00:00+00:00", rule=name)
        for name in ("weak", "x")
    ]
    say_by_hand(step.place.store, words)

    found = steering(step, load_flow_text(FLOW, "flow"))

    assert read_reviews(found["reviews"]) == (words[0],)
