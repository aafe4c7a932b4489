"""A new version of a benchmark in this repository: version, changelog, rebuilt card, commit, annotated tag."""

import datetime
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from evenruler.errors import UserError, nearest
from evenruler.files import replace
from evenruler.project.check import check
from evenruler.project.files import edited, params_yaml, write_as_it_was
from evenruler.project.params import load_params
from evenruler.publish.difference import Difference, compare
from evenruler.publish.manifest import read_manifest
from evenruler.publish.places import opened
from evenruler.publish.versions import bumped, load_changelog, version_key

LISTED_REASONS = 10
"""Reasons that go into a changelog entry that nobody wrote."""


@dataclass(frozen=True)
class Plan:
    """What a release would do."""

    name: str
    version: str
    last: str | None
    """The version released before."""
    changes: list[str]

    @property
    def tag(self) -> str:
        """As `dvc artifacts get` looks for it."""
        return f"{self.name}@v{self.version}"


def release(root: Path, name: str, today: datetime.date, messages: Sequence[str] = ()) -> Iterator[str]:
    """Release what is built.

    The next version is the least that the changes since the last tag ask for, or the one in params.yaml if that is
    higher. What breaks off before the commit is undone; after it, running again makes the tag.

    Args:
        root: The repository.
        name: Of the benchmark.
        today: For the changelog.
        messages: What changed, in words; listed from the difference by default.

    Yields:
        Lines that say what is done.

    Raises:
        UserError: The benchmark is not built, git or the pipeline is not clean, nothing changed, or its rows are not
            on the default DVC remote.
    """
    made = plan(root, name, messages)
    try:
        _write(root, made, today)
        _dvc(root, "repro", "--quiet")
        if _git(root, "status", "--porcelain"):
            _git(root, "add", "--all")
            _git(root, "commit", "--quiet", "--message", f"Release {name} {made.version}")
            yield f"committed {name} {made.version}: {' '.join(made.changes)}"
    except BaseException:
        _git(root, "reset", "--quiet", "--hard")
        _git(root, "clean", "--quiet", "--force", "-d", "data/sources/changelogs", "benchmarks")
        raise
    _require_on_remote(root, name)
    _git(root, "tag", "--annotate", made.tag, "--message", f"{name} {made.version}")
    yield f"tagged {made.tag}; others get it once you `git push --follow-tags`"


def plan(root: Path, name: str, messages: Sequence[str] = ()) -> Plan:
    """What a release would do; arguments and errors as for `release`."""
    params = load_params(root / "params.yaml")
    if name not in params.benchmarks:
        raise UserError(f"no benchmark {name!r}", where="params.yaml", remedy=nearest(name, params.benchmarks))
    current = params.benchmarks[name].version
    folder = root / "benchmarks" / name
    if read_manifest(folder).version != current or _dvc(root, "status", "--json") != "{}":
        raise UserError("what is built is not what is declared", where=str(folder), remedy="run `make repro`")
    if _git(root, "status", "--porcelain"):
        raise UserError("git has uncommitted changes", where=str(root), remedy="commit or stash them")
    released = _versions(root, name)
    if not released:
        return Plan(name, current, None, list(messages) or ["First release."])
    last = max(released, key=version_key)
    if version_key(current) < version_key(last):
        raise UserError(
            f"the version goes down, from {last} to {current}",
            where=f"params.yaml: versions.{name}",
            remedy=f"give {last} or a higher one",
        )
    with opened(f"{name}@v{last}", root) as before:
        difference = compare(before, folder)
    if difference.needs == "none":
        raise UserError(f"nothing changed since {last}", where=name, remedy="there is nothing to release")
    version = max(current, bumped(last, difference.needs), key=version_key)
    return Plan(name, version, last, list(messages) or _in_words(difference))


def _in_words(difference: Difference) -> list[str]:
    reasons = [f"{reason[0].upper()}{reason[1:]}." for _, reason in difference.reasons]
    more = len(reasons) - LISTED_REASONS
    return reasons[:LISTED_REASONS] + ([f"And {more} more changes."] if more > 0 else [])


def _versions(root: Path, name: str) -> list[str]:
    tags = _git(root, "tag", "--list", f"{name}@v*").split()
    found = [tag.removeprefix(f"{name}@v") for tag in tags]
    return [version for version in found if re.fullmatch(r"\d+\.\d+\.\d+", version)]


def _write(root: Path, made: Plan, today: datetime.date) -> None:
    def version(document: dict[str, Any]) -> None:
        document.setdefault("versions", {})[made.name] = made.version

    def entry(document: dict[str, Any]) -> None:
        releases = document.setdefault("releases", {})
        if made.version not in releases:
            newest_first = {made.version: {"date": today, "changes": made.changes}, **releases}
            releases.clear()
            releases.update(newest_first)

    changelog = root / "data/sources/changelogs" / f"{made.name}.yaml"
    params = root / "params.yaml"
    # The other sections stay as they are: a line of `active` that is only wrapped anew would be a change.
    write_as_it_was(params, edited(params.read_text(encoding="utf-8"), "versions", version))
    if not changelog.exists():
        changelog.parent.mkdir(parents=True, exist_ok=True)
        changelog.write_text("# Released versions, newest first; `evenruler release` adds them.\nreleases: {}\n")
    _edit(changelog, entry)
    load_changelog(changelog)
    check(root)


def _edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    yaml = params_yaml()
    document = yaml.load(path.read_text(encoding="utf-8"))
    change(document)
    text = StringIO()
    yaml.dump(document, text)
    replace(path, text.getvalue())


def _require_on_remote(root: Path, name: str) -> None:
    """Refuse while others could not get the rows: a tag made before the push never works.

    Rows that git holds need no remote.
    """
    path = f"benchmarks/{name}"
    if _git(root, "ls-files", path):
        return
    if "core.remote=" not in _dvc(root, "config", "--list"):
        raise UserError(
            "no default DVC remote, and the rows are not in git",
            where=path,
            remedy="`dvc remote add --default NAME URL`, `dvc push`, then release again",
        )
    if _dvc(root, "status", "--cloud", "--json", path) != "{}":
        raise UserError(
            "the rows are not on the default DVC remote", where=path, remedy="run `dvc push`, then release again"
        )


def _git(root: Path, *arguments: str) -> str:
    return _done(root, f"git {arguments[0]}", ["git", *arguments])


def _dvc(root: Path, *arguments: str) -> str:
    return _done(root, f"dvc {arguments[0]}", [sys.executable, "-m", "dvc", *arguments])


def _done(root: Path, what: str, command: list[str]) -> str:
    """What a command printed.

    Raises:
        UserError: It failed.
    """
    # Stages are started as `python`, which has to be this one.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip()).split("\n")[-1]
        raise UserError(f"{what} failed ({reason})", where=str(root), remedy="mend that")
    return done.stdout.strip()
