"""Read CVAT XML 1.1: lists of images, and tracks through a video."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.formats.box_cap import MOST_LISTINGS
from driveflow.formats.cvat_shapes import (
    BOX_TAGS,
    OTHER_TAGS,
    CvatMeta,
    CvatShape,
    ShapeError,
    read_attributes,
    read_meta,
    read_shape,
)
from driveflow.formats.cvat_tracks import Track, TrackShape, lost_in, shapes_in
from driveflow.formats.frame_order import VideoLabels, by_number, is_in_recording, pictures_of_video
from driveflow.formats.label_set import (
    ImageLabels,
    LabelFiles,
    LabelProblem,
    LabelSet,
    LabelSetBuilder,
    names_ignore_region,
)
from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import Found, PictureFinder
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import spell_split, split_of_folders
from driveflow.formats.xml_tree import XmlElement, XmlError, iter_xml

_OWN: Final = re.compile(rb"<(image|track)\s[^<>]*\b(name|label)\s*=|<meta>\s*<(task|project|job|source)>")
_FRAME_NAME: Final = re.compile(r"frame_(\d{1,18})")


def cvat_files(sniffer: Sniffer) -> list[str]:
    """Return the files that are CVAT XML, by content."""
    found = [path for path in sniffer.ending_in(".xml") if sniffer.xml_root(path) == "annotations"]
    return [path for path in found if _OWN.search(sniffer.head(path))]


def read_cvat(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the CVAT files of the batch, or those at `annotations`, say.

    A listed image without shapes is labeled and empty, and so is a frame of a video that no track is seen in. The
    classes looked for are the labels of the task that can be boxes.
    """
    builder, finder = LabelSetBuilder(), PictureFinder(files.paths)
    homes = {path: folder_of(path) for path in cvat_files(Sniffer(files))}
    for path in cvat_files(Sniffer(within(files, annotations))) or (
        [annotations] if annotations in files.paths else []
    ):
        builder.files.add(path)
        others = frozenset(home for other, home in homes.items() if other != path)
        _CvatFile(path, builder, finder, others).read(files.read(path))
    return builder.build()


@dataclass(slots=True)
class _CvatFile:
    """One file on its way into the builder."""

    path: str
    builder: LabelSetBuilder
    finder: PictureFinder
    other_homes: frozenset[str]  # folders of the other files
    meta: CvatMeta = field(default_factory=CvatMeta)
    images: list[tuple[ImageLabels, bool]] = field(default_factory=list)  # and whether it says anything usable
    used: set[str] = field(default_factory=set)  # labels of boxes
    tracks: list[Track] = field(default_factory=list)
    listings: Counter[str] = field(default_factory=Counter)
    video: Sequence[str] | None = None  # the frames of the video file beside, looked for once
    is_whole: bool = True  # a track may be missing where not, so that no frame of a video is fully labeled
    others: Counter[str] = field(default_factory=Counter)  # shapes that are no boxes

    def read(self, data: bytes) -> None:
        try:
            for element in iter_xml(data):
                if element.tag == "meta":
                    self.meta = read_meta(element)
                elif element.tag == "image":
                    self._read_image(element)
                elif element.tag == "track":
                    self._read_track(element)
        except XmlError as error:
            self.is_whole = False
            self._problem("label_syntax", str(error), error.line)
        if self.tracks or (self.meta.is_video and not self.images):
            self._place_tracks()
        self._finish()

    def _problem(self, reason: str, detail: str, line: int | None, boxes: int = 0) -> None:
        self.builder.problems.append(LabelProblem(self.path, reason, detail, line, boxes))

    def _read_image(self, element: XmlElement) -> None:
        said = element.attributes
        subset = said.get("subset", "")
        found = self._picture(said.get("name", ""), subset)
        drawn = element.all(*BOX_TAGS)
        if not found.path:
            self._problem(found.reason, found.detail, element.line, len(drawn))
            return
        listing = self.listings[found.path]
        if listing >= MOST_LISTINGS:
            detail = f"{found.path} is listed more than {MOST_LISTINGS:,} times"
            self._problem("label_too_many_listings", detail, element.line, len(drawn))
            return
        self.others.update(child.tag for child in element.all(*OTHER_TAGS))
        self.listings[found.path] += 1
        rows = [row for child in drawn if (row := self._image_row(child)) is not None]
        self.builder.add_box_rows(
            {**row, "path": found.path, "label_file": self.path, "listing": listing} for row in rows
        )
        self.used |= {str(row["class_name"]) for row in rows}
        image = ImageLabels(
            path=found.path,
            label_file=self.path,
            listing=listing,
            width=_pixels(said.get("width", "")),
            height=_pixels(said.get("height", "")),
            source_split=spell_split(subset) if subset not in {"", "default"} else split_of_folders(found.path),
            attributes=_tags(element),
        )
        self.images.append((image, bool(rows) or not drawn))

    def _picture(self, name: str, subset: str) -> Found:
        """Return the picture called `name`, which has no extension where CVAT cut it from a video."""
        home = folder_of(self.path)
        folders = [f"{home}/images/{subset}".lstrip("/"), f"{home}/{subset}".lstrip("/")] if subset else []
        found = self.finder.named(self.path, name, folders)
        if found.path:
            return found
        bare = self.finder.stemmed(self.path, name, folders)
        number = _FRAME_NAME.fullmatch(name)
        if bare.path or not number:
            return bare if bare.path else found
        if self.video is None:
            frames = pictures_of_video(self.finder, VideoLabels(self.path, self.meta.video, 0, self.other_homes))
            self.video = [path for path in frames if is_in_recording(path)]
        at = int(number[1])
        return Found(self.video[at]) if at < len(self.video) else found

    def _image_row(self, element: XmlElement) -> dict[str, object] | None:
        label = element.attributes.get("label", "").strip()
        shape = self._shape(element, label)
        if shape is None:
            return None
        return _row(label, element.line, shape, read_attributes(element, shape, self.meta, label))

    def _shape(self, element: XmlElement, label: str) -> CvatShape | None:
        try:
            if not label:
                self._problem("label_syntax", f"{element.tag} without a label", element.line, 1)
                return None
            return read_shape(element)
        except ShapeError as error:
            self._problem("label_bad_box", f"{label}: {error}", element.line, 1)
            return None

    def _read_track(self, element: XmlElement) -> None:
        label, number = element.attributes.get("label", "").strip(), element.attributes.get("id", "")
        self.others.update(child.tag for child in element.all(*OTHER_TAGS))
        shapes: dict[int, TrackShape] = {}
        for child in element.all(*BOX_TAGS):
            frame = child.attributes.get("frame", "")
            if not (frame.isdecimal() and len(frame) < 10):
                self._problem("label_syntax", f"{child.tag} of track {number}: no frame number", child.line, 1)
            elif (shape := self._shape(child, label)) is not None:
                said = read_attributes(child, shape, self.meta, label)
                said |= {"track_id": number, "keyframe": child.attributes.get("keyframe", "1") == "1"}
                for name in ("source", "group_id"):
                    if element.attributes.get(name, "manual") not in {"manual", "0", ""}:
                        said.setdefault(name, element.attributes[name])
                outside = child.attributes.get("outside") == "1"
                shapes[int(frame)] = TrackShape(int(frame), child.line, outside, shape, said)
        if shapes:
            self.tracks.append(Track(label, tuple(shapes[frame] for frame in sorted(shapes))))

    def _place_tracks(self) -> None:
        """Give the frames of the video their pictures, and the tracks their boxes in them."""
        last = max((track.shapes[-1].frame for track in self.tracks), default=-1)
        pictures = self._pictures(last)
        frames = sorted(pictures)
        lost = sum(lost_in(track, frames) for track in self.tracks)
        if lost:
            given = f"{len(frames)} pictures stand for frames" if frames else "no pictures stand for its frames"
            self._problem(
                "label_missing_picture", f"frames of the video are no files of this batch: {given}", None, lost
            )
        for frame in frames:
            self.images.append((self._frame(pictures[frame]), self.is_whole))
        for track in self.tracks:
            for shape in shapes_in(track, frames):
                row = _row(track.label, shape.line, shape.shape, shape.attributes)
                self.builder.add_box_rows(
                    [{**row, "path": pictures[shape.frame], "label_file": self.path, "listing": 0}]
                )
                self.used.add(track.label)

    def _pictures(self, last: int) -> Mapping[int, str]:
        """Return the pictures of the frames: by the names that CVAT gives them, else by their order."""
        meta = self.meta
        if meta.tasks > 1:
            self._problem("label_ambiguous_picture", f"the tracks are of {meta.tasks} tasks: export each alone", None)
            return {}
        stop = last if meta.stop is None else max(meta.stop, last)
        numbers = range(meta.start, stop + 1, meta.step)
        pictures = pictures_of_video(self.finder, VideoLabels(self.path, meta.video, len(numbers), self.other_homes))
        named = by_number(pictures, _FRAME_NAME)
        if named:
            return {number: path for number, path in named.items() if number in numbers}
        self.builder.notes.append(
            f"{self.path}: frame {meta.start} is {pictures[0]}, and so on in order of the names." if pictures else
            f"{self.path}: no one folder holds the pictures of this video."
        )  # fmt: skip
        if len(pictures) == len(numbers):
            return dict(zip(numbers, pictures, strict=True))
        return {number: pictures[number] for number in numbers} if len(pictures) > stop else {}

    def _frame(self, picture: str) -> ImageLabels:
        return ImageLabels(
            path=picture,
            label_file=self.path,
            width=self.meta.width,
            height=self.meta.height,
            drive=self.meta.video or self.meta.name,
            source_split=split_of_folders(picture),
        )

    def _finish(self) -> None:
        extra = sorted(self.used.difference(self.meta.labels))
        if extra and self.meta.labels:
            self.builder.notes.append(f"{self.path} uses labels that its head does not list: {', '.join(extra[:5])}.")
        names = [name for name in (*self.meta.labels, *extra) if name and not names_ignore_region(name)]
        number = self.builder.class_list(names)
        for image, usable in self.images:
            self.builder.add_image(replace(image, class_list=number if usable else None))
        if self.others:
            counted = ", ".join(f"{count} {tag}" for tag, count in sorted(self.others.items()))
            self.builder.notes.append(f"{self.path} has shapes that are no boxes, which were not read: {counted}.")


def _row(label: str, line: int, shape: CvatShape, said: Mapping[str, Json]) -> dict[str, object]:
    return {
        "line": line,
        "class_name": label,
        **dict(zip(("x1", "y1", "x2", "y2"), shape.box, strict=True)),
        "ignore": names_ignore_region(label),
        "attributes": canonical_json(said),
    }


def _tags(image: XmlElement) -> Mapping[str, Json]:
    """Return the tags of the whole picture, and their attributes under their own names."""
    tags: Sequence[XmlElement] = image.all("tag")
    found: dict[str, Json] = {}
    for tag in tags:
        found |= {entry.attributes.get("name", ""): entry.text for entry in tag.all("attribute")}
    found.pop("", None)
    return {**found, "tags": [tag.attributes.get("label", "") for tag in tags]} if tags else {}


def _pixels(text: str) -> int | None:
    return int(text) if text.isdecimal() and 0 < len(text) < 10 and int(text) else None
