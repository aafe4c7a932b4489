"""A release that is killed (real `SIGKILL`, real git), and what the next one makes of what it left.

What DVC does is done here by a few lines: it writes the benchmark and `dvc.lock`.
"""

import datetime
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from evenruler.declaration.params import load_params
from evenruler.project import dvc, release
from evenruler.project.check import check
from evenruler.publish.manifest import Manifest, as_json
from tests.faults.cases import Case, Outcome, Seen, doing
from tests.faults.declarations import locked, project

NAME, LAST, TAG = "framing-hair", "framing-hair@v0.1.0", "framing-hair@v0.1.1"
BENCHMARK = f"benchmarks/{NAME}"
LIMIT = "data/sources/framing/limit"
TODAY = datetime.date(2026, 1, 2)
Do = Callable[..., Any]


def _git(root: Path, *words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _build(root: Path, *, half: bool = False) -> None:
    """What the stage of the card and DVC do, in their order; or the first half of it."""
    version = load_params(root / "params.yaml").benchmarks[NAME]
    limit = {"limit": (root / LIMIT).read_text()}
    manifest = Manifest(
        name=NAME,
        version=version,
        location=".",
        content_sha256="-",
        rejected=0,
        sources=[],
        licences=[],
        parameters=limit,
        rows={},
        columns={},
        files={},
    )
    (root / BENCHMARK).mkdir(parents=True, exist_ok=True)
    (root / BENCHMARK / "manifest.json").write_text(as_json(manifest.model_dump(mode="json")))
    (root / BENCHMARK / "evidence.json").write_text('{"schema": 1, "figures": []}')
    (root / BENCHMARK / f"{version}.txt").write_text(limit["limit"])
    if half:
        return
    for old in (root / BENCHMARK).glob("*.txt"):
        if old.stem != version:
            old.unlink()
    (root / dvc.LOCK).write_text(locked(f"data/built/{version}-{limit['limit']}/hair"))


def _dvc(root: Path, *words: str) -> str:
    if words[0] == "repro":
        _build(root)
    return "{}"


def _release(root: Path, **patches: Do) -> list[str]:
    """A release, with functions of its module replaced."""
    with pytest.MonkeyPatch.context() as patch:
        for name, do in ({"_dvc": _dvc} | patches).items():
            patch.setattr(release, name, do)
        return list(release.release(root, NAME, TODAY))


@cache
def _whole() -> Path:
    """A repository whose benchmark is released at 0.1.0, and has one more limit since; all is built
    and committed."""
    root = Path(tempfile.mkdtemp())
    project(root)
    shutil.rmtree(root / "data/built")
    (root / ".gitignore").write_text("/.cache/\n/benchmarks/.*\n")
    (root / LIMIT).write_text("one")
    check(root)
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "t")
    _git(root, "config", "user.email", "t@example.org")
    for limit in ("one", "two"):
        (root / LIMIT).write_text(limit)
        _build(root)
        _git(root, "add", "-A")
        _git(root, "commit", "-qm", limit)
        if limit == "one":
            _release(root)
    return root


def _repository(folder: Path) -> Path:
    """A copy of it, in a folder."""
    return Path(shutil.copytree(_whole(), folder / "repository"))


@cache
def _tree() -> str:
    """What a release commits that nobody kills."""
    root = _repository(Path(tempfile.mkdtemp()))
    _release(root)
    return _git(root, "rev-parse", "HEAD^{tree}")


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killed(root: Path, **patches: Do) -> None:
    """A release in a process of its own, which is killed on the way."""
    _tree()  # imports what the child needs, too
    child = os.fork()
    if child == 0:
        (root.parent / "said").write_text(str(doing(lambda: _release(root, **patches))))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), (root.parent / "said").read_text()


def _dies_before(command: str, subcommand: str) -> dict[str, Do]:
    """The release is killed before it runs this command of git or DVC."""
    whole = {"_git": release._git, "_dvc": _dvc}[command]

    def run(root: Path, *words: str) -> str:
        if words[0] == subcommand:
            _die()
        return whole(root, *words)

    return {command: run}


def _half_built(root: Path, *words: str) -> str:
    """Killed while the new version is built."""
    if words[0] == "repro":
        version = load_params(root / "params.yaml").benchmarks[NAME]
        if version in TAG:
            _build(root, half=True)
            _die()
    return _dvc(root, *words)


def _after(do: Do) -> Do:
    """Does it, and dies."""

    def run(*words: Any, **keys: Any) -> None:
        do(*words, **keys)
        _die()

    return run


def _finished(root: Path, seen: Seen) -> Seen:
    """One commit with what it would have had, its tag on it, and nothing left."""
    assert seen.status == 0, seen.errors
    assert _git(root, "rev-parse", "HEAD^{tree}") == _tree()
    assert _git(root, "rev-list", "--count", f"{LAST}..HEAD") == "2"
    assert _git(root, "rev-parse", f"{TAG}^{{commit}}") == _git(root, "rev-parse", "HEAD")
    assert _git(root, "tag").split() == [LAST, TAG]
    assert _git(root, "status", "--porcelain") == ""
    assert not (root / release.BEGUN).exists()
    return seen


def _resumed(moments: Sequence[Callable[[], dict[str, Do]]], folder: Path) -> Seen:
    """Killed at each moment in turn, then left alone."""
    root = _repository(folder)
    for patches in moments:
        _killed(root, **patches())
        assert _git(root, "tag") == LAST
    return _finished(root, doing(lambda: _release(root)))


def _git_killed(hold: Callable[[Path], object], lock: str, folder: Path) -> Seen:
    """Both are killed while git holds locks: a line names them; once they are gone, the next run
    finishes."""
    root = _repository(folder)
    hold(root)
    _killed(root, _undo=_die)
    shutil.rmtree(root / ".git/hooks")
    (root / ".git/info/attributes").unlink(missing_ok=True)
    seen = doing(lambda: _release(root))
    assert _git(root, "tag") == LAST
    named = seen.errors.removeprefix("error: ").partition(": ")[0].split(", ")
    assert str(root / ".git" / lock) in named
    for path in named:
        Path(path).unlink()
    _finished(root, doing(lambda: _release(root)))
    return seen


def _at_the_index(root: Path) -> None:
    """Git is killed as `git add` takes a file in."""
    (root / ".git/hooks").mkdir(exist_ok=True)
    _git(
        root,
        "config",
        "filter.kills.clean",
        "grep -qz '^add$' /proc/$PPID/cmdline && kill -9 $PPID; cat",
    )
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("dvc.lock filter=kills\n")


def _at_the_branch(root: Path) -> None:
    """Git is killed as it moves the branch on to the new commit."""
    hook = root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ntest "$1" = prepared && kill -9 $PPID\nexit 0\n')
    hook.chmod(0o755)


def _with_edits(file: str, text: str, folder: Path) -> Seen:
    """Somebody edits a file after the kill: it is named and stays; once it is committed, the next
    run finishes."""
    root = _repository(folder)
    _killed(root, **_dies_before("_git", "commit"))
    edited = text + (root / file).read_text()
    (root / file).write_text(edited)
    seen = doing(lambda: _release(root))
    assert (root / file).read_text() == edited
    assert _git(root, "tag") == LAST
    _git(root, "stash", "push", "--quiet", "--include-untracked", "--", file)
    _finished(root, doing(lambda: _release(root)))
    _git(root, "stash", "pop", "--quiet")
    assert text in (root / file).read_text()
    return seen


def _changed_meanwhile(file: str, folder: Path) -> Seen:
    """Somebody edits a file while DVC builds: it is not committed, not tagged, and stays."""
    root = _repository(folder)

    def builds(root: Path, *words: str) -> str:
        if words[0] == "repro":
            with (root / file).open("a") as out:
                out.write("# mine\n")
        return _dvc(root, *words)

    head = _git(root, "rev-parse", "HEAD")
    seen = doing(lambda: _release(root, _dvc=builds))
    assert (_git(root, "rev-parse", "HEAD"), _git(root, "tag")) == (head, LAST)
    assert (root / file).read_text().endswith("# mine\n")
    return seen


def _committed_meanwhile(folder: Path) -> Seen:
    """Somebody commits between the commit of the release and its tag."""
    root = _repository(folder)

    def commits(*_: object) -> None:
        _git(root, "commit", "--quiet", "--allow-empty", "--message", "theirs")

    seen = doing(lambda: _release(root, _require_on_remote=commits))
    assert _git(root, "rev-parse", f"{TAG}^{{commit}}") == _git(root, "rev-parse", "HEAD~")
    return seen


def _two(folder: Path) -> Seen:
    """The second leaves alone what the first writes."""
    root, second = _repository(folder), []

    def builds(root: Path, *words: str) -> str:
        if words[0] == "repro":
            second.append(doing(lambda: _release(root)))
        return _dvc(root, *words)

    _finished(root, doing(lambda: _release(root, _dvc=builds)))
    return second[0]


def _looked_at(folder: Path) -> Seen:
    root = _repository(folder)
    _killed(root, **_dies_before("_git", "commit"))
    before = _git(root, "status", "--porcelain")
    seen = doing(lambda: release.preview_release(root, NAME))
    assert _git(root, "status", "--porcelain") == before != ""
    return seen


RELEASE, LOCKED, STASH = "release", ("if none runs, remove these files",), "commit or stash"
BEFORE: list[Callable[[], dict[str, Do]]] = [
    lambda: {"write_as_it_was": _after(release.write_as_it_was)},
    lambda: {"load_changelog": _after(release.load_changelog)},
    lambda: _dies_before("_git", "restore"),
    lambda: {"_dvc": _half_built},
    lambda: _dies_before("_git", "commit"),
    lambda: {"_undo": _after(release._undo)},
    lambda: _dies_before("_git", "add"),
]
"""Before its commit: params.yaml is written; all is written; a killed one is being undone; DVC has
built half; all is in the index; a killed one is undone; all is built."""
LOCKS = {
    "its index": (_at_the_index, "index.lock"),
    "its branch": (_at_the_branch, "refs/heads/main.lock"),
}

CASES = [
    Case(
        f"{len(BEFORE)} kills before its commit",
        RELEASE,
        Outcome.RESUMED,
        partial(_resumed, BEFORE),
        long=True,
    ),
    Case(
        "killed after its commit",
        RELEASE,
        Outcome.RESUMED,
        partial(_resumed, [lambda: _dies_before("_git", "rev-parse")]),
        slow=True,
    ),
    *(
        Case(
            f"git killed while it locks {what}",
            RELEASE,
            Outcome.REFUSED,
            partial(_git_killed, *how),
            LOCKED,
            slow=True,
            long=what == "its branch",
        )
        for what, how in LOCKS.items()
    ),
    Case(
        "params.yaml edited after a kill",
        RELEASE,
        Outcome.REFUSED,
        partial(_with_edits, "params.yaml", "# mine\n"),
        ("params.yaml", "interrupted"),
        slow=True,
    ),
    *(
        Case(
            f"{file} edited meanwhile",
            RELEASE,
            Outcome.REFUSED,
            partial(_changed_meanwhile, file),
            (file, STASH),
        )
        for file in ("notes.txt", "params.yaml")
    ),
    Case("somebody commits before its tag", RELEASE, Outcome.UNHARMED, _committed_meanwhile),
    Case("another release runs", RELEASE, Outcome.REFUSED, _two, ("another release is running",)),
    Case(
        "one was killed", "release --dry-run", Outcome.REFUSED, _looked_at, ("without --dry-run",)
    ),
]
