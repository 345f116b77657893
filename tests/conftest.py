"""What the Makefile exports, for a plain `pytest` too. It comes before NumPy is imported; kernels inherit it."""

import os
import time

import reliability

for library in ("OPENBLAS", "OMP", "MKL", "NUMBA"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")  # or the last digits depend on the processor
os.environ.pop("MPLBACKEND", None)  # notebooks draw inline, whatever the shell was told
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # or each kernel greets with a debugger's warning


def pytest_sessionstart(session):
    session.config.started = time.time()


def pytest_terminal_summary(terminalreporter, config):
    """The table of test_reliability.py, if it ran."""
    if text := reliability.table(since=config.started):
        terminalreporter.section("reliability")
        terminalreporter.write_line(text)
