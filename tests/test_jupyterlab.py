"""A reader in JupyterLab: open a notebook, run all cells, change a parameter, run again, read the new result.

JupyterLab starts from empty settings, without news and autosaves, and the test waits for states of the application:
told to run cells before the notebook and its kernel are there, it asks for a kernel and covers the page.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import nbformat
import pytest
from browser import LIMIT, page

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
NAME = "companion_your_own_arms"
pytestmark = pytest.mark.slow
START = "companion_start_here"
RESULT = re.compile(r"needs fewer than ([\d,]+) measurements on average")
PLAYED = re.compile(r"^lead ([\d.]+), mean pots of 10 seasons:\s+RAGE +([\d,]+)", re.MULTILINE)
SERVER = {
    "ServerApp": {"ip": "127.0.0.1", "allow_root": True, "open_browser": False},
    "IdentityProvider": {"token": ""},
    "LabApp": {
        "expose_app_in_browser": True,
        "extension_manager": "readonly",
        "news_url": None,
        "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    },
    "MappingKernelManager": {"kernel_info_timeout": LIMIT},
}
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "autoStartDefaultKernel": True},
}  # fmt: skip
STATE = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    if (!panel?.context?.isReady || !panel.sessionContext?.isReady) return null;
    const kernel = panel.sessionContext.session?.kernel;
    const cells = [...panel.content.model.cells].filter(cell => cell.type === "code");
    return {
        idle: kernel?.connectionStatus === "connected" && kernel.status === "idle",
        counts: cells.map(cell => cell.executionCount),
        sources: cells.map(cell => cell.sharedModel.getSource()),
        errors: cells.flatMap(cell => cell.outputs.toJSON()).filter(output => output.output_type === "error"),
    };
}"""

ANSWER = """() => {
    const dialog = document.querySelector(".jp-Dialog");
    const text = dialog?.innerText;
    (dialog?.querySelector("button.jp-mod-accept") ?? dialog?.querySelector("button"))?.click();
    return text;
}"""


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab with settings of its own that serves copies of two notebooks, not yet run."""
    folder, config, runtime = tmp_path / "notebooks", tmp_path / "config", tmp_path / "runtime"
    folder.mkdir()
    shutil.copy(NOTEBOOKS / "example_arms.csv", folder)
    copy_notebook(NAME, folder, outputs=False)
    copy_notebook(START, folder, outputs=True)
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    (config / "labconfig" / "page_config.json").write_text(json.dumps({"buildCheck": False}))
    (config / "jupyter_lab_config.json").write_text(json.dumps(SERVER))
    own = {"CONFIG_DIR": config, "DATA_DIR": tmp_path / "data", "RUNTIME_DIR": runtime}
    own = {f"JUPYTER_{name}": str(path) for name, path in own.items()}
    own |= {f"JUPYTERLAB_{name}_DIR": str(tmp_path / name.lower()) for name in ("SETTINGS", "WORKSPACES")}
    own["IPYTHONDIR"] = str(tmp_path / "ipython")
    with open(tmp_path / "server.log", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab"], cwd=folder, env=os.environ | own, stdout=log, stderr=log
        )
    try:
        yield address(server, runtime, tmp_path / "server.log")
    finally:
        stop(server)


def copy_notebook(name, folder, outputs):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = cell.outputs if outputs else [], None
    nbformat.write(notebook, folder / f"{name}.ipynb")


def address(server, runtime, log):
    """Where the server answers, from the file that it writes when it listens."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and server.poll() is None:
        for file in runtime.glob(f"jpserver-{server.pid}.json"):
            if text := file.read_text():
                return json.loads(text)["url"]
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab does not answer:\n{log.read_text()[-3000:]}")


def stop(server):
    """End the server and its kernels; one that hangs when its threads should end is killed, and kernels notice."""
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


# --- waiting for states


def until(tab, what, probe):
    """The first true answer of `probe()`; meanwhile a dialog that comes is answered and reported."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        answer_dialog(tab)
        if found := probe():
            return found
        tab.wait_for_timeout(200)
    raise AssertionError(f"{what} never came; cells: {tab.evaluate(STATE)}")


def answer_dialog(tab):
    """Take the choice that a dialog offers, and warn of it: no dialog is meant to come."""
    if text := tab.evaluate(ANSWER):
        warnings.warn("JupyterLab asked: " + " / ".join(text.splitlines()), stacklevel=2)


def idle(tab):
    """The state of the application once the notebook is shown and its kernel waits for work."""
    return until(tab, "an idle kernel", lambda: (state := tab.evaluate(STATE)) and state["idle"] and state)


def run_all(tab):
    """Run > Run All Cells, and wait until every code cell has run anew, without an error."""
    last = max((count or 0 for count in idle(tab)["counts"]), default=0)
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    until(tab, "the last cell", lambda: all((count or 0) > last for count in tab.evaluate(STATE)["counts"]))
    assert not idle(tab)["errors"]


def result(tab, other_than=None):
    """The number that the plan prints on the page, once it is another than before."""

    def shown():
        texts = "\n".join(tab.locator(".jp-OutputArea-output").all_inner_texts())
        return next((found for found in RESULT.findall(texts) if found != other_than), None)

    return until(tab, "the result", shown)


def test_run_all_change_a_parameter_and_run_again(lab):
    with page() as tab:
        tab.add_locator_handler(tab.locator(".jp-Dialog").first, lambda: answer_dialog(tab))
        tab.goto(f"{lab}lab/tree/{NAME}.ipynb")
        run_all(tab)
        first = result(tab)
        cell = tab.locator(".jp-CodeCell", has_text="smallest_gap = 0.04").first
        before = next(source for source in idle(tab)["sources"] if "smallest_gap = 0.04" in source)
        after = before.replace("smallest_gap = 0.04", "smallest_gap = 0.08")
        cell.locator(".cm-content").click()
        tab.keyboard.press("Control+a")
        tab.keyboard.insert_text(after)
        until(tab, "the new parameter", lambda: after in tab.evaluate(STATE)["sources"])
        run_all(tab)
        second = result(tab, other_than=first)
    ratio = int(first.replace(",", "")) / int(second.replace(",", ""))
    assert ratio == pytest.approx(4, rel=0.01), "twice the gap, a quarter of the visitors"


# --- the start page


def played(tab, lead):
    """RAGE's pots under the slider, once they are those of this lead."""
    texts = "\n".join(tab.locator(".jp-OutputArea-output").all_inner_texts())
    return next((found for at, found in PLAYED.findall(texts) if at == lead), None)


def test_the_start_page_shows_its_run_untrusted_and_slides_when_it_has_run(lab):
    with page() as tab:
        tab.add_locator_handler(tab.locator(".jp-Dialog").first, lambda: answer_dialog(tab))
        tab.goto(f"{lab}lab/tree/{START}.ipynb")
        idle(tab)
        assert tab.locator("img[alt^='Discs']").evaluate("image => image.naturalWidth > 0")
        run_all(tab)
        before = until(tab, "pots at the first lead", lambda: played(tab, "0.10"))
        tab.locator(".noUi-handle").focus()
        tab.keyboard.press("ArrowLeft")
        after = until(tab, "pots at a smaller lead", lambda: played(tab, "0.08"))
    assert int(after.replace(",", "")) > int(before.replace(",", "")), "a smaller lead needs more pots"
