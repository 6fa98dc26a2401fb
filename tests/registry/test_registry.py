"""A version's bytes, verdict and history cannot silently change, and one version is champion."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from driveflow.detectors.model_folder import write_model
from driveflow.errors import GateError, IntegrityError, InvalidInputError, NotFoundError, UsageError
from driveflow.ledger.ledger import open_ledger
from registry.records import Act, Judgement
from registry.registry import Registry
from tests.registry.made import (
    ACT,
    HOLDOUT,
    MODEL,
    file_of,
    judged,
    new_model,
    promoted,
    recorded,
    registered,
    states,
    trained,
)

TICK = timedelta(microseconds=1)

# Recording and registering.


@pytest.mark.parametrize("outcome", ["PASS", "BLOCK", "NEEDS DATA"])
def test_every_trained_model_is_recorded_whatever_the_verdict(registry, ledger, outcome):
    digest = recorded(registry, "a", outcome)

    row = ledger.trained(digest)
    assert (row.verdict, row.report_uri) == (outcome, f"file:///reports/{digest}.html")
    assert [event.kind for event in registry.history(MODEL)] == ["recorded"]


def test_recording_twice_is_recording_once(registry, ledger):
    first, second = recorded(registry, "a"), recorded(registry, "a")

    assert first == second
    assert len(ledger.trained_models(MODEL)) == len(ledger.decisions(digest=first)) == len(registry.history(MODEL)) == 1


@pytest.mark.parametrize("outcome", ["BLOCK", "NEEDS DATA"])
def test_ac_e12_only_a_pass_makes_a_version(registry, outcome):
    digest = recorded(registry, "a", outcome)

    with pytest.raises(GateError, match=f"The gate says {outcome} of model {digest[:12]}.*Report: file:///reports"):
        registry.register(digest, HOLDOUT, ACT)
    assert registry.versions(MODEL) == []


def test_a_pass_on_another_hold_out_makes_no_version(registry):
    digest = recorded(registry, "a")

    with pytest.raises(GateError, match=r"No gate has judged model .* on file:///other"):
        registry.register(digest, "file:///other", ACT)


def test_a_pass_of_another_model_is_not_recorded(registry):
    one, two = trained(registry, "a"), trained(registry, "b")

    with pytest.raises(GateError, match="The gate judged model"):
        registry.record_trained(new_model(one), judged(two.digest))


def test_a_newer_block_takes_an_older_pass_back(registry):
    digest = recorded(registry, "a")
    recorded(registry, "a", "BLOCK", run_id="run-2")

    with pytest.raises(GateError, match="says BLOCK"):
        registry.register(digest, HOLDOUT, ACT)


def test_ac_e6_registering_again_returns_the_same_version(registry):
    first = registered(registry, "a")

    again = registry.register(first.digest, HOLDOUT, ACT)

    assert again == first
    assert [row.version for row in registry.versions(MODEL)] == [1]


def test_ac_e7_registering_again_overwrites_no_byte_and_does_not_fail(registry):
    first = registered(registry, "a")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in file_of(first).parent.iterdir()}

    registry.register(first.digest, HOLDOUT, ACT)
    trained(registry, "a")
    trained(registry, "other bytes")

    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in file_of(first).parent.iterdir()}
    files = [path for path in before if path.name != "model.json"]  # written again by the trainer, with equal bytes
    assert {path: after[path] for path in files} == {path: before[path] for path in files}
    assert {path: data for path, (data, _) in after.items()} == {path: data for path, (data, _) in before.items()}


def test_ac_e6_bytes_that_two_models_share_are_a_version_of_each_and_of_neither_twice(registry, ledger):
    first = promoted(registry, "a")
    registry.record_trained(new_model(trained(registry, "a"), "run-2", "town"), judged(first.digest))

    rows = [registry.register(first.digest, HOLDOUT, ACT, name) for name in ("town", "town", MODEL)]

    assert [(row.model, row.version) for row in rows] == [("town", 1), ("town", 1), (MODEL, 1)]
    assert ledger.newest_trained("town").digest == first.digest
    assert registry.champion("town") is None


def test_ac_e15_registering_returns_number_digest_and_address(registry):
    digest = recorded(registry, "a")

    row = registry.register(digest, HOLDOUT, ACT)

    assert (row.model, row.version, row.digest) == (MODEL, 1, digest)
    assert row.model_uri == f"{registry.store}/models/{digest}"
    assert row.report_uri == f"file:///reports/{digest}.html"


def test_ac_e8_no_version_is_made_without_its_bytes_and_a_second_try_completes_it(registry):
    folder = trained(registry, "a")
    registry.record_trained(new_model(folder), judged(folder.digest))
    (weights,) = [path for path in (file_of(new_model(folder)).parent).iterdir() if path.suffix == ".safetensors"]
    weights.unlink()

    with pytest.raises(IntegrityError, match="is broken"):
        registry.register(folder.digest, HOLDOUT, ACT)
    assert registry.versions(MODEL) == []
    trained(registry, "a")

    assert registry.register(folder.digest, HOLDOUT, ACT).version == 1


def test_a_model_that_was_never_recorded_is_not_found(registry):
    with pytest.raises(NotFoundError, match="No model with the digest 'abc' was recorded"):
        registry.register("abc", HOLDOUT, ACT)


def test_versions_are_numbered_without_a_gap(registry):
    assert [registered(registry, name).version for name in "abc"] == [1, 2, 3]


# Bytes.


def test_ac_e1_bytes_that_were_overwritten_do_not_load(registry):
    version = registered(registry, "a")
    file_of(version).write_bytes(b"b")

    with pytest.raises(IntegrityError, match="is not what was written there"):
        registry.load(MODEL, 1)


def test_ac_e1_other_bytes_never_take_the_place_of_a_version(registry):
    version = registered(registry, "a")
    declaration = registry.load(MODEL, 1).declaration

    other = write_model(registry.store, declaration, {"weights.safetensors": b"other"})

    assert other.uri != version.model_uri
    assert registry.verify(MODEL, 1).is_sound


@pytest.mark.parametrize("kind", ["promote", "rollback"])
def test_broken_bytes_never_become_champion(registry, kind):
    for name in "ab":
        promoted(registry, name)
    target = registered(registry, "c") if kind == "promote" else registry.version(MODEL, 1)
    file_of(target).write_bytes(b"!")

    with pytest.raises(IntegrityError):
        registry.promote(MODEL, 3, ACT) if kind == "promote" else registry.rollback(MODEL, ACT)
    assert registry.champion(MODEL).version == 2


def test_every_file_of_a_version_is_checked(registry):
    version = registered(registry, "a")
    file_of(version).write_bytes(b"b")
    file_of(version, "training.json").unlink()

    check = registry.verify(MODEL, 1)

    assert not check.is_sound
    assert {file.name: file.state for file in check.files} == {
        "model.json": "sound",
        "training.json": "missing",
        "weights.safetensors": "changed",
    }


@pytest.mark.parametrize(("harm", "state"), [("gone", "missing"), ("no json", "changed"), ("other", "changed")])
def test_a_broken_manifest_is_told(registry, harm, state):
    version = registered(registry, "a")
    manifest = file_of(version, "model.json")
    if harm == "gone":
        manifest.unlink()
    else:
        manifest.write_text("{" if harm == "no json" else manifest.read_text().replace('"car"', '"bus"'))

    check = registry.verify(MODEL, 1)

    assert [(file.name, file.state) for file in check.files] == [("model.json", state)]


def test_ac_e9_a_version_that_is_not_there_and_one_that_is_broken_are_told_apart(registry):
    version = registered(registry, "a")
    file_of(version, "model.json").unlink()

    with pytest.raises(NotFoundError, match="city has no version 2; known: 1"):
        registry.load(MODEL, 2)
    with pytest.raises(NotFoundError, match="There is no model 'town'; known: city"):
        registry.load("town", 1)
    with pytest.raises(IntegrityError, match="is broken"):
        registry.load(MODEL, 1)


# One champion.


def test_promotion_retires_the_champion_before(registry):
    promoted(registry, "a")

    promoted(registry, "b")

    assert states(registry) == {1: "retired", 2: "champion"}
    assert registry.champion(MODEL).version == 2


def test_promoting_the_champion_changes_nothing(registry, ledger):
    first = promoted(registry, "a")

    again = registry.promote(MODEL, 1, ACT)

    assert again == first
    assert [event.kind for event in registry.history(MODEL)] == ["recorded", "registered", "promoted"]
    assert len(ledger.undelivered()) == 1


def test_ac_o23_a_promotion_with_a_key_is_made_once_even_after_a_roll_back(registry):
    promoted(registry, "a")
    registered(registry, "b")
    act = Act(who="run r", why="it passed", key="run r")
    registry.promote(MODEL, 2, act)
    registry.rollback(MODEL, ACT)

    row = registry.promote(MODEL, 2, act)

    assert row.state == "retired"
    assert registry.champion(MODEL).version == 1


@pytest.mark.parametrize(("who", "why"), [("", "why"), ("who", " ")])
def test_ac_e12_nothing_is_approved_without_a_name_and_a_reason(who, why):
    with pytest.raises(UsageError, match="a name and a reason would do"):
        Act(who=who, why=why)


def test_ac_e12_who_promoted_and_why_is_kept(registry):
    promoted(registry, "a")

    event = registry.history(MODEL)[-1]

    assert (event.kind, event.who, event.why) == ("promoted", "ann", "it is better")


def test_ac_e12_the_newest_version_is_not_promoted_by_itself(registry):
    registered(registry, "a")

    assert registry.champion(MODEL) is None
    assert states(registry) == {1: "candidate"}


def test_a_version_whose_judgement_was_taken_back_is_not_promoted(registry):
    registered(registry, "a")
    recorded(registry, "a", "BLOCK", run_id="run-2")

    with pytest.raises(GateError, match="says BLOCK"):
        registry.promote(MODEL, 1, ACT)


def test_the_gate_of_another_name_takes_no_judgement_on_the_same_bytes_back(registry):
    digest = registered(registry, "a").digest
    folder = trained(registry, "a")
    registry.record_trained(new_model(folder, "run-2", "town"), judged(digest, "BLOCK"))

    assert registry.promote(MODEL, 1, ACT).state == "champion"
    with pytest.raises(GateError, match="says BLOCK"):
        registry.register(digest, HOLDOUT, ACT, "town")
    recorded(registry, "a", run_id="run-3")
    with pytest.raises(GateError, match="says BLOCK"):
        registry.register(digest, HOLDOUT, ACT, "town")


def test_what_was_judged_beside_another_champion_is_not_promoted_by_itself(registry):
    first = promoted(registry, "a")
    for name in ("b", "c"):
        registered(registry, name)
    second = registry.promote(MODEL, 2, ACT, beside=first.digest)

    for beside in (first.digest, ""):
        with pytest.raises(GateError, match="version 2 is champion now: the two were not compared"):
            registry.promote(MODEL, 3, ACT, beside=beside)

    assert states(registry) == {1: "retired", 2: "champion", 3: "candidate"}
    assert registry.promote(MODEL, 2, ACT, beside=first.digest) == second  # again, after a kill
    assert registry.promote(MODEL, 3, ACT).state == "champion"


@pytest.mark.parametrize(
    "verdict", [{}, {"outcome": "BLOCK"}, {"outcome": "PASS", "digest": "other", "holdout_uri": HOLDOUT}]
)
def test_a_version_without_a_pass_bound_to_its_digest_is_not_promoted(registry, ledger, verdict):
    digest = recorded(registry, "a")
    real = registered(registry, "b")
    event = replace(registry.history(MODEL)[-1], event_key="forged", id=0)
    ledger.add_version(replace(real, digest=digest, version=0, verdict=verdict), event)

    with pytest.raises(GateError, match="no PASS bound to its digest"):
        registry.promote(MODEL, 2, ACT)


def test_a_blocked_model_cannot_be_promoted_by_its_digest(registry):
    digest = recorded(registry, "a", "BLOCK")

    with pytest.raises(GateError, match="says BLOCK"):
        registry.promote(MODEL, digest[:12], ACT)


def test_a_version_is_found_by_the_beginning_of_its_digest(registry):
    version = registered(registry, "a")

    assert registry.version(MODEL, version.digest[:8]) == version
    with pytest.raises(NotFoundError):
        registry.version(MODEL, version.digest[:7])


def test_ac_e4_a_champion_cannot_be_retired(registry):
    promoted(registry, "a")

    with pytest.raises(UsageError, match="Version 1 is the champion of city; promote another one first"):
        registry.retire(MODEL, 1, ACT)
    assert registry.champion(MODEL).version == 1


def test_a_candidate_can_be_retired_and_is_then_not_promoted(registry):
    registered(registry, "a")

    assert registry.retire(MODEL, 1, ACT).state == registry.retire(MODEL, 1, ACT).state == "retired"
    with pytest.raises(UsageError, match="was put away before it was champion, and stays so"):
        registry.promote(MODEL, 1, ACT)


# Back and then.


def test_a_roll_back_goes_to_the_former_champion(registry):
    for name in "abc":
        promoted(registry, name)

    back = registry.rollback(MODEL, ACT)
    further = registry.rollback(MODEL, ACT)

    assert (back.version, further.version) == (2, 1)
    assert states(registry) == {1: "champion", 2: "retired", 3: "retired"}
    with pytest.raises(NotFoundError, match="no former champion"):
        registry.rollback(MODEL, ACT)


def test_a_roll_back_goes_to_the_version_it_names(registry):
    for name in "abc":
        promoted(registry, name)

    assert registry.rollback(MODEL, ACT, 1).version == 1
    assert registry.rollback(MODEL, ACT, 3).version == 3


def test_a_roll_back_goes_to_no_version_that_was_never_champion(registry):
    promoted(registry, "a")
    registered(registry, "b")

    with pytest.raises(UsageError, match="Version 2 of city was never champion"):
        registry.rollback(MODEL, ACT, 2)


def test_what_was_put_away_before_it_was_champion_is_told_as_such_whoever_asks(registry):
    promoted(registry, "a")
    registered(registry, "b")
    registry.retire(MODEL, 2, ACT)

    for ask in (registry.promote, lambda model, version, act: registry.rollback(model, act, version)):
        with pytest.raises(UsageError, match="Version 2 of city was put away before it was champion, and stays so"):
            ask(MODEL, 2, ACT)


def test_ac_e2_history_answers_who_was_champion_at_any_moment(registry):
    promoted(registry, "a")
    promoted(registry, "b")
    registry.rollback(MODEL, ACT)
    moments = [
        datetime.fromisoformat(event.at)
        for event in registry.history(MODEL)
        if event.kind in ("promoted", "rolled_back")
    ]

    champions = [registry.champion(MODEL, at=moment).version for moment in moments]

    assert champions == [1, 2, 1]
    assert registry.champion(MODEL, at=datetime(2020, 1, 1, tzinfo=UTC)) is None
    with pytest.raises(InvalidInputError, match="has no time zone"):
        registry.champion(MODEL, at=datetime(2026, 1, 1))  # noqa: DTZ001 the point of the test


def test_ac_e2_every_champion_of_a_span_is_told_with_the_one_it_began_under(registry):
    for name in "abc":
        promoted(registry, name)
    crowned = [datetime.fromisoformat(event.at) for event in registry.history(MODEL) if event.kind == "promoted"]

    spans = [(crowned[0], crowned[1]), (crowned[1] + TICK, crowned[2] - TICK), (crowned[0] - TICK, crowned[0] - TICK)]
    found = [[reign.version.version for reign in registry.champions(MODEL, *span)] for span in spans]

    assert found == [[1, 2], [2], []]


def test_ac_e11_promotions_demotions_and_roll_backs_are_told_once_and_registering_is_not(registry, ledger):
    registered(registry, "0")
    promoted(registry, "a")
    promoted(registry, "b")
    registry.rollback(MODEL, Act(who="bob", why="it misses bicycles"))

    told = [(row.kind, row.payload["version"]) for row in ledger.undelivered()]

    assert sorted(told) == sorted(
        [
            ("model_promoted", 2),
            ("model_demoted", 2),
            ("model_promoted", 3),
            ("model_demoted", 3),
            ("model_rolled_back", 2),
        ]
    )
    back = next(row for row in ledger.undelivered() if row.kind == "model_rolled_back")
    assert back.payload["model_uri"] == registry.champion(MODEL).model_uri
    assert back.payload["why"] == "it misses bicycles"


def test_history_cannot_be_rewritten(registry, ledger):
    promoted(registry, "a")
    before = registry.history(MODEL)
    event = replace(before[-1], why="another reason", id=0)

    assert not ledger.add_event(event)
    assert registry.history(MODEL) == before


def test_a_version_tells_where_it_came_from(registry):
    version = promoted(registry, "a")

    detail = registry.show(MODEL, 1)

    assert detail.version == version
    assert detail.trained.snapshot_uri == "file:///store/snapshots/training"
    assert [row.holdout_uri for row in detail.decisions] == [HOLDOUT]
    assert [event.kind for event in detail.events] == ["recorded", "registered", "promoted"]


def test_models_do_not_touch_each_other(registry):
    promoted(registry, "a")
    folder = trained(registry, "b")
    registry.record_trained(new_model(folder, model="town"), judged(folder.digest))
    registry.promote("town", registry.register(folder.digest, HOLDOUT, ACT).version, ACT)

    assert registry.models() == ("city", "town")
    assert [registry.champion(name).version for name in registry.models()] == [1, 1]


@pytest.mark.parametrize("change", [{"outcome": "pass"}, {"digest": ""}, {"holdout_uri": ""}])
def test_a_judgement_names_outcome_model_and_hold_out(change):
    with pytest.raises(UsageError):
        Judgement(**{"outcome": "PASS", "digest": "d", "holdout_uri": "h", "report_uri": "", **change})


def test_the_whole_life_of_a_model_on_each_database(url, clock, tmp_path):
    registry = Registry(open_ledger(url, clock), (tmp_path / "store").as_uri())

    for name in "ab":
        promoted(registry, name)
    registry.rollback(MODEL, ACT)
    registered(registry, "c")
    registry.retire(MODEL, 3, ACT)

    assert states(registry) == {1: "champion", 2: "retired", 3: "retired"}
    kinds = [event.kind for event in registry.history(MODEL)]
    life = [
        "recorded",
        "registered",
        "promoted",
        "recorded",
        "registered",
        "demoted",
        "promoted",
        "demoted",
        "rolled_back",
    ]
    assert kinds == [*life, "recorded", "registered", "retired"]
