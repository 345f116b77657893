"""Keep compiled kernels in a folder that is named after the source from which they were compiled.

numba recompiles a kernel when its own file has changed, but a kernel also contains the kernels of other files that it
calls. So every state of these files has its own folder, bandits_lib-<hash>, in NUMBA_CACHE_DIR if that is set, else in
.numba_cache of the checkout, else in the user's cache folder. Child processes inherit NUMBA_CACHE_DIR. If the source of
a child process differs, it makes its own folder beside this one.
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
COMPILED = re.compile(r"^(\s*(from|import) numba\b|@(compiled|kernel|inlined|merged|njit)\b)", re.MULTILINE)
IDLE = 3600  # a folder stays for so many seconds after a process last began to use it


def choose_folder():
    """Return the folder of this source, made if it is new, in the first of `roots` that can be written."""
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


@functools.cache
def kernel_fingerprint():
    """Return a hash, 16 hex digits, of the files with code or constants of a kernel: kernels, and all they import."""
    return digest_of(kernel_sources(HOME))


def kernel_sources(home):
    """Return the sorted files of the package `home` that have kernels or that one of these imports, directly or not."""
    files = {_dotted(home, file): file for file in home.rglob("*.py")}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    waiting = [name for name, text in texts.items() if COMPILED.search(text)]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting.extend(_modules_in(texts[name]) & files.keys() - {home.name})
    return sorted(files[name] for name in needed)


def _dotted(home, file):
    return ".".join((home.name, *file.relative_to(home).with_suffix("").parts)).removesuffix(".__init__")


def _modules_in(text):
    """Return every dotted name in the import statements of `text` that may be a module."""
    found = set(re.findall(r"^\s*import ([\w.]+)", text, re.MULTILINE))
    for module, names in re.findall(r"^\s*from ([\w.]+) import (\([^)]*\)|[^\n]*)", text, re.MULTILINE):
        found |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))}
    return found


def digest_of(files):
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(HOME.parent).as_posix()} {digest(file)}\n".encode())
    return whole.hexdigest()[:16]


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


os.environ["NUMBA_CACHE_DIR"] = settings.CACHE_DIR = str(choose_folder())
