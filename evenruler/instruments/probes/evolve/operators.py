"""The genetic operator, which rewords templates (PMPO, section 3.2.2): a language model, or its
recorded replies.

Prompts are ours. A large model gets an instruction in its chat template. A small one continues
few-shot examples: it does best where every example begins as its reply should and then nearly
repeats the sentence, so a seed decides how they begin. Replies are a file in git: a run replays
them, and only `evenruler evolve` requests new ones.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.instruments.probes.evolve.population import RewordingRequest
from evenruler.models.questions import CausalModel, Sampling
from evenruler.repository import profile_option_text
from evenruler.strict import read_yaml
from evenruler.tables.ids import content_sha256
from evenruler.text import ATTRIBUTE
from evenruler.text.english import count_negations, slot_word_class

TEMPERATURE: Final = 0.8
TOP_P: Final = 0.9

WORD_TOKENS: Final = 16
"""Most new tokens of a word list after few-shot examples, since a small model does not end its
reply there."""

_WORDS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("prompts.yaml"))


VOICES: Final[dict[str, dict[str, Any]]] = _WORDS["voices"]
"""Styles in which a whole template is reworded; `prompts.yaml` explains their keys."""

PLAIN: Final[list[str]] = _WORDS["plain"]
NEGATING: Final[list[str]] = _WORDS["negating"]
REPLACED: Final = [
    (example["sentence"], example["word"], example["others"]) for example in _WORDS["replaced"]
]


@dataclass(frozen=True)
class OperatorSettings:
    """How an operator is asked."""

    new_tokens: int
    few_shot: bool
    """Whether it continues few-shot examples, as small models should, or gets an instruction in its
    chat template."""

    def build_questions(
        self, wishes: Sequence[RewordingRequest], seeds: Sequence[int]
    ) -> list[tuple[str, int, int]]:
        """Prompt, seed and most new tokens of each wish."""
        questions: list[tuple[str, int, int]] = []
        for wish, seed in zip(wishes, seeds, strict=True):
            prompt = few_shot_prompt(wish, seed) if self.few_shot else chat_instruction(wish)
            new_tokens = self.new_tokens_of(wish.word is not None)
            questions.append((prompt, seed, new_tokens))
        return questions

    def new_tokens_of(self, word: bool) -> int:
        """Most new tokens of a reply, by whether one word is to be replaced."""
        return min(WORD_TOKENS, self.new_tokens) if word and self.few_shot else self.new_tokens


class ModelOperator:
    """An instruction-tuned language model as operator."""

    voices: Sequence[str] = tuple(VOICES)

    def __init__(self, model: CausalModel, asking: OperatorSettings) -> None:
        """Take the model that rewords, and how it is asked; `name` is that of the model."""
        self._model, self._asking = model, asking
        self.name = model.name

    def reword(
        self, wishes: Sequence[RewordingRequest], seeds: Sequence[int]
    ) -> list[tuple[str, str]]:
        """Each prompt with its reply, batched by most new tokens; `seeds` also pick the openings of
        examples.
        """
        questions = self._asking.build_questions(wishes, seeds)
        replies: dict[int, str] = {}
        for length in sorted({tokens for _, _, tokens in questions}):
            indices = [i for i, (_, _, tokens) in enumerate(questions) if tokens == length]
            prompts = [questions[i][0] for i in indices]
            written = self._model.generate(
                prompts,
                sampling=Sampling(length, TEMPERATURE, TOP_P),
                seeds=[questions[i][1] for i in indices],
                chat=not self._asking.few_shot,
            )
            replies.update(zip(indices, written, strict=True))
        return [(prompt, replies[i]) for i, (prompt, *_) in enumerate(questions)]


def chat_instruction(wish: RewordingRequest) -> str:
    """The instruction for a model that chats."""
    words: dict[str, str] = _WORDS["told"]
    if wish.word:
        ask = words["word"].format(word=wish.word.word)
    else:
        ask = words["whole"].format(voice=VOICES[str(wish.voice)]["told"])
    return f"{words['template']}\n\n{wish.parent.text}\n\n{ask}"


def few_shot_prompt(wish: RewordingRequest, seed: int) -> str:
    """The few-shot prompt: examples, and the template as the last of them.

    Examples negate where the template does, and are about occupations where its attribute is a
    noun, about qualities where it is a quality, about both where that is unclear.
    """
    text = wish.parent.text
    if wish.word is not None:
        solved = [
            f"Sentence: {sentence}\nSynonyms of {word}: {synonyms}\n"
            for sentence, word, synonyms in REPLACED
        ]
        unsolved = f"Sentence: {text}\nSynonyms of {wish.word.word}:"
        return "\n".join([*solved, unsolved])
    voice = VOICES[str(wish.voice)]
    openings, label = voice["openings"], voice["label"]
    opening = openings[seed % len(openings)]
    use = slot_word_class(ATTRIBUTE, text)
    candidates = NEGATING if count_negations(text) else PLAIN
    sentences = [
        sentence for sentence in candidates if use in (None, slot_word_class(ATTRIBUTE, sentence))
    ]
    examples = []
    for sentence in sentences:
        first_letter = sentence[0].lower()
        reworded = f"{opening} {first_letter}{sentence[1:]}"
        examples.append(f"Sentence: {sentence}\n{label}: {reworded}\n")
    return "\n".join([*examples, f"Sentence: {text}\n{label}:"])


def key_of(operator: str, prompt: str, seed: int, new_tokens: int) -> str:
    """Key of a question to an operator: 16 hex digits."""
    return content_sha256(operator, prompt, seed, new_tokens)[:16]


class ReplayedOperator:
    """An operator that replays recorded replies, without a model."""

    voices: Sequence[str] = tuple(VOICES)

    def __init__(self, name: str, asking: OperatorSettings, path: Path) -> None:
        """Read a file named after the instrument; UserError where it is missing or broken."""
        self.name, self._asking, self._path = name, asking, path
        self._remedy = f"run `evenruler evolve {path.stem}{profile_option_text()}`"
        require_regular(path)
        if not path.exists():
            raise UserError("no replies of an operator", where=str(path), remedy=self._remedy)
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            self._replies = {str(row["key"]): str(row["reply"]) for row in rows}
        except (ValueError, KeyError, TypeError) as broken:
            raise UserError("no file of replies", where=str(path), remedy=self._remedy) from broken

    def reword(
        self, wishes: Sequence[RewordingRequest], seeds: Sequence[int]
    ) -> list[tuple[str, str]]:
        """The prompt of each wish, and its recorded reply; UserError where there is none."""
        prompts_and_replies = []
        for wish, question in zip(wishes, self._asking.build_questions(wishes, seeds), strict=True):
            key = key_of(self.name, *question)
            if key not in self._replies:
                what = f"no reply of {self.name} to what is asked about {wish.parent.slug!r}"
                raise UserError(what, where=str(self._path), remedy=self._remedy)
            prompts_and_replies.append((question[0], self._replies[key]))
        return prompts_and_replies


Operator = ModelOperator | ReplayedOperator
"""`voices`: the styles in which it can reword a whole template, at least one; `reword`: returns the
prompt of each wish and the raw reply."""
