import pytest

from driveflow.errors import UsageError
from driveflow.flow.cron import check_cron, kfp_cron


@pytest.mark.parametrize(
    "text",
    ["0 2 * * 1", "*/15 0-6 1,15 jan-mar MON-fri", "59 23 31 12 0", "0-58/2 * * * *", "0 0 29 2 *", "0 0 30 2 1"],
)
def test_five_fields_become_six_with_seconds_first(text):
    assert kfp_cron(f"  {text.replace(' ', '  ')} ") == f"0 {text}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 0 2 * * 1", "has 5 fields .* got 6"),
        ("@daily", "has 5 fields .* got 1"),
        ("", "got 0"),
        ("60 * * * *", "minute of a schedule must be 0 to 59, got '60'"),
        ("* 24 * * *", "hour of a schedule must be 0 to 23"),
        ("* * 0 * *", "day of month of a schedule must be 1 to 31"),
        ("* * * 13 *", "month of a schedule must be 1 to 12 or jan to dec"),
        ("* * * * 7", "day of week of a schedule must be 0 to 6 or sun to sat, got '7'; Sunday is 0"),
        ("5-1 * * * *", "runs backwards; '1-5' would do"),
        ("*/0 * * * *", "no good step"),
        ("5/10 * * * *", "no good step"),
        ("a * * * *", "minute of a schedule must be 0 to 59, got 'a'"),
        ("1,,2 * * * *", "must be like"),
        ("? * * * *", "must be like"),
        ("-1 * * * *", "must be like"),
        ("\u0661 * * * *", "must be 0 to 59"),
        ("0 0 31 2,4 *", "never comes: no such month has a day 31"),
    ],
)
def test_what_kfp_would_misread_is_refused(text, says):
    with pytest.raises(UsageError, match=says):
        check_cron(text)
