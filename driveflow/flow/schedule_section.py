"""When a pipeline starts by itself."""

from dataclasses import dataclass
from typing import Literal

from driveflow.flow.fields import STRICT as _STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSection:
    """When `driveflow schedule` starts a pipeline; five cron fields, the time zone is the cluster's."""

    __pydantic_config__ = _STRICT
    cron: str = "0 2 * * 1"
    pipeline: Literal["curate", "retrain", "flow"] = "retrain"
