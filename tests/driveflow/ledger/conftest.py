from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from driveflow.ledger.ledger import Ledger, open_ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/sub folder/ledger.db"


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """A clock that goes on by a second at every look."""
    seconds = count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))


@pytest.fixture
def ledger(url: str, clock: Callable[[], datetime]) -> Ledger:
    return open_ledger(url, clock)
