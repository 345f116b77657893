"""One writer at a time: a lock that the system takes back when its holder dies, so that no kill leaves it behind."""

import os
import sys
import time
from contextlib import contextmanager, suppress

PATIENCE = 10.0  # seconds to wait for another writer, who needs milliseconds

if sys.platform == "win32":
    import msvcrt

    def _lock(file):
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path, patience=PATIENCE):
    """Hold the lock of a file, a file `<path>.lock` beside it; TimeoutError after `patience` seconds of another's."""
    beside, end = path.with_name(path.name + ".lock"), time.monotonic() + patience
    while (file := _held(beside)) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"{path} is being written by another program, for {patience:g} s now: try again")
        time.sleep(0.01)
    try:
        yield
    finally:
        with suppress(OSError):  # where an open file cannot be removed it stays, and is no lock
            os.unlink(beside)
        file.close()


def _held(beside):
    """The lock file, open and locked, or None if another holds it or has just removed it."""
    file = open(beside, "a")
    try:
        _lock(file)
        if os.path.samestat(os.fstat(file.fileno()), os.stat(beside)):
            return file
    except (BlockingIOError, PermissionError, FileNotFoundError):
        pass
    file.close()
    return None
