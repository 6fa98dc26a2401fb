"""Read an MCAP from its beginning to its end, chunk by chunk, without its index.

A file cut short is read as far as it goes. The records are those of the `mcap` library; its readers either need the
index or stop at the first damage.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Schema

from driveflow.errors import BrokenDataError
from ingestion.containers import Opener
from ingestion.recordings.messages import MAX_CHUNK_BYTES, MAX_SCHEMA_BYTES, Loss, Message, Topic, int64_or_zero
from ingestion.recordings.unpacking import BROKEN, plain_message, unpack

_MAGIC: Final = b"\x89MCAP0\r\n"
_RECORD: Final = struct.Struct("<BQ")
_MESSAGE: Final = struct.Struct("<HIQQ")
_READ: Final = {Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE, Opcode.CHUNK}
_INSIDE: Final = {Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE}
_ENDS: Final = {Opcode.DATA_END, Opcode.FOOTER}
_ABOUT_BYTES: Final = 1 << 16  # of an attachment: times, name and media type
_SHOWN: Final = 5
_NAME: Final = 100  # characters of a name that are shown
_MALFORMED: Final = (McapError, struct.error, UnicodeDecodeError, MemoryError, OverflowError)


@dataclass(frozen=True, slots=True)
class McapLog:
    """An MCAP of `byte_count` bytes as a log of messages."""

    opener: Opener
    byte_count: int

    def messages(self, losses: list[Loss]) -> Iterator[Message]:
        """Yield all messages that are whole, in the order of the file.

        Raises:
            BrokenDataError: recording_broken, where the file does not begin as an MCAP.
        """
        with self.opener() as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise BrokenDataError("recording_broken", "does not begin as an MCAP")
            yield from _Walk(stream, self.byte_count, losses).messages()


@dataclass(slots=True)
class _Walk:
    """One way through a file, and the definitions met on it."""

    stream: BinaryIO
    byte_count: int
    losses: list[Loss]
    schemas: dict[int, Schema] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    strays: int = 0  # messages of channels that nothing defines
    attached: list[str] = field(default_factory=list)  # what the first attachments are called
    attachments: int = 0

    def messages(self) -> Iterator[Message]:
        at = len(_MAGIC)
        while True:
            head = self.stream.read(_RECORD.size)
            if len(head) < _RECORD.size:
                self._cut_short(at, "the end of the data is not marked")
                break
            opcode, length = _RECORD.unpack(head)
            if opcode in _ENDS:
                self._tell_tail(opcode, at + _RECORD.size + length)
                break
            end = at + _RECORD.size + length
            if end > self.byte_count:
                self._cut_short(at, f"a record of {length:,} bytes begins there and is not whole")
                break
            if opcode == Opcode.ATTACHMENT:
                self._note_attachment(self.stream.read(min(length, _ABOUT_BYTES)))
            if opcode not in _READ or not self._fits(opcode, length, at):
                self.stream.seek(end)
            else:
                yield from self._read_record(opcode, self.stream.read(length), at)
            at = end
        self._tell_strays()
        self._tell_attached()

    def _fits(self, opcode: int, length: int, at: int) -> bool:
        """Tell whether the record at `at` may be read into memory; one that may not is a loss."""
        most = MAX_SCHEMA_BYTES if opcode in {Opcode.SCHEMA, Opcode.CHANNEL} else MAX_CHUNK_BYTES
        if length > most:
            detail = f"the record at byte {at:,} has {length:,} bytes; at most {most:,} are read"
            self.losses.append(Loss("recording_too_large", detail, length))
        return length <= most

    def _read_record(self, opcode: int, body: bytes, at: int) -> Iterator[Message]:
        if opcode == Opcode.CHUNK:
            yield from self._read_chunk(body, at)
            return
        try:
            message = self._take(opcode, memoryview(body))
        except _MALFORMED as error:
            self._broken(f"the record at byte {at:,}", str(error), len(body))
            return
        if message is not None:
            yield message

    def _read_chunk(self, body: bytes, at: int) -> Iterator[Message]:
        try:
            chunk = Chunk.read(ReadDataStream(io.BytesIO(body)))
            data = unpack(chunk.data, chunk.compression, chunk.uncompressed_size)
            if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
                raise ValueError("its check sum is another")
        except (*_MALFORMED, *BROKEN) as error:
            self._broken(f"the chunk at byte {at:,}", str(error), len(body))
            return
        yield from self._read_unpacked(memoryview(data), at)

    def _read_unpacked(self, data: memoryview, chunk_at: int) -> Iterator[Message]:
        at = 0
        while at < len(data):
            try:
                opcode, length = _RECORD.unpack_from(data, at)
                if opcode not in _INSIDE:
                    raise struct.error(f"a record of kind {opcode} in it")
                start, at = at + _RECORD.size, at + _RECORD.size + length
                if at > len(data):
                    raise struct.error("a record in it is not whole")
                message = self._take(opcode, data[start:at])
            except _MALFORMED as error:
                self._broken(f"the chunk at byte {chunk_at:,}", str(error), len(data) - at)
                return
            if message is not None:
                yield message

    def _take(self, opcode: int, body: memoryview) -> Message | None:
        """Return the message in a record; keep what a record defines."""
        if opcode == Opcode.MESSAGE:
            channel_id, _sequence, log_ns, _publish_ns = _MESSAGE.unpack_from(body)
            topic = self.topics.get(channel_id)
            self.strays += topic is None
            if topic is None:
                return None
            return Message(topic, int64_or_zero(log_ns), _plain(topic, bytes(body[_MESSAGE.size :])))
        if opcode == Opcode.SCHEMA and len(body) <= MAX_SCHEMA_BYTES:
            schema = Schema.read(ReadDataStream(io.BytesIO(body)))
            self.schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(ReadDataStream(io.BytesIO(body)))
            self.topics[channel.id] = _topic(channel, self.schemas.get(channel.schema_id))
        return None

    def _cut_short(self, at: int, why: str) -> None:
        lost = self.byte_count - at
        detail = f"whole up to byte {at:,} of {self.byte_count:,}; {why}, {lost:,} bytes are lost"
        self.losses.append(Loss("recording_cut_short", detail, lost))

    def _broken(self, what: str, why: str, byte_count: int) -> None:
        self.losses.append(Loss("recording_broken_chunk", f"{what} cannot be read: {why or 'not whole'}", byte_count))

    def _tell_tail(self, opcode: int, at: int) -> None:
        """Name what is behind the end of the file's own last record; a summary that is cut short loses nothing."""
        while opcode != Opcode.FOOTER:
            if at + _RECORD.size > self.byte_count:
                return
            self.stream.seek(at)
            head = self.stream.read(_RECORD.size)
            opcode, length = _RECORD.unpack(head)
            at += _RECORD.size + length
        if (behind := self.byte_count - at - len(_MAGIC)) > 0:
            detail = f"{behind:,} bytes behind its end are not read: are these two recordings in one file?"
            self.losses.append(Loss("recording_stray_bytes", detail, behind))

    def _note_attachment(self, head: bytes) -> None:
        self.attachments += 1
        if len(self.attached) < _SHOWN:
            self.attached.append(_about_attachment(head))

    def _tell_attached(self) -> None:
        if self.attached:
            others = self.attachments - len(self.attached)
            more = f" and {others} more" if others else ""
            detail = f"attachments are not read; 'mcap get attachment' takes them out: {', '.join(self.attached)}{more}"
            self.losses.append(Loss("recording_attachment", detail))

    def _tell_strays(self) -> None:
        if self.strays:
            detail = f"{self.strays} messages belong to channels that nothing in the file defines"
            self.losses.append(Loss("recording_unknown_type", detail))


def _about_attachment(head: bytes) -> str:
    """Return name and media type of the attachment that begins with `head`."""
    try:
        stream = ReadDataStream(io.BytesIO(head))
        stream.read(16)  # two times
        name, media_type = stream.read_prefixed_string(), stream.read_prefixed_string()
        return f"{name[:_NAME]!r} ({media_type[:_NAME] or 'no media type'})"
    except _MALFORMED:
        return "one without a name"


def _plain(topic: Topic, data: bytes) -> bytes:
    """Return a message unpacked; of one that cannot be the decoder will say what it is not."""
    try:
        return plain_message(data) if topic.encoding == "cdr" else data
    except BROKEN:
        return data


def _topic(channel: Channel, schema: Schema | None) -> Topic:
    if schema is None:
        return Topic(channel.topic, "", channel.message_encoding)
    return Topic(channel.topic, schema.name, channel.message_encoding, schema.encoding, schema.data)
