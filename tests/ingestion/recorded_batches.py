"""Batches that are recordings, for the tests."""

import sqlite3

from tests.ingestion.batches import bring_in, picture, write
from tests.ingestion.recorded import PICTURE, START_NS, STEP_NS


def one(tmp_path, data, name="drive.mcap", **section):
    """Import one recording."""
    return bring_in(write(tmp_path / "batch", {name: data}), taxonomy=None, **section)


def pictures(count, ros, topic="/front/compressed", **head):
    """Return entries of `count` pictures, and their bytes."""
    datas = [picture(seed) for seed in range(count)]
    stamps = [START_NS + turn * STEP_NS for turn in range(count)]
    return [
        (topic, stamp + 5, ros.picture(data, stamp, **head)) for stamp, data in zip(stamps, datas, strict=True)
    ], datas


def database(path, messages):
    """Write a rosbag2 SQLite file as old recorders did, without definitions."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, serialization_format)")
    connection.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data)")
    connection.execute("INSERT INTO topics VALUES (1, '/front', ?, 'cdr')", (PICTURE,))
    for turn, data in enumerate(messages):
        connection.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", (START_NS + turn, data))
    connection.commit()
    connection.close()
