"""`driveflow data show` says from when to when, with units."""

import pytest

from tests.cli.calling import call
from tests.ingestion.batches import picture, write


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        ("utc", "times: utc 2023-11-14T22:13:20+00:00 to 2023-11-14T22:13:20+00:00 (0.120 s); without one: 1 source\n"),
        ("drive_relative", "times: drive_relative 1,700,000,000.000 s to 1,700,000,000.120 s; without one: 1 source\n"),
    ],
)
def test_times_have_units_and_say_how_long_a_short_drive_is(tmp_path, capsys, clock, said):
    rows = f"path,clock,captured_ns\na.jpg,{clock},1700000000000000000\nb.jpg,{clock},1700000000120000000\n"
    pictures = {name: picture(number) for number, name in enumerate(("a.jpg", "b.jpg", "c.jpg"))}
    batch = write(tmp_path / "may", {"metadata.csv": rows.encode(), **pictures})
    where = ("-w", str(tmp_path / "workspace"))
    call(capsys, "data", "import", str(batch), "--as", "may", *where)

    assert said in call(capsys, "data", "show", "may", *where)[1]
