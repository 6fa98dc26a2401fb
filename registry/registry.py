"""The model registry: versions that cannot silently change, one champion, and a history of who and why."""

from datetime import datetime
from typing import Literal

from driveflow.detectors.model_folder import ModelFolder
from driveflow.errors import GateError, InvalidInputError, NotFoundError, UsageError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import DecisionRow, ModelEventRow, ModelVersionRow, TrainedModelRow, timestamp
from registry.moves import Move, event_key, make_move
from registry.proofs import check_version, require_beside, require_bound, require_pass, require_whole, retired_words
from registry.records import CROWNING, Act, Judgement, NewModel, Reign, VersionCheck, VersionDetail

_DIGEST_LETTERS = 8
_TRIES = 20  # each lost race means that somebody else moved a version


class Registry:
    """The models of one ledger; holds no state of its own, and may be used from many processes at once.

    Bytes are written before a version is, by whoever trained the model, and never here: so no version is without its
    bytes, and registering again overwrites nothing.
    """

    def __init__(self, ledger: Ledger, store: str) -> None:
        self._ledger = ledger
        self.store = store

    def record_trained(self, made: NewModel, judgement: Judgement) -> TrainedModelRow:
        """Remember a trained model and what the gate said of it, whatever that is; twice is once.

        Raises:
            GateError: the judgement is about another model.
        """
        if judgement.digest != made.digest:
            raise GateError(f"The gate judged model {judgement.digest[:12]}, but {made.digest[:12]} was trained.")
        row = self._ledger.record_trained(
            TrainedModelRow(
                digest=made.digest,
                model=made.model,
                model_uri=made.model_uri,
                snapshot_uri=made.snapshot_uri,
                holdout_uri=judgement.holdout_uri,
                report_uri=judgement.report_uri,
                verdict=judgement.outcome,
                run_id=made.run_id,
                labeled_frames=made.labeled_frames,
            )
        )
        self._ledger.record_decision(_decision(made, judgement))
        act = Act(who=f"run {made.run_id}", why="it was trained")
        self._ledger.add_event(_event(made.model, made.digest, "recorded", act))
        return row

    def register(self, digest: str, holdout_uri: str, act: Act, model: str = "") -> ModelVersionRow:
        """Make what was trained a version, as a candidate, and return it; what is a version stays that version.

        `model` is the name whose version it becomes; empty: the name it was first recorded under.

        Raises:
            NotFoundError: the model was never recorded.
            GateError: its newest judgement on this hold-out is not a PASS.
            IntegrityError: its bytes are not all there as they were trained.
        """
        trained = self._ledger.trained(digest)
        if trained is None:
            raise NotFoundError(f"No model with the digest {digest!r} was recorded.")
        name = model or trained.model
        decision = require_pass(self._ledger, name, digest, holdout_uri)
        row = ModelVersionRow(
            model=name,
            digest=digest,
            model_uri=trained.model_uri,
            snapshot_uri=trained.snapshot_uri,
            run_id=decision.run_id,
            report_uri=decision.report_uri,
            verdict={**decision.detail, "outcome": "PASS", "digest": digest, "holdout_uri": decision.holdout_uri},
        )
        event = _event(name, digest, "registered", act)
        return self._ledger.add_version(row, event, lambda: _whole(digest, trained.model_uri))

    def promote(self, model: str, version: int | str, act: Act, beside: str | None = None) -> ModelVersionRow:
        """Make a candidate the champion and the champion before it retired; return the version as it is then.

        `version` is a number, or a digest or the first 8 or more letters of one. Who is champion already stays so.
        `beside` is the digest of the champion that must still be it, empty for none; None: a person answers for it.

        Raises:
            NotFoundError: there is no such version.
            GateError: its PASS is missing, is of another model, or a newer judgement took it back; or the champion is
                not the one `beside` which it was judged.
            UsageError: it is retired; `rollback` brings a former champion back.
            IntegrityError: its bytes are broken.
        """
        for _ in range(_TRIES):
            target = self.version(model, version)
            if target.state == "champion" or self._was_done(model, act.key):
                return target
            if target.state == "retired":
                raise UsageError(self.why_retired(target))
            require_bound(target)
            require_pass(self._ledger, model, target.digest)
            _whole(target.digest, target.model_uri)
            present = self._ledger.champion(model)
            if beside is not None:
                require_beside(target, present, beside)
            move = Move("promoted", target, present, act)
            if make_move(self._ledger, move, self.history(model)):
                return self.version(model, target.version)
        raise InvalidInputError(f"Version {version} of {model} was not promoted: others keep moving it; try again.")

    def rollback(self, model: str, act: Act, version: int | str = "") -> ModelVersionRow:
        """Make a former champion champion again and return it; without `version` the newest one under the present.

        Raises:
            NotFoundError: there is no such version, or no former champion.
            UsageError: the version was never champion.
            IntegrityError: its bytes are broken.
        """
        for _ in range(_TRIES):
            present = self._ledger.champion(model)
            target = self.version(model, version) if version else self._former(model, present)
            if target.state == "champion" or self._was_done(model, act.key):
                return target
            if target.version not in self._crowned(model):
                never = f"Version {target.version} of {model} was never champion; promote would do."
                raise UsageError(self.why_retired(target) if target.state == "retired" else never)
            _whole(target.digest, target.model_uri)
            if make_move(self._ledger, Move("rolled_back", target, present, act), self.history(model)):
                return self.version(model, target.version)
        raise InvalidInputError(f"{model} was not rolled back: others keep moving its versions; try again.")

    def retire(self, model: str, version: int | str, act: Act) -> ModelVersionRow:
        """Put a candidate away; its bytes and history stay.

        Raises:
            NotFoundError: there is no such version.
            UsageError: it is the champion.
        """
        for _ in range(_TRIES):
            target = self.version(model, version)
            if target.state == "champion":
                raise UsageError(f"Version {target.version} is the champion of {model}; promote another one first.")
            if target.state == "retired":
                return target
            if make_move(self._ledger, Move("retired", target, None, act), self.history(model)):
                return self.version(model, target.version)
        raise InvalidInputError(f"Version {version} of {model} was not retired: others keep moving it; try again.")

    def why_retired(self, version: ModelVersionRow) -> str:
        """Return in a sentence what may become of a retired version."""
        return retired_words(version, was_champion=version.version in self._crowned(version.model))

    def champion(self, model: str, at: datetime | None = None) -> ModelVersionRow | None:
        """Return the champion now, or at a moment with a time zone; None where there was none."""
        if at is None:
            return self._ledger.champion(model)
        found = self.champions(model, at, at)
        return found[-1].version if found else None

    def champions(self, model: str, first: datetime, last: datetime) -> list[Reign]:
        """Return who was champion from one moment to another, both counted, in the order of their reigns."""
        reigns = [
            Reign(self.version(model, event.version), event.at)
            for event in self.history(model)
            if event.kind in CROWNING and event.version is not None and event.at <= timestamp(last)
        ]
        before = [reign for reign in reigns if reign.since <= timestamp(first)]
        return [*before[-1:], *(reign for reign in reigns if reign.since > timestamp(first))]

    def models(self) -> tuple[str, ...]:
        """Return the names of the models that have a version, sorted."""
        return tuple(sorted({row.model for row in self._ledger.versions()}))

    def require_model(self, model: str) -> None:
        """Refuse a model that has no version.

        Raises:
            NotFoundError: names those that have one.
        """
        known = self.models()
        if model not in known:
            named = f"known: {', '.join(known[:5]) or 'none'}"
            if self._ledger.model_events(model):
                raise NotFoundError(
                    f"Model {model!r} has no version yet ({named}): none has passed its gate. "
                    f"`driveflow models history {model}` tells what happened."
                )
            raise NotFoundError(f"There is no model {model!r}; {named}.")

    def versions(self, model: str) -> list[ModelVersionRow]:
        """Return the versions of a model, oldest first; of an unknown model none."""
        return self._ledger.versions(model)

    def version(self, model: str, version: int | str) -> ModelVersionRow:
        """Return one version, by number or by its digest or the first 8 or more letters of that.

        Raises:
            NotFoundError: there is no such version.
            GateError: it is the digest of a model that was trained but never became a version.
        """
        rows = self.versions(model)
        found = [row for row in rows if _is_called(row, str(version))]
        if found:
            return found[0]
        self._refuse_unregistered(model, str(version))
        self.require_model(model)
        known = ", ".join(str(row.version) for row in rows[-5:])
        raise NotFoundError(f"{model} has no version {version}; known: {known} ({len(rows)} in all).")

    def show(self, model: str, version: int | str) -> VersionDetail:
        """Return a version with its lineage: training, decisions, history.

        Raises:
            NotFoundError: there is no such version.
        """
        row = self.version(model, version)
        events = tuple(event for event in self.history(model) if event.digest == row.digest)
        decisions = tuple(self._ledger.decisions(digest=row.digest))
        return VersionDetail(row, self._ledger.trained(row.digest), decisions, events)

    def history(self, model: str) -> list[ModelEventRow]:
        """Return everything that happened to a model, oldest first."""
        return self._ledger.model_events(model)

    def verify(self, model: str, version: int | str) -> VersionCheck:
        """Return the state of every file of a version.

        Raises:
            NotFoundError: there is no such version; one that is there but broken is told by the result.
        """
        return check_version(self.version(model, version))

    def load(self, model: str, version: int | str) -> ModelFolder:
        """Return the folder of a version, every file checked.

        Raises:
            NotFoundError: there is no such version.
            IntegrityError: the version is there, but its bytes are broken.
        """
        row = self.version(model, version)
        return require_whole(row.digest, row.model_uri)

    def _was_done(self, model: str, key: str) -> bool:
        return bool(key) and any(event.event_key == event_key(model, key) for event in self.history(model))

    def _crowned(self, model: str) -> set[int | None]:
        return {event.version for event in self.history(model) if event.kind in CROWNING}

    def _former(self, model: str, present: ModelVersionRow | None) -> ModelVersionRow:
        crowned = self._crowned(model)
        rows = [row for row in self.versions(model) if row.version in crowned]
        under = [row for row in rows if present is None or row.version < present.version]
        if not under:
            raise NotFoundError(f"{model} has no former champion to go back to.")
        return under[-1]

    def _refuse_unregistered(self, model: str, name: str) -> None:
        if len(name) < _DIGEST_LETTERS:
            return
        for trained in self._ledger.trained_models(model, limit=10_000):
            if trained.digest.startswith(name):
                require_pass(self._ledger, model, trained.digest)
                raise GateError(
                    f"Model {trained.digest[:12]} passed, but was never registered as a version of {model}."
                )


def _whole(digest: str, model_uri: str) -> None:
    require_whole(digest, model_uri)


def _is_called(row: ModelVersionRow, name: str) -> bool:
    return name == str(row.version) or (len(name) >= _DIGEST_LETTERS and row.digest.startswith(name))


def _decision(made: NewModel, judgement: Judgement) -> DecisionRow:
    return DecisionRow(
        run_id=made.run_id,
        digest=made.digest,
        model=made.model,
        verdict=judgement.outcome,
        snapshot_uri=made.snapshot_uri,
        holdout_uri=judgement.holdout_uri,
        report_uri=judgement.report_uri,
        detail=judgement.detail,
    )


def _event(model: str, digest: str, kind: Literal["recorded", "registered"], act: Act) -> ModelEventRow:
    return ModelEventRow(
        event_key=event_key(model, f"{kind}:{digest}"),
        model=model,
        version=None,
        digest=digest,
        kind=kind,
        who=act.who,
        why=act.why,
    )
