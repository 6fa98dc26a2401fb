from driveflow.flow.sections import HoldoutSection, SplitSection
from tests.ingestion.batches import bring_in, coco, merge, picture, rows, write

HERE = "path,lat,lon\n{0},48.0,11.0\n"


def _two_batches(tmp_path):
    write(tmp_path / "a", {"labels.json": coco([(1, "x.jpg"), (2, "y.jpg")], [(1, 1, 1, (1, 1, 9, 9))]),
                           "x.jpg": picture(1), "y.jpg": picture(2)})  # fmt: skip
    write(tmp_path / "b", {"z.jpg": picture(3), "same.jpg": picture(1)})
    return bring_in(tmp_path / "a"), bring_in(tmp_path / "b")


def test_a_withdrawn_frame_is_left_out_of_a_merge_with_a_decision_and_counts_add_up(tmp_path):
    a, b = _two_batches(tmp_path)
    gone = dict(rows(a.tables.sources, "path", "frame_id"))["x.jpg"]

    merged = merge(("a", a), ("b", b), withdrawn=frozenset({gone, "0" * 64}))

    assert gone not in merged.tables.frames["frame_id"].to_pylist()
    assert gone not in merged.tables.sources["frame_id"].to_pylist()
    assert merged.tables.boxes.num_rows == 0
    assert rows(merged.beside.decisions, "frame_id", "verdict", "reason") == [(gone, "dropped", "withdrawn")]
    counts = merged.counts
    assert (counts["frames_in"], counts["frames"], counts["frames_withdrawn"]) == (4, 2, 2)
    assert (counts["boxes_in"], counts["boxes_withdrawn"]) == (1, 1)


def test_nothing_withdrawn_changes_nothing(tmp_path):
    a, b = _two_batches(tmp_path)

    assert merge(("a", a), ("b", b)).tables == merge(("a", a), ("b", b), withdrawn=frozenset({"0" * 64})).tables


def test_a_frame_that_was_withdrawn_moves_no_other_frame_to_another_split(tmp_path):
    files = {f"{letter}.jpg": picture(number) for number, letter in enumerate("abcdefghij")}
    batch = bring_in(write(tmp_path / "stills", files), drives="stills")
    rules = {"splits": SplitSection(val_fraction=0.4, balance=True), "holdout": HoldoutSection(fraction=0.3)}
    before = dict(rows(merge(("stills", batch), **rules).tables.frames, "frame_id", "split"))

    for gone in before:
        after = dict(
            rows(merge(("stills", batch), **rules, withdrawn=frozenset({gone})).tables.frames, "frame_id", "split")
        )
        assert after == {frame: split for frame, split in before.items() if frame != gone}


def test_a_merge_can_go_by_place(tmp_path):
    for number, name in enumerate("abc"):
        write(tmp_path / name, {f"{name}.jpg": picture(number), "metadata.csv": HERE.format(f"{name}.jpg")})
    parts = [(name, bring_in(tmp_path / name)) for name in "abc"]
    splits, holdout = SplitSection(by="place", val_fraction=0.5), HoldoutSection(fraction=0.4)

    apart = merge(*parts, splits=SplitSection(val_fraction=0.5), holdout=holdout).tables.frames
    together = merge(*parts, splits=splits, holdout=holdout).tables.frames

    assert len(apart["drive_group"].unique()) == 3
    assert len(together["drive_group"].unique()) == len(together["split"].unique()) == 1
