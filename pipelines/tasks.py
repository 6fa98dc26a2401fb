"""What a profile does to every task of a pipeline."""

from collections.abc import Callable
from typing import Any, TypeAlias

from driveflow.flow.profile import Profile

Prepare: TypeAlias = Callable[[Any], Any]
"""Takes a KFP task, sets what the profile says about the place, and returns it."""

_RETRIES = 2
_FIRST_WAIT = "60s"
_LONGEST_WAIT = "600s"


def prepare_for(profile: Profile) -> Prepare:
    """Return what sets up a task for `profile`.

    KFP's own cache is off for every step: it cannot see whether an output still exists. Steps reuse by digest instead,
    and open what they reuse.
    """

    def prepare(task: Any) -> Any:  # noqa: ANN401 KFP's task
        task.set_caching_options(enable_caching=False)
        if profile.profile == "kfp":
            _size(task, profile)
            _place(task, profile)
        return task

    return prepare


def _size(task: Any, profile: Profile) -> None:  # noqa: ANN401 KFP's task
    from kfp import kubernetes

    size = profile.size_of(task.name.replace("-", "_"))
    task.set_cpu_request(size.cpu)
    task.set_memory_request(size.memory)
    task.set_memory_limit(size.memory)
    kubernetes.set_timeout(task, profile.active_deadline_s)
    task.set_retry(_RETRIES, backoff_duration=_FIRST_WAIT, backoff_factor=2.0, backoff_max_duration=_LONGEST_WAIT)


def _place(task: Any, profile: Profile) -> None:  # noqa: ANN401 KFP's task
    from kfp import kubernetes

    task.set_container_image(profile.image_with_code())
    for name, value in profile.environment().items():
        task.set_env_variable(name, value)
    if profile.secrets:
        keys = {name: name for name in profile.secrets}
        kubernetes.use_secret_as_env(task, secret_name=profile.secret_name, secret_key_to_env=keys)
