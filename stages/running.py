"""Start and end of every stage."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import psutil

from evenruler.errors import UserError, run_program

# Threads that spin while they wait make a model many times slower next to any other busy process.
# Read when torch is loaded, which stages do last.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Tables here are small and regrouped often, which takes a quarter less where texts are objects than
# in Arrow's arrays. Not where the library is imported: it is an option of the whole process.
pd.set_option("mode.string_storage", "python")


SHELLS = {"sh", "bash", "dash", "zsh", "fish", "ksh"}


def run(main: Callable[..., None]) -> None:
    """Run a stage with the arguments of its command line; a user's error is one line and status
    2.
    """
    if "DVC_STAGE" in os.environ:
        run_program(watch_dvc)
    run_program(lambda: main(*sys.argv[1:]))


def watch_dvc() -> None:
    """Have this process end when DVC ends: a killed `dvc` must leave no stage that asks, and pays,
    beside the next one.

    DVC may start a stage through a shell, which is then watched, too. UserError where DVC has ended
    already.
    """
    ancestors = psutil.Process().parents()
    has_shell = bool(ancestors) and ancestors[0].name() in SHELLS
    watched = ancestors[: 1 + has_shell]
    if not watched or (
        watched[-1].pid == 1 and not _is_dvc(watched[-1])
    ):  # handed on to the first process
        remedy = "run `dvc repro` again; by hand, unset DVC_STAGE"
        raise UserError(
            "the dvc that started it is gone", where=os.environ["DVC_STAGE"], remedy=remedy
        )
    threading.Thread(target=end_with, args=(watched,), daemon=True).start()


def end_with(watched: Sequence[psutil.Process]) -> None:
    """End this process when one of others has ended."""
    while all(_is_alive(process) for process in watched):
        time.sleep(0.5)
    os._exit(1)


def _is_dvc(process: psutil.Process) -> bool:
    """Whether a process is `dvc`, as in a container that runs nothing else."""
    try:
        return any(Path(word).name in ("dvc", "dvc.exe") for word in process.cmdline())
    except psutil.Error:
        return False


def _is_alive(process: psutil.Process) -> bool:
    """Whether a process still runs; one that has ended but still waits for its parent (a zombie)
    does not.
    """
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
