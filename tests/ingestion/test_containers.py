import io
import random
import tarfile
import zipfile
from pathlib import PurePosixPath

import pytest

from driveflow.errors import BrokenDataError
from driveflow.images.pixels import PixelReader
from driveflow.storage.objects import ObjectInfo
from ingestion.archives import Archive, ArchiveLimits
from ingestion.nested import ArchiveOfContainers
from ingestion.object_stream import open_ranges
from ingestion.open_container import ContainerRules, open_file
from tests.ingestion.batches import adds_up, bring_in, picture, quarantined, rows, write
from tests.ingestion.recorded import START_NS, Ros2, bag1, gray_levels, mcap, of_file, read_apart, video


def _zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        for seed in range(4):
            archive.writestr(f"{seed}.jpg", picture(seed))


def _mcap(path):
    ros = Ros2()
    entries = [("/front", START_NS + seed, ros.picture(picture(seed), START_NS + seed)) for seed in range(4)]
    path.write_bytes(mcap(entries, ros, chunk_size=4096))


def _video(path):
    pytest.importorskip("av", reason="video is an extra")
    video(path, gray_levels(6), bf=2)


def _gif(path):
    from tests.ingestion.test_recordings_video import animated

    path.write_bytes(animated(5))


def _db3(path):
    from tests.ingestion.recorded_batches import database

    ros = Ros2()
    database(path, [ros.packed(ros.picture(picture(seed), START_NS + seed))[1] for seed in range(4)])


MAKERS = {
    "a.zip": _zip,
    "a.mcap": _mcap,
    "a.bag": lambda path: bag1(path, [picture(seed) for seed in range(4)]),
    "a.db3": _db3,
    "a.mp4": _video,
    "a.mkv": _video,
    "a.avi": _video,
    "a.gif": _gif,
}


@pytest.fixture(params=MAKERS)
def made(request, tmp_path):
    """Return a container of every kind in turn, and the folder it lies in."""
    path = tmp_path / request.param
    MAKERS[request.param](path)
    return path


def readable(container):
    return [member for member in container.members() if not member.refused]


def test_names_stay_inside_and_are_unique_as_numbers_are(made):
    members = readable(of_file(made, animations=True))

    assert len({member.name for member in members}) == len({member.number for member in members}) == len(members) > 3
    for member in members:
        parts = PurePosixPath(member.name).parts
        assert not member.name.startswith("/")
        assert ".." not in parts


def test_members_come_in_order_as_often_as_they_are_asked_for(made):
    container = of_file(made, animations=True)
    numbers = [member.number for member in readable(container)]

    first = list(container.read(numbers))
    assert [number for number, _ in first] == numbers
    assert list(container.read(numbers)) == first
    assert dict(container.read(numbers[1:3])) == dict(first[1:3])


def test_listing_twice_says_the_same(made):
    assert list(of_file(made, animations=True).members()) == list(of_file(made, animations=True).members())


def test_another_reader_finds_the_frames_without_listing(made):
    listed = of_file(made, animations=True)
    numbers = [member.number for member in readable(listed) if member.name.endswith(".jpg")]

    assert list(of_file(made, animations=True).read(numbers)) == list(listed.read(numbers))


def test_a_damaged_container_is_refused_or_read_as_far_as_it_goes(made):
    whole = made.read_bytes()
    chance = random.Random(made.name)
    for turn in range(24):
        data = bytearray(whole)
        if turn % 2:
            del data[chance.randrange(len(data)) :]
        for _ in range(turn % 5):
            data[chance.randrange(min(len(data), 400) or 1) : 0] = b""
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        made.write_bytes(data)
        container = of_file(made, animations=True)
        if container is None:  # a GIF of which one frame is left is a picture
            continue
        try:
            numbers = [member.number for member in readable(container)]
            found = dict(container.read(numbers))
        except BrokenDataError:
            continue
        assert set(found) == set(numbers)


def test_nothing_is_written_beside_a_container(made):
    container = of_file(made, animations=True)
    list(container.read([member.number for member in readable(container)]))

    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_memory_does_not_grow_with_the_recording(tmp_path):
    ros = Ros2()
    shots = [ros.packed(ros.picture(picture(seed, (640, 480)), START_NS + seed)) for seed in range(5)]
    path = tmp_path / "long.mcap"
    path.write_bytes(mcap([("/front", START_NS + turn, shots[turn % 5]) for turn in range(1200)], ros))

    (outcome,), peak_mib = read_apart(path)
    assert outcome == "1201 members, 1201 read"
    assert path.stat().st_size > 100 << 20
    assert peak_mib < 250


def zipped(files, name="a.zip"):
    """Return an archive of `files`, a tar where its name says so."""
    stream = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(stream, "w") as archive:
            for path, data in files.items():
                archive.writestr(path, data)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for path, data in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_recordings_in_archives_are_read_as_they_are_outside(tmp_path, name):
    ros = Ros2()
    front = [("/front", START_NS + seed, ros.picture(picture(seed), START_NS + seed)) for seed in range(4)]
    box = ("/truth", START_NS, ros.boxes([("car", 1.0, 1, 2, 30, 40)], START_NS))
    whole = {"run/d.mcap": mcap([*front, box], ros, chunk_size=1 << 12), "run/good.jpg": picture(9)}
    whole["run/b.bag"] = bag1(tmp_path / "b.bag", [picture(20)])
    whole["run/cut.mcap"] = whole["run/d.mcap"][:-3000]
    outside = bring_in(write(tmp_path / "outside", whole), taxonomy=None, name="same")
    inside = bring_in(write(tmp_path / "inside", {name: zipped(whole, name)}), taxonomy=None, name="same")

    assert inside.tables.boxes == outside.tables.boxes
    columns = ("frame_id", "captured_ns", "camera")
    assert rows(inside.tables.sources, *columns) == rows(outside.tables.sources, *columns)
    assert {path.removeprefix(f"{name}!"): why for path, why in quarantined(inside).items()} == quarantined(outside)
    assert set(inside.tables.sources["drive"].to_pylist()) >= {f"same/{name}!/run/d", f"same/{name}!/run/b"}
    pixels = PixelReader(inside.beside.locations)
    assert {pixels.read(frame) for frame in inside.tables.frames["frame_id"].to_pylist()} >= {picture(0), picture(9)}
    adds_up(inside)


def test_a_broken_recording_in_an_archive_costs_only_itself(tmp_path):
    content = {"d.mcap": b"no log", "v.mp4": b"no video", "good.jpg": picture(2), "deep.zip": zipped({"x": b"y"})}
    batch = bring_in(write(tmp_path / "batch", {"a.zip": zipped(content)}), taxonomy=None)

    assert quarantined(batch) == {
        "a.zip!d.mcap": "recording_broken",
        "a.zip!v.mp4": "recording_broken",
        "a.zip!deep.zip": "archive_nested",
    }
    assert batch.counts["frames"] == 1
    adds_up(batch)


def test_a_recording_too_large_to_be_held_in_memory_is_refused_inside_an_archive(tmp_path):
    ros = Ros2()
    data = zipped(
        {"d.mcap": mcap([("/front", START_NS, ros.picture(picture(1), START_NS))], ros), "x.txt": b"x" * 9000}
    )
    archive = Archive(lambda: io.BytesIO(data), len(data), ArchiveLimits())
    members = ArchiveOfContainers(archive, lambda name: name.endswith(".mcap"), lambda _: None, max_bytes=100).members()

    assert [(member.name, member.refused) for member in members] == [("d.mcap", "too_large"), ("x.txt", "")]


def test_what_lies_far_away_is_read_by_ranges_to_the_same_members(made):
    entry = ObjectInfo(made.as_uri(), made.name, made.stat().st_size, "")
    near = of_file(made, animations=True)
    rules = ContainerRules(animations=True)
    far = open_file(made.name, lambda: open_ranges(entry, 1 << 12), entry.size, rules)

    numbers = [member.number for member in readable(near)]
    assert list(far.members()) == list(near.members())
    assert list(far.read(numbers)) == list(near.read(numbers))
