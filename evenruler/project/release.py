"""Releases a new version of a benchmark: version, changelog, rebuilt card, commit, annotated
tag.
"""

import datetime
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenruler.declaration.params import load_params
from evenruler.errors import UserError, suggest_nearest
from evenruler.files import write_text_atomically
from evenruler.project.check import check
from evenruler.project.dvc import LOCK, subprocess_environment
from evenruler.project.editing import edit_section, write_as_it_was
from evenruler.publish.difference import compare
from evenruler.publish.locate import open_place
from evenruler.publish.manifest import read_manifest
from evenruler.repository import exclusive_lock
from evenruler.terminal import die_with_parent
from evenruler.versions import bump_version, load_changelog, version_key

BEGUN = Path(".cache/release.json")
"""What a running release is about to write; removed when the release is committed or undone."""


@dataclass(frozen=True)
class ReleasePreview:
    """What a release would do."""

    name: str
    version: str
    last: str | None
    changes: list[str]

    @property
    def tag(self) -> str:
        """The tag in the form that `dvc artifacts get` expects."""
        return f"{self.name}@v{self.version}"


@dataclass(frozen=True)
class PendingRelease:
    """What a release writes, to tell it apart from users' changes."""

    name: str
    texts: dict[str, str]
    """By path: the new text of files that users also edit."""

    def writes(self, root: Path, path: str) -> bool:
        """Whether a changed file differs from git's HEAD only through this release."""
        whole = path.removesuffix(".partial")
        if whole in self.texts:
            file = root / path
            text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            return path != whole or text == self.texts[path]
        return (
            whole == LOCK or re.match("benchmarks/[^/]+/", path) is not None
        )  # cards list changelogs


def release(
    root: Path, name: str, today: datetime.date, messages: Sequence[str] = ()
) -> Iterator[str]:
    """Release what is built, yielding messages; `messages` describe the changes, by default the
    computed difference.

    The next version is the smallest that the changes since the last tag require, or a higher one in
    params.yaml. A failure before the commit is undone (by the next release if this one was killed);
    after the commit, running again sets the tag. Files that others change meanwhile are never
    undone, committed or tagged.

    UserError if the benchmark is not built, git or the pipeline is not clean, nothing changed, its
    rows are not on the default DVC remote, or another release runs.
    """
    with exclusive_lock(
        "release", root / BEGUN.with_suffix(".lock"), root
    ):  # or a running one would be taken for a killed one
        yield from _undo_broken(root)
        preview = preview_release(root, name, messages)

        def add_version(document: dict[str, Any]) -> None:
            """Add the new version, with date and changes, as the first in a parsed changelog;
            nothing if it is there.
            """
            releases = document.setdefault("releases", {})
            if preview.version not in releases:
                newest_first = {
                    preview.version: {"date": today, "changes": preview.changes},
                    **releases,
                }
                releases.clear()
                releases.update(newest_first)

        changelog = f"data/sources/changelogs/{preview.name}.yaml"
        before = "# Released versions, newest first; `evenruler release` adds them.\nreleases: {}\n"
        if (root / changelog).exists():
            before = (root / changelog).read_text(encoding="utf-8")
        # Keep the other sections as they are: even rewrapping a line would be a change.
        declared = (root / "params.yaml").read_text(encoding="utf-8")
        new = {preview.name: preview.version}
        params = edit_section(
            declared, "versions", lambda document: document.setdefault("versions", {}).update(new)
        )
        begun = PendingRelease(
            name, {"params.yaml": params, changelog: edit_section(before, "releases", add_version)}
        )
        write_text_atomically(root / BEGUN, json.dumps(asdict(begun), ensure_ascii=False))
        try:
            for path, text in begun.texts.items():
                write_as_it_was(root / path, text)
            load_changelog(root / changelog)
            check(root)
            _dvc(root, "repro", "--quiet")
            changed = _changed_files(root)
            unrelated_paths = [path for path in changed if not begun.writes(root, path)]
            if unrelated_paths:
                what = f"changed while the release was made: {_summarise_paths(unrelated_paths)}"
                raise UserError(
                    what, where=str(root), remedy="commit or stash it, and release again"
                )
            if changed:
                _git(root, "add", "--all", "--", *changed)
                _git(root, "commit", "--quiet", "--message", f"Release {name} {preview.version}")
            commit = _git(root, "rev-parse", "HEAD")
        except BaseException:
            _undo(root, begun)
            (root / BEGUN).unlink()
            raise
        (root / BEGUN).unlink()
        if changed:
            changes = " ".join(preview.changes)
            yield f"committed {name} {preview.version}: {changes}"
        _require_on_remote(root, name)
        _git(
            root, "tag", "--annotate", preview.tag, "--message", f"{name} {preview.version}", commit
        )
        yield f"tagged {preview.tag}; share it with `git push --follow-tags`"


def _undo_broken(root: Path) -> Iterator[str]:
    """Undo a killed release and rebuild what git does not have; UserError if other files were
    changed.
    """
    if not (root / BEGUN).exists():
        return
    begun = PendingRelease(**json.loads((root / BEGUN).read_text(encoding="utf-8")))
    unrelated_paths = [path for path in _changed_files(root) if not begun.writes(root, path)]
    if unrelated_paths:
        what = (
            "your uncommitted changes are mixed with those of an interrupted release of "
            f"{begun.name} "
        )
        what += f"({_summarise_paths(unrelated_paths)})"
        raise UserError(
            what, where=str(root), remedy="commit or stash these files, and release again"
        )
    if _undo(root, begun):
        yield f"undid the changes of an interrupted release of {begun.name}"
    check(root)
    _dvc(root, "repro", "--quiet")
    (root / BEGUN).unlink()


def _undo(root: Path, begun: PendingRelease) -> bool:
    """Restore the files that a release wrote from git's HEAD; returns whether there were any."""
    written_paths = [path for path in _changed_files(root) if begun.writes(root, path)]
    if written_paths:
        present_paths = [path for path in written_paths if (root / path).exists()]
        _git(root, "add", "--", *present_paths)
        _git(root, "restore", "--source", "HEAD", "--staged", "--worktree", "--", *written_paths)
    return bool(written_paths)


def _changed_files(root: Path) -> list[str]:
    """Files that differ from git's HEAD, including new ones."""
    changed = _git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", "HEAD")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in f"{changed}\0{new}".split("\0") if path})


def _summarise_paths(paths: Sequence[str]) -> str:
    """The first three paths, and how many more there are, for messages."""
    summary = ", ".join(paths[:3])
    if len(paths) > 3:
        summary += f" and {len(paths) - 3} more"
    return summary


def preview_release(root: Path, name: str, messages: Sequence[str] = ()) -> ReleasePreview:
    """What a release would do; arguments and errors as for `release`."""
    if (root / BEGUN).exists():
        what = "a release was interrupted, or is running"
        raise UserError(what, where=str(root), remedy="run `evenruler release` without --dry-run")
    params = load_params(root / "params.yaml")
    if name not in params.benchmarks:
        raise UserError(
            f"no benchmark {name!r}",
            where="params.yaml",
            remedy=suggest_nearest(name, params.benchmarks),
        )
    current = params.benchmarks[name]
    folder = root / "benchmarks" / name
    if read_manifest(folder).version != current or _dvc(root, "status", "--json") != "{}":
        raise UserError(
            "the build does not match the declaration", where=str(folder), remedy="run `make repro`"
        )
    if _changed_files(root):
        raise UserError(
            "git has uncommitted changes", where=str(root), remedy="commit or stash them"
        )
    tags = _git(root, "tag", "--list", f"{name}@v*").split()
    tag_versions = [tag.removeprefix(f"{name}@v") for tag in tags]
    released = [version for version in tag_versions if re.fullmatch(r"\d+\.\d+\.\d+", version)]
    if not released:
        return ReleasePreview(name, current, None, list(messages) or ["First release."])
    last = max(released, key=version_key)
    if version_key(current) < version_key(last):
        what = f"the version goes down, from {last} to {current}"
        raise UserError(
            what, where=f"params.yaml: versions.{name}", remedy=f"give {last} or a higher one"
        )
    with open_place(f"{name}@v{last}", root) as before:
        difference = compare(before, folder)
    if difference.needs == "none":
        raise UserError(
            f"nothing changed since {last}", where=name, remedy="there is nothing to release"
        )
    version = max(current, bump_version(last, difference.needs), key=version_key)
    reasons: list[str] = []
    for _, reason in difference.reasons:
        first_letter = reason[0].upper()
        reasons.append(f"{first_letter}{reason[1:]}.")
    listed = reasons[:10]
    if len(reasons) > 10:
        listed.append(f"And {len(reasons) - 10} more changes.")
    return ReleasePreview(name, version, last, list(messages) or listed)


def _require_on_remote(root: Path, name: str) -> None:
    """UserError if rows are neither in git nor on the remote: a tag made before the push would
    never work.
    """
    path = f"benchmarks/{name}"
    if _git(root, "ls-files", path):
        return
    if "core.remote=" not in _dvc(root, "config", "--list"):
        what = "no default DVC remote, and the rows are not in git"
        raise UserError(
            what,
            where=path,
            remedy="`dvc remote add --default NAME URL`, `dvc push`, then release again",
        )
    if _dvc(root, "status", "--cloud", "--json", path) != "{}":
        what = "the rows are not on the default DVC remote"
        raise UserError(what, where=path, remedy="run `dvc push`, then release again")


def _git(root: Path, *arguments: str) -> str:
    """Output of a git command in the folder `root`, without space at its ends; UserError if it
    fails.
    """
    return _run_checked(root, f"git {arguments[0]}", ["git", *arguments])


def _dvc(root: Path, *arguments: str) -> str:
    """Output of a DVC command, by this Python, in the folder `root`; UserError if it fails."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return _run_checked(root, f"dvc {arguments[0]}", command)


def _run_checked(root: Path, what: str, command: list[str]) -> str:
    """The output of a command; UserError if it fails."""
    env = {**subprocess_environment(), "LANGUAGE": "C"}  # for the message parsed below
    # DVC is killed with this process; git is not, since it would leave its lock files.
    ends = None if what.startswith("git") else die_with_parent
    done = subprocess.run(
        command,
        cwd=root,
        env=env,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        preexec_fn=ends,
    )
    locked = re.search(r"'([^']+\.lock)': File exists", done.stderr)
    if locked:
        git_folder = Path(_git(root, "rev-parse", "--absolute-git-dir"))
        lock_files = {locked[1], *map(str, git_folder.rglob("*.lock"))}
        remedy = "wait until it is done; if none runs, remove these files, and release again"
        raise UserError(
            "another git process is running, or was killed",
            where=", ".join(sorted(lock_files)),
            remedy=remedy,
        )
    if done.returncode:
        output = done.stderr.strip() or done.stdout.strip()
        reason = output.split("\n")[-1] or f"status {done.returncode}"
        raise UserError(
            f"{what} failed ({reason})",
            where=str(root),
            remedy="fix that",
        )
    return done.stdout.strip()
