"""Reported of another tool: a button that found duplicates deleted them, and only a warning stood before it."""

from pathlib import Path

from tests.cli.calling import call
from tests.cli.test_filter_commands import written
from tests.cli.test_filter_preview import FLOW
from tests.driveflow.images.made import encode, scene

RULE = "near_duplicates.same_drive"


def test_no_filter_command_deletes_or_changes_a_file_that_was_there(tmp_path: Path, capsys):
    written((tmp_path / "store").as_uri())
    (tmp_path / "one").mkdir()
    for name in ("a", "b"):
        (tmp_path / "one" / f"{name}.jpg").write_bytes(encode(scene(1, 320, 180)))
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "pairs.csv").write_text("a,b\na.jpg,b.jpg\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    space = ("--workspace", str(tmp_path))

    codes = [
        call(capsys, "filter", *arguments, *space)[0]
        for arguments in (
            ("preview", str(tmp_path / "flow.yaml"), "--html", str(tmp_path / "preview.html")),
            ("relations", str(tmp_path / "one"), "--pairs", str(tmp_path / "pairs.csv"), "--cosine", ""),
            ("review", RULE, "--html", str(tmp_path / "review.html")),
            ("review", RULE, "--answers", str(tmp_path / "review.csv")),
            ("undo", "aaaa"),
            ("undo", "aaaa", "--take-back"),
            ("not-duplicate", "aaaa", "bbbb"),
        )
    ]

    assert codes == [0] * 7
    assert {path: path.read_bytes() for path in before} == before
