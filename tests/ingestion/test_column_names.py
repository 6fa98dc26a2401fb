import pytest

from ingestion.column_names import misnamed


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("timestamp_ns", "captured_ns or captured_us or captured_ms or captured_s or captured_at"),
        ("Latitude", "lat"),
        ("lng", "lon"),
        ("speed", "speed_mps"),
        ("heading", "heading_deg"),
    ],
)
def test_a_column_that_may_mean_a_known_one_is_named_with_it(column, meant):
    (note,) = misnamed("m.csv", ["path", column])

    assert note == f"m.csv: column '{column}' is read as an attribute; what it seems to say is read from {meant}."


def test_beside_the_known_column_another_is_an_attribute_like_any():
    assert list(misnamed("m.csv", ["path", "captured_ns", "timestamp", "weather", "time_of_day"])) == []
