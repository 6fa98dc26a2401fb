"""What a profile refuses: a cluster gets nothing that two pods cannot share, and no file gets a secret."""

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from driveflow.flow.sections import Flow
from driveflow.storage.uris import S3_SCHEME

if TYPE_CHECKING:
    from driveflow.flow.profile import Profile

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_SQLITE = "SQLite is one file that two pods cannot share"
_LOCAL = "a local folder that no two pods share"
_PUT_IN_SECRET = "ledger: env:DRIVEFLOW_LEDGER with DRIVEFLOW_LEDGER among secrets would do"  # noqa: S105 a hint


def refusals(flow: Flow, profile: "Profile") -> list[str]:
    """Return what `profile` cannot do for `flow`: each setting by name, why, and what would do."""
    rules = (*_ANYWHERE, *_ON_CLUSTER) if profile.profile == "kfp" else _ANYWHERE
    return [refusal for rule in rules for refusal in rule(flow, profile)]


def _token(_flow: Flow, profile: "Profile") -> Iterator[str]:
    if profile.kfp.token and not _REFERENCE.fullmatch(profile.kfp.token):
        yield "kfp.token in plain text; env:NAME of a variable that holds it would do"
    for name, url in (("kfp.host", profile.kfp.host), ("s3.endpoint", profile.s3.endpoint)):
        if url and "@" in urlsplit(url).netloc:
            yield f"a user or password inside {name}; the address alone would do"


def _password(_flow: Flow, profile: "Profile") -> Iterator[str]:
    if urlsplit(profile.ledger).password is not None or "password=" in profile.ledger:
        yield "a ledger address with its password in plain text; ledger: env:NAME of a variable that holds it would do"


def _ledger(_flow: Flow, profile: "Profile") -> Iterator[str]:
    ledger = profile.ledger
    if _REFERENCE.fullmatch(ledger):
        yield from _ledger_reference(ledger.removeprefix("env:"), profile)
    elif not ledger or ledger.startswith("sqlite"):
        yield f"the ledger {ledger or 'in the workspace'}: {_SQLITE}; {_PUT_IN_SECRET}"
    elif not ledger.startswith("postgresql"):
        yield f"the ledger {ledger.partition(':')[0]}: only PostgreSQL is shared by pods; {_PUT_IN_SECRET}"


def _ledger_reference(name: str, profile: "Profile") -> Iterator[str]:
    if name not in profile.secrets or not profile.secret_name:
        yield f"the ledger env:{name}: no step gets that variable; secret_name and secrets: [{name}] would do"
    if os.environ.get(name, "").startswith("sqlite"):
        yield f"the ledger env:{name}: its value now is SQLite: {_SQLITE}"


def _addresses(flow: Flow, profile: "Profile") -> Iterator[str]:
    for name, address in (("store", profile.store), ("data_root", profile.data_root)):
        if not address.startswith(S3_SCHEME):
            yield f"{name} {address or 'in the workspace'}: {_LOCAL}; {name}: s3://bucket/key would do"
    for batch in flow.batches:
        if batch.path.startswith(("/", "~", "file:")):
            yield f"the path {batch.path} of batch {batch.name}: {_LOCAL}; one below data_root would do"


def _image(_flow: Flow, profile: "Profile") -> Iterator[str]:
    if not profile.image:
        yield "a profile without image; image: registry.example.com/driveflow-python would do"
    elif profile.image.endswith(":latest"):
        yield f"the image {profile.image}: KFP would reuse results of older code; the same without its tag would do"


def _secrets(_flow: Flow, profile: "Profile") -> Iterator[str]:
    if profile.secrets and not profile.secret_name:
        yield "secrets without secret_name, the Kubernetes secret that holds them"


def _nodes(flow: Flow, _profile: "Profile") -> Iterator[str]:
    if flow.training.nodes > 1:
        yield (
            f"training.nodes {flow.training.nodes}: several nodes need the cluster launcher, which does not exist yet; "
            "nodes: 1 with more workers_per_node would do"
        )


_ANYWHERE: tuple[Callable[[Flow, "Profile"], Iterator[str]], ...] = (_token, _password)
_ON_CLUSTER: tuple[Callable[[Flow, "Profile"], Iterator[str]], ...] = (_ledger, _addresses, _image, _secrets, _nodes)
