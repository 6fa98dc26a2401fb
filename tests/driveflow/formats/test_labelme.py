import json

import pytest

from driveflow.formats.detect import detect_format, detect_formats
from driveflow.formats.labelme import labelme_files, read_labelme
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data

BOX = ((10, 20), (30, 40))
BY_CORNERS = ("oriented_rectangle", "quadrilateral", "cuboid")


def shape(points=BOX, kind="rectangle", label="car", **more):
    return {"label": label, "points": points, "shape_type": kind, "group_id": None, "flags": {}, **more}


def labelme(*shapes, path="a.jpg", **more):
    size = {"imagePath": path, "imageData": None, "imageHeight": 80, "imageWidth": 100}
    return json.dumps({"version": "5.4.1", "flags": {}, "shapes": shapes, **size, **more})


def old(*objects, filename="a.jpg", folder=""):
    head = f"<annotation><filename>{filename}</filename><folder>{folder}</folder>"
    return head + "<imagesize><nrows>80</nrows><ncols>100</ncols></imagesize>\n" + "\n".join(objects) + "</annotation>"


def thing(name="car", inside="", drawn=""):
    points = "".join(f"<pt><x>{x}</x><y>{y}</y></pt>" for x, y in ((10, 20), (30, 25), (15, 40)))
    drawn = drawn or f"<polygon><username>ann</username>{points}</polygon>"
    return f"<object><name>{name}</name>{inside}{drawn}</object>"


def read(content, *names, path="a.json"):
    return read_labelme(InMemory(pictures(*(names or ("a.jpg",))) | {path: content}))


def attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


@pytest.mark.parametrize("points", [BOX, BOX[::-1], ((30, 20), (10, 40)), ((10, 20), (30, 20), (30, 40), (10, 40))])
def test_a_rectangle_may_be_drawn_from_any_corner(points):
    assert boxes(read(labelme(shape(points)))) == [("a.jpg", "car", 10, 20, 30, 40)]


@pytest.mark.parametrize(
    ("drawn", "corners"),
    [
        (shape(((10, 20), (30, 25), (15, 40)), "polygon"), (10, 20, 30, 40)),
        (shape(((10, 20), (30, 25), (15, 40)), None) | {"shape_type": None}, (10, 20, 30, 40)),
        (shape(((20, 30), (23, 34)), "circle"), (15, 25, 25, 35)),
        (shape(BOX, "mask"), (10, 20, 31, 41)),
        *((shape(((20, 20), (30, 30), (20, 40), (10, 30)), kind), (10, 20, 30, 40)) for kind in BY_CORNERS),
    ],
)
def test_other_shapes_become_the_box_around_them(drawn, corners):
    labels = read(labelme(drawn))

    assert boxes(labels) == [("a.jpg", "car", *corners)]
    assert attributes(labels) == [{"shape": drawn["shape_type"] or "polygon"}]


def test_a_turned_box_keeps_its_turn():
    turned = shape(((18, 12), (22, 12), (22, 32), (18, 32)), "rotation", direction=1.5707963267948966)

    assert attributes(read(labelme(turned))) == [{"shape": "rotation", "rotation_deg": 90.0}]


@pytest.mark.parametrize("kind", ["point", "line", "linestrip"])
def test_lines_and_points_are_no_boxes_and_are_counted(kind):
    labels = read(labelme(shape(kind=kind)))

    assert labels.boxes_read == 0
    assert len(looked_for(labels)) == 1
    assert f"1 {kind}" in labels.notes[0]


def test_flags_groups_and_descriptions_are_kept():
    said = shape(
        flags={"parked": True}, group_id=4, description="by the kerb", difficult=True, attributes={"hue": "red"}
    )

    assert attributes(read(labelme(said))) == [
        {"parked": True, "group_id": 4, "description": "by the kerb", "difficult": True, "hue": "red"}
    ]


def test_flags_of_the_file_are_attributes_of_the_frame():
    labels = read(labelme(flags={"night": True, "rain": False}))

    assert json.loads(labels.images["attributes"][0].as_py()) == {"night": True, "rain": False}


def test_only_a_shape_with_a_score_is_a_prediction():
    assert read(labelme(shape(), shape(score=0.5), shape(score=None))).boxes["score"].to_pylist() == [None, 0.5, None]


@pytest.mark.parametrize("score", [-0.1, 1.01, 55.0])
def test_a_score_beyond_0_to_1_costs_its_shape_and_is_named(score):
    labels = read(labelme(shape(), shape(score=score)))

    assert labels.boxes["score"].to_pylist() == [None]
    assert [problem.reason for problem in labels.problems] == ["label_bad_score"]


def test_of_very_many_wrong_shapes_some_are_listed_and_all_are_counted():
    labels = read(labelme(*[shape(score=2.0)] * 10_005))

    assert len(labels.problems) == 10_001
    assert sum(problem.boxes for problem in labels.problems) == 10_005


def test_a_file_without_shapes_is_labeled_and_empty():
    files = pictures("a.jpg", "b.jpg", "c.jpg") | {"a.json": labelme(shape()), "b.json": labelme(path="b.jpg")}

    assert looked_for(read_labelme(InMemory(files))) == {"a.jpg": ("car",), "b.jpg": ("car",)}


@pytest.mark.parametrize(
    "said", ["a.jpg", "..\\images\\a.jpg", "../images/a.jpg", "C:\\Users\\me\\a.jpg", "", "gone.jpg", None]
)
def test_the_picture_is_found_by_path_or_by_the_name_of_the_file(said):
    labels = read(labelme(shape(), path=said), "images/a.jpg", path="labels/a.json")

    assert [row[0] for row in boxes(labels)] == ["images/a.jpg"]


def test_the_picture_inside_the_file_is_neither_decoded_nor_kept():
    labels = read(labelme(shape(), imageData="!no base64!" * 1000))

    assert boxes(labels) == [("a.jpg", "car", 10, 20, 30, 40)]
    assert labels.images.nbytes + labels.boxes.nbytes < 2000


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (shape(((1, 1), (1, 5))), "label_bad_box"),
        (shape(((1, 1),)), "label_bad_box"),
        (shape(label=" "), "label_syntax"),
        (shape(kind="spiral"), "label_syntax"),
        ({"label": "car"}, "label_syntax"),
        (shape("abc"), "label_syntax"),
        ("text", "label_syntax"),
    ],
)
def test_a_bad_shape_costs_itself(bad, reason):
    labels = read(labelme(shape(), bad))

    assert len(boxes(labels)) == 1
    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [(reason, 1)]


def test_a_file_of_bad_shapes_only_is_no_empty_picture():
    assert looked_for(read(labelme(shape(((1, 1), (1, 1)))))) == {}


@pytest.mark.parametrize(
    "broken", [labelme(shape(), shape())[:-5], labelme(shape(), shape(label="L")).replace("L", "\\ud800")]
)
def test_a_broken_file_is_named_with_its_boxes(broken):
    labels = read(broken)

    assert problems(labels) == [("a.json", None, "label_syntax")]
    assert labels.boxes_read == 2


def test_a_missing_picture_is_a_problem_with_its_boxes():
    labels = read(labelme(shape(), path="z.jpg"), "b.jpg", path="z.json")

    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 1)]


def test_polygons_of_the_old_tool_are_boxes_with_who_drew_them():
    inside = "<occluded>yes</occluded><verified>1</verified><attributes>a, b=2</attributes><id>5</id>"
    labels = read(old(thing(inside=inside)), path="a.xml")

    assert boxes(labels) == [("a.jpg", "car", 10, 20, 30, 40)]
    assert attributes(labels) == [{"shape": "polygon", "occluded": True, "verified": True, "attributes": "a, b=2"}]
    assert labels.boxes["annotator"].to_pylist() == ["ann"]
    assert labels.boxes["own_id"].to_pylist() == ["5"]


def test_deleted_objects_of_the_old_tool_are_gone():
    labels = read(old(thing(inside="<deleted>1</deleted>"), thing("bus", "<deleted>0</deleted>")), path="a.xml")

    assert [row[1] for row in boxes(labels)] == ["bus"]
    assert labels.boxes_read == 1


def test_the_folder_of_the_old_tool_leads_to_the_picture():
    labels = read(old(thing(), filename="1.png", folder="night"), "Images/night/1.png", path="Annotations/night/z.xml")

    assert [row[0] for row in boxes(labels)] == ["Images/night/1.png"]


def test_a_bad_object_of_the_old_tool_costs_itself_and_is_named_by_line():
    labels = read(old(thing(), thing(""), thing(drawn="<polygon/>")), path="a.xml")

    assert problems(labels) == [("a.xml", 3, "label_syntax"), ("a.xml", 4, "label_bad_box")]
    assert labels.boxes_read == 3


@pytest.mark.parametrize(
    ("name", "content", "is_labelme"),
    [
        ("a.json", labelme(), True),
        ("a.json", '{"shapes": []}', False),
        ("a.json", '{"images": [], "annotations": []}', False),
        ("a.xml", old(), True),
        ("a.xml", "<annotation><filename>a</filename><object><bndbox/><polygon/></object></annotation>", False),
    ],
)
def test_files_are_told_by_content(name, content, is_labelme):
    assert bool(labelme_files(Sniffer(InMemory({name: content})))) == is_labelme


def test_the_truth_comes_back_exactly_as_labelme_keeps_its_decimals():
    home = shared_data("fmt_same_truth")
    labels = read_labelme(OnDisk(home / "labelme"))

    truth = json.loads((home / "truth.json").read_text())
    assert_same_boxes(found_rows(labels), truth_rows(truth["images"]), within_px=1e-6)
    assert len(looked_for(labels)) == 13
    assert labels.problems == ()


def test_the_fixture_of_the_old_tool_has_the_objects_of_its_file():
    home = shared_data("fmt_datumaro") / "labelme_dataset"
    labels = read_labelme(OnDisk(home))

    assert labels.boxes.num_rows == count_in(home, "**/*.xml", rb"<object>") == 7
    assert ("Images/subset1/img1.png", "b1", 13, 19, 23, 30) in boxes(labels)
    assert ("Images/subset1/img1.png", "license plate", 58, 66, 62, 68) in boxes(labels)
    assert [entry.get("part_of") for entry in attributes(labels)] == [None, None, None, "2", "2", None, "5"]


@pytest.mark.parametrize("name", ["fmt_same_truth/labelme", "fmt_datumaro/labelme_dataset"])
def test_labelme_sets_are_found_as_labelme(name):
    assert detect_formats(OnDisk(shared_data(name))) == ["labelme"]


def test_pascal_files_with_polygons_are_not_labelme():
    text = "<annotation><object><name>a</name><bndbox/><polygon><x1>3</x1></polygon></object></annotation>"

    assert detect_format(InMemory({"a.xml": text})) == "voc"
