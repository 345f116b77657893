"""Keep compiled kernels in a folder that is named after the source from which they were compiled.

numba recompiles a kernel when its own file has another path or content, but a kernel also contains the kernels and
constants of other files that it uses. So every state of `kernel_files` has its own folder, bandits_lib-<hash>, in
NUMBA_CACHE_DIR if that is set, else in the user's cache folder, else in .numba_cache of the checkout. In that folder
the path does not count: a second clone, a moved folder and another branch with the same kernels compile nothing. Child
processes inherit NUMBA_CACHE_DIR. If the source of a child process differs, it makes its own folder beside this one.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import tempfile
import time
import warnings
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
        remove_damaged(folder)
        return folder
    raise OSError("compiled kernels need a writable folder: set NUMBA_CACHE_DIR to the path of one")


def roots():
    """Yield folders for kernels, the best first: the requested one, the user's, the checkout's, a temporary one."""
    if asked := os.environ.get("NUMBA_CACHE_DIR") or settings.CACHE_DIR:
        folder = Path(asked).absolute()
        yield folder.parent if re.fullmatch(rf"{PACKAGE}-[0-9a-f]{{16}}", folder.name) else folder
    import pooch

    yield Path(pooch.os_cache(PACKAGE))
    checkout = HOME.resolve().parent
    if (checkout / "pyproject.toml").exists():
        yield checkout / ".numba_cache"
    warnings.warn(
        "there is no folder in which compiled kernels can be kept, so every start compiles them again, which takes "
        "minutes: set NUMBA_CACHE_DIR to a folder that you may write",
        stacklevel=2,
    )
    yield Path(_temporary().name)


@functools.cache
def _temporary():
    return tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-")


class ByContent:
    """Where numba keeps a kernel: by the name of its module, so that the path of the source does not count."""

    def __init__(self, module, line):
        self.module, self.line = module, line

    @classmethod
    def from_function(cls, function, file):
        path = Path(file).resolve()
        if path.is_relative_to(HOME.resolve()):
            module = ".".join(path.relative_to(HOME.resolve()).with_suffix("").parts)
            return cls(module, function.__code__.co_firstlineno)
        return None  # a function of somebody else: numba's own places

    def get_cache_path(self):
        return os.path.join(settings.CACHE_DIR, self.module)

    def ensure_cache_path(self):
        os.makedirs(self.get_cache_path(), exist_ok=True)

    def get_source_stamp(self):
        return 0

    def get_disambiguator(self):
        return str(self.line)


OTHERS = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"


def remove_damaged(folder):
    """Remove files that were cut short, as on a full disk: numba cannot read them, and compiles what is missing."""
    for file in folder.rglob("*.nb[ci]"):
        with contextlib.suppress(OSError), file.open("rb") as data:
            if data.seek(0, os.SEEK_END) and (data.seek(-1, os.SEEK_END), data.read())[1] != pickle.STOP:
                file.unlink()


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
settings.CACHE_LOCATOR_CLASSES = f"{__name__}.{ByContent.__name__},{OTHERS}"
