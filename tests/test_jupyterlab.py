"""A reader in JupyterLab: open a notebook, run all cells, change a parameter, run again, read the new result."""

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
from browser import page

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
NAME = "companion_your_own_arms"
RESULT = re.compile(r"no method can do with fewer than about ([\d,]+) visitors")


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab that serves a copy of the notebook without its outputs."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    shutil.copy(NOTEBOOKS / "example_arms.csv", folder)
    notebook = nbformat.read(NOTEBOOKS / f"{NAME}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", f"--ServerApp.root_dir={folder}"]
    server = subprocess.Popen(
        [sys.executable, *command, "--IdentityProvider.token=", "--ServerApp.ip=127.0.0.1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield wait_for(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(30)


def wait_for(address, seconds=90):
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(f"{address}/api", timeout=5).close()
            return address
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < end, "JupyterLab does not answer"
            time.sleep(0.5)


def run_all(tab, tries=5):
    """Run > Run All Cells; again if nothing starts, as happens while the kernel is still being connected."""
    tab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=180_000)
    before = prompts(tab)
    for _ in range(tries):
        tab.click("text=Run >> nth=0")
        tab.click("text=Run All Cells")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if prompts(tab) != before:
                return
            time.sleep(0.3)
    raise AssertionError("no cell was run")


def prompts(tab):
    """What stands beside the cells that ran or wait to: `[3]:`, `[*]:`."""
    return [text for text in tab.locator(".jp-InputPrompt").all_inner_texts() if text.strip() not in ("", "[ ]:")]


def result(tab, other_than=None, seconds=180):
    """The number that the plan prints, once it is another than before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = RESULT.search("\n".join(tab.locator(".jp-OutputArea-output").all_inner_texts()))
        if found and found[1] != other_than:
            return found[1]
        time.sleep(0.5)
    raise AssertionError(f"the plan was not printed; cells: {prompts(tab)}")


def test_run_all_change_a_parameter_and_run_again(lab):
    with page() as tab:
        tab.set_viewport_size({"width": 1300, "height": 6000})  # a tall window: JupyterLab draws only what is in view
        tab.goto(f"{lab}/lab/tree/{NAME}.ipynb")
        tab.wait_for_selector(".jp-CodeCell", timeout=90_000)
        run_all(tab)
        first = result(tab)
        cell = tab.locator(".jp-CodeCell", has_text="smallest_gap = 0.04").first
        before = cell.locator(".cm-line").all_inner_texts()
        cell.locator(".cm-content").click()
        tab.keyboard.press("Control+a")
        tab.keyboard.insert_text("\n".join(before).replace("smallest_gap = 0.04", "smallest_gap = 0.08"))
        run_all(tab)
        second = result(tab, other_than=first)
    ratio = int(first.replace(",", "")) / int(second.replace(",", ""))
    assert ratio == pytest.approx(4, rel=0.01), "twice the gap, a quarter of the visitors"
