"""Versions of benchmarks, and their changelogs in `data/sources/changelogs/`."""

import datetime
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from evenruler.strict import Strict, Text, read_yaml, validate

Bump = Literal["none", "patch", "minor", "major"]
"""The version bump that a change of a benchmark requires, smallest first."""

BUMPS: tuple[Bump, ...] = ("none", "patch", "minor", "major")


def _three_numbers(version: str) -> str:
    if not re.fullmatch(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", version):
        raise ValueError(f"found {version!r}, expected MAJOR.MINOR.PATCH")
    return version


Version = Annotated[str, AfterValidator(_three_numbers)]


def version_key(version: str) -> tuple[int, ...]:
    """Sort key for versions."""
    return tuple(map(int, version.split(".")))


def bumped(version: str, bump: Bump) -> str:
    """The version after a bump."""
    major, minor, patch = version_key(version)
    after = {"patch": f"{major}.{minor}.{patch + 1}", "minor": f"{major}.{minor + 1}.0", "major": f"{major + 1}.0.0"}
    return after.get(bump, version)


class Release(Strict):
    """One released version."""

    date: datetime.date
    changes: list[Text] = Field(min_length=1)


class Changelog(Strict):
    """The releases of one benchmark."""

    releases: dict[Version, Release] = Field(default_factory=dict)

    def newest_first(self) -> list[tuple[str, Release]]:
        """Versions and their releases, newest first."""
        return sorted(self.releases.items(), key=lambda item: version_key(item[0]), reverse=True)


def load_changelog(path: Path) -> Changelog:
    """Read a changelog; a benchmark without one has not been released. UserError if it is invalid."""
    return validate(Changelog, read_yaml(path), path) if path.exists() else Changelog()
