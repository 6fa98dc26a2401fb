import time

import pytest

from driveflow.flow.sections import BatchSection
from ingestion.drives import Hints, assign_drives
from ingestion.series import cameras

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


@pytest.mark.parametrize(
    "ids",
    [
        [7_013_482_511, 1_020_651_753, 4_925_906_360, 3_637_013, 2_549_968_784],
        [1_044_316_776_012_345, 1_049_763_468_214_164, 933_525_276_802_129, 147_801_995_268_631, 1_593_300_221_009_541],
        [581_929, 285, 139_000, 391_895, 60_623, 522_418],
    ],
    ids=["Flickr", "Mapillary", "COCO"],
)
@pytest.mark.parametrize("form", ["train/{:012}.jpg", "photo_{}.jpg"])
def test_photos_of_one_size_whose_ids_are_far_from_each_other_are_no_recording(ids, form):
    places = [form.format(number) for number in ids]

    assert _assign(places) == {place: f"b/{place}" for place in places}


@pytest.mark.parametrize("step", [9_999, 33_333_333, 10**12])
def test_numbers_at_even_distances_are_of_a_recording_however_far_they_are(step):
    assert len(set(_assign([f"{n * step + n % 3}.jpg" for n in range(6)]).values())) == 1


@pytest.mark.parametrize("form", ["run/{:05}_{}.jpg", "run/{1}-{0:03}.jpg", "run/{1}{0}.jpg"])
def test_cameras_that_are_the_rest_of_the_name_are_one_drive(form):
    section = BatchSection(name="b", path="b")
    sizes = {"front": (64, 48), "rear": (48, 64)}
    found = assign_drives(section, [Hints(form.format(n, name), sizes[name]) for n in range(5) for name in sizes])

    assert set(found.values()) == {"b/run"}


def test_frames_whose_number_is_before_a_word_are_one_drive():
    places = [f"aachen/aachen_000003_{n * 19:06}_leftImg8bit.png" for n in range(4)]

    assert set(_assign(places).values()) == {"b/aachen/aachen_000003__leftImg8bit"}


def test_what_label_studio_puts_before_names_hides_no_recording():
    places = [f"images/{n * 9999 + 0xA0000000:08x}-frame_{n:04}.jpg" for n in range(5)]

    assert set(_assign(places).values()) == {"b/images/frame"}
    assert len(set(_assign([f"{n:08x}-{n + 7:08x}.jpg" for n in range(0xB0000001, 0xB0000009)]).values())) == 8


def test_eight_digits_within_a_name_are_part_of_it():
    places = [f"clip_{clip}-frame_{n}.jpg" for clip in ("a0000001", "a0000002") for n in range(3)]

    assert len(set(_assign(places).values())) == 2


def test_samples_and_sweeps_of_nuscenes_are_one_recording():
    places = [f"{'sweeps' if n % 6 else 'samples'}/CAM_FRONT/n__{n:04}.jpg" for n in range(20)]

    assert len(set(_assign(places).values())) == 1


def test_a_recording_that_was_dealt_out_to_archives_is_one_drive():
    places = [f"{'val2017' if n % 5 == 3 else 'train2017'}.zip!/{n:03}.jpg" for n in range(20)]

    assert set(_assign(places).values()) == {"b/numbered"}


def test_a_name_of_very_many_digits_ends_no_import():
    assert len(set(_assign([f"{'7' * 9000}{n}.jpg" for n in range(3)]).values())) == 1


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


ROBOFLOW = ["1f3870be274f6c49b3e31a0c6728957f", "170prMOpZ9sq1CgFv9SO"]


def _made(name, number=0):
    return f"{name}_jpg.rf.{ROBOFLOW[number % 2]}{number}.jpg"


@pytest.mark.parametrize("name", ["cd6745ae4dc907c8", "IMG20240615120644", "my photo (2)"])
def test_what_roboflow_made_of_one_photo_is_one_drive_whatever_the_split(name):
    places = [f"train/images/{_made(name, 0)}", f"train/images/{_made(name, 1)}", f"valid/images/{_made(name, 2)}"]
    found = _assign([*places, f"train/images/{_made('other')}"])

    assert {found[place] for place in places} == {f"b/images/{name}"}
    assert found[f"train/images/{_made('other')}"] == f"b/train/images/{_made('other')}"


@pytest.mark.parametrize("stem", ["night_mp4-", "frame_", "frame", "clip-7_frame", "14780199526863", "147801995268631"])
def test_frames_of_a_recording_are_one_drive_where_roboflow_renamed_and_dealt_them_out(stem):
    numbers = [f"{n:04}" for n in range(12)]
    places = [f"{('train', 'train', 'valid')[n % 3]}/images/{_made(stem + text, n)}" for n, text in enumerate(numbers)]
    name = f"b/images/{stem.rstrip('_-')}" if not stem.isdigit() else "b/images"

    assert set(_assign(places).values()) == {name}


def test_numbered_photos_that_roboflow_made_one_size_are_no_recording():
    places = [f"train/images/{_made(f'IMG_{n:04}', n)}" for n in range(5)]

    assert _assign(places) == {place: f"b/{place}" for place in places}


def test_a_sequence_that_was_dealt_out_to_several_splits_is_one_drive():
    places = [f"{'valid' if n % 5 == 3 else 'train'}/images/vid_{n:03}.jpg" for n in range(20)]

    assert set(_assign(places).values()) == {"b/images/vid"}


@pytest.mark.parametrize("valid", [range(10), range(10, 20)], ids=["counted anew", "counted on"])
def test_sequences_of_two_splits_that_do_not_interleave_are_two_drives(valid):
    places = [f"train/{n:03}.jpg" for n in range(10)] + [f"valid/{n:03}.jpg" for n in valid]

    assert set(_assign(places).values()) == {"b/train", "b/valid"}


def test_recordings_in_folders_that_are_no_splits_stay_apart():
    places = [f"{'north' if n % 2 else 'south'}/{n:03}.jpg" for n in range(10)]

    assert set(_assign(places).values()) == {"b/north", "b/south"}


@pytest.mark.parametrize(
    "folders",
    [
        ("image_02/data", "image_03/data"),
        ("CAM_FRONT", "CAM_BACK_LEFT"),
        ("front", "rear-left"),
        ("camera0", "camera1"),
        ("cam=front", "cam=rear"),
        ("Camera 5", "Camera 6"),
        ("FRONT", "SIDE_LEFT"),
        ("frontLeft", "frontRight"),
    ],
)
def test_cameras_side_by_side_are_one_drive(folders):
    places = [f"drive_0005/{folder}/{n:010}.png" for folder in folders for n in range(4)]
    end = "/data" if "data" in folders[0] else ""

    assert set(_assign(places).values()) == {f"b/drive_0005{end}"}


def test_cameras_that_name_their_pictures_are_one_drive_too():
    places = [f"log/{camera}/{camera}_{n:03}.jpg" for camera in ("left", "right") for n in range(4)]

    assert set(_assign(places).values()) == {"b/log"}


def test_cameras_of_two_recordings_stay_apart():
    places = [f"{log}/{camera}/{n:03}.jpg" for log in ("x", "y") for camera in ("left", "right") for n in range(3)]
    later = [f"z/left/{n:03}.jpg" for n in range(3)] + [f"z/right/{n:03}.jpg" for n in range(10, 13)]

    assert set(_assign(places + later).values()) == {"b/x", "b/y", "b/z/left", "b/z/right"}


def test_cameras_whose_recording_was_dealt_out_to_splits_are_one_drive():
    places = [
        f"{'valid' if n % 4 == 1 else 'train'}/{camera}/{n:03}.jpg" for camera in ("left", "right") for n in range(12)
    ]

    assert len(set(_assign(places).values())) == 1


def test_each_camera_may_have_pictures_of_a_size_of_its_own():
    section = BatchSection(name="b", path="b")
    sizes = {"ring_front_center": (1550, 2048), "ring_rear_left": (2048, 1550)}
    found = assign_drives(section, [Hints(f"{name}/{n}.jpg", size) for name, size in sizes.items() for n in range(4)])

    assert set(found.values()) == {"b/numbered"}


def test_cameras_of_very_many_folders_are_told_in_linear_time():
    begun = time.process_time()

    assert len(cameras(f"cam{n}/1.jpg" for n in range(40_000))) == 40_000
    assert time.process_time() - begun < 5
