"""Import what notebooks and run.py use and load the compiled kernels, in the process from which `forked_kernels` forks.

Each fork imports the main module again, because Python 3.11 ignores "__main__" among the modules to preload.
"""

import gc
import os
import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # as in run.py
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as ipykernel sets it, before matplotlib

import ipykernel.kernelapp  # noqa: E402, F401
import joblib  # noqa: E402, F401
import matplotlib.pyplot  # noqa: E402, F401
import nbclient  # noqa: E402, F401
import pandas  # noqa: E402
import papermill.iorw  # noqa: E402, F401
import papermill.parameterize  # noqa: E402, F401
import seaborn  # noqa: E402, F401
import threadpoolctl  # noqa: E402, F401

from bandits_companion import claims, errata, ledger, notebook_runs, seeds  # noqa: E402, F401
from bandits_companion.compile_kernels import compile_kernels  # noqa: E402
from bandits_lib.figures import bars, display, results, style  # noqa: E402, F401

pandas.set_option("display.max_columns", 20)  # as pandas sets it where it is imported by a kernel
compile_kernels(processes=1)
gc.collect()
gc.freeze()  # garbage collections of the forks leave out what is loaded here
