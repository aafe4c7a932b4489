"""Published benchmarks: scripted models that only like words, or occupations, through the family's
`lean_of_parts` and `gain_headline`, at the items that ship.

A scripted model gives every word a random constant log-probability, drawn anew in each draw, as
variable as SmolLM2's (`OF_WORDS`, fitted to its answers to CrowS-Pairs), whatever stands around it.
Nothing that a text says changes it, so `detected` is false. Kinds differ in what else it does:
noise of items (`OF_ITEMS`, likewise fitted), none, a dislike of length (every word costs `COST`
more), words with heavy tails, frequent words alone, units that differ (`OF_UNITS`).

The gain along a criterion cancels what words are worth. Its scripted model scores occupations by
components of their likeness, which it draws, and so does the criterion: both are as smooth as one
another, and have nothing to do with one another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import log
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from evenruler.instruments.external import ask, declare, rows
from evenruler.instruments.external.diagnose import gain_headline
from evenruler.instruments.external.diagnose.gain import gain_items
from evenruler.instruments.external.diagnose.lean import differing_words
from evenruler.instruments.external.diagnose.parts import lean_of_parts
from evenruler.instruments.instrument import Declaration, ModelMeta
from evenruler.measurement import slopes
from evenruler.measurement.inputs import Floats
from evenruler.measurement.verdicts import HeadlineTest
from evenruler.models.declarations import Catalogue
from evenruler.models.model import Model
from evenruler.tables.schemas import BARE
from studies.planted.cases import (
    Case,
    Outcome,
    Random,
    control_of,
    judge_study,
    read_studies,
)

SOURCES = Path(__file__).parents[2] / "data/sources/external"
MODEL = "smollm2-135m-instruct"

OF_WORDS, OF_ITEMS, OF_UNITS, COST = 2.84, 4.0, 2.0, 8.0
"""Nats: SD over words and over items, as in SmolLM2's answers to CrowS-Pairs (by REML); over units;
and the mean cost of a word."""

FREQUENT = 50
"""Items in which a frequent word is, at least."""

SMOOTH = 8
"""Components of likeness that occupations' scores and the criterion load on."""

SUBJECT = ModelMeta(
    "any",
    "recorded",
    "any",
    frozenset(("loglikelihood",)),
    False,
    True,
    (),
    "",
)


def build_benchmark(name: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """All rows and the plan of a benchmark."""
    settings = declare.Settings.model_validate({}, context={"profile": "paper"})
    source = declare.load(
        SOURCES / f"{name}.yaml",
        settings,
        SOURCES / "shared",
    )
    benchmark = rows.build(
        Declaration(name, "external", settings, source),
        Catalogue(models={}),
    )
    return {name: table.to_pandas() for name, table in benchmark.tables.items()}, benchmark.plan


def score_answers(
    tables: dict[str, pd.DataFrame], plan: dict[str, Any], nats: Any, tokens: Any
) -> pd.DataFrame:
    """Items of answers, [texts]."""
    ids = tables["texts"]["id"]
    answers = pd.DataFrame(
        {"id": ids, "text_id": ids, "framing": BARE, "nats": nats, "tokens": tokens}
    )
    tables_of_answers = {"likelihoods": answers, "starts": answers[:0]}
    return ask.scores(tables, plan, tables_of_answers, SUBJECT)["items"]


def ask_bare(model: Model, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as a model answers all of them, bare."""
    texts = tables["texts"]
    answers = model.loglikelihood(
        texts["text"].tolist(),
        texts["prompt"].tolist(),
    )
    return score_answers(tables, plan, answers.nats, answers.tokens)


class WordModel:
    """A model that likes words, whatever is said with them, asked the texts of a benchmark."""

    def __init__(self, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> None:
        self.texts, self.plan, self.tables = tables["texts"], plan, tables
        split = self.texts["text"].str.lower().str.findall(r"\w+|[^\w\s]")
        self.lengths = split.str.len().to_numpy()
        self.words, self.vocabulary = pd.factorize(np.concatenate(split.to_list()))
        self.text_of_word = np.repeat(np.arange(len(split)), self.lengths)
        self.units, self.unit_names = pd.factorize(self.texts["unit"])
        pairs = pd.DataFrame({"word": self.words, "text": self.text_of_word}).drop_duplicates()
        words = range(len(self.vocabulary))
        self.n_texts = pairs.groupby("word").size().reindex(words)
        self.is_first = (self.texts["role"] == "first").to_numpy()

    def nats(
        self, random: Random, words: Floats, noise: float, units: float, lean: float
    ) -> Floats:
        """[texts] nats; `words`: [vocabulary]; SDs of noise and of units; what first texts have
        more.
        """
        sums = np.bincount(self.text_of_word, words[self.words], minlength=len(self.texts))
        of_units = units * random.normal(size=len(self.unit_names))
        added = self.is_first * (of_units[self.units] + lean)
        rest = noise * random.normal(size=len(self.texts)) / np.sqrt(2)
        return sums + added + rest

    def items(self, kind: str, random: Random, lean: float = 0.0) -> pd.DataFrame:
        """Its answers; `kind`: of `KINDS`."""
        size = len(self.vocabulary)
        words = OF_WORDS * random.normal(size=size)
        noise, units = OF_ITEMS, 0.0
        if kind == "words alone":
            noise = 1e-6
        if kind == "and a dislike of length":
            words = words - COST
        if kind == "heavy tails":
            words = OF_WORDS * random.standard_t(3, size=size) / np.sqrt(3)
        if kind == "frequent words alone":
            words = np.where(self.n_texts >= FREQUENT, words, 0.0)
        if kind == "and units that differ":
            units = OF_UNITS
        if kind == "units alone":
            words, units = 0 * words, OF_UNITS
        if kind == "noise alone":
            words = 0 * words
        nats = self.nats(random, words, noise, units, lean)
        return score_answers(self.tables, self.plan, nats, self.lengths)


KINDS = (
    "words and noise",
    "words alone",
    "and a dislike of length",
    "heavy tails",
    "frequent words alone",
    "and units that differ",
    "units alone",
    "noise alone",
)


@cache
def open_benchmark(name: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """The rows and the plan of a benchmark, built once."""
    return build_benchmark(name)


@cache
def open_word_model(name: str) -> tuple[WordModel, pd.DataFrame]:
    """A scripted model of a benchmark, and the words in which its texts differ."""
    tables, plan = open_benchmark(name)
    return WordModel(tables, plan), differing_words(tables["texts"])


RANDOMISATIONS = 999
"""Of roles and criteria; 9,999 ship: p is as exact, in coarser steps."""


@dataclass(frozen=True)
class LeanStudy:
    """Answers of a model that likes words to a benchmark."""

    benchmark: str
    kind: str
    nats: float = 0.0
    """How much likelier every first text is."""

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome; a planted lean is the mean of what is read."""
        test = self.read_lean(random)
        outcome = judge_study(replace(test, control=control_of(1.0)), self.true_lean())
        return outcome if self.nats else replace(outcome, false_below=None)

    def read_lean(self, random: Random) -> HeadlineTest:
        """The lean of all items, or of BBQ's ambiguous contexts."""
        model, words = open_word_model(self.benchmark)
        items, plan = model.items(self.kind, random, self.nats), model.plan
        if plan["score"] == "bbq":
            items = items[items["condition"] == "ambiguous"]
        seed = int(random.integers(2**31))
        return lean_of_parts(items, words, plan, seed, n=RANDOMISATIONS)

    def true_lean(self) -> float:
        """The share of first texts that are likelier than second ones, less that of others."""
        return _mean_lean(self) if self.nats else 0.0


@cache
def _mean_lean(study: LeanStudy) -> float:
    """Of 200 models, the mean share of likelier first texts less that of likelier second ones."""
    model, _ = open_word_model(study.benchmark)
    means: list[float] = []
    for seed in range(200):
        items = model.items(study.kind, np.random.default_rng([seed, 1]), study.nats)
        means.append(float(np.sign(items["value"]).mean()))
    return float(np.mean(means))


@dataclass(frozen=True)
class GainStudy:
    """Answers of a model whose occupations are alike, along a criterion as smooth."""

    benchmark: str
    gain: float = 0.0
    alike: float = 1.0
    """Share of the SD of scores and criterion that is alike; of nouns all."""
    outlier: float = 0.0
    """How many SD the occupation with the largest criterion is off."""
    wide_ends: bool = False
    """Whether scores scatter in proportion to the criterion's distance from its middle."""

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome."""
        table, likeness = self.draw_items(random)
        _, plan = open_benchmark(self.benchmark)
        seed = int(random.integers(2**31))
        with patch.object(slopes, "detectable_slope", lambda *_: 0.0):
            test = gain_headline(table, likeness, plan["units"], seed=seed, n=RANDOMISATIONS)
        return judge_study(replace(test, control=control_of(2.0)), self.gain)

    def draw_items(self, random: Random) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Items by `gain_items`, and likeness."""
        tables, plan = open_benchmark(self.benchmark)
        texts = tables["texts"]
        units = sorted(set(texts["unit"]))
        n = len(units)
        factors = random.normal(size=(n, SMOOTH))
        nouns = factors @ random.normal(size=(SMOOTH, 300))
        nouns = nouns + random.normal(size=(n, 300))
        criterion = self.alike * (factors @ random.normal(size=SMOOTH))
        criterion = criterion + random.normal(size=n)
        criterion = (criterion - criterion.mean()) / criterion.std()
        scores = self.alike * (factors @ random.normal(size=SMOOTH)) / np.sqrt(SMOOTH)
        if self.alike < 1:
            scores = scores + random.normal(size=n)
        if self.wide_ends:
            scores = scores * np.abs(criterion)
        sign = random.choice([-1, 1])
        scores[np.argmax(criterion)] += self.outlier * sign
        criterion = 0.4 * criterion
        scores = scores + self.gain * criterion
        first = texts[texts["role"] == "first"]
        items = first[["item", "unit", "part", "criterion"]].reset_index(drop=True)
        noise = random.normal(size=len(items))
        of_unit = pd.Series(scores, index=units)
        items["value"] = items["unit"].map(of_unit).to_numpy() + noise
        along = {**plan["gain"], "along": "criterion"}
        table = gain_items(items.assign(criterion=50.0), texts, along)
        table["axis"] = table["unit"].map(pd.Series(criterion, index=units))
        return table, pd.DataFrame(nouns, index=units)


@dataclass(frozen=True)
class WordGainStudy:
    """Answers of a model that likes words to a benchmark with a gain."""

    benchmark: str
    kind: str

    def draw(self, random: Random) -> Outcome:
        """The judge's outcome, with smooth likeness that has nothing to do with the answers."""
        model, _ = open_word_model(self.benchmark)
        table = gain_items(model.items(self.kind, random), model.texts, model.plan["gain"])
        units = sorted(set(table["unit"]))
        factors = random.normal(size=(len(units), SMOOTH))
        nouns = factors @ random.normal(size=(SMOOTH, 300))
        likeness = pd.DataFrame(nouns + random.normal(size=nouns.shape), index=units)
        seed = int(random.integers(2**31))
        with patch.object(slopes, "detectable_slope", lambda *_: 0.0):
            test = gain_headline(table, likeness, model.plan["units"], seed=seed, n=RANDOMISATIONS)
        return judge_study(test, 0.0)


GAINS = """
winogender, smooth criteria: {}
winogender, independent occupations: {alike: 0.0}
winogender, one occupation 6 SD off: {outlier: 6.0}
'ours: winogender, half alike': {alike: 0.5}
'ours: winogender, they scatter in proportion to the distance': {wide_ends: true}
winobias, smooth criteria: {benchmark: winobias}
bec-pro, smooth criteria: {benchmark: bec-pro}
"""


def list_gains() -> Mapping[str, GainStudy]:
    """Studies of a gain by what is planted."""
    plain = GainStudy("winogender")
    studies = read_studies(plain, GAINS)
    for size in (log(2), 1.34, 2.0):
        studies[f"winogender, a gain of {size:.2f} nats"] = replace(plain, gain=size)
    return studies


def list_cases() -> Iterator[Case]:
    """All cases."""
    for planted, study in list_gains().items():
        yield Case("external", planted, study.draw, share=0.5)
    for kind in KINDS:
        case = LeanStudy("crows-pairs", kind)
        yield Case("external", f"crows-pairs, {kind}", case.draw, share=0.5)
    for nats in (1.5, 3.0, 6.0):
        lean = LeanStudy("crows-pairs", KINDS[0], nats)
        yield Case("external", f"crows-pairs, {nats:g} nats", lean.draw, share=0.2)
    for benchmark in ("winogender", "winobias", "bec-pro"):
        words = WordGainStudy(benchmark, KINDS[0])
        yield Case("external", f"{benchmark}, {KINDS[0]}", words.draw, share=0.2)
    for benchmark, share in (("stereoset", 0.05), ("bbq", 0.1)):
        lean = LeanStudy(benchmark, KINDS[0])
        yield Case("external", f"{benchmark}, {KINDS[0]}", lean.draw, share=share)
