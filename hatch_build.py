"""What a build takes along beside the code: benchmarks and adapters, as git tracks them.

Hatch reads the .gitignore of the root alone, and a build of it would take what
benchmarks/.gitignore keeps out: text of others. So git is asked which files there are. An sdist
holds just these, and a wheel made of one takes all it holds.
"""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

QUESTIONNAIRES = "questionnaires/shared"
SHIPPED = {
    "benchmarks": "evenruler/shipped/benchmarks",
    "data/adapters": "evenruler/shipped/adapters",
    # What a questionnaire of somebody's own, measured from its file alone, is asked with.
    **{
        f"data/sources/{QUESTIONNAIRES}/{kind}": f"evenruler/shipped/shared/{QUESTIONNAIRES}/{kind}"
        for kind in ("scales", "pairs")
    },
    # Grammars that a contrast of somebody's own may name.
    "data/sources/framing/shared": "evenruler/shipped/shared/framing/shared",
}
"""Folders of the repository, and where a wheel has them."""

OF_GIT = {".gitignore", ".gitkeep"}
"""Files that say something to git alone."""


class ShippedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files to a wheel or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files; an editable install reads them where they are."""
        if version == "editable":
            return
        root = Path(self.root)
        for folder, shipped in SHIPPED.items():
            for name in files_of(root, folder):
                inside = (
                    name
                    if self.target_name == "sdist"
                    else f"{shipped}/{name.removeprefix(f'{folder}/')}"
                )
                build_data["force_include"][str(root / name)] = inside


def files_of(root: Path, folder: str) -> list[str]:
    """The files below a folder that may be given to others, by their path from the root.

    Raises:
        RuntimeError: Git is not there to ask, or tracks what its own .gitignore keeps out.
    """
    if (root / "PKG-INFO").is_file():  # an sdist
        found = [
            path.relative_to(root).as_posix()
            for path in sorted((root / folder).rglob("*"))
            if path.is_file()
        ]
    elif (root / ".git").exists():
        found = _git(root, "--", folder)
        if ignored := _git(
            root, "--cached", "--ignored", "--exclude-per-directory=.gitignore", "--", folder
        ):
            raise RuntimeError(
                f"git tracks what a .gitignore keeps out: {ignored[0]}; run `git rm --cached` on it"
            )
    else:
        raise RuntimeError(
            f"{root} is neither a clone nor an sdist: which files may be shipped, only git knows"
        )
    return [name for name in found if Path(name).name not in OF_GIT]


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "-z", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"git ls-files failed ({done.stderr.strip()})")
    return [name for name in done.stdout.split("\0") if name]
