"""The repository that a command works on: the folder here, or one above it, that has params.yaml."""

import os
import subprocess
from pathlib import Path

from evenruler.errors import UserError

DECLARATION = "params.yaml"


def root() -> Path | None:
    """The nearest folder with params.yaml, here or above; None where there is none."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / DECLARATION).is_file()), None)


def enter() -> Path:
    """Go to the root of the repository, or UserError; gives the folder before, in which users mean paths (`meant`)."""
    found, here = root(), Path.cwd()
    if found is None:
        remedy = "run this in a clone of Even Ruler, or `git clone` it first"
        raise UserError(f"no {DECLARATION} here or above", remedy=remedy)
    if found != here:
        os.chdir(found)
    return here


def git(folder: Path, *words: str) -> bytes | None:
    """What git prints in a folder; None where it fails, or there is none."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def meant(path: Path, here: Path) -> Path:
    """What a path that a user gave in a folder means from where we are now."""
    return path if Path.cwd() == here else here / path
