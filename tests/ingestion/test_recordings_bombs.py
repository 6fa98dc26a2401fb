import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet

from driveflow.formats.recording_text import parse_recording
from ingestion.recordings.log_survey import LogSurvey
from ingestion.recordings.messages import Message, Topic
from tests.ingestion.batches import picture
from tests.ingestion.recorded import DETECTIONS, PICTURE, START_NS, Ros2
from tests.shared_data import shared_data

ROS = Ros2()
MANY = 5 << 20
HEADER = "std_msgs/Header header\nstring format\nuint8[] data\n"
SPLIT = "=" * 80
DOUBLED = "".join(f"{SPLIT}\nMSG: acme/A{n}\nacme/A{n + 1} one\nacme/A{n + 1} two\n" for n in range(20))


def surveyed(topic, *datas, most_said=1_000_000):
    """Return the members that messages on `topic` become, and the text beside them."""
    survey = LogSurvey(most_said=most_said)
    for data in datas:
        survey.add(Message(topic, START_NS, data))
    members = survey.members()
    return members, parse_recording(survey.text())


def _ros(definition, name=PICTURE):
    text = f"{definition}{SPLIT}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
    return Topic("/front", name, "cdr", "ros2msg", text.encode())


def _field(name, number, kind, label, type_name=""):
    kinds = {"bytes": FieldDescriptorProto.TYPE_BYTES, "message": FieldDescriptorProto.TYPE_MESSAGE,
             "number": FieldDescriptorProto.TYPE_UINT64}  # fmt: skip
    return FieldDescriptorProto(name=name, number=number, type=kinds[kind], label=label, type_name=type_name or None)


def _protobuf(more):
    files = FileDescriptorSet()
    file = files.file.add(name="a.proto", package="foxglove", syntax="proto3")
    one, many = FieldDescriptorProto.LABEL_OPTIONAL, FieldDescriptorProto.LABEL_REPEATED
    type_name = ".foxglove.CompressedImage.Part" if more == "message" else ""
    fields = [_field("data", 3, "bytes", one), _field("more", 9, more, many, type_name)]
    file.message_type.append(
        DescriptorProto(name="CompressedImage", field=fields, nested_type=[DescriptorProto(name="Part")])
    )
    return Topic("/front", "foxglove.CompressedImage", "protobuf", "protobuf", files.SerializeToString())


BOMBS = {
    "a list of parts": _ros(f"{HEADER}acme/B[] more\n{SPLIT}\nMSG: acme/B\nuint8 x\n"),
    "a list of texts": _ros(f"{HEADER}string[] more\n"),
    "arrays in arrays": _ros(
        f"{HEADER}acme/B[4096] more\n{SPLIT}\nMSG: acme/B\nacme/C[4096] c\n{SPLIT}\nMSG: acme/C\nuint8 x\n"
    ),
    "parts of two parts of two": _ros(f"{HEADER}acme/A0 more\n{DOUBLED}{SPLIT}\nMSG: acme/A20\nuint8 x\n"),
    "a list of parts in protobuf": _protobuf("message"),
    "a list of numbers in protobuf": _protobuf("number"),
    "boxes": Topic("/boxes", DETECTIONS, "cdr", "ros2msg", ROS.text(DETECTIONS).encode()),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_large_message_that_would_become_millions_of_objects_is_not_decoded(what):
    members, text = surveyed(BOMBS[what], b"\0\1\0\0" + bytes(MANY))
    said = [member.detail for member in members] + [problem.detail for problem in text.problems]

    assert len(said) == 1
    assert "at most 4,194,304 of a message with lists of objects in it are read" in said[0]


def test_a_large_picture_is_decoded():
    data = picture(1) + bytes(MANY)
    topic = Topic("/front", PICTURE, "cdr", "ros2msg", ROS.text(PICTURE).encode())
    (member,), _ = surveyed(topic, ROS.packed(ROS.picture(data, START_NS))[1])

    assert (member.refused, member.byte_count) == ("", len(data))


def test_a_large_picture_of_foxglove_is_decoded():
    from mcap.reader import make_reader

    with (shared_data("fmt_recordings") / "foxglove_protobuf.mcap").open("rb") as stream:
        found = make_reader(stream).iter_messages()
        schema, data = next((schema.data, message.data) for schema, _, message in found if "CompressedI" in schema.name)
    topic = Topic("/front", "foxglove.CompressedImage", "protobuf", "protobuf", schema)
    (member,), _ = surveyed(topic, data + b"\xfa\x7f" + _varint(MANY) + bytes(MANY))

    assert member.refused == ""


def _varint(value):
    return bytes([value & 127 | 128, value >> 7 & 127 | 128, value >> 14 & 127 | 128, value >> 21])


def test_of_a_flood_of_places_the_first_are_kept_and_the_rest_is_counted():
    name, fix = ROS.fix(48.1, 11.5, START_NS)
    topic = Topic("/fix", name, "cdr", "ros2msg", ROS.text(name).encode())
    _, text = surveyed(topic, *[ROS.packed((name, fix))[1]] * 5, most_said=3)

    assert len(text.places) == 3
    assert [(problem.reason, problem.detail) for problem in text.problems] == [
        ("recording_too_large", "2 messages on /fix are not read: beyond the first 3 of boxes, places and speeds")
    ]
