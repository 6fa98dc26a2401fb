from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from driveflow.ledger.ledger import Ledger, open_ledger
from registry.registry import Registry


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """A clock that goes on by an hour at every look."""
    hours = count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=next(hours))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def ledger(tmp_path: Path, clock: Callable[[], datetime]) -> Ledger:
    return open_ledger(f"sqlite:///{tmp_path}/ledger.db", clock)


@pytest.fixture
def registry(ledger: Ledger, tmp_path: Path) -> Registry:
    return Registry(ledger, (tmp_path / "store").as_uri())
