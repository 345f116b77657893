"""Where the tests of reliability write what they saw, and how it is told."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "reliability"
TABLE = FOLDER / "table.txt"


def record(kind, rows):
    """Keep the rows (dictionaries) of one kind for the table at the end of the test run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{kind}.json").write_text(json.dumps(rows))


def recorded(since):
    """{kind: rows} of what was recorded after the time `since`."""
    files = [file for file in sorted(FOLDER.glob("*.json")) if file.stat().st_mtime >= since]
    return {file.stem: json.loads(file.read_text()) for file in files}


def table(kinds):
    """The whole table as text."""
    import pandas as pd

    return "\n\n".join(pd.DataFrame(rows).to_string(index=False) for rows in kinds.values()) + "\n"


def totals(kinds):
    """What the table comes to, a line for each kind."""
    return [TOTALS[kind](rows) for kind, rows in kinds.items()]


def bad_input(rows):
    tried, refused = (sum(row[column] for row in rows) for column in ("algorithms tried", "refused"))
    return f"bad input of {len(rows)} kinds: {refused} of {tried} calls refused with a reason"


def kills(rows):
    return f"{sum(row['kills'] for row in rows)} kills: csv after resuming {rows[0]['csv after resuming']}"


def ways(rows):
    return f"{len(rows)} ways of running beside the serial one: {sum(row['differing'] for row in rows)} rows differ"


def error_rates(rows):
    worst = max(rows, key=lambda row: row["error_rate"])
    runs = ", ".join(sorted({str(row["runs"]) for row in rows}))
    return (
        f"errors of {len(rows)} rules, {runs} runs each: at most {worst['error_rate']:g} ({worst['algorithm']}), "
        f"{sum(row['not_stopped'] for row in rows)} runs did not stop"
    )


def processors(rows):
    results, differ = (sum(row[column] for row in rows) for column in ("results", "differ"))
    return f"{len(rows)} imitated processors: {differ} of {results} results differ"


TOTALS = {
    "1_bad_input": bad_input,
    "2_kills": kills,
    "3_ways": ways,
    "4_error_rates": error_rates,
    "5_processors": processors,
}
