"""Which other processors this one can imitate, and the environment variables that make a process do so."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
X86 = ("Haswell", "SkylakeX", "Zen", "Nehalem", "Prescott", "Sandybridge")
ARM = ("ARMV8", "NEOVERSEN1", "NEOVERSEV1", "NEOVERSEN2", "CORTEXA57", "THUNDERX2T99")
PINS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"}
PROBE = """
import json, numpy, scipy.linalg, threadpoolctl
scipy.linalg.cho_factor(numpy.eye(50) @ numpy.eye(50) + 1)
found = [library for library in threadpoolctl.threadpool_info() if "architecture" in library]
print(json.dumps(sorted({f"{library['filepath'].split('/')[-2]} {library['architecture']}" for library in found})))
"""


def kernels():
    """Names of OpenBLAS kernels worth trying on this kind of machine."""
    return ARM if platform.machine() in ("aarch64", "arm64") else X86


def imitations():
    """{name: environment variables} of all that may be imitated: kernels of the linear algebra, then the rest.

    NumPy's own vectorised loops can be switched off (exp, log, power and the order of ties in an unstable argsort
    change), so can fused multiply-add in the C library (exp, sin, pow), and numba can compile for no processor in
    particular. Each of these is combined with the first kernels; "without-avx" is all that an old processor lacks,
    except in numba.
    """
    rows = {name: {"OPENBLAS_CORETYPE": name} for name in kernels()}
    first = rows[kernels()[0]]
    rows["numba-generic"] = first | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    if len(found) > 1:
        rows[f"numpy-{found[0]}"] = first | {"NPY_DISABLE_CPU_FEATURES": " ".join(found[1:])}
    if found:
        rows["numpy-baseline"] = first | {"NPY_DISABLE_CPU_FEATURES": " ".join(found)}
    if kernels() is X86 and platform.libc_ver()[0] == "glibc":
        rows["libm-without-fma"] = first | NO_FMA
        rows["without-avx"] = rows.get("numpy-baseline", {}) | rows["Nehalem"] | NO_FMA
    return rows


def environment(changes):
    """Environment of a process with these `changes`: no other pin, one thread, this checkout."""
    inherited = {name: value for name, value in os.environ.items() if name not in (*PINS, "MPLBACKEND")}
    inherited.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
    inherited.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
    return inherited | threads | {"PYTHONPATH": str(ROOT)} | changes


def loaded(changes):
    """Kernels that each OpenBLAS (NumPy and SciPy bring one each) really loads; None if they cannot run here."""
    done = subprocess.run([sys.executable, "-c", PROBE], env=environment(changes), capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def runnable(wanted):
    """{name: variables} of those `wanted` that can run here and do not repeat an earlier one, and a line on each."""
    rows, lines, seen = {}, {}, {}
    for name in wanted:
        changes = imitations()[name]
        libraries = loaded(changes)
        key = str(libraries), *(changes.get(pin) for pin in PINS[1:])
        if libraries is None:
            lines[name] = "cannot run on this processor"
        elif key in seen:
            lines[name] = f"loads the kernels of {seen[key]}"
        else:
            seen[key], rows[name] = name, changes
            lines[name] = ", ".join(libraries) or "no OpenBLAS is loaded"
    return rows, lines
