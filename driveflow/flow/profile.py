"""A profile: everything about the place a flow runs in, so that the flow file is the same on a laptop and a cluster."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from driveflow.code_digest import code_digest
from driveflow.errors import NotFoundError, UsageError
from driveflow.flow.build import build
from driveflow.flow.document import parse_document
from driveflow.flow.load import read_settings
from driveflow.flow.profile_rules import refusals
from driveflow.flow.sections import BatchSection, Flow
from driveflow.place import PLACE_VARIABLE, Place, sqlite_url
from driveflow.release import release
from driveflow.storage.uris import S3_SCHEME, is_address, join, local_path, to_uri

_STRICT = ConfigDict(extra="forbid", str_strip_whitespace=True)
_POD_SCRATCH = "/tmp/driveflow"  # noqa: S108 a pod has its own
_PACKAGES = ("components", "filtering", "ingestion", "labeling", "registry", "training", "validation")
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Quantity = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(m|Ki|Mi|Gi|Ti)?$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Section:
    """Where S3 is; its keys come from the environment, on a cluster from the secret."""

    __pydantic_config__ = _STRICT
    endpoint: str = ""  # empty: Amazon's own
    region: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KfpSection:
    """The KFP server that `driveflow submit` and `driveflow schedule` talk to."""

    __pydantic_config__ = _STRICT
    host: str = ""  # http(s)://...
    namespace: str = ""  # only where KFP is installed for many users
    experiment: str = "driveflow"
    service_account: str = ""
    pipeline_root: str = ""  # where KFP keeps the pages; empty: the server's own choice
    token: str = ""  # env:NAME of the variable that holds a bearer token; empty: none, or the pod's own
    ca_certificate: str = ""  # a file, for a server whose certificate the machine does not know


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSize:
    """What one step's pod asks for, as Kubernetes writes it: 2, 500m, 4Gi."""

    __pydantic_config__ = _STRICT
    cpu: Quantity = "1"
    memory: Quantity = "4Gi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The place of a flow. `load_profile` makes `data_root` and `store` absolute addresses."""

    __pydantic_config__ = _STRICT
    profile: Literal["local", "kfp"]
    data_root: str = ""  # relative batch paths are below it; empty: the flow file's folder
    store: str = ""  # snapshots, signals, models, campaigns; empty: in the workspace
    ledger: str = ""  # SQLAlchemy URL, or env:NAME of the variable that holds it; empty: SQLite in the workspace
    scratch: str = ""  # a local folder for caches and training work; empty: in the workspace, or the pod's own
    cache_bytes: Annotated[int, Field(ge=0)] = 10 * 2**30
    s3: S3Section = field(default_factory=S3Section)
    image: str = ""  # without a tag, one of version and code is added: KFP's cache sees the image and not the code
    secret_name: str = ""  # a Kubernetes secret
    secrets: tuple[VariableName, ...] = ()  # its keys, each given to the steps as the variable of that name
    cpu: Quantity = "1"
    memory: Quantity = "4Gi"
    steps: dict[str, StepSize] = field(default_factory=dict)  # step name -> its own size
    active_deadline_s: Annotated[int, Field(ge=60)] = 24 * 3600  # a step that runs longer is stopped
    kfp: KfpSection = field(default_factory=KfpSection)

    def image_with_code(self) -> str:
        """Return the image with a tag; one without gets the version and a digest of the code."""
        if "@" in self.image or ":" in self.image.rpartition("/")[2]:
            return self.image
        return f"{self.image}:{release()}-{code_digest(*_PACKAGES)[:12]}"

    def environment(self) -> dict[str, str]:
        """Return the variables that every step of a compiled pipeline gets; none of them is secret."""
        return {PLACE_VARIABLE: place_of(self, Path(_POD_SCRATCH)).to_text(), **self.s3_variables()}

    def s3_variables(self) -> dict[str, str]:
        """Return the variables by which every S3 client finds the store; a local run must have them too."""
        variables = {
            "AWS_ENDPOINT_URL": self.s3.endpoint,
            "AWS_REGION": self.s3.region,
            "AWS_DEFAULT_REGION": self.s3.region,  # boto3 reads this one only
        }
        return {name: value for name, value in variables.items() if value}

    def size_of(self, step: str) -> StepSize:
        """Return what the pod of `step` asks for."""
        return self.steps.get(step, StepSize(cpu=self.cpu, memory=self.memory))


def load_profile(wanted: str, flow_dir: Path) -> Profile:
    """Return the profile `wanted`: a file, or the name of one in profiles/ of the flow's folder; empty means local.

    Raises:
        NotFoundError: there is no such profile.
        UsageError: with file, line, key, what was got and what would do.
    """
    path = _find(wanted or "local", flow_dir)
    if path is None:
        return _absolute(Profile(profile="local"), flow_dir)
    source = str(path)
    return _absolute(build(Profile, parse_document(read_settings(path), source), source), flow_dir)


def check_profile(flow: Flow, profile: Profile) -> None:
    """Refuse, by name, what `profile` cannot do for `flow`; all at once.

    Raises:
        UsageError: with each setting, why, and what would do.
    """
    refused = refusals(flow, profile)
    if len(refused) == 1:
        raise UsageError(f"The {profile.profile} profile refuses {refused[0]}.")
    if refused:
        raise UsageError("\n  ".join([f"The {profile.profile} profile refuses {len(refused)} settings:", *refused]))


def place_of(profile: Profile, workspace: Path) -> Place:
    """Return the place of a profile; what it leaves open lies under `workspace`.

    Raises:
        UsageError: the workspace is an address, and no local folder.
    """
    if is_address(workspace):
        raise UsageError(
            f"--workspace {str(workspace)!r} is an address, and a workspace is a local folder; a profile whose "
            "`store` is s3://bucket/key puts the data there."
        )
    local = Path(os.path.abspath(workspace))  # noqa: PTH100 one spelling a folder; resolve() would follow links
    on_cluster = profile.profile == "kfp"
    return Place(
        profile=profile.profile,
        store=profile.store or (local / "store").as_uri(),
        ledger=profile.ledger or sqlite_url(local / "ledger.db"),
        scratch=profile.scratch or (_POD_SCRATCH if on_cluster else str(local / "scratch")),
        cache_bytes=profile.cache_bytes,
    )


def resolve_batch_uri(section: BatchSection, profile: Profile, flow_dir: Path) -> str:
    """Return the address of a batch: its own where it states one, else its path below the profile's data root."""
    return batch_address(section.path, to_uri(profile.data_root or ".", flow_dir))


def batch_address(path: str, data_root: str) -> str:
    """Return `path` where it is an address or absolute, else what lies there below `data_root`, an address."""
    if "://" in path or path.startswith(("/", "~")):
        return to_uri(path)
    if data_root.startswith(S3_SCHEME):
        return join(data_root, *(part for part in path.split("/") if part not in {"", "."}))
    return to_uri(path, local_path(data_root))


def _find(wanted: str, flow_dir: Path) -> Path | None:
    """Return the file of a profile; None for a local one that nobody wrote."""
    if wanted.endswith((".yaml", ".yml")) or "/" in wanted:
        return Path(wanted)
    folder = flow_dir / "profiles"
    path = folder / f"{wanted}.yaml"
    if path.is_file():
        return path
    if wanted == "local":
        return None
    known = sorted(found.stem for found in folder.glob("*.yaml")) or ["none"]
    hint = f" `driveflow init --profiles {flow_dir}` writes one to fill in." if wanted == "kfp" else ""
    raise NotFoundError(f"No profile is called '{wanted}' in {folder}. Known: {', '.join(known)}.{hint}")


def _absolute(profile: Profile, flow_dir: Path) -> Profile:
    store = to_uri(profile.store, flow_dir) if profile.store else ""
    return replace(profile, data_root=to_uri(profile.data_root or ".", flow_dir), store=store)
