"""Answers of models that the repository holds, one data set a release: replayed in place of asking.

`data/recorded` has a Parquet file an operation, a row an answer: `key` (the first half of its key in the row store, so
that engine, operation and the whole question are in it), `model`, `engine` (the first digits of its checksum) and
`answer`, as the row store holds it; and `release.json`: the release, each engine whole, each model's licence, and each
file's rows and sha256. A random part of what is replayed is asked again all the same, and compared.
"""

import base64
import json
import os
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from evenruler import repository
from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.models.records import Reply
from evenruler.models.store import cache_root

FOLDER: Final = Path("data/recorded")
RELEASE: Final = "release.json"

AGAIN: Final = "EVENRULER_AGAIN"
"""The environment variable that says which share of what a release holds is asked again, from 0 to 1; `SHARE` by
default. At 1 nothing is replayed: what a model says now is kept, and compared with the release."""

SHARE: Final = 0.01

JOURNAL: Final = "EVENRULER_JOURNAL"
"""The environment variable that names a folder for all that models answer, of which releases and exports are made."""

TOLERANCE: Final = 0.01  # nats, logits and the like: last bits that differ by processor add up to some ten-thousandths
HALF: Final = 16  # bytes of a key that a release holds
REPLAYED: Final = "replayed.jsonl"  # in the cache: what this run replayed, a line a call


@dataclass
class Compared:
    """What was replayed, and how what was asked again differs."""

    release: str
    replayed: int = 0
    again: int = 0  # answers that were asked again; numbers and replies together
    difference: float = 0.0  # the largest one of numbers
    beyond: int = 0  # how many answers of numbers differ by more than `TOLERANCE`
    replies: int = 0  # how many of those asked again are replies
    otherwise: int = 0  # how many of these say something else

    def __add__(self, other: "Compared") -> "Compared":
        counts = ("replayed", "again", "beyond", "replies", "otherwise")
        summed = {name: getattr(self, name) + getattr(other, name) for name in counts}
        return Compared(other.release, difference=max(self.difference, other.difference), **summed)

    def take(self, held: Any, now: Any) -> None:
        """Compare what the model says now with what the release holds, both unpacked."""
        self.again += 1
        if isinstance(held, Reply):
            self.replies += 1
            self.otherwise += held != now
        else:
            apart = _apart(held, now)
            self.difference, self.beyond = max(self.difference, apart), self.beyond + (apart > TOLERANCE)

    @property
    def is_beyond(self) -> bool:
        """Whether the model of the release is another one.

        One answer in a hundred may differ: what follows a word is asked only of words that are likely enough, and last
        bits decide of a word at that border. So may sampled replies, up to half of them.
        """
        numbers = self.again - self.replies
        return 100 * self.beyond > numbers or 2 * self.otherwise > max(self.replies, 2)

    @property
    def said(self) -> str:
        """In a line."""
        found = f"{self.replayed:,} answers replayed from release {self.release}, {self.again:,} asked again"
        if self.again > self.replies:
            found += f", largest difference {self.difference:.2g}"
        return found + (f", {self.otherwise} of {self.replies} replies in other words" if self.replies else "")


def _apart(held: Any, now: Any) -> float:
    """The largest difference of two answers of numbers; infinite where one has none, or another length."""
    if held is None or now is None:
        return 0.0 if held is now else np.inf
    one, other = np.atleast_1d(np.asarray(held, dtype=float)), np.atleast_1d(np.asarray(now, dtype=float))
    if one.shape != other.shape:
        return np.inf
    with np.errstate(invalid="ignore"):  # two that are both minus infinity are alike
        return float(np.where(one == other, 0.0, np.abs(one - other)).max(initial=0.0))


class Released:
    """The answers of the release that a repository holds; there need be none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_operation: dict[str, dict[bytes, bytes]] = {}

    @property
    def release(self) -> str:
        """What it is called."""
        return str(self._said["release"])

    @cached_property
    def share(self) -> float:
        """Of what it holds, how much is asked again."""
        given = os.environ.get(AGAIN, str(SHARE))
        try:
            share = float(given)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UserError(f"found {given!r}", where=f"environment: {AGAIN}", remedy="say a number from 0 to 1")
        return share

    def get(self, operation: str, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The answers that it holds, by whole keys; UserError where a file of it is damaged."""
        if operation not in self._by_operation:
            self._by_operation[operation] = self._read(operation)
        held = self._by_operation[operation]
        return {key: held[key[:HALF]] for key in keys if key[:HALF] in held}

    def again(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those that are asked again, drawn at random."""
        return [key for key in keys if random.random() < self.share]

    @cached_property
    def _said(self) -> Mapping[str, Any]:
        path = self._folder / RELEASE
        if not path.exists():
            return {"files": {}}
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            return {"release": said["release"], "files": said["files"]}
        except (ValueError, KeyError, TypeError):
            raise UserError("no release of answers", where=str(path), remedy=f"`git checkout {path}`") from None

    def _read(self, operation: str) -> dict[bytes, bytes]:
        said = self._said["files"].get(file_of(operation))
        if said is None:
            return {}
        path = self._folder / file_of(operation)
        if not path.exists() or file_sha256(path) != said["sha256"]:
            what = f"it is not as {RELEASE} says (sha256)"
            raise UserError(what, where=str(path), remedy=f"`git checkout {self._folder}`")
        table = pq.read_table(path, columns=["key", "answer"])
        return dict(zip(table["key"].to_pylist(), table["answer"].to_pylist(), strict=True))


@cache
def released() -> Released:
    """The release of the repository that this process works in."""
    return Released((repository.root() or Path()) / FOLDER)


def file_of(operation: str) -> str:
    """The file that holds the answers of an operation with its version."""
    return f"{re.sub(r'[^a-z0-9]+', '-', operation.lower()).strip('-')}.parquet"


def keep(compared: Compared) -> None:
    """Note what a call replayed, for who says it at the end."""
    with (cache_root() / REPLAYED).open("a", encoding="utf-8") as file:
        file.write(json.dumps(vars(compared)) + "\n")


def kept(root: Path) -> Compared | None:
    """All that was noted together in a cache, which is forgotten then; None where nothing was."""
    path = root / REPLAYED
    if not path.exists():
        return None
    noted = [Compared(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    path.unlink()
    return reduce(Compared.__add__, noted) if noted else None


@dataclass(frozen=True)
class Answered:
    """An answer of a model, with all that its key is made of."""

    model: str
    engine: str
    operation: str
    key: bytes
    question: str  # JSON, canonical
    answer: bytes


def note_down(model: str, engine: str, operation: str, answers: Iterable[tuple[bytes, bytes, bytes]]) -> None:
    """Have the journal hold answers, if one is kept: key, question as canonical JSON, answer as the store has it."""
    if folder := os.environ.get(JOURNAL):
        Path(folder).mkdir(parents=True, exist_ok=True)
        with (Path(folder) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"model": model, "engine": engine, "operation": operation}) + "\n")
            for key, question, answer in answers:
                file.write(json.dumps([key.hex(), question.decode(), base64.b85encode(answer).decode()]) + "\n")


def journal(folder: Path) -> list[Answered]:
    """All that a journal holds, each answer once, in the order of operation, model, engine and key."""
    found: dict[bytes, Answered] = {}
    whose: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for said in map(json.loads, lines):
                if isinstance(said, dict):
                    whose = said
                else:
                    key = bytes.fromhex(said[0])
                    found[key] = Answered(**whose, key=key, question=said[1], answer=base64.b85decode(said[2]))
    return sorted(found.values(), key=lambda one: (one.operation, one.model, one.engine, one.key))
