"""Whether benchmarks that were built again are those that git holds."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evenruler.errors import UserError
from evenruler.publish.difference import compare
from evenruler.publish.places import opened

FOLDER = Path("benchmarks")


@dataclass(frozen=True)
class Rebuilt:
    """One benchmark beside git's HEAD."""

    name: str
    said: str
    differs: bool


def beside_head(root: Path) -> Iterator[Rebuilt]:
    """Compare every benchmark, of the folder and of HEAD, with HEAD: what it says may not ask for a new version.

    Raises:
        UserError: There is no git, or one of them is no benchmark.
    """
    command = ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", FOLDER.as_posix()]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise UserError(f"git cannot list HEAD ({done.stderr.strip()})", where=str(FOLDER), remedy="commit first")
    here = {path.name for path in (root / FOLDER).iterdir() if path.is_dir() and not path.name.startswith(".")}
    held = {parts[1] for name in done.stdout.split("\0") if len(parts := Path(name).parts) > 2}
    for name in sorted(here | held):
        if name not in held:
            yield Rebuilt(name, "skipped: not in git's HEAD", False)
        elif name not in here:
            yield Rebuilt(name, "not built", True)
        else:
            with opened(f"HEAD:{FOLDER.as_posix()}/{name}", root) as before:
                found = compare(before, root / FOLDER / name)
            why = "; ".join(reason for _, reason in found.reasons)
            yield Rebuilt(name, f"needs {found.needs}{f': {why}' if why else ''}", found.needs != "none")
