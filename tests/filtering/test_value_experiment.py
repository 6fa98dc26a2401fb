import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.value_experiment import Outcome, Pool, Sizes, difference, hidden, mined, run_seed, summary
from benchmarks.value_results import ResultFolder
from driveflow import tables
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection, WhereSection
from driveflow.snapshots import SnapshotTables
from filtering.miners.material import ObjectVectors
from tests.filtering.made import Made, measured, snapshot
from tests.strategies import box_row

RARE = {f"f{number:03d}" for number in range(0, 100, 20)}
CASES = (
    CornerCaseSection(name="bus", where=WhereSection(classes=("bus",)), quota_frames=6),
    CornerCaseSection(name="new", miner="rare_frames", settings=MinerSection(reference="labeled"), quota_frames=2),
)


def pool() -> Pool:
    """A hundred training frames, in five of which there is a bus."""
    codes = random.Random(0)
    frames = [Made(f"f{number:03d}", codes.getrandbits(64), labeled=True) for number in range(100)]
    made = snapshot([*frames, Made("judge", labeled=True, split="holdout")])
    boxes = pa.Table.from_pylist([box_row(name, "b", "bus") for name in sorted(RARE)], tables.BOXES)
    return Pool(SnapshotTables(made.frames, made.sources, boxes, made.classes), measured(frames), "bus")


@dataclass(frozen=True)
class Counted:
    """Sees every bus, and is worth as much as it had busses to learn from."""

    busses: int
    frames: int

    def see(self, frame_ids: Sequence[str]) -> pa.Table:
        rows = [box_row(name, "p", "bus", score=0.6, origin="model:x") for name in frame_ids if name in RARE]
        return pa.Table.from_pylist(rows, tables.PREDICTIONS)

    def value(self) -> float:
        return self.busses / 10


def fake_trainer(built: SnapshotTables, seed: int) -> Counted:
    """What stands in for minutes of training."""
    assert set(built.frames["split"].to_pylist()) == {"train"}
    return Counted(built.boxes.num_rows, built.frames.num_rows)


def test_mining_is_worth_more_than_chance_where_the_champion_sees_the_rare_class():
    outcomes = [run_seed(pool(), Sizes(10, 12, 20), fake_trainer, CASES, seed) for seed in range(20)]

    gain, control = summary(outcomes)

    assert all(item.rare_mined >= item.rare_random for item in outcomes)
    assert gain.low > 0
    assert control.low < 0 < control.high


def test_a_seed_gives_the_same_outcome_twice():
    outcomes = [run_seed(pool(), Sizes(10, 12, 1), fake_trainer, CASES, 3) for _ in range(2)]

    assert outcomes[0] == outcomes[1]


def test_miners_see_no_label_that_was_not_chosen_no_attribute_and_no_hold_out():
    shown = hidden(pool().tables, ["f000"])

    assert shown.boxes["frame_id"].to_pylist() == ["f000"]
    assert [bool(found) for found in shown.frames["annotated_classes"].to_pylist()].count(True) == 1
    assert set(shown.frames["attributes"].to_pylist()) == {"{}"}
    assert "judge" not in shown.frames["frame_id"].to_pylist()


def test_a_miner_of_objects_gets_them_from_labels_that_were_chosen_and_from_what_was_detected():
    asked: list[tuple[list[str], int]] = []

    def objects(shown: SnapshotTables, seen: pa.Table) -> ObjectVectors:
        asked.append((shown.boxes["frame_id"].to_pylist(), seen.num_rows))
        return ObjectVectors(("f000", "f001", "f002"), ("b", "p0", "p1"), np.eye(3, dtype=np.float32))

    chosen = mined(replace(pool(), objects=objects), ["f000"], Counted(0, 0).see(sorted(RARE)), CASES, 5, 0)

    assert len(chosen) == 5
    assert asked == [(["f000"], len(RARE))]


def test_one_seed_has_no_interval():
    assert difference("a", [1.0], [0.5]).low == float("-inf")


def test_the_interval_is_students():
    found = difference("a", [1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0])

    assert (found.low, found.high) == pytest.approx((0.4457, 4.5543), abs=1e-4)


def test_a_seed_that_was_run_is_taken_up_again_and_one_of_another_design_is_not(tmp_path):
    outcome = Outcome(3, 0.1, 0.4, 0.3, 0.2, 9, 2)
    ResultFolder.of(tmp_path, {"added": 12}).keep(outcome)

    assert ResultFolder.of(tmp_path, {"added": 12}).known(3) == outcome
    assert ResultFolder.of(tmp_path, {"added": 12}).known(4) is None
    assert ResultFolder.of(tmp_path, {"added": 13}).known(3) is None


def test_a_result_that_was_cut_off_counts_as_none(tmp_path):
    kept = ResultFolder.of(tmp_path, {"added": 12})
    (kept.folder / "seed_003.json").write_text('{"seed": 3')

    assert kept.known(3) is None
