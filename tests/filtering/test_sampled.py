from filtering.sampled import sample_drives
from tests.filtering.made import Made, snapshot

DRIVES = [Made(f"{drive}{at}", drive=drive, taken_s=float(at)) for drive in "abcdef" for at in range(4)]
OTHERS = [Made("v", drive="val", split="val"), Made("h", drive="holdout", split="holdout")]


def ids(tables):
    return tables.frames["frame_id"].to_pylist()


def test_only_training_frames_are_looked_at_and_zero_means_all_of_them():
    assert ids(sample_drives(snapshot([*DRIVES, *OTHERS]), 0)) == sorted(made.name for made in DRIVES)


def test_a_sample_is_whole_drives_and_the_beginning_of_the_last():
    taken = ids(sample_drives(snapshot([*DRIVES, *OTHERS]), 10))
    by_drive = {drive: [name for name in taken if name[0] == drive] for drive in "abcdef"}
    found = sorted((frames for frames in by_drive.values() if frames), key=len)

    assert [len(frames) for frames in found] == [2, 4, 4]
    assert [name[1] for name in found[0]] == ["0", "1"]


def test_the_same_seed_takes_the_same_frames_in_any_order_of_input_and_another_seed_others():
    tables = snapshot(DRIVES)

    assert ids(sample_drives(tables, 8, 1)) == ids(sample_drives(snapshot(DRIVES[::-1]), 8, 1))
    assert len({tuple(ids(sample_drives(tables, 8, seed))) for seed in range(8)}) > 1


def test_frames_without_a_time_are_taken_by_their_path():
    frames = [Made(name) for name in "cab"]

    assert ids(sample_drives(snapshot(frames), 2)) == ["a", "b"]
