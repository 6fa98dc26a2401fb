from driveflow.formats.box_rows import BoxRows
from driveflow.formats.label_set import LabelSetBuilder


def test_rows_become_tables_some_at_a_time_and_in_their_order():
    builder = LabelSetBuilder()
    rows = BoxRows(builder)
    box = {"path": "a.jpg", "label_file": "a.txt", "class_name": "car", "x1": 0.0, "y1": 0.0, "x2": 1.0, "y2": 1.0}

    rows.add({**box, "line": line} for line in range(50_000))
    rows.flush()

    found = builder.build().boxes
    assert found["line"].to_pylist() == list(range(50_000))
    assert found["line"].num_chunks == 3
