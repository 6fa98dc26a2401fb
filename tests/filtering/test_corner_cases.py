import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables
from driveflow.flow.sections import CornerCaseSection, LabelingSection, WhereSection
from driveflow.snapshots import SnapshotTables
from filtering.corner_cases import CornerCaseRequest, Selection, find_corner_cases
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.rarity import case_mask
from tests.filtering.made import Made, column, measured, snapshot
from tests.strategies import CLASSES, box_row

BUS = CornerCaseSection(name="bus", where=WhereSection(classes=("bus",)), quota_frames=3)
NIGHT = CornerCaseSection(name="night", where=WhereSection(attributes={"time_of_day": ("night",)}), quota_frames=2)


def select(built: SnapshotTables, *cases: CornerCaseSection, budget: int = 10, predictions=None, **more) -> Selection:
    share = more.pop("control_share", 0.0)
    labeling = LabelingSection(budget_frames=budget, control_share=share, **more)
    return find_corner_cases(
        CornerCaseRequest(built, tables.SIGNALS.empty_table(), labeling, cases, predictions=predictions)
    )


def predicted(*rows: tuple[str, str, float]) -> pa.Table:
    made = [
        box_row(frame, f"p{number}", name, score=score, origin="model:x")
        for number, (frame, name, score) in enumerate(rows)
    ]
    return pa.Table.from_pylist(made, tables.PREDICTIONS)


def many(count: int = 30, **changes) -> list[Made]:
    return [Made(f"f{number:02d}", drive=f"drive-{number % 3}", **changes) for number in range(count)]


def test_a_rule_finds_unlabeled_frames_by_prediction_surest_first():
    built = snapshot(many(6))
    guesses = predicted(("f01", "bus", 0.5), ("f04", "bus", 0.9), ("f02", "car", 0.9), ("f03", "bus", 0.29))

    selection = select(built, BUS, budget=2, predictions=guesses)

    assert selection.table.to_pylist() == [
        {"frame_id": "f04", "rank": 0, "reason": "corner_case", "rule": "bus"},
        {"frame_id": "f01", "rank": 1, "reason": "corner_case", "rule": "bus"},
    ]


def test_where_people_looked_a_prediction_counts_for_nothing():
    frames = [Made("seen", labeled=True), Made("new")]
    guesses = predicted(("seen", "bus", 0.9), ("new", "bus", 0.9))
    request = FilterRequest(snapshot(frames), measured(frames), filters_off(), (BUS,), guesses)

    reasons = column(filter_frames(request).decisions, "reason", ["seen", "new"])

    assert reasons == ["kept", "corner_case"]


def test_labeled_frames_are_not_labeled_again():
    selection = select(snapshot([Made("done", labeled=True), Made("new")]))

    assert selection.table["frame_id"].to_pylist() == ["new"]


def test_frames_that_annotators_have_answered_are_not_labeled_again_and_leave_the_budget_to_others():
    built = snapshot([Made("done"), Made("half"), Made("new", labeled=False)])
    answered = {"done": list(CLASSES), "half": list(CLASSES[:1]), "gone": list(CLASSES)}
    labeling = LabelingSection(budget_frames=2, control_share=0.0)

    request = CornerCaseRequest(built, tables.SIGNALS.empty_table(), labeling, answered=answered)
    selection = find_corner_cases(request)

    assert sorted(selection.table["frame_id"].to_pylist()) == ["half", "new"]
    assert selection.counts["candidates"] == 2


def test_a_quota_bounds_a_rule_and_the_rest_of_the_budget_goes_round_the_drives():
    built = snapshot(many(30, attributes={"time_of_day": "night"}))

    selection = select(built, NIGHT, budget=11)

    assert selection.counts == {"candidates": 30, "selected": 11, "corner_case": 2, "control": 0, "budget": 9}
    rest = [
        name
        for name, reason in zip(*(selection.table[key].to_pylist() for key in ("frame_id", "reason")), strict=True)
        if reason == "budget"
    ]
    assert sorted(int(name[1:]) % 3 for name in rest) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_rules_take_turns_where_the_budget_is_short():
    frames = many(20, attributes={"time_of_day": "night"})
    guesses = predicted(*((f"f{number:02d}", "bus", 0.9) for number in range(20)))

    selection = select(snapshot(frames), NIGHT, BUS, budget=4, predictions=guesses)

    assert sorted(selection.table["rule"].to_pylist()) == ["bus", "bus", "night", "night"]


def test_the_control_sample_is_drawn_from_all_candidates_before_any_rule():
    frames = many(40, attributes={"time_of_day": "night"})

    plain = select(snapshot(frames), budget=20, control_share=0.25)
    mined = select(snapshot(frames), NIGHT, budget=20, control_share=0.25)

    controls = [
        {row["frame_id"] for row in found.table.to_pylist() if row["reason"] == "control"} for found in (plain, mined)
    ]
    assert controls[0] == controls[1]
    assert len(controls[0]) == 5


def test_another_seed_draws_another_control_sample():
    drawn = [
        tuple(select(snapshot(many()), budget=10, control_share=1.0, seed=seed).table["frame_id"].to_pylist())
        for seed in range(3)
    ]

    assert len(set(drawn)) == 3


def test_a_hold_out_campaign_is_drawn_at_random_from_hold_out_frames_only():
    frames = [
        *many(10, attributes={"time_of_day": "night"}),
        Made("judge", split="holdout", attributes={"time_of_day": "night"}),
    ]
    labeling = LabelingSection(budget_frames=10, control_share=0.0)
    request = CornerCaseRequest(snapshot(frames), tables.SIGNALS.empty_table(), labeling, (NIGHT,), purpose="holdout")

    selection = find_corner_cases(request)

    assert selection.table.to_pylist() == [{"frame_id": "judge", "rank": 0, "reason": "budget", "rule": ""}]


def test_hold_out_frames_are_never_mined_for_training():
    built = snapshot([Made("judge", split="holdout"), Made("val", split="val"), Made("train")])

    assert set(select(built).table["frame_id"].to_pylist()) == {"val", "train"}


@pytest.mark.parametrize(("count", "budget"), [(0, 10), (5, 0), (1, 10)])
def test_no_frames_or_no_budget_is_an_empty_selection(count, budget):
    selection = select(snapshot(many(count)), BUS, budget=budget)

    assert selection.table.num_rows == min(count, budget)


@settings(max_examples=40)
@given(
    count=st.integers(0, 30),
    budget=st.integers(0, 40),
    share=st.floats(0, 1),
    guessed=st.sets(st.integers(0, 29)),
    seed=st.integers(0, 9),
)
def test_a_selection_keeps_to_the_budget_names_each_frame_once_and_has_no_order_of_its_own(
    count, budget, share, guessed, seed
):
    frames = many(count)
    guesses = predicted(*((f"f{number:02d}", "bus", 0.5) for number in sorted(guessed) if number < count))
    mixed = random.Random(seed).sample(frames, count)

    selection = select(snapshot(frames), BUS, NIGHT, budget=budget, predictions=guesses, control_share=share)
    other = select(snapshot(mixed), BUS, NIGHT, budget=budget, predictions=guesses, control_share=share)

    names = selection.table["frame_id"].to_pylist()
    assert len(names) == len(set(names)) == min(count, budget) == selection.counts["selected"]
    assert selection.table["rank"].to_pylist() == list(range(len(names)))
    assert selection.table.equals(other.table)


def filters_off():
    from driveflow.flow.sections import BlurSection, ExposureSection, FilterSection, NearDuplicateSection

    return FilterSection(
        near_duplicates=NearDuplicateSection(enabled=False),
        blur=BlurSection(enabled=False),
        exposure=ExposureSection(enabled=False),
    )


def test_a_prediction_that_came_with_a_batch_makes_no_frame_rare():
    made = snapshot([Made("seen", labeled=True), Made("new")])
    guess = pa.Table.from_pylist([box_row("new", "g", "bus", score=0.9)], tables.BOXES)
    built = SnapshotTables(made.frames, made.sources, guess, made.classes)

    assert case_mask(built, BUS, None).tolist() == [False, False]
