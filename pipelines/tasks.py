"""What a profile does to every task of a pipeline."""

from collections.abc import Callable
from typing import Any, TypeAlias

from driveflow.flow.profile import Profile

Prepare: TypeAlias = Callable[[Any], Any]
"""Takes a KFP task, sets what the profile says about the place, and returns it."""


def prepare_for(profile: Profile) -> Prepare:
    """Return what sets up a task for `profile`.

    KFP's own cache is off for every step: it cannot see whether an output still exists. Steps reuse by digest instead,
    and open what they reuse.
    """

    def prepare(task: Any) -> Any:  # noqa: ANN401 KFP's task
        task.set_caching_options(enable_caching=False)
        return _on_cluster(task, profile) if profile.profile == "kfp" else task

    return prepare


def _on_cluster(task: Any, profile: Profile) -> Any:  # noqa: ANN401 KFP's task
    from kfp import kubernetes

    task.set_container_image(profile.image_with_code())
    task.set_cpu_request(profile.cpu)
    task.set_memory_request(profile.memory)
    task.set_retry(num_retries=2, backoff_duration="60s", backoff_factor=2.0, backoff_max_duration="600s")
    for name, value in profile.environment().items():
        task.set_env_variable(name, value)
    if profile.secrets:
        kubernetes.use_secret_as_env(
            task, secret_name=profile.secret_name, secret_key_to_env={key: key for key in profile.secrets}
        )
    return task
