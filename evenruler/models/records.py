"""What is asked of a model and what it answers, as plain records, whatever backend answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

LABELS = ("entailment", "neutral", "contradiction")
"""The order of all numbers that say what a premise and a hypothesis have to do with each other."""

Pair = tuple[str, str]  # premise and hypothesis

INSTRUCTION = (
    "Does the first sentence mean that the second is true? Answer yes, no or maybe.\n"
    "First: {premise}\nSecond: {hypothesis}\nAnswer:"
)
"""What a causal model reads. Everything that differs between prompts comes late, so that they share beginnings."""

OPTIONS = (" yes", " maybe", " no")  # what stands for entailment, neutral and contradiction
CONTENT_FREE = "N/A"  # the premise that shows what a model answers whatever it is told


def verbalised(pairs: Sequence[Pair], before: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """The prompt of each pair for a causal model, and that of its hypothesis after a premise without content.

    `before`: n words that both stand after, on a line of their own; nothing by default, and where they are empty.
    """
    lines = [f"{words}\n" if words else "" for words in before or [""] * len(pairs)]
    asked, empty = [], []
    for line, (premise, hypothesis) in zip(lines, pairs, strict=True):
        asked.append(line + INSTRUCTION.format(premise=premise, hypothesis=hypothesis))
        empty.append(line + INSTRUCTION.format(premise=CONTENT_FREE, hypothesis=hypothesis))
    return asked, empty


def messages(text: str, system: str | None) -> list[dict[str, str]]:
    """What is said in a chat, as OpenAI writes it."""
    said = {"system": system, "user": text} if system else {"user": text}
    return [{"role": role, "content": content} for role, content in said.items()]


def paragraphs(text: str, system: str | None) -> str:
    """The same as one text."""
    return f"{system}\n\n{text}" if system else text


@dataclass(frozen=True)
class LogLikelihoods:
    """Likelihoods of n whole texts."""

    nats: NDArray[np.float64]
    """[n] sum of the log-probabilities of the text's tokens given the start token; 0 for an empty text."""
    tokens: NDArray[np.int64]
    """[n] how many tokens were summed, the start token not counted."""


@dataclass(frozen=True)
class WordLikelihoods:
    """Likelihoods of n whole words, each after its prompt; exp(nats + ends) is that the model writes this very word.

    Words of letters that are different strings exclude each other after the same prompt, so these probabilities add
    up: no word has a share in one that it begins ("her", "hers", "heritage").
    """

    nats: NDArray[np.float64]
    """[n] sum of the log-probabilities of the word's tokens given the prompt."""
    ends: NDArray[np.float64]
    """[n] log-probability, given prompt and word, that the text does not go on with a letter; 0 by definition where
    the model writes the word's tokens less than once in 100,000 times, which overstates its mass by less than that."""
    alone: NDArray[np.float64]
    """[n] log-probability, given prompt and word, that no word goes on: the next token begins neither with a letter or
    digit nor with blanks and then a letter or digit on the same line. Never above `ends`; 0 for the same rare words.
    For options that are letters: " A" may also begin " A man"."""
    first_nats: NDArray[np.float64]
    """[n] log-probability of the word's first token given the prompt."""
    first_token: NDArray[np.int64]
    """[n] that token; words that begin with the same one share its probability."""


@dataclass(frozen=True)
class Placed:
    """A word (or several) in its place in a text."""

    before: str
    word: str
    after: str

    @property
    def text(self) -> str:
        """The whole."""
        return self.before + self.word + self.after


@dataclass(frozen=True)
class Sampling:
    """How a continuation is drawn."""

    max_new_tokens: int = 50
    temperature: float = 1.0
    """0 takes the likeliest token each time."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps the whole vocabulary."""

    def __post_init__(self) -> None:
        # 2 and 2.0 are the same setting, so they must be the same key.
        object.__setattr__(self, "temperature", float(self.temperature))
        object.__setattr__(self, "top_p", float(self.top_p))


@dataclass(frozen=True)
class Request:
    """A text whose likelihood is asked, after a prompt or from the start token on."""

    text: str
    prompt: str = ""


@dataclass(frozen=True)
class WordRequest(Request):
    """A whole word whose likelihood is asked."""

    chat: bool = False  # whether the prompt is put into the chat template


@dataclass(frozen=True)
class Prompt:
    """What a reply is asked to."""

    text: str
    sampling: Sampling
    seed: int  # seeds the reply's own generator
    system: str | None = None
    chat: bool = False


CUT = "cut while thinking"  # how the reason of a reply begins whose thought took all the room


def cut_of(reasons: Iterable[object]) -> list[str]:
    """Of reasons why there are no replies, null where there are, those that the model only thought."""
    return [reason for reason in reasons if isinstance(reason, str) and reason.startswith(CUT)]


@dataclass(frozen=True)
class Reply:
    """What was written after a prompt, or why there is nothing."""

    text: str | None
    """Without special tokens; "" only where the model ended it at once; None where it refused, or only thought."""
    reason: str | None = None
    """Why there is no text; None where there is one. A model on this machine never refuses."""
    finish: str | None = None
    """Why the writing ended, "stop" or "length" (as long as was allowed); of a refusal what a server says."""
    said: Mapping[str, Any] | None = field(default=None, compare=False)
    """What a server says of itself, where it does: `model`, `fingerprint`, tokens that it thought in (`thought`), and
    settings that it does not take (`own`), so that it sampled by its own."""

    @property
    def as_json(self) -> list[Any]:
        """As it is kept: three values, and a fourth where a server said something."""
        return [self.text, self.reason, self.finish, *([dict(self.said)] if self.said else [])]


class CausalModel(Protocol):
    """A model of the next token."""

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
    """A model that places texts in a space."""

    name: str

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, dimensions] embedding of each text."""


LETTERS_A_TOKEN = 4  # of English text, in the vocabularies of today's models


@dataclass(frozen=True)
class Amount:
    """How much there is to read and to write in some questions, roughly; no model and no tokenizer is asked."""

    questions: int
    read: int  # tokens of all questions, by their letters; beginnings that they share are counted each time
    written: int  # tokens of all replies, each as long as it may be

    @property
    def tokens(self) -> int:
        """What the time goes by: tokens that are written where replies are, else those that are read."""
        return self.written or self.read


def amount_of(questions: Iterable[object]) -> Amount:
    """How much some questions are."""
    asked = list(questions)
    written = sum(question.sampling.max_new_tokens for question in asked if isinstance(question, Prompt))
    return Amount(len(asked), -(-sum(map(_letters, asked)) // LETTERS_A_TOKEN), written)


def _letters(question: Any) -> int:
    if isinstance(question, str):
        return len(question)
    if is_dataclass(question):
        return sum(_letters(getattr(question, field.name)) for field in fields(question))
    return sum(map(_letters, question)) if isinstance(question, tuple | list) else 0
