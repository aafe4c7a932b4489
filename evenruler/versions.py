"""Versions of benchmarks, and their changelogs in `data/sources/changelogs/`."""

import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from evenruler.strict import StrictModel, Text, pattern_validator, read_yaml, validate

Bump = Literal["none", "patch", "minor", "major"]
"""The version bump that a change of a benchmark requires, smallest first."""

BUMPS: tuple[Bump, ...] = ("none", "patch", "minor", "major")

Version = Annotated[
    str, pattern_validator(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", "MAJOR.MINOR.PATCH")
]


def version_key(version: str) -> tuple[int, ...]:
    """Sort key for versions."""
    return tuple(map(int, version.split(".")))


def bump_version(version: str, bump: Bump) -> str:
    """The version after a bump."""
    major, minor, patch = version_key(version)
    after = {
        "patch": f"{major}.{minor}.{patch + 1}",
        "minor": f"{major}.{minor + 1}.0",
        "major": f"{major + 1}.0.0",
    }
    return after.get(bump, version)


class Release(StrictModel):
    """One released version."""

    date: datetime.date
    changes: list[Text] = Field(min_length=1)


class Changelog(StrictModel):
    """The releases of one benchmark."""

    releases: dict[Version, Release] = Field(default_factory=dict)

    def newest_first(self) -> list[tuple[str, Release]]:
        """Versions and their releases, newest first."""
        return sorted(self.releases.items(), key=lambda item: version_key(item[0]), reverse=True)


def load_changelog(path: Path) -> Changelog:
    """Read a changelog; a benchmark without one has not been released. UserError if it is
    invalid.
    """
    return validate(Changelog, read_yaml(path), path) if path.exists() else Changelog()
