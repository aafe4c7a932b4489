"""Start and end of every stage."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import psutil

from evenruler.errors import UserError, as_program

# Threads that spin while they wait make a model many times slower next to any other busy process. Read when torch
# is loaded, which stages do last.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Tables here are small and regrouped often, which takes a quarter less where texts are objects than in Arrow's arrays.
# Not where the library is imported: it is an option of the whole process.
pd.set_option("mode.string_storage", "python")

SHELLS = {"sh", "bash", "dash", "zsh", "fish", "ksh"}


def run(main: Callable[..., None]) -> None:
    """Run a stage with the arguments of its command line; a user's error is one line and status 2."""
    as_program(end_with_dvc)
    as_program(lambda: main(*sys.argv[1:]))


def end_with_dvc() -> None:
    """Under DVC, end this process as soon as one of its ancestors up to DVC itself has ended.

    `kill -9` of `dvc` would otherwise leave the stage running, and paying, in parallel with the one that the next `dvc
    repro` starts. DVC may start a stage through a shell, so shells between are watched too. UserError where DVC has
    ended already, and the process was handed on to process 1.
    """
    if "DVC_STAGE" not in os.environ:
        return
    watched: list[psutil.Process] = []
    for ancestor in psutil.Process().parents():
        watched.append(ancestor)
        if ancestor.name() not in SHELLS:
            break
    if not watched or (watched[-1].pid == 1 and not _is_dvc(watched[-1])):
        remedy = "run `make repro` again; by hand, unset DVC_STAGE"
        raise UserError("the dvc that started it is gone", where=os.environ["DVC_STAGE"], remedy=remedy)

    def look() -> None:
        while all(map(_alive, watched)):
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=look, daemon=True, name="end-with-dvc").start()


def _is_dvc(process: psutil.Process) -> bool:
    """Whether a process is `dvc`, or Python running it; `evenruler` runs it in its own process."""
    try:
        words = [process.name(), *process.cmdline()]
    except psutil.Error:
        return False
    return any(Path(word).name in ("dvc", "dvc.exe", "evenruler") for word in words)


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
