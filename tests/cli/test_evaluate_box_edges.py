"""What a corner is decides the last digits: each published value is had by one option that says so."""

import json

import pytest

from driveflow import tables
from driveflow.errors import UsageError
from driveflow.snapshots import SnapshotTables
from tests.cli.calling import call
from tests.shared_data import shared_data
from validation.inputs.read_inputs import EvaluationInputs, read_request

SNAPSHOT = SnapshotTables(*(schema.empty_table() for schema in (tables.FRAMES, tables.SOURCES, tables.BOXES)), ("car",))
PADILLA = "eval_padilla"
NUMBERS = {name: name for name in ("AP", "AP50", "AP75", "AR1", "AR10", "AR100")}
NUMBERS |= {f"{kind}{size[0]}": f"{kind}_{size}" for kind in ("AP", "AR") for size in ("small", "medium", "large")}


def evaluated(capsys, truth, predictions, *words):
    sides = ("--truth", str(truth), "--predictions", str(predictions))
    code, out, told = call(capsys, "evaluate", *sides, "-o", "json", *words)
    assert code == 0, told
    return json.loads(out)


def expected(name):
    return json.loads((shared_data(PADILLA) / "expected.json").read_text())[name]


def voc_of(found, rule):
    return {f"{one['overlap']:g}": one[rule] for one in found["voc"]}


OVERLAPS = "0.1,0.3,0.5,0.75"


def test_the_seven_pictures_of_padilla_give_their_known_values_by_both_rules_where_the_last_pixel_belongs_to_a_box(
    capsys,
):
    home = shared_data(PADILLA) / "test_case_1"

    words = ("--mode", "coco", "--box-edges", "inclusive", "--iou", OVERLAPS)
    found = evaluated(capsys, home / "gts", home / "dets", *words)

    for rule, known in (("eleven_point", "method_11_point"), ("every_point", "method_every_point")):
        # stated to ten digits, the last one cut off
        assert voc_of(found, rule) == pytest.approx(expected("test_case_1")[known], abs=1e-10)


def test_in_mode_strict_two_detections_of_one_score_there_count_together_so_that_no_order_of_rows_matters(capsys):
    home = shared_data(PADILLA) / "test_case_1"

    found = evaluated(capsys, home / "gts", home / "dets", "--box-edges", "inclusive", "--iou", OVERLAPS)

    every = voc_of(found, "every_point")
    assert [round(every[overlap], 4) for overlap in ("0.1", "0.3", "0.5", "0.75")] == [0.3150, 0.2235, 0.0222, 0.0]
    assert "tied_scores" in {item["kind"] for item in found["corrections"]}


TRUTHS = ["gts_coco_format", "gts_vocpascal_format"]
SAID = ["coco_format", *(f"{name}_{box}" for name in ("classid", "classname") for box in ("abs_xywh", "abs_xyx2y2"))]


@pytest.mark.parametrize("mode", ["strict", "coco"])
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_toy_example_of_padilla_gives_its_known_twelve_numbers_in_every_dialect_where_corners_are_edges_as_written(
    capsys, truth, said, mode
):
    toy = shared_data(PADILLA) / "toyexample"

    found = evaluated(capsys, toy / truth, toy / f"dets_{said}", "--mode", mode, "--box-edges", "written")

    known = expected("toyexample_coco")["metrics"]
    shown = {name: -1.0 if found[name] is None else found[name] for name in NUMBERS}
    assert shown == pytest.approx({name: known[other] for name, other in NUMBERS.items()}, abs=1e-9)


@pytest.mark.parametrize("truth", TRUTHS)
def test_its_shares_of_the_picture_are_boxes_that_were_not_rounded_to_pixels_and_have_a_number_of_their_own(
    capsys, truth
):
    toy = shared_data(PADILLA) / "toyexample"

    found = evaluated(capsys, toy / truth, toy / "dets_classid_rel_xcycwh", "--box-edges", "written")

    assert found["AP"] == pytest.approx(0.6056624234, abs=1e-9)
    assert found["AP50"] == pytest.approx(expected("toyexample_coco")["metrics"]["AP50"], abs=1e-9)


def test_voc_as_voc_means_it_counts_pixels_from_one_and_includes_the_last(capsys):
    toy = shared_data(PADILLA) / "toyexample"

    found = evaluated(capsys, toy / "gts_vocpascal_format", toy / "dets_coco_format")

    assert found["AP"] == pytest.approx(0.5986192191, abs=1e-9)


@pytest.fixture
def one_pixel(tmp_path):
    """An object and a detection of one pixel, as VOC writes them."""
    (tmp_path / "gts").mkdir()
    box = "<bndbox><xmin>5</xmin><ymin>5</ymin><xmax>5</xmax><ymax>5</ymax></bndbox>"
    size = "<size><width>9</width><height>9</height></size>"
    head = f"<annotation><filename>a.jpg</filename>{size}"
    (tmp_path / "gts" / "a.xml").write_text(f"{head}<object><name>car</name>{box}</object></annotation>")
    (tmp_path / "dets").mkdir()
    (tmp_path / "dets" / "a.txt").write_text("car 0.9 5 5 5 5\n")
    return tmp_path


@pytest.mark.parametrize(("edges", "right"), [("inclusive", 1.0), ("written", None)])
def test_a_box_of_one_pixel_is_there_where_the_last_pixel_is_included_and_has_no_area_between_edges(
    one_pixel, capsys, edges, right
):
    words = ("--format", "voc,text_xyxy", "--box-edges", edges)
    found = evaluated(capsys, one_pixel / "gts", one_pixel / "dets", *words)

    assert found["AP50"] == (pytest.approx(right) if right else None)


def test_box_edges_are_no_question_of_a_snapshot(tmp_path):
    inputs = EvaluationInputs(truth=None, predictions=tmp_path, snapshot=SNAPSHOT, box_edges="inclusive")

    with pytest.raises(UsageError, match="the boxes of a snapshot have edges"):
        read_request(inputs)


def test_shares_of_pictures_of_unknown_size_have_no_last_pixel(tmp_path, capsys):
    for side, row in (("gts", "0 0.5 0.5 0.2 0.2"), ("dets", "0 0.9 0.5 0.5 0.2 0.2")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text(f"{row}\n")

    sides = ("--truth", str(tmp_path / "gts"), "--predictions", str(tmp_path / "dets"))
    code, _, told = call(capsys, "evaluate", *sides, "--format", "text_xcycwh", "--box-edges", "inclusive")

    assert code == 2
    assert "there is no last pixel" in told


def test_motchallenge_counts_from_one_and_its_corners_as_written_do_not(tmp_path):
    (tmp_path / "seq" / "gt").mkdir(parents=True)
    (tmp_path / "seq" / "img1").mkdir()
    (tmp_path / "seq" / "img1" / "000001.jpg").write_bytes(b"")
    (tmp_path / "seq" / "seqinfo.ini").write_text(
        "[Sequence]\nname=seq\nimDir=img1\nframeRate=10\nseqLength=1\nimWidth=90\nimHeight=90\nimExt=.jpg\n"
    )
    (tmp_path / "seq" / "gt" / "gt.txt").write_text("1,1,11,21,30,40,1,1,1\n")
    (tmp_path / "dets").mkdir()
    (tmp_path / "dets" / "000001.txt").write_text("pedestrian 0.9 11 21 41 61\n")

    corners = {}
    for edges in ("format", "written", "inclusive"):
        inputs = EvaluationInputs(
            truth=tmp_path / "seq", predictions=tmp_path / "dets", truth_format="mot",
            predictions_format="text_xyxy", box_edges=edges,
        )  # fmt: skip
        corners[edges] = read_request(inputs).raw.truth.corners.tolist()

    assert corners == {
        "format": [[10.0, 20.0, 40.0, 60.0]],
        "written": [[11.0, 21.0, 41.0, 61.0]],
        "inclusive": [[11.0, 21.0, 42.0, 62.0]],
    }
