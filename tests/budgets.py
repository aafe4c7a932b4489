"""Whether commands that people wait for stay within processor seconds: `python -m tests.budgets`,
part of `make lint`.

Bounds are loose, two to three times what a usual machine takes, so that only a slow import or a
repeated computation breaks one. Of processor seconds, since other work on the machine adds little
to them.
"""

import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

BUDGETS = {
    ("evenruler", "--help"): 1.5,
    ("evenruler", "list"): 4.0,
    ("evenruler", "verify", "probes-occupation-gender"): 6.0,
    ("evenruler", "check"): 15.0,
    ("dvc", "status"): 6.0,
}
"""Processor seconds of a command and its children."""


def measure_seconds(command: tuple[str, ...]) -> float:
    """Processor seconds of a command that must end well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = Path(sys.executable).with_name(command[0])
    subprocess.run([program, *command[1:]], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print a line for each command; 1 if one is over its bound."""
    status = 0
    for command, budget in BUDGETS.items():
        measure_seconds(command)  # files are then in the memory of the machine
        seconds = measure_seconds(command)
        words = " ".join(command)
        print(f"{words}: {seconds:.1f} of {budget:.1f} processor seconds")
        if seconds > budget:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
