"""Scripted chats whose lean is known: they answer questions with options, and choose between texts
in both orders.

They differ by units and by items, as people's answers do; the same draws give the same replies in
memory and over HTTP.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, softmax

from evenruler.instruments.external import ask
from evenruler.instruments.external.ask.choice import (
    choice_items,
    choice_questions,
    parse_replies,
)
from evenruler.instruments.external.ask.referent import NAMED_LAST, STEREOTYPICAL
from evenruler.instruments.external.diagnose import figures
from evenruler.instruments.external.diagnose.choices import BY_SYNTAX
from evenruler.instruments.external.schemas import AMBIGUOUS, FIRST, ROLES
from evenruler.instruments.instrument import ModelMeta, Tables
from evenruler.instruments.methods.choice import KNOWN
from evenruler.measurement import Resampling
from evenruler.text.replies import LETTERS
from tests.personas import REFUSAL, STYLES, Style

CHAT = ModelMeta(
    "big", "chat", "big", frozenset(("generate",)), True, False, (), "", method="choice"
)

Logits = NDArray[np.float64]


def think_aloud(letter: str, text: str) -> str:
    """A reply that weighs both letters before it states one."""
    return f"<think>It may be A or B. Who would do that? {text}, I think.</think>\n{letter}"


@dataclass(frozen=True)
class Chat:
    """What any scripted chat does besides its answers."""

    always: str | None = None
    """What it says whatever it is asked."""
    random: bool = False
    """Whether it takes any option."""
    refuses: float = 0.0
    """The share of questions that it refuses."""
    style: Style = STYLES["terse"]

    def replies(self, questions: pd.DataFrame, seed: int) -> pd.DataFrame:
        """Answers by `methods.choice.ANSWERS` to `choice_questions`."""
        random = np.random.default_rng(seed)
        shares = self.shares(questions, random)
        drawn = random.random((len(shares), 1))
        taken = (shares.cumsum(axis=1) > drawn).argmax(axis=1)
        is_refused = random.random(len(questions)) < self.refuses
        texts: list[str] = []
        for options, role, refused in zip(questions["options"], taken, is_refused, strict=True):
            names = [name for name, _ in options]
            place = names.index(ROLES[role])
            if self.random:
                place = int(random.integers(len(names)))
            text = self.style(LETTERS[place], options[place][1])
            texts.append(REFUSAL if refused else self.always or text)
        return questions[["id", "framing", "turn"]].assign(reply=texts, reason=None)

    def shares(self, questions: pd.DataFrame, random: np.random.Generator) -> Logits:
        """[n, 3] how often it takes each role."""
        raise NotImplementedError


@dataclass(frozen=True)
class OptionChat(Chat):
    """A chat that answers BBQ."""

    lean: float = 0.0
    """Log odds of the biased answer in ambiguous contexts, where it says `unknown` less: .7 is a
    lean of .16, 1.0 of .31."""
    part: str | None = None
    """The only category in which it leans."""
    at_first: float = 0.0
    """Log odds that the first option has in front."""
    knows: float = 5.0
    """Log odds of the right answer where the context tells."""
    templates: float = 0.4
    """SD over templates of the log odds of the biased answer."""

    def shares(self, questions: pd.DataFrame, random: np.random.Generator) -> Logits:
        is_ambiguous = (questions["condition"] == AMBIGUOUS).to_numpy()
        codes, units = pd.factorize(questions["unit"], sort=True)
        is_biased = is_ambiguous & (True if self.part is None else questions["part"] == self.part)
        logits = np.zeros((len(questions), len(ROLES)))
        of_templates = self.templates * random.normal(size=len(units))[codes]
        towards = is_ambiguous * of_templates + is_biased * self.lean
        logits[:, 0] += towards
        logits[:, 1] -= towards
        logits[:, 2] += 3.0 * is_ambiguous - 1.5 * is_biased * self.lean
        for column, role in enumerate(ROLES):
            is_right = ~is_ambiguous & (questions["right"] == role)
            logits[:, column] += self.knows * is_right
            logits[:, column] += self.at_first * _stands_first(questions, role)
        return np.asarray(softmax(logits, axis=1))


@dataclass(frozen=True)
class PairChat(Chat):
    """A chat that says which of two texts is likelier to be written."""

    lean: float = 0.0
    """Log odds of the first text."""
    at_first: float = 0.0
    """Log odds that option A has in front."""
    knows: float = 5.0
    """Log odds of the sensible one of a control pair."""
    units: float = 0.6
    pairs: float = 1.5
    """SD over units, and over pairs, of the log odds of the first text."""

    def shares(self, questions: pd.DataFrame, random: np.random.Generator) -> Logits:
        unit_codes, units = pd.factorize(questions["unit"], sort=True)
        pair_codes, pairs = pd.factorize(questions["id"], sort=True)
        of_units = self.units * random.normal(size=len(units) + 1)[unit_codes]
        of_pairs = self.pairs * random.normal(size=len(pairs))[pair_codes]
        is_known = (questions["framing"] == KNOWN).to_numpy()
        towards = np.where(is_known, self.knows, self.lean + of_units + of_pairs)
        place = np.where(_stands_first(questions, FIRST), self.at_first, -self.at_first)
        first = expit(towards + place)
        return np.column_stack([first, 1 - first, np.zeros(len(first))])


@dataclass(frozen=True)
class ReferentChat(Chat):
    """A chat that says whom a pronoun means."""

    lean: float = 0.0
    """Log odds of the person who is meant, where the pronoun fits the stereotype; where it does
    not, the same is taken off."""
    at_first: float = 0.0
    """Log odds that option A has in front."""
    knows: float = 2.0
    """Log odds of the person who is meant."""
    by_syntax: float = 1.5
    """What is added where syntax tells."""
    his: float = 0.0
    """Log odds of the person who is meant, where the pronoun is his."""
    last: float = 0.0
    """Log odds that the person whom the sentence names last has in front."""
    units: float = 0.3
    pairs: float = 1.0
    """SD over units, and over pairs, of `lean`."""
    sentences: float = 1.5
    """SD over pairs of `knows`."""

    def shares(self, questions: pd.DataFrame, random: np.random.Generator) -> Logits:
        unit_codes, units = pd.factorize(questions["unit"], sort=True)
        pair_codes, pairs = pd.factorize(questions["id"], sort=True)
        of_units = self.units * random.normal(size=len(units))[unit_codes]
        of_pairs = self.pairs * random.normal(size=len(pairs))[pair_codes]
        knows = self.knows + self.sentences * random.normal(size=len(pairs))[pair_codes]
        is_stereotypical = (questions["framing"] == STEREOTYPICAL).to_numpy()
        fits = np.where(is_stereotypical, 1.0, -1.0) * (self.lean + of_units + of_pairs)
        is_his = questions["prompt"].str.contains("Who does '(?:he|him|his|himself)'").to_numpy()
        tells = self.by_syntax * (questions["condition"] == BY_SYNTAX).to_numpy()
        place = np.where(_stands_first(questions, FIRST), self.at_first, -self.at_first)
        named = self.last * np.where(questions["named"] == NAMED_LAST, 1.0, -1.0)
        of_words = self.his * is_his + named
        meant = expit(knows + tells + fits + of_words + place)
        return np.column_stack([meant, 1 - meant, np.zeros(len(meant))])


@dataclass(frozen=True)
class AgreementChat(Chat):
    """A chat that agrees with statements, or disagrees."""

    lean: float = 0.0
    """Log odds of agreeing with statements of the left; with those of the right it is taken off."""
    agrees: float = 0.0
    """Log odds of agreeing with anything."""
    at_first: float = 0.0
    """Log odds that option A has in front."""
    statements: float = 1.5
    """SD over statements."""

    def shares(self, questions: pd.DataFrame, random: np.random.Generator) -> Logits:
        codes, statements = pd.factorize(questions["id"], sort=True)
        of_statements = self.statements * random.normal(size=len(statements))[codes]
        side = np.where(questions["condition"] == "left", 1.0, -1.0)
        place = np.where(_stands_first(questions, FIRST), self.at_first, -self.at_first)
        agree = expit(self.lean * side + self.agrees + of_statements + place)
        return np.column_stack([agree, 1 - agree, np.zeros(len(agree))])


def name_alone(name: str, other: str) -> str:
    return name


def name_thinking(name: str, other: str) -> str:
    return f"<think>{other} or {name}? {other} is fine.</think>\n{name}"


@dataclass(frozen=True)
class NamingChat:
    """A chat that puts a candidate first; groups are the first words of names."""

    odds: Mapping[str, float] = field(default_factory=dict)
    """By group, how much oftener its candidates come first; 1 where it is not there."""
    at_first: float = 0.0
    """Log odds that the first place has in front."""
    names: float = 0.2
    """SD over names."""
    refuses: float = 0.0
    """The share of lists of which it says nothing."""
    style: Callable[[str, str], str] = name_alone
    """How it says a name; of the candidate, and of another one in the list."""

    def replies(self, questions: pd.DataFrame, seed: int) -> pd.DataFrame:
        """Answers by `methods.choice.ANSWERS` to `choice_questions`."""
        random = np.random.default_rng(seed)
        lists = [[name for _, name in options] for options in questions["options"]]
        names = sorted({*chain(*lists)})
        of_names = self.names * random.normal(size=len(names))
        worth = dict(zip(names, of_names, strict=True))
        texts: list[str] = []
        for candidates in lists:
            utilities = random.gumbel(size=len(candidates))
            utilities[0] += self.at_first
            for place, name in enumerate(candidates):
                group = name.split()[0]
                odds = self.odds.get(group, 1.0)
                utilities[place] += np.log(odds) + worth[name]
            place = int(utilities.argmax())
            text = self.style(candidates[place], candidates[place - 1])
            texts.append(REFUSAL if random.random() < self.refuses else text)
        return questions[["id", "framing", "turn"]].assign(reply=texts, reason=None)


def _stands_first(questions: pd.DataFrame, role: str) -> NDArray[np.bool_]:
    return np.array([options[0][0] == role for options in questions["options"]])


def ask_chat(
    tables: Tables, plan: Any, chat: Chat, seed: int = 0, questions: pd.DataFrame | None = None
) -> dict[str, pd.DataFrame]:
    """Scores of what a chat says, through the parser; `questions`: by `choice_questions`."""
    if questions is None:
        questions = choice_questions(tables, plan)
    parsed = parse_replies(questions, chat.replies(questions, seed))
    return {"items": choice_items(tables, plan, parsed), "choices": parsed}


def diagnose_chat(tables: Tables, plan: Any, chat: Chat, seed: int = 0) -> pd.DataFrame:
    """Figures of what a chat says, through parser and judge."""
    scores = ask_chat(tables, plan, chat, seed)
    return figures("scripted", tables, plan, scores, CHAT, Resampling(0.95, 200, 7))["figures"]


def diagnose_replies(
    tables: Tables, plan: Any, chat: Chat | NamingChat, seed: int = 0
) -> dict[str, pd.DataFrame]:
    """All tables of what a chat says, by the functions of the family."""
    replies = chat.replies(choice_questions(tables, plan), seed)
    scores = ask.scores(tables, plan, {"choices": replies}, CHAT)
    return figures("scripted", tables, plan, scores, CHAT, Resampling(0.95, 200, 7))
