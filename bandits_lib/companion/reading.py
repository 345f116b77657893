"""Copies of the notebooks for a reader to run and change, kept up with the originals as long as they are untouched."""

import hashlib
import json
import shutil
from pathlib import Path

KINDS = ["notebooks/*.ipynb", "notebooks/*.csv", "notebooks/*.yaml", "notebooks/example_*.py", "notebooks/reports/*.md"]
KINDS += ["figures/claims/*.csv", "figures/explored/*.csv", "figures/*/*.json", "figures/*.md", "figures/reports/*.md"]
RECORD = ".copied.json"  # what every copy was when it was made: {file: hash}


def copy(root, lab):
    """Copy the notebooks and the files that they read; renew copies that nobody has changed.

    Parameters
    ----------
    root : str or path-like
        The project.
    lab : str or path-like
        Folder of the copies.

    Returns
    -------
    renewed, behind : list of str
        Copies that were renewed since their originals had changed; and those that stayed although they had, since the
        reader had changed them, too.

    Examples
    --------
    >>> Path("notebooks").mkdir()
    >>> original, read = Path("notebooks/example_arms.csv"), Path("lab/notebooks/example_arms.csv")
    >>> _ = original.write_text("name")
    >>> copy(".", "lab")
    ([], [])
    >>> _ = original.write_text("name,size")
    >>> copy(".", "lab"), read.read_text()
    ((['notebooks/example_arms.csv'], []), 'name,size')
    >>> _ = read.write_text("mine"), original.write_text("name,weight")
    >>> copy(".", "lab"), read.read_text()
    (([], ['notebooks/example_arms.csv']), 'mine')
    """
    root, lab = Path(root), Path(lab)
    record = lab / RECORD
    copied = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    renewed, behind = [], []
    for original in sorted({file for kind in KINDS for file in root.glob(kind)}):
        name = original.relative_to(root).as_posix()
        now, there = _hash(original), _hash(lab / name)
        if now == there or there is None or there == copied.get(name):
            (lab / name).parent.mkdir(parents=True, exist_ok=True)
            if now != there:
                shutil.copy(original, lab / name)
            renewed += [name] * (there not in (None, now))
            copied[name] = now
        elif now != copied.get(name):
            behind.append(name)
    lab.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(copied, indent=1) + "\n", encoding="utf-8")
    return renewed, behind


def _hash(file):
    """Of its content, None if there is no such file."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None
