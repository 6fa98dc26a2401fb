"""The ledger's chapter of campaigns, the audit trail and the outbox."""

from sqlalchemy import select, update

from driveflow.ledger.database import Database, fetch, first, insert_once, upsert
from driveflow.ledger.rows import AuditRow, CampaignRow, OutboxRow
from driveflow.ledger.tables import AUDIT, CAMPAIGNS, OUTBOX


class TrailChapter:
    """Campaigns, audit and outbox."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_campaign(self, row: CampaignRow) -> None:
        """Keep a campaign; kept again, its state, detail and frames, which may have grown, are the newer ones."""
        newer = ("state", "detail", "frames")
        with self._database.writing() as connection:
            upsert(connection, CAMPAIGNS, row, newer, created_at=row.created_at or self._database.now())

    def campaign(self, campaign_id: str) -> CampaignRow | None:
        """Return a campaign."""
        with self._database.reading() as connection:
            return first(connection, CampaignRow, select(CAMPAIGNS).where(CAMPAIGNS.c.campaign_id == campaign_id))

    def campaigns(self, *, flow: str = "", purpose: str = "", state: str = "") -> list[CampaignRow]:
        """Return campaigns, oldest first, of a flow, a purpose or a state where these are named."""
        query = select(CAMPAIGNS).order_by(CAMPAIGNS.c.created_at, CAMPAIGNS.c.campaign_id)
        for column, value in ((CAMPAIGNS.c.flow, flow), (CAMPAIGNS.c.purpose, purpose), (CAMPAIGNS.c.state, state)):
            query = query.where(column == value) if value else query
        with self._database.reading() as connection:
            return fetch(connection, CampaignRow, query)

    def add_audit(self, row: AuditRow) -> bool:
        """Note who did what; False where its key was noted before."""
        with self._database.writing() as connection:
            return insert_once(connection, AUDIT, row, at=row.at or self._database.now())

    def audit(self, subject: str = "", limit: int = 100) -> list[AuditRow]:
        """Return the newest notes, newest first; on one `subject` where it is named."""
        query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            return fetch(connection, AuditRow, query.where(AUDIT.c.subject == subject) if subject else query)

    def add_to_outbox(self, row: OutboxRow) -> bool:
        """Put a notification in the outbox; False where its key was there before."""
        with self._database.writing() as connection:
            return insert_once(connection, OUTBOX, row, created_at=row.created_at or self._database.now())

    def undelivered(self, limit: int = 100) -> list[OutboxRow]:
        """Return what waits in the outbox, oldest first."""
        query = select(OUTBOX).where(OUTBOX.c.delivered_at.is_(None)).order_by(OUTBOX.c.created_at, OUTBOX.c.key)
        with self._database.reading() as connection:
            return fetch(connection, OutboxRow, query.limit(limit))

    def note_delivery(self, key: str, error: str = "") -> None:
        """Note an attempt to deliver; without `error` it is delivered."""
        delivered_at = None if error else self._database.now()
        with self._database.writing() as connection:
            connection.execute(
                update(OUTBOX)
                .where(OUTBOX.c.key == key, OUTBOX.c.delivered_at.is_(None))
                .values(delivered_at=delivered_at, attempts=OUTBOX.c.attempts + 1, last_error=error)
            )
