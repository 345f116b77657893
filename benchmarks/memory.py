"""Peak memory of a process, on Linux and on macOS."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_megabytes():
    """Peak resident memory of this process in MB, imports included.

    Linux's getrusage counts what the parent held when it started this process, so there /proc is asked.
    """
    if STATUS.exists():
        (peak,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 2**10
    unit = 1 if sys.platform == "darwin" else 2**10  # bytes on macOS, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
