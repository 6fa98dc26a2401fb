"""Make decoders of the message definitions that a log holds.

The definitions are text of strangers from which a library makes code, so they are judged first.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.base import TypesysError
from rosbags.typesys.msg import normalize_msgtype

from ingestion.recordings.messages import Topic
from ingestion.recordings.weights import MAX_LISTED_BYTES, makes_many, protobuf_parts, ros_parts

Decoder = Callable[[bytes], Any]
Fields = Mapping[str, Any]

UNDECODABLE: Final = (SerdeError, TypesysError, ValueError, KeyError, TypeError, AttributeError, IndexError,
                      RecursionError, MemoryError, SyntaxError, ArithmeticError, AssertionError)  # fmt: skip
"""What a decoder may raise on messages or definitions that make no sense."""

_MAX_TYPES: Final = 300
_MAX_ARRAY: Final = 4096  # items of fixed arrays; a covariance has 36


class UnreadableTopicError(Exception):
    """A topic whose messages cannot be decoded; the text says why."""


@lru_cache(maxsize=64)  # the parts of one bag define the same topics
def decoder_of(topic: Topic) -> Decoder:
    """Return what decodes the messages of `topic`.

    Raises:
        UnreadableTopicError: the log does not define its type, or in a way that is not read.
    """
    try:
        if topic.encoding == "protobuf":
            return _protobuf_decoder(topic)
        if topic.encoding in {"cdr", "ros1", "ros1msg"}:
            return _ros_decoder(topic)
    except UNDECODABLE as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UnreadableTopicError(f"its definition makes no sense: {reason}") from error
    raise UnreadableTopicError(f"messages in {topic.encoding or 'an unnamed encoding'} are not read")


@cache
def standard_types() -> frozenset[str]:
    """Return the types that ROS itself brings, under their ROS 2 names."""
    stores = (get_typestore(Stores.LATEST), get_typestore(Stores.ROS1_NOETIC))
    return frozenset(name for store in stores for name in store.fielddefs)


def ros_name(type_name: str) -> str:
    """Return the ROS 2 spelling of a type.

    >>> [ros_name(name) for name in ("sensor_msgs/Image", "sensor_msgs/msg/Image", "foxglove.RawImage")]
    ['sensor_msgs/msg/Image', 'sensor_msgs/msg/Image', 'foxglove.RawImage']
    """
    return normalize_msgtype(type_name) if type_name.count("/") == 1 else type_name


def _ros_decoder(topic: Topic) -> Decoder:
    name = ros_name(topic.type_name)
    store = get_typestore(Stores.EMPTY)
    needed = _needed(name, _defined(topic, name), topic.encoding)
    store.register(dict(needed))
    many = makes_many(name, lambda part: ros_parts(needed[part][1]) if part in needed else [])
    if topic.encoding == "cdr":
        return lambda data: store.deserialize_cdr(_bounded(data, many=many), name)
    return lambda data: store.deserialize_ros1(_bounded(data, many=many), name)


def _bounded(data: bytes, *, many: bool) -> bytes:
    """Return `data`, where what is made of it stays in bounds.

    Raises:
        ValueError: it is too large for a message of `many` objects.
    """
    if many and len(data) > MAX_LISTED_BYTES:
        detail = f"{len(data):,} bytes; at most {MAX_LISTED_BYTES:,} of a message with lists of objects in it are read"
        raise ValueError(detail)
    return data


def _defined(topic: Topic, name: str) -> Fields:
    text = topic.schema.decode("utf-8", "replace")
    if topic.schema_encoding == "ros2idl":
        return get_types_from_idl(text)
    return get_types_from_msg(text, name) if text.strip() else {}


def _needed(name: str, defined: Fields, encoding: str) -> Fields:
    """Return the definitions that `name` is made of; what the log leaves out is taken from ROS itself."""
    known = get_typestore(Stores.LATEST if encoding == "cdr" else Stores.ROS1_NOETIC).fielddefs
    built_in = get_typestore(Stores.EMPTY).fielddefs
    found: dict[str, Any] = {}
    open_names = [name]
    while open_names:
        wanted = open_names.pop()
        if wanted in found or wanted in built_in:
            continue
        definition = defined.get(wanted) or known.get(wanted)
        if definition is None:
            raise UnreadableTopicError(f"the log does not define {wanted}")
        found[wanted] = definition
        open_names += _parts(wanted, definition[1])
        if len(found) > _MAX_TYPES:
            raise UnreadableTopicError(f"its definition names more than {_MAX_TYPES} types")
    return found


def _parts(name: str, fields: list[tuple[str, Any]]) -> list[str]:
    """Return the types that a definition uses; one that could make much of few bytes is refused."""
    if not fields:
        raise UnreadableTopicError(f"{name} in it has no fields")
    parts: list[str] = []
    for _, (kind, what) in fields:
        item = what[0] if kind in {Nodetype.ARRAY, Nodetype.SEQUENCE} else (kind, what)
        if kind == Nodetype.ARRAY and what[1] > _MAX_ARRAY:
            raise UnreadableTopicError(f"{name} in it has an array of {what[1]:,} items")
        if item[0] == Nodetype.NAME:
            parts.append(item[1])
    return parts


def _protobuf_decoder(topic: Topic) -> Decoder:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.message import DecodeError
    from mcap.exceptions import McapError
    from mcap.records import Schema
    from mcap_protobuf.decoder import DecoderFactory

    schema = Schema(id=1, data=topic.schema, encoding=topic.schema_encoding, name=topic.type_name)
    try:
        decode = DecoderFactory().decoder_for("protobuf", schema)
        types = _protobuf_types(FileDescriptorSet.FromString(topic.schema))
    except (McapError, DecodeError) as error:
        raise UnreadableTopicError(f"its definition makes no sense: {error}") from error
    if decode is None:
        raise UnreadableTopicError(f"definitions in {topic.schema_encoding or 'no encoding'} are not read")

    many = makes_many(topic.type_name, lambda part: protobuf_parts(types[part]) if part in types else [])

    def decoded(data: bytes) -> Any:  # noqa: ANN401 a class that the schema makes
        try:
            return decode(_bounded(data, many=many))
        except DecodeError as error:
            raise ValueError(f"no message of its type: {error}") from error

    return decoded


def _protobuf_types(files: Any) -> dict[str, Any]:  # noqa: ANN401 a FileDescriptorSet
    """Return the messages that a definition has, by their full names."""
    found: dict[str, Any] = {}
    open_types = [(file.package, message) for file in files.file for message in file.message_type]
    while open_types:
        home, message = open_types.pop()
        name = f"{home}.{message.name}" if home else message.name
        found[name] = message
        open_types += [(name, inner) for inner in message.nested_type]
    return found
