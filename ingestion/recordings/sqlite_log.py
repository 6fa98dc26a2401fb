"""Read the SQLite file of a rosbag2 recording, row by row; a file cut short is read as far as its pages go."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import apsw

from driveflow.errors import BrokenDataError
from ingestion.containers import Opener
from ingestion.recordings.definitions import ros_name
from ingestion.recordings.messages import MAX_SCHEMA_BYTES, Loss, Message, Topic
from ingestion.recordings.sqlite_stream import Watch, opened_database
from ingestion.recordings.unpacking import BROKEN, plain_message

_MAGIC: Final = b"SQLite format 3\0"
_BROKEN: Final = (apsw.Error, UnicodeDecodeError, MemoryError)
_SIZES: Final = {"page": slice(16, 18), "pages": slice(28, 32)}  # of the head of an SQLite file
_MAX_TOPICS: Final = 100_000


@dataclass(frozen=True, slots=True)
class SqliteLog:
    """A rosbag2 SQLite file of `byte_count` bytes as a log of messages."""

    opener: Opener
    byte_count: int

    def messages(self, losses: list[Loss]) -> Iterator[Message]:
        """Yield all messages that can be read, in the order in which they were written.

        Raises:
            BrokenDataError: recording_broken, where it is no SQLite file or has no tables of rosbag2.
        """
        with self.opener() as stream:
            head = stream.read(32)
            if not head.startswith(_MAGIC):
                raise BrokenDataError("recording_broken", "does not begin as an SQLite file")
            missing = _said_bytes(head) - self.byte_count
            if missing > 0:
                detail = f"{self.byte_count:,} bytes of {_said_bytes(head):,}; {missing:,} bytes are lost"
                losses.append(Loss("recording_cut_short", detail, missing))
            try:
                with opened_database(stream, self.byte_count, _said_bytes(head)) as (database, watch):
                    topics = _topics(database)
                    yield from _rows(_Bag(database, watch, topics), losses)
            except apsw.Error as error:
                raise BrokenDataError("recording_broken", f"cannot be opened: {error}") from error


@dataclass(slots=True)
class _Bag:
    """An open bag."""

    database: apsw.Connection
    watch: Watch
    topics: dict[int, Topic]


def _said_bytes(head: bytes) -> int:
    """Return how large the file says it is."""
    page = int.from_bytes(head[_SIZES["page"]], "big")
    return (65536 if page == 1 else page) * int.from_bytes(head[_SIZES["pages"]], "big")


def _topics(database: apsw.Connection) -> dict[int, Topic]:
    try:
        schema = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        tables = {str(name) for (name,) in database.execute(schema)}
        defined = _definitions(database) if "message_definitions" in tables else {}
        found = {}
        if {"topics", "messages"} <= tables:
            rows = database.execute("SELECT id, name, type, serialization_format FROM topics LIMIT ?", (_MAX_TOPICS,))
            for number, name, type_name, encoding in rows:
                definition = defined.get(ros_name(str(type_name)), ("", b""))
                found[int(number)] = Topic(str(name), str(type_name), str(encoding), *definition)
    except (*_BROKEN, TypeError, ValueError) as error:
        raise BrokenDataError("recording_broken", f"its list of topics cannot be read: {error}") from error
    if not {"topics", "messages"} <= tables:
        raise BrokenDataError("recording_broken", "an SQLite file without the tables of a rosbag2 recording")
    return found


def _definitions(database: apsw.Connection) -> dict[str, tuple[str, bytes]]:
    query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions LIMIT ?"
    found = {}
    for type_name, encoding, text in database.execute(query, (_MAX_TOPICS,)):
        if isinstance(text, str) and len(text) <= MAX_SCHEMA_BYTES:
            found[ros_name(str(type_name))] = (str(encoding), text.encode())
    return found


def _rows(bag: _Bag, losses: list[Loss]) -> Iterator[Message]:
    strays = read = 0
    bad: list[str] = []
    try:
        # by the rows themselves, not by an index: in the order of writing, and with no sorting in memory
        for topic_id, log_ns, data in bag.database.execute(
            "SELECT topic_id, timestamp, data FROM messages NOT INDEXED"
        ):
            bag.watch.rows += 1
            read += 1
            topic = bag.topics.get(topic_id) if isinstance(topic_id, int) else None
            if topic is None or not isinstance(log_ns, int) or not isinstance(data, bytes):
                strays += 1
                continue
            try:
                yield Message(topic, log_ns, plain_message(data))
            except BROKEN as error:
                bad.append(str(error))
    except _BROKEN as error:
        losses.append(Loss("recording_cut_short", f"after {read:,} messages no more can be read: {error}"))
    if strays:
        detail = f"{strays} messages belong to no topic, or are none"
        losses.append(Loss("recording_unknown_type", detail))
    if bad:
        losses.append(Loss("recording_broken_chunk", f"{len(bad)} messages cannot be unpacked: {bad[0]}"))
