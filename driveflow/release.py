"""Which release of driveflow this is."""

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """Return the installed version, or "checkout" where the code runs without having been installed."""
    try:
        return version("driveflow")
    except PackageNotFoundError:
        return "checkout"
