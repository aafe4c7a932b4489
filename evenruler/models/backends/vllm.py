"""Client of a vLLM server that this process started: asks by token ids, and reads token ids.

So prompts, the ends of words and replies are token for token those of a model that is loaded here,
whatever the server's own tokenizer and chat template do.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.models.backends.batching import split_into_packs
from evenruler.models.backends.encoding import TextEncoder
from evenruler.models.backends.likelihood import (
    NO_TOKEN,
    stands_alone,
    token_texts,
    word_ends,
)
from evenruler.models.backends.next_tokens import RARE, WordEnd, read_next_tokens, word_end_of
from evenruler.models.backends.openai import OpenAI
from evenruler.models.backends.prompt_logprobs import CLAMPED
from evenruler.models.backends.server import BatchOutcome, RefusalError, Server
from evenruler.models.backends.trie import Tokens, TokenSequence
from evenruler.models.backends.word_ends import WordEndReader
from evenruler.models.chat_settings import ThoughtParser
from evenruler.models.declarations import ModelEntry
from evenruler.models.loading import convert_load_errors, silence_libraries
from evenruler.models.questions import (
    UNREAD,
    LikelihoodRequest,
    NextWordsRequest,
    Prompt,
    Reply,
    WordAnswer,
    WordRequest,
)

TEXTS: Final = 16
"""Most texts scored in one request."""

SEEDS: Final = 2**63
"""vLLM takes seeds below this."""

TOKEN: Final = "token_id:"
"""What vLLM writes before the number of a token in place of its text, when asked to."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ModelTexts:
    """What the files of a causal model say of its texts: nothing of its weights is needed."""

    encoder: TextEncoder
    ends: frozenset[int]
    """Tokens that end a reply."""
    vocabulary: int
    """Number of tokens that it predicts."""

    @cached_property
    def word_endings(self) -> NDArray[np.bool_]:
        """[2, vocabulary] Which tokens end a word, and which leave it alone."""
        texts = token_texts(self.encoder.tokenizer)
        return np.stack([word_ends(texts, self.vocabulary), stands_alone(texts, self.vocabulary)])


def read_model_texts(name: str, folder: Path, entry: ModelEntry) -> ModelTexts:
    """Read tokenizer, configuration and end tokens of the model in a folder; UserError if
    transformers cannot.
    """
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    from evenruler.models.backends.sampling import as_end_tokens

    with silence_libraries(), convert_load_errors(name, str(folder)):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        if (folder / "generation_config.json").exists():
            generation = GenerationConfig.from_pretrained(folder)
        else:
            generation = GenerationConfig.from_model_config(config)
    ends = generation.eos_token_id
    text_config = config.get_text_config()
    encoder = TextEncoder(name, tokenizer, text_config, entry, entry.start)
    end_tokens = as_end_tokens(tokenizer.eos_token_id if ends is None else ends)
    return ModelTexts(encoder, end_tokens, text_config.vocab_size)


@dataclass(frozen=True)
class VllmClient:
    """A model behind a vLLM server of this process."""

    server: Server
    texts: ModelTexts
    require_running: Callable[[], None]
    """Raises a UserError if the server has ended."""
    tolerance: float
    """How far apart log-probabilities of a token may be in the dtype that it computes in."""

    @cached_property
    def _text_client(self) -> OpenAI:
        """The client that tries whether log-probabilities hold."""
        name, server = self.server.name, self.server
        return OpenAI(name, name, "completions", server=server, tolerance=self.tolerance)

    @cached_property
    def _word_end_reader(self) -> WordEndReader:
        """Reads whether words end."""
        read = partial(_read_word_end, self.texts)  # not of `self`, which would never be freed
        return WordEndReader(
            self.server, read=read, parameters={"return_tokens_as_token_ids": True}
        )

    def generate(
        self, prompts: Sequence[Prompt], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, Reply]]]:
        """Replies to the wanted prompts, all with the same sampling settings, as (index, reply).

        Words are drawn by vLLM's generators, from the prompt's seed. UserError as for a model
        loaded here, or if the server ends.
        """
        thoughts = self.texts.encoder.parse_thoughts(prompts[0])
        new = thoughts.most if thoughts else prompts[0].sampling.max_new_tokens
        sequences, opened = self.texts.encoder.encode_prompts(prompts, new)

        def ask_prompt(i: int) -> BatchOutcome[tuple[int, Reply]]:
            """The reply to one prompt."""
            written = self._request_tokens(sequences[i], prompts[i], new)
            reply = self._read_reply(written, prompts[i], thoughts, opened[i])
            return BatchOutcome([(i, reply)])

        yield from self._ask_all(partial(ask_prompt, i) for i in sorted(wanted))

    def _request_tokens(self, sequence: Tokens, prompt: Prompt, new: int) -> list[int]:
        """The tokens that the model writes after others, an end token included."""
        settings = asdict(prompt.sampling) | {"seed": prompt.seed % SEEDS}
        settings["max_tokens"] = new
        del settings["max_new_tokens"]
        question = {
            **settings,
            "prompt": [list(sequence)],
            # Only these tokens end a reply, as here: vLLM itself would choose others.
            "ignore_eos": True,
            "stop_token_ids": sorted(self.texts.ends),
            "return_token_ids": True,
        }
        try:
            (choice,) = self.server.ask("/completions", question).choices
        except RefusalError as error:
            what = f"vLLM does not take {prompt.text[:40]!r} ({error})"
            raise self.server.user_error(what, "shorten it, or allow fewer new tokens") from None
        tokens = choice.get("token_ids")
        if not isinstance(tokens, list) or not tokens:
            remedy = "install vLLM 0.11 or later in its environment"
            raise self.server.user_error("vLLM does not say which tokens it wrote", remedy)
        return tokens

    def _read_reply(
        self,
        written: list[int],
        prompt: Prompt,
        thoughts: ThoughtParser | None,
        opened: bool,
    ) -> Reply:
        """A reply from its tokens, as of a model loaded here; `opened`: whether the prompt opens a
        thought.
        """
        from evenruler.models.backends.sampling import replies_of

        answer_tokens: list[int] | None = written
        if thoughts is not None:
            written = _cut_to_budget(written, thoughts)
            answer_tokens = thoughts.answer(written, written[-1] in self.texts.ends, opened)
        (reply,) = replies_of(
            self.texts.encoder.tokenizer, self.texts.ends, [written], [answer_tokens]
        )
        return self.texts.encoder.finish_reply(prompt, reply)

    def loglikelihood(
        self, requests: Sequence[LikelihoodRequest], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, tuple[float, int]]]]:
        """(Index, (nats, number of tokens)) of the wanted texts after their prompts; `UNREAD` for a
        text that cannot be scored.

        UserError if log-probabilities depend on the order of questions (`OpenAI.trial`), a text is
        too long, or the server ends.
        """
        sequence_by_place = self.texts.encoder.encode_known_texts(requests)
        unread = sorted(wanted - sequence_by_place.keys())
        if unread:
            yield [(i, UNREAD) for i in unread]
        scored = sorted(wanted & sequence_by_place.keys())

        def score_batch(batch: Sequence[int]) -> BatchOutcome[tuple[int, tuple[float, int]]]:
            """Nats and number of tokens of a batch of texts."""
            nats = self._request_nats([sequence_by_place[i] for i in batch])
            sums = [(math.fsum(token_nats), len(token_nats)) for token_nats in nats]
            return BatchOutcome(list(zip(batch, sums, strict=True)))

        yield from self._score_all(score_batch, scored)

    def words(
        self, requests: Sequence[WordRequest], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, WordAnswer]]]:
        """(Index, numbers of a `WordAnswer`) of the wanted words; errors as for `loglikelihood`."""
        sequences = self.texts.encoder.encode_words(requests)

        def score_batch(batch: Sequence[int]) -> BatchOutcome[tuple[int, WordAnswer]]:
            """The numbers of a batch of words."""
            chosen = [sequences[i] for i in batch]
            return BatchOutcome(list(zip(batch, self._score_words(chosen), strict=True)))

        yield from self._score_all(score_batch, sorted(wanted))

    def next_words(
        self, requests: Sequence[NextWordsRequest], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, NDArray[np.float64]]]]:
        """(Index, [k] nats) of the wanted prompts, all with the same k words; NaN where a word is
        not one token. UserError if a prompt is too long with a next word, or the server ends.
        """
        sequences, words = self.texts.encoder.encode_before_words(requests), requests[0].words

        def score_batch(batch: Sequence[int]) -> BatchOutcome[tuple[int, NDArray[np.float64]]]:
            """Nats of all words after a batch of prompts."""
            prompts = [requests[i].prompt for i in batch]
            tokens = self.texts.encoder.encode_next_words(prompts, words)
            nats = self._request_next_nats([sequences[i] for i in batch], tokens)
            return BatchOutcome(list(zip(batch, nats, strict=True)))

        packs = split_into_packs(sorted(wanted), TEXTS)
        yield from self._ask_all(partial(score_batch, batch) for batch in packs)

    def _request_next_nats(
        self, sequences: Sequence[Tokens], tokens: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """[k] nats after each text of its row of `tokens`, [texts, k]; NaN for `NO_TOKEN`."""
        listed_tokens = np.unique(tokens[tokens != NO_TOKEN]).tolist()
        question = {
            "max_tokens": 1,
            "temperature": 1,
            "logprobs": 1,
            "logprob_token_ids": listed_tokens,
            "return_tokens_as_token_ids": True,
        }
        try:
            choices = self.server.ask_texts(sequences, question)
        except RefusalError as error:
            what = f"vLLM gives no next words ({error})"
            raise self.server.user_error(what, "install another version of it") from None
        rows: list[NDArray[np.float64]] = []
        for row, choice in zip(tokens, choices, strict=True):
            listed = read_next_tokens(choice) or {}
            names = [f"{TOKEN}{token}" for token in row]
            if any(name not in listed for name in names if name != f"{TOKEN}{NO_TOKEN}"):
                what = "vLLM does not give the log-probabilities of tokens that are named"
                raise self.server.user_error(what, "install version 0.32 of it, or a later one")
            rows.append(np.array([listed.get(name, np.nan) for name in names]))
        return rows

    def _score_words(self, sequences: Sequence[TokenSequence]) -> list[WordAnswer]:
        """The numbers of words: their tokens by prompt log-probabilities, what follows by lists of
        next tokens.
        """
        nats_by_word = self._request_nats(sequences)
        nats = [math.fsum(token_nats) for token_nats in nats_by_word]
        likely = [place for place, word_nats in enumerate(nats) if word_nats >= RARE]
        end_by_place = dict.fromkeys(range(len(sequences)), (0.0, 0.0))  # as for rare words
        ends = self._word_end_reader.read_ends([sequences[place].tokens for place in likely])
        end_by_place |= dict(zip(likely, ends, strict=True))
        answers: list[WordAnswer] = []
        for place, sequence in enumerate(sequences):
            first_token = sequence.tokens[sequence.begin]
            first_nats = nats_by_word[place][0]
            answers.append((nats[place], *end_by_place[place], first_nats, first_token))
        return answers

    def _request_nats(self, sequences: Sequence[TokenSequence]) -> list[list[float]]:
        """The log-probability of each token of each text, from where the text begins."""
        # Temperature 1 gives the model's own log-probabilities even if the server applies it.
        question = {"max_tokens": 1, "prompt_logprobs": 0, "temperature": 1}
        try:
            choices = self.server.ask_texts([sequence.tokens for sequence in sequences], question)
        except RefusalError as error:
            what = f"vLLM does not score some texts ({error})"
            raise self.server.user_error(what, "shorten them") from None
        pairs = zip(sequences, choices, strict=True)
        return [self._read_nats(sequence, choice) for sequence, choice in pairs]

    def _read_nats(self, sequence: TokenSequence, choice: Mapping[str, Any]) -> list[float]:
        """The log-probabilities in an answer of the tokens of a text."""
        listed: list[Any] = choice.get("prompt_logprobs") or []
        try:
            nats = [
                float(listed[place][str(sequence.tokens[place])]["logprob"])
                for place in range(sequence.begin, len(sequence.tokens))
            ]
        except (TypeError, KeyError, IndexError, ValueError):
            what = "vLLM gives other log-probabilities than those of the tokens that were asked"
            raise self.server.user_error(what, "install another version of it") from None
        return [value if value > CLAMPED else -math.inf for value in nats]

    def _score_all(
        self,
        ask: Callable[[Sequence[int]], BatchOutcome[tuple[int, Answer]]],
        indices: Sequence[int],
    ) -> Iterator[list[tuple[int, Answer]]]:
        """Ask for log-probabilities batch by batch, once the trial has shown that they hold."""
        if indices:
            self._text_client.trial()
        yield from self._ask_all(partial(ask, batch) for batch in split_into_packs(indices, TEXTS))

    def _ask_all(
        self, tasks: Iterable[Callable[[], BatchOutcome[Answer]]]
    ) -> Iterator[list[Answer]]:
        """The answers of tasks, as they come; UserError with the cause if the server has ended."""
        try:
            yield from self.server.at_once(tasks)
        except UserError:
            self.require_running()
            raise


def _read_word_end(texts: ModelTexts, next_tokens: Mapping[str, float]) -> WordEnd:
    """What listed next tokens, nats by `TOKEN` and number, say of the word before them."""
    tokens = [int(written.removeprefix(TOKEN)) for written in next_tokens]
    shares = np.exp(np.fromiter(next_tokens.values(), dtype=np.float64))
    ends, alone = texts.word_endings[:, tokens] @ shares
    return word_end_of(float(ends), float(alone), float(shares.sum()))


def _cut_to_budget(written: list[int], thoughts: ThoughtParser) -> list[int]:
    """The tokens of a reply up to where its thought, or the answer after it, has used up its
    budget, as `sampling.Budgets` stops them here.
    """
    place = 0
    for n in range(1, len(written) + 1):
        if thoughts.ends(written, n):
            place = n
        if thoughts.is_over(n, place):
            return written[:n]
    return written
