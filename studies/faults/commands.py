"""What a command that is killed is begun with, and what it leaves."""

import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from evenruler.cli import main; main()")
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(ROOT),
    "PYTHONDONTWRITEBYTECODE": "1",
    "DVC_NO_ANALYTICS": "1",
}
LOCK_OF_GIT = re.compile(r"[^\s,:]+\.lock(?=[,:])")

Left = Mapping[str, Any]
"""Files by name, and in brackets what is counted."""


class Command(ABC):
    """A command, how to begin anew, and what is there once it has ended."""

    name = ""
    words: tuple[str, ...] = ()
    signals: tuple[str, ...] = ("SIGKILL",)
    kills_below = False
    """Whether one of its children may be killed."""
    ends_before_the_next = False
    """Whether its children end before it is run again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = dict(ENVIRONMENT)

    @abstractmethod
    def begin(self) -> Path:
        """Return a folder in which the command has not run yet."""

    @abstractmethod
    def is_half_done(self, root: Path) -> bool:
        """Return whether something is there that is not whole."""

    @abstractmethod
    def read_left(self, root: Path) -> Left:
        """Return what is there."""

    def list_helpers(self) -> list[psutil.Process]:
        """Return who else may be killed; the command goes on then."""
        return []

    def list_workers(self) -> list[psutil.Process]:
        """Return processes that are not below the command and must end with it."""
        return []

    def judge_end(self, status: int, message: str) -> int:
        """Return 0 where a run after the kills ended well."""
        return status

    def remove_locks(self, root: Path, message: str) -> bool:
        """Do what a message says of locks; False where it says nothing of them."""
        if "remove these files" not in message:
            return False
        for path in LOCK_OF_GIT.findall(message):
            Path(path).unlink()
        return True

    def start(self, root: Path) -> psutil.Popen:
        """Start the command in a group of its own."""
        return psutil.Popen(
            [*COMMAND, *self.words],
            cwd=root,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def run(self, root: Path) -> tuple[int, str]:
        """Run the command; return its status and all it said."""
        done = subprocess.run(
            [*COMMAND, *self.words],
            cwd=root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr + done.stdout


def read_files(root: Path, pattern: str) -> dict[str, bytes]:
    """Return the content of the files that a pattern names."""
    paths = [path for path in sorted(root.glob(pattern)) if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def copy_anew(whole: Path, root: Path) -> Path:
    """Put a copy of a folder in the place of one."""
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(whole, root, symlinks=True))
