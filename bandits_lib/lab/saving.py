"""A log brought up to date on the disk: what stands there stays, new entries are added, and no kill loses any."""

import os
from pathlib import Path

from bandits_lib.lab.entries import text
from bandits_lib.lab.lock import locked
from bandits_lib.lab.log import check_same, parse

ANOTHER = "save this one under another name"


def save(path, experiment, first, texts):
    """Write a log, its head and the texts of all entries, or add what the file lacks if it holds their beginning."""
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to save {path.name} in: create it")
    with locked(path):
        data = path.read_bytes() if path.exists() else b""
        if data and not path.stat().st_mode & 0o200:
            raise PermissionError(f"{path} is read-only: make it writable, or {ANOTHER}")
        whole = (first + "".join(texts)).encode()
        if data and whole.startswith(data):  # also where the last save was cut short
            _append(path, len(data), whole[len(data) :])
        elif not data:
            _replace(path, whole)
        else:
            log = _continued(path, data, experiment, texts)
            new = "".join(texts[len(log.entries) :])
            left_out = "".join(f"# left out: {line}\n" for line in log.torn.splitlines())
            if new:
                _append(path, log.size, (left_out + new).encode())


def _continued(path, data, experiment, texts):
    """The log in the file, which is a beginning of `texts`; ValueError for anything else."""
    try:
        log = parse(data)
        check_same(log, experiment)
    except ValueError as error:
        raise ValueError(f"{path} is left as it is: {error}. Or {ANOTHER}") from None
    there, here = list(map(text, log.entries)), texts
    pairs = enumerate(zip(there, here, strict=False))
    same = next((i for i, (one, other) in pairs if one != other), min(len(there), len(here)))
    if same < len(there):
        pulls = sum(row.count for e in log.entries for row in (e.changed if e.undone else e.told) if row.request)
        raise ValueError(
            f"{path} is left as it is: another Lab has saved there since this one was opened. The file holds {pulls} "
            f"pulls, {'all of this Lab and more' if same == len(here) else 'and others than this Lab was told'}. "
            f"Open it with Lab(algorithm, {str(path)!r}) and tell it what it lacks, or {ANOTHER}"
        )
    return log


def _append(path, size, added):
    """Write at the end of the first `size` bytes, on what a kill may have left after them."""
    with open(path, "r+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(added)
        file.flush()
        os.fsync(file.fileno())


def _replace(path, whole):
    """A new file at once, or none: the old one stands until the new one is on the disk."""
    draft = path.with_name(path.name + ".part")
    with open(draft, "wb") as file:
        file.write(whole)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
