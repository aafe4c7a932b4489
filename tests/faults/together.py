"""Two commands at once in one repository."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from filelock import FileLock

from evenruler.project.dvc import read_lock
from tests.faults.cases import Case, Outcome, Seen, evenruler, program
from tests.faults.declarations import UNDECLARED, contents, project
from tests.faults.killed import CONFIG, DVC, ENV, wait_until

CHECK = """\
import sys
from pathlib import Path
from evenruler.errors import run_program
from evenruler.project.check import check
print("ready", flush=True)
sys.stdin.readline()
run_program(lambda: print("\\n".join(check(Path()))))
"""
"""Does nothing until it is told to, so that several begin at once."""


def _checks(root: Path) -> Seen:
    """All have the same to write and to remove."""
    project(root)
    begin = partial(
        subprocess.Popen,
        [sys.executable, "-c", CHECK],
        cwd=root,
        env=os.environ | ENV,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = [begin() for _ in range(3)]
    for process in running:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    errors = "".join(process.communicate(timeout=300)[1] for process in running)
    assert not (root / UNDECLARED).exists()
    after = contents(root)
    assert not [name for name in after if name.endswith(".partial")]
    assert "hair" in after["active.yaml"].decode()
    return Seen(max(process.returncode for process in running), errors)


WRITE = """\
import sys, time
from pathlib import Path
Path("begun").touch()
while not Path("go").exists():
    time.sleep(0.01)
Path(sys.argv[1]).write_text(sys.argv[1])
"""


def _builds(root: Path) -> Seen:
    """DVC turns one away that comes to a stage which the other runs; what both leave is whole, and
    the next goes on."""
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text(CONFIG)
    (root / "write.py").write_text(WRITE)
    stages = {
        "foreach": ["a", "b", "c"],
        "do": {"cmd": f"{sys.executable} write.py ${{item}}", "outs": ["${item}"]},
    }
    (root / "dvc.yaml").write_text(json.dumps({"stages": {"make": stages}}))
    with subprocess.Popen(DVC, cwd=root, env=os.environ | ENV, stdout=subprocess.DEVNULL) as first:
        wait_until((root / "begun").exists, first)
        other = program(*DVC, folder=root, env=ENV)
        (root / "go").touch()
        assert first.wait(300) == 0
    assert other.status != 0, "both ran the same stage"
    assert "is busy" in other.errors
    again = program(*DVC, folder=root, env=ENV)
    for name in "abc":
        assert (root / name).read_text() == name
    assert list(read_lock(root)) == ["make@a", "make@b", "make@c"]
    return again


def _recorded(root: Path) -> Seen:
    """Both write one table, and each would leave out what the other read; who only looks is not in
    the way."""
    (root / "params.yaml").touch()
    env = {"EVENRULER_CACHE": str(root / "cache")}
    (root / ".cache").mkdir()
    with FileLock(root / ".cache/weigh.lock"):
        assert evenruler("planted", "test", folder=root, env=env).status == 0
        seen = evenruler("planted", "test", "--record", folder=root, env=env)
        assert not (root / "data/weights").exists()
    return seen


CASES = [
    Case(
        "another one records",
        "planted test --record",
        Outcome.REFUSED,
        _recorded,
        ("another planted test --record is running",),
    ),
    Case("two others do the same", "check", Outcome.UNHARMED, _checks, slow=True),
    Case("another one builds the same", "dvc repro", Outcome.RESUMED, _builds, long=True),
]
