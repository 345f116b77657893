"""Import what notebooks use and load the compiled kernels, in the process from which `forked_kernels` forks."""

import gc
import os

os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as ipykernel sets it, before matplotlib

import ipykernel.kernelapp  # noqa: E402, F401
import matplotlib.pyplot  # noqa: E402, F401
import pandas  # noqa: E402
import seaborn  # noqa: E402, F401

from bandits_companion import claims, errata, ledger  # noqa: E402, F401
from bandits_companion.compile_kernels import compile_kernels  # noqa: E402
from bandits_lib.figures import bars, display, results, style  # noqa: E402, F401

pandas.set_option("display.max_columns", 20)  # as pandas sets it where it is imported by a kernel
compile_kernels(processes=1)
gc.collect()
gc.freeze()  # garbage collections of the forks leave out what is loaded here
