import pytest

from driveflow.errors import UsageError
from filtering.relations import Limit, NamedPair, read_pairs, relation_table
from tests.driveflow.images.made import encode, scene
from tests.shared_data import shared_data

BITS = [Limit("bytes"), Limit("pixels"), *(Limit("bits", most) for most in (2, 4, 40))]


@pytest.fixture(scope="module")
def real():
    """The table of the shared pairs by relation."""
    folder = shared_data("dedup_derived")
    pairs = [pair for name in ("pairs.csv", "hard_pairs.csv") for pair in read_pairs((folder / name).read_text(), name)]
    return relation_table(pairs, lambda name: (folder / "images" / name).read_bytes(), BITS)


def shares(table, limit):
    return {row.relation: row.found[table.limits.index(limit)] / row.pairs for row in table.rows}


def test_real_pairs_are_those_that_were_made(real):
    counts = {row.relation: row.pairs for row in real.rows}

    assert counts == {"exact_bytes": 10, "same_pixels": 20, "near": 120, "edited": 10, "mirrored": 10, "hard": 6}
    assert real.unreadable == ()


def test_every_copy_is_found_by_its_bytes_and_every_other_encoding_by_its_pixels(real):
    assert shares(real, Limit("bytes"))["exact_bytes"] == 1
    assert shares(real, Limit("bytes"))["same_pixels"] == 0
    assert shares(real, Limit("pixels"))["same_pixels"] == 1
    assert shares(real, Limit("pixels"))["near"] == 0


@pytest.mark.parametrize(("bits", "recall"), [(2, 0.65), (4, 0.75)])
def test_near_pairs_are_found_by_their_hash(real, bits, recall):
    found = shares(real, Limit("bits", bits))

    assert found["exact_bytes"] == found["same_pixels"] == 1
    assert found["near"] >= recall


@pytest.fixture(scope="module")
def by_embedding():
    """The table of the pairs that show different things, and of copies, by the built-in embedding."""
    pytest.importorskip("onnxruntime")
    from driveflow.embeddings.catalog import BUILT_IN, load_embedder

    folder = shared_data("dedup_derived")
    pairs = [pair for name in ("pairs.csv", "hard_pairs.csv") for pair in read_pairs((folder / name).read_text(), name)]
    asked = [pair for pair in pairs if pair.relation in {"exact_bytes", "mirrored", "hard"}]
    limits = [Limit("cosine", most) for most in (0.02, 0.05, 2.0)]
    return relation_table(
        asked, lambda name: (folder / "images" / name).read_bytes(), limits, load_embedder(BUILT_IN).embed
    )


@pytest.mark.parametrize("most", [0.02, 0.05])
def test_no_mirrored_and_no_hard_pair_is_found_by_embedding_within_the_default_limits(by_embedding, most):
    assert by_embedding.false_finds(Limit("cosine", most)) == 0
    assert shares(by_embedding, Limit("cosine", most))["exact_bytes"] == 1


def test_any_pair_is_found_by_an_embedding_limit_as_wide_as_a_distance_can_be(by_embedding):
    assert by_embedding.false_finds(Limit("cosine", 2.0)) == 16


@pytest.mark.parametrize("bits", [2, 4])
def test_no_mirrored_and_no_hard_pair_is_found_within_the_default_limits(real, bits):
    assert real.false_finds(Limit("bits", bits)) == 0


def test_a_limit_that_is_too_wide_is_told_by_its_false_finds(real):
    assert real.false_finds(Limit("bits", 40)) > 0


def test_a_list_without_relations_is_one_of_pairs_that_must_not_be_found():
    assert read_pairs("a,b,why\none.jpg,two.jpg,other cars\n", "hard.csv") == [NamedPair("one.jpg", "two.jpg", "hard")]


@pytest.mark.parametrize(("text", "words"), [("x,y\n1,2\n", "has the columns x, y"), ("a,b\n", "names no pair")])
def test_a_list_that_names_no_pairs_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        read_pairs(text, "pairs.csv")


def test_a_picture_that_cannot_be_decoded_is_found_by_its_bytes_only():
    held = {"a": b"no picture", "b": b"no picture", "c": encode(scene(1, 64, 64))}
    pairs = [NamedPair("a", "b", "exact_bytes"), NamedPair("a", "c", "near")]

    table = relation_table(pairs, held.__getitem__, [Limit("bytes"), Limit("bits", 64)])

    assert [row.found for row in table.rows] == [(1, 1), (0, 0)]
    assert table.unreadable == ("a", "b")
