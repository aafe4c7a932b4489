"""That pytest looks into every file of tests that git tracks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES_ALONE = r"""
import sys
import pytest

seen = []

class Unopened(pytest.File):
    def collect(self):
        return []

class Plugin:
    def pytest_pycollect_makemodule(self, module_path, parent):
        seen.append(module_path.relative_to(parent.config.rootpath).as_posix())
        return Unopened.from_parent(parent, path=module_path)

options = ["--collect-only", "--noconftest", "-q", "-p", "no:cacheprovider"]
status = pytest.main(options, plugins=[Plugin()])
print(*(f"seen {path}" for path in seen), sep="\n")
sys.exit(status)
"""


def test_every_file_that_git_tracks_is_collected() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "tests"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    tracked = {
        path for path in listed if Path(path).name.startswith("test_") and path.endswith(".py")
    }
    done = subprocess.run(
        [sys.executable, "-c", FILES_ALONE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    collected = {
        line.removeprefix("seen ") for line in done.stdout.splitlines() if line.startswith("seen ")
    }
    assert done.returncode == 5, done.stdout + done.stderr  # no test, since no file is opened
    assert len(tracked) > 200
    assert tracked - collected == set()
