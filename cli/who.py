"""Who gives a command: the name that stands in history, audit and notes."""

import getpass
import os


def signed(who: str) -> str:
    """Return `who`, or where it is empty the name that somebody is logged in by.

    Raises:
        UsageError: nobody is, as in a container whose user has no name.
    """
    from driveflow.errors import UsageError

    if who:
        return who
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError(f"Nobody is logged in by a name here (user id {os.getuid()}); --who NAME would do.") from None
