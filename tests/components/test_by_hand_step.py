from datetime import UTC, datetime

import numpy as np
import pytest

from components.work.filter_frames import SPEC, work
from components.work.settings import write_section
from components.work.table_objects import put_table
from driveflow.by_hand import Said, put_by_hand, say_by_hand
from driveflow.canonical import canonical_json
from driveflow.flow.sections import FilterSection
from driveflow.images.pixels import open_pixels
from driveflow.signal_store import SignalStore
from driveflow.snapshots import open_snapshot
from driveflow.steps import StepCall, step_key
from filtering.fingerprint import fingerprint_frames
from tests.components.made_steps import context, pictures_snapshot
from tests.driveflow.images.made import scene


@pytest.fixture
def step(tmp_path):
    """Runs the filter step over three pictures, two of them near-duplicates; returns decisions and the step's key."""
    store = (tmp_path / "store").as_uri()
    picture = scene(1, 320, 180)
    brighter = np.clip(picture.astype(int) + 6, 0, 255).astype(np.uint8)
    merged = pictures_snapshot(store, images=[np.ascontiguousarray(picture[::-1, ::-1]), picture, brighter])
    place = context(tmp_path, {}).place
    measured = fingerprint_frames(merged.frames()["frame_id"], open_pixels(merged, place), SignalStore(store))
    inputs = {"snapshot": merged.uri, "signals": put_table(store, measured.signals)}

    def run():
        settings = {"filters": write_section(FilterSection()), "corner_cases": [], "by_hand": put_by_hand(store)}
        made = open_snapshot(str(work(context(tmp_path, settings), inputs).outputs["snapshot"]))
        return made.decisions().to_pylist(), step_key(SPEC, StepCall(inputs, canonical_json(settings), "run"))

    return run, store


def say(store, about, row):
    now = datetime.now(UTC).isoformat()
    say_by_hand(store, [Said(about=about, frame_id=row["frame_id"], twin=row["twin"], who="ada", at=now)])


def dropped(decisions):
    return [row for row in decisions if row["verdict"] == "dropped"]


def test_an_undone_drop_is_kept_by_the_next_run_which_is_no_reuse_of_the_last(step):
    run, store = step
    before, key = run()
    say(store, "keep", dropped(before)[0])
    after, other_key = run()

    undone = next(row for row in after if row["frame_id"] == dropped(before)[0]["frame_id"])
    assert (undone["verdict"], undone["reason"]) == ("kept", "kept_by_hand")
    assert len(after) == len(before) == 3
    assert key != other_key


def test_a_pair_that_a_person_parted_is_never_taken_for_twins(step):
    run, store = step
    before, _ = run()
    say(store, "not_duplicate", dropped(before)[0])
    after, _ = run()

    assert len(dropped(before)) == 1
    assert dropped(after) == []
