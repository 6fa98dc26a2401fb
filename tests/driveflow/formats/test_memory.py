"""Large label files, valid or junk, are read without holding them in memory as a whole."""

import tracemalloc

import pytest

from driveflow.formats import box_cap, label_collector, label_set, voc, xml_tree
from driveflow.formats.catalog import FORMATS
from driveflow.formats.xml_tree import XmlError, iter_xml, read_xml
from tests.driveflow.formats.in_memory import InMemory, looked_for, problems

VOC = "<annotation><filename>a.jpg</filename>"
OBJECT = "<object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
KITTI = "Car 0.00 0 -10 1.00 2.00 30.00 40.00 -1 -1 -1 -1000 -1000 -1000 -10\n"


@pytest.fixture
def small_steps(monkeypatch):
    """Let what is read at once be little, so that a small file is a large one."""
    monkeypatch.setattr(label_set, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(label_collector, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(label_set, "_LISTED", 10)
    monkeypatch.setattr(xml_tree, "_CHUNK_BYTES", 2048)


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
    "dota": ("dota", "a.jpg", "a.txt", "", "1 1 9 1 9 9 1 9 car 0\n"),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.usefixtures("small_steps")
def test_reading_takes_a_few_times_the_memory_of_the_file_and_no_more(name):
    kind, picture, path, head, unit = LARGE[name]
    tail = "</annotation>" if kind == "voc" else ""
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
