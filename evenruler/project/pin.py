"""`evenruler pin`: looks up commits and licences of repositories on the Hub for `params.yaml`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml.error import YAMLError

from evenruler.declaration.params import Params
from evenruler.errors import UserError, suggest_nearest
from evenruler.hub import HubCommit, RepositoryError, find_commit
from evenruler.project.editing import set_keys
from evenruler.strict import content_of, validate

REPO_TYPES: Mapping[str, Literal["model", "dataset"]] = {"models": "model", "training": "dataset"}
"""What repositories a section of `params.yaml` names."""


@dataclass(frozen=True)
class HubEntry:
    """An entry of `params.yaml` that names a repository of the Hub."""

    section: str
    name: str
    repo: str
    lacks_commit: bool

    @property
    def where_declared(self) -> str:
        """Where it stands, for errors."""
        return f"params.yaml: {self.section}.{self.name}"

    def find_newest_commit(self) -> HubCommit:
        """The repository's newest commit, as `find_commit`."""
        return find_commit(self.repo, where=self.where_declared, repo_type=REPO_TYPES[self.section])


def list_hub_entries(params: Params) -> list[HubEntry]:
    """Every model and every data set that is a repository of the Hub, pinned or not."""
    entries = []
    for section in REPO_TYPES:
        for name, declared in getattr(params, section).items():
            scheme, _, repo = str(declared.source).partition(":")
            if scheme == "hub":
                entries.append(HubEntry(section, name, repo, declared.lacks_commit))
    return entries


def choose_entries(params: Params, names: Sequence[str]) -> list[HubEntry]:
    """The entries of these names, by default all; UserError where a name is of no repository."""
    entries = list_hub_entries(params)
    if not names:
        return entries
    known_names = {entry.name for entry in entries}
    for name in names:
        if name not in known_names:
            what = f"no model or data set {name!r} of the Hub"
            remedy = f"check the name ({suggest_nearest(name, known_names)})"
            raise UserError(what, where="params.yaml", remedy=remedy)
    return [entry for entry in entries if entry.name in names]


def find_commits(
    entries: Sequence[HubEntry],
) -> tuple[dict[HubEntry, HubCommit], list[RepositoryError]]:
    """The newest commits of repositories, and the problems of those that are missing, gated or
    renamed; UserError where the Hub fails.
    """
    commits: dict[HubEntry, HubCommit] = {}
    problems: list[RepositoryError] = []
    for entry in entries:
        try:
            commits[entry] = entry.find_newest_commit()
        except RepositoryError as problem:
            problems.append(problem)
    return commits, problems


def write_commits(text: str, path: Path, commits: Mapping[HubEntry, HubCommit]) -> str:
    """The text of `params.yaml` with commits, and licences where cards name them; all else stays.

    UserError where an entry cannot be edited by its lines, as one that an alias repeats.
    """
    expected = content_of(text, path)
    settings: dict[tuple[str, ...], str] = {}
    for entry, commit in commits.items():
        by_key = {"revision": commit.sha, "licence": commit.licence}
        for key, setting in by_key.items():
            if setting:
                settings[entry.section, entry.name, key] = setting
                expected[entry.section][entry.name][key] = setting
    return require_edit(lambda: set_keys(text, settings, "source"), path, expected)


def require_edit(edit: Callable[[], str], path: Path, expected: Any) -> str:
    """The edited text of `params.yaml`; UserError unless it says what is expected, and is valid."""
    try:
        edited = edit()
        content = content_of(edited, path)
    except (KeyError, YAMLError):
        edited, content = "", None
    if content != expected:
        remedy = "write its aliases out, and each entry in lines of its own"
        raise UserError("its lines cannot be edited", where=str(path), remedy=remedy)
    validate(Params, content, path)
    return edited
