"""The gate on hold-outs whose truth is known: how often it is wrong, and that a gate that does not think fails this."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from driveflow.flow.sections import GateSection
from tests.validation.drives import NO_LEAK
from tests.validation.simulated import World, by_frame, correlation_within, found_by_frame, two_models
from validation.gate import JudgeRequest, judge
from validation.model.compare import Draws
from validation.model.resample import difference, groups_of, sample_metric
from validation.model.scored import Scored
from validation.verdict import Outcome, RuleResult

DRAWS = Draws(resamples=512)
ALIKE = World(groups=30, frames=6)
WORSE_IN_ONE_PART = World(groups=600, frames=4, luck=0.3, slices=6, loss=0.15)  # by 5 AP there
PAIRED = World(groups=300, frames=4, luck=0.2, slices=4)
HOPELESS_IN_THREE_DRIVES = World(groups=30, frames=10, slices=0, three=True)
ANY_LOSS = GateSection(metric="AP50", max_drop=0.0, max_slice_drop=0.0)  # the hardest margin for models that are alike
SOME_LOSS = GateSection(metric="AP50", max_drop=0.04, max_slice_drop=0.1)


@dataclass(frozen=True)
class Said:
    """What a gate said."""

    outcome: Outcome
    rules: tuple[RuleResult, ...] = ()


Gate = Callable[[Scored, Scored, GateSection], Said]


def driveflows(challenger: Scored, champion: Scored, section: GateSection) -> Said:
    verdict = judge(JudgeRequest(challenger, champion, section, NO_LEAK, DRAWS))
    return Said(verdict.outcome, verdict.rules)


def frame_level(challenger: Scored, champion: Scored, section: GateSection) -> Said:
    return driveflows(by_frame(challenger), by_frame(champion), section)


def share_of(gate: Gate, world: World, section: GateSection, outcome: Outcome, runs: int) -> float:
    return float(np.mean([gate(*two_models(world, seed), section).outcome == outcome for seed in range(runs)]))


def failures(gate: Gate, runs: int = 200) -> list[str]:
    """Return which claims a gate fails; few `runs` do for a gate that does not look."""
    failed = []
    if share_of(gate, ALIKE, ANY_LOSS, "BLOCK", runs) > 0.05:
        failed.append("two models alike, 40 slices, 30 drive groups: blocked in more than 5 %")
    if share_of(gate, WORSE_IN_ONE_PART, ANY_LOSS, "BLOCK", max(1, runs // 8)) < 0.9:
        failed.append("a loss of 5 AP on one slice with enough drives: not blocked in 90 %")
    if share_of(gate, PAIRED, SOME_LOSS, "PASS", max(1, runs // 10)) < 0.8:
        failed.append("two models alike, enough drives, a margin: not passed in 80 %")
    said = [gate(*two_models(HOPELESS_IN_THREE_DRIVES, seed), SOME_LOSS) for seed in range(3)]
    if any({rule.name: rule.outcome for rule in one.rules}.get("slice three-drives") != "NOT JUDGED" for one in said):
        failed.append("a slice of three drives is judged")
    return failed


def test_the_gate_blocks_models_that_are_alike_in_at_most_5_percent_and_a_planted_loss_in_at_least_90():
    assert failures(driveflows) == []


def test_a_bootstrap_of_frames_falsely_blocks_at_least_a_fifth_on_the_same_data():
    assert share_of(frame_level, ALIKE, ANY_LOSS, "BLOCK", 25) >= 0.2


@pytest.mark.parametrize("outcome", ["PASS", "NEEDS DATA", "BLOCK"])
def test_a_gate_that_always_says_the_same_fails_this_suite(outcome):
    assert failures(lambda *_: Said(outcome), runs=2)


@pytest.mark.parametrize("world", [ALIKE, WORSE_IN_ONE_PART, PAIRED])
def test_frames_of_a_simulated_drive_are_alike_by_at_least_a_fifth(world):
    found = []
    for seed in range(5):
        challenger, champion = (found_by_frame(model) for model in two_models(world, seed))
        found.append([correlation_within(values, world.frame_group) for values in (challenger, champion - challenger)])

    of_one, of_difference = np.mean(found, axis=0)
    assert of_one >= 0.2
    assert of_difference >= 0.2 or world is PAIRED


def test_the_planted_loss_is_5_ap():
    pairs = [two_models(WORSE_IN_ONE_PART, seed) for seed in range(8)]
    changes = [
        judge(JudgeRequest(*pair, ANY_LOSS, NO_LEAK, Draws(resamples=0))).comparison.per_slice[0].change.value
        for pair in pairs
    ]

    assert np.mean(changes) == pytest.approx(-0.05, abs=0.008)


def _holds_nothing(groups: int, seed: int) -> tuple[bool, bool]:
    """Whether the interval of the gate, and a basic bootstrap's, hold 0, the truth of two models that are alike."""
    challenger, champion = two_models(World(groups=groups, slices=0), 1_000 + seed)
    place = groups_of(challenger.frame_group, np.arange(len(challenger.frame_group)))
    mine, theirs = (sample_metric(one.sweep, "AP50", place, resamples=1_024) for one in (challenger, champion))
    ours = difference(mine, theirs)
    low, high = np.quantile(mine.overall()[1] - theirs.overall()[1], [0.025, 0.975])
    return ours.interval.low <= 0 <= ours.interval.high, 2 * ours.value - high <= 0 <= 2 * ours.value - low


@pytest.mark.parametrize("groups", [5, 10, 30])
def test_the_interval_holds_the_truth_in_at_least_92_of_100_holdouts_of_few_drives(groups):
    ours, basic = np.mean([_holds_nothing(groups, seed) for seed in range(250)], axis=0)

    assert ours >= 0.92
    if groups == 5:
        assert basic < 0.9, "a bootstrap that is not studentised is too sure of itself on five drives"
