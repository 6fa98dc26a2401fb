"""Many processes at once give versions without a gap, and one champion."""

import multiprocessing
from collections.abc import Callable

from driveflow.ledger.ledger import open_ledger
from registry.records import Act
from registry.registry import Registry
from tests.registry.made import ACT, HOLDOUT, MODEL, registered, states

PROCESSES = 3
EACH = 3


def at_once(work: Callable[..., None], arguments: list[tuple]) -> list[int | None]:
    """Run `work` in a process for each of `arguments`, all let go at one moment; return their exit codes."""
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(len(arguments))
    processes = [context.Process(target=work, args=(gate, *given)) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    return [process.exitcode for process in processes]


def register_some(gate, url: str, store: str, number: int) -> None:
    registry = Registry(open_ledger(url), store)
    gate.wait(60)
    for turn in range(EACH):
        registered(registry, f"model {number}.{turn}")
        registered(registry, f"shared {turn}")


def promote_one(gate, url: str, store: str, version: int) -> None:
    registry = Registry(open_ledger(url), store)
    gate.wait(60)
    for _ in range(EACH):
        if registry.version(MODEL, version).state == "candidate":
            registry.promote(MODEL, version, Act(who=f"process {version}", why="all at once"))


def test_processes_that_register_at_once_give_dense_versions(url, tmp_path):
    store = (tmp_path / "store").as_uri()

    codes = at_once(register_some, [(url, store, number) for number in range(PROCESSES)])

    rows = Registry(open_ledger(url), store).versions(MODEL)
    assert codes == [0] * PROCESSES
    assert [row.version for row in rows] == list(range(1, PROCESSES * EACH + EACH + 1))
    assert len({row.digest for row in rows}) == len(rows)


def test_processes_that_promote_at_once_leave_one_champion_and_a_history_that_holds(url, tmp_path):
    store = (tmp_path / "store").as_uri()
    registry = Registry(open_ledger(url), store)
    for number in range(PROCESSES):
        registered(registry, str(number))

    codes = at_once(promote_one, [(url, store, number + 1) for number in range(PROCESSES)])

    crowned = [event for event in registry.history(MODEL) if event.kind == "promoted"]
    assert codes == [0] * PROCESSES
    assert sorted(states(registry).values()) == ["champion", *["retired"] * (PROCESSES - 1)]
    assert sorted(event.version for event in crowned) == list(range(1, PROCESSES + 1))
    assert registry.champion(MODEL).version == crowned[-1].version
    demoted = [event.version for event in registry.history(MODEL) if event.kind == "demoted"]
    assert demoted == [event.version for event in crowned[:-1]]


def test_processes_that_promote_one_version_at_once_promote_it_once(url, tmp_path):
    store = (tmp_path / "store").as_uri()
    registry = Registry(open_ledger(url), store)
    registered(registry, "a")

    codes = at_once(promote_one, [(url, store, 1)] * PROCESSES)

    assert codes == [0] * PROCESSES
    assert [event.kind for event in registry.history(MODEL)].count("promoted") == 1
    assert registry.register(registry.champion(MODEL).digest, HOLDOUT, ACT).state == "champion"
