import io
import json

import pytest

from driveflow.formats.corner_columns import layout_of
from driveflow.formats.detect import detect_formats
from driveflow.formats.sniff import Sniffer
from driveflow.formats.udacity import read_udacity, udacity_files
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data


def _files(*lines, path="labels.csv", names=("a.jpg", "b.jpg")):
    return InMemory({path: "\n".join(lines), **pictures(*names)})


def _read(*lines, **more):
    return read_udacity(_files(*lines, **more))


def _attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


@pytest.mark.parametrize(
    "lines",
    [
        ['a.jpg 10 20 40 60 0 "van"'],
        ['a.jpg 10 20 40 60 1 "van" "Red"'],
        ["frame xmin ymin xmax ymax occluded label", "a.jpg 10 20 40 60 0 van"],
        ["xmin,ymin,xmax,ymax,Frame,Label,Preview URL", "10,20,40,60,a.jpg,van,http://x/a.jpg"],
        ['"image","xmin","ymin","xmax","ymax","label"', '"a.jpg",10,20,40,60,"van"'],
        ["filename,width,height,class,xmin,ymin,xmax,ymax", "a.jpg,640,480,van,10,20,40,60"],
        ["image_name,label_name,x1,y1,w,h", "a.jpg,van,10,20,30,40"],
        ["file;category;left;top;width;height", "a.jpg;van;10;20;30;40"],
        ["image_id\tlabel\tbbox_x\tbbox_y\tbbox_width\tbbox_height", "a\tvan\t10\t20\t30\t40"],
        ["\ufeffpath,left,top,right,bottom,class_name\r", "set/a.jpg,10,20,40,60,van\r"],
        ["a.jpg,10,20,40,60,van"],
        ["/data/x/a.jpg,10,20,40,60,van", "b.jpg,,,,,"],
        ["a.jpg,van,10,20,40,60"],
    ],
)
def test_tables_of_many_tools_say_the_same(lines):
    files = _files(*lines)

    assert udacity_files(Sniffer(files)) == ["labels.csv"]
    assert detect_formats(files) == ["udacity"]
    assert boxes(read_udacity(files)) == [("a.jpg", "van", 10, 20, 40, 60)]


@pytest.mark.parametrize(
    "lines",
    [
        ["path,drive,camera", "a.jpg,d1,front"],
        ["file_a,file_b", "a.jpg,b.jpg"],
        ["0 0.5 0.5 0.1 0.1"],
        ["a.jpg,0,1,1,1"],
        ["a.jpg,0,1,1,2,2"],
        ["1,1,912,484,97,109,0,7,1"],
        ["This set was made in May."],
        ["name,x,y,z", "a.jpg,1,2,3"],
        [""],
    ],
)
def test_other_tables_and_texts_are_not_taken_for_labels(lines):
    for path in ("labels.csv", "labels.txt"):
        assert udacity_files(Sniffer(_files(*lines, path=path))) == []


def test_columns_of_udacity_are_flags_and_the_colour_of_a_lamp():
    labels = _read('a.jpg 10 20 40 60 1 "trafficLight" "Red"', 'b.jpg 10 20 40 60 0 "car"')

    assert _attributes(labels) == [{"attribute": "Red", "occluded": True}, {"occluded": False}]


def test_what_other_columns_say_is_kept_under_their_names():
    header = "filename,width,height,class,xmin,ymin,xmax,ymax,Occluded,track_id,Weather,score"
    labels = _read(header, "a.jpg,640,480,van,10,20,40,60,2,t7,rain,0.5")

    assert _attributes(labels) == [{"Weather": "rain", "occluded": 2.0, "track_id": "t7"}]
    assert labels.boxes["score"].to_pylist() == [0.5]
    assert (labels.images["width"].to_pylist(), labels.images["height"].to_pylist()) == ([640], [480])
    assert looked_for(labels) == {}


def test_the_header_of_udacitys_first_set_that_names_the_corners_wrongly_is_seen_through():
    labels = _read("xmin,xmax,ymin,ymax,Frame,Label", "785,533,905,644,a.jpg,Car", "89,551,291,680,b.jpg,Car")

    assert boxes(labels)[0] == ("a.jpg", "Car", 785, 533, 905, 644)
    assert "deny" in labels.notes[0]


def test_a_header_with_both_x_first_that_says_the_truth_is_believed():
    labels = _read("xmin,xmax,ymin,ymax,Frame,Label", "10,40,20,60,a.jpg,Car")

    assert boxes(labels) == [("a.jpg", "Car", 10, 20, 40, 60)]


def test_numbers_of_which_none_is_above_one_are_shares():
    labels = _read("image,xmin,ymin,xmax,ymax,label", "a.jpg,0.1,0.2,0.5,1,van")

    assert labels.boxes["normalised"].to_pylist() == [True]
    assert "shares" in labels.notes[0]


@pytest.mark.parametrize(("last", "is_shares"), [("1.02", True), ("1.03", False)])
def test_shares_may_be_above_one_by_rounding(last, is_shares):
    labels = _read("image,xmin,ymin,xmax,ymax,label", f"a.jpg,0.1,-0.01,0.5,{last},van")

    assert labels.boxes["normalised"].to_pylist() == [is_shares]


def test_small_whole_numbers_are_pixels():
    assert _read("image,xmin,ymin,xmax,ymax,label", "a.jpg,0,0,1,1,van").boxes["normalised"].to_pylist() == [False]


def test_a_line_with_a_picture_only_is_labeled_and_empty_and_no_line_is_unlabeled():
    labels = _read("a.jpg,,,,,", "b.jpg,10,20,40,60,van", names=("a.jpg", "b.jpg", "c.jpg"))

    assert looked_for(labels) == {"a.jpg": ("van",), "b.jpg": ("van",)}
    assert labels.notes == ("1 pictures are in no label file and stay unlabeled: c.jpg.",)


def test_all_classes_of_all_tables_were_looked_for():
    files = _files("a.jpg,10,20,40,60,van", path="train.csv")
    files.files["valid.csv"] = "b.jpg,10,20,40,60,tram\nb.jpg,1,2,4,6,DontCare"
    labels = read_udacity(files)

    assert set(looked_for(labels).values()) == {("tram", "van")}
    assert dict(zip(labels.boxes["class_name"].to_pylist(), labels.boxes["ignore"].to_pylist(), strict=True)) == {
        "DontCare": True,
        "tram": False,
        "van": False,
    }
    assert set(labels.images["source_split"].to_pylist()) == {"train", "valid"}


def test_pictures_named_by_their_time_have_that_time():
    name = "1478019952686311006.jpg"
    image = _read(f'{name} 10 20 40 60 0 "car"', names=(name,)).images.to_pylist()[0]

    assert (image["captured_ns"], image["clock"]) == (1478019952686311006, "utc")


def test_names_with_separators_quotes_and_newlines_survive():
    names = ("a,b.jpg", 'say "x".jpg', "two\nlines.jpg")
    rows = ['"a,b.jpg",10,20,40,60,van', '"say ""x"".jpg",10,20,40,60,van', '"two\nlines.jpg",10,20,40,60,van']
    labels = _read("image,xmin,ymin,xmax,ymax,label", *rows, names=names)

    assert [row[0] for row in boxes(labels)] == sorted(names)
    assert labels.problems == ()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a.jpg,10,20,10,60,van,1", "label_bad_box"),
        ("a.jpg,10,20,nan,60,van,1", "label_bad_box"),
        ("a.jpg,10,20", "label_bad_box"),
        ("a.jpg,10,20,40,60,,1", "label_no_class"),
        ("a.jpg,10,20,40,60,van,87", "label_bad_score"),
        ("gone.jpg,10,20,40,60,van,1", "label_missing_picture"),
    ],
)
def test_a_line_of_no_use_is_named_and_is_no_example_of_nothing_to_see(row, reason):
    labels = _read("image,xmin,ymin,xmax,ymax,label,score", "b.jpg,10,20,40,60,van,", row)

    assert problems(labels) == [("labels.csv", 3, reason)]
    assert labels.boxes_read == 2
    assert list(looked_for(labels)) == ["b.jpg"]


def test_one_column_for_the_whole_box_is_not_guessed_at():
    labels = _read("image_name,label_name,bbox", 'a.jpg,van,"[0, 1, 1, 2]"')

    assert problems(labels) == [("labels.csv", None, "label_syntax")]
    assert labels.boxes_read == 1


@pytest.mark.parametrize(
    "text", [b"", b"\x00", b"\xff\xfe,,", b'image,xmin,ymin,xmax,ymax,label\n"', b"a.jpg,1,2,3,4,van\nx"]
)
def test_no_content_makes_the_reader_raise(text):
    read_udacity(InMemory({"l.csv": text, **pictures("a.jpg")}), "l.csv")


def test_a_cell_too_long_for_any_table_ends_the_reading_without_an_error():
    table = "image,xmin,ymin,xmax,ymax,label\n" + "x" * 200_000

    assert layout_of(lambda: io.StringIO(table)) is not None


def test_the_truth_comes_back_in_whole_pixels():
    home = shared_data("fmt_same_truth")
    files = OnDisk(home / "udacity_csv")
    labels = read_udacity(files)

    truth = json.loads((home / "truth.json").read_text())["images"]
    assert_same_boxes(found_rows(labels), truth_rows(truth), within_px=0.5)
    assert len(looked_for(labels)) == 12
    assert labels.problems == ()
    assert labels.notes == ("1 pictures are in no label file and stay unlabeled: empty_night_000050.jpg.",)
    assert detect_formats(files) == ["udacity"]


def test_the_tables_of_vott_have_the_boxes_of_their_lines():
    home = shared_data("fmt_datumaro") / "vott_csv_dataset"
    labels = read_udacity(OnDisk(home))

    assert labels.boxes.num_rows == count_in(home, "**/*.csv", rb'(?m)^"img') == 5
    assert boxes(labels)[1] == ("dataset/img0002.jpg", "person", 11.5, 12, 21.7, 32.5)
    assert dict(zip(labels.images["path"].to_pylist(), labels.images["source_split"].to_pylist(), strict=True)) == {
        "dataset/img0001.jpg": "test",
        "dataset/img0002.jpg": "test",
        "dataset/img0003.jpg": "train",
        "dataset/img0004.jpg": "train",
    }


@pytest.mark.parametrize("name", ["image_csv_det/ann.csv", "image_csv_det/ann2.csv", "image_txt_det/ann.txt"])
def test_the_tables_of_kaggle_have_the_boxes_of_their_lines(name):
    folder, _, table = name.partition("/")
    home = shared_data("fmt_datumaro") / "kaggle_dataset" / folder
    labels = read_udacity(OnDisk(home, table, "images/*"))

    assert labels.boxes.num_rows == count_in(home, table, rb"(?m)^\d\.jpg")
    assert boxes(labels)[:3] == [
        ("images/1.jpg", "cat", 1, 2, 3, 3),
        ("images/1.jpg", "dog", 0, 1, 1, 2),
        ("images/2.jpg", "cat", 0, 0, 1, 1),
    ]


@pytest.mark.parametrize(("code", "taken_for"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16")])
def test_tables_as_windows_writes_them_keep_their_letters_and_what_they_were_taken_for_is_told(code, taken_for):
    table = "filename;class;xmin;ymin;xmax;ymax\r\na.jpg;Fußgänger;10;20;40;60\r\n"
    batch = InMemory({"labels.csv": table.encode(code), **pictures("a.jpg")})

    labels = read_udacity(batch)

    assert detect_formats(batch) == ["udacity"]
    assert boxes(labels) == [("a.jpg", "Fußgänger", 10, 20, 40, 60)]
    assert labels.notes == (f"labels.csv is no UTF-8 text and is read as {taken_for}.",)
