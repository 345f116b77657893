"""Keep compiled kernels in a folder that is named after the source from which they were compiled.

numba recompiles a kernel when its own file has changed, but a kernel also contains the kernels and constants of other
files that it uses. So every state of `kernel_files` has its own folder, bandits_lib-<hash>, in NUMBA_CACHE_DIR if that
is set, else in .numba_cache of the checkout, else in the user's cache folder. Child processes inherit NUMBA_CACHE_DIR.
If the source of a child process differs, it makes its own folder beside this one.
"""

import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from numba import config

PACKAGE = __name__.partition(".")[0]
HOME = Path(__file__).parents[1]
settings: Any = config  # of numba
KEPT = 4  # number of folders of other sources that are kept: the newest ones
KERNEL_FOLDERS = (HOME, HOME / "numerics", HOME / "design")  # what kernels import is here
COMPILED = re.compile(r"^(\s*(from|import) numba\b|@(compiled|kernel|inlined|merged|njit)\b)", re.MULTILINE)
IDLE = 3600  # a folder stays for so many seconds after a process last began to use it


def choose_folder():
    """Return the folder of this source, made if it is new, in the first of `roots` that can be written."""
    for root in roots():
        folder = root / f"{PACKAGE}-{digest_of(kernel_files())}"
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
    raise OSError("compiled kernels need a writable folder: set NUMBA_CACHE_DIR to the path of one")


def roots():
    """Yield folders for kernels, the best first: the requested one, the checkout's, the user's, a temporary one."""
    if asked := os.environ.get("NUMBA_CACHE_DIR") or settings.CACHE_DIR:
        folder = Path(asked).absolute()
        yield folder.parent if re.fullmatch(rf"{PACKAGE}-[0-9a-f]{{16}}", folder.name) else folder
    checkout = HOME.resolve().parent
    if (checkout / "pyproject.toml").exists():
        yield checkout / ".numba_cache"
    import pooch

    yield Path(pooch.os_cache(PACKAGE))
    yield Path(_temporary().name)


@functools.cache
def _temporary():
    return tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-")


def forget(root):
    """Remove the folders of other sources from `root`, except for the newest and those that may be in use."""
    folders = {folder: _last_use(folder) for folder in root.glob(f"{PACKAGE}-" + "[0-9a-f]" * 16)}
    newest_first = sorted(folders, key=folders.__getitem__, reverse=True)
    for folder in newest_first[1 + KEPT :]:
        if folders[folder] < time.time() - IDLE:
            shutil.rmtree(folder, ignore_errors=True)


def _last_use(folder):
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def kernel_files():
    """Return the sorted files that may decide what a kernel computes: three whole folders, others with kernels."""
    files = sorted(HOME.rglob("*.py"))
    return [file for file in files if file.parent in KERNEL_FOLDERS or COMPILED.search(file.read_text("utf-8"))]


def digest_of(files):
    """Return a hash, 16 hex digits, of the names and contents of files of the package."""
    whole = hashlib.sha256()
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        whole.update(f"{file.relative_to(HOME.parent).as_posix()} {content}\n".encode())
    return whole.hexdigest()[:16]


os.environ["NUMBA_CACHE_DIR"] = settings.CACHE_DIR = str(choose_folder())
