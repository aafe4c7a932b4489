"""How often a headline with parts says `detected`, and `below`, where the truth is known: at real
answers, whose roles are dealt at random.

    python -m studies.part_rates stereoset=FOLDER/items.parquet bbq=FOLDER/items.parquet

`items.parquet` is what `evenruler measure` writes beside a result. Needs the packages of
requirements-models.txt, in which the texts are. Prints a Markdown table. A run that is stopped goes
on.

In each draw every unit deals the roles of its texts anew: with a chance of one half the leans, the
differences in length and frequency, and the words of all its items change their sign, so that
nothing is there, and what makes items of a unit alike stays. A unit that is in several parts is
dealt once. Then a lean of a known size is added in one part, the judged one with the least weight.
The positive control is that of the answers as they are, since which text a role is does not change
it.

Columns: what the whole alone says; what the verdict of the whole with its parts says; where.
"""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from evenruler.instruments.external.diagnose.lean import (
    differing_words,
    positive_control,
)
from evenruler.instruments.external.diagnose.parts import PartRegression, lean_of_parts
from evenruler.measurement.inputs import ALPHA
from evenruler.measurement.verdicts import PositiveControl, judge
from studies.draws import describe_draws, draw_cell, share_text
from studies.planted.external import build_benchmark
from studies.tables import print_head, print_row

PLANTED = typer.Option([0.0, 0.2, 0.3, 0.5], "--planted")
"""Leans that are planted in one part."""

RANDOMISATIONS = 999

HEADINGS = {
    "whole_below": "below, by the whole alone",
    "detected": "detected",
    "in_that_part": "in that part",
    "in_another": "in another",
    "below": "below",
    "on_average_only": "below on average only",
}
"""What is read of a draw, and what it is called."""


class PlantedBenchmark(NamedTuple):
    """Real items with what their headline needs."""

    name: str
    plan: dict[str, Any]
    items: pd.DataFrame
    words: pd.DataFrame
    control: PositiveControl | None
    part: str
    """The part that a lean is planted in."""


def read_benchmark(name: str, path: Path) -> PlantedBenchmark:
    """Items of a benchmark as a model answered them, of BBQ those in ambiguous contexts."""
    tables, plan = build_benchmark(name)
    items = pd.read_parquet(path)
    control = positive_control(items, plan["score"], 0)
    if plan["score"] == "bbq":
        items = items[items["condition"] == "ambiguous"]
    items = items.reset_index(drop=True)
    words = differing_words(tables["texts"])
    words = words[words["item"].isin(items["item"])]
    regression = PartRegression.from_items(items, plan["score"])
    effective = pd.Series(
        [regression.df_of_part(place) for place in range(regression.n_parts)],
        index=regression.parts,
    )
    shares = pd.Series(regression.part_shares, index=regression.parts)
    part = str(shares[effective >= 3].idxmin())
    answers, n_units = path.stem.replace("--", ", "), len(regression.units)
    counted = f"{answers} ({n_units} {plan['units']}): {part}"
    return PlantedBenchmark(counted, plan, items, words, control, part)


def deal_roles(
    items: pd.DataFrame, words: pd.DataFrame, random: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and their words with the roles of all texts of a unit dealt at random."""
    units = sorted(set(items["unit"]))
    signs = pd.Series(random.choice([-1.0, 1.0], size=len(units)), index=units)
    of_item = items["unit"].map(signs).set_axis(items["item"])
    dealt = items.copy()
    for column in ("lean", "length", "frequency"):
        dealt[column] = dealt[column].to_numpy() * of_item.to_numpy()
    counts = words["count"].to_numpy() * of_item.loc[words["item"]].to_numpy()
    return dealt, words.assign(count=counts)


def judge_draw(benchmark: PlantedBenchmark, planted: float, draw: int) -> dict[str, object]:
    """What one draw says, by `HEADINGS`."""
    random = np.random.default_rng([draw, 5])
    items, words = deal_roles(benchmark.items, benchmark.words, random)
    is_planted = items["part"] == benchmark.part
    items["lean"] += planted * is_planted
    plan, control = benchmark.plan, benchmark.control
    joined = lean_of_parts(items, words, plan, draw, control, RANDOMISATIONS)
    parts = joined.parts.detected_tests(ALPHA) if joined.parts else []
    names = {test.name for test in parts}
    verdict = str(judge(joined).verdict)
    is_open = verdict == "inconclusive"
    names_planted = bool(planted) and benchmark.part in names
    names_another = bool(names)
    if planted:
        names_another = bool(names - {benchmark.part})
    return {
        "whole_below": joined.whole_is_below,
        "detected": joined.is_detected,
        "in_that_part": names_planted,
        "in_another": names_another,
        "below": joined.is_below,
        "on_average_only": joined.whole_is_below and is_open,
    }


def main(
    answers: list[str],
    draws: int = 200,
    planted: list[float] = PLANTED,
    out: Path = Path(".cache/part-rates.csv"),
) -> None:
    """Print the table; `answers`: BENCHMARK=FILE each; `out`: the CSV of draws."""
    print_head("units of", "planted in one part", *HEADINGS.values(), "draws", "±")
    for answer in answers:
        name, _, path = answer.partition("=")
        benchmark = read_benchmark(name, Path(path))
        for size in planted:
            cell = f"{benchmark.name}, {size:g}"
            rows = draw_cell(out, cell, draws, partial(judge_draw, benchmark, size))
            rates = [share_text(rows[column].astype(bool)) for column in HEADINGS]
            print_row(benchmark.name, f"{size:g}", *rates, *describe_draws(draws))


if __name__ == "__main__":
    typer.run(main)
