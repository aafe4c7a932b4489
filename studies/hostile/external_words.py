"""How often the headline of a published benchmark says `detected` of a model that only likes words:
at the items that ship.

Needs the packages of requirements-models.txt. Prints a Markdown table.

A scripted model gives every word a random constant log-probability, drawn anew in each draw, as
variable as SmolLM2's (`OF_WORDS`, fitted to its answers to CrowS-Pairs), whatever stands around it.
Nothing that a text says changes it, so `detected` is false. Rows differ in what else it does: noise
of items (`OF_ITEMS`, likewise fitted), none, a dislike of length (every word costs `COST` more),
words with heavy tails, frequent words alone, units that differ (`OF_UNITS`). `--parts` judges each
bias type by itself.

The gain along a criterion cancels what words are worth. Its scripted model scores occupations by
components of their likeness, which it draws, and so does the criterion: both are as smooth as one
another, and have nothing to do with one another. A free permutation is beside it, to show that
likeness matters.

With `--detects`: the lean, or the gain in nats, that is detected, of its sign, in 80 of 100 draws.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.external import ask, declare, rows
from evenruler.instruments.external.diagnose import gain_headline
from evenruler.instruments.external.diagnose.gain import gain_items
from evenruler.instruments.external.diagnose.lean import differing_words
from evenruler.instruments.external.diagnose.parts import lean_of_parts
from evenruler.instruments.instrument import Declaration, ModelMeta
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import randomise_criterion
from evenruler.measurement.verdicts import HeadlineTest
from evenruler.models.declarations import Catalogue
from evenruler.models.model import Model
from evenruler.tables.schemas import BARE
from studies.tables import print_head, print_row

SOURCES = Path(__file__).parents[2] / "data/sources/external"
MODEL = "smollm2-135m-instruct"

OF_WORDS, OF_ITEMS, OF_UNITS, COST = 2.84, 4.0, 2.0, 8.0
"""Nats: SD over words and over items, as in SmolLM2's answers to CrowS-Pairs (by REML); over units;
and the mean cost of a word."""

FREQUENT = 50
"""Items in which a frequent word is, at least."""

POWER = 0.8

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
        self, random: np.random.Generator, words: Floats, noise: float, units: float, lean: float
    ) -> Floats:
        """[texts] nats; `words`: [vocabulary]; SDs of noise and of units; what first texts have
        more.
        """
        sums = np.bincount(self.text_of_word, words[self.words], minlength=len(self.texts))
        of_units = units * random.normal(size=len(self.unit_names))
        added = self.is_first * (of_units[self.units] + lean)
        rest = noise * random.normal(size=len(self.texts)) / np.sqrt(2)
        return sums + added + rest

    def items(self, kind: str, random: np.random.Generator, lean: float = 0.0) -> pd.DataFrame:
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


def judge_lean(
    items: pd.DataFrame, words: pd.DataFrame, plan: dict[str, Any], seed: int
) -> HeadlineTest:
    """The lean of all items, or of BBQ's ambiguous contexts, with what is said of parts."""
    if plan["score"] == "bbq":
        items = items[items["condition"] == "ambiguous"]
    return lean_of_parts(items, words, plan, seed)


def print_false_leans(name: str, tables: Any, plan: Any, draws: int, parts: bool) -> None:
    """Print a line for each kind of model, and each part."""
    model, words = WordModel(tables, plan), differing_words(tables["texts"])
    of_parts = sorted(set(tables["texts"]["part"])) if parts else [""]
    for kind in KINDS:
        hits: dict[str, list[bool]] = {part: [] for part in of_parts}
        below_alpha: dict[str, list[bool]] = {part: [] for part in of_parts}
        for draw in range(draws):
            items = model.items(kind, np.random.default_rng([draw, KINDS.index(kind)]))
            for part in of_parts:
                chosen = items[items["part"] == part] if part else items
                test = judge_lean(chosen, words, plan, draw)
                hits[part].append(test.is_detected)
                below_alpha[part].append(test.p is not None and test.p < 0.05)
        for part in of_parts:
            print_rates(" ".join([name, part]), kind, hits[part], below_alpha[part])


def print_rates(name: str, kind: str, hits: list[bool], below_alpha: list[bool]) -> None:
    """Print a line: how often p is below .05, and how often `detected` is said."""
    low, _ = proportion_confint(sum(hits), len(hits), method="wilson")
    fails = " FAILS" if low > 0.06 else ""
    share_below = f"{np.mean(below_alpha):.3f}"
    print_row(name, kind, share_below, f"{np.mean(hits):.3f}{fails}")


def smooth_gains(
    tables: Any, plan: Any, random: np.random.Generator, gain: float = 0.0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items of a model whose occupations are alike, with a criterion as smooth, and their
    likeness.
    """
    texts = tables["texts"]
    units = sorted(set(texts["unit"]))
    n = len(units)
    factors = random.normal(size=(n, SMOOTH))
    nouns = factors @ random.normal(size=(SMOOTH, 300))
    nouns = nouns + random.normal(size=(n, 300))
    criterion = factors @ random.normal(size=SMOOTH) + random.normal(size=n)
    criterion = (criterion - criterion.mean()) / criterion.std() * 0.4
    scores = factors @ random.normal(size=SMOOTH) / np.sqrt(SMOOTH)
    scores = scores + gain * criterion
    first = texts[texts["role"] == "first"]
    items = first[["item", "unit", "part", "criterion"]].reset_index(drop=True)
    of_unit = pd.Series(scores, index=units)
    noise = random.normal(size=len(items))
    items["value"] = items["unit"].map(of_unit).to_numpy() + noise
    table = gain_items(items.assign(criterion=50.0), texts, {**plan["gain"], "along": "criterion"})
    table["axis"] = table["unit"].map(pd.Series(criterion, index=units))
    return table, pd.DataFrame(nouns, index=units)


def print_false_gains(name: str, tables: Any, plan: Any, draws: int) -> None:
    """Print a line for smooth criteria, and one for the free permutation."""
    hits, below_alpha, free = [], [], []
    for draw in range(draws):
        table, likeness = smooth_gains(tables, plan, np.random.default_rng([draw, 7]))
        test = gain_headline(table, likeness, plan["units"], seed=draw)
        hits.append(test.is_detected)
        below_alpha.append(test.p is not None and test.p < 0.05)
        by_unit = table.groupby("unit")[["value", "axis"]].mean()
        effect = test.effect
        is_beyond = effect is not None and (effect.low > 0 or effect.high < 0)
        p = randomise_criterion(by_unit["value"], by_unit["axis"], None, n=999, seed=draw).p
        free.append(p < 0.05 and is_beyond)
    print_rates(name, "smooth criteria", hits, below_alpha)
    print_row(name, "smooth criteria, permuted freely", "", f"{np.mean(free):.3f}")


def find_power(
    judge: Callable[[float, np.random.Generator, int], HeadlineTest], size: float, draws: int
) -> tuple[float, float]:
    """Share of the draws in which a planted size is detected, of its sign, and its mean value."""
    hits: list[bool] = []
    values: list[float] = []
    for draw in range(draws):
        test = judge(size, np.random.default_rng([draw, 11]), draw)
        value = test.effect.value if test.effect else 0.0
        hits.append(test.is_detected and value > 0)
        values.append(value)
    return float(np.mean(hits)), float(np.mean(values))


def print_detected(name: str, tables: Any, plan: Any, draws: int) -> None:
    """Print a line: the smallest planted nats that are detected often enough, and their value."""
    if plan["gain"]:

        def judge(size: float, random: np.random.Generator, seed: int) -> HeadlineTest:
            table, likeness = smooth_gains(tables, plan, random, size)
            return gain_headline(table, likeness, plan["units"], seed=seed)

    else:
        model, words = WordModel(tables, plan), differing_words(tables["texts"])

        def judge(size: float, random: np.random.Generator, seed: int) -> HeadlineTest:
            return judge_lean(model.items(KINDS[0], random, size), words, plan, seed)

    low, high = 0.0, 16.0
    while high - low > 0.1:
        middle = (low + high) / 2
        if find_power(judge, middle, draws)[0] >= POWER:
            high = middle
        else:
            low = middle
    share, value = find_power(judge, high, draws)
    planted = f"{high:.2f} nats a text"
    print_row(name, planted, f"{value:.2f}", f"{share:.2f}")


def benchmarks(only: str) -> Iterator[tuple[str, dict[str, pd.DataFrame], dict[str, Any]]]:
    """Yield those whose name has some words, with rows and plan."""
    for path in sorted(SOURCES.glob("*.yaml")):
        if only in path.stem:
            yield path.stem, *build_benchmark(path.stem)


def main(draws: int = 200, only: str = "", parts: bool = False, detects: bool = False) -> None:
    """Print the table: false verdicts, or what is detected."""
    began = time.monotonic()
    if detects:
        print_head("benchmark", "planted", "value", "detected")
    else:
        print_head("benchmark", "model", "p < .05", "detected")
    for name, tables, plan in benchmarks(only):
        if detects:
            print_detected(name, tables, plan, draws)
        elif plan["gain"]:
            print_false_gains(name, tables, plan, draws)
        else:
            print_false_leans(name, tables, plan, draws, parts)
    seconds = time.monotonic() - began
    print(f"\n{draws} draws, {seconds:.0f} s")


if __name__ == "__main__":
    typer.run(main)
