"""A KFP server reached through the real kfp client: quiet, with time limits, and with errors a person can act on."""

import contextlib
import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from driveflow.errors import DriveflowError, InvalidInputError, NotFoundError, ServiceUnavailableError, UsageError
from driveflow.flow.profile import KfpSection

CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 120
_REFERENCE = "env:"
_MESSAGE_WIDTH = 300


def connect(settings: KfpSection, read_timeout_s: float = READ_TIMEOUT_S) -> Any:  # noqa: ANN401 kfp carries no types
    """Return a `kfp.Client` for the server of a profile, after one look whether it is there and lets us in.

    Raises:
        UsageError: no host, a token variable that is not set, or a server for many users and no namespace.
        ServiceUnavailableError: the server cannot be reached.
        InvalidInputError: it wants another login, or is no KFP.
    """
    host = settings.host or os.environ.get("KF_PIPELINES_ENDPOINT", "")
    if not host:
        raise UsageError("the profile names no KFP server; kfp: {host: https://kfp.example.com} would do")
    if settings.ca_certificate and not Path(settings.ca_certificate).is_file():
        raise NotFoundError(f"There is no certificate file '{settings.ca_certificate}' (kfp.ca_certificate).")
    with explained(host):
        client = _client_class(host, read_timeout_s)(
            host=host,
            existing_token=_token(settings.token),
            namespace=settings.namespace or "kubeflow",  # the client's word for: none given
            ssl_ca_cert=settings.ca_certificate or None,
        )
        if client.get_kfp_healthz().multi_user and not settings.namespace:
            raise UsageError(f"the KFP server {host} has many users; kfp: {{namespace: ...}} would do")
    return client


def web_address(settings: KfpSection) -> str:
    """Return where a person sees the server's pages."""
    known = os.environ.get("KF_PIPELINES_UI_ENDPOINT") or settings.host or os.environ.get("KF_PIPELINES_ENDPOINT", "")
    return known.rstrip("/")


@contextlib.contextmanager
def explained(host: str) -> Iterator[None]:
    """Keep the client quiet, and turn what it raises into driveflow's errors."""
    import kfp_server_api
    import urllib3

    with _quiet():
        try:
            yield
        except DriveflowError:
            raise
        except kfp_server_api.ApiException as error:
            raise _refused(host, error) from error
        except (urllib3.exceptions.HTTPError, TimeoutError, ConnectionError) as error:
            raise ServiceUnavailableError(f"the KFP server {host} cannot be reached: {_cause(error)}") from error


def _token(reference: str) -> str | None:
    if not reference:
        return None
    name = reference.removeprefix(_REFERENCE)
    if name == reference:
        raise UsageError("kfp.token holds a token in plain text; env:NAME of a variable that holds it would do")
    if not os.environ.get(name):
        raise UsageError(f"kfp.token names the variable {name}, which is not set")
    return os.environ[name]


def _client_class(host: str, read_timeout_s: float) -> Any:  # noqa: ANN401 kfp carries no types
    with _quiet():
        from kfp import Client

    class BoundedClient(Client):  # type: ignore[misc]  # kfp carries no types
        """The real client with time limits, one look at the server instead of five, and no file in the user's home."""

        _health: Any = None

        def get_kfp_healthz(self, sleep_duration: int = 5) -> Any:  # noqa: ANN401, ARG002 kfp's own signature
            if self._health is None:
                health_api = self.healthzs.healthz_service_get_healthz
                _bound(health_api.__self__.api_client.rest_client, read_timeout_s)
                self._health = _health(host, health_api(_preload_content=False))
            return self._health

        def set_user_namespace(self, namespace: str) -> None:
            """Do nothing: kfp would write the namespace into a file in the user's home."""

    return BoundedClient


def _bound(rest: Any, read_timeout_s: float) -> None:  # noqa: ANN401 kfp carries no types
    """Give every request a time limit; the client itself would wait for ever."""
    original = rest.request

    def request(*args: Any, _request_timeout: Any = None, **named: Any) -> Any:  # noqa: ANN401 as the client has it
        return original(*args, _request_timeout=_request_timeout or (CONNECT_TIMEOUT_S, read_timeout_s), **named)

    rest.request = request


def _health(host: str, response: Any) -> Any:  # noqa: ANN401 urllib3's response
    import kfp_server_api

    try:
        body = json.loads(response.data)
        return kfp_server_api.V2beta1GetHealthzResponse(multi_user=bool(body.get("multi_user")))
    except (ValueError, AttributeError) as error:
        kind = response.headers.get("Content-Type", "nothing").partition(";")[0]
        message = (
            f"{host} answers with {kind}: a login page, or no KFP server; kfp.host and kfp.token say where and who"
        )
        raise InvalidInputError(message) from error


def _refused(host: str, error: Any) -> DriveflowError:  # noqa: ANN401 kfp's ApiException
    said = _message(error)
    if error.status == 401:
        return InvalidInputError(f"the KFP server {host} wants a login; kfp: {{token: env:NAME}} would do ({said})")
    if error.status == 403:
        return InvalidInputError(f"the KFP server {host} does not allow this; ask for access to the namespace ({said})")
    if error.status == 404:
        return NotFoundError(f"the KFP server {host} does not know it: {said}")
    if error.status and error.status < 500:
        return InvalidInputError(f"the KFP server {host} refuses: {said}")
    return ServiceUnavailableError(f"the KFP server {host} failed: {said}")


def _message(error: Any) -> str:  # noqa: ANN401 kfp's ApiException
    """Return what the server said, on one line."""
    text = error.body.decode(errors="replace") if isinstance(error.body, bytes) else str(error.body or "")
    with contextlib.suppress(ValueError, AttributeError):
        body = json.loads(text)
        text = body.get("message") or body.get("error") or text
    line = " ".join(str(text).split())
    line = line[:_MESSAGE_WIDTH] + ("..." if len(line) > _MESSAGE_WIDTH else "")
    return line if line and not line.startswith("<") else f"{error.status} {error.reason}"


def _cause(error: BaseException) -> str:
    reason = getattr(error, "reason", None) or error
    return " ".join(str(reason).rpartition(": ")[2].split())


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Drop what kfp prints and warns of: it would stand in the middle of JSON output."""
    log = logging.getLogger("urllib3.connectionpool")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
