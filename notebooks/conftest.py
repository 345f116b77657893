"""What nbval must know to compare a fresh run with a committed notebook. All text is compared exactly, png is not."""

from nbval import kernel

from bandits_lib.design import pair_allocations

PUBLISHED_LINGAPE = ("azizi2022_code", "lingape")  # words of a notebook that plays it
WORDS = ("stdout", "text/plain", "text/html", "text/markdown")


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("stderr",)  # progress bars are not part of a result
        if not pair_allocations.is_here() and plays_the_published_lingape(collector.path):
            collector.skip_compare += WORDS  # executed, not compared: what has no solution ends elsewhere without it


def plays_the_published_lingape(notebook):
    text = notebook.read_text(encoding="utf-8")
    return all(word in text for word in PUBLISHED_LINGAPE)


def execute_cell_input(self, cell_input, allow_stdin=None):
    """As JupyterLab does, with history: IPython looks there for the `;` that hides a cell's last value."""
    return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


def start_kernel(start=kernel.start_new_kernel, **options):
    """Start a kernel, again if it fails: the tests' other process may take one of its ports before it does."""
    try:
        return start(**options)
    except RuntimeError:
        return start(**options)


kernel.RunningKernel.execute_cell_input = execute_cell_input
kernel.start_new_kernel = start_kernel
