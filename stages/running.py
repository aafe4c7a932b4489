"""Start and end of every stage."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence

import pandas as pd
import psutil

from evenruler.errors import as_program

# Threads that spin while they wait make a model many times slower next to any other busy process. Read when torch
# is loaded, which stages do last.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Tables here are small and regrouped often, which takes a quarter less where texts are objects than in Arrow's arrays.
# Not where the library is imported: it is an option of the whole process.
pd.set_option("mode.string_storage", "python")


SHELLS = {"sh", "bash", "dash", "zsh", "fish", "ksh"}


def run(main: Callable[..., None]) -> None:
    """Run a stage with the arguments of its command line; a user's error is one line and status 2."""
    if "DVC_STAGE" in os.environ:
        threading.Thread(target=end_with_dvc, args=(find_dvc(),), daemon=True).start()
    as_program(lambda: main(*sys.argv[1:]))


def find_dvc() -> list[psutil.Process]:
    """The processes that started this one: DVC, and the shell between the two where it stays."""
    ancestors = psutil.Process().parents()
    has_shell = bool(ancestors) and ancestors[0].name() in SHELLS
    return ancestors[: 1 + has_shell]


def end_with_dvc(watched: Sequence[psutil.Process]) -> None:
    """End this process when one of those that started it has ended: a killed `dvc` must leave no stage that asks on.

    Linux does it itself where no shell stays between (`evenruler.terminal.die_with_parent`).
    """
    while all(_is_alive(process) for process in watched):
        time.sleep(0.5)
    os._exit(1)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
