import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from driveflow.flow.sections import BatchSection
from ingestion.import_source import SourceRequest, import_source
from tests.cli.calling import call
from tests.driveflow.images.made import encode, scene

PAIRS = "base,variant,relation\none.jpg,copy.jpg,exact_bytes\none.jpg,other.jpg,hard\n"
BY_HASH = ("--cosine", "")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.jpg").write_bytes(encode(scene(1, 320, 180)))
    (folder / "copy.jpg").write_bytes(encode(scene(1, 320, 180)))
    (folder / "deep" / "other.jpg").write_bytes(encode(scene(2, 320, 180)))
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return folder


def test_the_table_is_printed_by_relation(pictures, capsys):
    code, out, _ = call(
        capsys, "filter", "relations", str(pictures), "--pairs", str(pictures.parent / "pairs.csv"), *BY_HASH
    )

    assert code == 0
    assert [line.split()[:3] for line in out.splitlines()[1:3]] == [["exact_bytes", "1", "1"], ["hard", "1", "0"]]
    assert out.splitlines()[-1].startswith("false finds: 0 at bytes")


def test_a_snapshot_is_asked_for_its_frames(pictures, tmp_path, capsys):
    store = (tmp_path / "space" / "store").as_uri()
    section = BatchSection(name="may", path=str(pictures))
    made = import_source(SourceRequest(pictures.as_uri(), section, None, store), datetime.now(UTC))
    pairs = str(tmp_path / "pairs.csv")

    code, out, _ = call(
        capsys, "filter", "relations", made.snapshot.uri, "--pairs", pairs, "--bits", "2", *BY_HASH, "-o", "json"
    )

    table = json.loads(out)
    assert code == 0
    assert table["relations"][0]["limits"]["bits <= 2"] == {"found": 1, "share": 1.0}
    assert table["false_finds"]["bits <= 2"] == 0


@pytest.mark.parametrize(
    ("pairs", "options", "code", "words"),
    [
        (PAIRS, ["--bits", "-1"], 2, "--bits takes numbers from 0 to 64"),
        ("x,y\n1,2\n", [], 2, "wanted are base, variant, relation"),
        ("a,b\none.jpg\n", [], 2, "pairs.csv:2 names one picture; a pair is a and b"),
        ("a;b\none.jpg;gone.jpg\n", [], 3, "is called 'gone.jpg'"),
        ("a,b\none.jpg,gone.jpg\n", [], 3, "is called 'gone.jpg'"),
        (None, [], 3, "There is no file"),
    ],
)
def test_what_cannot_be_compared_ends_with_its_own_exit_code(pictures, capsys, pairs, options, code, words):
    path = pictures.parent / "pairs.csv"
    path.unlink() if pairs is None else path.write_text(pairs)

    left, _, err = call(capsys, "filter", "relations", str(pictures), "--pairs", str(path), *BY_HASH, *options)

    assert left == code
    assert words in err
