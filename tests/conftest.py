"""The closing lines of a run: what passed, what was skipped and why, how far the library can be relied on."""

import os
import time
from collections import Counter

import reliability

os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "900s")  # a slow machine is not a failure
COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected")


def pytest_sessionstart(session):
    session.config.started = time.time()


def pytest_terminal_summary(terminalreporter, config):
    """About ten lines: counts and time, the skipped tests by reason, the totals of the reliability table."""
    counts = {what: len(terminalreporter.stats.get(what, [])) for what in COUNTED}
    seen = reliability.recorded(since=config.started)
    terminalreporter.section("in short")
    terminalreporter.write_line(in_short(counts, time.time() - config.started))
    for line in skipped(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line)
    if seen:
        reliability.TABLE.write_text(reliability.table(seen))
        where = reliability.TABLE.relative_to(config.rootpath) if in_root(config) else reliability.TABLE
        terminalreporter.write_line(f"reliability, row by row in {where}:")
    for line in reliability.totals(seen):
        terminalreporter.write_line(f"  {line}")


def in_root(config):
    return reliability.TABLE.is_relative_to(config.rootpath)


def in_short(counts, seconds):
    """Tests and cells of notebooks, and how long they took."""
    told = ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "nothing ran"
    return f"{told} in {seconds / 60:.1f} min (tests, and cells of notebooks)"


def skipped(reports):
    """One line for each reason, the most frequent first."""
    reasons = Counter(" ".join(reason(report).split()) for report in reports)
    return [f"{times} skipped: {text}" for text, times in reasons.most_common()]


def reason(report):
    """Why a test was skipped: the last entry of (file, line, reason)."""
    why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return why.removeprefix("Skipped: ")
