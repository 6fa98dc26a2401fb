"""What lies in a store without a tag."""

from driveflow.snapshot_list import list_named
from driveflow.snapshots import Beside, write_snapshot
from tests.components.made_steps import pictures_snapshot


def test_a_snapshot_is_told_with_the_step_that_made_it_first_though_a_later_one_wrote_the_same_again(tmp_path):
    store = (tmp_path / "store").as_uri()
    tables = pictures_snapshot(store).tables()
    for step in ("filter_frames", "collect_labels"):
        write_snapshot((tmp_path / "other").as_uri(), tables, Beside(), {"step": step})

    (row,) = list_named((tmp_path / "other").as_uri())["untagged"]

    assert row["made_by"] == "filter_frames"
