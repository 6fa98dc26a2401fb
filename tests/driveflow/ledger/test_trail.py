from dataclasses import replace

import pytest

from driveflow.errors import LedgerError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import AuditRow, CampaignRow, OutboxRow


def _campaign(name: str, state: str = "open", purpose: str = "train") -> CampaignRow:
    return CampaignRow(
        campaign_id=name,
        flow="city",
        run_id="r1",
        uri=f"s3://store/campaigns/{name}",
        purpose=purpose,
        frames=3,
        classes=("car", "bike"),
        state=state,
    )


def test_a_campaign_kept_again_has_the_newer_state_and_its_first_time(ledger: Ledger):
    ledger.record_campaign(_campaign("c1"))
    created = ledger.campaign("c1").created_at
    ledger.record_campaign(_campaign("c1", state="collected"))

    (kept,) = ledger.campaigns(flow="city")
    assert (kept.state, kept.created_at, kept.classes) == ("collected", created, ("car", "bike"))


def test_a_campaign_that_grew_has_its_frames_of_now(ledger: Ledger):
    ledger.record_campaign(_campaign("c1"))
    ledger.record_campaign(replace(_campaign("c1"), frames=7))

    assert ledger.campaign("c1").frames == 7


def test_campaigns_are_found_by_flow_purpose_and_state(ledger: Ledger):
    ledger.record_campaign(_campaign("c1"))
    ledger.record_campaign(_campaign("c2", purpose="holdout"))
    ledger.record_campaign(_campaign("c3", state="collected"))

    assert [row.campaign_id for row in ledger.campaigns(purpose="train", state="open")] == ["c1"]
    assert [row.campaign_id for row in ledger.campaigns()] == ["c1", "c2", "c3"]
    assert ledger.campaigns(flow="motorway") == []
    assert ledger.campaign("nothing") is None


def test_the_audit_trail_only_grows(ledger: Ledger):
    note = AuditRow(audit_key="k", who="ann", action="withdraw", subject="frame 1", detail={"why": "law"})
    assert ledger.add_audit(note)
    assert not ledger.add_audit(note)

    for statement in ("UPDATE audit SET who = 'eve'", "DELETE FROM audit"):
        with pytest.raises(LedgerError, match="audit is append-only"), ledger._database.writing() as connection:
            connection.exec_driver_sql(statement)

    assert [(row.who, row.detail) for row in ledger.audit("frame 1")] == [("ann", {"why": "law"})]
    assert ledger.audit("frame 2") == []


def test_ac_o23_a_notification_is_made_once_and_waits_until_it_is_delivered(ledger: Ledger):
    message = OutboxRow(key="promoted city 3", kind="webhook", payload={"text": "city has a new champion"})
    assert ledger.add_to_outbox(message)
    assert not ledger.add_to_outbox(message)

    ledger.note_delivery(message.key, error="connection refused")
    (waiting,) = ledger.undelivered()
    ledger.note_delivery(message.key)

    assert (waiting.attempts, waiting.last_error) == (1, "connection refused")
    assert ledger.undelivered() == []
    assert not ledger.add_to_outbox(message)
