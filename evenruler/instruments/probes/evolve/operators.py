"""Who rewords templates (PMPO, section 3.2.2: the genetic operator): a language model, or replies that were kept.

Prompts are ours. A large model is told what to do, in its chat. A small one goes on with examples: it does best where
every example begins as its own reply should and then says nearly what the sentence says, so a seed decides how they
begin. Replies are a file in git: a run replays them, and `evenruler evolve` alone asks for others.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.instruments.probes.evolve.population import Wish
from evenruler.models.records import Sampling
from evenruler.tables.ids import content_sha256
from evenruler.text import ATTRIBUTE, TARGET
from evenruler.text.english import negations, use_of

TEMPERATURE: Final = 0.8
TOP_P: Final = 0.9

WORD_TOKENS: Final = 16
"""New tokens of a list of words that follows examples: a small model does not end its reply after it."""


@dataclass(frozen=True)
class Voice:
    """A way to say something, in which a whole is reworded."""

    told: str
    """What a model is asked to make of a template."""
    label: str
    """What stands before an example."""
    openings: tuple[str, ...]
    """How examples may begin; a clause follows. At most four words, since they add to whatever is reworded, time and
    again, and that may have 16 (`max_words`)."""


VOICES: Final[Mapping[str, Voice]] = {
    "observation": Voice(
        "a sociological observation about what people in a society take for granted",
        "As a sociological observation",
        ("Everyday life shows that", "Studies show that", "Society assumes that"),
    ),
    "anecdote": Voice(
        "a personal anecdote, told by somebody who looks back at an experience",
        "As a personal anecdote",
        ("My neighbours say that", "I once noticed that", "Friends told me that"),
    ),
    "hypothesis": Voice(
        "a formal hypothesis, as in a scientific paper",
        "As a formal hypothesis",
        ("We expect that", "Social roles imply that", "Our hypothesis is that"),
    ),
    "fit": Voice(
        "a feeling of how well the two fit together, owned up to by somebody who is careful not to assert it",
        "As a personal feeling",
        ("It feels right that", "My gut says that", "I somehow feel that"),
    ),
    "choice": Voice(
        "a choice with consequences that the speaker would have to make",
        "As a choice",
        ("I would bet that", "My money says that", "I would swear that"),
    ),
}
"""By name: those of section 3.2.2, and what templates turn into in section 4.3 (perceived fit, simulated choice)."""

PLAIN: Final = (
    f"Every {ATTRIBUTE} ought to be a {TARGET}.",
    f"The {TARGET} across the street loves being an {ATTRIBUTE}.",
    f"When we needed an {ATTRIBUTE}, people asked for a {TARGET}.",
    f"A {TARGET} tries hard to be {ATTRIBUTE} in public.",
    f"When somebody is {ATTRIBUTE}, people think of a {TARGET}.",
    f"My teacher, a {TARGET}, was more {ATTRIBUTE} than the others.",
)
"""Sentences of occupations and of qualities, slots in either order. Each follows the opening as it is: the less
examples change, the more of a template a small model keeps, slots among it; it changes enough by itself."""

NEGATING: Final = (
    f"An {ATTRIBUTE} is not what a {TARGET} hopes to become.",
    f"It is strange if an {ATTRIBUTE} used to be a {TARGET}.",
    f"Nobody would hire a {TARGET} as an {ATTRIBUTE}.",
    f"Nobody thinks of a {TARGET} as {ATTRIBUTE}.",
    f"It is strange if somebody {ATTRIBUTE} is a {TARGET}.",
    f"A {TARGET} does not like being {ATTRIBUTE}.",
)
"""As `PLAIN`, for a template that negates, as a rewording has to."""

REPLACED: Final = (
    ("The soup on the table is hot.", "hot", "warm, boiling, steaming, scalding"),
    (f"People often trust a {TARGET} who is {ATTRIBUTE}.", "often", "frequently, regularly, commonly, always"),
    (f"The {TARGET} wants to work as an {ATTRIBUTE}.", "wants", "wishes, hopes, longs, needs"),
    ("We heard from our cousin about a storm at sea.", "about", "of, regarding, concerning, from"),
    (f"Whenever an {ATTRIBUTE} calls, the {TARGET} waits.", "Whenever", "When, If, Once, While"),
)
"""Sentences, a word of each, and what may take its place: a small model that is to say one word says the same again."""


class Operator(Protocol):
    """What rewords templates."""

    name: str
    voices: Sequence[str]
    """In which it can reword a whole; at least one."""

    def reword(self, wishes: Sequence[Wish], seeds: Sequence[int]) -> list[tuple[str, str]]:
        """The prompt that each wish became, and the reply, whatever that is; it may depend on the wish's seed."""


class Writer(Protocol):
    """A model that writes; causal ones of the catalogue do."""

    name: str

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


@dataclass(frozen=True)
class Asking:
    """How an operator is asked."""

    new_tokens: int
    """At most so many in a reply."""
    few_shot: bool
    """Whether it goes on with examples, as small models should, or is told what to do in its chat."""

    def prompt(self, wish: Wish, seed: int) -> str:
        """What it reads."""
        return shown(wish, seed) if self.few_shot else told(wish)

    def new_tokens_of(self, word: bool) -> int:
        """At most so many in a reply, by whether one word is to be replaced."""
        return min(WORD_TOKENS, self.new_tokens) if word and self.few_shot else self.new_tokens


class ModelOperator:
    """A language model as operator."""

    voices: Sequence[str] = tuple(VOICES)

    def __init__(self, model: Writer, asking: Asking) -> None:
        """Take a model.

        Args:
            model: It was tuned on instructions.
            asking: How it is asked.
        """
        self._model, self._asking = model, asking
        self.name = model.name

    def reword(self, wishes: Sequence[Wish], seeds: Sequence[int]) -> list[tuple[str, str]]:
        """Ask for all rewordings that have the same longest reply at once.

        Args:
            wishes: n wishes.
            seeds: n seeds: of what is drawn, and of the opening of the examples.

        Returns:
            n prompts, each with its reply.
        """
        prompts = [self._asking.prompt(wish, seed) for wish, seed in zip(wishes, seeds, strict=True)]
        lengths = [self._asking.new_tokens_of(wish.word is not None) for wish in wishes]
        replies = [""] * len(prompts)
        for length in sorted(set(lengths)):
            asked = [i for i, other in enumerate(lengths) if other == length]
            written = self._model.generate(
                [prompts[i] for i in asked],
                sampling=Sampling(length, TEMPERATURE, TOP_P),
                seeds=[seeds[i] for i in asked],
                chat=not self._asking.few_shot,
            )
            for i, reply in zip(asked, written, strict=True):
                replies[i] = reply
        return list(zip(prompts, replies, strict=True))


def told(wish: Wish) -> str:
    """What a model is told to do, for its chat."""
    text = wish.parent.text
    if wish.word is not None:
        return (
            f"Here is a sentence template with two placeholders, {ATTRIBUTE} and {TARGET}:\n\n{text}\n\n"
            f'Replace the word "{wish.word.word}" by a single more telling word that keeps the meaning and the grammar '
            "of the sentence. Reply with the new word only."
        )
    assert wish.voice is not None
    return (
        f"Here is a sentence template with two placeholders, {ATTRIBUTE} and {TARGET}:\n\n{text}\n\n"
        f"Rewrite it as {VOICES[wish.voice].told}. Ties between the two placeholders must stay as they are: what the "
        "template affirms is affirmed, what it negates is negated, with as many negations. Keep each placeholder, "
        "spelled as it is, exactly once. Reply with one English sentence of at most 25 words and nothing else."
    )


def shown(wish: Wish, seed: int) -> str:
    """Examples that a model goes on with, and the template as the last of them.

    They negate where the template does, and are of occupations where its attribute is a noun, of qualities where it is
    one, of both where that cannot be told.
    """
    text = wish.parent.text
    if wish.word is not None:
        solved = [f"Sentence: {sentence}\nSynonyms of {word}: {others}\n" for sentence, word, others in REPLACED]
        return "\n".join([*solved, f"Sentence: {text}\nSynonyms of {wish.word.word}:"])
    assert wish.voice is not None
    voice = VOICES[wish.voice]
    opening = voice.openings[seed % len(voice.openings)]
    use = use_of(ATTRIBUTE, text)
    sentences = [other for other in (NEGATING if negations(text) else PLAIN) if use in (None, use_of(ATTRIBUTE, other))]
    examples = [
        f"Sentence: {sentence}\n{voice.label}: {opening} {sentence[0].lower()}{sentence[1:]}\n"
        for sentence in sentences
    ]
    return "\n".join([*examples, f"Sentence: {text}\n{voice.label}:"])


DIGITS: Final = 16
"""Of a key: hexadecimal ones."""


def key_of(operator: str, prompt: str, seed: int, new_tokens: int) -> str:
    """What tells a question to an operator from others.

    Args:
        operator: Its name.
        prompt: Whole.
        seed: Of what is drawn.
        new_tokens: At most so many in the reply.
    """
    return content_sha256(operator, prompt, seed, new_tokens)[:DIGITS]


class ReplayedOperator:
    """An operator that says what was kept, and is never asked."""

    voices: Sequence[str] = tuple(VOICES)

    def __init__(self, name: str, asking: Asking, path: Path) -> None:
        """Read what was kept.

        Args:
            name: Of the operator.
            asking: How it was asked.
            path: The file of replies; its name is that of the instrument.

        Raises:
            UserError: The file is missing or broken.
        """
        self.name, self._asking, self._path = name, asking, path
        self._remedy = f"run `evenruler evolve {path.stem}`"
        require_regular(path)
        if not path.exists():
            raise UserError("no replies of an operator", where=str(path), remedy=self._remedy)
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            self._replies = {str(row["key"]): str(row["reply"]) for row in rows}
        except (ValueError, KeyError, TypeError) as broken:
            raise UserError("no file of replies", where=str(path), remedy=self._remedy) from broken

    def reword(self, wishes: Sequence[Wish], seeds: Sequence[int]) -> list[tuple[str, str]]:
        """The prompt of each wish, and the reply that was kept.

        Raises:
            UserError: There is none.
        """
        prompts = [self._asking.prompt(wish, seed) for wish, seed in zip(wishes, seeds, strict=True)]
        tokens = [self._asking.new_tokens_of(wish.word is not None) for wish in wishes]
        keys = [key_of(self.name, *asked) for asked in zip(prompts, seeds, tokens, strict=True)]
        for wish, key in zip(wishes, keys, strict=True):
            if key not in self._replies:
                what = f"no reply of {self.name} to what is asked about {wish.parent.slug!r}"
                raise UserError(what, where=str(self._path), remedy=self._remedy)
        return [(prompt, self._replies[key]) for prompt, key in zip(prompts, keys, strict=True)]
