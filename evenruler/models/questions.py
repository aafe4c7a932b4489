"""Questions to models and their answers, as plain records, independent of backends."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError

LABELS = ("entailment", "neutral", "contradiction")
"""The order of all entailment scores."""

EntailmentPair = tuple[str, str]  # premise and hypothesis

INSTRUCTION = (
    "Does the first sentence mean that the second is true? Answer yes, no or maybe.\n"
    "First: {premise}\nSecond: {hypothesis}\nAnswer:"
)
"""The verbaliser's prompt. Parts that vary come late, so that prompts share prefixes."""

OPTIONS = (" yes", " maybe", " no")  # stand for entailment, neutral and contradiction
CONTENT_FREE = "N/A"  # the premise for a model's baseline answer


def entailment_prompts(
    pairs: Sequence[EntailmentPair], before: Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """Prompts for a causal model: each pair, and each hypothesis with a content-free premise.

    `before`: n texts, on a line of their own before both prompts; none by default or if empty.
    """
    texts_before = before or [""] * len(pairs)
    lines = [f"{words}\n" if words else "" for words in texts_before]
    pair_prompts, content_free_prompts = [], []
    for line, (premise, hypothesis) in zip(lines, pairs, strict=True):
        pair_prompts.append(line + INSTRUCTION.format(premise=premise, hypothesis=hypothesis))
        content_free_prompts.append(
            line + INSTRUCTION.format(premise=CONTENT_FREE, hypothesis=hypothesis)
        )
    return pair_prompts, content_free_prompts


def chat_messages(text: str, system: str | None) -> list[dict[str, str]]:
    """Chat messages in OpenAI's format."""
    text_by_role = {"system": system, "user": text} if system else {"user": text}
    return [{"role": role, "content": content} for role, content in text_by_role.items()]


def join_system_prompt(text: str, system: str | None) -> str:
    """The system prompt, if any, as a paragraph before the prompt: one text for models without a
    chat.
    """
    return f"{system}\n\n{text}" if system else text


@dataclass(frozen=True)
class LogLikelihoods:
    """Log-likelihoods of n whole texts."""

    nats: NDArray[np.float64]
    """[n] sum of the log-probabilities of the text's tokens given the start token; 0 for an empty
    text; NaN for a text with a word that the tokenizer does not know or drops, and where another
    start is asked for than there is."""
    tokens: NDArray[np.int64]
    """[n] number of tokens summed, without the start token; 0 where nats are NaN."""

    def require_all(self, model: str, texts: Sequence[str]) -> None:
        """UserError if one of the n texts has no number; `model`: its name."""
        unread = np.isnan(self.nats)
        if unread.any():
            text = texts[int(unread.argmax())]
            n_unread = int(unread.sum())
            many = f"{n_unread:,} of {len(unread):,} texts"
            what = f"words in {many} are unknown to its tokenizer, as in {text[:60]!r}"
            raise UserError(
                what, where=model, remedy="leave these words out, or take another model"
            )


@dataclass(frozen=True)
class WordLikelihoods:
    """Log-likelihoods of n whole words after their prompts; exp(nats + ends) is the probability of
    exactly this word.

    Different words of letters are mutually exclusive after the same prompt, so probabilities add
    up: a word has no share in longer words that it begins ("her", "hers", "heritage").
    """

    nats: NDArray[np.float64]
    """[n] sum of the log-probabilities of the word's tokens given the prompt."""
    ends: NDArray[np.float64]
    """[n] log-probability, given prompt and word, that no letter follows; 0 by definition for words
    with probability below 1 in 100,000, which overstates their mass by less than that."""
    alone: NDArray[np.float64]
    """[n] log-probability, given prompt and word, that no word follows: the next token begins
    neither with a letter or digit nor with blanks and then one on the same line. Never above
    `ends`; 0 for the same rare words. For options that are letters: " A" may also begin " A
    man"."""
    first_nats: NDArray[np.float64]
    """[n] log-probability of the word's first token given the prompt."""
    first_token: NDArray[np.int64]
    """[n] id of that token; words with the same first token share its probability."""


@dataclass(frozen=True)
class WordInPlace:
    """A word (or several) in its place in a text."""

    before: str
    word: str
    after: str

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.word + self.after


@dataclass(frozen=True)
class Sampling:
    """Sampling settings."""

    max_new_tokens: int = 50
    temperature: float = 1.0
    """0 takes the most likely token."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps the whole vocabulary."""

    def __post_init__(self) -> None:
        """Make temperature and `top_p` floats, since they are part of cache keys."""
        # 2 and 2.0 are the same setting and must give the same key.
        object.__setattr__(self, "temperature", float(self.temperature))
        object.__setattr__(self, "top_p", float(self.top_p))


UNREAD: Final = (0.0, -1)
"""Nats and number of tokens of a text that was not scored, since the tokenizer does not know one of
its words."""


@dataclass(frozen=True)
class LikelihoodRequest:
    """A text to score, after a prompt or the start token."""

    text: str
    prompt: str = ""
    other_start: bool = False
    """Whether another usual start stands before it than the model's own
    (`evenruler.models.starts`)."""


@dataclass(frozen=True)
class WordRequest(LikelihoodRequest):
    """A whole word to score."""

    chat: bool = False  # whether to apply the chat template to the prompt


WordAnswer = tuple[float, float, float, float, int]
"""A backend's answer about a word: nats of the word, that it ends, that it stands alone and of its
first token, and that token (`WordLikelihoods`)."""


@dataclass(frozen=True)
class NextWordsRequest:
    """A prompt and all words to score right after it."""

    prompt: str
    words: tuple[str, ...]
    """Without the space that separates each from the prompt."""


@dataclass(frozen=True)
class Prompt:
    """A prompt for a reply."""

    text: str
    sampling: Sampling
    seed: int  # seeds the reply's own generator
    system: str | None = None
    chat: bool = False

    @property
    def letters(self) -> int:
        """Number of letters of the text and of the system prompt."""
        return len(self.text) + len(self.system or "")


CUT = "cut while thinking"  # prefix of the reason if a thought used up all tokens


def cut_reasons(reasons: Iterable[object]) -> list[str]:
    """Of the reasons (None where there is a reply), those that say that a thought used up all
    tokens.
    """
    return [reason for reason in reasons if isinstance(reason, str) and reason.startswith(CUT)]


@dataclass(frozen=True)
class Reply:
    """A generated reply, or the reason why there is none."""

    text: str | None
    """Without special tokens; "" only if the model stopped at once; None if it refused or only
    thought."""
    reason: str | None = None
    """Why there is no text, else None. Local models never refuse."""
    finish: str | None = None
    """Why generation ended: "stop" or "length" (the limit); for a refusal the server's value."""
    server_report: Mapping[str, Any] | None = field(default=None, compare=False)
    """What a server reported: `model`, `fingerprint`, thinking tokens (`thought`), and sampling
    parameters that it does not support (`own`), so that it used its own."""

    @property
    def as_json(self) -> list[Any]:
        """Serialised form: three values, and a fourth if a server reported something."""
        values: list[Any] = [self.text, self.reason, self.finish]
        if self.server_report:
            values.append(dict(self.server_report))
        return values


class CausalModel(Protocol):
    """A model that predicts next tokens."""

    name: str

    def loglikelihood(self, texts: Sequence[str]) -> LogLikelihoods:
        """Log-likelihood of each whole text, in nats, raw sums (PMPO, section 3.1)."""

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = ...,
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[str]:
        """One continuation of each prompt."""


class Embedder(Protocol):
    """A model that maps texts to vectors."""

    name: str

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, dimensions] embedding of each text."""


LETTERS_A_TOKEN = 4  # for English text in current vocabularies


@dataclass(frozen=True)
class QuestionVolume:
    """Estimated size of some questions, without model or tokenizer."""

    questions: int
    read: int  # tokens of all questions, from their letters; shared prefixes count each time
    written: int  # tokens of all replies at maximum length


def amount_of(questions: Iterable[object]) -> QuestionVolume:
    """The estimated size of some questions."""
    question_list = list(questions)
    written = sum(
        question.sampling.max_new_tokens
        for question in question_list
        if isinstance(question, Prompt)
    )
    return QuestionVolume(
        len(question_list), -(-sum(map(_count_letters, question_list)) // LETTERS_A_TOKEN), written
    )


def _count_letters(question: object) -> int:
    """Letters that the model reads in a question, nested parts included; of next words the prompt
    alone; 0 for what is no text.
    """
    if isinstance(question, str):
        return len(question)
    if isinstance(question, NextWordsRequest):  # a model reads none of the words
        return len(question.prompt)
    if is_dataclass(question):
        return sum(_count_letters(getattr(question, field.name)) for field in fields(question))
    return sum(map(_count_letters, question)) if isinstance(question, tuple | list) else 0
