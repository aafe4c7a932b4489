"""The model of a log: it has the answers of the log and no others."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.models.answer_logs.items import LoggedItems
from evenruler.models.answer_logs.logged import (
    READER,
    UNKNOWN_LENGTH,
    AnswerLog,
    LoggedReply,
    ReadLikelihoods,
    match_replies,
)
from evenruler.models.answer_logs.reading import LogOptions, read_log
from evenruler.models.declarations import ModelEntry, Operation
from evenruler.models.model import Model
from evenruler.models.questions import LogLikelihoods
from evenruler.models.sources import declared_at, verified_file
from evenruler.models.store import RowStore
from evenruler.strict import at_home
from evenruler.tables.ids import canonical_json

if TYPE_CHECKING:
    import pandas as pd


class LoggedModel(Model):
    """Recorded answers of a file as a model of the catalogue."""

    def __init__(
        self, name: str, entry: ModelEntry, store: RowStore, where: str | None = None
    ) -> None:
        """Read `recorded:FILE`, or `recorded:git:...` with `sha256`; never computes answers.
        UserError as in `read`.
        """
        place = where or declared_at(name)
        source, _, column = entry.locations[0][1].partition("#")
        if source.startswith(("git:", "package:")):
            if entry.sha256 is None:
                raise UserError(
                    "sha256 is missing", where=place, remedy="say the checksum of the file"
                )
            self._path = verified_file(source, entry.sha256, place)
        else:
            self._path = (
                verified_file(f"local:{source}", entry.sha256, place)
                if entry.sha256
                else at_home(source)
            )
        if not self._path.exists():
            raise UserError("no such file", where=f"{place}: {self._path}", remedy="check the name")
        requests = entry.requests or ""
        options = LogOptions(column, requests and str(at_home(requests)), entry.partial)
        self._log = read_log(self._path, options)
        if self._log.is_pll != entry.pll:
            called = "pseudo-log-likelihoods" if self._log.is_pll else "no pseudo-log-likelihoods"
            what = f"its scores are {called} by its column `method`"
            remedy = f"say `pll: {str(self._log.is_pll).lower()}`"
            raise UserError(what, where=f"{place}: {self._path}", remedy=remedy)
        self._benchmark: LoggedItems | None = None
        self._joined_logs: dict[str, AnswerLog] = {}
        """By the benchmark that a batch or a table was joined with."""
        files = [self._path]
        if self._path.is_dir():
            files = sorted(self._path.glob("*.jsonl"))
        engine_fields: dict[str, Any] = {
            "reader": READER,
            "column": column,
            "files": [file_sha256(file) for file in files],
        }
        if requests:
            engine_fields["requests"] = file_sha256(Path(options.requests))
        if entry.partial:
            engine_fields["partial"] = True
        engine = canonical_json(engine_fields)

        def refuse_to_ask() -> NoReturn:
            """Stands for loading the backend, which a log lacks: raises UserError."""
            raise UserError(
                "answers that were recorded cannot be asked more",
                where=place,
                remedy="name a model",
            )

        super().__init__(name, entry, "recorded", store, engine.decode, refuse_to_ask, None, where)

    def join_benchmark(self, benchmark: LoggedItems) -> None:
        """Take the benchmark whose items are asked next: a batch or a table is joined with it.

        UserError where a batch or a table does not answer its items.
        """
        self._benchmark = benchmark
        if self._log.unjoined is not None and benchmark.benchmark not in self._joined_logs:
            joined_log = self._log.unjoined.join_items(benchmark)
            self._joined_logs[benchmark.benchmark] = joined_log

    def answers_any(self, benchmark: LoggedItems, texts: "pd.DataFrame", between: str) -> bool:
        """Whether the file has an answer to one of the texts of a benchmark, or to another version
        of one.
        """
        written, prompts, keys = (texts[name].tolist() for name in ("text", "prompt", "key"))
        try:
            if self._log.unjoined is not None:
                return self._log.unjoined.has_answers(benchmark)
            scores = self._recorded_scores(self._log, written, prompts, keys, between)
        except UserError:
            return True
        return any(score is not None for score in scores)

    def _joined_log(self) -> AnswerLog:
        """The log, joined with the benchmark that is asked; UserError where none was named."""
        if self._log.unjoined is None:
            return self._log
        if self._benchmark is None:
            what = f"the answers of a {self._log.what} are found by the items of a benchmark"
            raise UserError(what, where=str(self._path), remedy="measure it with that benchmark")
        return self._joined_logs[self._benchmark.benchmark]

    def list_operations(self) -> frozenset[Operation]:
        """What was asked: `loglikelihood`, or `pll`."""
        return self.entry.operations

    def pll(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        between: str = " ",
        keys: Sequence[str] | None = None,
    ) -> LogLikelihoods:
        """The recorded pseudo-log-likelihood of each text, as `loglikelihood`; UserError where its
        scores are none.
        """
        self.require("pll")
        return self._find_scores(texts, before, between, keys)

    def loglikelihood(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        between: str = " ",
        keys: Sequence[str] | None = None,
        other_start: bool = False,
    ) -> LogLikelihoods:
        """The recorded score of each text; arguments as for any model, but that no other start can
        be asked for.

        NaN if the file has nothing on a part of the benchmark (a key up to its first slash), and
        for any missing answer of a partial log; token counts are -1, unknown. UserError if it
        belongs to another benchmark, lacks answers within a part and is not partial, or answers
        other texts. A batch or a table has no such parts.
        """
        self.require("loglikelihood")
        return self._find_scores(texts, before, between, keys)

    def _find_scores(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None,
        between: str,
        keys: Sequence[str] | None,
    ) -> LogLikelihoods:
        """Recorded scores, whichever they are; arguments and errors as for `loglikelihood`."""
        contexts = [""] * len(texts) if before is None else before
        named = [""] * len(texts) if keys is None else keys
        log = self._joined_log()
        replied = self._replied(log, texts, contexts, named)
        scores = self._recorded_scores(log, texts, contexts, named, between)
        lacking = [place for place, value in enumerate(scores) if value is None]
        if texts and len(lacking) == len(texts):
            what = f"none of its answers ({log.what}) is to one of these {len(texts):,} texts"
            raise UserError(
                what,
                where=str(self._path),
                remedy="name the benchmark that it answers, in that version",
            )
        missing = lacking
        if log is self._log:
            answered_parts = {
                named[place].partition("/")[0]
                for place, reply in enumerate(replied)
                if reply is not None
            }
            if answered_parts:
                missing = [
                    place for place in lacking if named[place].partition("/")[0] in answered_parts
                ]
        if missing and not self.entry.partial:
            text = texts[missing[0]]
            n_missing, n_texts = len(missing), len(texts)
            counted = f"{n_missing:,} of {n_texts:,} texts"
            what = f"it lacks the answers to {counted}, as {text[:60]!r}"
            remedy = "take a whole log of this benchmark, in that version, or say --partial"
            raise UserError(what, where=str(self._path), remedy=remedy)
        if missing and log.is_of_run:
            self._require_all_units(named, set(lacking))
        nats = np.array(
            [math.nan if value is None else value for value in scores], dtype=np.float64
        )
        tokens = np.full(len(texts), UNKNOWN_LENGTH, dtype=np.int64)
        rules = [None if reply is None else reply.rule for reply in replied]
        return ReadLikelihoods(
            nats, tokens, rules, [None if reply is None else reply.written for reply in replied]
        )

    def _require_all_units(self, keys: Sequence[str], lacking: set[int]) -> None:
        """UserError where a run that did not end answered only the first units of the benchmark,
        which are no sample of all.
        """
        if self._benchmark is None:
            return
        unit_by_key = self._benchmark.unit_by_key
        units = {unit_by_key[key] for key in keys}
        answered = {unit_by_key[key] for place, key in enumerate(keys) if place not in lacking}
        if answered != units:
            n_texts, n_units = len(keys) - len(lacking), len(answered)
            what = f"a run that did not end: its first {n_texts:,} texts are of {n_units:,} of "
            what += f"{len(units):,} units, in the order of its file"
            raise UserError(what, where=str(self._path), remedy="take the log of a whole run")

    def _recorded_scores(
        self,
        log: AnswerLog,
        texts: Sequence[str],
        before: Sequence[str],
        keys: Sequence[str],
        between: str,
    ) -> list[float | None]:
        """[texts] The score of each text; None where the log has none. Log-likelihoods, or where
        the log has replies, 1 for the text that was chosen and 0 for others.
        """
        if log.replies is not None:
            replied = zip(texts, self._replied(log, texts, before, keys), strict=True)
            return [
                None if reply is None else float(text == reply.reply) for text, reply in replied
            ]
        if log.by_key or self._log.unjoined is not None:
            return [log.by_key.get(key) for key in keys]
        with_contexts = zip(texts, before, strict=True)
        after = [f"{between}{text}" if first else text for text, first in with_contexts]
        return [
            log.by_text.get(context_and_text)
            for context_and_text in zip(before, after, strict=True)
        ]

    def _replied(
        self, log: AnswerLog, texts: Sequence[str], before: Sequence[str], keys: Sequence[str]
    ) -> list[LoggedReply | None]:
        """The reply to the question that each text answers; None where the file holds
        likelihoods.
        """
        if log.reply_by_key:
            return [log.reply_by_key.get(key) for key in keys]
        if log.replies is None:
            return [None] * len(texts)
        return match_replies(log.replies, texts, before, keys, str(self._path))
