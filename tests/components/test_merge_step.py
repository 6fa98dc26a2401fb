"""What the merge says of the snapshot that it made."""

import json

import pytest

from components.work.merge_batches import work
from components.work.settings import write_section
from driveflow.flow.merge_section import MergeSection
from driveflow.flow.sections import HoldoutSection, SplitSection
from tests.components.made_steps import context, pictures_snapshot


@pytest.fixture
def merged(tmp_path):
    """Merge one batch of four pictures under a hold-out."""

    def merge(**holdout):
        asked = {"merge": MergeSection(), "holdout": HoldoutSection(**holdout), "splits": SplitSection()}
        step = context(tmp_path, {name: write_section(section) for name, section in asked.items()})
        step.settings.update({"fixed_splits": {}, "as_of": {}, "withdrawn": ""})
        batch = pictures_snapshot(step.place.store)
        return work(step, {"batches": json.dumps([{"name": "a", "snapshot": batch.uri}])})

    return merge


def test_a_share_that_draws_no_hold_out_is_told_with_what_would_make_one(merged):
    (note,) = merged(fraction=0.0001).notes

    assert note == (
        "No frame is hold-out, so nothing will judge a model: holdout.fraction 0.0001 drew none (drive groups: 4); "
        "name some under holdout.drives or holdout.source_splits, or state split: holdout for a batch."
    )


def test_a_merge_with_a_hold_out_has_nothing_to_say(merged):
    assert merged(drives=("d1",)).notes == ()
