"""The built-in embedding works offline and tells near pictures from look-alikes."""

import csv
import pickle
from functools import cache

import numpy as np
import pytest

from driveflow.embeddings.catalog import BUILT_IN, load_embedder
from driveflow.embeddings.torch_file import read_tensors
from driveflow.errors import IntegrityError
from tests.shared_data import shared_data

SAME_DRIVE, ACROSS_DRIVES = 0.05, 0.02  # the default limits of near_duplicates
ROOM = 0.1  # up to which no look-alike is found


@cache
def _distances():
    folder = shared_data("dedup_derived")
    with (folder / "pairs.csv").open() as file:
        pairs = [(row["base"], row["variant"], row["relation"]) for row in csv.DictReader(file)]
    with (folder / "hard_pairs.csv").open() as file:
        pairs += [(row["a"], row["b"], "hard") for row in csv.DictReader(file)]
    names = sorted({name for pair in pairs for name in pair[:2]})
    rows = load_embedder(BUILT_IN).embed([(folder / "images" / name).read_bytes() for name in names])
    vector = dict(zip(names, rows.astype(np.float64), strict=True))
    found = {}
    for left, right, relation in pairs:
        found.setdefault(relation, []).append(1 - float(vector[left] @ vector[right]))
    return {relation: np.array(values) for relation, values in found.items()}


def test_equal_pictures_have_equal_vectors():
    assert max(_distances()["exact_bytes"].max(), _distances()["same_pixels"].max()) < 1e-3


@pytest.mark.parametrize("relation", ["hard", "mirrored"])
def test_no_look_alike_and_no_mirrored_picture_is_near_at_twice_the_limit(relation):
    assert _distances()[relation].min() > ROOM


def test_near_pictures_are_found_as_often_as_the_page_says():
    near = _distances()["near"]

    assert [round(float((near <= limit).mean()), 2) for limit in (ACROSS_DRIVES, SAME_DRIVE, 0.08, ROOM)] == [
        pytest.approx(share, abs=0.02) for share in (0.32, 0.63, 0.79, 0.85)
    ]


def test_the_model_is_the_same_wherever_it_is_built():
    embedder = load_embedder(BUILT_IN)

    assert (embedder.digest[:12], embedder.dimensions) == ("78e428582227", 640)


@pytest.mark.parametrize("data", [b"", b"PK", pickle.dumps(1), pickle.dumps(print)])
def test_a_file_that_holds_no_tensors_is_refused(data):
    with pytest.raises(IntegrityError, match="no tensors"):
        read_tensors(data)


def test_a_file_that_names_anything_but_tensors_runs_nothing():
    beginning = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {}))

    with pytest.raises(IntegrityError, match=r"it names builtins|it names __builtin__"):
        read_tensors(beginning + pickle.dumps(eval, 2))
