"""Where the tests of reliability write what they saw, and how it is printed."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "reliability"


def record(kind, rows):
    """Keep the rows (dictionaries) of one kind for the table at the end of the test run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{kind}.json").write_text(json.dumps(rows))


def table(since):
    """The table as text, of what was recorded after the time `since`; empty if nothing was."""
    import pandas as pd

    files = [file for file in sorted(FOLDER.glob("*.json")) if file.stat().st_mtime >= since]
    parts = [pd.DataFrame(json.loads(file.read_text())).to_string(index=False) for file in files]
    return "\n\n".join(parts)
