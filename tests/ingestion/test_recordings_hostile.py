import io
import sqlite3
import struct
import zlib

import lz4.frame
import numpy as np
import pytest
import zstandard

from driveflow.errors import BrokenDataError
from tests.ingestion.batches import adds_up, bring_in, picture, quarantined, write
from tests.ingestion.recorded import PICTURE, START_NS, Ros2, bag1, mcap, of_file, read_apart
from tests.shared_data import shared_data

MAGIC = b"\x89MCAP0\r\n"


def record(opcode, body, length=None):
    """Return an MCAP record that says it has `length` bytes."""
    return struct.pack("<BQ", opcode, len(body) if length is None else length) + body


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def chunk(data, packing, unpacked_bytes, crc=0):
    """Return a chunk record of packed `data`."""
    head = struct.pack("<QQQI", 0, 0, unpacked_bytes, crc) + text(packing) + struct.pack("<Q", len(data))
    return record(6, head + data)


def defined(name, definition, topic="/front", encoding="ros2msg"):
    """Return a schema, a channel and one message of 100 zeros."""
    schema = struct.pack("<H", 1) + text(name) + text(encoding) + struct.pack("<I", len(definition)) + definition
    channel = struct.pack("<HH", 1, 1) + text(topic) + text("protobuf" if encoding == "protobuf" else "cdr") + b"\0" * 4
    message = struct.pack("<HIQQ", 1, 0, START_NS, START_NS) + b"\0\1\0\0" + b"\0" * 96
    return record(3, schema) + record(4, channel) + record(5, message)


def _zstd_that_lies():
    """Return a zstd frame whose head says a terabyte."""
    return b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + zstandard.compress(b"x" * 100)[9:]


LYING = {
    "a record of 8 exabytes": record(6, b"", 1 << 63),
    "a chunk of 8 exabytes": chunk(b"x" * 500, "", 1 << 63),
    "a chunk that says more than it has": chunk(b"x" * 500, "", 1 << 27),
    "zstd that says a terabyte": chunk(_zstd_that_lies(), "zstd", 1 << 27),
    "zstd that unpacks to more": chunk(zstandard.compress(bytes(200 << 20)), "zstd", 1000),
    "lz4 that unpacks to more": chunk(lz4.frame.compress(bytes(200 << 20)), "lz4", 1000),
    "zstd of 250 MiB in 8 KB": chunk(zstandard.compress(bytes(250 << 20)), "zstd", 250 << 20),
    "a packing nobody knows": chunk(b"x" * 500, "rot13", 500),
    "a wrong check sum": chunk(b"x" * 500, "", 500, zlib.crc32(b"y")),
    "a schema of 4 GiB": record(3, struct.pack("<HI", 1, 0xFFFFFFFF)),
}


def test_lying_mcaps_cost_little_memory_and_give_no_frame(tmp_path):
    paths = [tmp_path / f"{what}.mcap" for what in LYING]
    for path, lie in zip(paths, LYING.values(), strict=True):
        path.write_bytes(MAGIC + lie)
    outcomes, peak_mib = read_apart(*paths)

    assert {outcome.partition(", ")[2] for outcome in outcomes} == {"1 read"}  # a text that says there is nothing
    assert peak_mib < 200


@pytest.mark.parametrize("name", ["x.mcap", "x.bag", "x.db3", "x.mp4", "x.h264"])
def test_what_is_no_recording_is_refused(tmp_path, name):
    for content in (b"", b"GIF89a", bytes(5000), b"SQLite format 3\0" + bytes(50), b"#ROSBAG V1.2\n" + bytes(90)):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(BrokenDataError):
            of_file(path).members()


DEFINITIONS = {
    "a type in itself": b"Image image\n" + b"=" * 80 + b"\nMSG: sensor_msgs/Image\nsensor_msgs/CompressedImage more\n",
    "an array of a billion texts": b"std_msgs/Header header\nstring[1000000000] format\nuint8[] data\n",
    "a type without fields": b"acme/None[] header\n" + b"=" * 80 + b"\nMSG: acme/None\n\n",
    "no definition at all": b"\xff\xfe\x00",
    "an endless line": b"uint8 " + b"a" * 500_000,
    "code": b"uint8 x\n" + b"=" * 80 + b"\nMSG: a/b:\n  import os\n",
}


@pytest.mark.parametrize("what", DEFINITIONS)
def test_definitions_that_make_no_sense_are_named(tmp_path, what):
    data = MAGIC + defined(PICTURE, DEFINITIONS[what]) + record(15, b"\0" * 4)
    batch = bring_in(write(tmp_path / "batch", {"x.mcap": data, "good.jpg": picture(1)}), taxonomy=None)

    assert set(quarantined(batch).values()) <= {"recording_unreadable_topic", "recording_bad_message"}
    assert batch.counts["frames"] == 1
    assert batch.beside.quarantine.num_rows == 1
    adds_up(batch)


def test_protobuf_definitions_that_make_no_sense_are_named(tmp_path):
    data = MAGIC + defined("foxglove.CompressedImage", b"\xff" * 50, encoding="protobuf") + record(15, b"\0" * 4)
    batch = bring_in(write(tmp_path / "batch", {"x.mcap": data, "good.jpg": picture(1)}), taxonomy=None)

    assert set(quarantined(batch).values()) == {"recording_unreadable_topic"}


@pytest.mark.parametrize("topic", ["/../../../etc/passwd", "C:\\x", "/a\0b", "/new\nline", "/ümlaut", ""])
def test_names_of_topics_lead_nowhere(tmp_path, topic):
    ros = Ros2()
    data = mcap([(topic, START_NS, ros.picture(picture(1), START_NS, ""))], ros)
    batch = bring_in(write(tmp_path / "batch", {"x.mcap": data}), taxonomy=None)

    (path,) = batch.tables.sources["path"].to_pylist()
    assert path.startswith("x.mcap!")
    assert not {"..", ""} & set(path.removeprefix("x.mcap!").split("/"))
    assert path.isprintable()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["batch", "batch-store"]


def test_a_broken_chunk_of_a_bag_costs_only_its_own_pictures(tmp_path):
    data = bytearray(bag1(tmp_path / "whole.bag", [picture(seed) for seed in range(5)], "LZ4"))
    start = data.index(b"compression=lz4", len(data) // 2)
    data[start + 60 : start + 120] = bytes(60)
    batch = bring_in(write(tmp_path / "batch", {"x.bag": bytes(data)}), taxonomy=None)

    assert batch.counts["frames"] == 4
    assert quarantined(batch) == {"x.bag": "recording_broken_chunk"}
    adds_up(batch)


BAGS = {
    "a head of 4 GiB": b"#ROSBAG V2.0\n\xff\xff\xff\xff",
    "a chunk of 4 GiB": b"#ROSBAG V2.0\n" + struct.pack("<I", 9) + struct.pack("<I", 5) + b"op=\5" + b"\xff" * 8,
}


def test_lying_bags_cost_little_memory(tmp_path):
    paths = [tmp_path / f"{what}.bag" for what in BAGS]
    for path, lie in zip(paths, BAGS.values(), strict=True):
        path.write_bytes(lie)

    outcomes, peak_mib = read_apart(*paths)
    assert outcomes == ["2 members, 1 read"] * 2
    assert peak_mib < 200


TABLES = {
    "a view that never ends": "CREATE VIEW messages AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
    "SELECT 1 AS topic_id, n AS timestamp, x'00' AS data FROM r",
    "a column of 300 MB": "CREATE TABLE messages(topic_id, timestamp, data AS (zeroblob(timestamp * 1000000)))",
}


def test_hostile_databases_are_stopped(tmp_path):
    paths = [tmp_path / f"{what}.db3" for what in TABLES]
    for path, table in zip(paths, TABLES.values(), strict=True):
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, serialization_format)")
        database.execute("INSERT INTO topics VALUES (1, '/front', ?, 'cdr')", (PICTURE,))
        database.execute(table)
        if "TABLE" in table:
            database.execute("INSERT INTO messages(topic_id, timestamp) VALUES (1, 300)")
        database.commit()
        database.close()

    outcomes, peak_mib = read_apart(*paths)
    assert outcomes == ["recording_broken", "2 members, 1 read"]
    assert peak_mib < 200


def test_frames_too_large_to_decode_in_bounded_memory_are_refused(tmp_path):
    pytest.importorskip("av", reason="video is an extra")
    from tests.ingestion.recorded import video

    path = video(tmp_path / "large.avi", [np.zeros((4096, 5120, 3), np.uint8)], codec="mjpeg", pixel_format="yuvj420p")
    with pytest.raises(BrokenDataError, match="too_large"):
        of_file(path).members()


def test_animations_too_large_are_refused_before_they_are_decoded(tmp_path):
    small = (shared_data("nasty_pillow") / "dispose_bgnd_transparency.gif").read_bytes()
    (tmp_path / "huge.gif").write_bytes(small[:6] + struct.pack("<HH", 8000, 8000) + small[10:])
    (tmp_path / "small.gif").write_bytes(small)

    outcomes, _ = read_apart(tmp_path / "huge.gif", tmp_path / "small.gif")
    assert outcomes == ["too_large", "11 members, 11 read"]


def test_a_message_that_is_cut_inside_its_record_is_no_frame(tmp_path):
    ros = Ros2()
    whole = mcap([("/front", START_NS, ros.picture(picture(1), START_NS))], ros)
    stream = io.BytesIO(whole)
    body = ros.packed(ros.picture(picture(2), START_NS + 1))[1]
    # a recorder without chunks that was killed in the middle of a message
    schema = struct.pack("<H", 9) + text(PICTURE) + text("") + struct.pack("<I", 0)
    channel = struct.pack("<HH", 9, 9) + text("/front") + text("cdr") + b"\0" * 4
    message = struct.pack("<HIQQ", 9, 0, START_NS, START_NS) + body
    raw = MAGIC + record(3, schema) + record(4, channel) + record(5, message) + record(5, message)
    batch = bring_in(write(tmp_path / "batch", {"x.mcap": raw[:-50], "y.mcap": stream.getvalue()}), taxonomy=None)

    assert batch.counts["frames"] == 2
    assert quarantined(batch) == {"x.mcap": "recording_cut_short"}
