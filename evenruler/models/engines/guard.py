"""Runs a command, and ends it with all processes of its group when standard input closes.

Started as a script by a process that holds the other end of standard input, which closes however
that process ends, a kill included. Standard library only: no package is imported.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress


def run_until_input_closes(command: Sequence[str], grace: float) -> int:
    """Run a command; its exit status, once none of its processes is left.

    `grace`: seconds that they have to end by themselves.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_end_when_input_closes, args=[process, grace], daemon=True).start()
    status = process.wait()
    _signal_group(process, signal.SIGKILL)  # what it left behind
    return status


def _end_when_input_closes(process: "subprocess.Popen[bytes]", grace: float) -> None:
    """Wait for the end of standard input, then end the process, by force after `grace` seconds."""
    # Not by a buffered reader, which would hold a lock when this program ends.
    while os.read(0, 1024):
        pass
    _signal_group(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    _signal_group(process, signal.SIGKILL)


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to a process and to all that it started, as far as they still run."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


if __name__ == "__main__":
    seconds, *program = sys.argv[1:]
    sys.exit(run_until_input_closes(program, float(seconds)))
