"""What `dvc repro` runs: one module a stage; files in, functions, files out.

Importing it under DVC ties the process to the one that started it, before anything that takes time is imported.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have Linux kill this process as soon as the one that started it is gone; elsewhere nothing happens.

    A shell may stand between DVC and the stage, and other systems have no such signal: `stages.running` watches too.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it went before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)


if "DVC_STAGE" in os.environ:
    die_with_parent()
