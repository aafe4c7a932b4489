"""How often the lean of a published benchmark gets a false verdict, where nothing leans: at the
units that ship.

Run by hand: `python -m tests.performance.fixed_lean [--draws N] [--only WORDS] [--detects]`, with
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

from evenruler.declaration.params import load_params
from evenruler.instruments.fixed import ask, declare, rows
from evenruler.instruments.fixed.diagnose import lean_headline, lean_weights
from evenruler.instruments.instrument import Declaration, Subject
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from evenruler.models.answer_logs import LoggedModel
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.model import Model
from evenruler.models.sources import MIRROR
from evenruler.models.store import RowStore
from evenruler.tables.schemas import BARE

SOURCES = Path(__file__).parents[2] / "data/sources/fixed"
PENALTY, OF_UNITS = 0.5, 1.0
ALWAYS = 1e6
"""Nats a token by which the shorter text always wins."""

PUBLISHED = {
    "stereoset": ("stereoset/predictions_gpt2_ModelNSP_GPT2LM.json", ""),
    "bbq": ("bbq", "#unifiedqa-t5-11b_pred_race"),
}
ASKED = "smollm2-135m-instruct"
"""Whose answers `--detects` rests on, where authors published none."""

POWER = 0.8

SUBJECT = Subject("any", "recorded", "any", frozenset(("loglikelihood",)), False, True, (), "")


def built(name: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """All rows and the plan of a benchmark."""
    settings = declare.Settings.model_validate({}, context={"scale": "paper"})
    source = declare.load(SOURCES / f"{name}.yaml", settings, SOURCES / "shared")
    made = rows.build(Declaration(name, "fixed", settings, source), Catalogue(models={}))
    return {table: own.to_pandas() for table, own in made.tables.items()}, made.plan


def items_of(
    tables: dict[str, pd.DataFrame], plan: dict[str, Any], nats: Any, tokens: Any
) -> pd.DataFrame:
    """Items of answers, [texts]."""
    ids = tables["texts"]["id"]
    answers = pd.DataFrame(
        {"id": ids, "text_id": ids, "framing": BARE, "nats": nats, "tokens": tokens}
    )
    return ask.scores(tables, plan, {"likelihoods": answers}, SUBJECT)["items"]


def published(name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as the authors' model answered them."""
    place, column = PUBLISHED[name]
    source = f"recorded:{Path(os.environ[MIRROR]) / place}{column}"
    entry = ModelEntry(kind="recorded", source=source, licence="not stated", origin="authors")
    texts = tables["texts"]
    told = LoggedModel(
        name, entry, RowStore(Path(os.environ.get("EVENRULER_CACHE", ".cache")))
    ).loglikelihood(texts["text"].tolist(), texts["prompt"].tolist(), keys=texts["key"].tolist())
    return items_of(tables, plan, told.nats, told.tokens)


def asked(model: Model, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as a model answers all of them, bare."""
    texts = tables["texts"]
    told = model.loglikelihood(texts["text"].tolist(), texts["prompt"].tolist())
    return items_of(tables, plan, told.nats, told.tokens)


def planted(
    items: pd.DataFrame, plan: dict[str, Any], lean: float, random: np.random.Generator
) -> pd.DataFrame:
    """Items with roles dealt, of which so many are turned to the first text that they lean by so
    much."""
    own = dealt(items, random)
    against, weight = own["lean"].to_numpy() < 0, lean_weights(own, plan["score"])
    turned = against & (random.random(len(own)) < lean / (2 * weight[against].sum() / weight.sum()))
    return own.assign(lean=np.where(turned, 1.0, own["lean"]))


def finds(items: pd.DataFrame, plan: dict[str, Any], lean: float, draws: int) -> float:
    """Share of the draws in which a planted lean is an effect of its sign."""
    hits = 0
    for draw in range(draws):
        own = planted(items, plan, lean, np.random.default_rng([draw, len(items)]))
        found = lean_headline(own, plan["score"], plan["units"], plan["smallest"], draw)
        (judged,) = judge([(found, ValidityCheck())])
        hits += judged.verdict == Verdict.EFFECT and (judged.value or 0) > 0
    return hits / draws


def detected(title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int) -> str:
    """A line of the table of `--detects`: the smallest lean, in hundredths, that is found often
    enough."""
    low, high = 0, 99
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if finds(items, plan, middle / 100, draws) >= POWER else (middle, high)
        )
    share = finds(items, plan, high / 100, draws)
    n = f"{len(items):,} in {items['unit'].nunique()}"
    return f"| {title} | {n} | {high / 100:.2f} | {(1 + high / 100) / 2:.3f} | {share:.2f} |"


def scripted(items: pd.DataFrame, penalty: float, random: np.random.Generator) -> pd.DataFrame:
    """The same items with answers of a model that minds length, by `penalty` nats a token, and
    units."""
    codes, units = pd.factorize(items["unit"])
    value = (
        OF_UNITS * random.normal(size=len(units))[codes]
        + random.normal(size=len(items))
        - penalty * items["length"]
    )
    return items.assign(value=value, lean=np.sign(value), won=value > 0)


def dealt(items: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """The same items with the roles of whole units dealt at random."""
    codes, units = pd.factorize(items["unit"])
    sign = random.choice([-1.0, 1.0], size=len(units))[codes]
    return items.assign(
        **{name: items[name] * sign for name in ("value", "lean", "length", "frequency")}
    )


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval, 95%."""
    z, share = 1.96, hits / n
    middle, half = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)


def row(
    title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int, penalty: float | None = None
) -> str:
    """A line of the table."""
    found: Counter[str] = Counter()
    for draw in range(draws):
        random = np.random.default_rng([draw, len(items)])
        own = items if penalty is None else scripted(items, penalty, random)
        lean = lean_headline(
            dealt(own, random), plan["score"], plan["units"], plan["smallest"], draw
        )
        (judged,) = judge([(lean, ValidityCheck())])
        found[str(judged.verdict)] += 1
    false = found[Verdict.EFFECT] + found[Verdict.NOT_SPECIFIC]
    low, _ = wilson(false, draws)
    counted = " | ".join(str(found[verdict]) for verdict in Verdict if verdict != Verdict.INVALID)
    fails = " FAILS" if low > 0.05 else ""
    n = f"{len(items):,} in {items['unit'].nunique()}"
    return f"| {title} | {n} | {counted} | {false / draws:.3f} [{low:.3f}]{fails} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--only", default="", help="benchmarks whose name has these words")
    parser.add_argument(
        "--detects", action="store_true", help="the lean that is found, not false verdicts"
    )
    args, began = parser.parse_args(), time.monotonic()
    kept = [str(verdict) for verdict in Verdict if verdict != Verdict.INVALID]
    columns = ["benchmark, answers", "items in units", *kept, "false [Wilson's lower end]"]
    if args.detects:
        columns = [*columns[:2], "lean", "share", "found"]
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|", flush=True)
    for path in sorted(SOURCES.glob("*.yaml")):
        if args.only not in path.stem:
            continue
        tables, plan = built(path.stem)
        if path.stem in PUBLISHED:
            if MIRROR in os.environ:
                answered = published(path.stem, tables, plan)
                for condition, own in (
                    answered.groupby("condition") if path.stem == "bbq" else [("all", answered)]
                ):
                    title = f"{path.stem}, {condition}, published"
                    line = detected if args.detects else row
                    print(line(title, own, plan, args.draws), flush=True)
            continue
        if args.detects:
            items = asked(load_model(ASKED, load_params()), tables, plan)
            print(detected(f"{path.stem}, {ASKED}", items, plan, args.draws), flush=True)
            continue
        items = items_of(
            tables, plan, 0.0, tables["texts"]["text"].str.len() // ask.LETTERS_A_TOKEN
        )
        for title, penalty in (("scripted", PENALTY), ("the shorter always wins", ALWAYS)):
            print(row(f"{path.stem}, {title}", items, plan, args.draws, penalty), flush=True)
    print(f"\n{args.draws} draws, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
