"""How often the lean of a published benchmark gets a false verdict, where nothing leans: at the units that ship.

Run by hand: `python -m tests.performance.fixed_lean [--draws N] [--only WORDS]`, with the packages of
requirements-models.txt, and `EVENRULER_MIRROR` for the rows of published answers. Prints a Markdown table.

Each draw deals the roles of whole units at random: in half of the units the first text becomes the second one, with
its length and frequency. So the lean is 0 over draws, whatever the model does, and an `effect` or a `not specific` is
false; `no effect` is true. Answers are those that authors published (StereoSet, BBQ), where there are any; else
scripted ones, drawn anew in each draw: the shorter text is likelier (by `PENALTY` nats a token), units differ
(`OF_UNITS` nats), items too (1 nat). Where the shorter one always wins, nothing is drawn but roles.
"""

import argparse
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.fixed import ask, declare, rows
from evenruler.instruments.fixed.diagnose.lean import headline
from evenruler.instruments.instrument import Declaration, Subject
from evenruler.measurement.verdicts import Fitness, Verdict, judge
from evenruler.models.declared import Catalogue, ModelEntry
from evenruler.models.recorded import Recorded
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
SUBJECT = Subject("any", "recorded", "any", frozenset(("loglikelihood",)), False, True, (), "")


def built(name: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """All rows and the plan of a benchmark."""
    settings = declare.Settings.model_validate({}, context={"scale": "paper"})
    source = declare.load(SOURCES / f"{name}.yaml", settings, SOURCES / "shared")
    made = rows.build(Declaration(name, "fixed", settings, source), Catalogue(models={}))
    return {table: own.to_pandas() for table, own in made.tables.items()}, made.plan


def items_of(tables: dict[str, pd.DataFrame], plan: dict[str, Any], nats: Any, tokens: Any) -> pd.DataFrame:
    """Items of answers, [texts]."""
    ids = tables["texts"]["id"]
    answers = pd.DataFrame({"id": ids, "text_id": ids, "framing": BARE, "nats": nats, "tokens": tokens})
    return ask.scores(tables, plan, {"likelihoods": answers}, SUBJECT)["items"]


def published(name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any]) -> pd.DataFrame:
    """Items as the authors' model answered them."""
    place, column = PUBLISHED[name]
    source = f"recorded:{Path(os.environ[MIRROR]) / place}{column}"
    entry = ModelEntry(kind="recorded", source=source, licence="not stated", origin="authors")
    texts = tables["texts"]
    told = Recorded(name, entry, RowStore(Path(os.environ.get("EVENRULER_CACHE", ".cache")))).loglikelihood(
        texts["text"].tolist(), texts["prompt"].tolist(), keys=texts["key"].tolist()
    )
    return items_of(tables, plan, told.nats, told.tokens)


def scripted(items: pd.DataFrame, penalty: float, random: np.random.Generator) -> pd.DataFrame:
    """The same items with answers of a model that minds length, by `penalty` nats a token, and units."""
    codes, units = pd.factorize(items["unit"])
    value = (
        OF_UNITS * random.normal(size=len(units))[codes] + random.normal(size=len(items)) - penalty * items["length"]
    )
    return items.assign(value=value, lean=np.sign(value), won=value > 0)


def dealt(items: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """The same items with the roles of whole units dealt at random."""
    codes, units = pd.factorize(items["unit"])
    sign = random.choice([-1.0, 1.0], size=len(units))[codes]
    return items.assign(**{name: items[name] * sign for name in ("value", "lean", "length", "frequency")})


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval, 95%."""
    z, share = 1.96, hits / n
    middle, half = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)


def row(title: str, items: pd.DataFrame, plan: dict[str, Any], draws: int, penalty: float | None) -> str:
    """A line of the table."""
    found: Counter[str] = Counter()
    for draw in range(draws):
        random = np.random.default_rng([draw, len(items)])
        own = items if penalty is None else scripted(items, penalty, random)
        lean = headline(dealt(own, random), plan["score"], plan["units"], plan["smallest"], draw)
        (judged,) = judge([(lean, Fitness())])
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
    args, began = parser.parse_args(), time.monotonic()
    heads = " | ".join(str(verdict) for verdict in Verdict if verdict != Verdict.INVALID)
    print(
        f"| benchmark, answers | items in units | {heads} | false [Wilson's lower end] |\n{'| --- ' * 7}|", flush=True
    )
    for path in sorted(SOURCES.glob("*.yaml")):
        if args.only not in path.stem:
            continue
        tables, plan = built(path.stem)
        if path.stem in PUBLISHED:
            if MIRROR in os.environ:
                answered = published(path.stem, tables, plan)
                for condition, own in answered.groupby("condition") if path.stem == "bbq" else [("all", answered)]:
                    print(row(f"{path.stem}, {condition}, published", own, plan, args.draws, None), flush=True)
            continue
        items = items_of(tables, plan, 0.0, tables["texts"]["text"].str.len() // ask.LETTERS_A_TOKEN)
        for title, penalty in (("scripted", PENALTY), ("the shorter always wins", ALWAYS)):
            print(row(f"{path.stem}, {title}", items, plan, args.draws, penalty), flush=True)
    print(f"\n{args.draws} draws, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
