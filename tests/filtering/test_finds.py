from driveflow.by_hand import Said
from filtering.finds import precision


def review(frame: str, *, yes: bool, at: str = "2026-01-01T00:00:00Z", rule: str = "rare") -> Said:
    return Said(about="review", frame_id=frame, who="ada", at=at, rule=rule, yes=yes)


def test_precision_is_told_of_reviewed_finds_of_that_case_only():
    words = [
        review("a", yes=True),
        review("b", yes=False),
        review("not found", yes=False),
        review("a", yes=False, rule="another"),
        Said(about="keep", frame_id="c", who="ada", at="2026-01-01T00:00:00Z"),
    ]

    found = precision("rare", ["a", "b", "c"], words)

    assert (found.reviewed, found.right) == (2, 1)
    assert (found.low, found.high) == (0.0945, 0.9055)


def test_the_last_word_on_a_find_counts():
    words = [review("a", yes=False, at="2026-01-02T00:00:00Z"), review("a", yes=True)]

    assert precision("rare", ["a"], words).right == 0


def test_without_a_review_there_is_no_precision():
    assert precision("rare", ["a"], []) is None
