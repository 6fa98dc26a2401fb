"""Every error driveflow raises on purpose.

DriveflowError
    InvalidInputError            a retry cannot help
        UsageError               the call or a settings file is wrong          (exit 2)
        NotFoundError            something named does not exist                (exit 3)
        BrokenDataError          bytes that cannot be what they should be
        UnmappedClassError       a class that the taxonomy does not know
        EmptyBatchError          a batch without one usable frame
        IntegrityError           stored bytes differ from their digest
        GateError                a model that may not be promoted              (exit 5)
    ServiceUnavailableError      a retry may help
        StorageError             storage failed
            StorageFullError     no space left
        LedgerError              the database failed
        TrainingFailedError      a training job ended without a result
"""


class DriveflowError(Exception):
    """Anything driveflow raises on purpose; `exit_code` is what the command line ends with."""

    exit_code = 1


class InvalidInputError(DriveflowError, ValueError):
    """Raised where a retry cannot help."""


class UsageError(InvalidInputError):
    """Raised where a call or a settings file is wrong."""

    exit_code = 2


class NotFoundError(InvalidInputError):
    """Raised where something that was named does not exist."""

    exit_code = 3


class BrokenDataError(InvalidInputError):
    """Raised for bytes that cannot be what they should be; `code` is a short quarantine reason."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail

    def __reduce__(self) -> tuple[type["BrokenDataError"], tuple[str, str]]:
        return type(self), (self.code, self.detail)


class UnmappedClassError(InvalidInputError):
    """Raised for classes that the taxonomy does not know."""


class EmptyBatchError(InvalidInputError):
    """Raised for a batch without one usable frame."""


class IntegrityError(InvalidInputError):
    """Raised where stored bytes differ from their digest."""


class GateError(InvalidInputError):
    """Raised where a model may not be promoted."""

    exit_code = 5


class ServiceUnavailableError(DriveflowError):
    """Raised where a retry may help."""


class StorageError(ServiceUnavailableError):
    """Raised where storage failed."""


class StorageFullError(StorageError):
    """Raised where no space is left."""


class LedgerError(ServiceUnavailableError):
    """Raised where the database failed."""


class TrainingFailedError(ServiceUnavailableError):
    """Raised where a training job ended without a result."""
