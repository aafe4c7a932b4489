"""The stages of dvc.yaml, as DVC lists them."""

import subprocess
import sys
import tempfile
from pathlib import Path

from evenruler.errors import UserError


def stage_names(pipeline: str, params: str, lock: str | None = None) -> list[str]:
    """The stages that DVC finds in files that need not have been written yet.

    Args:
        pipeline: The text of dvc.yaml.
        params: The text of params.yaml.
        lock: The text of dvc.lock, which DVC reads as well.

    Raises:
        UserError: DVC refuses one of them.
    """
    with tempfile.TemporaryDirectory(prefix="evenruler-") as name:
        folder = Path(name)
        (folder / ".dvc").mkdir()
        (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n", encoding="utf-8")
        for file, text in (("dvc.yaml", pipeline), ("params.yaml", params), ("dvc.lock", lock)):
            if text is not None:
                (folder / file).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "dvc", "stage", "list", "--name-only"]
        listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if listed.returncode:
        said = " ".join(listed.stderr.replace("ERROR:", "").split("\n\n")[0].split())
        where, remedy = ("dvc.lock", "run `git checkout dvc.lock`") if "dvc.lock" in said else ("dvc.yaml", "mend it")
        raise UserError(f"DVC cannot list the stages ({said})", where=where, remedy=remedy)
    return listed.stdout.split()
