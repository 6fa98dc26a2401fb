"""Say of a nuScenes or T4 picture which camera took it, when and where, and in which drive."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.label_set import ImageLabels
from driveflow.formats.nuscenes_boxes import View, view_of
from driveflow.formats.nuscenes_tables import (
    CalibratedSensor,
    EgoPose,
    Log,
    Named,
    NuscenesTables,
    Sample,
    SampleData,
    Sensor,
    token,
)
from driveflow.formats.source_split import known_split

_LIDARS: Final = ("LIDAR_TOP", "LIDAR_CONCAT")
"""Whose time is that of a sample, the first that there is; else the lidar whose name comes first."""


@dataclass(frozen=True, slots=True)
class Rig:
    """The car of one set of tables: its sensors, where it stood, and which recordings it made."""

    label_file: str
    source_split: str
    calibrated: Mapping[str, CalibratedSensor]
    sensors: Mapping[str, Sensor]
    egos: Mapping[str, EgoPose]
    samples: Mapping[str, Sample]
    scenes: Mapping[str, Named]
    logs: Mapping[str, Log]
    lidar_us: dict[str, int] = field(default_factory=dict)  # by sample

    def sensor(self, data: SampleData) -> Sensor | None:
        """Return the sensor of a file; its folder says nothing."""
        mount = self.calibrated.get(token(data.calibrated_sensor_token))
        return self.sensors.get(token(mount.sensor_token)) if mount else None

    def channel(self, data: SampleData) -> str:
        """Return what the sensor of a file is called, empty where no table says."""
        sensor = self.sensor(data)
        return sensor.channel if sensor else ""

    def is_camera(self, data: SampleData) -> bool:
        """Tell whether a file is of a camera."""
        sensor = self.sensor(data)
        return sensor is not None and (sensor.modality == "camera" or sensor.channel.startswith("CAM"))

    def view(self, data: SampleData) -> View | None:
        """Return what a camera saw, by the pose of the car when this camera looked, not when the lidar did."""
        mount = self.calibrated[token(data.calibrated_sensor_token)]
        return view_of(data, self.egos.get(token(data.ego_pose_token)), mount)

    def learn_lidar_times(self, data: Iterable[SampleData]) -> None:
        """Note when the lidar of each sample looked."""
        found: dict[str, tuple[int, str, int]] = {}
        for item in data:
            sensor = self.sensor(item)
            if sensor is not None and sensor.modality == "lidar" and item.is_key_frame:
                order = _LIDARS.index(sensor.channel) if sensor.channel in _LIDARS else len(_LIDARS)
                candidate = (order, sensor.channel, item.timestamp)
                key = token(item.sample_token)
                found[key] = min(candidate, found.get(key, candidate))
        self.lidar_us.update({sample: time for sample, (_, _, time) in found.items()})

    def image(self, data: SampleData, picture: str, listing: int) -> ImageLabels:
        """Return all that the tables say of a picture but its labels."""
        sample = self.samples.get(token(data.sample_token))
        scene = self.scenes.get(token(sample.scene_token)) if sample else None
        log = self.logs.get(token(scene.log_token if scene else sample.log_token if sample else None))
        ego = self.egos.get(token(data.ego_pose_token))
        lat, lon = _place(ego)
        timed = 0 < data.timestamp < 2**63 // 1000
        return ImageLabels(
            path=picture,
            label_file=self.label_file,
            listing=listing,
            width=_side(data.width),
            height=_side(data.height),
            drive=(scene.name if scene else "") or (log.logfile if log else ""),
            camera=self.channel(data),
            captured_ns=data.timestamp * 1000 if timed else None,
            clock="utc" if timed else "",
            lat=lat,
            lon=lon,
            speed_mps=_speed(ego),
            source_split=self.source_split,
            attributes=self._attributes(data, scene, log),
        )

    def _attributes(self, data: SampleData, scene: Named | None, log: Log | None) -> dict[str, Json]:
        texts = {"description": scene.description if scene else ""}
        texts |= {"location": log.location, "log": log.logfile} if log else {}
        found: dict[str, Json] = {key: text for key, text in texts.items() if text}
        if not data.is_valid:
            found["is_valid"] = False
        lidar_us = self.lidar_us.get(token(data.sample_token))
        if data.is_key_frame and lidar_us is not None:
            found["lidar_gap_ms"] = (data.timestamp - lidar_us) / 1000
        return found


def rig_of(tables: NuscenesTables) -> Rig:
    """Return the car of `tables`."""
    return Rig(
        label_file=tables.path("sample_data"),
        source_split=known_split(tables.folder.rpartition("/")[2].rpartition("-")[2]),  # v1.0-test
        calibrated=tables.by_token("calibrated_sensor", CalibratedSensor),
        sensors=tables.by_token("sensor", Sensor),
        egos=tables.by_token("ego_pose", EgoPose),
        samples=tables.by_token("sample", Sample),
        scenes=tables.by_token("scene", Named),
        logs=tables.by_token("log", Log),
    )


def _side(pixels: int | None) -> int | None:
    return pixels if pixels is not None and 0 < pixels < 2**31 else None


def _place(ego: EgoPose | None) -> tuple[float, float] | tuple[None, None]:
    place = ego.geocoordinate if ego and ego.geocoordinate else []
    if len(place) < 2 or not (-90 <= place[0] <= 90 and -180 <= place[1] <= 180):
        return None, None
    return place[0], place[1]


def _speed(ego: EgoPose | None) -> float | None:
    twist = ego.twist if ego and ego.twist else []
    return float(sum(value * value for value in twist[:3]) ** 0.5) if len(twist) >= 3 else None
