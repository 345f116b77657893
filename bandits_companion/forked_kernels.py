"""Kernels of notebooks, forked on Linux from one process that has imported and loaded what they use.

A new kernel needs seconds of a core before its first cell, for imports and compiled kernels; without forks this is a
large part of `make figures`. On other systems each kernel is launched anew.
"""

import atexit
import os
import sys
from contextlib import suppress
from importlib.metadata import EntryPoint
from multiprocessing import forkserver, get_context, parent_process
from threading import Thread, local

import psutil
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "bandits-lib-forked"
LAUNCHER = "ipykernel_launcher"  # its arguments follow in a kernel's command
MODULES = os.environ.get("PYTHONPATH")  # a fork has the modules that were found with it


def fork_kernels():
    """Let every Python kernel that this process starts from now on be a fork; this has an effect on Linux only."""
    if sys.platform != "linux":  # forks of processes that have used Apple's frameworks crash
        return
    forkserver.set_forkserver_preload(["bandits_companion.preloaded_kernel"])
    forkserver.ensure_running()
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:ForkedProvisioner", KernelProvisionerFactory.GROUP_NAME)
    factory.default_provisioner_name = NAME


_ended = local()


def ended_cpu_seconds():
    """Return the CPU seconds of the kernels that this thread has ended, with their workers."""
    return getattr(_ended, "seconds", 0.0)


def cpu_seconds(pid):
    """Return the CPU seconds of a process and of those that it started; 0 if it has ended."""
    try:
        process = psutil.Process(pid)
        return sum(sum(one.cpu_times()[:4]) for one in (process, *process.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0.0


class UninterruptedEnd(AsyncKernelManager):
    """A manager that ends kernels without an interrupt, which a kernel may catch and report after its last cell.

    Before it ends a kernel, it adds the CPU time of the kernel and of its workers to what its thread has used.
    """

    async def shutdown_kernel(self, *options, **more):  # type: ignore[override]
        if self.provisioner is not None and (pid := getattr(self.provisioner, "pid", None)) is not None:
            _ended.seconds = ended_cpu_seconds() + cpu_seconds(pid)
        await super().shutdown_kernel(*options, **more)

    async def _async_interrupt_kernel(self):
        if not self.shutting_down:
            await super()._async_interrupt_kernel()


class ForkedProvisioner(LocalProvisioner):
    """A provisioner of jupyter_client that forks kernels of this Python and launches all others."""

    async def launch_kernel(self, cmd, **options):
        """Fork the kernel that `cmd` would launch; discard its standard error if `options` redirect it."""
        environment = dict(options.get("env") or os.environ)
        if cmd[0] != sys.executable or LAUNCHER not in cmd or environment.get("PYTHONPATH") != MODULES:
            return await super().launch_kernel(cmd, **options)
        arguments = cmd[cmd.index(LAUNCHER) + 1 :]
        self.cwd = str(options.get("cwd") or os.getcwd())
        silent = options.get("stderr") is not None
        process = get_context("forkserver").Process(target=_serve, args=(arguments, self.cwd, environment, silent))
        process.start()
        self.process = _Popen(process)  # type: ignore[assignment]
        self.pid = self.pgid = process.pid  # it leads a group of its own
        return self.connection_info


class _Popen:
    """A process of multiprocessing with the methods of subprocess.Popen."""

    stdin = stdout = stderr = None

    def __init__(self, process):
        self.pid, self.kill, self.terminate, self._process = process.pid, process.kill, process.terminate, process

    def poll(self):
        return self._process.exitcode

    def wait(self):
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)


def _serve(arguments, folder, environment, silent):
    """Run the kernel in the fork."""
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if silent:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    Thread(target=_end_with_parent, daemon=True).start()
    # without this argument the kernel would watch its parent, which is the fork server, and end itself
    launch_new_instance([*arguments, "--IPKernelApp.parent_handle=1"])
    atexit._run_exitfuncs()  # multiprocessing leaves them out


def _end_with_parent():
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
