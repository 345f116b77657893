"""Kernels forked from one process behave as kernels of their own."""

import ast
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jupyter_client.manager import AsyncKernelManager

from bandits_companion.forked_kernels import UninterruptedEnd

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="nothing to do: kernels are forked on Linux"),
]

SAY = (
    "import os, sys\nimport pandas as pd\n"
    "print('bandits_companion.preloaded_kernel' in sys.modules, os.getcwd(), os.environ.get('PLACE'),"
    " os.environ.get('MPLBACKEND'), os.getpid(), os.getpgrp(), pd.get_option('display.max_columns'))"
)
STARTS = f"""
import json, os, signal, sys
from jupyter_client.manager import start_new_kernel
from bandits_companion.forked_kernels import fork_kernels

def said(**options):
    manager, client = start_new_kernel(cwd=sys.argv[1], **options)
    texts = []
    def hook(message):
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])
    client.execute_interactive({SAY!r}, output_hook=hook, timeout=120)
    return manager, "".join(texts).split()

if __name__ == "__main__":
    fork_kernels()
    one, first = said(env=os.environ | {{"PLACE": "here"}})
    one.interrupt_kernel()
    alive = one.is_alive()
    one.shutdown_kernel()
    ended = not one.is_alive()
    two, second = said()
    other, own = said(env=os.environ | {{"PYTHONPATH": sys.argv[1]}})
    other.shutdown_kernel(now=True)
    print(json.dumps([first, alive, ended, second, own]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What three kernels said, started by a process that was killed while the second of them was there."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "starts.py").write_text(STARTS)
    clean = {key: value for key, value in os.environ.items() if key not in ("MPLBACKEND", "PLACE")}
    command = [sys.executable, str(folder / "starts.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean, timeout=300)
    assert done.stdout, done.stderr
    return str(folder), *json.loads(done.stdout)


def test_a_fork_is_where_a_kernel_of_its_own_would_be(told):
    folder, (preloaded, where, place, backend, pid, group, _), *_ = told
    assert (preloaded, where, place) == ("True", folder, "here")
    assert backend == "module://matplotlib_inline.backend_inline"
    assert pid == group, "an interrupt would reach other kernels"


def test_tables_are_as_wide_as_in_a_kernel_of_its_own(told):
    """What pandas makes of its options depends on who imports it."""
    _, first, *_, own = told
    assert first[6] == own[6]


def test_it_can_be_interrupted_and_ended(told):
    _, first, alive, ended, second, _ = told
    assert alive and ended
    assert first[4] != second[4] and second[2] == "None", "one kernel's environment is in the next"


def test_another_path_to_modules_takes_a_kernel_of_its_own(told):
    assert told[-1][0] == "False"


CAUGHT = """
import time
from pathlib import Path
Path("begun").touch()
try:
    time.sleep(5)
except KeyboardInterrupt:
    Path("interrupted").touch()
"""


@pytest.mark.parametrize("manager, interrupted", [(UninterruptedEnd, False), (AsyncKernelManager, True)])
def test_a_kernel_that_ends_is_not_interrupted(tmp_path, manager, interrupted):
    """What an interrupt finds in its last answer it prints as an error."""

    async def end_while_busy():
        kernel = manager(kernel_name="python3")
        await kernel.start_kernel(cwd=str(tmp_path))
        client = kernel.client()
        client.start_channels()
        await client.wait_for_ready(timeout=120)
        client.execute(CAUGHT)
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.05)
        client.stop_channels()
        await kernel.shutdown_kernel()

    asyncio.run(end_while_busy())
    assert (tmp_path / "interrupted").exists() == interrupted


def test_a_fork_imports_no_module_of_run_py_again():
    """Before each fork runs a kernel, it imports the main module."""
    preload = "import sys, bandits_companion.preloaded_kernel; known = {*sys.modules}"
    asked = f"{preload}; import run; print({{*sys.modules}} - known)"
    folder = Path(__file__).resolve().parents[2] / "notebooks"
    new = subprocess.run([sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert ast.literal_eval(new) == {"run", "bandits_companion.forked_kernels", "multiprocessing.forkserver"}


def test_it_ends_with_the_process_that_asked_for_it(told):
    pid = int(told[4][4])
    for _ in range(600):
        if not running(pid):
            return
        time.sleep(0.05)
    pytest.fail("half a minute after its parent was killed the kernel is there")


def running(pid):
    """Whether there is such a process; one that has ended and that nobody waits for is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
