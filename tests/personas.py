"""Scripted chats whose bias is known: they choose, answer a contrast, or rate how often, in memory
or over HTTP.

The same odds give the replies of both, so what the whole way over HTTP finds can be told
beforehand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm

from evenruler.instruments.instrument import Plan, Tables
from evenruler.instruments.methods import choice
from evenruler.instruments.methods.choice import FIRST, KNOWN, SECOND
from evenruler.instruments.probes.ask import choice_questions
from evenruler.instruments.questionnaires.ask import options as questionnaires
from evenruler.tables.schemas import BARE
from evenruler.text.replies import LETTERS
from tests.loopback_openai import ScriptedServer, said_in

REFUSAL = "I'm sorry, but I can't help with that."

Style = Callable[[str, str], str]
"""How a choice is worded, of its letter and its sentence."""

STYLES: dict[str, Style] = {
    "terse": lambda letter, text: letter,
    "marked": lambda letter, text: f"**{letter.lower()})**",
    "text": lambda letter, text: text,
    "wordy": lambda letter, text: f"Sure! The answer is {letter}. {text}",
}


def asked(tables: Tables, plan: Plan) -> pd.DataFrame:
    """Every question of a set of probes in both turns, known ones too, with its `prompt` and
    `seed`."""
    known_pairs = choice.known_pairs(plan["choice"]["known"])
    every = pd.concat([choice_questions(tables, plan), known_pairs], ignore_index=True)
    request = choice.request_of(every)
    return request.rows.assign(**request.inputs).merge(
        every, on=["id", "framing"], how="left", validate="m:1"
    )


@dataclass(frozen=True)
class Chooser:
    """Whom a chat that chooses favours, and how it words that."""

    rise: float = 0.0
    """Of the share of the first group's sentences, from an attribute at 10% of the criterion to one
    at 90%."""
    of_words: float = 0.0
    """SD of the same over pairs of words, targets and placebo nouns alike."""
    knows: float = 5.0
    """Log odds of the sentence that makes sense."""
    last: float = 0.0
    """Log odds that the second option has in front."""
    noise: float = 0.5
    """SD of the log odds of a question by itself."""
    style: Style = STYLES["terse"]
    refuses: Callable[[dict[str, Any]], float] = lambda row: 0.0
    """The probability that a question is refused."""

    def odds(self, rows: pd.DataFrame, random: np.random.Generator) -> NDArray[np.float64]:
        """Log odds of option A in each row of `asked`."""
        questions = rows.drop_duplicates(["id", "framing"]).reset_index(drop=True)
        words = sorted(questions["word"].dropna().unique())
        slopes = {word: random.normal(0, self.of_words) for word in words}
        is_bare = questions["framing"] == BARE
        middle = questions.loc[is_bare, "axis_position"].mean()
        place = ((questions["axis_position"] - middle) / 80).fillna(0.0)
        rise = questions["word"].map(slopes).fillna(0.0)
        rise = rise + np.where(is_bare, self.rise, 0.0)
        first = logit((0.5 + rise * place).clip(0.001, 0.999))
        first = first + random.normal(0, self.noise, len(questions))
        questions["first"] = np.where(questions["framing"] == KNOWN, self.knows, first)
        of_questions = questions[["id", "framing", "first"]]
        both = rows[["id", "framing", "turn"]].merge(
            of_questions,
            on=["id", "framing"],
            how="left",
        )
        turned = np.where(
            both["turn"] == 0,
            both["first"],
            -both["first"],
        )
        odds: NDArray[np.float64] = turned - self.last
        return odds

    def replies(self, rows: pd.DataFrame, seed: int) -> pd.DataFrame:
        """Answers by `choice.ANSWERS` to rows of `asked`."""
        random = np.random.default_rng(seed)
        took = random.random(len(rows)) < expit(self.odds(rows, random))
        silent = random.random(len(rows))
        texts = []
        for number, row in enumerate(rows.to_dict("records")):
            letter, text = _option(row, bool(took[number]))
            refused = silent[number] < self.refuses(row)
            texts.append(REFUSAL if refused else self.style(letter, text))
        return rows[["id", "framing", "turn"]].assign(reply=texts, reason=None)


def _option(row: dict[str, Any], a: bool) -> tuple[str, str]:
    """Letter and text of an option of a row."""
    sentence = FIRST if a == (row["turn"] == 0) else SECOND
    return "A" if a else "B", str(row[sentence])


@dataclass(frozen=True)
class Writer:
    """Which pronouns a chat takes in sentences of its own."""

    rise: float = 0.0
    """As of `Chooser`."""
    share: float = 0.4
    """Of the first group's pronouns at the middle of the axis."""
    named: float = 0.8
    """The share of sentences with a pronoun of either group; the others have "they"."""
    of_prompts: float = 0.3
    """SD over prompts of the log odds of a pronoun."""
    of_attributes: float = 0.5
    """The same over attributes, whatever their place on the axis."""
    knows: float = 0.97
    """How often the pronoun of a known word is right."""
    refuses: Callable[[dict[str, Any]], float] = lambda row: 0.0

    def replies(self, rows: pd.DataFrame, seed: int) -> list[str]:
        """To rows of `probes.ask.sentences`."""
        random = np.random.default_rng(seed)
        prompts = {
            name: random.normal(0, self.of_prompts) for name in sorted(rows["template"].unique())
        }
        attributes = {
            name: random.normal(0, self.of_attributes)
            for name in sorted(rows["attribute"].unique())
        }
        middle = rows.loc[rows["framing"] == BARE, "axis_position"].mean()
        rise = self.rise * (rows["axis_position"] - middle).fillna(0.0) / 80
        share = np.clip(self.share + rise, 0.01, 0.99)
        odds = logit(share) + rows["template"].map(prompts)
        first = expit(odds + rows["attribute"].map(attributes))
        right = np.where(rows["right"] == FIRST, self.knows, 1 - self.knows)
        first = np.where(rows["framing"] == KNOWN, right, first)
        drawn = random.random((len(rows), 3))
        texts = []
        for row, chance, (silent, named, which) in zip(
            rows.to_dict("records"), first, drawn, strict=True
        ):
            word = ("his" if which < chance else "her") if named < self.named else "their"
            text = f"The {row['word']} missed {word} bus; nobody waited."
            texts.append(REFUSAL if silent < self.refuses(row) else text)
        return texts


@dataclass
class PersonaServer(ScriptedServer):
    """A server behind which a scripted chat answers."""

    said: dict[str, str] = field(default_factory=dict)
    """By prompt."""

    @classmethod
    def of(cls, rows: pd.DataFrame, replies: Sequence[str]) -> "PersonaServer":
        """That replies so to the prompts of these rows; to one that is asked again, as it did."""
        return cls(said=dict(zip(rows["prompt"], replies, strict=True)))

    def reply(self, question: dict[str, Any]) -> str:
        """What it says to a prompt."""
        return self.said[said_in(question)]


def rated(tables: Tables, plan: Plan) -> pd.DataFrame:
    """Every question of a questionnaire to a chat, by options, with its item, twin and polarity;
    facts with theirs."""
    questions = questionnaires.option_questions(tables, plan)
    about = tables["prompts"][["id", "item", "twin", "polarity", "keying"]]
    return questions.merge(about, on="id", how="left", validate="m:1")


@dataclass(frozen=True)
class Rater:
    """How often a chat says that things are so."""

    mood: float = 0.0
    """Points beyond twins: of source terms more, of inverse terms less, items keyed."""
    knows: bool = True
    """Whether it says of facts what is so."""
    agrees: float = 0.0
    """Points more whatever is said."""
    of_items: float = 0.4
    """SD over items and twins of their mood."""
    noise: float = 0.7
    """SD of an answer."""
    always: str | None = None
    """What it says whatever it is asked."""
    last: float = 0.0
    """The share of replies that take the last option."""
    style: Style = STYLES["terse"]
    weights: dict[str, float] = field(default_factory=dict, hash=False)
    """Of the words."""

    def replies(self, rows: pd.DataFrame, seed: int) -> list[str]:
        """To rows of `rated`."""
        random = np.random.default_rng(seed)
        keys = [key for key, _ in rows.groupby(["item", "twin"])]
        mood_by_item = {key: random.normal(0, self.of_items) for key in keys}
        questions = rows.to_dict("records")
        return [self._reply(row, mood_by_item, *random.normal(size=2)) for row in questions]

    def _reply(
        self, row: dict[str, Any], mood_by_item: dict[Any, float], drawn: float, turns: float
    ) -> str:
        if self.always is not None:
            return self.always
        if row["known"] and self.knows:
            points = 4.0 if row["id"].endswith("right") else -4.0
        elif row["known"]:
            points = 4 * drawn
        else:
            mood = mood_by_item[row["item"], row["twin"]]
            mood = mood + self.mood * row["keying"] * (row["twin"] == 0)
            points = mood if row["polarity"] == "source" else -mood
            points = points + self.noise * drawn
        points += self.agrees
        distances = [abs(self.weights[word] - points) for word in row["words"]]
        place = distances.index(min(distances))
        if norm.cdf(turns) < self.last:
            place = len(distances) - 1
        return self.style(LETTERS[place], row["words"][place])
