from concurrent.futures import ThreadPoolExecutor

import pytest

from driveflow.errors import InvalidInputError, LedgerError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import (
    DecisionRow,
    EventKind,
    ModelEventRow,
    ModelVersionRow,
    StateMove,
    TrainedModelRow,
    VersionState,
)


def _version(digest: str, state: VersionState = "candidate") -> ModelVersionRow:
    return ModelVersionRow(
        model="city",
        digest=digest,
        state=state,
        model_uri=f"s3://store/models/{digest}",
        snapshot_uri="s3://store/snapshots/a",
        run_id="r1",
        report_uri="s3://store/report.html",
        verdict={"outcome": "PASS"},
    )


def _event(key: str, kind: EventKind = "registered", version: int | None = None) -> ModelEventRow:
    return ModelEventRow(event_key=key, model="city", version=version, digest="d", kind=kind, who="ann", why="good")


def _trained(digest: str, frames: int) -> TrainedModelRow:
    return TrainedModelRow(
        digest=digest,
        model="city",
        model_uri="m",
        snapshot_uri="s",
        holdout_uri="h",
        report_uri="r",
        verdict="PASS",
        run_id="r1",
        labeled_frames=frames,
    )


def _promote(ledger: Ledger, version: int) -> bool:
    champion = ledger.champion("city")
    moves = [StateMove(version=champion.version, from_state="champion", to_state="retired")] if champion else []
    moves.append(StateMove(version=version, from_state="candidate", to_state="champion"))
    return ledger.move_versions("city", moves, [_event(f"promote {version}", "promoted", version)])


def test_versions_are_numbered_and_a_digest_keeps_its_number(ledger: Ledger):
    numbers = [ledger.add_version(_version(digest), _event(digest)).version for digest in ("a", "b", "a", "c")]

    assert numbers == [1, 2, 1, 3]
    assert [event.version for event in ledger.model_events("city")] == [1, 2, 3]
    assert ledger.versions("city")[0].verdict == {"outcome": "PASS"}
    assert ledger.versions() == ledger.versions("city")
    assert ledger.versions("motorway") == []


def test_versions_added_at_one_moment_leave_no_gap(ledger: Ledger):
    digests = [f"digest {number % 6}" for number in range(12)]

    with ThreadPoolExecutor(6) as pool:
        added = list(pool.map(lambda digest: ledger.add_version(_version(digest), _event(digest)), digests))

    assert sorted({row.version for row in added}) == [1, 2, 3, 4, 5, 6]
    assert [row.version for row in ledger.versions("city")] == [1, 2, 3, 4, 5, 6]


def test_a_promotion_moves_both_versions_and_happens_once(ledger: Ledger):
    for digest in ("a", "b"):
        ledger.add_version(_version(digest), _event(digest))
    assert _promote(ledger, 1)
    assert _promote(ledger, 2)

    assert not ledger.move_versions("city", [], [_event("promote 2", "promoted", 2)])

    assert ledger.champion("city").version == 2
    assert [row.state for row in ledger.versions("city")] == ["retired", "champion"]
    assert [event.kind for event in ledger.model_events("city")] == ["registered", "registered", "promoted", "promoted"]


def test_a_move_from_a_state_it_is_not_in_changes_nothing(ledger: Ledger):
    for digest in ("a", "b"):
        ledger.add_version(_version(digest), _event(digest))
    _promote(ledger, 1)
    moves = [
        StateMove(version=1, from_state="champion", to_state="retired"),
        StateMove(version=2, from_state="retired", to_state="champion"),
    ]

    with pytest.raises(InvalidInputError, match="Version 2 of city is candidate, not retired"):
        ledger.move_versions("city", moves, [_event("rollback", "rolled_back", 2)])

    assert ledger.champion("city").version == 1
    assert "rollback" not in [event.event_key for event in ledger.model_events("city")]


def test_a_model_has_one_champion(ledger: Ledger):
    for digest in ("a", "b"):
        ledger.add_version(_version(digest), _event(digest))
    _promote(ledger, 1)

    with pytest.raises(LedgerError):
        ledger.move_versions("city", [StateMove(version=2, from_state="candidate", to_state="champion")], [_event("x")])

    assert ledger.champion("city").version == 1


def test_an_event_happens_once_and_is_never_rewritten(ledger: Ledger):
    assert ledger.add_event(_event("k"))
    assert not ledger.add_event(_event("k"))

    for statement in ("UPDATE model_events SET who = 'eve'", "DELETE FROM model_events"):
        with pytest.raises(LedgerError, match="model_events is append-only"), ledger._database.writing() as connection:
            connection.exec_driver_sql(statement)

    assert [event.who for event in ledger.model_events("city")] == ["ann"]


def test_the_first_word_on_a_trained_model_stays(ledger: Ledger):
    first = ledger.record_trained(_trained("a", 10))
    again = ledger.record_trained(_trained("a", 99))
    ledger.record_trained(_trained("b", 20))

    assert again == first == ledger.trained("a")
    assert ledger.newest_trained("city").labeled_frames == 20
    assert [row.digest for row in ledger.trained_models("city")] == ["b", "a"]
    assert ledger.trained("nothing") is None
    assert ledger.newest_trained("motorway") is None


def test_a_decision_is_kept_once_a_run_and_model(ledger: Ledger):
    for verdict in ("BLOCK", "PASS"):
        ledger.record_decision(
            DecisionRow(
                run_id="r1",
                digest="a",
                model="city",
                verdict=verdict,
                snapshot_uri="s",
                holdout_uri="h",
                report_uri="r",
                detail={"rules": [{"name": "floor", "n": 3}]},
            )
        )

    (kept,) = ledger.decisions(digest="a")
    assert (kept.verdict, kept.detail) == ("PASS", {"rules": [{"name": "floor", "n": 3}]})
    assert ledger.decisions(run_id="r1") == [kept]
    assert ledger.decisions(run_id="r2") == []
