"""A sweep removes old models of no version, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from driveflow.errors import IntegrityError, UsageError
from driveflow.storage.objects import local_path
from registry.garbage import sweep_models
from tests.registry.made import ACT, HOLDOUT, MODEL, promoted, recorded, registered, trained

LATER = datetime(2026, 6, 1, tzinfo=UTC)


def folders(registry) -> set[str]:
    return {path.name for path in (local_path(registry.store) / "models").iterdir() if any(path.iterdir())}


def test_ac_e13_a_sweep_never_touches_a_digest_that_any_version_names(registry, ledger):
    kept = {promoted(registry, "a").digest, promoted(registry, "b").digest, registered(registry, "c").digest}
    retired = registered(registry, "d")
    registry.retire(MODEL, retired.version, ACT)
    blocked = recorded(registry, "e", "BLOCK")

    sweep = sweep_models(ledger, registry.store, LATER, keep_days=30)

    assert sweep.removed == (blocked,)
    assert folders(registry) == {*kept, retired.digest} == set(sweep.of_versions)
    assert all(registry.verify(MODEL, row.version).is_sound for row in registry.versions(MODEL))


def test_ac_e13_a_sweep_leaves_nothing_of_what_it_removes_and_twice_is_once(registry, ledger):
    recorded(registry, "e", "BLOCK")

    first = sweep_models(ledger, registry.store, LATER, keep_days=30)
    second = sweep_models(ledger, registry.store, LATER, keep_days=30)

    assert len(first.removed) == 1
    assert folders(registry) == set()
    assert second.removed == ()


def test_a_sweep_leaves_young_models_and_those_the_ledger_never_saw(registry, ledger):
    young = recorded(registry, "e", "BLOCK")
    unknown = trained(registry, "f").digest
    made_at = datetime.fromisoformat(ledger.trained(young).created_at)

    sweep = sweep_models(ledger, registry.store, made_at + timedelta(days=30) - timedelta(seconds=1), keep_days=30)

    assert (sweep.young, sweep.unknown, sweep.removed) == ((young,), (unknown,), ())
    assert sweep_models(ledger, registry.store, made_at + timedelta(days=30), keep_days=30).removed == (young,)


def test_a_model_that_was_swept_does_not_become_a_version(registry, ledger):
    digest = recorded(registry, "a")
    sweep_models(ledger, registry.store, LATER, keep_days=30)

    with pytest.raises(IntegrityError, match="is broken"):
        registry.register(digest, HOLDOUT, ACT)


def test_models_are_kept_for_a_day_at_least(registry, ledger):
    with pytest.raises(UsageError, match="got keep_days=0"):
        sweep_models(ledger, registry.store, LATER, keep_days=0)


def test_an_empty_store_is_swept_without_a_word(registry, ledger):
    assert sweep_models(ledger, registry.store, LATER, keep_days=1).removed == ()
