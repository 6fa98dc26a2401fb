"""Go through the tasks of a Label Studio export, whichever of its exports that is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from driveflow.formats.csv_table import CsvTableError, read_pieces
from driveflow.formats.json_items import JsonItems
from driveflow.formats.json_text import (
    JsonTextError,
    list_of,
    number_of,
    object_of,
    strict_json,
    text_of,
    value_of,
)
from driveflow.formats.sniff import Sniffer

_WORK: Final = frozenset(["annotations", "completions", "predictions"])
_ROW: Final = frozenset(["annotation_id", "annotator"])
_STORED: Final = frozenset(["result", "task", "completed_by"])
_OF_A_ROW: Final = frozenset(["id", *_ROW, "created_at", "updated_at", "lead_time", "agreement"])


@dataclass(frozen=True, slots=True)
class Work:
    """What one annotator or one model drew in one task."""

    results: Sequence[object]
    by: str
    is_prediction: bool = False
    score: float | None = None
    ground_truth: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its data (the pictures are among them) and what was drawn, ground truth first, predictions last."""

    key: str
    data: Mapping[str, object]
    file_upload: str = ""
    work: Sequence[Work] = ()
    cancelled: int = 0
    rejected: int = 0
    broken: str = ""  # why it cannot be read at all
    meta: Mapping[str, object] = field(default_factory=dict)


def label_studio_files(sniffer: Sniffer) -> list[str]:
    """Return the exports of Label Studio, by content: JSON, JSON-min, one file an annotation, CSV."""
    return [
        path
        for path in sniffer.ending_in(".json", ".csv", ".tsv")
        if (_is_csv if not path.lower().endswith(".json") else _is_json)(sniffer, path)
    ]


def tasks_of(path: str, data: bytes) -> Iterator[Task]:
    """Yield the tasks of an export.

    Raises:
        JsonTextError: it is neither JSON nor CSV.
    """
    if not path.lower().endswith(".json"):
        yield from (_row(row) for row in _csv_rows(data))
        return
    text = strict_json(data)
    whole = memoryview(text)
    for number, item in enumerate(JsonItems(whole) if text[:1024].lstrip().startswith(b"[") else [whole]):
        try:
            yield _task(object_of(value_of(item)), number)
        except JsonTextError as error:
            yield Task(str(number), {}, broken=f"task {number}: {error}")


def _is_json(sniffer: Sniffer, path: str) -> bool:
    keys = sniffer.json_shape(path).keys
    return bool("data" in keys and keys & _WORK) or keys >= _ROW or keys >= _STORED


def _is_csv(sniffer: Sniffer, path: str) -> bool:
    return {cell.strip('"') for cell in sniffer.csv_header(path)} >= _ROW


def _csv_rows(data: bytes) -> Iterator[dict[str, object]]:
    try:
        for table in read_pieces(data):
            for row in table.iter_rows(named=True):
                yield {name: _cell(value) for name, value in row.items()}
    except CsvTableError as error:
        raise JsonTextError(str(error)) from None


def _cell(text: str | None) -> object:
    if text is None or not text.startswith(("[", "{")):
        return text
    try:
        return value_of(text.encode())
    except JsonTextError:
        return text


def _task(said: Mapping[str, object], number: int) -> Task:
    if said.keys() >= _ROW and "data" not in said:
        return _row(said)
    if said.keys() >= _STORED and "data" not in said:
        return _full_task({**object_of(said["task"]), "annotations": [said]}, number)
    return _full_task(said, number)


def _full_task(said: Mapping[str, object], number: int) -> Task:
    listed = list_of(said.get("annotations") or said.get("completions"))
    drawn = [entry for entry in listed if isinstance(entry, dict)]
    key = text_of(said.get("id")) or str(number)
    kept = [entry for entry in drawn if not (entry.get("was_cancelled") or entry.get("skipped"))]
    work = [
        Work(
            list_of(entry.get("result")),
            _person(entry.get("completed_by")),
            ground_truth=bool(entry.get("ground_truth")),
        )
        for entry in kept
    ]
    guesses = [entry for entry in list_of(said.get("predictions")) if isinstance(entry, dict)]  # or their ids alone
    work = sorted(work, key=lambda one: not one.ground_truth)
    work += [
        Work(list_of(guess.get("result")), text_of(guess.get("model_version")), True, number_of(guess.get("score")))
        for guess in guesses
    ]
    return Task(
        key=key,
        data=object_of(said.get("data")),
        file_upload=text_of(said.get("file_upload")),
        work=work,
        cancelled=len(drawn) - len(kept),
        rejected=sum(text_of(entry.get("last_action")) == "rejected" for entry in kept),
        broken=f"task {key}: {len(listed) - len(drawn)} annotations are ids alone" if len(drawn) < len(listed) else "",
        meta=object_of(said.get("meta")),
    )


def _row(said: Mapping[str, object]) -> Task:
    """Return the task of a line of JSON-min or CSV: one annotation with the results under the names of the controls."""
    results: list[object] = []
    data: dict[str, object] = {}
    for name, value in said.items():
        shapes = [object_of(entry) for entry in list_of(value)]
        if shapes and all(_is_shape(shape) for shape in shapes):
            results += [{**shape, "value": shape, "from_name": name} for shape in shapes]
        elif "choices" in object_of(value):
            results.append({"from_name": name, "type": "choices", "value": value})
        elif name not in _OF_A_ROW:
            data[name] = value
    return Task(text_of(said.get("id")), data, work=[Work(results, _person(said.get("annotator")))])


def _is_shape(shape: Mapping[str, object]) -> bool:
    return bool(shape.keys() & {"x", "points", "rle", "sequence"}) or "original_width" in shape


def _person(said: object) -> str:
    """Return who it was: an address where the export has it, else a number."""
    return text_of(object_of(said).get("email")) or text_of(object_of(said).get("id")) or text_of(said)
