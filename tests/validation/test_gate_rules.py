"""The rules beside headline and floors: required slices, margins of their own, who may be compared, cost, pins."""

from dataclasses import replace

import numpy as np
import pytest

from driveflow.errors import InvalidInputError, UsageError
from driveflow.flow.gate_section import GateSliceSection
from driveflow.flow.sections import FloorSection, GateSection
from tests.validation.drives import NO_LEAK
from tests.validation.simulated import World, two_models
from validation.cost import Cost, ModelCost
from validation.gate import JudgeRequest, judge
from validation.gate_world import cost_rules
from validation.model.compare import Draws
from validation.model.scored import ScoredSlice

WORLD = World(groups=40, frames=6, luck=0.5, slices=0)
LIMITS = {"metric": "AP50", "max_drop": 0.5, "max_slice_drop": 0.5}


@pytest.fixture(scope="module")
def pair():
    """Challenger and champion with a slice of all drives and one of four."""
    group = WORLD.frame_group
    slices = (ScoredSlice("all", np.arange(len(group))), ScoredSlice("four", np.flatnonzero(group < 4)))
    return tuple(replace(model, slices=slices) for model in two_models(WORLD, 5))


def _judge(pair, **changes):
    request = JudgeRequest(*pair, GateSection(**(LIMITS | changes)), NO_LEAK, Draws(resamples=512))
    verdict = judge(request)
    return verdict.outcome, {rule.name: rule for rule in verdict.rules}


def test_a_slice_of_four_drives_is_listed_as_not_judged_and_where_it_is_required_needs_data(pair):
    outcome, rules = _judge(pair)
    required, asked = _judge(pair, slices=(GateSliceSection(name="four", required=True),))

    assert (outcome, rules["slice four"].outcome) == ("PASS", "NOT JUDGED")
    assert (required, asked["slice four"].outcome) == ("NEEDS DATA", "NEEDS DATA")
    assert "4 drive groups" in asked["slice four"].reason


def test_a_required_slice_must_be_proven_not_worse_and_another_must_only_not_be_proven_worse(pair):
    tight = GateSliceSection(name="all", required=False, max_drop=0.0)

    _, loose = _judge(pair, slices=(tight,))
    outcome, strict = _judge(pair, slices=(replace(tight, required=True),))

    assert loose["slice all"].outcome == "PASS"
    assert "is not proven" in loose["slice all"].reason
    assert (outcome, strict["slice all"].outcome) == ("NEEDS DATA", "NEEDS DATA")


def test_a_slice_has_the_margin_that_the_gate_states_for_it(pair):
    _, rules = _judge(pair, slices=(GateSliceSection(name="all", max_drop=0.25),))

    assert (rules["slice all"].limit, rules["slice four"].limit) == (-0.25, -0.5)


def test_a_slice_that_is_not_there_is_a_usage_error(pair):
    with pytest.raises(UsageError, match="fog"):
        _judge(pair, slices=(GateSliceSection(name="fog"),))


def test_drives_without_an_object_prove_nothing(pair):
    """Objects in two of forty drives: however many drives there are, nobody can tell from two."""
    lonely = []
    for model in pair:
        kept = np.isin(model.frame_group[model.sweep.object_frame], (0, 1))
        found = np.isin(model.frame_group[model.sweep.frame], (0, 1)) | (model.sweep.right == 0)
        columns = {name: getattr(model.sweep, name)[found] for name in ("frame", "tied", "late", "right", "counted")}
        columns |= {name: getattr(model.sweep, name)[kept] for name in ("object_frame", "object_label")}
        sweep = replace(model.sweep, start=np.array([0, int(found.sum())]), **columns)
        lonely.append(replace(model, sweep=sweep))

    _, rules = _judge(lonely)

    assert rules["slice all"].outcome == "NOT JUDGED"
    assert "2 of them with an object" in rules["slice all"].reason


@pytest.mark.parametrize(
    ("changed", "words"),
    [("code", "different versions of the evaluator"), ("mode", "different modes"), ("holdout", "different hold-outs")],
)
def test_ac_d15_models_are_compared_only_by_one_code_in_one_mode_on_one_holdout(pair, changed, words):
    """AC-D15: whoever measured otherwise is refused, and told what to do."""
    challenger, champion = pair
    other = replace(champion, measure=replace(champion.measure, **{changed: "other"}))

    with pytest.raises(InvalidInputError, match=words):
        _judge((challenger, other))


@pytest.mark.parametrize(("pinned", "outcome"), [("simul", "PASS"), ("beef", "NEEDS DATA")])
def test_only_the_pinned_holdout_judges(pair, pinned, outcome):
    said, rules = _judge(pair, holdout=pinned)

    assert (said, rules["hold-out"].outcome) == (outcome, outcome)


@pytest.mark.parametrize(
    ("limits", "outcomes"),
    [
        ({}, {"cost": "NOT JUDGED"}),
        ({"max_latency_ms": 20.0}, {"latency": "PASS"}),
        ({"max_latency_ms": 5.0}, {"latency": "BLOCK"}),
        ({"max_latency_ratio": 1.5}, {"latency to the champion's": "BLOCK"}),
        ({"max_size_ratio": 1.5, "max_latency_ratio": 2.0},
         {"size to the champion's": "PASS", "latency to the champion's": "PASS"}),
    ],
)  # fmt: skip
def test_cost_is_told_beside_the_champions_and_judged_where_there_is_a_limit(limits, outcomes):
    cost = Cost(ModelCost(10.0, 1_200), ModelCost(5.0, 1_000), 5, "here")

    rules = cost_rules(GateSection(**limits), cost)

    assert {rule.name: rule.outcome for rule in rules} == outcomes
    assert all("median of 5 frames in turn on here" in rule.reason or "bytes" in rule.reason for rule in rules)


def test_a_pass_says_every_rule_only_where_each_could_be_judged(pair):
    gate = GateSection(floors=(FloorSection(metric="AP50", at_least=0.1),))
    every, some = (judge(JudgeRequest(pair[0], None, gate, leak, Draws(resamples=512))) for leak in (NO_LEAK, None))

    assert (every.outcome, some.outcome) == ("PASS", "PASS")
    assert every.reason.endswith(" Every rule is met.")
    assert some.reason.endswith(" Every rule that could be judged is met.")


def test_a_limit_of_cost_without_a_measurement_needs_data(pair):
    outcome, rules = _judge(pair, max_latency_ms=5.0)

    assert (outcome, rules["cost"].outcome) == ("NEEDS DATA", "NEEDS DATA")


def test_ac_d12_every_rule_of_a_comparison_says_value_interval_n_and_reason(pair):
    """AC-D12: whoever reads the verdict needs no other file to understand it."""
    floor = FloorSection(metric="AP50", at_least=0.1, slice="all")

    _, rules = _judge(pair, floors=(floor,))

    for name in ("AP50 against the champion", "slice all", "floor AP50 in slice all"):
        rule = rules[name]
        assert rule.reason
        assert rule.interval.low <= rule.value <= rule.interval.high
        assert (rule.counts.frames, rule.counts.drive_groups, rule.counts.objects) == (240, 40, 960)
