"""Open and run ONNX models, which come from outside: on one thread, by onnxruntime alone, with errors that are ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from driveflow.detectors.onnx_bytes import refuse_external_files
from driveflow.errors import IntegrityError

_MOST_LETTERS = 300  # of what onnxruntime says


def open_session(data: bytes, where: str) -> Any:  # noqa: ANN401 onnxruntime has no types
    """Return the session of the model in `data`, which lies at `where`.

    Raises:
        IntegrityError: the bytes are no model that can be run, or name files outside themselves.
    """
    import onnxruntime

    refuse_external_files(data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised, and need not be printed too
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises types of its own for what it cannot read
        raise IntegrityError(f"{where} is no model that can be run: {_first_line(error)}") from error


def run_session(session: Any, outputs: Sequence[str], inputs: Mapping[str, Any], what: str) -> list[Any]:  # noqa: ANN401
    """Return the `outputs` of a session for `inputs`, arrays by name.

    Raises:
        IntegrityError: the model, called `what`, cannot be run on them.
    """
    try:
        answers: list[Any] = session.run(outputs, inputs)
    except Exception as error:  # onnxruntime raises types of its own for what a model does wrong
        raise IntegrityError(f"{what} cannot be run: {_first_line(error)}") from error
    return answers


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:_MOST_LETTERS]
