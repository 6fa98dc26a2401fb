import json
import shutil
from collections import Counter

from driveflow.flow.sections import TaxonomySection
from tests.ingestion.batches import bring_in
from tests.shared_data import shared_data

TAXONOMY = TaxonomySection(classes=("car", "pedestrian", "bicycle", "traffic_cone"))


def _sample(tmp_path):
    folder = shutil.copytree(shared_data("fmt_t4_devkit") / "t4dataset", tmp_path / "t4")
    return folder, bring_in(folder, TAXONOMY)


def test_six_equal_pictures_are_one_frame_with_six_sources_in_which_the_boxes_of_all_meet(tmp_path):
    folder, found = _sample(tmp_path)
    drawn = json.loads((folder / "annotation/object_ann.json").read_text())

    assert (found.tables.frames.num_rows, found.tables.sources.num_rows) == (1, 6)
    assert sorted(found.tables.boxes["box_id"].to_pylist()) == sorted(box["token"] for box in drawn)
    counts = found.counts
    assert (counts["boxes_read"], counts["boxes"], counts["boxes_quarantined"], counts["boxes_united"]) == (4, 4, 0, 0)


def test_every_camera_keeps_its_name_and_time_and_the_drive_is_the_scene(tmp_path):
    _, found = _sample(tmp_path)
    sources = found.tables.sources.to_pylist()

    assert Counter(row["camera"] for row in sources) == {"CAM_FRONT": 3, "CAM_BACK": 3}
    assert {row["captured_ns"] for row in sources} == {1_704_067_200_000_000_000 + n * 10**9 for n in range(3)}
    assert {row["drive"] for row in sources} == {"t4/minimal_test_scene"}


def test_what_one_of_equal_pictures_shows_and_another_does_not_is_a_conflict(tmp_path):
    _, found = _sample(tmp_path)

    kinds = Counter(row["kind"] for row in found.beside.conflicts.to_pylist())
    assert set(kinds) == {"box"}
    assert found.counts["conflicts"] == kinds["box"] > 0


def test_nothing_of_the_sample_is_left_unaccounted(tmp_path):
    _, found = _sample(tmp_path)
    counts = found.counts

    assert counts["files_in"] == counts["files_kept"] + counts["files_quarantined"] + counts["files_skipped"]
    assert (counts["files_kept"], counts["files_quarantined"]) == (6, 0)
