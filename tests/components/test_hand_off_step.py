"""What the hand-off says where nothing goes to annotators."""

import pyarrow as pa
import pytest

from components.work.hand_off_frames import work
from components.work.settings import write_section
from components.work.table_objects import put_table
from driveflow.errors import LedgerError
from driveflow.flow.sections import LabelingSection
from driveflow.snapshots import write_snapshot
from filtering.corner_cases import SELECTION
from labeling.campaigns import list_campaigns
from tests.components.made_steps import context, pictures_snapshot

SETTINGS = {"labeling": write_section(LabelingSection()), "flow": "city", "purpose": "train", "aliases": {}}


@pytest.mark.parametrize(
    ("labeled", "why"), [(True, " Every kept frame of train and val has its labels."), (False, "")]
)
def test_a_hand_off_of_nothing_is_a_note_that_says_whether_everything_is_labeled(tmp_path, labeled, why):
    step = context(tmp_path, SETTINGS)
    four = pictures_snapshot(step.place.store)
    done = [bool(row) for row in four.frames()["annotated_classes"].to_pylist()]
    kept = four.tables().only(four.frames()["frame_id"].filter(pa.array(done)))
    made = write_snapshot(step.place.store, kept, four.beside(), {}) if labeled else four
    empty = put_table(step.place.store, SELECTION.empty_table())

    result = work(step, {"snapshot": made.uri, "selection": empty, "predictions": ""})

    assert result.notes == (f"Nothing was left to label, so there is no campaign.{why}",)


def test_a_hand_off_of_what_is_out_already_names_how_many_frames_are_awaited(tmp_path):
    step = context(tmp_path, SETTINGS)
    four = pictures_snapshot(step.place.store)
    lacking = [not row for row in four.frames()["annotated_classes"].to_pylist()]
    ids = four.frames()["frame_id"].filter(pa.array(lacking)).to_pylist()

    def sent(frame_ids):
        rows = [{"frame_id": name, "rank": rank, "reason": "", "rule": ""} for rank, name in enumerate(frame_ids)]
        picked = put_table(step.place.store, pa.Table.from_pylist(rows, SELECTION))
        return work(step, {"snapshot": four.uri, "selection": picked, "predictions": ""})

    first, second = sent(ids), sent(ids[:1])

    assert first.counts["frames_sent"] == len(ids) == 2
    assert len(second.notes) == 1
    assert second.outputs["campaign"] == ""
    assert second.notes[0].startswith(
        "Nothing was left to send, so there is no new campaign. 1 selected frames are out in other campaigns"
    )


def _all_picked(store):
    """Return the inputs of a hand-off of every frame of a snapshot with pictures."""
    four = pictures_snapshot(store)
    rows = [{"frame_id": name, "rank": 0, "reason": "", "rule": ""} for name in four.frames()["frame_id"].to_pylist()]
    picked = put_table(store, pa.Table.from_pylist(rows, SELECTION))
    return {"snapshot": four.uri, "selection": picked, "predictions": ""}


def test_no_campaign_is_complete_that_the_ledger_does_not_know(tmp_path, monkeypatch):
    step = context(tmp_path, SETTINGS)
    inputs = _all_picked(step.place.store)

    def down(*_):
        raise LedgerError("the database is down")

    with monkeypatch.context() as patched:
        patched.setattr(type(step.ledger), "record_campaign", down)
        with pytest.raises(LedgerError):
            work(step, inputs)
    assert list_campaigns(step.place.store) == ()

    work(step, inputs)

    assert list_campaigns(step.place.store) == tuple(row.campaign_id for row in step.ledger.campaigns(flow="city"))


def test_a_hand_off_of_frames_that_another_flow_sent_says_that_their_labels_go_there(tmp_path):
    step = context(tmp_path, SETTINGS)
    inputs = _all_picked(step.place.store)

    first = work(step, inputs)
    second = work(context(tmp_path, {**SETTINGS, "flow": "town"}), inputs)

    assert first.notes == ()
    assert second.notes[0].startswith("Selected frames are out in campaigns of other flows (2 of flow 'city'), and")
