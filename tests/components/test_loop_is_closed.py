"""A slice fails, and the next curation mines frames that match, and says from which validation the predicate came."""

import json

import cv2
import numpy as np
import pyarrow as pa
import pytest

from components.work import find_corner_cases, validate_model
from components.work.next_curation import last_curation
from components.work.settings import write_section
from components.work.steering import steering
from components.work.table_objects import put_table, read_table
from driveflow import tables
from driveflow.canonical import digest_bytes
from driveflow.flow.load import load_flow_text
from driveflow.ledger.rows import DecisionRow, RunRow, StepRow, TrainedModelRow
from driveflow.next_curation import read_next_curation
from driveflow.snapshots import Beside, SnapshotTables, write_snapshot
from tests.components.made_steps import context
from tests.driveflow.detectors.made import bright_spot_folder, picture_with_spot
from tests.strategies import box_row, frame_row, source_row

FLOW = """
name: city
classes: [car]
batches: [a]
corner_cases: [{name: weak, miner: failed_slices, quota_frames: 2}]
labeling: {control_share: 0.0, budget_frames: 2}
validation: {slices: [{name: night, where: {attributes: {time_of_day: night}}}]}
gate: {floors: [{metric: AP50, slice: night, at_least: 0.5}], min_frames: 5, min_drive_groups: 3}
"""
SEEN = 255
WEAK = 64  # a quarter of the score: too little for a pre-label, enough to be looked at


class Pool:
    """Pictures with a spot of a car each, brighter or weaker, as one snapshot."""

    def __init__(self, folder):
        self.folder = folder
        self.frames, self.sources, self.boxes, self.locations = [], [], [], []
        self.ids = {}

    def add(self, name, time_of_day, level, *, split="train", labeled=False):
        number = len(self.frames)
        x, y = 24 + 8 * (number % 9), 16 + 8 * (number // 9 % 3)
        image = picture_with_spot(x, y, level=level)
        image[0, 0] = (number + 1, 0, len(split))  # no two pictures are one
        data = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))[1].tobytes()
        own = digest_bytes(data)
        path = self.folder / f"{name}.png"
        path.write_bytes(data)
        tags = json.dumps({"time_of_day": time_of_day})
        looked = ["car"] if labeled else []
        more = {"width": 128, "height": 64, "split": split, "drive_group": name, "attributes": tags}
        self.frames.append(frame_row(own, annotated_classes=looked, **more))
        self.sources.append(source_row(own, path=path.name, drive=name))
        if labeled:
            box = {"x1": x - 12.0, "y1": y - 4.0, "x2": x + 20.0, "y2": y + 12.0}  # what the model here draws
            self.boxes.append(box_row(own, "b", "car", **box))
        self.locations.append({"frame_id": own, "uri": path.as_uri(), "offset": 0, "length": len(data)})
        self.ids[name] = own
        return self

    def write(self, store):
        built = SnapshotTables(
            pa.Table.from_pylist(self.frames, tables.FRAMES),
            pa.Table.from_pylist(self.sources, tables.SOURCES),
            pa.Table.from_pylist(self.boxes, tables.BOXES),
            ("car",),
        )
        beside = Beside(locations=pa.Table.from_pylist(self.locations, tables.LOCATIONS))
        return write_snapshot(store, built, beside, {})


@pytest.fixture
def judged(tmp_path):
    """A model that finds every car by day and none by night, validated by the step, as a run leaves it behind."""
    flow = load_flow_text(FLOW, "flow")
    sections = {"validation": write_section(flow.validation), "gate": write_section(flow.gate)}
    step = context(tmp_path, {**sections, "model": "city", "champion": ""})
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    holdout = Pool(pictures)
    for number in range(12):
        holdout.add(f"day{number}", "day", SEEN, split="holdout", labeled=True)
        holdout.add(f"night{number}", "night", 0, split="holdout", labeled=True)
    training = Pool(pictures).add("learned", "day", SEEN, labeled=True)
    model = bright_spot_folder(step.place.store)
    inputs = {
        "model": model.uri,
        "training": training.write(step.place.store).uri,
        "holdout": holdout.write(step.place.store).uri,
        "signals": put_table(step.place.store, tables.SIGNALS.empty_table()),
    }

    result = validate_model.work(step, inputs)

    step.ledger.begin_run(RunRow(run_id="run-1", flow="city", pipeline="retrain", profile="local"))
    step.ledger.finish_step("run-1", "validate_model", StepRow(state="SUCCEEDED", outputs=dict(result.outputs)))
    places = {"model": "city", "snapshot_uri": "s", "holdout_uri": "h", "report_uri": "r", "run_id": "run-1"}
    step.ledger.record_trained(TrainedModelRow(digest=model.digest, model_uri=model.uri, verdict="BLOCK", **places))
    step.ledger.record_decision(DecisionRow(digest=model.digest, verdict="BLOCK", **places))
    return step, flow, result, holdout


def test_a_validation_leaves_its_failed_slice_and_its_cluster_of_errors_as_predicates(judged):
    _, _, result, holdout = judged

    made = read_next_curation(str(result.outputs["next_curation"]))

    slice_, cluster = made.queries
    assert (slice_.kind, slice_.name, slice_.where.attributes) == ("slice", "night", {"time_of_day": ("night",)})
    assert "under the floor of 0.500" in slice_.why
    assert (cluster.kind, cluster.where.classes, cluster.where.attributes) == (
        "missed", ("car",), {"time_of_day": ("night",)},
    )  # fmt: skip
    assert cluster.why == "12 of 12 objects are missed (100%, 50% of all), in 12 drive groups."
    assert (made.run_id, made.model, made.outcome) == ("run-1", "city", "BLOCK")
    assert not any(own in str(made) for own in holdout.ids.values()), "no frame of the hold-out is named"
    assert all("What the next curation searches for" in result.pages[page] for page in ("summary", "report"))
    assert "time_of_day in night" in result.pages["report"]


def test_the_next_curation_mines_frames_that_match_and_says_from_which_validation_the_predicate_came(judged, tmp_path):
    step, flow, result, _ = judged
    pool = Pool(tmp_path / "pictures")
    pool.add("weak", "night", WEAK).add("dark", "night", 0).add("bright", "day", SEEN).add("plain", "day", 0)
    snapshot = pool.write(step.place.store)
    plan = {
        "corner_cases": [write_section(case) for case in flow.corner_cases],
        "labeling": write_section(flow.labeling),
        "champion": bright_spot_folder(step.place.store).uri,
        **steering(step, flow),
    }
    signals = put_table(step.place.store, tables.SIGNALS.empty_table())

    found = find_corner_cases.work(context(tmp_path, plan), {"snapshot": snapshot.uri, "signals": signals})

    chosen = read_table(str(found.outputs["selection"])).sort_by("rank")
    assert chosen["frame_id"].to_pylist() == [pool.ids["weak"], pool.ids["dark"]], "the one with a weak car goes first"
    assert chosen["rule"].to_pylist() == ["weak", "weak"]
    digest = step.ledger.newest_trained("city").digest[:12]
    (note,) = found.notes
    assert note.startswith(f"Searched by 2 predicates of the validation in run run-1 of city {digest}: BLOCK: night")
    assert f"What failed in the validation in run run-1 of city {digest}" in found.pages["summary"]
    assert plan["steered_by"]["next_curation"] == result.outputs["next_curation"]


def test_what_a_validation_left_and_somebody_swept_away_is_not_missed(judged):
    step, flow, result, _ = judged
    (path,) = [one for one in (step.scratch.parent / "store").rglob("*.json") if one.as_uri() in str(result.outputs)
               and one.name in str(result.outputs["next_curation"])]  # fmt: skip
    path.unlink()

    assert last_curation(step, "city") is None
    assert steering(step, flow) == {"failed_slices": []}
