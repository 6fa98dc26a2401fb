"""Read exports of Label Studio: what each annotator drew, and what models predicted."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from driveflow.canonical import Json, canonical_json
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.json_text import JsonTextError, list_of, object_of, plain, text_of
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.label_studio_config import LabelConfig, config_of
from driveflow.formats.label_studio_regions import MASKS, Region, Sheet, is_shape, read_results
from driveflow.formats.label_studio_tasks import Task, Work, label_studio_files, tasks_of
from driveflow.formats.picture_finder import Found
from driveflow.formats.sniff import Sniffer
from driveflow.formats.source_split import split_of_file_name, split_of_folders

_UPLOADED: Final = re.compile(r"[0-9a-f]{8}-(.+)", re.DOTALL)
_NOT_STORED: Final = re.compile(r"[^-\w.]")
_LONGEST_ATTRIBUTE: Final = 200


def read_label_studio(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the exports in the batch say, or those at `annotations`.

    Each annotation that was not cancelled is a listing of its picture with its annotator, also an empty one. A
    prediction without a score gets score 0 and the attribute `unscored`: without one it would pass for truth.
    """
    collector = LabelCollector(files)
    classes: list[str] = []
    for path in label_files(files, annotations, label_studio_files):
        config = config_of(Sniffer(files), path)
        collector.builder.files |= {path, config.path} - {""}
        classes += config.classes
        _Export(collector, path, config).read(files.read(path))
    return collector.build(classes)


@dataclass(slots=True)
class _Export:
    """One export on its way into the collector."""

    collector: LabelCollector
    path: str
    config: LabelConfig
    counts: Counter[str] = field(default_factory=Counter)
    cut: dict[str, str] = field(init=False)  # name of an upload as Label Studio simplifies it -> picture

    def __post_init__(self) -> None:
        pictures = self.collector.finder.pictures
        cut = Counter(_simplified(path) for path in pictures)
        self.cut = {name: path for path in pictures if cut[name := _simplified(path)] == 1 and not path.endswith(name)}

    def read(self, data: bytes) -> None:
        try:
            for task in tasks_of(self.path, data):
                self._task(task)
        except JsonTextError as error:
            self.collector.problem(self.path, "label_syntax", str(error), line=error.line)
        for what, count in sorted(self.counts.items()):
            self.collector.builder.notes.append(f"{self.path}: {count} {what}.")

    def _task(self, task: Task) -> None:
        if task.broken:
            self.collector.problem(self.path, "label_syntax", task.broken)
        self.counts.update({"cancelled annotations were skipped": task.cancelled} if task.cancelled else {})
        rejected = {"annotations were rejected in review and are read all the same": task.rejected}
        self.counts.update(rejected if task.rejected else {})
        shown = False
        for work in task.work or [Work((), "")]:
            results = [object_of(result) for result in work.results]
            for picture in self._pictures(task, results):
                about = [result for result in results if self._key(task, result) == picture]
                self._sheet(task, (picture, bool(task.work)), work, read_results(about))
                shown = True
        if not shown and not task.broken:
            self.counts["tasks show no picture"] += 1

    def _pictures(self, task: Task, results: Sequence[Mapping[str, object]]) -> list[tuple[str, int]]:
        """Return the data keys of the pictures that results are about, else of the one that the task has."""
        found = dict.fromkeys(key for result in results if (key := self._key(task, result))[0])
        own = self._own_key(task)
        return list(found) or ([(own, 0)] if own else [])

    def _key(self, task: Task, result: Mapping[str, object]) -> tuple[str, int]:
        """Return the key of the data that a result is about, and which of the pictures there."""
        item = result.get("item_index")
        place = item if isinstance(item, int) and item >= 0 else 0
        to = text_of(result.get("to_name"))
        named = self.config.images.get(to, to)
        sure = to in self.config.images or is_shape(result)
        key = named if _may_be_picture(task.data.get(named), sure=sure) else self._own_key(task)
        return key, place

    def _own_key(self, task: Task) -> str:
        """Return the key of the data that holds a picture, the first where several do."""
        keys = [*self.config.images.values(), *task.data]
        sure = [key for key in keys if _may_be_picture(task.data.get(key))]
        likely = [key for key in ("image", "img") if _may_be_picture(task.data.get(key), sure=True)]
        return next(iter(sure or likely), "")

    def _sheet(self, task: Task, shown: tuple[tuple[str, int], bool], work: Work, sheet: Sheet) -> None:
        (key, place), worked = shown
        self.collector.left_out.update(sheet.left_out)
        found = self._find(task, key, place)
        if not found.path:
            self.collector.lose(self.path, found, boxes=sum(max(1, len(region.names)) for region in sheet.regions))
            return
        rows = [row for region in sheet.regions for row in self._rows(task, work, region)]
        image = ImageLabels(
            path=found.path,
            label_file=self.path,
            listing=self.collector.listing(self.path, found.path),
            width=int(sheet.size[0]) if sheet.size else None,
            height=int(sheet.size[1]) if sheet.size else None,
            source_split=split_of_folders(found.path) or split_of_file_name(self.path),
            attributes=_attributes(task, key) | ({} if work.is_prediction else sheet.attributes),
        )
        boxes_meant = not self.config.path or bool(self.config.classes)
        drawn = worked and not work.is_prediction and boxes_meant
        seen = bool(sheet.regions) or sheet.left_out[MASKS] > 0  # nothing of which there is a box, but something
        self.collector.add(image, rows, looked=drawn and bool(rows or not seen))

    def _rows(self, task: Task, work: Work, region: Region) -> Iterator[BoxRow]:
        score = _score(work, region)
        reason, detail = region.reason, region.detail
        if not reason and score is not None and not 0 <= score <= 1:
            reason, detail = "label_bad_score", f"score {score} is not within 0 to 1"
        if reason:
            told = f"task {task.key}, region {region.own_id}: {detail}"
            self.collector.problem(self.path, reason, told, boxes=max(1, len(region.names)))
            return
        attributes = dict(region.attributes)
        attributes |= {"ground_truth": True} if work.ground_truth else {}
        attributes |= {"unscored": True} if work.is_prediction and work.score is region.score is None else {}
        for name in region.names:
            several = region.own_id and name != region.names[0]
            yield {
                "own_id": f"{region.own_id}/{name}" if several else region.own_id,
                "class_name": name,
                **dict(zip(("x1", "y1", "x2", "y2"), region.corners, strict=True)),
                "normalised": region.normalised,
                "attributes": canonical_json(attributes),
                "score": score,
                "annotator": work.by or None,
            }

    def _find(self, task: Task, key: str, place: int) -> Found:
        """Return the picture: by its address, as a file that was uploaded, as the upload of the task."""
        value = task.data.get(key)
        address = text_of(list_of(value)[place]) if isinstance(value, list) and place < len(value) else text_of(value)
        names = _names(address)
        if kind_of(task.file_upload) == "picture" and not place:
            names += _without_prefix(task.file_upload)
        first = Found(reason="label_missing_picture", detail=f"task {task.key} has no address of a picture")
        for number, name in enumerate(names):
            found = self.collector.finder.named(self.path, self.cut.get(name, name))
            if found.path:
                return found
            first = first if number else found
        return first


def _score(work: Work, region: Region) -> float | None:
    """Return the score of a predicted region; an annotation keeps none of what a model said before a person."""
    if not work.is_prediction:
        return None
    return next((score for score in (region.score, work.score) if score is not None), 0.0)


def _may_be_picture(value: object, *, sure: bool = False) -> bool:
    """Tell whether data is the address of a picture, or of several; `sure`: something says that it is, so any text."""
    addresses = [text_of(entry) for entry in value] if isinstance(value, list) else [text_of(value)]
    return bool(addresses) and all(
        address and (sure or any(kind_of(name) == "picture" for name in _names(address))) for address in addresses
    )


def _names(address: str) -> list[str]:
    """Return the names that a picture at this address may have in the batch, the most exact first.

    >>> _names("/data/upload/1/c829cd87-a.jpg")
    ['c829cd87-a.jpg', 'a.jpg']
    >>> _names("/data/local-files/?d=set/a%20b.jpg")
    ['set/a b.jpg']
    >>> _names("s3://bucket/set/a.jpg?x=1")
    ['s3://bucket/set/a.jpg?x=1', '/set/a.jpg']
    """
    parts = _split(address)
    local = parse_qs(parts.query).get("d", [""])[0] if parts else ""
    if parts and local and "local-files" in parts.path:
        return [local]
    if parts and "/upload/" in parts.path:
        return _without_prefix(unquote(parts.path).rpartition("/")[2])
    plain_path = unquote(parts.path) if parts else ""
    return list(dict.fromkeys(filter(None, [address, plain_path])))


def _simplified(path: str) -> str:
    """Return the name of a picture as Label Studio stores an upload of it."""
    return _NOT_STORED.sub("", path.rpartition("/")[2].strip().replace(" ", "_"))


def _without_prefix(name: str) -> list[str]:
    """Return the name of an upload with what Label Studio put before it, and without."""
    own = _UPLOADED.fullmatch(name)
    return [name, own[1]] if own else [name]


def _split(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _attributes(task: Task, key: str) -> dict[str, Json]:
    """Return what else the task says of its picture in short plain values."""
    said = {**object_of(task.meta), **{name: value for name, value in task.data.items() if name != key}}
    found = {name: plain(value) for name, value in said.items()}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, bool | int | float)
        or (isinstance(value, str) and 0 < len(value) <= _LONGEST_ATTRIBUTE and "://" not in value)
    }
