"""Truth and predictions of any format, without pictures, mean the same."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables
from driveflow.errors import InvalidInputError, NotFoundError, UsageError
from driveflow.snapshots import SnapshotTables
from tests.shared_data import shared_data
from tests.strategies import box_row, frame_row
from tests.validation.coco_files import annotation, document, kinds, measured, result
from tests.validation.scenes import METRICS, from_coco, pycocotools_numbers, random_coco, read_json
from validation.inputs.read_inputs import EvaluationInputs, read_request
from validation.model.evaluate import evaluate

PUBLISHED = {
    name.replace("AR_", "AR").replace("AP_", "AP"): name for name in ("AP", "AP50", "AP75", "AR1", "AR10", "AR100")
}
PUBLISHED |= {f"{kind}{size[0]}": f"{kind}_{size}" for kind in ("AP", "AR") for size in ("small", "medium", "large")}
TOY = "eval_padilla"
DIALECTS = [f"{name}_{box}" for name in ("classid", "classname") for box in ("abs_xywh", "abs_xyx2y2", "rel_xcycwh")]


def _of(truth, predictions, **asked):
    return evaluate(read_request(EvaluationInputs(truth=truth, predictions=predictions, **asked)))


def _plain(numbers):
    return {name: -1.0 if numbers[name] is None else numbers[name] for name in METRICS}


@pytest.mark.parametrize("case", ["cocoapi_100", "small", "eval_made"])
def test_published_files_give_their_twelve_numbers_and_those_of_pycocotools_run_beside(case):
    folder = shared_data("eval_made" if case == "eval_made" else "eval_faster_coco")
    expected = read_json(folder / "expected.json")
    expected = expected if case == "eval_made" else expected[case]
    truth, predictions = (folder / expected.get(key, other) for key, other in (("gt", "gt.json"), ("dt", "pred.json")))

    numbers = _plain(_of(truth, predictions, mode="coco").numbers)

    assert numbers == pytest.approx({name: expected["metrics"][PUBLISHED[name]] for name in METRICS}, abs=1e-9)
    assert numbers == pytest.approx(pycocotools_numbers(read_json(truth), read_json(predictions)), abs=1e-9)


def test_ids_that_are_text_on_one_side_are_the_same_ids():
    folder = shared_data("eval_faster_coco")
    expected = read_json(folder / "expected.json")["ignore_upstream_min_score_0.1"]

    numbers = _of(folder / expected["gt"], folder / expected["dt"], mode="coco", min_score=0.1).numbers

    assert {name: numbers[name] for name in expected["metrics"]} == pytest.approx(expected["metrics"], abs=1e-9)


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_predictions_that_are_a_whole_document_are_joined_by_names_and_ids_from_zero_count(mode):
    folder = shared_data(TOY)
    expected = read_json(folder / "expected.json")["toyexample_coco"]

    evaluation = _of(folder / expected["gt"], folder / expected["dt"], mode=mode)

    assert _plain(evaluation.numbers) == pytest.approx(
        {name: expected["metrics"][PUBLISHED[name]] for name in METRICS}, abs=1e-9
    )
    assert kinds(evaluation)["annotation_id_zero"] == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_of_text_rows_is_told_by_content_and_gives_the_numbers_of_the_same_boxes_as_json(dialect):
    toy = shared_data(TOY) / "toyexample"

    rows = _of(toy / "gts_vocpascal_format", toy / f"dets_{dialect}")
    whole = _of(toy / "gts_vocpascal_format", toy / "dets_coco_format")

    assert rows.numbers == pytest.approx(whole.numbers, abs=1e-9)
    assert rows.numbers["AP50"] == pytest.approx(0.8902640264, abs=1e-9)
    assert (rows.frames, rows.objects, rows.detections) == (10, 12, 12)


def test_rows_of_x_y_width_height_are_read_on_both_sides():
    home = shared_data(TOY) / "test_case_1"

    evaluation = _of(home / "gts", home / "dets", thresholds=(0.1, 0.3, 0.5, 0.75))

    assert (evaluation.frames, evaluation.objects, evaluation.detections) == (7, 15, 24)
    assert evaluation.by_threshold["0.5"] == pytest.approx(0.0231023102, abs=1e-9)
    assert evaluation.by_threshold["0.75"] == 0.0


def test_a_list_of_classes_as_windows_writes_it_keeps_its_letters(tmp_path):
    for side, row in (("truth", "0 10 10 60 60"), ("said", "0 0.9 10 10 60 60")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text(f"{row}\n")
    (tmp_path / "classes.txt").write_bytes("Fußgänger\nMenü".encode("cp1252"))

    evaluation = _of(tmp_path / "truth", tmp_path / "said", truth_format="text_xyxy", predictions_format="text_xyxy")

    assert [part.class_name for part in evaluation.per_class] == ["Fußgänger"]


@pytest.mark.parametrize(
    "name", ["coco", "cvat_images", "labelme", "open_images", "openlabel", "udacity_csv", "voc", "yolo"]
)
def test_a_format_whose_pictures_are_not_there_is_the_same_truth(name, tmp_path):
    home = shared_data("fmt_same_truth")
    bare = tmp_path / name
    shutil.copytree(home / name, bare, ignore=lambda _, names: [item for item in names if item.endswith(".jpg")])
    said = read_json(next((home / "coco").rglob("*.json")))
    said["annotations"] = [{**row, "score": 0.5 + number / 1000} for number, row in enumerate(said["annotations"])]
    (tmp_path / "said.json").write_text(json.dumps(said), encoding="utf-8")

    evaluation = _of(bare, tmp_path / "said.json")

    assert evaluation.numbers["AP50"] == pytest.approx(1.0)
    assert (evaluation.objects, kinds(evaluation)) == (69, {})


def test_kitti_predictions_are_measured_against_kitti_labels_and_dont_care_regions_cost_nothing(tmp_path):
    rest = "0 0 -10 {} -1 -1 -1 -1000 -1000 -1000 -10"
    for side, score in (("label_2", ""), ("said", " 0.9")):
        (tmp_path / side).mkdir()
        car = f"Car {rest.format('10 10 60 60')}{score}\n"
        other = (
            f"DontCare {rest.format('200 200 300 300')}\n"
            if not score
            else f"Car {rest.format('210 210 250 250')} 0.8\n"
        )
        (tmp_path / side / "000000.txt").write_text(car + other)

    evaluation = _of(tmp_path / "label_2", tmp_path / "said")

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert (evaluation.objects, evaluation.per_class[0].point.false) == (1, 0)


def test_a_snapshot_is_truth_for_predictions_that_name_its_frames_by_id_or_by_path(tmp_path):
    frames = [frame_row(name, split="holdout", drive_group=name, annotated_classes=["car"]) for name in ("a", "b")]
    sources = [{"frame_id": name, "batch": "may", "path": f"cam/{name}.jpg", "clock": "none"} for name in ("a", "b")]
    boxes = [box_row(name, "1", "car", x1=10.0, y1=10.0, x2=60.0, y2=60.0) for name in ("a", "b")]
    snapshot = SnapshotTables(
        pa.Table.from_pylist(frames, tables.FRAMES),
        pa.Table.from_pylist(sources, tables.SOURCES),
        pa.Table.from_pylist(boxes, tables.BOXES),
        ("car",),
    )
    said = [{**row, "score": 0.9} for row in boxes]
    pq.write_table(pa.Table.from_pylist(said, tables.PREDICTIONS), tmp_path / "said.parquet")
    (tmp_path / "rows").mkdir()
    for name in ("a", "b"):
        (tmp_path / "rows" / f"{name}.txt").write_text("car 0.9 10 10 60 60\n")

    for path, label_format in ((tmp_path / "said.parquet", "auto"), (tmp_path / "rows", "text_xyxy")):
        evaluation = _of(None, path, snapshot=snapshot, holdout_id="id", predictions_format=label_format)
        assert evaluation.numbers["AP"] == pytest.approx(1.0)
        assert (evaluation.frames, evaluation.drive_groups) == (2, 2)


def test_rows_that_may_be_meant_in_two_ways_are_refused_and_the_way_out_is_named(tmp_path):
    for side, text in (("truth", "car 10 10 60 60\n"), ("said", "car 0.9 10 10 60 60\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text(text)

    with pytest.raises(UsageError, match="may be xywh or xyxy; say --format text_xywh"):
        _of(tmp_path / "truth", tmp_path / "said")

    assert _of(tmp_path / "truth", tmp_path / "said", truth_format="text_xyxy",
               predictions_format="text_xyxy").numbers["AP"] == pytest.approx(1.0)  # fmt: skip


def test_a_line_that_is_no_row_is_an_error_that_names_file_and_line(tmp_path):
    for side in ("truth", "said"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text("car 10 10 60 60\ncar 10 10\n")

    with pytest.raises(InvalidInputError, match=r"truth/a\.txt:2: 'car 10 10' is no class with 4 numbers"):
        _of(tmp_path / "truth", tmp_path / "said", truth_format="text_xyxy")


def test_predictions_of_other_pictures_altogether_are_an_error_and_no_zero(tmp_path):
    (tmp_path / "said").mkdir()
    (tmp_path / "said" / "elsewhere.txt").write_text("car 0.9 10 10 90 20\n")
    (tmp_path / "truth.json").write_text(json.dumps(document([annotation(1, 1, (10, 10, 50, 50))])), encoding="utf-8")

    with pytest.raises(InvalidInputError, match="no prediction is of a frame of the truth"):
        _of(tmp_path / "truth.json", tmp_path / "said", predictions_format="text_xyxy")


def test_shares_of_pictures_whose_size_nobody_says_are_refused_against_pixels(tmp_path):
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    (tmp_path / "said").mkdir()
    (tmp_path / "said" / "a.txt").write_text("0 0.9 100 100 50 50\n")

    with pytest.raises(InvalidInputError, match="nobody says how large"):
        _of(tmp_path / "truth", tmp_path / "said", predictions_format="text_xywh")


def test_what_is_not_there_is_not_found(tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        _of(tmp_path / "nothing.json", tmp_path / "nothing.json")


@settings(max_examples=12)
@given(st.integers(0, 2**32))
def test_without_ties_mode_strict_and_mode_coco_say_the_same(seed):
    truth, predictions = random_coco(seed)

    strict, coco = (evaluate(from_coco(truth, predictions, mode)) for mode in ("strict", "coco"))

    assert _plain(strict.numbers) == pytest.approx(_plain(coco.numbers), abs=1e-12)
    assert [part.numbers for part in strict.per_class] == [part.numbers for part in coco.per_class]


def test_detections_of_one_score_share_objects_out_so_that_the_pair_that_overlaps_most_goes_first(tmp_path):
    truth = document([annotation(1, 1, (0, 0, 100, 100)), annotation(2, 1, (40, 0, 100, 100))], images=1)
    near, between = (38, 0, 100, 100), (25, 0, 100, 100)  # the second overlaps both objects, the first only one of them

    orders = [[result(1, box, 0.5) for box in boxes] for boxes in ((near, between), (between, near))]

    for found in orders:
        evaluation = measured(tmp_path, truth, found)
        assert evaluation.per_class[0].point.right == 2
        assert evaluation.numbers["AP50"] == pytest.approx(1.0)


def test_detections_of_one_score_come_into_the_curve_together(tmp_path):
    truth = document([annotation(1, 1, (0, 0, 100, 100)), annotation(2, 2, (0, 0, 100, 100))])
    found = [result(1, (0, 0, 100, 100), 0.5), result(2, (900, 0, 50, 50), 0.5)]

    numbers = [measured(tmp_path, truth, order).numbers["AP50"] for order in (found, found[::-1])]

    # one right of two detections at the only score there is: precision 0.5 up to recall 0.5
    assert numbers == [pytest.approx(0.5 * 51 / 101)] * 2


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_the_mean_of_the_curve_of_a_class_is_its_ap_also_where_scores_are_equal(mode):
    truth, predictions = random_coco(3, images=12)
    tied = [{**row, "score": round(row["score"], 1)} for row in predictions]

    for part in evaluate(from_coco(truth, tied, mode)).per_class:
        assert sum(part.curve.precision) / 101 == pytest.approx(part.numbers["AP50"], abs=1e-12)


def test_slices_of_an_attribute_add_up_with_the_frames_that_do_not_state_it(tmp_path):
    box = (10, 10, 50, 50)
    truth = document([annotation(image, image, box) for image in range(1, 6)], images=5)
    for image, said in zip(truth["images"], ("rain", "rain", "sun", "", None), strict=True):
        image["attributes"] = {} if said is None else {"weather": said}

    found = measured(tmp_path, truth, [result(1, box)], slices=("weather",)).per_slice

    assert {part.name: part.frames for part in found} == {
        "weather=rain": 2,
        "weather=sun": 1,
        "weather=not stated": 2,
    }


def test_slices_of_an_attribute_that_is_a_number_or_a_yes_or_no_hold_its_frames(tmp_path):
    box, said = (10, 10, 50, 50), (0, 2, 2.0, 1.5, "2", True, False, "it's", None)
    truth = document([annotation(image, image, box) for image in range(1, 10)], images=9)
    for image, value in zip(truth["images"], said, strict=True):
        image["attributes"] = {"lanes": value}

    found = measured(tmp_path, truth, [result(1, box)], slices=("lanes",)).per_slice

    told = {"0": 1, "2": 3, "1.5": 1, "true": 1, "false": 1, "it's": 1, "not stated": 1}
    assert {part.name: part.frames for part in found} == {f"lanes={name}": count for name, count in told.items()}
