"""What the hand-off says where nothing goes to annotators."""

import pyarrow as pa
import pytest

from components.work.hand_off_frames import work
from components.work.settings import write_section
from components.work.table_objects import put_table
from driveflow.flow.sections import LabelingSection
from driveflow.snapshots import write_snapshot
from filtering.corner_cases import SELECTION
from tests.components.made_steps import context, pictures_snapshot


@pytest.mark.parametrize(
    ("labeled", "why"), [(True, " Every kept frame of train and val has its labels."), (False, "")]
)
def test_a_hand_off_of_nothing_is_a_note_that_says_whether_everything_is_labeled(tmp_path, labeled, why):
    step = context(
        tmp_path,
        {"labeling": write_section(LabelingSection()), "flow": "city", "purpose": "train", "aliases": {}},
    )
    four = pictures_snapshot(step.place.store)
    done = [bool(row) for row in four.frames()["annotated_classes"].to_pylist()]
    kept = four.tables().only(four.frames()["frame_id"].filter(pa.array(done)))
    made = write_snapshot(step.place.store, kept, four.beside(), {}) if labeled else four
    empty = put_table(step.place.store, SELECTION.empty_table())

    result = work(step, {"snapshot": made.uri, "selection": empty, "predictions": ""})

    assert result.notes == (f"Nothing was left to label, so there is no campaign.{why}",)
