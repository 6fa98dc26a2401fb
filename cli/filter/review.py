"""`driveflow filter review`: let people judge a sample of what a rule did, and say how often it was right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import (
    DEFAULT_WORKSPACE,
    Output,
    ProfileHere,
    Workspace,
    emit,
    place_from,
    read_sheet,
    say,
    table,
    write_file,
)
from cli.who import signed

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.by_hand import Said
    from driveflow.canonical import Json
    from driveflow.ledger.rows import RunRow
    from driveflow.place import Place
    from driveflow.snapshots import Snapshot
    from filtering.review import Band, BandPrecision, Case

_FILTER_STEP, _SEARCH_STEP = "filter_frames", "find_corner_cases"
_RUNS = 200  # how many runs are looked through for the search that went over a snapshot


@dataclass(frozen=True, slots=True)
class _Review:
    """What is reviewed: the cases of a rule in a snapshot, in bands, each with its sample."""

    rule: str
    snapshot: "Snapshot"
    bands: "Sequence[Band]"


def review(  # noqa: PLR0913, PLR0917 one parameter an option
    rule: Annotated[
        str, typer.Argument(help="A rule of the filters, or the name of a corner case.", show_default=False)
    ],
    snapshot: Annotated[
        str, typer.Option("--snapshot", "-s", help="The filtered snapshot; the newest if left out.")
    ] = "",
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page, and a sheet for answers beside it.", dir_okay=False)
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="Take answers back from this sheet.", dir_okay=False)
    ] = None,
    per_band: Annotated[int, typer.Option(help="How many of each band are drawn.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="Draws the sample.")] = 0,
    who: Annotated[str, typer.Option("--who", help="Who answers; the user of this machine if left out.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say how often a rule was right, band by band of its score, as far as people judged it.

    --html draws a sample of each band and writes a page and, beside it, a sheet (CSV) in which each row is to be
    answered by yes or no; --answers takes the sheet back. Answers are added to the store and change no decision.

    Examples:
      driveflow filter review near_duplicates.same_drive --html review.html
      driveflow filter review near_duplicates.same_drive --answers review.csv
      driveflow filter review cyclists_at_night --per-band 50 -o json

    Exit codes: 0 done, 2 the rule did nothing or an answer is none, 3 not found.
    """
    from driveflow.by_hand import said_by_hand
    from filtering.review import overall, precisions

    place = place_from(workspace, profile)
    under_review = _find(rule, snapshot, (workspace, profile), per_band, seed)
    if answers is not None:
        _take(under_review, answers, place.store, signed(who))
    found = precisions(under_review.bands, said_by_hand(place.store))
    if html is not None:
        _write(under_review, found, html, place)
    rows: list[Json] = [band.to_json() for band in found]
    told: dict[str, Json] = {
        "rule": rule,
        "snapshot": under_review.snapshot.snapshot_id,
        "bands": rows,
        "precision": overall(found),
    }
    emit(told, output, _text(found, overall(found)))


def _find(rule: str, text: str, where: "tuple[Path, str]", per_band: int, seed: int) -> _Review:
    import pyarrow.compute as pc

    from cli.snapshot_argument import find_snapshot
    from driveflow.errors import NotFoundError, UsageError
    from filtering.review import bands, dropped_by, found_by
    from ingestion.story import records_of_store

    if text:
        snapshot = find_snapshot(text, *where, _FILTER_STEP)
    else:
        records = records_of_store(place_from(*where).store)
        made = [item for item in records if item.record_id and item.made_by().get("step") == _FILTER_STEP]
        if not made:
            raise NotFoundError("No filtered snapshot is there yet: run a flow, or name one by --snapshot.")
        snapshot = made[-1]
    decisions = snapshot.decisions()
    cases = dropped_by(decisions, rule)
    selection = None if cases else _selection(snapshot, place_from(*where))
    if selection is not None:
        cases = found_by(selection, rule)
    if not cases:
        dropped = decisions["rule"].filter(pc.equal(decisions["verdict"], "dropped")).to_pylist()
        found = [] if selection is None else selection["rule"].to_pylist()
        known = ", ".join(sorted({*dropped, *found} - {""}))
        raise UsageError(
            f"{rule!r} dropped and found nothing in {snapshot.snapshot_id[:16]}{_whose(snapshot, place_from(*where))}. "
            f"Rules that did: {known or 'none'}.{'' if text else ' --snapshot names another.'}"
        )
    return _Review(rule, snapshot, bands(cases, per_band, seed))


def _selection(snapshot: "Snapshot", place: "Place") -> "pa.Table | None":
    """Return what the newest search over the snapshot selected; None where no run is known that searched."""
    from driveflow.parquet_bytes import table_of
    from driveflow.reuse import read_object

    found = (str(outputs.get(_SEARCH_STEP, {}).get("selection", "")) for _, outputs in _runs_over(snapshot, place))
    selected = next(filter(None, found), "")
    return table_of(read_object(selected)) if selected else None


def _whose(snapshot: "Snapshot", place: "Place") -> str:
    """Return the flow that the snapshot was filtered for, for a person who meant that of another."""
    flows = sorted({run.flow for run, _ in _runs_over(snapshot, place)})
    return f", of flow {', '.join(flows)}" if flows else ""


def _runs_over(snapshot: "Snapshot", place: "Place") -> "Iterator[tuple[RunRow, dict[str, Mapping[str, Json]]]]":
    """Yield the runs that filtered to the snapshot, the newest first, with the outputs of their steps."""
    from cli.open_ledger import ledger_of

    ledger = ledger_of(place)
    for run in ledger.runs(limit=_RUNS) if ledger else []:
        steps = {step.step: step.outputs for step in ledger.steps(run.run_id)} if ledger else {}
        if str(steps.get(_FILTER_STEP, {}).get("snapshot", "")).partition("#")[0] == snapshot.folder:
            yield run, steps


def _take(under_review: _Review, path: Path, store: str, who: str) -> None:
    from datetime import UTC, datetime

    from driveflow.by_hand import say_by_hand
    from driveflow.errors import UsageError
    from filtering.review import read_answers

    answers = read_answers(read_sheet(path), str(path))
    cases = {case.frame_id: case for band in under_review.bands for case in band.cases}
    strange = sorted(set(answers) - set(cases))
    if strange:
        raise UsageError(
            f"{path} answers for {len(strange)} frames that {under_review.rule} did not decide, as {strange[0][:16]}."
        )
    at = datetime.now(UTC).isoformat()
    rows = [_said(cases[frame_id], answer, who, at) for frame_id, answer in answers.items()]
    say_by_hand(store, rows)
    say(f"Took {len(rows)} answers of {who}.")


def _said(case: "Case", right: bool, who: str, at: str) -> "Said":
    from driveflow.by_hand import Said

    return Said(
        about="review",
        frame_id=case.frame_id,
        who=who,
        at=at,
        twin=case.twin,
        rule=case.rule,
        score=case.score,
        yes=right,
    )


def _write(under_review: _Review, found: "Sequence[BandPrecision]", path: Path, place: "Place") -> None:
    """Write the page and the sheet; answers that stand in the sheet already stay there.

    Raises:
        UsageError: the sheet there holds answers of another sample, which nobody gave back.
    """
    import pyarrow as pa

    from cli.snapshot_argument import lineage
    from driveflow.images.pixels import PixelReader, place_cache
    from driveflow.withdrawn import withdrawn_for
    from filtering.album import Album
    from filtering.review import answer_sheet
    from filtering.review_page import review_page

    sheet = path.with_suffix(".csv")
    known = _answers_there(under_review, sheet, path, place.store)
    records = list(lineage(under_review.snapshot))
    locations = pa.concat_tables([record.locations() for record in records])
    pixels = PixelReader(locations, place_cache(place), withdrawn_for(place.store, under_review.snapshot))
    album = Album(records[1].tables() if len(records) > 1 else under_review.snapshot.tables(), pixels)
    words = {frame_id: "yes" if right else "no" for frame_id, right in known.items()}
    write_file(path, review_page(under_review.rule, under_review.bands, found, album).encode(), "--html")
    write_file(sheet, answer_sheet(under_review.bands, words, album.names).encode(), "--html")
    say(f"Wrote {path} and {sheet}; answer its rows by yes or no and give it back by --answers {sheet}")


def _answers_there(under_review: _Review, sheet: Path, page: Path, store: str) -> dict[str, bool]:
    """Return the answers in the sheet that will be written anew."""
    from driveflow.by_hand import said_by_hand
    from driveflow.errors import UsageError
    from filtering.review import read_answers, unsaid_answers

    if sheet == page:
        raise UsageError(f"{page} is where the sheet goes; name the page otherwise, as {page.with_suffix('.html')}.")
    if not sheet.is_file():
        return {}
    known = read_answers(read_sheet(sheet), str(sheet))
    lost = unsaid_answers(known, under_review.bands, said_by_hand(store))
    if lost:
        raise UsageError(
            f"{sheet} has {len(lost)} answers for frames of another sample, as {lost[0][:16]}: give it back first, by "
            f"--answers {sheet} with its rule, or name another page."
        )
    return known


def _text(found: "Sequence[BandPrecision]", total: float | None) -> str:
    rows: list[dict[str, Json]] = [
        {
            "score": band.band,
            "cases": band.cases,
            "judged": band.judged,
            "right": band.right,
            "precision": "-" if band.precision is None else f"{band.precision:.3f}",
            "95 %": f"{band.low:.3f} to {band.high:.3f}" if band.judged else "-",
        }
        for band in found
    ]
    last = "nobody has judged yet" if total is None else f"{total:.3f}, each band weighed by its cases"
    return f"{table(rows)}\nprecision: {last}"
