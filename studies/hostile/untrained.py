"""What untrained models say to published benchmarks: nothing was learned, so `detected` is
false.

Needs the packages of requirements-models.txt. Prints Markdown tables: each model and benchmark,
then how often which verdict was given.

Models have the architecture of SmolLM2 with two layers and random weights, as `untrained:` makes
them (`evenruler.models.sources.make_untrained`), each from a seed of its own, and its tokenizer.
All items are asked, bare.
"""

import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pandas as pd
import typer

from evenruler.declaration.params import load_params
from evenruler.instruments.external import declare, diagnose, schemas
from evenruler.measurement import Resampling
from evenruler.models import sources
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.model import Model
from evenruler.models.sources import locate_model
from evenruler.models.store import RowStore
from studies.planted.external import MODEL, SUBJECT, ask_bare, build_benchmark
from studies.tables import print_head, print_row

BENCHMARKS = ("winogender", "crows-pairs", "winobias")
RESAMPLING = Resampling(0.95, 200, 0)


def make_model(seed: int, base: Path, place: Path) -> Model:
    """A model from a seed, with a store of its own."""
    folder = place / f"seed-{seed}"
    folder.mkdir()
    with mock.patch.object(sources, "SEED", seed):
        sources.make_untrained(folder.name, "causal", base, folder)
    entry = ModelEntry(
        kind="causal", source=f"local:{folder}", licence="apache-2.0", origin="nobody's"
    )
    return load_model(
        folder.name,
        Catalogue(models={folder.name: entry}),
        store=RowStore(place),
    )


def find_figures(
    name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any], items: pd.DataFrame
) -> pd.DataFrame:
    """The figures of all items, by name."""
    nothing = items[:0].assign(framing="")
    scores = {"items": items, "placed": nothing, "started": nothing, "replies": nothing}
    figures = diagnose.figures(name, tables, plan, scores, SUBJECT, RESAMPLING)["figures"]
    has_none = figures[schemas.DIMENSIONS.names].isna().all(axis=1)
    return figures[has_none].set_index("figure")


def main(seeds: int = 10, only: str = "") -> None:
    """Print the tables, of so many models and the benchmarks whose name has some words."""
    began, params = time.monotonic(), load_params()
    base = locate_model(MODEL, params.models[MODEL], RowStore(), params.models)
    benchmarks = {name: build_benchmark(name) for name in BENCHMARKS if only in name}
    counts: dict[str, Counter[str]] = {name: Counter() for name in benchmarks}
    print_head(
        *("seed", "benchmark", "share [interval]", "shorter wins"),
        *("headline", "value [interval]", "p", "verdict"),
    )
    with TemporaryDirectory() as place:
        for seed in range(seeds):
            model = make_model(seed, base, Path(place))
            for name, (tables, plan) in benchmarks.items():
                figures = find_figures(name, tables, plan, ask_bare(model, tables, plan))
                headline = declare.GAIN if plan["gain"] else declare.LEAN
                counts[name][str(figures.loc[headline, "verdict"])] += 1
                print_figures(seed, name, figures, headline)
    print()
    print_head("benchmark", f"verdicts of {seeds}")
    for name, of_name in counts.items():
        print_row(
            name,
            ", ".join(f"{n} {verdict}" for verdict, n in of_name.most_common()),
        )
    print(f"\n{time.monotonic() - began:.0f} s")


def print_figures(seed: int, name: str, figures: pd.DataFrame, headline: str) -> None:
    """Print the row of a model and a benchmark."""

    def with_interval(figure: str) -> str:
        row = figures.loc[figure]
        ends = f"[{row['low']:.3f}, {row['high']:.3f}]"
        return f"{row['value']:.3f} {ends}"

    p = figures.loc[headline, "p"]
    share, interval = with_interval("share"), with_interval(headline)
    shorter = f"{figures.loc['shorter_wins', 'value']:.3f}"
    p_text = "" if pd.isna(p) else f"{p:.3f}"
    verdict = figures.loc[headline, "verdict"]
    print_row(seed, name, share, shorter, headline, interval, p_text, verdict)


if __name__ == "__main__":
    typer.run(main)
