"""A list of COCO results is read as JSON has it, wherever a piece of the file ends; what is no JSON is refused."""

import json

import polars as pl
import pytest

from driveflow.errors import InvalidInputError, UsageError
from tests.validation.coco_files import annotation, document, kinds, measured, result
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


def test_results_of_other_pictures_are_told_which_ids_the_truth_has(tmp_path):
    found = [{**result(1, BOX), "image_id": "7.jpg"}]

    with pytest.raises(
        InvalidInputError, match=r"it names \['7.jpg'\], the truth has \['1 \(1.jpg\)', .*by the truth's ids"
    ):
        measured(tmp_path, TRUTH, found)


def test_results_of_other_classes_are_told_which_ids_the_truth_has(tmp_path):
    with pytest.raises(InvalidInputError, match=r"it says \['0'\], the truth has \['1 \(car\)', '2 \(bus\)'\]"):
        measured(tmp_path, TRUTH, [result(1, BOX, category=0)])


NAMED = {**TRUTH, "images": [{**TRUTH["images"][n], "file_name": f"day/00012{n}.jpg"} for n in (0, 1)]}


@pytest.mark.parametrize("spell", ["day/00012{}.jpg", "00012{}.jpg", "00012{}", "12{}"])
def test_results_may_name_pictures_where_no_id_is_the_truths_and_it_is_told(tmp_path, spell):
    found = [{**result(1, BOX), "image_id": spell.format(n)} for n in (0, 1)]

    evaluation = measured(tmp_path, NAMED, found)

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert kinds(evaluation)["image_id_is_name"] == 2


@pytest.mark.parametrize("names", [True, False])
def test_ids_of_the_truth_may_be_names_of_pictures(tmp_path, names):
    images = [{"id": f"{n}.jpg", **({"file_name": f"{n}.jpg"} if names else {})} for n in (1, 2)]
    annotations = [{**said, "image_id": f"{said['image_id']}.jpg"} for said in TRUTH["annotations"]]
    truth = {**TRUTH, "images": images, "annotations": annotations}
    found = [{**result(n, BOX), "image_id": f"{n}.jpg"} for n in (1, 2)]

    for said in (found, [{**one, "image_id": one["image_id"][:1]} for one in found]):
        assert measured(tmp_path, truth, said).numbers["AP"] == pytest.approx(1.0)


@pytest.mark.parametrize("moment", [1.5, "1.5"])
def test_an_id_with_a_fraction_is_no_whole_number_and_no_name_with_an_extension(tmp_path, moment):
    with pytest.raises(InvalidInputError, match=r"it names \['1.5'\]"):
        measured(tmp_path, TRUTH, [{**result(1, BOX), "image_id": moment}])

    truth = {**TRUTH, "images": [{**TRUTH["images"][0], "file_name": "1.5.jpg"}, TRUTH["images"][1]]}
    found = measured(tmp_path, truth, [{**result(1, BOX), "image_id": moment}])
    assert (kinds(found)["image_id_is_name"], found.numbers["AR100"]) == (1, pytest.approx(0.5))


def test_a_name_that_may_be_two_pictures_is_refused_in_a_list_of_results(tmp_path):
    truth = {**TRUTH, "images": [{**TRUTH["images"][n], "file_name": f"{n}/a.jpg"} for n in (0, 1)]}

    with pytest.raises(InvalidInputError, match=r"'a\.jpg' may be the frame '0/a\.jpg' or '1/a\.jpg' of the truth"):
        measured(tmp_path, truth, [{**result(1, BOX), "image_id": "a.jpg"}])


def test_results_may_name_classes_where_no_id_is_the_truths_and_it_is_told(tmp_path):
    found = [{**result(n, BOX), "category_id": "car"} for n in (1, 2)]

    evaluation = measured(tmp_path, TRUTH, found)

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert kinds(evaluation)["category_id_is_name"] == 1


def test_ids_that_are_the_truths_in_part_and_numbers_of_names_altogether_are_doubted(tmp_path):
    images = [{"id": n + 1, "file_name": f"{n:06}.png"} for n in range(5)]
    found = [result(n, BOX) for n in range(5)]

    assert kinds(measured(tmp_path, {**TRUTH, "images": images}, found))["image_ids_may_be_names"] == 5
    assert "image_ids_may_be_names" not in kinds(measured(tmp_path, {**TRUTH, "images": images}, found[1:]))


def test_classes_that_seem_to_be_counted_from_zero_are_doubted(tmp_path):
    found = [result(1, BOX, category=0), result(2, BOX, category=1)]

    assert "category_ids_may_begin_with_zero" in kinds(measured(tmp_path, TRUTH, found))
    found[0]["category_id"] = 3
    assert "category_ids_may_begin_with_zero" not in kinds(measured(tmp_path, TRUTH, found))


@pytest.mark.parametrize("code", [0xD800, 0xDC00, 0xDCE9])
@pytest.mark.parametrize("place", ["note", "info", "name"])
def test_half_a_character_in_a_text_is_named_with_its_line_and_what_would_do(tmp_path, code, place):
    half = f"a{chr(code)} b"
    record = {**result(1, BOX), "note": half} if place == "note" else result(1, BOX)
    truth = {"info": {"by": half}, **TRUTH} if place == "info" else TRUTH
    if place == "name":
        truth = {**TRUTH, "categories": [{"id": 1, "name": half}]}

    line = 12 if place == "note" else r"\d+"
    told = rf"\.json:{line}: a text holds \\u[0-9a-f]{{4}}, half of a character; \\ufffd in its place would do"
    with pytest.raises(InvalidInputError, match=told):
        measured(tmp_path, json.dumps(truth, indent=1), json.dumps([record], indent=1))


def test_a_whole_character_of_two_escapes_is_read_and_nan_within_a_name_is_no_number(tmp_path):
    assert measured(tmp_path, TRUTH, [{**result(1, BOX), "note": "\U0001f600 \\ud800"}]).detections == 1
    with pytest.raises(InvalidInputError, match="Input data was truncated"):
        measured(tmp_path, json.dumps({"info": "a NaN of bread", **TRUTH})[:-9], [result(1, BOX)])


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
