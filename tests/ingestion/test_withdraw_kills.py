"""A withdrawal that is killed with SIGKILL at one of its writes, and started again, ends in the same state."""

import json
import sqlite3
from contextlib import closing

from tests.ingestion.forking import calls
from tests.ingestion.test_withdraw import FRAME, Workspace


def _words(folder):
    return ["data", "withdraw", FRAME, "--reason", "law", "--who", "ann", "--yes", "-w", folder, "-o", "json"]


def _state(folder):
    """Every file but the snapshots and the ledger, with the folder's name and the time of the withdrawal taken out."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or "ledger" in name or name.startswith("store/snapshots"):
            continue
        data = path.read_bytes().replace(folder.as_uri().encode(), b"")
        found[name] = json.loads(data) | {"at": ""} if name.startswith("store/withdrawn") else data
    return found


def _audited(folder):
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        return ledger.execute("select count(*) from audit").fetchone()[0]


def test_killed_at_writes_all_along_and_run_again_it_ends_in_the_same_state_without_litter(tmp_path):
    Workspace(tmp_path / "whole")
    (whole,) = calls((_words(tmp_path / "whole"), 0))
    expected = _state(tmp_path / "whole")
    points = range(1, whole["writes"] + 1, max(1, whole["writes"] // 4))
    folders = {at: Workspace(tmp_path / f"killed{at}").folder for at in points}
    done = calls(*((_words(folder), kill_at) for at, folder in folders.items() for kill_at in (at, 0)))

    assert whole["code"] == 0
    assert [call["code"] for call in done] == [-9, 0] * len(folders)
    for folder in folders.values():
        assert _state(folder) == expected
        assert _audited(folder) == 1
