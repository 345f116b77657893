"""Where compiled kernels are kept: in a folder named after the source they were compiled from.

numba recompiles a kernel when its own file has changed. But a kernel holds the kernels it calls, of other files too,
and those may have changed. So every state of the files that kernels are made of has a folder of its own,
bandits_lib-<hash of these files>, in NUMBA_CACHE_DIR if that is set, else in .numba_cache of the checkout, else in the
user's cache folder. Imported before any kernel is declared; other processes inherit the choice, and make it anew if
their source differs.
"""

import functools
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from numba import config

from bandits_lib.fingerprint import PACKAGE, kernel_fingerprint

settings: Any = config  # of numba
KEPT = 4  # folders of other sources than this one that stay, the newest
IDLE = 3600  # seconds since a process last began to use a folder before it may go


def choose_folder():
    """The folder of this source, made if it was not there, in the first of `roots` that can be written.

    Returns a Path. Raises OSError if nothing can be written, not even a temporary folder.

    >>> from bandits_lib.fingerprint import kernel_fingerprint
    >>> choose_folder().name == f"bandits_lib-{kernel_fingerprint()}"
    True
    """
    for root in roots():
        folder = root / f"{PACKAGE}-{kernel_fingerprint()}"
        new = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
        except OSError:
            continue
        if new:
            forget(root)
        return folder
    raise OSError("compiled kernels need a folder that can be written: set NUMBA_CACHE_DIR to one")


def roots():
    """Where to keep kernels, in order of preference: the folder asked for, the checkout's, the user's, a temporary one.

    Yields Paths. A NUMBA_CACHE_DIR inherited from a process that has imported this package stands for its parent.

    >>> next(roots()).is_absolute()
    True
    """
    if asked := os.environ.get("NUMBA_CACHE_DIR") or settings.CACHE_DIR:
        folder = Path(asked).absolute()
        yield folder.parent if re.fullmatch(rf"{PACKAGE}-[0-9a-f]{{16}}", folder.name) else folder
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").exists():
        yield checkout / ".numba_cache"
    import pooch

    yield Path(pooch.os_cache(PACKAGE))
    yield Path(_temporary().name)


@functools.cache
def _temporary():
    """A folder that goes when this process ends."""
    return tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-")


def forget(root):
    """Remove the folders of other sources from `root`, but for the newest and those that may be in use.

    root : Path. A process whose folder goes compiles again what it needs.

    >>> from pathlib import Path
    >>> forget(Path("nowhere"))
    """
    folders = {folder: _last_use(folder) for folder in root.glob(f"{PACKAGE}-" + "[0-9a-f]" * 16)}
    newest_first = sorted(folders, key=folders.__getitem__, reverse=True)
    for folder in newest_first[1 + KEPT :]:
        if folders[folder] < time.time() - IDLE:
            shutil.rmtree(folder, ignore_errors=True)


def _last_use(folder):
    """Seconds since the epoch; 0 if another process has just removed the folder."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


os.environ["NUMBA_CACHE_DIR"] = settings.CACHE_DIR = str(choose_folder())
