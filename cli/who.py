"""Who gives a command: the name that stands in history, audit and notes."""

import getpass
import os


def signed(who: str) -> str:
    """Return `who` as text that can be kept, or where it is empty the name that somebody is logged in by.

    Raises:
        UsageError: nobody is, as in a container whose user has no name.
    """
    from driveflow.errors import UsageError
    from driveflow.storage.uris import writable

    if who:
        return writable(who)
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError(f"Nobody is logged in by a name here (user id {os.getuid()}); --who NAME would do.") from None
