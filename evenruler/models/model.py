"""A model of the catalogue, whatever answers: every operation that it can do, each answer paid for once."""

import copy
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from evenruler.errors import UserError
from evenruler.models import records
from evenruler.models.cache import Cache, Form, LackingError, Spent
from evenruler.models.declared import HOSTED, OPERATIONS, Kind, ModelEntry, Operation, SamplingSettings, operations_of
from evenruler.models.loading import loading
from evenruler.models.records import LogLikelihoods, Pair, Placed, Reply, Sampling, WordLikelihoods
from evenruler.models.sources import declared_at
from evenruler.models.store import RowStore
from evenruler.strict import validate
from evenruler.tables.ids import canonical, content_sha256

_Numbers = NDArray[np.float64]
Method = Operation | Literal["classify_whole"]  # of a backend


def _of_struct(layout: str) -> Form[tuple[Any, ...]]:
    numbers = struct.Struct(layout)
    return Form(lambda answer: numbers.pack(*answer), numbers.unpack, lambda answer: all(map(math.isfinite, answer)))


def _of_array(kind: str) -> Form[NDArray[Any]]:
    return Form(
        lambda row: np.asarray(row).astype(kind).tobytes(),
        lambda stored: np.frombuffer(stored, dtype=kind),
        lambda row: bool(np.isfinite(row).all()),
    )


LIKELIHOOD = _of_struct("<dq")  # nats, number of tokens
WORD = _of_struct("<ddddq")  # nats of a whole word, that it ends, that it stands alone, of its first token; that token
NUMBER: Form[float] = Form(struct.Struct("<d").pack, lambda stored: struct.unpack("<d", stored)[0], np.isfinite)
LOGITS, VECTOR = _of_array("<f8"), _of_array("<f4")

LOGITS_OR_NONE: Form[NDArray[Any] | None] = Form(
    lambda row: b"" if row is None else LOGITS.pack(row),
    lambda stored: LOGITS.unpack(stored) if stored else None,
    lambda row: row is None or LOGITS.is_finite(row),
)
"""None for a text that is longer than the model takes."""

REPLY: Form[Reply] = Form(lambda reply: canonical(reply.as_json), lambda stored: Reply(*json.loads(stored)))


_KEPT: dict[str, tuple[str, Form[Any], Callable[[Any], object]]] = {
    "loglikelihood": ("likelihood/1", LIKELIHOOD, lambda request: [request.prompt, request.text]),
    "words": ("words/2", WORD, lambda request: [request.prompt, request.text, request.chat]),
    "in_place": ("masked-likelihood/1", LIKELIHOOD, lambda placed: [placed.before, placed.word, placed.after]),
    "generate": ("generation/2", REPLY, asdict),
    "entail": ("entailment/1", LOGITS, list),
    "classify": ("classification/1", LOGITS, lambda text: text),
    "classify_whole": ("whole-classification/1", LOGITS_OR_NONE, lambda text: text),
    "embed": ("embedding/1", VECTOR, lambda text: text),
}
"""By the method of a backend: the operation, with the version of how it is computed; how its answers are kept; the
whole input of a question, as JSON holds it."""


def form_of(operation: str) -> Form[Any]:
    """How the store holds the answers of an operation, which is named with its version."""
    return next((form for name, form, _ in _KEPT.values() if name == operation.partition(":")[0]), NUMBER)


class Model:
    """A model of the catalogue, loaded only when the store misses something.

    Each method is one operation. A model that cannot do it says so in one line (`UserError`); ask `can` first.
    """

    def __init__(
        self,
        name: str,
        entry: ModelEntry,
        kind: Kind,
        store: RowStore,
        describe: Callable[[], str],
        load: Callable[[], Any],
        folder: Path | None = None,
        where: str | None = None,
    ) -> None:
        """Name the model; nothing is loaded.

        `kind`: of the backend, that of the entry or what an encoder is with its head; `store`: where answers are kept;
        `describe`: gives the engine string of the files as they are now; `load`: makes the backend, which has a method
        for each operation that `BY_BACKEND` lists under `kind`; `folder`: its files, where it has any on this machine;
        `where`: it is declared, for errors, in `params.yaml` by default.
        """
        self.name, self.entry, self.kind = name, entry, kind
        self.where = where or declared_at(name)
        self._folder, self._load, self._describe = folder, load, describe
        self._cache = Cache(name, describe(), store)
        self._backend: Any = None
        self.heard: list[Mapping[str, Any]] = []
        """What a server said of itself with each reply (`Reply.said`), kept ones too."""

    @property
    def engine(self) -> str:
        """All that an answer depends on but the question."""
        return self._cache.engine

    @property
    def asked(self) -> int:
        """Questions that the model itself had to answer so far."""
        return self._cache.asked

    @property
    def spent(self) -> list[Spent]:
        """What that took, call by call."""
        return self._cache.spent

    @property
    def backend(self) -> Any:
        """What answers, loaded on first use.

        UserError where it does not load, or files or server are no longer those that answers are kept under.
        """
        if self._backend is None:
            backend = self._load()
            if self._describe() != self.engine:
                what = "server" if self.kind in HOSTED else "files" if self._folder else "weights"
                what = f"the {what} of {self.name} changed while it was in use"
                raise UserError(what, where=str(self._folder or self.where), remedy="run again")
            self._backend = backend
        return self._backend

    def adapted(self, state: object, load: Callable[[], Any]) -> Self:
        """The same model in another state, with answers of its own.

        `state`: all that it depends on beside the model, None for the model as it is; `load`: brings the backend there.
        """
        other = copy.copy(self)
        engine = self.engine if state is None else canonical([self.engine, state]).decode()
        other._cache = Cache(self.name, engine, self._cache.store, asks=self._cache.asks)
        other._load, other._describe, other._backend = load, lambda: engine, None
        return other

    def stored(self) -> Self:
        """The same model, never asked: what the store lacks is a `LackingError` that says how much it is."""

        def refuse() -> Any:
            raise LackingError(self.name, "loading", records.Amount(0, 0, 0))

        other = self.adapted(None, refuse)
        other._cache.asks = False
        return other

    def can(self, operation: Operation) -> bool:
        """Whether it can do an operation; nothing is loaded. ValueError where there is no such operation."""
        if operation not in OPERATIONS:
            raise ValueError(f"no operation {operation!r}, there are {', '.join(OPERATIONS)}")
        return operation in operations_of(self.kind)

    def require(self, operation: Operation) -> None:
        """Stop where it cannot do an operation: a UserError that says what it can."""
        if not self.can(operation):
            others = ", ".join(sorted(operations_of(self.kind)))
            what = f"{self.name} (kind {self.kind}) cannot {operation}, only {others}"
            raise UserError(what, where=self.where, remedy=f"name a model that can {operation}")

    def loglikelihood(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        between: str = " ",
        keys: Sequence[str] | None = None,
    ) -> LogLikelihoods:
        """Log-likelihood of each whole text given the model's start token (PMPO, section 3.1: S).

        Args:
            texts: n texts; repeats cost nothing.
            before: n texts that they stand after; their own tokens are not summed. Nothing by default, as where one is
                empty.
            between: What stands between a text and what is before it; counted with the text.
            keys: n names by which authors of a benchmark know the texts; answers that they published go by these
                (`evenruler.models.recorded`), a model never sees them.

        Returns:
            [n] nats (raw sums over tokens, never normalised by length) and token counts.
        """
        given = [""] * len(texts) if before is None else before
        pairs = zip(texts, given, strict=True)
        asked = [
            records.Request(f"{between}{text}", first) if first else records.Request(text) for text, first in pairs
        ]
        answers = self._answers("loglikelihood", asked)
        nats = np.array([own for own, _ in answers], dtype=np.float64)
        return LogLikelihoods(nats, np.array([tokens for _, tokens in answers], dtype=np.int64))

    def continuations(self, prompts: Sequence[str], options: Sequence[str]) -> _Numbers:
        """[n, k] log-probability, in nats, of each of k options after each of n prompts.

        Prompt and option are tokenised together; what spans their border, or separates them, belongs to the option.
        """
        asked = [records.Request(option, prompt) for prompt in prompts for option in options]
        answers = self._answers("loglikelihood", asked)
        return np.array([nats for nats, _ in answers], dtype=np.float64).reshape(len(prompts), len(options))

    def _answers(self, method: Method, questions: Sequence[Any], more: str = "") -> list[Any]:
        """What the backend says, or said before; `more` is part of the operation's name in the key."""
        self.require("classify" if method == "classify_whole" else method)
        operation, form, as_key = _KEPT[method]
        return self._cache.answers(
            operation + more, questions, form, lambda *asked: getattr(self.backend, method)(*asked), as_key
        )

    def whole_words(self, prompts: Sequence[str], words: Sequence[str], chat: bool = False) -> WordLikelihoods:
        """How likely the model is to write each word next, whole: no letter follows it.

        The prompt's tokens are those that it has by itself, as when the model generates. The tokens of the word are
        those that follow them in prompt and word together; where the two together have other tokens, those that the
        word has by itself. Other ways to cut the same word are left out. What follows a word is asked only where the
        word is written once in 100,000 times or more; a rarer one is taken for whole.

        Args:
            prompts: n prompts.
            words: n words, one for each prompt, with the space that separates them, if any.
            chat: Whether each prompt is put into the model's chat template.

        Returns:
            [n] nats of the word, that it ends and that it stands alone, nats and number of its first token.

        Raises:
            ValueError: A word has no token, or there are not as many words as prompts.
            UserError: A prompt with its word is longer than the model's context, there is no chat template, or the
                model is to think: what it writes next then is a thought.
        """
        self.require("words")
        if chat and self.entry.thoughts:
            what = f"likelihoods of what {self.name} says first in a chat are those of its thoughts"
            raise UserError(what, where=f"{self.where}.thinking", remedy="say `off`, or --thinking off")
        asked = [records.WordRequest(word, prompt, chat) for prompt, word in zip(prompts, words, strict=True)]
        found = self._answers("words", asked)
        nats, ends, alone, first = (np.array([row[i] for row in found], dtype=np.float64) for i in range(4))
        return WordLikelihoods(nats, ends, alone, first, np.array([row[4] for row in found], dtype=np.int64))

    def in_place(self, asked: Sequence[Placed]) -> _Numbers:
        """[n] log-probability of each of n words in its place in a text, both sides of it read (pseudo-log-likelihood).

        In nats per token, so that no word is punished for its length. ValueError where a word has no token.
        """
        answers = self._answers("in_place", asked)
        return np.array([nats / tokens for nats, tokens in answers], dtype=np.float64)

    def slor(self, texts: Sequence[str]) -> _Numbers:
        """Acceptability of each text as a sentence: how much likelier it is than its tokens without order, per token.

        SLOR (Pauls and Klein 2012; Lau, Clark and Lappin 2017): log-likelihood minus log-probability by unigrams,
        divided by the number of tokens, so that neither rare words nor length count. The unigrams are the mean of the
        model's next-token distributions over all positions of the distinct texts, for want of the corpus that the
        model was trained on: a text's figure holds in the company of the others. It is stored under its text and
        the checksum of the whole set, so figures of another set are never taken for these.

        Args:
            texts: n texts; order does not matter, repeats count once. ValueError where one has no token.

        Returns:
            [n] nats per token; higher is more acceptable.
        """
        self.require("slor")
        distinct = sorted(set(texts))
        likelihoods = self.loglikelihood(distinct)  # before the lease below is held, which this takes too
        if not likelihoods.tokens.all():
            raise ValueError("a text has no token")
        company = content_sha256(*distinct)

        def ask(asked: list[str], _: frozenset[int]) -> Iterator[list[tuple[int, float]]]:
            nats, tokens = likelihoods.nats, likelihoods.tokens
            (unigrams,) = self.backend.unigram_nats(distinct, frozenset(range(len(distinct))))
            own = {distinct[i]: (nats[i] - by_token) / tokens[i] for i, by_token in unigrams}
            yield [(place, own[text]) for place, text in enumerate(asked)]

        found = self._cache.answers("slor/1", texts, NUMBER, ask, lambda text: [text, company], again=False)
        return np.array(found, dtype=np.float64)

    def sampling(self, max_new_tokens: int) -> Sampling:
        """The model's own sampling settings; nothing is loaded.

        Those of its entry, else those of generation_config.json in its folder. What neither says is as in `Sampling`,
        not as transformers would have it. What `Sampling` has not, as a penalty of repetitions, is left out; and so is
        whether the file asks for sampling at all.

        UserError where the file is not readable JSON, or says what an entry could not say either.
        """
        own: dict[str, Any] = {}
        if self._folder is not None and (path := self._folder / "generation_config.json").exists():
            kinds = {"temperature": float, "top_p": float, "top_k": int}
            with loading(self.name, str(path)):
                said = json.loads(path.read_text(encoding="utf-8"))
                own = {key: kind(said[key]) for key, kind in kinds.items() if said.get(key) is not None}
            validate(SamplingSettings, own, path)
        if self.entry.sampling is not None:
            own |= self.entry.sampling.model_dump(exclude_none=True)
        return Sampling(max_new_tokens, **own)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[str]:
        """One continuation of each prompt, without special tokens, drawn with a generator of its own.

        Arguments as for `replies`. UserError where a prompt was refused.
        """
        found = self.replies(prompts, sampling=sampling, seeds=seeds, system=system, chat=chat)
        for prompt, reply in zip(prompts, found, strict=True):
            if reply.text is None:
                what = f"{self.name} gives no reply to a prompt ({reply.reason})"
                raise UserError(what, where=repr(prompt[:40]), remedy="change the prompt, or leave the model out")
        return [reply.text or "" for reply in found]

    def replies(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[Reply]:
        """One reply to each prompt, or the reason why there is none.

        Args:
            prompts: n prompts.
            sampling: How tokens are drawn.
            seeds: n seeds; the same prompt with the same seed gets the same reply. 0 for all by default.
            system: A system prompt for all, or n of them, each None where there is none (before a bare prompt: a
                paragraph). Prompts that begin the same, with it, are cheaper together than apart.
            chat: Whether to use the chat template; by default whether the model has one.

        Returns:
            n replies.
        """
        self.require("generate")
        chat = self.entry.chats if chat is None else chat
        sampling = replace(sampling, max_new_tokens=max(sampling.max_new_tokens, self.entry.new_tokens or 0))
        row_seeds = [0] * len(prompts) if seeds is None else [int(seed) for seed in seeds]
        systems = [system] * len(prompts) if system is None or isinstance(system, str) else system
        rows = zip(prompts, row_seeds, systems, strict=True)
        asked = [records.Prompt(text, sampling, seed, own, chat) for text, seed, own in rows]
        found: list[Reply] = self._answers("generate", asked)
        self.heard += [reply.said for reply in found if reply.said]
        return found

    def entailment(self, pairs: Sequence[Pair], before: Sequence[str] | None = None) -> _Numbers:
        """What each premise and hypothesis have to do with each other.

        A classifier of pairs gives logits. Any other model is asked by a verbaliser: how likely yes, maybe and no are
        after a fixed question; what it answers to the same hypothesis after a premise without content is taken off.

        Args:
            pairs: n of premise and hypothesis.
            before: n words that the question of a verbaliser stands after, also that without content; nothing by
                default. ValueError where no question is asked.

        Returns:
            [n, 3] logits or nats, ordered entailment, neutral, contradiction, whatever order the model's head has.
        """
        self.require("entail")
        if self.can("loglikelihood"):
            asked, empty = records.verbalised(pairs, before)
            nats = self.continuations([*asked, *empty], records.OPTIONS)
            return nats[: len(asked)] - nats[len(asked) :]
        if before is not None:
            raise ValueError(f"{self.name} is asked no question that words could stand before")
        # The order of the labels is part of the answer, and params may have given it.
        rows = self._answers("entail", pairs, f":{self.entry.labels}")
        return np.array(rows, dtype=np.float64).reshape(len(pairs), len(records.LABELS))

    @property
    def labels(self) -> list[str]:
        """What the outputs of a classifier mean, in order: as params say, else its own configuration."""
        self.require("classify")
        own, (configured, _) = self.entry.labels, self._head
        if own is not None and len(own) != len(configured):
            what = f"{len(own)} labels for a head of {len(configured)}"
            raise UserError(what, where=f"{self.where}.labels", remedy="name every output of the head, in order")
        return own or configured

    @cached_property
    def _head(self) -> tuple[list[str], str]:
        assert self._folder is not None
        from evenruler.models.heads import read_head

        return read_head(self.name, self.entry, self._folder)

    def classify(self, texts: Sequence[str]) -> _Numbers:
        """[n, labels] logits of each text; the end of one that is too long is not read."""
        rows = self._answers("classify", texts)
        return np.array(rows, dtype=np.float64).reshape(len(texts), -1 if rows else len(self.labels))

    def probabilities(self, texts: Sequence[str]) -> _Numbers:
        """[n, labels] Probability of each label of each text, in the order of `labels`.

        Together 1 unless the head was trained on several at once. A text that is longer than the model takes is never
        cut: NaN throughout. UserError where the head was trained to predict numbers.
        """
        from evenruler.models.heads import MULTI_LABEL, SINGLE_LABEL

        labels, (_, problem) = self.labels, self._head
        if problem not in (SINGLE_LABEL, MULTI_LABEL):
            what = f"{self.name} gives no probabilities, its head was trained on {problem!r}"
            raise UserError(what, where=self.where, remedy="name a classifier")
        rows = self._answers("classify_whole", texts)
        absent = np.full(len(labels), np.nan)
        logits = np.array([absent if row is None else row for row in rows]).reshape(len(texts), len(labels))
        return softmax(logits, axis=-1) if problem == SINGLE_LABEL else expit(logits)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, dimensions] embedding of each text, of length 1; ValueError where there is none."""
        self.require("embed")
        if not texts:
            raise ValueError("no text to embed")
        return np.array(self._answers("embed", texts), dtype=np.float32)
