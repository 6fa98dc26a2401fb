"""Read nuScenes, nuImages and T4 data sets: tables of drives, cameras, times, 2D boxes and 3D boxes."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from driveflow.formats.file_kinds import kind_of
from driveflow.formats.label_set import LabelFiles, LabelSet, LabelSetBuilder
from driveflow.formats.nuscenes_boxes import AnnotationBoxes, PictureBoxes
from driveflow.formats.nuscenes_rig import Rig, rig_of
from driveflow.formats.nuscenes_tables import (
    MapFile,
    NuscenesTables,
    SampleData,
    Surface,
    read_tables,
    table_folders,
    token,
)
from driveflow.formats.path_index import PathIndex, folder_of, plain_path, under
from driveflow.formats.sniff import Sniffer, within


def nuscenes_files(sniffer: Sniffer) -> list[str]:
    """Return the tables, by what the records of some of them hold."""
    folders = set(table_folders(sniffer))
    return [path for path in sniffer.ending_in(".json") if folder_of(path) in folders]


def read_nuscenes(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the tables say; `annotations` is one folder of them, else all that there are are read.

    A keyframe of a data set with boxes is labeled, sweeps are not. Where a picture has 2D boxes they count, else the
    3D boxes of its sample are projected into it. Times are int64 nanoseconds since 1970, made of microseconds.
    """
    builder = LabelSetBuilder()
    index = PathIndex(files.paths)
    for folder in table_folders(Sniffer(within(files, annotations))):
        tables = read_tables(files, folder)
        _Walk(tables, rig_of(tables), AnnotationBoxes(tables), index, builder).read()
        builder.problems += tables.problems
        builder.files |= tables.files
    return builder.build()


@dataclass(slots=True)
class _Walk:
    """One set of tables on its way into the builder."""

    tables: NuscenesTables
    rig: Rig
    boxes: AnnotationBoxes
    index: PathIndex
    builder: LabelSetBuilder
    drawn_in: frozenset[str] = frozenset()  # channels that have 2D boxes
    listings: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)  # pictures without boxes that are not there
    flat_list: int | None = None  # the classes looked for in pictures with 2D boxes
    solid_list: int | None = None  # the classes looked for in the others

    def read(self) -> None:
        flat, solid = self.boxes.classes()
        self.flat_list = self.builder.class_list(flat) if flat else None
        self.solid_list = self.builder.class_list(solid) if solid else None
        data = self.tables.of("sample_data", SampleData)
        self.rig.learn_lidar_times(data)
        cameras = [item for item in data if self.rig.is_camera(item)]
        known = {token(item.token) for item in cameras}
        self.drawn_in = frozenset(self.rig.channel(item) for item in cameras if token(item.token) in self.boxes.flat)
        for item in sorted(cameras, key=lambda item: (item.timestamp, item.filename)):
            self._read_picture(item)
        others = [item for item in data if token(item.token) not in known]
        unknown = [
            item.filename for item in others if self.rig.sensor(item) is None and kind_of(item.filename) == "picture"
        ]
        self._claim_others(sorted({item.filename for item in others}.difference(unknown)))
        if unknown:
            detail = (
                f"{len(unknown)} pictures, {unknown[0]} first, are of sensors that no table has: they stay unlabeled"
            )
            self.tables.report("sample_data", "label_bad_calibration", detail)
        self._report_rest(known)

    def _read_picture(self, data: SampleData) -> None:
        found, class_list = self._boxes_of(data)
        name = plain_path(data.filename)
        pictures = self.index.find([folder_of(self.tables.folder), self.tables.folder], name) if name else []
        if len(pictures) != 1:
            self._lose(data, pictures, len(found.rows) + len(found.unlisted))
            return
        picture = pictures[0]
        image = self.rig.image(data, picture, self.listings[picture])
        self.listings[picture] += 1
        broken = found.unlisted[0] if found.unlisted else ""
        self.builder.add_image(replace(image, class_list=class_list, broken=broken))
        for reason in found.unlisted:
            self.tables.report("sample_data", "label_class_out_of_range", f"{data.filename}: {reason}", 1)
        where = {"path": picture, "label_file": image.label_file, "listing": image.listing}
        self.builder.add_box_rows({**row, **where} for row in found.rows)

    def _boxes_of(self, data: SampleData) -> tuple[PictureBoxes, int | None]:
        """Return the boxes of a picture and the number of the list of the classes looked for in it."""
        flat = self.boxes.flat_boxes(token(data.token))
        if not data.is_valid:
            if boxes := len(flat.rows) + len(flat.unlisted):
                detail = f"{data.filename} is said to be no valid picture"
                self.tables.report("object_ann", "label_bad_picture", detail, boxes)
            return PictureBoxes(), None
        if flat.rows or flat.unlisted:
            return flat, self.flat_list
        drawn = token(data.token) in self.boxes.flat or token(data.token) in self.tables.spoiled
        if drawn or not data.is_key_frame:
            return flat, None  # boxes that are none are no example of "nothing to see"
        if not self.boxes.samples:
            return flat, self.flat_list if self.rig.channel(data) in self.drawn_in else None
        return self._projected(data)

    def _projected(self, data: SampleData) -> tuple[PictureBoxes, int | None]:
        view = self.rig.view(data)
        if view is None:
            detail = f"{data.filename} has no usable pose, calibration or size: 3D boxes cannot be projected into it"
            self.tables.report("sample_data", "label_bad_calibration", detail)
            return PictureBoxes(), None
        found = self.boxes.projected_boxes(token(data.sample_token), view)
        spoiled = token(data.sample_token) in self.tables.spoiled and not found.rows
        return found, None if spoiled else self.solid_list

    def _lose(self, data: SampleData, pictures: Sequence[str], boxes: int) -> None:
        if len(pictures) > 1:
            detail = f"filename {data.filename!r} may be {pictures[0]} or {pictures[1]} ({len(pictures)} in all)"
            self.tables.report("sample_data", "label_ambiguous_picture", detail, boxes)
        elif boxes:
            detail = f"filename {data.filename!r} is no file of this batch"
            self.tables.report("sample_data", "label_missing_picture", detail, boxes)
        else:
            self.missing.append(data.filename)

    def _claim_others(self, names: Sequence[str]) -> None:
        """Count files of lidars and radars and the maps as part of the labels: they are no pictures to look at."""
        home = folder_of(self.tables.folder)
        maps = [item.filename for item in self.tables.of("map", MapFile)]
        for name in filter(None, map(plain_path, [*names, *maps])):
            if not name.startswith("/") and (path := under(home, name)) in self.index:
                self.tables.files.add(path)

    def _report_rest(self, cameras: Collection[str]) -> None:
        """Report boxes of pictures that the tables do not list, and say what was left aside."""
        where = self.tables.folder or "the tables"
        lost = sum(len(boxes) for key, boxes in self.boxes.flat.items() if key not in cameras)
        if lost:
            self.tables.report("object_ann", "label_unknown_picture", "boxes of pictures that no table lists", lost)
        solid, unseen = self.boxes.count_solid(), self.boxes.count_solid() - len(self.boxes.seen)
        surfaces, missing = len(self.tables.of("surface_ann", Surface)), self.missing
        bent = [mount for mount in self.rig.calibrated.values() if any(mount.camera_distortion or ())]
        self.builder.notes += [
            text
            for text, is_so in (
                (f"{unseen} of {solid} 3D boxes in {where} are in no picture by projection.", unseen > 0),
                (f"Projected boxes in {where} do not follow the distortion of {len(bent)} lenses.", solid and bent),
                (f"{surfaces} masks of surfaces in {where} are no boxes and were not read.", surfaces),
                (f"{len(missing)} pictures without boxes, such as {missing[:1]}, are not there.", missing),
            )
            if is_so
        ]
