"""The committed notebooks executed anew at their default parameters, their outputs compared by nbval's rule.

Text is compared exactly; png, stderr and cells tagged nbval-ignore-output are not. Each processor has a folder of its
own with a copy of the notebooks, since they write below `../build`.
"""

import difflib
import shutil

import nbclient
import nbformat
from processors_imitated import ROOT

NOTEBOOKS = ROOT / "notebooks"
KERNEL = "python3"
NOT_COMPARED = {"image/png", "image/jpeg", "application/vnd.jupyter.widget-view+json"}
LONGEST_DIFF = 12  # lines shown of a cell that differs


def names():
    """Return the names of the committed notebooks."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def workplace(folder):
    """A fresh copy of the notebooks below `folder`, beside the committed figures that the ledger reads."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(NOTEBOOKS, folder / "notebooks", ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    (folder / "figures").symlink_to(ROOT / "figures")


def execute(name, folder, environment):
    """Run the copy of one notebook in place, in a kernel with that environment; a failing cell keeps its error."""
    path = folder / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        kernel_name=KERNEL,
        resources={"metadata": {"path": str(path.parent)}},
        allow_errors=True,
        record_timing=False,
        coalesce_streams=True,
        timeout=None,
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute(env=environment)
    nbformat.write(notebook, path)


def compare(name, folder):
    """Number of cells compared, and [(number of the cell, short diff)] of those that differ from the committed ones."""
    committed, executed = code_cells(NOTEBOOKS / f"{name}.ipynb"), code_cells(folder / "notebooks" / f"{name}.ipynb")
    compared, differing = 0, []
    for number, (expected, found) in enumerate(zip(committed, executed, strict=True), start=1):
        if "nbval-ignore-output" in expected.metadata.get("tags", []):
            continue
        compared += 1
        expected, found = outputs(expected), outputs(found)
        if expected != found:
            differing.append((number, short_diff(expected, found)))
    return compared, differing


def code_cells(path):
    """Return the cells of code of a notebook file."""
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def outputs(cell):
    """{kind of output: [texts]} of what nbval compares: the order within a kind counts, between kinds it does not."""
    found = {}
    for output in cell.outputs:
        if output.output_type == "stream":
            parts = {output.name: output.text} if output.name != "stderr" else {}
        elif output.output_type == "error":
            parts = {"error": f"{output.ename}: {output.evalue}"}
        else:
            parts = {kind: str(text) for kind, text in output.data.items() if kind not in NOT_COMPARED}
        for kind, text in parts.items():
            found.setdefault(kind, []).append(text)
    if "stdout" in found:
        found["stdout"] = ["".join(found["stdout"])]
    return found


def short_diff(expected, found):
    """The first lines that differ but for blanks, of one kind of output: a table as plain text rather than as HTML."""
    kinds = [kind for kind in expected.keys() | found.keys() if expected.get(kind) != found.get(kind)]
    kind = min(kinds, key=lambda kind: (kind == "text/html", kind))
    before, after = (
        [" ".join(line.split()) for text in side.get(kind, []) for line in text.splitlines()]
        for side in (expected, found)
    )
    lines = [line for line in difflib.unified_diff(before, after, n=0, lineterm="") if not line.startswith("@@")][2:]
    more = [f"... {len(lines) - LONGEST_DIFF} lines more"] if len(lines) > LONGEST_DIFF else []
    return "\n".join(line[:160] for line in lines[:LONGEST_DIFF] + more)
