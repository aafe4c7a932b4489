"""Where the pipeline of a profile lies: that of the first at the top, any other in a folder of its
own.

Such a folder (`profiles/paper`) has a link to the same `dvc.yaml`, and its own `active.yaml`,
outputs and `dvc.lock`. Its stages run at the top, with the profile's name in the environment.
"""

import os
from pathlib import Path

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.instrument import PROFILES
from evenruler.repository import PROFILE

TOP = Path()
FOLDER = Path("profiles")
PIPELINE = "dvc.yaml"


def folder_of(profile: str) -> Path:
    """The folder of a profile, seen from the top; UserError if there is no such profile."""
    if profile not in PROFILES:
        raise UserError(f"no profile {profile!r}", remedy=suggest_nearest(profile, PROFILES))
    return TOP if profile == PROFILES[0] else FOLDER / profile


def folder_in_use() -> Path:
    """The folder of the profile whose stage runs."""
    profile = os.environ.get(PROFILE)
    return FOLDER / profile if profile else TOP


def choose_profile(profile: str) -> None:
    """Set the profile of this process and its children; UserError if there is no such profile."""
    if folder_of(profile) != TOP:
        os.environ[PROFILE] = profile


def pipeline_folders(root: Path) -> list[Path]:
    """The top, and each folder of a profile that was made, seen from the top."""
    folders = [folder_of(profile) for profile in PROFILES[1:]]
    return [TOP, *(folder for folder in folders if (root / folder / PIPELINE).exists())]


def path_to_top(folder: Path) -> str:
    """What stands before a path from the top where `dvc.yaml` lies in this folder."""
    return "../" * len(folder.parts)


def command_prefix(folder: Path) -> str:
    """What stands before a stage's command where `dvc.yaml` lies in this folder."""
    if folder == TOP:
        return ""
    return f"cd {path_to_top(folder)} && {PROFILE}={folder.name} "


def link_pipeline(root: Path, profile: str) -> Path:
    """Make the folder of a profile with a link to `dvc.yaml`; returns the folder, seen from the
    top.
    """
    folder = folder_of(profile)
    link = root / folder / PIPELINE
    if not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)  # a link that leads nowhere
        link.symlink_to(path_to_top(folder) + PIPELINE)
    return folder
