"""What untrained models say to published benchmarks: nothing was learned, so an `effect` is false.

Run by hand: `python -m tests.performance.external_untrained [--seeds N] [--only WORDS]`, with the
packages of requirements-models.txt. Prints Markdown tables: each model and benchmark, then how
often which verdict was given.

Models have the architecture of SmolLM2 with two layers and random weights, as `untrained:` makes
them (`evenruler.models.sources.make_untrained`), each from a seed of its own, and its tokenizer.
All items are asked, bare.
"""

import argparse
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pandas as pd

from evenruler.declaration.params import load_params
from evenruler.instruments.external import diagnose, schemas
from evenruler.measurement import Resampling
from evenruler.models import sources
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.model import Model
from evenruler.models.sources import locate_model
from evenruler.models.store import RowStore
from tests.performance.external_lean import MODEL, SUBJECT, ask_bare, built
from tests.performance.tables import print_head, print_row

BENCHMARKS = ("winogender", "crows-pairs", "winobias")
RESAMPLING = Resampling(0.95, 200, 0)


def untrained(seed: int, base: Path, place: Path) -> Model:
    """A model from a seed, with a store of its own."""
    folder = place / f"seed-{seed}"
    folder.mkdir()
    with mock.patch.object(sources, "SEED", seed):
        sources.make_untrained(folder.name, "causal", base, folder)
    entry = ModelEntry(
        kind="causal", source=f"local:{folder}", licence="apache-2.0", origin="nobody's"
    )
    return load_model(folder.name, Catalogue(models={folder.name: entry}), store=RowStore(place))


def figures_of(
    name: str, tables: dict[str, pd.DataFrame], plan: dict[str, Any], items: pd.DataFrame
) -> pd.DataFrame:
    """The figures of all items, by name."""
    nothing = items[:0].assign(framing="")
    scores = {"items": items, "placed": nothing, "started": nothing, "replies": nothing}
    figures = diagnose.figures(name, tables, plan, scores, SUBJECT, RESAMPLING)["figures"]
    has_none = figures[schemas.DIMENSIONS.names].isna().all(axis=1)
    return figures[has_none].set_index("figure")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="benchmarks whose name has these words")
    args, began, params = parser.parse_args(), time.monotonic(), load_params()
    base = locate_model(MODEL, params.models[MODEL], RowStore(), params.models)
    benchmarks = {name: built(name) for name in BENCHMARKS if args.only in name}
    verdicts: dict[str, Counter[str]] = {name: Counter() for name in benchmarks}
    print_head(
        *("seed", "benchmark", "share [interval]", "shorter wins"),
        *("lean", "at equal length", "verdict"),
    )
    with TemporaryDirectory() as place:
        for seed in range(args.seeds):
            model = untrained(seed, base, Path(place))
            for name, (tables, plan) in benchmarks.items():
                figures = figures_of(name, tables, plan, ask_bare(model, tables, plan))
                share, lean = figures.loc["share"], figures.loc["lean"]
                verdicts[name][str(lean["verdict"])] += 1
                print_row(
                    *(seed, name),
                    f"{share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}]",
                    f"{figures.loc['shorter_wins', 'value']:.3f}",
                    f"{lean['value']:.3f}",
                    f"{lean['specific']:.3f}",
                    lean["verdict"],
                )
    print()
    print_head("benchmark", f"verdicts of {args.seeds}")
    for name, counts in verdicts.items():
        print_row(name, ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
