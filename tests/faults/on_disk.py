"""Commands that write where the disk is full, or can only be read.

A disk is full for one place: what Python opens there to write, or a folder that it makes, fails as
it would then.
"""

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evenruler import repository
from evenruler.training.fit import ADAPTERS
from tests.faults import hub, measuring, releases
from tests.faults.cases import Case, Outcome, Seen, doing, evenruler
from tests.faults.checking_on_disk import read_only
from tests.loopback_hub import running
from tests.training import tiny

Disk = Callable[[Path], AbstractContextManager[None]]
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_full: set[str] = set()
_hooked: list[bool] = []


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if not _full or event not in ("open", "os.mkdir") or isinstance(arguments[0], int):
        return
    path = os.path.abspath(os.fspath(arguments[0]))
    if (event == "os.mkdir" or arguments[2] & WRITES) and path.startswith(tuple(_full)):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


@contextmanager
def full(place: Path) -> Iterator[None]:
    """No space is left for a file or folder, nor below it."""
    if not _hooked:  # it stays for good, and does nothing elsewhere
        sys.addaudithook(_look)
        _hooked.append(True)
    _full.add(str(place))
    try:
        yield
    finally:
        _full.remove(str(place))


@contextmanager
def full_for_tensors(_: Path) -> Iterator[None]:
    """No space is left for what PyTorch writes itself, which no hook of Python sees."""
    import torch

    save = torch.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "save", lambda content, *_, **__: save(content, "/dev/full"))
        yield


def _released(disk: Disk, where: str, folder: Path) -> Seen:
    """Nothing stays of it, and the next release finishes."""
    root = releases._repository(folder)
    with disk(root / where):
        seen = doing(lambda: releases._release(root))
    assert releases._git(root, "tag") == releases.LAST
    assert releases._git(root, "status", "--porcelain") == ""
    releases._finished(root, doing(lambda: releases._release(root)))
    return seen


def _published(disk: Disk, folder: Path) -> Seen:
    """Where what is on the Hub is downloaded, to be compared."""
    with running() as there, hub.talking_to(there.endpoint, folder):
        hub._published(hub.ORIGINAL)
        (folder / "hub").mkdir(exist_ok=True)
        with disk(folder / "hub"):
            seen = doing(partial(hub._published, hub.ORIGINAL))
        assert doing(partial(hub._published, hub.ORIGINAL)).status == 0
    return seen


def _declared() -> dict[str, Any]:
    return tiny.declaration(tiny.MOODS, epochs=1)


def _fitted(disk: Disk, where: str, folder: Path) -> Seen:
    """No adapter is there; the next run writes it."""
    root = tiny.workshop(folder / "root")
    env = {"EVENRULER_CACHE": str(folder / "cache")}
    (root / "params.yaml").write_text(json.dumps(_declared()))
    place = folder / where
    (folder / "cache/finetune").mkdir(parents=True)
    with disk(place):
        seen = evenruler("finetune", "tiny", folder=root, env=env)
    assert not (root / ADAPTERS / "tiny").exists()
    assert evenruler("finetune", "tiny", folder=root, env=env).status == 0
    return seen


def _measured(disk: Disk, folder: Path) -> Seen:
    benchmark = shutil.copytree(
        repository.shipped_benchmarks() / measuring.PROBES, folder / "benchmark"
    )
    (folder / "results").mkdir()
    with disk(folder / "results"):
        seen = measuring._measured(folder, measuring._model(), benchmark)
    assert measuring._measured(folder, measuring._model(), benchmark).status == 0
    return seen


NO_SPACE, NO_RIGHT = ("no space left on the device; free some",), ("no right to read or write it",)

CASES = [
    Case(
        fault,
        operation,
        Outcome.REFUSED,
        act,
        says,
        slow=operation in ("finetune", "measure"),
        long=(fault, operation) == ("the folder can only be read", "finetune"),
    )
    for fault, operation, act, says in (
        (
            "the disk is full half way",
            "release",
            partial(_released, full, "params.yaml.partial"),
            NO_SPACE,
        ),
        ("the folder can only be read", "release", partial(_released, read_only, ""), NO_RIGHT),
        ("the disk of the Hub's cache is full", "publish", partial(_published, full), NO_SPACE),
        (
            "the disk is full as weights are written",
            "finetune",
            partial(_fitted, full_for_tensors, ""),
            NO_SPACE,
        ),
        ("the folder can only be read", "finetune", partial(_fitted, read_only, "root"), NO_RIGHT),
        (
            "the disk is full",
            "measure",
            partial(_measured, full),
            ("No space left on device", "--out"),
        ),
    )
]
