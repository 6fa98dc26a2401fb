"""AC-D13: a champion that cannot run any more stands in nobody's way for ever, and whoever says so says why."""

from datetime import UTC, datetime, timedelta

import pytest

from driveflow.errors import NotFoundError, UsageError
from driveflow.ledger import models
from driveflow.ledger.ledger import open_ledger
from driveflow.ledger.rows import ModelEventRow, ModelVersionRow, StateMove
from driveflow.ledger.tables import MODEL_EVENTS
from driveflow.place import sqlite_url
from registry.records import Act
from registry.set_aside import champion_set_aside, set_champion_aside
from tests.registry.made import promoted

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ACT = Act(who="ada", why="its trainer is gone")


@pytest.fixture
def ledger(tmp_path):
    return open_ledger(sqlite_url(tmp_path / "ledger.db"))


def _crown(ledger, digest):
    present = ledger.champion("city")
    row = ModelVersionRow(
        model="city", digest=digest, model_uri="m", snapshot_uri="s", run_id="r", report_uri="p", verdict={}
    )
    event = ModelEventRow(
        event_key=f"add {digest}", model="city", version=None, digest=digest, kind="registered", who="a", why="b"
    )
    added = ledger.add_version(row, event)
    moves = [StateMove(version=present.version, from_state="champion", to_state="retired")] if present else []
    moves.append(StateMove(version=added.version, from_state="candidate", to_state="champion"))
    ledger.move_versions("city", moves, [])


def test_ac_d13_a_champion_set_aside_is_known_with_author_reason_and_end_until_the_end_comes(ledger):
    _crown(ledger, "a" * 64)

    set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=7), NOW)

    found = champion_set_aside(ledger, "city", NOW + timedelta(days=6))
    assert (found.who, found.why, found.digest) == ("ada", "its trainer is gone", "a" * 64)
    assert champion_set_aside(ledger, "city", NOW + timedelta(days=7)) is None


def test_ac_d13_it_stands_in_the_audit_and_in_the_history(ledger):
    _crown(ledger, "a" * 64)

    set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=7), NOW)

    event = ledger.model_events("city")[-1]
    assert (event.kind, event.who) == ("set_aside", "ada")
    assert "until 2026-12-07" in event.why
    assert "its trainer is gone" in event.why
    assert ledger.audit("model city")[0].detail["until"].startswith("2026-12-07")


def test_who_is_killed_while_setting_a_champion_aside_leaves_all_of_it_or_nothing(ledger, monkeypatch):
    _crown(ledger, "a" * 64)

    def insert_once(connection, table, *rest, **filled):
        if table is MODEL_EVENTS:
            raise KeyboardInterrupt
        return write(connection, table, *rest, **filled)

    write = models.insert_once
    monkeypatch.setattr(models, "insert_once", insert_once)
    with pytest.raises(KeyboardInterrupt):
        set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=7), NOW)

    assert champion_set_aside(ledger, "city", NOW) is None
    assert ledger.audit("model city") == []


def test_a_later_note_replaces_an_earlier_one_and_a_new_champion_is_not_meant(ledger):
    _crown(ledger, "a" * 64)
    set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=30), NOW)
    set_champion_aside(ledger, "city", ACT, NOW + timedelta(hours=1), NOW + timedelta(minutes=1))
    assert champion_set_aside(ledger, "city", NOW + timedelta(days=1)) is None
    set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=30), NOW + timedelta(days=1))

    _crown(ledger, "b" * 64)

    assert champion_set_aside(ledger, "city", NOW + timedelta(days=2)) is None


def test_a_new_champion_ends_it_for_good_also_where_somebody_rolls_back(registry, ledger):
    first = promoted(registry, "one")
    set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=30), NOW)
    promoted(registry, "two")

    registry.rollback("city", ACT)

    assert ledger.champion("city").digest == first.digest
    assert champion_set_aside(ledger, "city", NOW) is None
    set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=1), NOW + timedelta(minutes=1))
    assert champion_set_aside(ledger, "city", NOW).digest == first.digest


@pytest.mark.parametrize("days", [-1, 0, 91])
def test_the_end_lies_ahead_and_not_further_than_90_days(ledger, days):
    _crown(ledger, "a" * 64)

    with pytest.raises(UsageError, match="90 days"):
        set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=days), NOW)


def test_without_a_champion_nothing_is_set_aside(ledger):
    with pytest.raises(NotFoundError, match="no champion"):
        set_champion_aside(ledger, "city", ACT, NOW + timedelta(days=1), NOW)
    assert champion_set_aside(ledger, "city", NOW) is None
