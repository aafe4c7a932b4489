"""How often the lean of a published benchmark gets a false verdict, where nothing leans: at the
units that ship.

Run by hand: `python -m tests.performance.external_lean [--draws N] [--only WORDS] [--detects]`, with
the packages of requirements-models.txt, and `EVENRULER_MIRROR` for the rows of published answers.
Prints a Markdown table.

Each draw deals the roles of whole units at random: in half of the units the first text becomes the
second one, with its length and frequency. So the lean is 0 over draws, whatever the model does, and
an `effect` or a `not specific` is false; `no effect` is true. Answers are those that authors
published (StereoSet, BBQ), where there are any; else scripted ones, drawn anew in each draw: the
shorter text is likelier (by `PENALTY` nats a token), units differ (`OF_UNITS` nats), items too (1
nat). Where the shorter one always wins, nothing is drawn but roles.

With `--detects`: the lean that gets the verdict `effect`, of its sign, in 80 of 100 draws. Roles
are dealt likewise, of answers that SmolLM2 gives to all items (those that authors published, where
there are any); then as many items, drawn one by one, are turned to the first text as make the lean:
so items of a unit go together as they do on that model.
"""

import argparse
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from evenruler.declaration.params import load_params
from evenruler.instruments.external import ask, declare, rows
from evenruler.instruments.external.diagnose import lean_headline, lean_weights
from evenruler.instruments.instrument import Declaration, ModelMeta
from evenruler.measurement.figures import HeadlineFigure, Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from evenruler.models.answer_logs import LoggedModel
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.model import Model
from evenruler.models.sources import MIRROR
from evenruler.models.store import RowStore
from evenruler.tables.schemas import BARE
from tests.performance.tables import print_head, print_row

SOURCES = Path(__file__).parents[2] / "data/sources/external"
PENALTY, OF_UNITS = 0.5, 1.0
ALWAYS = 1e6
"""Nats a token by which the shorter text always wins."""

PUBLISHED = {
    "stereoset": ("stereoset/predictions_gpt2_ModelNSP_GPT2LM.json", ""),
    "bbq": ("bbq", "#unifiedqa-t5-11b_pred_race"),
}
MODEL = "smollm2-135m-instruct"
"""Whose answers `--detects` rests on, where authors published none."""

POWER = 0.8

VERDICTS = [str(verdict) for verdict in Verdict if verdict != Verdict.INVALID]

SUBJECT = ModelMeta("any", "recorded", "any", frozenset(("loglikelihood",)), False, True, (), "")


def built(name: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """All rows and the plan of a benchmark."""
    settings = declare.Settings.model_validate({}, context={"profile": "paper"})
    source = declare.load(SOURCES / f"{name}.yaml", settings, SOURCES / "shared")
    benchmark = rows.build(Declaration(name, "external", settings, source), Catalogue(models={}))
    return {name: table.to_pandas() for name, table in benchmark.tables.items()}, benchmark.plan


def items_of(
    tables: dict[str, pd.DataFrame], plan: dict[str, Any], nats: Any, tokens: Any
) -> pd.DataFrame:
    """Items of answers, [texts]."""
    ids = tables["texts"]["id"]
    answers = pd.DataFrame(
        {"id": ids, "text_id": ids, "framing": BARE, "nats": nats, "tokens": tokens}
    )
    tables_of_answers = {"likelihoods": answers, "starts": answers[:0]}
    return ask.scores(tables, plan, tables_of_answers, SUBJECT)["items"]


def published(name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as the authors' model answered them."""
    place, column = PUBLISHED[name]
    source = f"recorded:{Path(os.environ[MIRROR]) / place}{column}"
    entry = ModelEntry(kind="recorded", source=source, licence="not stated", origin="authors")
    texts = tables["texts"]
    store = RowStore(Path(os.environ.get("EVENRULER_CACHE", ".cache")))
    answers = LoggedModel(name, entry, store).loglikelihood(
        texts["text"].tolist(), texts["prompt"].tolist(), keys=texts["key"].tolist()
    )
    return items_of(tables, plan, answers.nats, answers.tokens)


def ask_bare(model: Model, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as a model answers all of them, bare."""
    texts = tables["texts"]
    answers = model.loglikelihood(texts["text"].tolist(), texts["prompt"].tolist())
    return items_of(tables, plan, answers.nats, answers.tokens)


def planted(
    items: pd.DataFrame, plan: dict[str, Any], lean: float, random: np.random.Generator
) -> pd.DataFrame:
    """Items with roles dealt, of which so many are turned to the first text that they lean by so
    much."""
    items = dealt(items, random)
    against, weights = items["lean"].to_numpy() < 0, lean_weights(items, plan["score"])
    share = lean * weights.sum() / (2 * weights[against].sum())
    turned = against & (random.random(len(items)) < share)
    return items.assign(lean=np.where(turned, 1.0, items["lean"]))


def judge_lean(items: pd.DataFrame, plan: dict[str, Any], seed: int) -> HeadlineFigure:
    """The lean with its verdict."""
    lean = lean_headline(items, plan["score"], plan["units"], plan["smallest"], seed)
    (figure,) = judge([(lean, ValidityCheck())])
    assert isinstance(figure, HeadlineFigure)
    return figure


def size_of(items: pd.DataFrame) -> str:
    """How many items in how many units."""
    return f"{len(items):,} in {items['unit'].nunique()}"


def finds(items: pd.DataFrame, plan: dict[str, Any], lean: float, draws: int) -> float:
    """Share of the draws in which a planted lean is an effect of its sign."""
    hits = 0
    for draw in range(draws):
        leaning = planted(items, plan, lean, np.random.default_rng([draw, len(items)]))
        figure = judge_lean(leaning, plan, draw)
        hits += figure.verdict == Verdict.EFFECT and (figure.value or 0) > 0
    return hits / draws


def print_detected(title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int) -> None:
    """Print a line of the table of `--detects`: the smallest lean, in hundredths, that is found
    often enough."""
    low, high = 0, 99
    while high - low > 1:
        middle = (low + high) // 2
        if finds(items, plan, middle / 100, draws) >= POWER:
            high = middle
        else:
            low = middle
    lean = high / 100
    share = f"{finds(items, plan, lean, draws):.2f}"
    print_row(title, size_of(items), f"{lean:.2f}", f"{(1 + lean) / 2:.3f}", share)


def scripted(items: pd.DataFrame, penalty: float, random: np.random.Generator) -> pd.DataFrame:
    """The same items with answers of a model that minds length, by `penalty` nats a token, and
    units."""
    codes, units = pd.factorize(items["unit"])
    of_units = OF_UNITS * random.normal(size=len(units))
    ratio = of_units[codes] + random.normal(size=len(items)) - penalty * items["length"]
    return items.assign(value=ratio, lean=np.sign(ratio), won=ratio > 0)


def dealt(items: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """The same items with the roles of whole units dealt at random."""
    codes, units = pd.factorize(items["unit"])
    sign = random.choice([-1.0, 1.0], size=len(units))[codes]
    columns = ["value", "lean", "length", "frequency"]
    return items.assign(**items[columns].mul(sign, axis=0))


def print_false(
    title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int, penalty: float | None = None
) -> None:
    """Print a line of the table of false verdicts."""
    counts: Counter[str] = Counter()
    for draw in range(draws):
        random = np.random.default_rng([draw, len(items)])
        answered = items if penalty is None else scripted(items, penalty, random)
        counts[str(judge_lean(dealt(answered, random), plan, draw).verdict)] += 1
    false = counts[Verdict.EFFECT] + counts[Verdict.NOT_SPECIFIC]
    low, _ = proportion_confint(false, draws, method="wilson")
    fails = " FAILS" if low > 0.05 else ""
    share = f"{false / draws:.3f} [{low:.3f}]{fails}"
    print_row(title, size_of(items), *(counts[verdict] for verdict in VERDICTS), share)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--only", default="", help="benchmarks whose name has these words")
    parser.add_argument(
        "--detects", action="store_true", help="the lean that is found, not false verdicts"
    )
    args, began = parser.parse_args(), time.monotonic()
    print_line = print_detected if args.detects else print_false
    columns = [*VERDICTS, "false [Wilson's lower end]"]
    if args.detects:
        columns = ["lean", "share", "found"]
    print_head("benchmark, answers", "items in units", *columns)
    for path in sorted(SOURCES.glob("*.yaml")):
        if args.only not in path.stem:
            continue
        tables, plan = built(path.stem)
        if path.stem in PUBLISHED:
            if MIRROR not in os.environ:
                continue
            items = published(path.stem, tables, plan)
            if path.stem != "bbq":
                items = items.assign(condition="all")
            for condition, answered in items.groupby("condition"):
                print_line(f"{path.stem}, {condition}, published", answered, plan, args.draws)
        elif args.detects:
            items = ask_bare(load_model(MODEL, load_params()), tables, plan)
            print_detected(f"{path.stem}, {MODEL}", items, plan, args.draws)
        else:
            n_tokens = tables["texts"]["text"].str.len() // ask.LETTERS_A_TOKEN
            items = items_of(tables, plan, 0.0, n_tokens)
            for title, penalty in (("scripted", PENALTY), ("the shorter always wins", ALWAYS)):
                print_false(f"{path.stem}, {title}", items, plan, args.draws, penalty)
    print(f"\n{args.draws} draws, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
