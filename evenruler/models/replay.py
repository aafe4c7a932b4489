"""Recorded answers in the repository, one data set per release, replayed instead of asking models.

`data/recorded` has a Parquet file per operation with a row per answer: `key` (first half of its key
in the row store, which covers engine, operation and question), `model`, `engine` (start of its
checksum) and `answer` as in the row store; and `release.json`: the release's name, full engines,
licences by model, rows and sha256 of each file. A random sample of what is replayed is asked again
and compared.
"""

import base64
import json
import os
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from evenruler import repository
from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.models.questions import Reply

FOLDER: Final = Path("data/recorded")
RELEASE: Final = "release.json"

AGAIN: Final = "EVENRULER_AGAIN"
"""Environment variable: share of released answers to ask again, from 0 to 1, by default `SHARE`, at
most `MOST_AGAIN` of an operation at once. At 1 nothing is replayed: new answers are stored and
compared with the release."""

SHARE: Final = 0.01
MOST_AGAIN: Final = 64
"""One answer in 20 that differs is missed by so many with a probability of .04."""

BLOCK: Final = 16
"""Neighbours that are asked again together: they begin alike, so that they cost a quarter of as
many random ones."""

JOURNAL: Final = "EVENRULER_JOURNAL"
"""Environment variable: a folder that records all answers, from which releases and exports are
made."""

TOLERANCE: Final = 0.01  # nats or logits; processors differ by some ten-thousandths
HALF: Final = 16  # bytes of a key in a release


@dataclass
class ReplayCheck:
    """Counts of replayed answers, and differences of those asked again."""

    release: str
    replayed: int = 0
    again: int = 0  # answers asked again, numbers and replies
    difference: float = 0.0  # largest difference of numbers
    beyond: int = 0  # numeric answers that differ by more than `TOLERANCE`
    replies: int = 0  # replies among those asked again
    otherwise: int = 0  # replies that differ

    def __add__(self, other: "ReplayCheck") -> "ReplayCheck":
        """The counts of two checks together, and the larger difference."""
        counts = ("replayed", "again", "beyond", "replies", "otherwise")
        summed = {name: getattr(self, name) + getattr(other, name) for name in counts}
        return ReplayCheck(
            other.release, difference=max(self.difference, other.difference), **summed
        )

    def compare_answers(self, held: object, now: object) -> None:
        """Count how a released answer and the one of now differ, both as the model gives them."""
        self.again += 1
        if isinstance(held, Reply):
            self.replies += 1
            self.otherwise += held != now
        else:
            apart = _max_difference(held, now)
            self.difference, self.beyond = (
                max(self.difference, apart),
                self.beyond + (apart > TOLERANCE),
            )

    @property
    def is_beyond(self) -> bool:
        """Whether the differences suggest a different model.

        One numeric answer in a hundred may differ, since last bits decide whether a borderline word
        counts as rare. So may up to half of the sampled replies.
        """
        numbers = self.again - self.replies
        too_many_numbers = 100 * self.beyond > numbers
        too_many_replies = 2 * self.otherwise > max(self.replies, 2)
        return too_many_numbers or too_many_replies

    @property
    def summary_line(self) -> str:
        """The counts and differences as one line of text."""
        line = f"{self.replayed:,} answers replayed from release {self.release}"
        line += f", {self.again:,} asked again"
        if self.again > self.replies:
            line += f", largest difference {self.difference:.2g}"
        return line + (
            f", {self.otherwise} of {self.replies} replies in other words" if self.replies else ""
        )


def _max_difference(held: object, now: object) -> float:
    """The largest difference of two numeric answers; infinite if one is missing or their shapes
    differ.
    """
    if held is None or now is None:
        return 0.0 if held is now else np.inf
    held_numbers, new_numbers = (
        np.atleast_1d(np.asarray(held, dtype=float)),
        np.atleast_1d(np.asarray(now, dtype=float)),
    )
    if held_numbers.shape != new_numbers.shape:
        return np.inf
    with np.errstate(invalid="ignore"):  # two minus infinities are equal, and two nulls
        gaps = np.where(
            (held_numbers == new_numbers) | (np.isnan(held_numbers) & np.isnan(new_numbers)),
            0.0,
            np.abs(held_numbers - new_numbers),
        )
    return float(np.nan_to_num(gaps, nan=np.inf, posinf=np.inf).max(initial=0.0))


class AnswerRelease:
    """The repository's released answers; there may be none."""

    def __init__(self, folder: Path) -> None:
        """`folder`: that of the recorded answers; files are read when first needed."""
        self._folder = folder
        self._by_operation: dict[str, dict[bytes, bytes]] = {}
        self.compared: ReplayCheck | None = None
        """Everything that this process replayed and asked again; None if nothing."""

    @property
    def release(self) -> str:
        """The release's name."""
        return str(self._manifest["release"])

    @cached_property
    def recheck_share(self) -> float:
        """The share of released answers to ask again."""
        share_setting = os.environ.get(AGAIN, str(SHARE))
        try:
            share = float(share_setting)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UserError(
                f"found {share_setting!r}",
                where=f"environment: {AGAIN}",
                remedy="say a number from 0 to 1",
            )
        return share

    def get(self, operation: str, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Released answers by full key; UserError if a file is damaged."""
        if operation not in self._by_operation:
            self._by_operation[operation] = self._read_answers(operation)
        held = self._by_operation[operation]
        answer_by_key: dict[bytes, bytes] = {}
        for key in keys:
            half = key[:HALF]
            if half in held:
                answer_by_key[key] = held[half]
        return answer_by_key

    def sample_keys(self, keys: Iterable[bytes]) -> list[bytes]:
        """Keys to ask again: all, or blocks of neighbours that begin at random places."""
        keys = list(keys)
        if self.recheck_share == 1:
            return keys
        wanted = min(MOST_AGAIN, sum(random.random() < self.recheck_share for _ in keys))
        drawn: set[int] = set()
        while len(drawn) < wanted:
            start = random.randrange(len(keys))
            n_lacking = wanted - len(drawn)
            end = min(start + BLOCK, start + n_lacking, len(keys))
            drawn |= set(range(start, end))
        return [keys[place] for place in sorted(drawn)]

    def note(self, compared: ReplayCheck) -> None:
        """Add the counts of one call to those of this process."""
        self.compared = self.compared + compared if self.compared else compared

    @cached_property
    def _manifest(self) -> Mapping[str, Any]:
        """The release's name and the records of its files; without files if there is no release;
        UserError if `release.json` is invalid.
        """
        path = self._folder / RELEASE
        if not path.exists():
            return {"files": {}}
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            return {"release": manifest["release"], "files": manifest["files"]}
        except (ValueError, KeyError, TypeError):
            raise UserError(
                "no release of answers", where=str(path), remedy=f"`git checkout {path}`"
            ) from None

    def _read_answers(self, operation: str) -> dict[bytes, bytes]:
        """Released answers to an operation by short key (half of the full one); empty if it has
        none; UserError if the file's checksum is wrong.
        """
        file_record = self._manifest["files"].get(answers_file_name(operation))
        if file_record is None:
            return {}
        path = self._folder / answers_file_name(operation)
        if not path.exists() or file_sha256(path) != file_record["sha256"]:
            what = f"it is not as {RELEASE} says (sha256)"
            raise UserError(what, where=str(path), remedy=f"`git checkout {self._folder}`")
        table = pq.read_table(path, columns=["key", "answer"])
        return dict(zip(table["key"].to_pylist(), table["answer"].to_pylist(), strict=True))


def open_release() -> AnswerRelease:
    """The release of the repository that this process works in."""
    return _read_answer_release((repository.find_repository_root() or Path()).absolute() / FOLDER)


@cache
def _read_answer_release(folder: Path) -> AnswerRelease:
    """The recorded answers in a folder; none where it holds no release."""
    return AnswerRelease(folder)


def answers_file_name(operation: str) -> str:
    """Name of the Parquet file with the answers to an operation, named with its version."""
    return f"{re.sub(r'[^a-z0-9]+', '-', operation.lower()).strip('-')}.parquet"


@dataclass(frozen=True)
class JournalEntry:
    """An answer with everything that its key consists of."""

    model: str
    engine: str
    operation: str
    key: bytes
    question: str  # canonical JSON
    answer: bytes


def note_down(
    model: str, engine: str, operation: str, answers: Iterable[tuple[bytes, bytes, bytes]]
) -> None:
    """Append answers to the journal, if one is set: key, question as canonical JSON, packed
    answer.
    """
    journal = os.environ.get(JOURNAL)
    if not journal:
        return
    folder = Path(journal)
    folder.mkdir(parents=True, exist_ok=True)
    header = {"model": model, "engine": engine, "operation": operation}
    with (folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(header) + "\n")
        for key, question, answer in answers:
            packed = base64.b85encode(answer).decode()
            journal_row = [key.hex(), question.decode(), packed]
            file.write(json.dumps(journal_row) + "\n")


def read_journal(folder: Path) -> list[JournalEntry]:
    """All answers in a journal without duplicates, sorted by operation, model, engine and key."""
    answer_by_key: dict[bytes, JournalEntry] = {}
    whose: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for journal_line in map(json.loads, lines):
                if isinstance(journal_line, dict):
                    whose = journal_line
                else:
                    key = bytes.fromhex(journal_line[0])
                    answer_by_key[key] = JournalEntry(
                        **whose,
                        key=key,
                        question=journal_line[1],
                        answer=base64.b85decode(journal_line[2]),
                    )
    return sorted(
        answer_by_key.values(),
        key=lambda answer: (answer.operation, answer.model, answer.engine, answer.key),
    )
