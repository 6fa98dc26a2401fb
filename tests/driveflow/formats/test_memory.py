"""Large label files, valid or junk, are read without holding them in memory as a whole."""

import json
import tracemalloc

import pytest

from driveflow.formats import (
    box_cap,
    csv_table,
    cvat,
    json_items,
    json_text,
    label_collector,
    label_set,
    labelme_records,
    nuscenes_tables,
    sniff,
    voc,
    xml_tree,
)
from driveflow.formats.catalog import FORMATS
from driveflow.formats.csv_table import CsvTableError, read_tables
from driveflow.formats.json_items import JsonItems, is_balanced
from driveflow.formats.json_text import JsonTextError, strict_json, value_of
from driveflow.formats.xml_tree import XmlError, iter_xml, read_xml
from tests.driveflow.formats.in_memory import InMemory, looked_for, problems

VOC = "<annotation><filename>a.jpg</filename>"
OBJECT = "<object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
KITTI = "Car 0.00 0 -10 1.00 2.00 30.00 40.00 -1 -1 -1 -1000 -1000 -1000 -10\n"
SAMPLE_DATA = '{"token":"t","sample_token":"s","calibrated_sensor_token":"c","filename":"a.jpg","timestamp":1}'
OPEN_IMAGES = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax\n"


@pytest.fixture
def small_steps(monkeypatch):
    """Let what is read at once be little, so that a small file is a large one."""
    monkeypatch.setattr(label_set, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(label_collector, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(label_set, "_LISTED", 10)
    monkeypatch.setattr(xml_tree, "_CHUNK_BYTES", 2048)
    monkeypatch.setattr(csv_table, "_PIECE_BYTES", 1024)
    monkeypatch.setattr(json_items, "_CHUNK_BYTES", 2048)
    for module in (nuscenes_tables, sniff):
        monkeypatch.setattr(module, "_LARGE_BYTES", 10_000)


def _peak(kind, files):
    """Return the most memory that reading takes beside the files themselves."""
    batch = InMemory(files)
    tracemalloc.start()
    try:
        FORMATS[kind].read(batch, "")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LARGE = {
    "voc junk": ("voc", "a.jpg", "a.xml", VOC, "<a/>"),
    "voc objects": ("voc", "a.jpg", "a.xml", VOC, "<object><name>car</name></object>"),
    "kitti": ("kitti", "image_2/a.jpg", "label_2/a.txt", "", KITTI),
    "kitti junk": ("kitti", "image_2/a.jpg", "label_2/a.txt", KITTI, "x\n"),
    "kitti tracking": ("kitti_tracking", "image_02/0/0.jpg", "label_02/0.txt", "", "0 1 " + KITTI),
    "yolo": ("yolo", "images/a.jpg", "labels/a.txt", "", "0 .5 .5 .1 .1\n"),
    "yolo junk": ("yolo", "images/a.jpg", "labels/a.txt", "", "x\n"),
    "yolo orphan": ("yolo", "images/a.jpg", "labels/b.txt", "0 .5 .5 .1 .1\n", "x\n"),
    "mot": ("mot", "img1/1.jpg", "gt/gt.txt", "", "1,1,1,1,5,5,1,1,1\n"),
    "mot junk": ("mot", "img1/1.jpg", "gt/gt.txt", "1,1,1,1,5,5,1,1,1\n", "x\n"),
    "udacity": ("udacity", "a.jpg", "u.csv", "frame,xmin,ymin,xmax,ymax,class\n", "a.jpg,1,2,30,40,car\n"),
    "udacity junk": ("udacity", "a.jpg", "u.csv", "frame,xmin,ymin,xmax,ymax,class\n", "x\n"),
    "open images": ("open_images", "a.jpg", "o.csv", OPEN_IMAGES, "a,xclick,/m/1,1,.1,.2,.1,.2\n"),
    "open images junk": ("open_images", "a.jpg", "o.csv", OPEN_IMAGES, "a\n"),
    "label studio junk": ("label_studio", "a.jpg", "l.json", '[{"data":{},"annotations":[]}', ",{}"),
    "scalabel junk": ("scalabel", "a.jpg", "s.json", '[{"name":"a.jpg","frameIndex":0,"labels":[]}', ",{}"),
    "nuscenes junk": ("nuscenes", "a.jpg", "v/sample_data.json", f"[{SAMPLE_DATA}", ",{}"),
    "list of numbers": ("label_studio", "a.jpg", "l.json", "[1", ",1"),
    "dota": ("dota", "a.jpg", "a.txt", "", "1 1 9 1 9 9 1 9 car 0\n"),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.usefixtures("small_steps")
def test_reading_takes_a_few_times_the_memory_of_the_file_and_no_more(name):
    kind, picture, path, head, unit = LARGE[name]
    tail = "</annotation>" if kind == "voc" else "]" if path.endswith(".json") else ""
    content = (head + unit * (60_000 // len(unit)) + tail).encode()

    peak = _peak(kind, {picture: b"", "classes.txt": b"car\n", path: content})

    assert peak < 6 * len(content)


def test_a_picture_with_too_many_boxes_keeps_none_and_is_unlabeled(monkeypatch):
    monkeypatch.setattr(box_cap, "MOST_BOXES", 3)
    files = {"image_2/a.jpg": b"", "image_2/b.jpg": b"", "label_2/a.txt": KITTI * 4, "label_2/b.txt": KITTI * 3}

    labels = FORMATS["kitti"].read(InMemory(files), "")

    assert problems(labels) == [("label_2/a.txt", None, "label_too_many_boxes")]
    assert labels.problems[0].detail == "4 boxes of image_2/a.jpg; a picture has 3 at most"
    assert looked_for(labels) == {"image_2/b.jpg": ("Car",)}
    assert (labels.boxes.num_rows, labels.boxes_read) == (3, 7)


def test_a_voc_file_with_too_many_objects_is_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(voc, "MOST_BOXES", 3)
    labels = FORMATS["voc"].read(InMemory({"a.jpg": b"", "a.xml": VOC + OBJECT * 4 + "</annotation>"}), "")

    assert problems(labels) == [("a.xml", 1, "label_syntax")]
    assert labels.problems[0].detail == "more than 3 objects, which no picture has"
    assert labels.boxes_read == 4


@pytest.mark.parametrize(
    "content", ["<a/>" * 99, "<a>x</a>" * 60, "<a " + " ".join(f"b{n}=''" for n in range(99)) + "/>"]
)
def test_an_element_that_takes_too_much_memory_is_named_with_its_limit(monkeypatch, content):
    monkeypatch.setattr(xml_tree, "_MAX_HELD_BYTES", 8192)

    with pytest.raises(XmlError, match="<image> takes more than 0 MiB of memory"):
        list(iter_xml(f"<annotations><image>{content}</image></annotations>".encode()))
    with pytest.raises(XmlError, match="it takes more than 0 MiB of memory"):
        read_xml(f"<annotations>{content}</annotations>".encode())


def test_children_of_the_root_may_be_many(monkeypatch):
    monkeypatch.setattr(xml_tree, "_MAX_HELD_BYTES", 8192)

    assert len(list(iter_xml(b"<annotations>" + b"<image/>" * 999 + b"</annotations>"))) == 999


def test_a_tag_that_does_not_end_is_refused_before_it_is_in_memory(monkeypatch):
    monkeypatch.setattr(xml_tree, "_MAX_TAG_BYTES", 256 << 10)

    with pytest.raises(XmlError, match="a tag or comment is longer than"):
        list(iter_xml(b"<a><b c='" + b"x" * (600 << 10)))


@pytest.mark.parametrize("piece_bytes", [1, 30, 10_000])
def test_rows_are_the_same_however_many_are_read_at_a_time(monkeypatch, piece_bytes):
    monkeypatch.setattr(csv_table, "_PIECE_BYTES", piece_bytes)
    text = '\ufeffImageID, B \na,1\n"b\nb","2"\n\nc,\n,5\nd,6,7'

    rows = [row for table in read_tables(text.encode()) for row in table.iter_rows()]

    assert rows[:2] == [(2, "a", "1"), (3, "b\nb", "2")]
    assert rows[-1][1:] == ("d", "6")


def test_a_row_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(csv_table, "_MAX_ROW_BYTES", 100)
    monkeypatch.setattr(csv_table, "_PIECE_BYTES", 10)

    with pytest.raises(CsvTableError, match="a row is longer than 0 MiB"):
        list(read_tables(b"a,b\n1,2\n" + b"x," * 200))


def test_a_box_of_open_images_counts_for_one_listing_wherever_its_row_stands(monkeypatch):
    monkeypatch.setattr(csv_table, "_PIECE_BYTES", 1)
    rows = "a,xclick,car,1,.1,.2,.1,.2\nz,xclick,car,1,.1,.2,.1,.2\na,xclick,bus,1,.3,.4,.1,.2\n"

    labels = FORMATS["open_images"].read(InMemory({"a.jpg": b"", "o.csv": OPEN_IMAGES + rows * 2}), "")

    assert labels.images["listing"].to_pylist() == [0]
    assert looked_for(labels) == {"a.jpg": ("bus", "car")}
    assert labels.boxes["line"].to_pylist() == [2, 4, 5, 7]
    assert [(found.boxes, found.detail) for found in labels.problems] == [
        (2, "1 pictures are no files of this batch: z")
    ]


NESTED = [{"a": [1, {"b,": '"]\\\\'}], "c}": None}, [], "x\\", 5, [[{}]], {'k"': "é"}]


@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("indent", [None, 1])
def test_items_are_those_that_a_decoder_finds(monkeypatch, chunk_bytes, indent):
    monkeypatch.setattr(json_items, "_CHUNK_BYTES", chunk_bytes)
    text = json.dumps(NESTED, indent=indent).encode()
    members = json.dumps({f'{number}"': value for number, value in enumerate(NESTED)}, indent=indent).encode()

    assert [json.loads(bytes(item)) for item in JsonItems(memoryview(text))] == NESTED
    assert [json.loads(bytes(value)) for _, value in JsonItems(memoryview(members)).members()] == NESTED
    assert is_balanced(text)
    assert not is_balanced(text[:-1])
    assert not is_balanced(text + b"]")


def test_json_that_takes_too_much_memory_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(json_text, "_SMALL_BYTES", 10)

    with pytest.raises(JsonTextError, match="it takes about 1 MiB of memory, 0 MiB are the most"):
        value_of(b"[" + b"{}," * 6000 + b"{}]", 1 << 19)
    assert value_of(b"[" + b"{}," * 6000 + b"{}]", 1 << 22) == [{}] * 6001


@pytest.mark.parametrize(("text", "line"), [(b"[\n{]", 2), (b'[\n1,\n{"token": ', 3)])
def test_a_large_file_that_is_no_json_is_named_with_its_line_too(monkeypatch, text, line):
    monkeypatch.setattr(json_text, "_LARGE_BYTES", 1)

    with pytest.raises(JsonTextError) as refused:
        strict_json(text)

    assert refused.value.line == line


def test_in_a_large_file_items_that_are_no_json_cost_themselves(monkeypatch):
    monkeypatch.setattr(json_text, "_LARGE_BYTES", 10)
    monkeypatch.setattr(sniff, "_LARGE_BYTES", 10)
    task = '{"data": {"image": "a.jpg"}, "annotations": [{"result": [], "score": NaN}]}'

    labels = FORMATS["label_studio"].read(InMemory({"a.jpg": b"", "l.json": f"[{task}, {{x}}, {task}]"}), "")

    assert labels.images["listing"].to_pylist() == [0, 1]
    assert problems(labels) == [("l.json", None, "label_syntax")]


def test_a_labelme_file_with_too_many_shapes_is_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(labelme_records, "MOST_BOXES", 2)
    shape = '{"label": "car", "points": [[1, 1], [5, 5]], "shape_type": "rectangle"}'
    content = f'{{"imagePath": "a.jpg", "shapes": [{shape}, {shape}, {shape}]}}'

    labels = FORMATS["labelme"].read(InMemory({"a.jpg": b"", "a.json": content}), "")

    assert labels.problems[0].detail == "more than 2 shapes, which no picture has"
    assert labels.boxes_read == 3


@pytest.mark.parametrize(
    ("kind", "path", "content"),
    [
        ("cvat", "c.xml", "<annotations><meta><task/></meta>" + '<image name="a.jpg"/>' * 4 + "</annotations>"),
        ("label_studio", "l.json", json.dumps([{"data": {"image": "a.jpg"}, "annotations": [{"result": []}]}] * 4)),
    ],
)
def test_a_picture_that_one_file_lists_very_often_counts_so_often_and_no_more(monkeypatch, kind, path, content):
    for module in (cvat, label_collector):
        monkeypatch.setattr(module, "MOST_LISTINGS", 2)

    labels = FORMATS[kind].read(InMemory({"a.jpg": b"", path: content}), "")

    assert labels.images["listing"].to_pylist() == [0, 1]
    assert [problem.reason for problem in labels.problems] == ["label_too_many_listings"] * 2
    assert labels.problems[0].detail == "a.jpg is listed more than 2 times"
