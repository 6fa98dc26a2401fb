import json
from typing import get_args

import pytest

from driveflow.flow.sections import LabelFormatName
from driveflow.formats.catalog import FORMATS
from driveflow.formats.detect import detect_format
from tests.driveflow.formats.in_memory import InMemory

COCO = json.dumps({"images": [], "annotations": [], "categories": []})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"data.yaml": "names: [car]\ntrain: images"}, "yolo"),
        ({"deep/any.yml": "names: {0: car}\nval: images"}, "yolo"),
        ({"settings.yaml": "names: [me]"}, "folder"),
        ({"broken.yaml": "names: ["}, "folder"),
        ({"obj.data": "names = obj.names", "obj.names": "car"}, "yolo"),
        ({"classes.txt": "car", "a.txt": "", "a.jpg": ""}, "yolo"),
        ({"classes.txt": "car", "a.jpg": ""}, "folder"),
        ({"x/anything.json": COCO}, "coco"),
        ({"cut.json": '{"images": [{"id": 1}], "annotations": ['}, "coco"),
        ({"other.json": '{"frames": []}', "list.json": "[]", "a.jpg": ""}, "folder"),
        ({"images.json": '{"images": []}'}, "folder"),
        ({"data.yaml": "names: [car]\ntrain: .", "l.json": COCO}, "yolo"),
        ({"a.jpg": ""}, "folder"),
    ],
)
def test_the_format_is_told_by_content(files, expected):
    assert detect_format(InMemory(files)) == expected


def test_every_format_that_is_told_by_content_can_be_stated():
    assert {*FORMATS} - {"bare_yolo"} == {*get_args(LabelFormatName)} - {"auto"}
