"""Finished runs on disk, so that a kill loses none: JSON lines under the hash of the experiment that they belong to.

The first line is the hash, each of the others one finished run. The place is the path of the file, or a folder (it is
there, or the path ends in /) in which the hash names the file; "" or None for no file.
"""

import json
import os
from pathlib import Path
from typing import TextIO


class Checkpoint:
    """The file, or none, at a `place` of the experiment whose hash is `identity`; as a context open for `append`."""

    def __init__(self, place, identity):
        self.identity = identity
        self.path: Path | None = Path(place) if place else None
        self.file: TextIO | None = None
        if place and (str(place).endswith(("/", os.sep)) or Path(place).is_dir()):
            self.path = Path(place) / f"{identity}.jsonl"

    def __enter__(self):
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = not self.path.exists()
            self.file = open(self.path, "a")
            if fresh:
                self._line({"experiment": self.identity})
        return self

    def __exit__(self, *error):
        if self.file is not None:
            self.file.close()

    def append(self, r, rows):
        """Keep the rows of a finished run."""
        if self.file is not None:
            self._line({"run": r, "rows": rows})

    def _line(self, content):
        print(json.dumps(content), file=self.file, flush=True)

    def read(self):
        """{run: rows} of the finished runs; a last line cut short by a kill is dropped from the file."""
        if self.path is None or not self.path.exists():
            return {}
        whole, newline, _ = self.path.read_bytes().rpartition(b"\n")
        lines = whole.splitlines()
        if not lines:
            self.path.unlink()
            return {}
        if json.loads(lines[0]).get("experiment") != self.identity:
            raise ValueError(
                f"checkpoint {self.path} is of another experiment (its first line says so): an algorithm, a parameter, "
                "the seed or the library differs. Remove the file, or name another"
            )
        os.truncate(self.path, len(whole + newline))
        return {line["run"]: line["rows"] for line in map(json.loads, lines[1:])}
