"""What CI makes of a test that is skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """import pytest

def test_that_runs() -> None:
    pass

@pytest.mark.skipif(True, reason="no browser")
def test_that_needs_a_browser() -> None:
    pass

def test_that_needs_a_wiki() -> None:
    pytest.skip("no wiki")

@pytest.mark.servers
def test_that_needs_a_server_of_models() -> None:
    raise AssertionError
"""
FILE = "import pytest\n\npytest.importorskip('no_such_module')\n"
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("env", "counted", "status"),
    [
        ({}, "1 passed, 3 skipped, 1 deselected", 0),
        ({"EVENRULER_CI": "1"}, "1 failed, 1 passed, 1 deselected, 2 errors", 1),
    ],
)
def test_skipped_is_failed_in_ci(
    tmp_path: Path, env: dict[str, str], counted: str, status: int
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text(FILE)
    command = (
        "-m",
        "pytest",
        "-qrs",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        "--rootdir",
        str(tmp_path),
    )
    clean = {name: setting for name, setting in os.environ.items() if name != "EVENRULER_CI"}
    done = subprocess.run(
        [sys.executable, *command, "--continue-on-collection-errors", str(tmp_path)],
        cwd=ROOT,
        env=clean | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert counted in done.stdout.splitlines()[-1], done.stdout
    assert done.returncode == status
    assert ("no browser" in done.stdout, "no wiki" in done.stdout) == (True, True)
