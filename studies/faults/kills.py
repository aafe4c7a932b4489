"""Commands killed at random moments, and what the next run makes of what is left.

All are started as users start them, by `killed_builds` and `killed_commands`. Moments are drawn
evenly over the time that the command takes when nobody kills it, every second one over a tenth of
this time once something is half done. Who is killed is drawn, too: the command alone, all that it
started, or, where a command says so, one process below it; on a cluster also a worker or the node
that is not the head, which the command must survive. After one to three kills the command is run
until it ends well: twice at most where it names locks that a kill left, which are removed as it
says. What is there then is compared with what a run leaves that nobody killed; no answer that was
kept may be asked again, and no process may be left a minute later.
"""

import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import typer

from studies.faults.commands import Command, Left
from studies.faults.killed_builds import Repro
from studies.faults.killed_commands import (
    Finetune,
    Measure,
    MeasureOnNodes,
    PlantedTest,
    Publish,
    Release,
)
from studies.tables import print_head, print_row

SURVIVES = 0.6
"""Of kills on a cluster, the share that hits what the command must survive."""


class Trial:
    """A command that is killed, and what was seen of it."""

    def __init__(self, command: Command, folder: Path, seed: int = 0) -> None:
        self.command, self.folder = command, folder
        self.draws = random.Random(f"{seed} {command.name}")
        self.seconds = 0.0
        self.expected: Left = {}
        self.n_kills = self.n_half = self.n_rounds = self.n_same = self.n_locks = 0
        self.wrong: list[str] = []

    def run_unharmed(self) -> None:
        """Measure how long the command takes and what it leaves when nobody kills it."""
        for _ in range(2):  # the first reads everything from the disk
            root = self.command.begin()
            began = time.monotonic()
            status, message = self.command.run(root)
            assert status == 0, message
            self.seconds = time.monotonic() - began
            self.expected = self.command.read_left(root)
        print(
            f"{self.command.name}: {self.seconds:.1f} s when nobody kills it",
            flush=True,
        )

    def run_round(self) -> None:
        """Kill, run, and compare."""
        root = self.command.begin()
        seen, n_wrong = set[psutil.Process](), len(self.wrong)
        for _ in range(self.draws.randint(1, 3)):
            seen |= self.kill_once(root)
        status, message = self.run_to_the_end(root)
        left = self.command.read_left(root)
        _, alive = psutil.wait_procs(
            [*seen, *self.command.list_workers()],
            timeout=60,
        )
        if alive:
            self.wrong.append(f"left after a minute: {alive}")
        differing = sorted({name for name, _ in as_items(left) ^ as_items(self.expected)})
        if status or differing:
            last_line = message.strip().splitlines()[-1:]
            self.wrong.append(f"status {status}: {last_line}; {differing} differ")
        self.n_rounds += 1
        if len(self.wrong) == n_wrong:
            self.n_same += 1
        elif root.is_relative_to(self.folder):
            copy = self.folder / f"wrong-{self.command.name}-{len(self.wrong)}"
            shutil.copytree(root, copy, dirs_exist_ok=True)

    def kill_once(self, root: Path) -> set[psutil.Process]:
        """Kill, unless the command ends first; return the processes that there were."""
        process = self.command.start(root)
        self._wait_for_the_moment(process, root)
        if process.poll() is not None:
            return set()
        self.n_kills += 1
        below = process.children(recursive=True)
        helpers = self.command.list_helpers()
        there = {process, *below, *self.command.list_workers()}
        sent = self.draws.choice(self.command.signals)
        if helpers and self.draws.random() < SURVIVES:
            victim = self.draws.choice(helpers)
            victim.kill()
            victim.wait()  # to its workers a node that nobody waited for still lives
            self.n_half += self.command.is_half_done(root)
            if status := process.wait(timeout=900):
                self.wrong.append(f"status {status} of a command that was not killed")
            return there
        for victim in self._choose_victims(process, below):
            send_signal(victim, sent)
        process.wait(timeout=600)
        self.n_half += self.command.is_half_done(root)
        if self.command.ends_before_the_next:
            psutil.wait_procs(there, timeout=60)
        return there

    def _wait_for_the_moment(self, process: psutil.Popen, root: Path) -> None:
        moment = time.monotonic() + self.draws.uniform(0, self.seconds)
        is_early = self.draws.random() < 0.5
        while process.poll() is None and time.monotonic() < moment:
            time.sleep(0.01)
            if is_early and self.command.is_half_done(root):
                is_early = False
                moment = time.monotonic() + self.draws.uniform(
                    0,
                    self.seconds / 10,
                )

    def _choose_victims(
        self, process: psutil.Process, below: list[psutil.Process]
    ) -> list[psutil.Process]:
        ways = [[process], [process, *below]]
        if self.command.kills_below and below:
            ways.append([self.draws.choice(below)])
        return self.draws.choice(ways)

    def run_to_the_end(self, root: Path) -> tuple[int, str]:
        """Run until it ends by itself and names no lock; those are removed as it says."""
        time.sleep(1)  # a git that was not killed with the command ends
        for _ in range(3):
            status, message = self.command.run(root)
            if not self.command.remove_locks(root, message):
                break
            self.n_locks += 1
        return self.command.judge_end(status, message), message


def as_items(left: Left) -> set[tuple[str, str]]:
    """Return what is left as pairs of a name and a content."""
    return {(name, repr(content)) for name, content in left.items()}


def send_signal(process: psutil.Process, name: str) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.Signals[name])


def make_commands(folder: Path, ended: ExitStack) -> Iterator[Command]:
    """Yield all commands to be killed."""
    yield Repro(folder)
    yield Release(folder)
    yield Publish(folder, ended)
    yield Finetune(folder)
    yield Measure(folder)
    yield MeasureOnNodes(folder, ended)
    yield PlantedTest(folder)


def main(folder: Path, kills: int = 30, only: str = "", seed: int = 0) -> None:
    """Kill each command so often, or the one of that name, in a folder, at moments drawn by a seed;
    print the table.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    trials = []
    with ExitStack() as ended:
        for command in make_commands(folder, ended):
            if only not in ("", command.name):
                continue
            trial = Trial(command, folder, seed)
            trials.append(trial)
            trial.run_unharmed()
            while trial.n_kills < kills:
                trial.run_round()
                counts = f"{trial.n_kills} kills, {trial.n_half} half way, {trial.n_rounds} rounds"
                same = f"{trial.n_same} the same"
                print(
                    f"{command.name}: {counts}, {same}",
                    *trial.wrong[-1:],
                    flush=True,
                )
    print_head("command", "kills", "of them half way", "last runs", "the same left", "locks")
    for trial in trials:
        counts = trial.n_kills, trial.n_half, trial.n_rounds, trial.n_same, trial.n_locks
        print_row(f"`{trial.command.name}`", *counts)


if __name__ == "__main__":
    typer.run(main)
