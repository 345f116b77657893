"""Write files that stay whole when the process is killed: replace them at once, or append to them, under a lock.

The lock of a file is `<path>.lock` beside it. The system frees the lock when its holder ends, and any user may take a
lock file that a killed process left behind.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

PATIENCE = 10.0  # seconds to wait for another writer, which usually needs milliseconds
FULL = "free some space and save again; what was saved before is still there"
NO_LOCKS = (
    "the disk of {folder} cannot lock files, so two writers could overwrite each other's data: save {name} on another "
    "disk"
)
CLOSED = "{refused} may not be written: make it and its folder writable, or save {name} elsewhere"
SENTENCES = {
    errno.ENOSPC: f"the disk of {{path}} is full: {FULL}",
    errno.EDQUOT: f"the disk quota for {{path}} is used up: {FULL}",
    errno.EFBIG: f"{{path}} would be larger than a limit of the disk or the account: {FULL}",
    errno.ENOENT: "there is no folder {folder} to save {name} in: create it",
    errno.EROFS: "the disk of {folder} is read-only: save {name} on another disk",
    **dict.fromkeys((errno.EACCES, errno.EPERM), CLOSED),
    **dict.fromkeys((errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP), NO_LOCKS),
}


def atomic_write(path: str | os.PathLike, content: str | bytes, *, parents: bool = False) -> None:
    """Replace a file at once: even after a kill it holds the old or the new content. `parents`: make its folders."""
    path = Path(os.path.realpath(path))
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        replace(path, content.encode() if isinstance(content, str) else content)


def replace(path: Path, content: bytes) -> None:
    """Replace a file at once, as `atomic_write` does; the caller holds the lock."""
    check_writable(path)
    draft = path.with_name(path.name + ".part")
    with _in_words(path):
        try:
            draft.unlink(missing_ok=True)  # left by a writer that was killed
            with open(draft, "xb") as file:
                _write(file, content)
            if path.exists():
                os.chmod(draft, stat.S_IMODE(path.stat().st_mode))
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise


def append(path: Path, content: bytes, size: int | None = None, sync: bool = True) -> None:
    """Write after the first `size` bytes, by default after the last whole line; the rest is overwritten.

    The caller holds the lock. Without `sync`, nothing is lost if the process is killed, but a power cut may lose data.
    """
    check_writable(path)
    with _in_words(path), open(path, "r+b") as file:
        file.truncate(_whole(file) if size is None else size)
        file.seek(0, os.SEEK_END)
        _write(file, content, sync)


def _whole(file):
    """Return the number of bytes up to the end of the last whole line."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read() in (b"\n", b""):
        return size
    file.seek(0)
    return file.read().rfind(b"\n") + 1


def _write(file, content, sync=True):
    file.write(content)
    file.flush()
    if sync:
        os.fsync(file.fileno())


def check_writable(path: Path) -> None:
    """Refuse a file that is marked read-only, because the system would replace it all the same."""
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise PermissionError(f"{path} is read-only: make it writable, or save under another name")


@contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a file; raise TimeoutError if another writer holds it for `patience` seconds."""
    beside, end = path.with_name(path.name + ".lock"), time.monotonic() + patience
    while (file := _held(path, beside)) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"{path} is being written by another program, for {patience:g} s now: try again later")
        time.sleep(0.01)
    try:
        yield
    finally:
        with suppress(OSError):  # a system that cannot remove an open file keeps it, without a lock
            os.unlink(beside)
        os.close(file)


def _held(path, beside):
    """Return the lock file, open and locked, or None if another writer holds it or has just removed it."""
    with _in_words(path):
        file = _opened(beside)
        try:
            if file is not None and lock_descriptor(file, blocking=False):
                if os.path.samestat(os.fstat(file), os.stat(beside)):
                    return file
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(file)
            raise
    if file is not None:
        os.close(file)
    return None


def _opened(beside):
    """Return the open lock file, made for all users; another user's is opened for reading, which suffices to lock."""
    try:
        file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):
            os.chmod(beside, 0o666)  # the umask may be stricter
        return file
    except FileExistsError:
        pass
    try:
        try:
            return os.open(beside, os.O_RDWR)
        except PermissionError:
            return os.open(beside, os.O_RDONLY)
    except FileNotFoundError:
        return None


@contextmanager
def _in_words(path):
    """Raise an OSError that says in one sentence what is wrong with a disk, a folder or a file, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in SENTENCES:
            raise
        refused = error.filename or path
        words = SENTENCES[error.errno].format(path=path, folder=path.parent, name=path.name, refused=refused)
        raise OSError(error.errno, words) from error
