"""What each kind of model answers, through the row store, so that nothing is paid twice."""

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from evenruler.errors import UserError
from evenruler.models.adapter_record import read_adapter
from evenruler.models.asking import Answering
from evenruler.models.causal import Request
from evenruler.models.classification import TransformersClassifier, longest
from evenruler.models.embedding import TransformersEmbedder
from evenruler.models.entailment import LABELS, Pair, TransformersEntailment
from evenruler.models.loading import loading, quiet
from evenruler.models.masked import TransformersMasked
from evenruler.models.protocol import LogLikelihoods, Placed
from evenruler.models.writing import Writing
from evenruler.tables.ids import content_sha256
from evenruler.text.verbaliser import OPTIONS, verbalised

LIKELIHOOD = struct.Struct("<dq")
"""A likelihood as it is stored: nats, number of tokens."""

NUMBER = struct.Struct("<d")
"""A number as it is stored."""

SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"
"""What transformers calls the problems of heads that give probabilities."""


class StoredCausal(Writing):
    """A causal model whose answers are kept."""

    def loglikelihood(self, texts: Sequence[str], before: Sequence[str] | None = None) -> LogLikelihoods:
        """Log-likelihood of each whole text given the model's start token (PMPO, section 3.1: S).

        Args:
            texts: n texts; repeats cost nothing.
            before: n texts that they stand after, a space between; their own tokens are not summed. Nothing by
                default, as where one is empty.

        Returns:
            [n] nats (raw sums over tokens, never normalised by length) and token counts.
        """
        given = [""] * len(texts) if before is None else before
        answers = self._likelihoods(
            [Request(f" {text}", first) if first else Request(text) for text, first in zip(texts, given, strict=True)]
        )
        return LogLikelihoods(
            nats=np.array([nats for nats, _ in answers], dtype=np.float64),
            tokens=np.array([tokens for _, tokens in answers], dtype=np.int64),
        )

    def continuations(self, prompts: Sequence[str], options: Sequence[str]) -> NDArray[np.float64]:
        """Log-probability of each option after each prompt.

        Prompt and option are tokenised together. Where a token spans their border it belongs to the option.

        Args:
            prompts: n prompts.
            options: k options, with the space that separates them from the prompt, if any.

        Returns:
            [n, k] nats.
        """
        answers = self._likelihoods([Request(option, prompt) for prompt in prompts for option in options])
        return np.array([nats for nats, _ in answers], dtype=np.float64).reshape(len(prompts), len(options))

    def in_place(self, asked: Sequence[Placed]) -> NDArray[np.float64]:
        """Log-probability of each word after what stands before it; what stands after it is not read.

        The space before a word is the word's: that is how most tokenizers cut.

        Args:
            asked: n words in their texts.

        Returns:
            [n] nats per token, so that a word of several tokens is not punished for its length.

        Raises:
            ValueError: A word has no token.
        """
        prompts = [placed.before.rstrip() for placed in asked]
        words = [placed.before[len(prompt) :] + placed.word for prompt, placed in zip(prompts, asked, strict=True)]
        return _per_token(self._likelihoods(list(map(Request, words, prompts))))

    def _likelihoods(self, requests: Sequence[Request]) -> list[tuple[float, int]]:
        def ask(distinct: list[Request], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for pack in self.backend.loglikelihoods(distinct, missing):
                yield [(i, LIKELIHOOD.pack(nats, tokens)) for i, nats, tokens in pack]

        stored = self._each("likelihood/1", requests, ask, lambda request: [request.prompt, request.text])
        return [LIKELIHOOD.unpack(answer) for answer in stored]

    def slor(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Acceptability of each text as a sentence: how much likelier it is than its tokens without order, per token.

        SLOR (Pauls and Klein 2012; Lau, Clark and Lappin 2017): log-likelihood minus log-probability by unigrams,
        divided by the number of tokens, so that neither rare words nor length count. The unigrams are the mean of the
        model's next-token distributions over all positions of the distinct texts, for want of the corpus that the
        model was trained on: a text's figure holds in the company of the others. It is stored under its text and
        the checksum of the whole set, so figures of another set are never taken for these.

        Args:
            texts: n texts; order does not matter, repeats count once.

        Returns:
            [n] nats per token; higher is more acceptable.

        Raises:
            ValueError: A text has no token.
        """
        distinct = sorted(set(texts))
        likelihoods = self.loglikelihood(distinct)  # before the lease below is held, which this takes too
        if not likelihoods.tokens.all():
            raise ValueError("a text has no token")

        def ask(missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            values = (likelihoods.nats - self.backend.unigram_nats(distinct)) / likelihoods.tokens
            yield [(i, NUMBER.pack(value)) for i, value in enumerate(values)]

        company = content_sha256(*distinct)
        stored = self._answers("slor/1", [[text, company] for text in distinct], ask)
        found = {text: NUMBER.unpack(answer)[0] for text, answer in zip(distinct, stored, strict=True)}
        return np.array([found[text] for text in texts], dtype=np.float64)

    def entailment(self, pairs: Sequence[Pair], before: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Entailment by a verbaliser: how likely yes, maybe and no are after a fixed question.

        What the model answers to the same hypothesis after a premise without content is taken off.

        Args:
            pairs: n of premise and hypothesis.
            before: n words that the question stands after, also that without content; nothing by default.

        Returns:
            [n, 3] nats, ordered entailment, neutral, contradiction.
        """
        asked, empty = verbalised(pairs, before)
        nats = self.continuations([*asked, *empty], OPTIONS)
        found: NDArray[np.float64] = nats[: len(asked)] - nats[len(asked) :]
        return found


class StoredMasked(Answering[TransformersMasked]):
    """A masked language model whose answers are kept."""

    def in_place(self, asked: Sequence[Placed]) -> NDArray[np.float64]:
        """Pseudo-log-likelihood of each word in its text, on both sides of which the model reads.

        Args:
            asked: n words in their texts.

        Returns:
            [n] nats per token (`TransformersMasked.likelihoods`).
        """

        def ask(distinct: list[Placed], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for batch in self.backend.likelihoods(distinct, missing):
                yield [(i, LIKELIHOOD.pack(nats, tokens)) for i, nats, tokens in batch]

        stored = self._each("masked-likelihood/1", asked, ask, lambda p: [p.before, p.word, p.after])
        return _per_token([LIKELIHOOD.unpack(answer) for answer in stored])


class StoredEntailment(Answering[TransformersEntailment]):
    """A classifier of premise and hypothesis whose answers are kept."""

    def entailment(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Logits of each pair.

        Args:
            pairs: n of premise and hypothesis.

        Returns:
            [n, 3] logits, ordered entailment, neutral, contradiction, whatever order the model's head has.
        """

        def ask(distinct: list[Pair], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for batch in self.backend.entailments(distinct, missing):
                yield _as_bytes(batch, "<f8")

        # The order of the labels is part of the answer, and params may have given it.
        stored = self._each(f"entailment/1:{self.entry.labels}", pairs, ask, list)
        return np.frombuffer(b"".join(stored), dtype="<f8").astype(np.float64).reshape(len(pairs), len(LABELS))


class StoredClassifier(Answering[TransformersClassifier]):
    """A classifier of texts whose answers are kept."""

    @property
    def labels(self) -> list[str]:
        """What its outputs mean, in order: as params say, else its own configuration; no weights are loaded."""
        own, configured = self.entry.labels, self._head[0]
        if own is not None and len(own) != len(configured):
            raise UserError(
                f"{len(own)} labels for a head of {len(configured)}",
                where=f"params.yaml: models.{self.name}.labels",
                remedy="name every output of the head, in order",
            )
        return own or configured

    @cached_property
    def _head(self) -> tuple[list[str], str]:
        """What the outputs mean by the head's own account, and what kind of problem it was trained on."""
        if self.entry.kind == "encoder":
            return list(read_adapter(self.name).labels), SINGLE_LABEL
        from transformers import AutoConfig

        with quiet(), loading(self.name, str(self._folder)):
            config: Any = AutoConfig.from_pretrained(self._folder)
        labels = [str(config.id2label[i]) for i in range(int(config.num_labels))]
        return labels, config.problem_type or (SINGLE_LABEL if len(labels) > 1 else MULTI_LABEL)

    def classify(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """[n, labels] logits of each text."""
        if not texts:
            return np.zeros((0, len(self.labels)))

        def ask(distinct: list[str], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for batch in self.backend.batches([(text,) for text in distinct], missing):
                yield _as_bytes(batch, "<f8")

        stored = self._each("classification/1", texts, ask)
        return np.frombuffer(b"".join(stored), dtype="<f8").astype(np.float64).reshape(len(texts), -1)

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probability of each label of each text; a text that is too long is never cut.

        Args:
            texts: n texts; repeats cost nothing.

        Returns:
            [n, labels] in the order of `labels`, together 1 unless the head was trained on several at once. NaN
            throughout for a text that is longer than the model takes.

        Raises:
            UserError: The head was trained to predict numbers, or params name another number of labels.
        """
        labels, problem = self.labels, self._head[1]
        if problem not in (SINGLE_LABEL, MULTI_LABEL):
            what = f"{self.name} gives no probabilities, its head was trained on {problem!r}"
            raise UserError(what, where=f"params.yaml: models.{self.name}", remedy="name a classifier")

        def ask(distinct: list[str], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            tokenizer = self.backend.tokenizer
            with quiet():  # it warns of texts that are too long
                lengths = np.array([len(ids) for ids in tokenizer(distinct)["input_ids"]])
            fits = lengths <= longest(tokenizer, self.backend.model.config)
            yield [(int(i), b"") for i in np.flatnonzero(~fits)]
            taken = np.flatnonzero(fits).tolist()
            wanted = frozenset(place for place, i in enumerate(taken) if i in missing)
            for batch in self.backend.batches([(distinct[i],) for i in taken], wanted):
                yield _as_bytes([(taken[place], logits) for place, logits in batch], "<f8")

        absent = np.full(len(labels), np.nan).tobytes()
        stored = [answer or absent for answer in self._each("whole-classification/1", texts, ask)]
        logits = np.frombuffer(b"".join(stored), dtype="<f8").astype(np.float64).reshape(len(texts), len(labels))
        found: NDArray[np.float64] = softmax(logits, axis=-1) if problem == SINGLE_LABEL else expit(logits)
        return found


class StoredEmbedder(Answering[TransformersEmbedder]):
    """An embedder whose answers are kept."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, dimensions] embedding of each text, of length 1.

        Raises:
            ValueError: There is no text.
        """
        if not texts:
            raise ValueError("no text to embed")

        def ask(distinct: list[str], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for batch in self.backend.embeddings(distinct, missing):
                yield _as_bytes(batch, "<f4")

        stored = self._each("embedding/1", texts, ask)
        return np.frombuffer(b"".join(stored), dtype="<f4").astype(np.float32).reshape(len(texts), -1)


def _as_bytes(batch: list[tuple[int, NDArray[Any]]], kind: str) -> list[tuple[int, bytes]]:
    """Rows of numbers as they are stored."""
    return [(i, row.astype(kind).tobytes()) for i, row in batch]


def _per_token(answers: Sequence[tuple[float, int]]) -> NDArray[np.float64]:
    """[n] nats over tokens of each likelihood."""
    if not all(tokens for _, tokens in answers):
        raise ValueError("a word has no token")
    return np.array([nats / tokens for nats, tokens in answers], dtype=np.float64)
