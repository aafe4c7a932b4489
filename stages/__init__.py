"""The stages that `dvc repro` runs, one module each: they read files, call functions, and write files.

Importing the package under DVC ties the process to its parent, before any slow import.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have Linux kill this process as soon as its parent ends; elsewhere do nothing.

    A shell may run between DVC and the stage, and other systems have no such signal: `stages.running` watches too.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), signal.SIGKILL)


if "DVC_STAGE" in os.environ:
    die_with_parent()
