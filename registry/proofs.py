"""Proofs that a model may be registered or promoted: its gate decision, and its bytes."""

from driveflow.detectors.model_folder import MANIFEST, ModelFolder, open_model
from driveflow.errors import GateError, IntegrityError, NotFoundError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import DecisionRow, ModelVersionRow
from registry.records import FileCheck, VersionCheck


def require_pass(ledger: Ledger, model: str, digest: str, holdout_uri: str = "") -> DecisionRow:
    """Return the newest gate decision on a digest under a model's name, on one hold-out where that is named: a PASS.

    What the gate of another model said of the same bytes is of other rules, and counts neither for nor against.

    Raises:
        GateError: the newest decision is no PASS, or there is none.
    """
    said = (row for row in ledger.decisions(digest=digest) if row.model == model)
    found = [row for row in said if holdout_uri in ("", row.holdout_uri)]
    if not found:
        where = f" on {holdout_uri}" if holdout_uri else ""
        raise GateError(f"No gate has judged model {digest[:12]}{where}; only a PASS makes it a version.")
    newest = found[-1]
    if newest.verdict != "PASS":
        report = f" Report: {newest.report_uri}" if newest.report_uri else ""
        raise GateError(f"The gate says {newest.verdict} of model {digest[:12]}; only a PASS may go on.{report}")
    return newest


def require_beside(version: ModelVersionRow, present: ModelVersionRow | None, beside: str) -> None:
    """Refuse where the champion is no longer the one `beside` which the version was judged, empty where none was.

    Raises:
        GateError: it is another, or gone.
    """
    digest = present.digest if present is not None else ""
    if digest == beside:
        return
    now = f"version {present.version} is champion now" if present is not None else "there is no champion now"
    then = f"champion {beside[:12]}" if beside else "no champion"
    raise GateError(
        f"Version {version.version} of {version.model} was judged beside {then}, and {now}: the two were not compared. "
        "It waits as a candidate; judge it again, or promote it with a reason."
    )


def retired_words(version: ModelVersionRow, *, was_champion: bool) -> str:
    """Return what may become of a retired version."""
    which = f"Version {version.version} of {version.model}"
    if not was_champion:
        return f"{which} was put away before it was champion, and stays so."
    return f"{which} is retired; rollback brings champions back."


def require_bound(version: ModelVersionRow) -> None:
    """Refuse a version whose stored verdict is not a PASS of its own digest.

    Raises:
        GateError: the verdict is another, or of another model.
    """
    verdict = version.verdict
    if verdict.get("outcome") != "PASS" or verdict.get("digest") != version.digest or not verdict.get("holdout_uri"):
        raise GateError(
            f"Version {version.version} of {version.model} has no PASS bound to its digest {version.digest[:12]}; "
            f"got {verdict.get('outcome')!r} of {str(verdict.get('digest'))[:12]!r}."
        )


def require_whole(digest: str, model_uri: str) -> ModelFolder:
    """Return the model's folder, every file of it checked.

    Raises:
        IntegrityError: a file is gone or changed, or the folder is that of another model.
    """
    try:
        folder = open_model(model_uri)
        folder.verify()
    except NotFoundError as error:
        raise IntegrityError(f"Model {digest[:12]} is broken: {error}") from error
    if folder.digest != digest:
        raise IntegrityError(f"The folder {model_uri} holds model {folder.digest[:12]}, not {digest[:12]}.")
    return folder


def check_version(version: ModelVersionRow) -> VersionCheck:
    """Return the state of every file of `version`; nothing is raised for what is broken."""
    try:
        folder = open_model(version.model_uri)
    except NotFoundError as error:
        return _check(version, FileCheck(MANIFEST, "missing", str(error)))
    except IntegrityError as error:
        return _check(version, FileCheck(MANIFEST, "changed", str(error)))
    if folder.digest != version.digest:
        return _check(version, FileCheck(MANIFEST, "changed", f"it is the manifest of model {folder.digest}"))
    return _check(version, FileCheck(MANIFEST, "sound"), *(_check_file(folder, file.name) for file in folder.files))


def _check(version: ModelVersionRow, *files: FileCheck) -> VersionCheck:
    return VersionCheck(version.model, version.version, version.digest, files)


def _check_file(folder: ModelFolder, name: str) -> FileCheck:
    try:
        folder.read(name)
    except NotFoundError as error:
        return FileCheck(name, "missing", str(error))
    except IntegrityError as error:
        return FileCheck(name, "changed", str(error))
    return FileCheck(name, "sound")
