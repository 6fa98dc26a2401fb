"""Small real recordings for the tests: message logs written by the libraries of their formats, videos by FFmpeg."""

import io
from fractions import Fraction
from pathlib import Path

import numpy as np
from mcap.writer import CompressionType, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from driveflow.storage.objects import ObjectInfo
from ingestion.open_container import ContainerRules, open_container

START_NS = 1_700_000_000_123_456_789
STEP_NS = 100_000_000
PICTURE = "sensor_msgs/msg/CompressedImage"
DETECTIONS = "vision_msgs/msg/Detection2DArray"
_HEADS = """
std_msgs/Header header
vision_msgs/Detection2D[] detections
================================================================================
MSG: vision_msgs/Detection2D
std_msgs/Header header
vision_msgs/ObjectHypothesisWithPose[] results
vision_msgs/BoundingBox2D bbox
"""
LAYOUTS = {
    3: _HEADS
    + """string id
================================================================================
MSG: vision_msgs/ObjectHypothesisWithPose
vision_msgs/ObjectHypothesis hypothesis
================================================================================
MSG: vision_msgs/ObjectHypothesis
string class_id
float64 score
================================================================================
MSG: vision_msgs/BoundingBox2D
geometry_msgs/Pose2D center
float64 size_x
float64 size_y
================================================================================
MSG: geometry_msgs/Pose2D
float64 x
float64 y
float64 theta
""",
    4: _HEADS
    + """string id
================================================================================
MSG: vision_msgs/ObjectHypothesisWithPose
vision_msgs/ObjectHypothesis hypothesis
================================================================================
MSG: vision_msgs/ObjectHypothesis
string class_id
float64 score
================================================================================
MSG: vision_msgs/BoundingBox2D
vision_msgs/Pose2D center
float64 size_x
float64 size_y
================================================================================
MSG: vision_msgs/Pose2D
vision_msgs/Point2D position
float64 theta
================================================================================
MSG: vision_msgs/Point2D
float64 x
float64 y
""",
}
"""How vision_msgs 3 and 4 lay out boxes, without the poses, which say nothing about pictures."""


class Ros2:
    """Messages of ROS 2 in the standard types and one layout of vision_msgs."""

    def __init__(self, layout=4):
        """Know the types."""
        self.layout = layout
        self.store = get_typestore(Stores.ROS2_HUMBLE)
        self.texts = {DETECTIONS: LAYOUTS[layout].lstrip()}
        defined = get_types_from_msg(self.texts[DETECTIONS], DETECTIONS)
        self.store.register({name: what for name, what in defined.items() if name not in self.store.fielddefs})

    def make(self, name, *values):
        """Return a message of type `name`."""
        return self.store.types[name](*values)

    def header(self, stamp_ns, sensor):
        """Return a std_msgs/Header."""
        stamp = self.make("builtin_interfaces/msg/Time", stamp_ns // 10**9, stamp_ns % 10**9)
        return self.make("std_msgs/msg/Header", stamp, sensor)

    def picture(self, data, stamp_ns, sensor="front"):
        """Return a CompressedImage, with the kind of `format` that ROS writes."""
        values = (self.header(stamp_ns, sensor), "bgr8; jpeg compressed bgr8", np.frombuffer(data, np.uint8))
        return PICTURE, self.make(PICTURE, *values)

    def raw(self, pixels, encoding, stamp_ns, sensor="front", *, big=0, step=0):
        """Return an Image of the rows of `pixels`."""
        rows = np.ascontiguousarray(pixels)
        step = step or rows[0].nbytes
        name = "sensor_msgs/msg/Image"
        size = (rows.shape[0], rows.shape[1])
        data = np.frombuffer(b"".join(row.tobytes().ljust(step, b"\0") for row in rows), np.uint8)
        return name, self.make(name, self.header(stamp_ns, sensor), *size, encoding, big, step, data)

    def boxes(self, boxes, stamp_ns, sensor="front"):
        """Return a Detection2DArray of (class, score, x1, y1, x2, y2, id)."""
        head = self.header(stamp_ns, sensor)
        return DETECTIONS, self.make(DETECTIONS, head, [self._box(head, box) for box in boxes])

    def fix(self, lat, lon, stamp_ns, status=0):
        """Return a NavSatFix."""
        name = "sensor_msgs/msg/NavSatFix"
        state = self.make("sensor_msgs/msg/NavSatStatus", status, 1)
        return name, self.make(name, self.header(stamp_ns, "gps"), state, lat, lon, 0.0, np.zeros(9), 0)

    def _box(self, head, box):
        class_name, score, x1, y1, x2, y2, *rest = box
        own_id, theta = (*rest, *("", 0.0)[len(rest) :])
        hypothesis = self.make("vision_msgs/msg/ObjectHypothesis", class_name, score)
        results = [self.make("vision_msgs/msg/ObjectHypothesisWithPose", hypothesis)] if class_name else []
        spot = ((x1 + x2) / 2, (y1 + y2) / 2)
        if self.layout == 3:
            center = self.make("geometry_msgs/msg/Pose2D", *spot, theta)
        else:
            center = self.make("vision_msgs/msg/Pose2D", self.make("vision_msgs/msg/Point2D", *spot), theta)
        box = self.make("vision_msgs/msg/BoundingBox2D", center, x2 - x1, y2 - y1)
        return self.make("vision_msgs/msg/Detection2D", head, results, box, own_id)

    def text(self, name):
        """Return the definition of a type, with those it is made of."""
        return self.store.generate_msgdef(name, ros_version=2)[0]

    def packed(self, message):
        """Return (type, CDR bytes)."""
        return message[0], bytes(self.store.serialize_cdr(message[1], message[0]))


def mcap(entries, ros=None, compression=CompressionType.ZSTD, chunk_size=1 << 20, undefined=()):
    """Return an MCAP of (topic, log time, (type, message)); types in `undefined` come without a definition."""
    ros = ros or Ros2()
    stream = io.BytesIO()
    writer = Writer(stream, chunk_size=chunk_size, compression=compression)
    writer.start("ros2", "tests")
    channels = {}
    for topic, log_ns, message in entries:
        name, data = message if isinstance(message[1], bytes) else ros.packed(message)
        if topic not in channels:
            known = name not in undefined and name in ros.store.fielddefs
            text = ros.text(name).encode() if known else b""
            schema = writer.register_schema(name, "ros2msg" if text else "", text)
            channels[topic] = writer.register_channel(topic, "cdr", schema)
        writer.add_message(channels[topic], log_ns, data, log_ns)
    writer.finish()
    return stream.getvalue()


def bag1(path, datas, compression=None):
    """Write pictures as a ROS 1 bag of many chunks at `path` and return its bytes."""
    from rosbags.rosbag1 import Writer as BagWriter

    store = get_typestore(Stores.ROS1_NOETIC)
    time, header = store.types["builtin_interfaces/msg/Time"], store.types["std_msgs/msg/Header"]
    writer = BagWriter(path)
    if compression:
        writer.set_compression(BagWriter.CompressionFormat[compression])
    with writer:
        writer.chunk_threshold = 1
        connection = writer.add_connection("/front", PICTURE, typestore=store)
        for turn, data in enumerate(datas):
            stamp_ns = START_NS + turn * STEP_NS
            head = header(turn, time(stamp_ns // 10**9, stamp_ns % 10**9), "front")
            message = store.types[PICTURE](head, "jpeg", np.frombuffer(data, np.uint8))
            writer.write(connection, stamp_ns + 5, store.serialize_ros1(message, PICTURE))
    return path.read_bytes()


def of_file(path: Path, **rules):
    """Return the container that the file at `path` is."""
    return open_container(ObjectInfo(path.as_uri(), path.name, path.stat().st_size, ""), ContainerRules(**rules))


_APART = """
import re, sys
from pathlib import Path
from driveflow.errors import BrokenDataError
from tests.ingestion.recorded import of_file
for path in sys.argv[1:]:
    try:
        container = of_file(Path(path), animations=True)
        members = container.members()
        read = sum(1 for _ in container.read([member.number for member in members if not member.refused]))
        print(f"{len(members)} members, {read} read")
    except BrokenDataError as error:
        print(error.code)
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10)
"""


def read_apart(*paths):
    """Read containers in a process of their own; return what came of each, and the most memory it took, in MiB.

    Not by getrusage: that begins with the memory of the process that starts it.
    """
    import subprocess
    import sys

    command = [sys.executable, "-c", _APART, *map(str, paths)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=True)
    *outcomes, peak = done.stdout.strip().splitlines()
    return outcomes, int(peak)


def gray_levels(count):
    """Return `count` flat pictures, each ten levels brighter than the one before."""
    return [np.full((48, 64, 3), 10 * turn, np.uint8) for turn in range(count)]


def video(path, pictures, codec="libx264", stamps=None, unit=Fraction(1, 25), **options):
    """Write `pictures` as a video at `path`, shown at `stamps` (in `unit` seconds)."""
    import av

    rotation, pixel_format = options.pop("rotation", 0), options.pop("pixel_format", "yuv420p")
    container = options.pop("container", None)
    metadata = options.pop("metadata", {})
    with av.open(str(path), "w", format=container) as output:
        output.metadata.update(metadata)
        stream = output.add_stream(codec, rate=25, options={key: str(value) for key, value in options.items()})
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = pixel_format
        stream.time_base = stream.codec_context.time_base = unit
        if rotation:
            stream.set_display_rotation(rotation)
        for turn, pixels in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(pixels, "rgb24")
            frame.pts, frame.time_base = (stamps[turn] if stamps else turn), unit
            for packet in stream.encode(frame):
                output.mux(packet)
        for packet in stream.encode():
            output.mux(packet)
    return path
