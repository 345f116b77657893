"""Write files that stay whole when the process is killed: replace them at once, or append lines under a lock."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE = 10.0  # seconds to wait for another writer, which usually needs milliseconds


def atomic_write(path: str | os.PathLike, content: str | bytes, *, parents: bool = False) -> None:
    """Replace a file at once: even after a kill it holds the old or the new content. `parents`: make its folders."""
    path = Path(os.path.realpath(path))
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, content.encode() if isinstance(content, str) else content)


def replace(path: Path, content: bytes) -> None:
    """Replace a file at once, as `atomic_write` does."""
    check_writable(path)
    draft = path.with_name(f"{path.name}.{os.getpid()}_{threading.get_ident()}.part")
    with _in_words(path):
        try:
            with open(draft, "wb") as file:
                _write(file, content)
            if path.exists():
                os.chmod(draft, stat.S_IMODE(path.stat().st_mode))
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)


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
    """Hold the lock of a file, `.<name>.lock` beside it; raise TimeoutError if another writer holds it too long."""
    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o666)
    try:
        with _in_words(path):
            os.stat(path.parent)  # the lock would make a folder that is missing
            lock.acquire(timeout=patience)
    except Timeout:
        raise TimeoutError(
            f"{path} is being written by another program, for {patience:g} s now: try again later"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _in_words(path):
    """Raise an OSError that names the file and says that nothing was lost."""
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise OSError(error.errno, f"cannot write {path}: {why}; what was saved before is still there") from error
