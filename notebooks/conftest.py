"""What nbval must know to compare a fresh run with a committed notebook. All text is compared exactly, png is not."""

from nbval.kernel import RunningKernel


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("stderr",)  # progress bars are not part of a result


def execute_cell_input(self, cell_input, allow_stdin=None):
    """As JupyterLab does, with history: IPython looks there for the `;` that hides a cell's last value."""
    return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


RunningKernel.execute_cell_input = execute_cell_input
