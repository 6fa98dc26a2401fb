"""A list of COCO results is read as JSON has it, wherever a piece of the file ends; what is no JSON is refused."""

import json

import polars as pl
import pytest

from driveflow.errors import InvalidInputError, UsageError
from tests.validation.coco_files import annotation, document, measured, result
from validation.inputs import json_records
from validation.inputs.read_inputs import EvaluationInputs, read_request
from validation.model.evaluate import evaluate

BOX = (10, 10, 50, 50)
TRUTH = document([annotation(1, 1, BOX), annotation(2, 2, BOX)])


def _tracks(count, text="a}"):
    return {"tracks": [{"t": n, "said": [{"x": text}, {}]} for n in range(count)]}


@pytest.mark.parametrize("piece", [97, 700, 5_000, 1 << 20])
def test_a_record_with_any_number_of_braces_may_lie_across_two_pieces_of_the_file(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(json_records, "_PIECE_BYTES", piece)
    found = [{**result(1 + n % 2, BOX), **_tracks(n % 40)} for n in range(100)]

    assert measured(tmp_path, TRUTH, found).detections == 100


@pytest.mark.parametrize(
    ("between", "after", "told"),
    [
        (" ", "]", r":3: no comma before entry 1 of the list"),
        (",,", "]", r":[23]: JSON is malformed"),
        (",", ",]", r":3: no list of records, one comma between two"),
        (",", "]\n[]", r":3: the list ends here, and more follows"),
        (",", "] }", r":3: the list ends here, and more follows"),
        (",", "", r":3: the list is cut short"),
    ],
)
@pytest.mark.parametrize("more", [{}, {"caption": 'a "word"'}], ids=["plain", "other"])
def test_what_is_no_list_of_json_is_refused_with_its_line(tmp_path, between, after, told, more):
    record = json.dumps({**result(1, BOX), **more})

    with pytest.raises(InvalidInputError, match=r"predictions\.json" + told):
        measured(tmp_path, TRUTH, f"[\n{record}{between}\n{record}{after}")


@pytest.mark.parametrize("kind", [float, str])
def test_ids_spelled_as_1_0_or_as_text_are_those_of_whole_numbers(tmp_path, kind):
    truth = {**TRUTH, "annotations": [{**said, "image_id": kind(said["image_id"])} for said in TRUTH["annotations"]]}
    found = [{**result(n, BOX), "image_id": kind(n), "category_id": kind(1)} for n in (1, 2)]

    assert measured(tmp_path, truth, [*found, result(1, (0, 0, 5, 5), 0.1)]).numbers["AP"] == pytest.approx(1.0)


def test_a_document_that_is_cut_short_is_said_to_be_so_where_it_ends(tmp_path):
    text = json.dumps(TRUTH, indent=1)[:-40]

    with pytest.raises(InvalidInputError, match=rf"truth\.json:{text.count(chr(10)) + 1}: Input data was truncated"):
        measured(tmp_path, text, [result(1, BOX)])


def test_results_that_name_pictures_are_told_which_ids_the_truth_has(tmp_path):
    found = [{**result(1, BOX), "image_id": "1.jpg"}]

    with pytest.raises(
        InvalidInputError, match=r"it names \['1.jpg'\], the truth has \['1 \(1.jpg\)', .*by the truth's ids"
    ):
        measured(tmp_path, TRUTH, found)


def test_two_lists_of_results_in_one_folder_are_refused_by_name(tmp_path):
    folder = tmp_path / "found"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.json").write_text(json.dumps([result(1, BOX)]))
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))

    with pytest.raises(UsageError, match=r"a\.json and b\.json are both lists of results; name one"):
        read_request(EvaluationInputs(truth=tmp_path / "truth.json", predictions=folder))


TABLE = {"frame_id": [1], "class_name": ["car"], "x1": [10], "y1": [10], "x2": [60], "y2": [60], "score": [0.5]}


def _table(folder, **changed):
    (folder / "truth.json").write_text(json.dumps(TRUTH))
    pl.DataFrame({**TABLE, **changed}).write_parquet(folder / "found.parquet")
    return read_request(EvaluationInputs(truth=folder / "truth.json", predictions=folder / "found.parquet"))


def test_a_table_may_name_frames_by_whole_numbers(tmp_path):
    assert evaluate(_table(tmp_path)).numbers["AR100"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"x1": ["left"]}, "found.parquet: no Parquet file with the columns frame_id"),
        ({"x1": [[1.0]]}, "found.parquet: no Parquet file with the columns frame_id"),
        ({"class_name": pl.Series([None], dtype=pl.String)}, "found.parquet: row 0 has no class_name"),
        ({"frame_id": pl.Series([None], dtype=pl.Int64)}, "found.parquet: row 0 has no frame_id"),
    ],
)
def test_a_table_of_other_columns_is_refused_in_one_line(tmp_path, changed, told):
    with pytest.raises(InvalidInputError, match=told) as raised:
        _table(tmp_path, **changed)
    assert "\n" not in str(raised.value)
