import pytest

from driveflow.flow.sections import BatchSection
from ingestion.drives import Hints, assign_drives

SIZE = (640, 480)


def _assign(places, drives="auto", drive="", **hints):
    section = BatchSection(name="b", path="b", drives=drives, drive=drive)
    return assign_drives(section, [Hints(place, SIZE, **hints) for place in places])


def test_a_stated_drive_is_that_of_every_picture():
    assert _assign(["a.jpg", "x/b.jpg"], drive="berlin") == {"a.jpg": "berlin", "x/b.jpg": "berlin"}


def test_metadata_beats_everything_that_is_guessed():
    assert _assign(["a_1.jpg", "a_2.jpg", "a_3.jpg"], metadata="d", label="v")["a_2.jpg"] == "d"


@pytest.mark.parametrize("count", [2, 3])
def test_a_numbered_sequence_is_a_drive_from_three_files_on(count):
    found = _assign([f"cam/img_{n:03}.jpg" for n in range(count)])

    assert len(set(found.values())) == (1 if count >= 3 else count)
    if count >= 3:
        assert found["cam/img_000.jpg"] == "b/cam/img"


def test_sequences_of_two_folders_or_two_stems_are_two_drives():
    found = _assign([f"{where}{n}.jpg" for where in ("x/a", "y/a", "x/b") for n in range(3)])

    assert sorted(set(found.values())) == ["b/x/a", "b/x/b", "b/y/a"]


def test_numbered_stills_of_many_sizes_are_no_drive():
    section = BatchSection(name="b", path="b")
    found = assign_drives(section, [Hints(f"{n}.jpg", (600 + n, 400)) for n in range(5)])

    assert found == {f"{n}.jpg": f"b/{n}.jpg" for n in range(5)}


def test_a_video_named_by_the_labels_is_a_drive_of_this_batch():
    assert _assign(["x.jpg", "y.jpg"], label="clip7") == {"x.jpg": "b/clip7", "y.jpg": "b/clip7"}


def test_pictures_numbered_by_the_labels_are_a_drive_where_names_say_nothing():
    assert set(_assign(["foo.jpg", "bar.jpg"], sequence="l.json").values()) == {"b/l.json"}


@pytest.mark.parametrize(
    ("drives", "expected"), [("batch", "b"), ("folder", "b/x"), ("stills", "b/x/a1.jpg"), ("auto", "b/x/a")]
)
def test_the_section_says_what_a_drive_is(drives, expected):
    assert _assign(["x/a1.jpg", "x/a2.jpg", "x/a3.jpg"], drives=drives)["x/a1.jpg"] == expected


def test_files_at_the_top_have_the_batch_as_their_folder():
    assert _assign(["a1.jpg"], drives="folder") == {"a1.jpg": "b"}
