"""How often the lean of a published benchmark gets a false verdict, where nothing leans: at the
units that ship.

Needs the packages of requirements-models.txt, and `EVENRULER_MIRROR` for the rows of published
answers. Prints a Markdown table.

Each draw deals the roles of whole units at random: in half of the units the first text becomes the
second one, with its length and frequency. So the lean is 0 over draws, whatever the model does, and
`detected` is false; `below` is true. Answers are those that authors
published (StereoSet, BBQ), where there are any; else scripted ones, drawn anew in each draw: the
shorter text is likelier (by `PENALTY` nats a token), units differ (`OF_UNITS` nats), items too (1
nat). Where the shorter one always wins, nothing is drawn but roles.

With `--detects`: the lean that is `detected` with its sign, in 80 of 100 draws. Roles
are dealt likewise, of answers that SmolLM2 gives to all items (those that authors published, where
there are any); then as many items, drawn one by one, are turned to the first text as make the lean:
so items of a unit go together as they do on that model.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from statsmodels.stats.proportion import proportion_confint

from evenruler.declaration.params import load_params
from evenruler.instruments.external import ask, declare, rows
from evenruler.instruments.external.diagnose import lean_headline, lean_weights
from evenruler.instruments.instrument import Declaration, ModelMeta
from evenruler.measurement.figures import HeadlineFigure, Verdict
from evenruler.measurement.verdicts import judge
from evenruler.models.answer_logs import LoggedModel
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.model import Model
from evenruler.models.sources import MIRROR
from evenruler.models.store import RowStore
from evenruler.tables.schemas import BARE
from studies.tables import print_head, print_row

SOURCES = Path(__file__).parents[2] / "data/sources/external"
PENALTY, OF_UNITS = 0.5, 1.0
ALWAYS = 1e6
"""Nats a token by which the shorter text always wins."""
SCRIPTED = {"scripted": PENALTY, "the shorter always wins": ALWAYS}

PUBLISHED = {
    "stereoset": ("stereoset/predictions_gpt2_ModelNSP_GPT2LM.json", ""),
    "bbq": ("bbq", "#unifiedqa-t5-11b_pred_race"),
}
MODEL = "smollm2-135m-instruct"
"""Whose answers `--detects` rests on, where authors published none."""

POWER = 0.8

VERDICTS = [str(verdict) for verdict in Verdict if verdict != Verdict.INVALID]

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


def read_published(
    name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any]
) -> pd.DataFrame:
    """Items as the authors' model answered them."""
    place, column = PUBLISHED[name]
    source = f"recorded:{Path(os.environ[MIRROR]) / place}{column}"
    entry = ModelEntry(kind="recorded", source=source, licence="not stated", origin="authors")
    texts = tables["texts"]
    store = RowStore(Path(os.environ.get("EVENRULER_CACHE", ".cache")))
    answers = LoggedModel(name, entry, store).loglikelihood(
        texts["text"].tolist(), texts["prompt"].tolist(), keys=texts["key"].tolist()
    )
    return score_answers(tables, plan, answers.nats, answers.tokens)


def ask_bare(model: Model, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as a model answers all of them, bare."""
    texts = tables["texts"]
    answers = model.loglikelihood(
        texts["text"].tolist(),
        texts["prompt"].tolist(),
    )
    return score_answers(tables, plan, answers.nats, answers.tokens)


def plant_lean(
    items: pd.DataFrame, plan: dict[str, Any], lean: float, random: np.random.Generator
) -> pd.DataFrame:
    """Items with roles dealt, of which so many are turned to the first text that they lean by so
    much."""
    items = deal_roles(items, random)
    against, weights = items["lean"].to_numpy() < 0, lean_weights(items, plan["score"])
    share = lean * weights.sum() / (2 * weights[against].sum())
    turned = against & (random.random(len(items)) < share)
    return items.assign(lean=np.where(turned, 1.0, items["lean"]))


def judge_lean(items: pd.DataFrame, plan: dict[str, Any], seed: int) -> HeadlineFigure:
    """The lean with its verdict."""
    lean = lean_headline(
        items,
        plan["score"],
        plan["units"],
        plan["bound"],
        seed,
    )
    return judge(lean)


def describe_size(items: pd.DataFrame) -> str:
    """How many items in how many units."""
    return f"{len(items):,} in {items['unit'].nunique()}"


def find_power(items: pd.DataFrame, plan: dict[str, Any], lean: float, draws: int) -> float:
    """Share of the draws in which a planted lean is detected with its sign."""
    hits = 0
    for draw in range(draws):
        leaning = plant_lean(
            items,
            plan,
            lean,
            np.random.default_rng([draw, len(items)]),
        )
        figure = judge_lean(leaning, plan, draw)
        hits += Verdict(str(figure.verdict)).is_detected and (figure.value or 0) > 0
    return hits / draws


def print_detected(title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int) -> None:
    """Print a line of the table of `--detects`: the smallest lean, in hundredths, that is found
    often enough."""
    low, high = 0, 99
    while high - low > 1:
        middle = (low + high) // 2
        if find_power(items, plan, middle / 100, draws) >= POWER:
            high = middle
        else:
            low = middle
    lean = high / 100
    share = f"{find_power(items, plan, lean, draws):.2f}"
    print_row(
        title,
        describe_size(items),
        f"{lean:.2f}",
        f"{(1 + lean) / 2:.3f}",
        share,
    )


def script_answers(
    items: pd.DataFrame, penalty: float, random: np.random.Generator
) -> pd.DataFrame:
    """The same items with answers of a model that minds length, by `penalty` nats a token, and
    units."""
    codes, units = pd.factorize(items["unit"])
    of_units = OF_UNITS * random.normal(size=len(units))
    ratio = of_units[codes] + random.normal(size=len(items)) - penalty * items["length"]
    return items.assign(value=ratio, lean=np.sign(ratio), won=ratio > 0)


def deal_roles(items: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """The same items with the roles of whole units dealt at random."""
    codes, units = pd.factorize(items["unit"])
    sign = random.choice(
        [-1.0, 1.0],
        size=len(units),
    )[codes]
    columns = ["value", "lean", "length", "frequency"]
    return items.assign(**items[columns].mul(sign, axis=0))


def print_false(
    title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int, penalty: float | None = None
) -> None:
    """Print a line of the table of false verdicts."""
    counts: Counter[str] = Counter()
    for draw in range(draws):
        random = np.random.default_rng([draw, len(items)])
        answered = items if penalty is None else script_answers(items, penalty, random)
        counts[
            str(
                judge_lean(
                    deal_roles(answered, random),
                    plan,
                    draw,
                ).verdict
            )
        ] += 1
    false = sum(counts[verdict] for verdict in Verdict if verdict.is_detected)
    low, _ = proportion_confint(false, draws, method="wilson")
    fails = " FAILS" if low > 0.05 else ""
    share = f"{false / draws:.3f} [{low:.3f}]{fails}"
    print_row(
        title,
        describe_size(items),
        *(counts[verdict] for verdict in VERDICTS),
        share,
    )


def list_published(
    name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield items that authors published, by condition; none without the mirror."""
    if MIRROR in os.environ:
        items = read_published(name, tables, plan)
        if name != "bbq":
            items = items.assign(condition="all")
        for condition, answered in items.groupby("condition"):
            yield f"{name}, {condition}, published", answered


def main(draws: int = 200, only: str = "", detects: bool = False) -> None:
    """Print the table of benchmarks whose name has some words: false verdicts, or the lean that is
    found."""
    began = time.monotonic()
    print_line = print_detected if detects else print_false
    columns = [*VERDICTS, "false [Wilson's lower end]"]
    if detects:
        columns = ["lean", "share", "found"]
    print_head("benchmark, answers", "items in units", *columns)
    for path in sorted(SOURCES.glob("*.yaml")):
        name = path.stem
        if only not in name:
            continue
        tables, plan = build_benchmark(name)
        if name in PUBLISHED:
            for title, items in list_published(name, tables, plan):
                print_line(title, items, plan, draws)
        elif detects:
            items = ask_bare(load_model(MODEL, load_params()), tables, plan)
            print_detected(f"{name}, {MODEL}", items, plan, draws)
        else:
            n_tokens = tables["texts"]["text"].str.len() // ask.LETTERS_A_TOKEN
            items = score_answers(tables, plan, 0.0, n_tokens)
            for title, penalty in SCRIPTED.items():
                print_false(f"{name}, {title}", items, plan, draws, penalty)
    print(f"\n{draws} draws, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    typer.run(main)
