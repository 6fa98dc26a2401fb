"""The matches in an evaluation's JSON are what was written, or refused."""

import base64

import pytest
import zstandard

from driveflow.errors import InvalidInputError
from tests.validation.scenes import simple
from validation.model.evaluate import evaluate
from validation.model.scored import scored_of
from validation.scored_file import read_scored, write_scored

TRUTH = [("f1", "car", (0.0, 0.0, 40.0, 40.0)), ("f2", "bus", (10.0, 0.0, 90.0, 40.0))]
FOUND = [(*TRUTH[0], 0.9), ("f2", "car", TRUTH[1][2], 0.5), (*TRUTH[1], 0.25)]


@pytest.fixture(scope="module")
def text() -> str:
    return write_scored(scored_of(evaluate(simple(TRUTH, FOUND))))


@pytest.mark.parametrize("bit", range(8))
def test_matches_damaged_in_any_byte_are_refused_or_say_the_same(text, bit):
    packed, refused = base64.b64decode(text), 0

    for place in range(len(packed)):
        damaged = packed[:place] + bytes([packed[place] ^ 1 << bit]) + packed[place + 1 :]
        try:
            assert write_scored(read_scored(base64.b64encode(damaged).decode(), "a.json")) == text  # an idle bit
        except InvalidInputError:
            refused += 1
    assert refused > 0.9 * len(packed)


def test_matches_without_a_checksum_are_refused(text):
    bare = zstandard.ZstdCompressor().compress(zstandard.ZstdDecompressor().decompress(base64.b64decode(text)))

    with pytest.raises(InvalidInputError, match="it has no checksum"):
        read_scored(base64.b64encode(bare).decode(), "a.json")
