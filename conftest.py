"""What the Makefile exports, for a plain `pytest` too. It comes before NumPy is imported; kernels inherit it."""

import os

for library in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{library}_THREADS", "1")
os.environ.pop("MPLBACKEND", None)  # notebooks draw inline, whatever the shell was told
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # or each kernel greets with a debugger's warning
