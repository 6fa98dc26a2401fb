"""An ONNX model beside its declaration is an embedder, or is refused with the reason."""

import json
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pytest

from driveflow.embeddings.catalog import load_embedder
from driveflow.errors import BrokenDataError, IntegrityError, NotFoundError, UsageError
from tests.driveflow.embeddings.made import CHANNELS, model, picture, write


def test_a_model_gives_a_row_of_length_1_for_each_picture(tmp_path):
    embedder = load_embedder(write(tmp_path))

    vectors = embedder.embed([picture(0), picture(1)])

    assert (vectors.shape, vectors.dtype, embedder.dimensions) == ((2, CHANNELS), np.float32, CHANNELS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


def test_a_vector_does_not_depend_on_the_pictures_beside_it(tmp_path):
    embedder = load_embedder(write(tmp_path))
    pictures = [picture(seed) for seed in range(5)]

    together = embedder.embed(pictures)

    assert np.array_equal(together, np.concatenate([embedder.embed([one]) for one in pictures]))


def test_of_no_pictures_there_are_no_rows(tmp_path):
    assert load_embedder(write(tmp_path)).embed([]).shape == (0, CHANNELS)


def test_the_digest_changes_with_what_goes_in(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    assert load_embedder(write(one)).digest != load_embedder(write(other, std=[65, 64, 64])).digest


def test_a_broken_picture_is_told_as_one(tmp_path):
    with pytest.raises(BrokenDataError):
        load_embedder(write(tmp_path)).embed([b"no picture"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64}, "declared is 000"),
        ({"input": "image"}, "declared is 'image' of float"),
        ({"output": "features"}, "gives .*'vector'.*declared is 'features'"),
        ({"mean": [1, 2]}, "declares no embedding: mean"),
        ({"std": [0, 1, 1]}, "std over 0"),
        ({"layout": "CHW"}, "layout"),
        ({"command": "rm"}, "command"),
    ],
)
def test_a_model_that_is_not_what_it_declares_is_refused(tmp_path, changes, message):
    with pytest.raises(IntegrityError, match=message):
        load_embedder(write(tmp_path, **changes))


@pytest.mark.parametrize("changes", [{"dimensions": 6}, {"layout": "NHWC"}, {"width": 32}])
def test_an_answer_other_than_declared_is_refused(tmp_path, changes):
    embedder = load_embedder(write(tmp_path, **changes))

    with pytest.raises(IntegrityError, match=r"small\.onnx"):
        embedder.embed([picture()])


@pytest.mark.parametrize("data", [b"", b"\x80\x04cos\nsystem\n.", b"no model", model()[:-40]])
def test_bytes_that_are_no_model_are_refused(tmp_path, data):
    with pytest.raises(IntegrityError):
        load_embedder(write(tmp_path, data))


def test_a_model_without_a_declaration_is_refused(tmp_path):
    uri = write(tmp_path)
    Path(f"{unquote(urlparse(uri).path)}.json").unlink()

    with pytest.raises(NotFoundError, match=r"small\.onnx\.json"):
        load_embedder(uri)


def test_a_declaration_that_is_no_json_is_refused(tmp_path):
    uri = write(tmp_path)
    (tmp_path / "small.onnx.json").write_text("{" + json.dumps("x"))

    with pytest.raises(IntegrityError, match="is no JSON"):
        load_embedder(uri)


@pytest.mark.parametrize("uri", ["", "resnet", "https://a/b.onnx", "file:///a/model.pt", "builtin://other"])
def test_an_address_of_no_known_kind_is_refused(uri):
    with pytest.raises(UsageError, match="builtin://efficientnet-lite0"):
        load_embedder(uri)
