import json
from pathlib import Path

import pytest

from cli.main import main


def _driveflow(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_sample_dir_renders_and_says_what_is_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = _driveflow("sample", str(tmp_path / "s"), "--frames", "40", "-o", "json")

    value = json.loads(capsys.readouterr().out)
    assert code == 0
    assert value["frames"] == 40
    assert (tmp_path / "s" / "flow.yaml").is_file()


def test_the_flow_file_of_a_sample_passes_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _driveflow("sample", "--frames", "40", str(tmp_path / "s"))
    capsys.readouterr()

    assert _driveflow("check", str(tmp_path / "s" / "flow.yaml"), "-o", "json") == 0
    flow = json.loads(capsys.readouterr().out)["flow"]
    assert len(flow["holdout"]["drives"]) == flow["gate"]["min_drive_groups"] == 3


def test_too_few_frames_are_a_usage_error(tmp_path: Path) -> None:
    assert _driveflow("sample", str(tmp_path / "s"), "--frames", "10") == 2


def test_a_campaign_that_is_not_there_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _driveflow("sample", "annotate", str(tmp_path / "none"), "--truth", str(tmp_path)) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
