"""Where things lie: the repository that a command works on, and what the package ships.

The repository is the nearest folder upwards with params.yaml. Of what is shipped a wheel has
copies, a clone its own folders.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenruler.errors import UserError

DECLARATION = "params.yaml"

PROFILE = "EVENRULER_PROFILE"
"""Environment variable with the profile whose stage runs; none for the pipeline at the top."""

EXPERIMENTS = Path(".dvc/tmp/exps")
"""Where DVC runs queued and temporary experiments, each in a copy of the repository."""

_PACKED = Path(__file__).parent / "shipped"  # where a wheel has copies (hatch_build.py)
_CLONE = Path(__file__).parents[1]


def find_repository_root() -> Path | None:
    """The nearest folder with params.yaml, here or above; None if there is none."""
    here = Path.cwd()
    return next(
        (folder for folder in (here, *here.parents) if (folder / DECLARATION).is_file()), None
    )


def outside_experiments(folder: Path) -> Path | None:
    """The repository whose queued or temporary experiment of DVC runs in a folder; None where none
    does.
    """
    for parent in folder.parents:
        if parent.parts[-3:] == EXPERIMENTS.parts:
            return parent.parents[2]
    return None


def profile_option_text() -> str:
    """The option " --profile NAME" for commands in messages, where a profile is set in the
    environment; else empty.
    """
    profile = os.environ.get(PROFILE)
    return f" --profile {profile}" if profile else ""


def enter_repository() -> Path:
    """Change to the repository's root, or UserError; returns the previous folder, from which users'
    paths start (`resolve_user_path`).
    """
    root, here = find_repository_root(), Path.cwd()
    if root is None:
        remedy = "run this in a clone of the repository of Even Ruler"
        raise UserError(f"no {DECLARATION} here or above", remedy=remedy)
    if root != here:
        os.chdir(root)
    return here


def git(folder: Path, *words: str) -> bytes | None:
    """Output of a git command in a folder; None if it fails or git is missing."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def resolve_user_path(path: Path, here: Path) -> Path:
    """Resolve a path that a user gave relative to the folder `here`."""
    return path if Path.cwd() == here else here / path


@contextmanager
def exclusive_lock(what: str, lock: Path, where: object) -> Iterator[None]:
    """Hold a lock file meanwhile; UserError if another process does the same at `where`."""
    from filelock import FileLock, Timeout

    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(lock, timeout=0).acquire()
    except Timeout:
        raise UserError(
            f"another {what} is running", where=str(where), remedy="run again when it is done"
        ) from None
    with held:
        yield


def shipped_benchmarks() -> Path:
    """The folder of the published benchmarks, each in a folder of its name."""
    return _shipped_folder("benchmarks", "benchmarks")


def shipped_adapters() -> Path:
    """The folder of the adapters, each in a folder of its model's name."""
    return _shipped_folder("adapters", "data/adapters")


def shipped_shared(family: str) -> Path:
    """The folder of what the sources of a family share; a wheel has what questionnaires need."""
    return _shipped_folder("shared", "data/sources") / family / "shared"


def _shipped_folder(packed: str, cloned: str) -> Path:
    """A folder of shipped files: `packed` in an installed wheel, else `cloned` in a clone of the
    repository.
    """
    return _PACKED / packed if (_PACKED / packed).is_dir() else _CLONE / cloned
