import io
import time

import numpy as np
import pytest
import zstandard
from mcap.writer import Writer

from driveflow.errors import BrokenDataError
from driveflow.formats.recording_text import parse_recording
from ingestion.recordings.log_survey import LogSurvey
from ingestion.recordings.messages import Message, Topic
from ingestion.recordings.naming import FrameNames
from tests.ingestion.batches import adds_up, picture, quarantined, rows
from tests.ingestion.recorded import PICTURE, START_NS, STEP_NS, Ros2, gray_levels, mcap, of_file, video
from tests.ingestion.recorded_batches import one, pictures

ROS = Ros2()


def written(fill):
    """Return the MCAP that `fill` writes."""
    stream = io.BytesIO()
    writer = Writer(stream)
    writer.start("ros2", "tests")
    fill(writer)
    writer.finish()
    return stream.getvalue()


def _channel(writer, topic="/front", name=PICTURE, text=None, encoding="cdr"):
    text = ROS.text(name) if text is None else text
    return writer.register_channel(topic, encoding, writer.register_schema(name, "ros2msg", text.encode()))


def _why(batch):
    return dict(rows(batch.beside.quarantine, "path", "detail"))


def test_a_message_that_cannot_be_read_changes_the_name_of_no_camera(tmp_path):
    broken = ("/front/compressed", START_NS + 10 * STEP_NS, (PICTURE, b"\0\1\0\0" + b"\xff" * 30))
    batch = one(tmp_path, mcap([*pictures(3, ROS)[0], broken], ROS))

    assert set(batch.tables.sources["camera"].to_pylist()) == {"front"}
    assert batch.counts["frames"] == 3
    assert set(quarantined(batch).values()) == {"recording_bad_message"}


def test_each_type_of_a_topic_that_has_several_is_told_with_its_own_reason(tmp_path):
    def fill(writer):
        good = _channel(writer)
        other = _channel(writer, name="acme/msg/Other", text="uint8 x\n")
        json = _channel(writer, encoding="json")
        writer.add_message(good, START_NS, ROS.packed(ROS.picture(picture(1), START_NS))[1], START_NS)
        writer.add_message(other, START_NS, b"\0\1\0\0\1", START_NS)
        writer.add_message(json, START_NS, b"{}", START_NS)

    found = one(tmp_path, written(fill)).beside.quarantine

    assert rows(found, "reason", "detail") == [
        ("recording_unknown_type", "1 messages of acme/msg/Other on /front are not read: the type is not known"),
        (
            "recording_unreadable_topic",
            f"1 messages of {PICTURE} on /front are not read: messages in json are not read",
        ),
    ]


def test_a_topic_that_every_chunk_defines_again_is_one_topic():
    text = ROS.text(PICTURE).encode()
    survey = LogSurvey()
    for turn in range(700):
        data = ROS.packed(ROS.picture(picture(1, (8, 8)), START_NS + turn))[1]
        survey.add(Message(Topic("/front", PICTURE, "cdr", "ros2msg", bytes(bytearray(text))), START_NS, data))

    assert survey.pictures == 700
    assert parse_recording(survey.text()).problems == ()


def test_names_of_frames_whose_clock_stands_still_take_no_longer_than_others():
    names = FrameNames()
    before_s = time.process_time()
    found = [names.take("front", START_NS, ".jpg") for _ in range(20_000)]

    assert time.process_time() - before_s < 10
    assert len(set(found)) == 20_000
    assert found[:2] + found[-1:] == [f"front/{START_NS}{turn}.jpg" for turn in ("", "-2", "-20000")]


def test_attachments_of_an_mcap_are_named(tmp_path):
    def fill(writer):
        message = ROS.packed(ROS.picture(picture(1), START_NS))[1]
        writer.add_message(_channel(writer), START_NS, message, START_NS)
        for turn in range(7):
            writer.add_attachment(START_NS, START_NS, f"calib/{turn}.jpg", "image/jpeg", picture(turn))

    batch = one(tmp_path, written(fill))

    assert quarantined(batch) == {"drive.mcap": "recording_attachment"}
    assert _why(batch)["drive.mcap"].endswith("'calib/4.jpg' (image/jpeg) and 2 more")
    adds_up(batch)


@pytest.mark.parametrize("more", [b"garbage", mcap(pictures(1, ROS)[0], ROS)])
def test_a_second_recording_behind_the_end_of_an_mcap_is_named(tmp_path, more):
    batch = one(tmp_path, mcap(pictures(2, ROS)[0], ROS) + more)

    assert batch.counts["frames"] == 2
    assert quarantined(batch) == {"drive.mcap": "recording_stray_bytes"}
    assert _why(batch)["drive.mcap"].startswith(f"{len(more):,} bytes behind its end")


def test_an_mcap_that_is_cut_in_its_summary_has_lost_nothing(tmp_path):
    whole = mcap(pictures(2, ROS)[0], ROS)
    batch = one(tmp_path, whole[:-30])

    assert batch.counts["frames"] == 2
    assert quarantined(batch) == {}


def test_messages_packed_one_by_one_in_an_mcap_are_unpacked(tmp_path):
    packed = [(topic, log_ns, (PICTURE, zstandard.compress(ROS.packed(message)[1])))
              for topic, log_ns, message in pictures(2, ROS)[0]]  # fmt: skip
    cut = ("/front/compressed", START_NS, (PICTURE, zstandard.compress(bytes(500))[:-3]))
    batch = one(tmp_path, mcap([*packed, cut], ROS))

    assert batch.counts["frames"] == 2
    assert set(quarantined(batch).values()) == {"recording_bad_message"}


@pytest.mark.parametrize(("status", "found"), [(-2, None), (-1, None), (0, 48.1), (2, 48.1)])
def test_a_fix_whose_status_is_not_known_yet_is_no_place(tmp_path, status, found):
    fix = ("/fix", START_NS, ROS.fix(48.1, 11.5, START_NS, status))
    batch = one(tmp_path, mcap([*pictures(1, ROS)[0], fix], ROS))

    assert batch.tables.sources["lat"].to_pylist() == [found]
    told = [note for note in batch.notes if "1 messages on /fix have no fix, or no place on Earth." in note]
    assert len(told) == (found is None)


@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        ("16UC1; compressedDepth png", bytes(12) + b"\x89PNG\r\n\x1a\n", "depth (compressedDepth)"),
        ("h264", b"\0\0\0\1\x67\x42", "a piece of an H.26x video"),
    ],
)
def test_depth_and_video_in_compressed_images_are_called_so(tmp_path, kind, data, why):
    message = ROS.make(PICTURE, ROS.header(START_NS, "front"), kind, np.frombuffer(data, np.uint8))
    batch = one(tmp_path, mcap([*pictures(1, ROS)[0], ("/other", START_NS, (PICTURE, message))], ROS))

    (reason,) = quarantined(batch).values()
    assert reason == "unsupported"
    assert why in next(iter(_why(batch).values()))


@pytest.mark.parametrize(
    ("section", "told"), [({"clock": "gps"}, 1), ({"epoch_ns": 5}, 1), ({"clock": "utc"}, 0), ({}, 0)]
)
def test_a_clock_of_the_batch_that_counts_for_no_frame_of_a_recording_is_told(tmp_path, section, told):
    batch = one(tmp_path, mcap(pictures(2, ROS)[0], ROS), **section)

    note = "`clock` and `epoch_ns` of the batch count for no time whose source has a clock: 2 utc."
    assert batch.notes.count(note) == told
    assert batch.tables.sources["clock"].to_pylist() == ["utc", "utc"]


def test_scores_that_are_no_probabilities_are_told(tmp_path):
    found = ROS.boxes([("car", 7.5, 1, 2, 10, 20), ("car", -1.0, 1, 2, 30, 20)], START_NS)
    batch = one(tmp_path, mcap([*pictures(1, ROS)[0], ("/found", START_NS, found)], ROS))

    assert sorted(batch.tables.boxes["score"].to_pylist()) == [-1.0, 7.5]
    assert "drive.mcap: Its scores reach from -1 to 7.5: no probabilities." in batch.notes


def test_a_piece_of_a_longer_video_is_not_taken_for_one_that_was_cut_short(tmp_path):
    path = video(tmp_path / "piece.mkv", gray_levels(12), stamps=[100 + turn for turn in range(12)])

    assert [member.refused for member in of_file(path).members() if member.refused] == []


def test_what_is_wrong_with_a_video_is_told_without_its_path_on_this_machine(tmp_path):
    path = video(tmp_path / "whole.mp4", gray_levels(12))
    path.write_bytes(path.read_bytes()[:200])

    with pytest.raises(BrokenDataError) as error:
        of_file(path).members()

    assert str(tmp_path) not in error.value.detail
    assert error.value.detail.endswith("it may be cut short")
