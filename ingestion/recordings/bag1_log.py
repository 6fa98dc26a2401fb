"""Read a ROS 1 bag from its beginning to its end, record by record, without its index.

The reader of the `rosbags` library needs an index that is whole; a bag whose recorder was killed has none.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from rosbags.rosbag1.reader import Header, ReaderError, RecordType

from driveflow.errors import BrokenDataError
from ingestion.containers import Opener
from ingestion.recordings.messages import MAX_CHUNK_BYTES, MAX_SCHEMA_BYTES, Loss, Message, Topic
from ingestion.recordings.unpacking import BROKEN, unpack

_MAGIC: Final = b"#ROSBAG V2.0\n"
_READ: Final = {RecordType.BAGHEADER, RecordType.CHUNK, RecordType.CONNECTION, RecordType.MSGDATA}
_SIZE_BYTES: Final = 4
_MALFORMED: Final = (ReaderError, UnicodeDecodeError, ValueError, MemoryError)


@dataclass(frozen=True, slots=True)
class Bag1Log:
    """A ROS 1 bag of `byte_count` bytes as a log of messages."""

    opener: Opener
    byte_count: int

    def messages(self, losses: list[Loss]) -> Iterator[Message]:
        """Yield all messages that are whole, in the order of the file.

        Raises:
            BrokenDataError: recording_broken, where the file does not begin as a bag of version 2.0;
                recording_encrypted.
        """
        with self.opener() as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise BrokenDataError("recording_broken", "does not begin as a ROS bag of version 2.0")
            yield from _Walk(stream, self.byte_count, losses).messages()


@dataclass(slots=True)
class _Walk:
    """One way through a bag, and the connections met on it."""

    stream: BinaryIO
    byte_count: int
    losses: list[Loss]
    topics: dict[int, Topic] = field(default_factory=dict)
    indexed: bool = True
    strays: int = 0  # messages of connections that nothing defines

    def messages(self) -> Iterator[Message]:
        at = len(_MAGIC)
        while at < self.byte_count:
            try:
                head, length = self._head()
                end = self.stream.tell() + length
                if end > self.byte_count:
                    raise ReaderError(f"a record of {length:,} bytes is not whole")
            except _MALFORMED as error:
                self._lose(at, f"and from there on no record can be read: {error}")
                break
            yield from self._take(head, length, at)
            self.stream.seek(end)
            at = end
        else:
            if not self.indexed:
                self._lose(at, "the recording was never closed")
        if self.strays:
            detail = f"{self.strays} messages belong to connections that nothing in the file defines"
            self.losses.append(Loss("recording_unknown_type", detail))

    def _head(self) -> tuple[Header, int]:
        """Return the head of the next record, and how many bytes of data follow it."""
        size = self.stream.read(_SIZE_BYTES)
        if int.from_bytes(size, "little") > MAX_SCHEMA_BYTES:
            raise ReaderError(f"a head of {int.from_bytes(size, 'little'):,} bytes")
        head = Header.read(io.BytesIO(size + self.stream.read(int.from_bytes(size, "little"))))
        head.get_uint8("op")
        length = self.stream.read(_SIZE_BYTES)
        if len(length) < _SIZE_BYTES:
            raise ReaderError("the file ends in a head")
        return head, int.from_bytes(length, "little")

    def _take(self, head: Header, length: int, at: int) -> Iterator[Message]:
        if head.get_uint8("op") not in _READ:
            return
        if length > MAX_CHUNK_BYTES:
            detail = f"the record at byte {at:,} has {length:,} bytes; at most {MAX_CHUNK_BYTES:,} are read"
            self.losses.append(Loss("recording_too_large", detail, length))
            return
        try:
            yield from self._read_record(head, self.stream.read(length))
        except BrokenDataError:
            raise
        except (*_MALFORMED, *BROKEN) as error:
            detail = f"the record at byte {at:,} cannot be read: {error}"
            self.losses.append(Loss("recording_broken_chunk", detail, length))

    def _read_record(self, head: Header, data: bytes) -> Iterator[Message]:
        match head.get_uint8("op"):
            case RecordType.CHUNK:
                unpacked = unpack(data, head.get_string("compression"), head.get_uint32("size"))
                yield from self._read_chunk(io.BytesIO(unpacked), len(unpacked))
            case RecordType.CONNECTION:
                self.topics[head.get_uint32("conn")] = _topic(head, data)
            case RecordType.MSGDATA:
                topic = self.topics.get(head.get_uint32("conn"))
                self.strays += topic is None
                if topic is not None:
                    yield Message(topic, head.get_time("time"), data)
            case _:
                self.indexed = head.get_uint64("index_pos") > 0
                if head.get("encryptor"):
                    raise BrokenDataError("recording_encrypted", f"encrypted by {head.get_string('encryptor')}")

    def _read_chunk(self, chunk: BinaryIO, size: int) -> Iterator[Message]:
        while chunk.tell() < size:
            head = Header.read(chunk)
            data = chunk.read(int.from_bytes(chunk.read(_SIZE_BYTES), "little"))
            if head.get_uint8("op") in {RecordType.CONNECTION, RecordType.MSGDATA}:
                yield from self._read_record(head, data)

    def _lose(self, at: int, why: str) -> None:
        lost = self.byte_count - at
        detail = f"whole up to byte {at:,} of {self.byte_count:,}; {why}"
        self.losses.append(Loss("recording_cut_short", detail, lost))


def _topic(head: Header, data: bytes) -> Topic:
    said = Header.read(io.BytesIO(len(data).to_bytes(_SIZE_BYTES, "little") + data))
    definition = said.get("message_definition", b"")
    return Topic(head.get_string("topic"), said.get_string("type"), "ros1", "ros1msg", definition)
