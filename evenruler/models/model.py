"""A model with all operations it supports, independent of its backend; every answer is cached."""

import copy
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from evenruler.errors import UserError
from evenruler.models import fingerprint as fingerprints
from evenruler.models.cache import AnswerCodec, Cache, MissingAnswersError, not_a_number
from evenruler.models.declarations import (
    HOSTED,
    OPERATIONS,
    Kind,
    ModelEntry,
    Operation,
    SamplingSettings,
    operations_of,
)
from evenruler.models.loading import convert_load_errors, tokenizer_folder
from evenruler.models.questions import (
    LABELS,
    OPTIONS,
    EntailmentPair,
    LikelihoodRequest,
    LogLikelihoods,
    NextWordsRequest,
    Prompt,
    QuestionVolume,
    Reply,
    Sampling,
    WordInPlace,
    WordLikelihoods,
    WordRequest,
    entailment_prompts,
)
from evenruler.models.rates import weights_size
from evenruler.models.sources import declared_at
from evenruler.models.starts import DECLARED, Start, read_start
from evenruler.models.store import RowStore, keys_of
from evenruler.strict import at_home, validate
from evenruler.tables.ids import canonical_json, content_sha256

if TYPE_CHECKING:  # which take seconds to import
    from transformers import PreTrainedTokenizerBase

    from evenruler.models.backends.causal import Causal
    from evenruler.models.backends.encoders import Nli

_Numbers = NDArray[np.float64]
Method = Operation | Literal["classify_whole"]  # a backend's method


def _of_struct(layout: str) -> AnswerCodec[tuple[Any, ...]]:
    """Codec for tuples of numbers as fixed bytes; `layout`: a format of `struct`. Answers are
    finite if all numbers are.
    """
    numbers = struct.Struct(layout)
    return AnswerCodec(
        lambda answer: numbers.pack(*answer),
        numbers.unpack,
        lambda answer: all(map(math.isfinite, answer)),
    )


def _of_array(kind: str) -> AnswerCodec[NDArray[Any]]:
    """Codec for rows of numbers; `kind`: a NumPy data type such as "<f8" (float64)."""

    def pack(row: NDArray[Any]) -> bytes:
        """The bytes of a row of numbers, in the codec's data type."""
        return np.asarray(row).astype(kind).tobytes()

    def unpack(stored: bytes) -> NDArray[Any]:
        """[n] numbers from their bytes, read-only."""
        return np.frombuffer(stored, dtype=kind)

    return AnswerCodec(pack, unpack, lambda row: bool(np.isfinite(row).all()))


LIKELIHOOD = _of_struct("<dq")  # nats, number of tokens
WORD = _of_struct(
    "<ddddq"
)  # nats: whole word, that it ends, that it stands alone, first token; id of the first token
NUMBER: AnswerCodec[float] = AnswerCodec(
    struct.Struct("<d").pack, lambda stored: struct.unpack("<d", stored)[0], np.isfinite
)
WEIGHTS_CHANGE = _of_struct("<dd")  # share of weights that moved, norm of the change
LOGITS, VECTOR = _of_array("<f8"), _of_array("<f4")
NEXT_WORDS: AnswerCodec[NDArray[Any]] = AnswerCodec(VECTOR.pack, VECTOR.unpack)
"""Nats, and NaN for words that are not read; so the backend itself refuses what is no number."""


def _pack_logits_or_none(row: NDArray[Any] | None) -> bytes:
    """Bytes of a row of logits; none for None."""
    return b"" if row is None else LOGITS.pack(row)


def _unpack_logits_or_none(stored: bytes) -> NDArray[Any] | None:
    """The reverse of `_pack_logits_or_none`: None for no bytes."""
    return LOGITS.unpack(stored) if stored else None


LOGITS_OR_NONE: AnswerCodec[NDArray[Any] | None] = AnswerCodec(
    _pack_logits_or_none,
    _unpack_logits_or_none,
    lambda row: row is None or LOGITS.is_finite(row),
)
"""None for a text that is too long for the model."""

REPLY: AnswerCodec[Reply] = AnswerCodec(
    lambda reply: canonical_json(reply.as_json), lambda stored: Reply(*json.loads(stored))
)


def likelihood_key(request: LikelihoodRequest) -> list[object]:
    """The question about a text's likelihood as JSON content, from which its key in the store is
    made.
    """
    return [request.prompt, request.text, *(["other start"] if request.other_start else [])]


def next_words_key(request: NextWordsRequest) -> list[object]:
    """The question about next words as JSON content, from which its key in the store is made; the
    words, which are many, as a checksum.
    """
    return [request.prompt, content_sha256(*request.words)]


_StoredOperation = tuple[str, AnswerCodec[Any], Callable[[Any], object]]

_KEPT: dict[str, _StoredOperation] = {
    "loglikelihood": ("likelihood/1", LIKELIHOOD, likelihood_key),
    "words": ("words/2", WORD, lambda request: [request.prompt, request.text, request.chat]),
    "next_words": ("next-words/1", NEXT_WORDS, next_words_key),
    "in_place": (
        "masked-likelihood/1",
        LIKELIHOOD,
        lambda placed: [placed.before, placed.word, placed.after],
    ),
    "pll": ("pseudo-likelihood/1", LIKELIHOOD, likelihood_key),
    "generate": ("generation/2", REPLY, asdict),
    "entail": ("entailment/1", LOGITS, list),
    "classify": ("classification/1", LOGITS, lambda text: text),
    "classify_whole": ("whole-classification/1", LOGITS_OR_NONE, lambda text: text),
    "embed": ("embedding/1", VECTOR, lambda text: text),
}
"""By backend method: the operation with the version of its computation, the serialisation of
answers, and the whole question (of a list of words, its checksum) as JSON content."""

IN_LOCAL_CHATS: Final = {"words": "words/3", "generate": "generation/3"}
"""Versions of operations in a chat of a local model, whose prompt is tokenised here, by the model's
own template.

A model whose prompts are still the same (`templates.writes_as_before`) keeps the versions and the
answers of before."""


def form_of(operation: str) -> AnswerCodec[Any]:
    """The serialisation of an operation's answers; `operation` includes its version."""
    forms: dict[str, AnswerCodec[Any]] = {}
    for name, form, _ in _KEPT.values():
        forms[name] = form
    for method, name in IN_LOCAL_CHATS.items():
        forms[name] = _KEPT[method][1]
    forms[fingerprints.OPERATION] = fingerprints.FORM
    return forms.get(operation.partition(":")[0], NUMBER)


def _likelihood_requests(
    texts: Sequence[str],
    before: Sequence[str] | None,
    between: str,
    *,
    other_start: bool = False,
) -> list[LikelihoodRequest]:
    """Texts behind their contexts, if any, from which `between` separates them."""
    contexts = [""] * len(texts) if before is None else before
    requests: list[LikelihoodRequest] = []
    for text, context in zip(texts, contexts, strict=True):
        whole = f"{between}{text}" if context else text
        requests.append(LikelihoodRequest(whole, context, other_start))
    return requests


def _as_likelihoods(answers: Sequence[tuple[float, int]]) -> LogLikelihoods:
    """Nats and numbers of tokens as arrays, where `UNREAD` is NaN and 0."""
    unread = np.array([tokens < 0 for _, tokens in answers], dtype=np.bool_)
    nats = np.array([nats for nats, _ in answers], dtype=np.float64)
    tokens = np.array([tokens for _, tokens in answers], dtype=np.int64)
    return LogLikelihoods(np.where(unread, np.nan, nats), np.where(unread, 0, tokens))


class Model:
    """A model of the catalogue, loaded only when an answer is missing from the store.

    Each method is one operation, and raises a UserError if the model does not support it; check
    with `can`.
    """

    def __init__(
        self,
        name: str,
        entry: ModelEntry,
        kind: Kind,
        store: RowStore,
        describe: Callable[[], str],
        load: Callable[[], object],
        folder: Path | None = None,
        where: str | None = None,
        *,
        changeable: bool = False,
        doubts: Sequence[str] = (),
    ) -> None:
        """Set up the model; nothing is loaded.

        `kind`: the backend's, for an encoder that of its head; `store`: holds the answers;
        `describe`: returns the engine string of the current files; `load`: creates the backend,
        which has a method per operation in `BY_BACKEND[kind]`; `folder`: the model's files, if
        local; `where`: place of its declaration, for errors, by default in `params.yaml`;
        `changeable`: whether the user holds the model and may change it between two calls, so that
        each call looks at it again; `doubts`: sentences on its files for results.
        """
        self.name, self.entry, self.kind = name, entry, kind
        self.where = where or declared_at(name)
        self._folder, self._load, self._describe = folder, load, describe
        self._cache = Cache(name, describe(), store, weights=weights_size(folder))
        self._backend: object = None
        self._changeable, self._doubts, self._is_original = changeable, tuple(doubts), True
        self._fingerprint: fingerprints.Fingerprint | None = None
        self.heard: list[Mapping[str, Any]] = []
        """What servers reported about themselves with each reply (`Reply.server_report`), including
        cached replies."""

    @property
    def engine(self) -> str:
        """Everything that an answer depends on except the question."""
        return self._cache.engine

    @cached_property
    def start(self) -> Start | None:
        """What stands before plain texts; None for kinds without, and where it is not known
        here.
        """
        if self.kind == "completions" and self.entry.start is not None:
            return Start(self.entry.start, DECLARED)
        if self.kind != "causal":
            return None
        if self._folder is not None:
            adapter = at_home(self.entry.adapter) if self.entry.adapter else None
            return read_start(self.name, tokenizer_folder(self._folder, adapter), self.entry.start)
        if self.entry.scheme != "loaded":
            return None
        return cast("Causal", self.backend).start

    def _has_new_prompts(self, method: Method, questions: Sequence[Any]) -> bool:
        """Whether the prompts of its chats are other ones than before version 3 of the
        operations.
        """
        if self._folder is not None or self.entry.scheme == "loaded":
            return self._writes_otherwise
        # Exported answers: they have the version that the model had.
        write_question = _KEPT[method][2]
        keys = keys_of(self.engine, IN_LOCAL_CHATS[method], map(write_question, questions))
        return bool(self._cache.store.get(keys))

    @cached_property
    def _writes_otherwise(self) -> bool:
        """Whether its chats have other tokens than before prompts were tokenised whole
        (`writes_as_before`).
        """
        from evenruler.models.templates import writes_as_before  # takes seconds to import

        return not writes_as_before(self._tokenizer, self.entry)

    @cached_property
    def _tokenizer(self) -> "PreTrainedTokenizerBase":
        """The tokenizer of a local model, without its weights where it lies in a folder."""
        if self._folder is None:
            return cast("Causal | Nli", self.backend).tokenizer
        from transformers import AutoTokenizer

        adapter = at_home(self.entry.adapter) if self.entry.adapter else None
        with convert_load_errors(self.name, str(self._folder)):
            folder = tokenizer_folder(self._folder, adapter)
            return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)

    @property
    def asked(self) -> int:
        """Number of questions that the model has answered itself."""
        return self._cache.asked

    @property
    def backend(self) -> object:
        """The backend, loaded on first use.

        UserError if it cannot be loaded, its files or server have changed since the cache key was
        computed, or it computes otherwise than when its answers were kept.
        """
        if self._backend is None:
            backend = self._load()
            now = self._describe()
            if now != self.engine:
                what = f"the {self._name_changes(now)} of {self.name} changed while it was in use"
                raise UserError(what, where=str(self._folder or self.where), remedy="run again")
            if self._is_original and hasattr(backend, "fingerprint"):
                self._fingerprint = self._verify_behaviour(backend)
            self._backend = backend
        return self._backend

    def _name_changes(self, now: str) -> str:
        """What changed since the cache key was computed, in words."""
        if self.kind in HOSTED:
            return "server"
        if not self._changeable:
            return "files" if self._folder else "weights"
        before, after = json.loads(self.engine), json.loads(now)
        changed = [key for key in sorted(after) if after[key] != before.get(key)]
        return " and ".join(changed) or "weights"

    def _verify_behaviour(self, backend: fingerprints.Fingerprinted) -> fingerprints.Fingerprint:
        """The fingerprint of a loaded backend, which is the one beside its answers."""
        if not self._changeable:
            remedy = (
                "undo what changed in torch, its settings or the processor, or set "
                "EVENRULER_CACHE to a new folder"
            )
        elif "cache_key" in json.loads(self.engine):
            remedy = "give another `cache_key`: what changed is nothing that its weights tell"
        else:
            remedy = (
                'give `cache_key="..."`, another one for each change that its weights do not tell'
            )
        where = str(self._folder or self.where)
        # What a user holds in Python fails as Python does; of files it is the files' fault.
        guard = convert_load_errors(self.name, where) if self._folder else nullcontext()
        with guard:
            try:
                return fingerprints.verify_fingerprint(backend, self._cache, where, remedy)
            except FloatingPointError:
                raise not_a_number(self.name) from None

    def _load_again(self) -> None:
        """Load a model that the user holds as it is now; its errors are those of `backend`."""
        if self._changeable and self._cache.asks:
            self._backend = None
            _ = self.backend

    @property
    def fingerprint(self) -> fingerprints.Fingerprint | None:
        """What the model computes on fixed texts: as loaded, else as stored; None where neither is
        there.
        """
        return self._fingerprint or (
            fingerprints.read_fingerprint(self._cache) if self._is_original else None
        )

    @property
    def doubts(self) -> list[str]:
        """Sentences on its files for results, as on tensors that are not used."""
        return [*self._doubts, *(self.fingerprint.notes if self.fingerprint else ())]

    def adapted(self, state: object, load: Callable[[], object]) -> Self:
        """The same model in another state, with its own cache key.

        `state`: what distinguishes it, None for the original model; `load`: loads the backend in
        that state.
        """
        other = copy.copy(self)
        engine = self.engine if state is None else canonical_json([self.engine, state]).decode()
        asks, weights = self._cache.asks, self._cache.weights
        other._cache = Cache(self.name, engine, self._cache.store, asks=asks, weights=weights)
        other._load, other._describe, other._backend = load, lambda: engine, None
        # In another state it has no fingerprint: weights that are trained anew come out a little
        # otherwise.
        other._changeable, other._is_original, other._fingerprint = False, state is None, None
        return other

    def stored(self) -> Self:
        """The same model, never asked: missing answers raise a MissingAnswersError with their
        amount.
        """

        def refuse() -> NoReturn:
            """Stands for loading the backend of a model that must not be asked: raises
            MissingAnswersError.
            """
            raise MissingAnswersError(self.name, "loading", QuestionVolume(0, 0, 0))

        other = self.adapted(None, refuse)
        other._cache.asks = False
        return other

    def can(self, operation: Operation) -> bool:
        """Whether the model supports an operation; nothing is loaded. ValueError if there is no
        such operation.
        """
        if operation not in OPERATIONS:
            raise ValueError(f"no operation {operation!r}, there are {', '.join(OPERATIONS)}")
        return operation in self.list_operations()

    def list_operations(self) -> frozenset[Operation]:
        """What it can be asked."""
        return operations_of(self.kind)

    def require(self, operation: Operation) -> None:
        """UserError if the model does not support an operation."""
        if not self.can(operation):
            operation_names = ", ".join(sorted(self.list_operations()))
            what = f"{self.name} (kind {self.kind}) cannot {operation}, only {operation_names}"
            raise UserError(what, where=self.where, remedy=f"name a model that can {operation}")

    def loglikelihood(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        between: str = " ",
        keys: Sequence[str] | None = None,
        other_start: bool = False,
    ) -> LogLikelihoods:
        """Log-likelihood of each whole text given the model's start token (PMPO, section 3.1: S).

        Args:
            texts: n texts; repeats cost nothing.
            before: n contexts, not scored themselves; by default, and if empty, the start token
                alone.
            between: Separator between context and text, scored with the text.
            keys: n ids of the texts given by the benchmark's authors; recorded answers are found by
                these (`evenruler.models.answer_logs`), models ignore them.
            other_start: Whether another usual start token stands first than the model's own; of
                kind `causal` alone.

        Returns:
            [n] nats (raw sums over tokens, never normalised by length) and token counts. NaN and 0
            where the tokenizer does not know a word of the text, or there is no other usual start.
        """
        requests = _likelihood_requests(texts, before, between, other_start=other_start)
        return _as_likelihoods(self._answers("loglikelihood", requests))

    def pll(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        between: str = " ",
        keys: Sequence[str] | None = None,
    ) -> LogLikelihoods:
        """Pseudo-log-likelihood of each whole text, of a masked model (Salazar and others 2020).

        Each token is asked for given all others, but for those to its right in its word, which are
        masked too (PLL-word-l2r; Kauf and Ivanova 2023, "A better way to do masked language model
        scoring"), so that the rest of a long word does not give it away. It is no log-likelihood:
        the probabilities of all texts do not sum to 1, and the two are never compared.

        Args:
            texts: n texts; repeats cost nothing.
            before: n contexts, read, but not scored; none by default and if empty.
            between: Separator between context and text.
            keys: As for `loglikelihood`.

        Returns:
            [n] nats (raw sums over tokens) and token counts. NaN and 0 where the tokenizer does not
            know a word of the text.

        Raises:
            UserError: A text exceeds what the model takes, or its tokenizer does not say where
                words end.
        """
        requests = _likelihood_requests(texts, before, between)
        return _as_likelihoods(self._answers("pll", requests))

    def continuations(self, prompts: Sequence[str], options: Sequence[str]) -> _Numbers:
        """[n, k] log-probability, in nats, of each of k options after each of n prompts.

        Prompt and option are tokenised together; tokens across the border, and separators, belong
        to the option.
        """
        requests: list[LikelihoodRequest] = []
        for prompt in prompts:
            requests += [LikelihoodRequest(option, prompt) for option in options]
        answers = self._answers("loglikelihood", requests)
        if any(tokens < 0 for _, tokens in answers):
            what = f"one of the options {', '.join(map(repr, options))} is unknown to its tokenizer"
            raise UserError(what, where=self.name, remedy="leave the model out")
        return np.array([nats for nats, _ in answers], dtype=np.float64).reshape(
            len(prompts), len(options)
        )

    def _answers(
        self, method: Method, questions: Sequence[Any], more: str = "", *, chat: bool = False
    ) -> list[Any]:
        """Answers from cache or backend; `more` extends the operation's name in the key."""
        self.require("classify" if method == "classify_whole" else method)
        operation, form, as_key = _KEPT[method]
        if chat and self.kind == "causal" and self._has_new_prompts(method, questions):
            operation = IN_LOCAL_CHATS[method]
        self._load_again()
        answers = self._cache.answers(
            operation + more,
            questions,
            form,
            lambda *arguments: getattr(self.backend, method)(*arguments),
            as_key,
        )
        if self._is_original:
            fingerprints.note_down(self._cache)
        return answers

    def whole_words(
        self, prompts: Sequence[str], words: Sequence[str], chat: bool = False
    ) -> WordLikelihoods:
        """Likelihood of each whole word as the next word: no letter follows it.

        The prompt is tokenised as in generation. The word's tokens are those that follow in prompt
        and word together or, if that changes the prompt's tokens, those of the word alone; other
        tokenisations of the word are ignored. What follows is computed only for words with
        probability 1 in 100,000 or more; rarer ones count as whole.

        Args:
            prompts: n prompts.
            words: n words, one for each prompt, with the space that separates them, if any.
            chat: Whether each prompt is put into the model's chat template.

        Returns:
            [n] nats of the word, that it ends and that it stands alone, nats and id of its first
            token.

        Raises:
            ValueError: A word has no token, or there are not as many words as prompts.
            UserError: The tokenizer does not know a word, a prompt with its word exceeds the
                model's context, there is no chat template, or the model thinks, since its next
                words would be a thought.
        """
        self.require("words")
        if chat and self.entry.thoughts:
            what = f"likelihoods of what {self.name} says first in a chat are those of its thoughts"
            raise UserError(
                what, where=f"{self.where}.thinking", remedy="say `off`, or --thinking off"
            )
        requests = [
            WordRequest(word, prompt, chat=chat)
            for prompt, word in zip(prompts, words, strict=True)
        ]
        word_rows = self._answers("words", requests, chat=chat)

        def take_column(i: int) -> _Numbers:
            """[n] The i-th number of each word's answer."""
            return np.array([row[i] for row in word_rows], dtype=np.float64)

        first_tokens = np.array([row[4] for row in word_rows], dtype=np.int64)
        return WordLikelihoods(
            take_column(0), take_column(1), take_column(2), take_column(3), first_tokens
        )

    def next_words(self, prompts: Sequence[str], words: Sequence[str]) -> NDArray[np.float32]:
        """Log-probability of each single-token word of a list right after each prompt.

        One forward pass a prompt answers for the whole list (controls, section 3: form
        `next-word`). A word is read if prompt, space and word together are the prompt's tokens and
        one more; that token also begins longer words ("nurse", "nurses"). The softmax is over the
        whole vocabulary, as for `loglikelihood`.

        Args:
            prompts: n prompts without the space before the word; repeats cost nothing.
            words: k words without a space before them. An answer is stored under the whole list,
                so another order asks again.

        Returns:
            [n, k] nats; NaN where a word is more than one token after the prompt, or unknown to the
            tokenizer.

        Raises:
            ValueError: A word is empty.
            UserError: A prompt with its next word exceeds the model's context.
        """
        self.require("next_words")
        if not all(word.strip() for word in words):
            raise ValueError("a word is empty")
        word_list = tuple(words)
        requests = [NextWordsRequest(prompt, word_list) for prompt in prompts]
        rows = self._answers("next_words", requests)
        return np.array(rows, dtype=np.float32).reshape(len(prompts), len(word_list))

    def in_place(self, words_in_place: Sequence[WordInPlace]) -> _Numbers:
        """[n] pseudo-log-likelihood of each word in its place, given the text on both sides.

        In nats per token, so that long words are not penalised. ValueError if a word has no token.
        """
        answers = self._answers("in_place", words_in_place)
        return np.array([nats / tokens for nats, tokens in answers], dtype=np.float64)

    def slor(self, texts: Sequence[str]) -> _Numbers:
        """Acceptability of each text as a sentence: log-likelihood relative to unigrams, per token.

        SLOR (Pauls and Klein 2012; Lau, Clark and Lappin 2017): log-likelihood minus unigram
            log-probability, divided
        by the number of tokens, which corrects for rare words and length. Since the training corpus
        is unavailable, unigrams are the model's mean next-token distribution over all positions of
        the distinct texts. A figure thus depends on the other texts; it is stored under the text
        and a checksum of the whole set.

        Args:
            texts: n texts; order does not matter, repeats count once. ValueError where one has no
                token.

        Returns:
            [n] nats per token; higher is more acceptable.
        """
        self.require("slor")
        self._load_again()
        distinct = sorted(set(texts))
        likelihoods = self.loglikelihood(distinct)  # before the lease below, which this takes too
        likelihoods.require_all(self.name, distinct)
        if not likelihoods.tokens.all():
            raise ValueError("a text has no token")
        company = content_sha256(*distinct)

        def ask(asked_texts: list[str], _: frozenset[int]) -> Iterator[list[tuple[int, float]]]:
            """Yields (index, nats per token) of every text in one batch; the backend computes the
            unigrams.
            """
            nats, tokens = likelihoods.nats, likelihoods.tokens
            (unigrams,) = cast("Causal", self.backend).unigram_nats(
                distinct, frozenset(range(len(distinct)))
            )
            slor_by_text = {
                distinct[i]: (nats[i] - by_token) / tokens[i] for i, by_token in unigrams
            }
            yield [(place, slor_by_text[text]) for place, text in enumerate(asked_texts)]

        nats_per_token = self._cache.answers(
            "slor/1", texts, NUMBER, ask, lambda text: [text, company], again=False
        )
        return np.array(nats_per_token, dtype=np.float64)

    def sampling(self, max_new_tokens: int) -> Sampling:
        """The model's own sampling settings; nothing is loaded.

        From its entry, else from generation_config.json in its folder, else the defaults of
        `Sampling` (not of transformers). Settings that `Sampling` lacks, such as repetition
        penalties, and the file's `do_sample` are ignored. UserError if the file is not valid JSON
        or has invalid values.
        """
        settings: dict[str, Any] = {}
        path = None if self._folder is None else self._folder / "generation_config.json"
        if path is not None and path.exists():
            kinds = {"temperature": float, "top_p": float, "top_k": int}
            with convert_load_errors(self.name, str(path)):
                generation_config = json.loads(path.read_text(encoding="utf-8"))
                settings = {
                    key: kind(generation_config[key])
                    for key, kind in kinds.items()
                    if generation_config.get(key) is not None
                }
            validate(SamplingSettings, settings, path)
        if self.entry.sampling is not None:
            settings |= self.entry.sampling.model_dump(exclude_none=True)
        return Sampling(max_new_tokens, **settings)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[str]:
        """One continuation of each prompt, without special tokens, sampled with its own generator.

        Arguments as for `replies`. UserError if a prompt was refused.
        """
        replies = self.replies(prompts, sampling=sampling, seeds=seeds, system=system, chat=chat)
        for prompt, reply in zip(prompts, replies, strict=True):
            if reply.text is None:
                what = f"{self.name} gives no reply to a prompt ({reply.reason})"
                raise UserError(
                    what,
                    where=repr(prompt[:40]),
                    remedy="change the prompt, or leave the model out",
                )
        return [reply.text or "" for reply in replies]

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
            sampling: Sampling settings.
            seeds: n seeds; equal prompts with equal seeds get equal replies. By default 0 for all.
            system: A system prompt for all, or n of them, None for none (without a chat template: a
                paragraph before the prompt). Prompts with a common beginning, system prompt
                included, are cheaper in one call.
            chat: Whether to use the chat template; by default if the model has one.

        Returns:
            n replies.
        """
        self.require("generate")
        chat = self.entry.chats if chat is None else chat
        sampling = replace(
            sampling, max_new_tokens=max(sampling.max_new_tokens, self.entry.new_tokens or 0)
        )
        n_prompts = len(prompts)
        row_seeds = [0] * n_prompts if seeds is None else [int(seed) for seed in seeds]
        systems: Sequence[str | None]
        if system is None or isinstance(system, str):
            systems = [system] * n_prompts
        else:
            systems = system
        rows = zip(prompts, row_seeds, systems, strict=True)
        questions = [
            Prompt(text, sampling, seed, system_prompt, chat) for text, seed, system_prompt in rows
        ]
        replies: list[Reply] = self._answers("generate", questions, chat=chat)
        self.heard += [reply.server_report for reply in replies if reply.server_report]
        return replies

    def has_reply(self, key: str) -> bool:
        """Whether the store has an answer under a key, in hex; False for what is none."""
        try:
            stored_key = bytes.fromhex(key)
        except ValueError:
            return False
        return bool(self._cache.store.get([stored_key]))

    def store_replies(self, replies: Mapping[str, Reply]) -> None:
        """Store replies that came in another way, by the keys of their prompts in the store, in
        hex.
        """
        self._cache.store.put(
            (bytes.fromhex(key), REPLY.pack(reply)) for key, reply in replies.items()
        )

    def entailment(
        self,
        pairs: Sequence[EntailmentPair],
        before: Sequence[str] | None = None,
        *,
        every: bool = False,
    ) -> _Numbers:
        """Relation of premise and hypothesis.

        A classifier of pairs gives logits. Other models are asked a fixed question (verbaliser):
        nats of yes, maybe and no, minus those for the same hypothesis with a content-free premise.

        Args:
            pairs: n pairs of premise and hypothesis.
            before: n texts before the verbaliser's question, also with the content-free premise;
                none by default. ValueError for a classifier of pairs.
            every: UserError where a classifier of pairs does not know a word of theirs.

        Returns:
            [n, 3] logits or nats, ordered entailment, neutral, contradiction, whatever the order of
            the head.
        """
        self.require("entail")
        if self.can("loglikelihood"):
            prompts, content_free_prompts = entailment_prompts(pairs, before)
            nats = self.continuations([*prompts, *content_free_prompts], OPTIONS)
            return nats[: len(prompts)] - nats[len(prompts) :]
        if before is not None:
            raise ValueError(f"{self.name} is asked no question that words could stand before")
        if every:
            from evenruler.models.backends.vocabulary import UnknownWords  # takes seconds to import

            texts = list(chain.from_iterable(pairs))
            UnknownWords(self._tokenizer, texts).refuse(self.name)
        # params may set the order of labels, so it is part of the key.
        rows = self._answers("entail", pairs, f":{self.entry.labels}")
        return np.array(rows, dtype=np.float64).reshape(len(pairs), len(LABELS))

    @property
    def labels(self) -> list[str]:
        """Labels of a classifier's outputs, in order: from params, else from its configuration."""
        self.require("classify")
        declared_labels, (configured, _) = self.entry.labels, self._head
        if declared_labels is not None and len(declared_labels) != len(configured):
            what = f"{len(declared_labels)} labels for a head of {len(configured)}"
            raise UserError(
                what, where=f"{self.where}.labels", remedy="name every output of the head, in order"
            )
        return declared_labels or configured

    @cached_property
    def _head(self) -> tuple[list[str], str]:
        """Labels of the outputs, in order, and the problem type of the head, from its files
        (`read_head`).
        """
        assert self._folder is not None
        from evenruler.models.loading import read_head

        return read_head(self.name, self.entry, self._folder)

    def classify(self, texts: Sequence[str]) -> _Numbers:
        """[n, labels] logits of each text; texts that are too long are truncated."""
        rows = self._answers("classify", texts)
        return np.array(rows, dtype=np.float64).reshape(
            len(texts), -1 if rows else len(self.labels)
        )

    def probabilities(self, texts: Sequence[str]) -> _Numbers:
        """[n, labels] probability of each label of each text, in the order of `labels`.

        They sum to 1 unless the head is multi-label. A text that is too long gets NaN, since it is
        never truncated. UserError if the head is a regression head.
        """
        from evenruler.models.loading import MULTI_LABEL, SINGLE_LABEL

        labels, (_, problem) = self.labels, self._head
        if problem not in (SINGLE_LABEL, MULTI_LABEL):
            what = f"{self.name} gives no probabilities, its head was trained on {problem!r}"
            raise UserError(what, where=self.where, remedy="name a classifier")
        rows = self._answers("classify_whole", texts)
        absent = np.full(len(labels), np.nan)
        logits = np.array([absent if row is None else row for row in rows]).reshape(
            len(texts), len(labels)
        )
        return softmax(logits, axis=-1) if problem == SINGLE_LABEL else expit(logits)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, dimensions] embedding of each text, of length 1; ValueError if there are no texts."""
        self.require("embed")
        if not texts:
            raise ValueError("no text to embed")
        return np.array(self._answers("embed", texts), dtype=np.float32)
