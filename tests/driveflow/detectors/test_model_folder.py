"""A model is its files: written whole, refused when anything differs."""

import io
import json
import pickle
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.canonical import canonical_json
from driveflow.detectors.declaration import ModelDeclaration
from driveflow.detectors.model_folder import MAX_MANIFEST_BYTES, open_model, write_model
from driveflow.errors import IntegrityError, InvalidInputError, NotFoundError
from driveflow.storage.objects import local_path
from tests.driveflow.detectors.made import bright_spot_folder, bright_spot_model, heatmap_declaration

COMMAND = ModelDeclaration(kind="command", classes=("car",), command=("predict",))


@pytest.fixture
def store(tmp_path):
    return (tmp_path / "store").as_uri()


def _folder(model) -> Path:
    return local_path(model.uri)


def test_a_written_model_is_read_back_as_it_was(store):
    model = write_model(store, heatmap_declaration(), {"model.onnx": bright_spot_model(), "notes/a.txt": b"x"})

    again = open_model(model.uri)

    assert again == model
    assert again.read("notes/a.txt") == b"x"
    assert model.uri == f"{store}/models/{model.digest}"


def test_writing_a_model_twice_leaves_one(store):
    first = bright_spot_folder(store)
    before = {path: path.stat().st_mtime_ns for path in _folder(first).glob("model.onnx")}

    second = bright_spot_folder(store)

    assert second == first
    assert {path: path.stat().st_mtime_ns for path in _folder(first).glob("model.onnx")} == before


def test_the_digest_does_not_depend_on_the_place(store, tmp_path):
    assert bright_spot_folder(store).digest == bright_spot_folder((tmp_path / "other").as_uri()).digest


@pytest.mark.parametrize("change", [{"classes": ("bus",)}, {"nms_iou": 0.5}])
def test_the_digest_names_the_declaration_too(store, change):
    changed = write_model(store, heatmap_declaration(**change), {"model.onnx": bright_spot_model()})

    assert changed.digest != bright_spot_folder(store).digest


def test_writing_again_mends_a_damaged_file(store):
    model = bright_spot_folder(store)
    (_folder(model) / "model.onnx").write_bytes(b"damaged")

    bright_spot_folder(store).verify()


def test_one_changed_byte_is_found(store):
    model = bright_spot_folder(store)
    path = _folder(model) / "model.onnx"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(IntegrityError, match="digest differs"):
        model.verify()


def test_a_missing_file_is_named(store):
    model = bright_spot_folder(store)
    (_folder(model) / "model.onnx").unlink()

    with pytest.raises(NotFoundError, match=r"model\.onnx is gone"):
        model.verify()


def test_a_folder_without_a_manifest_is_no_model(store):
    model = bright_spot_folder(store)
    (_folder(model) / "model.json").unlink()

    with pytest.raises(NotFoundError, match="There is no model at"):
        open_model(model.uri)


def _with_manifest(model, **changes):
    path = _folder(model) / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return model.uri


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "a/../../b", "model.json", "a//b", ".hidden", "C:\\x", "a\0b", "", "x" * 400]
)
def test_a_manifest_that_lists_a_file_outside_its_folder_is_refused(store, name):
    uri = _with_manifest(bright_spot_folder(store), files={name: {"sha256": "0" * 64, "bytes": 1}})

    with pytest.raises(IntegrityError, match="no plain path"):
        open_model(uri)


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"sha256": "0" * 63, "bytes": 1}, "no sha256"),
        ({"sha256": "0" * 64, "bytes": -1}, "has -1 bytes"),
        ({"sha256": "0" * 64, "bytes": 2**40}, "bytes; 0 to"),
        ({"sha256": "0" * 64, "bytes": True}, "has True bytes"),
        (7, "no sha256"),
    ],
)
def test_a_manifest_with_an_odd_entry_is_refused(store, entry, match):
    uri = _with_manifest(bright_spot_folder(store), files={"model.onnx": entry})

    with pytest.raises(IntegrityError, match=match):
        open_model(uri)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"files": {}}, "must list 1 to"),
        ({"files": []}, "must list 1 to"),
        ({"format": 2}, "no manifest of format 1"),
        ({"classes": []}, "declares no model: classes"),
        ({"classes": ["car", "car"]}, "each named once"),
        ({"surprise": 1}, "declares no model: surprise"),
        ({"command": ["rm", "-rf"]}, "and no command"),
        ({"head": None}, "needs input and head"),
        ({"head": {"kind": "heatmap", "scores": "scores", "sides": "sides", "stride": 0}}, "declares no model: head"),
        ({"input": {"name": "pictures", "width": 10**9, "height": 32}}, "declares no model: input"),
        ({"classes": [float("nan")]}, "."),
    ],
)
def test_a_manifest_that_declares_nonsense_is_refused(store, changes, match):
    uri = _with_manifest(bright_spot_folder(store), **changes)

    with pytest.raises(IntegrityError, match=match):
        open_model(uri)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null", '"x"'])
def test_a_manifest_that_is_no_json_object_is_refused(store, text):
    model = bright_spot_folder(store)
    (_folder(model) / "model.json").write_text(text)

    with pytest.raises(IntegrityError, match=r"model\.json is no"):
        open_model(model.uri)


def test_a_huge_manifest_is_not_read(store):
    model = bright_spot_folder(store)
    with (_folder(model) / "model.json").open("r+b") as file:
        file.truncate(MAX_MANIFEST_BYTES + 1)

    with pytest.raises(IntegrityError, match="a manifest has"):
        open_model(model.uri)


def test_a_file_that_grew_is_refused_before_it_is_read(store):
    model = bright_spot_folder(store)
    with (_folder(model) / "model.onnx").open("r+b") as file:
        file.truncate(1 << 40)  # sparse: reading it would take all memory

    with pytest.raises(IntegrityError, match="the manifest says"):
        model.verify()


def test_a_folder_under_another_digest_is_refused(store):
    model = bright_spot_folder(store)
    other = _folder(model).with_name("0" * 64)
    _folder(model).rename(other)

    with pytest.raises(IntegrityError, match="named otherwise"):
        open_model(other.as_uri())


def _zipped_pickle() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"weights": 1}))
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [("weights.pt", b"x"), ("weights.bin", pickle.dumps([1])), ("weights.zip", _zipped_pickle()), ("W.PKL", b"x")],
)
def test_a_pickle_never_becomes_part_of_a_model(store, name, data):
    with pytest.raises(InvalidInputError, match="is a pickle"):
        write_model(store, COMMAND, {name: data})


@pytest.mark.parametrize("name", ["../x", "/x", "model.json", "a b", ""])
def test_a_file_with_an_odd_name_is_not_written(store, name):
    with pytest.raises(InvalidInputError, match="plain relative path"):
        write_model(store, COMMAND, {name: b"x"})


def test_a_model_of_kind_onnx_has_an_onnx_file(store):
    with pytest.raises(InvalidInputError, match=r"has a file model\.onnx"):
        write_model(store, heatmap_declaration(), {"other": b"x"})


@given(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=8) | st.lists(st.integers())))
def test_any_json_in_place_of_a_manifest_is_refused_by_name(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.json").write_text(canonical_json(value))

    with pytest.raises(IntegrityError, match="model"):
        open_model(folder.as_uri())
