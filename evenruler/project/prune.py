"""Finds and removes stage outputs of models and sources that are no longer declared.

DVC leaves such files behind, and they would change their folder's hash. Only files known to git or dvc.lock are
removed; other files with such names belong to the user and raise an error.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from evenruler.declared import Active
from evenruler.errors import UserError
from evenruler.instruments.registry import FAMILIES
from evenruler.project import lock
from evenruler.project.active import MADE
from evenruler.repository import git

BENCHMARKS = "benchmarks"
BY_FAMILY = ("data/built", "data/answers", "data/diagnosis")


def made(active: Active) -> dict[str, set[str]]:
    """The names that belong in each folder of stage outputs."""
    built = {f"data/built/{family}": set(own.instruments) for family, own in active.families.items()}
    answers = {f"data/answers/{family}": set(own.models) for family, own in active.families.items()}
    sources = {folder: set(getattr(active, stage)) for stage, folder in MADE.items()}
    return {**{folder: set(active.families) for folder in BY_FAMILY}, **built, **answers, **sources}


def stale(root: Path, active: Active, benchmarks: Iterable[str]) -> list[Path]:
    """Undeclared entries in folders of stage outputs and in `benchmarks`; relative paths, sorted.

    In `benchmarks`, only names that begin with a family count; others have other causes, such as the old folder that a
    killed card stage left. `benchmarks`: all declared ones, of any scale. UserError if an entry is unknown to git and
    dvc.lock, since it may be the user's own.
    """
    found = [path for folder, keep in made(active).items() for path in _others(root / folder, keep)]
    ours = tuple(f"{family}-" for family in FAMILIES)
    declared = set(benchmarks)
    found += [path for path in _others(root / BENCHMARKS, declared) if path.name.startswith(ours)]
    paths = sorted(path.relative_to(root) for path in found)
    # Keep figures in git of a declared family that is not in use now, as its benchmarks are kept.
    for path in [one for one in paths if one.parent.as_posix() == BY_FAMILY[-1]]:
        if held := tracked(root, [path]) if any(name.startswith(f"{path.name}-") for name in declared) else set():
            paths.remove(path)
            inside = [one.relative_to(root) for one in (root / path).iterdir()]
            paths += sorted(one for one in inside if one.as_posix() not in held)
    if paths:
        known = lock.known_outs(root) | tracked(root, paths)
        if unknown := [path.as_posix() for path in paths if not _is_ours(root, path, known)]:
            first, *rest = unknown
            more = f" (and {', '.join(rest)})" if rest else ""
            what = f"not declared, and neither git nor dvc.lock knows it{more}"
            raise UserError(what, where=first, remedy="declare it, move it away or delete it; nothing was removed")
    return paths


def remove(root: Path, paths: Iterable[Path]) -> None:
    """Remove files, folders with their content, and links (not their targets)."""
    for path in paths:
        if (root / path).is_dir() and not (root / path).is_symlink():
            shutil.rmtree(root / path)
        else:
            (root / path).unlink()


def _others(folder: Path, keep: set[str]) -> list[Path]:
    return [path for path in folder.glob("*") if path.name not in {*keep, ".gitkeep"}]


def _is_ours(root: Path, path: Path, known: set[str]) -> bool:
    """Whether it is known, contains or is inside a known path, is a partial file, or an empty folder."""
    name, place = path.as_posix(), root / path
    if path.suffix == ".partial" or (place.is_dir() and not place.is_symlink() and not any(place.iterdir())):
        return True
    return any(one == name or one.startswith(f"{name}/") or name.startswith(f"{one}/") for one in known)


def tracked(root: Path, paths: list[Path]) -> set[str]:
    """Files in git's index at or below some paths; empty without git."""
    return set(filter(None, (git(root, "ls-files", "-z", "--", *map(str, paths)) or b"").decode().split("\0")))
