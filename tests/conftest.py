"""The closing lines of a run: how far the library can be relied on, and which tests were skipped for what."""

import os
import time
from collections import Counter

import reliability

os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "900s")  # a slow machine is not a failure


def pytest_sessionstart(session):
    session.config.started = time.time()


def pytest_terminal_summary(terminalreporter, config):
    """The table of test_reliability.py, if it ran, and the skipped tests by reason."""
    if text := reliability.table(since=config.started):
        terminalreporter.section("reliability")
        terminalreporter.write_line(text)
    reasons = Counter(reason(report) for report in terminalreporter.stats.get("skipped", []))
    if reasons:
        terminalreporter.section(f"{reasons.total()} skipped")
    for text, times in reasons.most_common():
        terminalreporter.write_line(f"{times} skipped: {text}")


def reason(report):
    """Why a test was skipped: the last entry of (file, line, reason)."""
    why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return why.removeprefix("Skipped: ")
