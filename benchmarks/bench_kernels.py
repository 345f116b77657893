"""What `make setup` compiles: CPU seconds in an empty cache, in one process, by folder and for the slowest kernels.

The seconds of a kernel leave out those of the kernels that it calls and that were compiled on the way.
"""

import os
import tempfile
from collections import Counter
from time import process_time

from numba.core import event


class Compiled(event.Listener):
    """Seconds and signatures of each kernel, from numba's events."""

    def __init__(self):
        self.seconds, self.signatures, self.open = Counter(), Counter(), []

    def on_start(self, event):
        self.open.append([process_time(), 0.0])

    def on_end(self, event):
        start, inside = self.open.pop()
        function, whole = event.data["dispatcher"].py_func, process_time() - start
        name = (function.__module__, function.__name__.partition("-")[0])
        self.seconds[name] += whole - inside
        self.signatures[name] += 1
        if self.open:
            self.open[-1][1] += whole


def folder_of(module):
    """Return the folder or file of the package that a module is in, or numba itself."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "bandits_lib" else "numba's own"


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        from bandits_companion.compile_kernels import compile_kernels

        compiled = Compiled()
        event.register("numba:compile", compiled)
        start = process_time()
        compile_kernels(processes=1)
        print(f"all: {process_time() - start:.0f} s of CPU, {compiled.signatures.total()} signatures")
    folders = Counter()
    for (module, _), seconds in compiled.seconds.items():
        folders[folder_of(module)] += seconds
    for name, seconds in folders.most_common():
        print(f"{name:18s} {seconds:6.1f} s")
    for (module, name), seconds in compiled.seconds.most_common(10):
        print(f"  {module}.{name}: {seconds:.1f} s, {compiled.signatures[module, name]} signatures")


if __name__ == "__main__":
    main()
