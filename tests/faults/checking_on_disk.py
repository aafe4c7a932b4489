"""`evenruler check` on a disk that is full, or that can only be read; as root as well, and without
a mount.

`/dev/full` is where every write fails as on a full disk. Root may write whatever permissions say,
but for the one right (`CAP_DAC_OVERRIDE`) that is taken from this thread meanwhile.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.cases import Case, Outcome, Seen, evenruler, refusals
from tests.faults.declarations import UNDECLARED, contents, project

VERSION_3, CAP_DAC_OVERRIDE = 0x20080522, 1
Sets = (ctypes.c_uint32 * 3) * 2
"""Effective, permitted and inheritable rights, 32 at a time."""


@contextmanager
def as_permissions_say() -> Iterator[None]:
    """Without the right to pass over permissions, for this thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    head, rights = (ctypes.c_uint32 * 2)(VERSION_3, 0), Sets()
    assert libc.capget(head, rights) == 0
    before = rights[0][0]
    rights[0][0] = before & ~(1 << CAP_DAC_OVERRIDE)
    assert libc.capset(head, rights) == 0
    try:
        yield
    finally:
        rights[0][0] = before
        assert libc.capset(head, rights) == 0


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Nothing can be made in a folder, nor below."""
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        with as_permissions_say():
            yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


def _read_only(root: Path) -> Seen:
    project(root)
    before = contents(root)
    with read_only(root):
        seen = evenruler("check", folder=root)
    assert contents(root) == before
    return seen


def _full(root: Path) -> Seen:
    """Where active.yaml is to be written; nothing has been removed then."""
    project(root)
    before = contents(root)
    (root / "active.yaml.partial").symlink_to("/dev/full")
    seen = evenruler("check", folder=root)
    assert contents(root) == before
    return seen


def _full_then_not(root: Path) -> Seen:
    """Where dvc.yaml is to be written, after active.yaml."""
    project(root)
    (root / "dvc.yaml.partial").symlink_to("/dev/full")
    assert evenruler("check", folder=root).status == 2
    assert (root / UNDECLARED).exists()
    seen = evenruler("check", folder=root)
    assert "framing-hair" in (root / "dvc.yaml").read_text()
    assert not (root / UNDECLARED).exists()
    return seen


CASES = [
    *refusals(
        "check",
        {
            "the folder can only be read": (_read_only, "no right to read or write it"),
            "the disk is full": (_full, "active.yaml", "no space left on the device"),
        },
    ),
    Case("the disk was full half way", "check", Outcome.RESUMED, _full_then_not),
]
