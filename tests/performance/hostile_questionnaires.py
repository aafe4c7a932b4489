"""Hostile nulls of questionnaires: what the headline says where labels are dealt anew, or twins
play the items.

Run by hand, in a built repository: `python -m tests.performance.hostile_questionnaires`. It asks no
model: answers of the three shipped fits lie in the diagnosis. All goes through `beyond`,
`polarity_permutation_p` and `judge`, as a scale does.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.diagnose.headlines import (
    placebo_contrast,
    polarity_permutation_p,
)
from evenruler.measurement.figures import HeadlineFigure
from evenruler.measurement.verdicts import ValidityCheck, judge

Floats = NDArray[np.float64]
Random = np.random.Generator

TABLES = Path("data/diagnosis/questionnaires/tables")
SCALES = ("gad-7", "phq-9", "soc-13", "trust-in-people")
TOLD, SMALLEST, LEAST = 0.001, 0.5, 6
"""P that terms are told apart, where twins play items: the worst case for a false effect."""


class Scale:
    """Answers of all fits to one scale, in points: `items` [fits, items], `twins` [fits, items,
    twins]."""

    def __init__(self, name: str) -> None:
        """Read them."""
        tables = {
            table: pd.read_parquet(TABLES / f"{table}.parquet")
            for table in ("items", "twins", "cells")
        }
        own = {table: rows[rows["questionnaire"] == name] for table, rows in tables.items()}
        self.cells, words = own["cells"], own["cells"]["intensifier"].nunique()
        keyed = own["items"][["item", "keying"]].drop_duplicates()
        self.keying = keyed.set_index("item")["keying"]
        self.items = self._wide(own["items"], words)[..., 0]
        self.twins = self._wide(own["twins"], words)

    @staticmethod
    def _wide(rows: pd.DataFrame, words: int) -> Floats:
        table = rows.pivot(index=["model", "item"], columns="twin", values="score") * words
        models, items = (table.index.unique(level).size for level in ("model", "item"))
        return table.to_numpy(dtype=np.float64).reshape(models, items, -1)

    def p_null(self, cells: pd.DataFrame) -> float:
        """Whether source terms are told from inverse ones."""
        described = self.keying.rename_axis("item").reset_index()
        found = [{"cells": own, "items": described} for _, own in cells.groupby("model")]
        fits: list[Any] = [Record("", None, {}, {}, own) for own in found]  # type: ignore[arg-type]
        return polarity_permutation_p(fits, "head")

    def relabelled(self, random: Random, whole: bool) -> tuple[pd.DataFrame, Floats]:
        """Source and inverse dealt anew within items, one deal for all fits, with the answers that
        this makes."""
        terms = self.cells.drop_duplicates(["item", "term"])[["item", "term", "polarity"]]

        def dealt(labels: "pd.Series[str]") -> "pd.Series[str]":
            if not whole:
                return pd.Series(
                    random.permutation(labels.to_numpy(dtype=object)), index=labels.index
                )
            turned = labels.map({"source": "inverse", "inverse": "source"})
            return turned if random.random() < 0.5 else labels

        told = terms.assign(polarity=terms.groupby("item")["polarity"].transform(dealt))
        cells = self.cells.drop(columns="polarity").merge(told, on=["item", "term"])
        source = cells[cells["polarity"] == "source"]
        weighed = (
            (source["pss"] * source["weight"])
            .groupby([source["model"], source["item"], source["term"]])
            .sum()
        )
        answers = weighed.groupby(level=["model", "item"]).mean().unstack()
        return cells, (answers * self.keying).to_numpy(dtype=np.float64)


def judged(answers: Floats, twins: Floats, p_null: float) -> HeadlineFigure:
    """The headline of [fits, items] answers beside [fits, items, twins]."""
    figure = placebo_contrast(answers, twins.mean(axis=2), 3, p_null, SMALLEST, LEAST)
    (told,) = judge([(figure, ValidityCheck())])
    assert isinstance(told, HeadlineFigure)
    return told


def of_labels(scale: Scale, random: Random, whole: bool) -> HeadlineFigure:
    """The scale with labels that mean nothing."""
    cells, answers = scale.relabelled(random, whole)
    return judged(answers, scale.twins, scale.p_null(cells))


def of_twins(scale: Scale, random: Random) -> HeadlineFigure:
    """One twin of each item in its place, beside the other two."""
    fits, items, twins = scale.twins.shape
    chosen = random.integers(0, twins, items)
    mine = np.arange(twins)[None, :] == chosen[:, None]
    own = scale.twins[:, mine]
    return judged(own, scale.twins[:, ~mine].reshape(fits, items, twins - 1), TOLD)


def lines(name: str, draws: int) -> Iterator[str]:
    """Of one scale: as it is meant, and what is said where nothing is there."""
    scale, random = Scale(name), np.random.default_rng(0)
    told = judged(scale.items, scale.twins, scale.p_null(scale.cells))
    ends = f"[{told.low:.2f}, {told.high:.2f}]"
    yield f"| {name}, as it is meant | {told.value:.2f} {ends} | {told.p:.4f} | {told.verdict} |"
    deals: dict[str, Callable[[], HeadlineFigure]] = {
        "source and inverse terms dealt anew within items": lambda: of_labels(scale, random, False),
        "source and inverse terms swapped, or not, item by item": lambda: of_labels(
            scale, random, True
        ),
        "one of three twins in the place of its item": lambda: of_twins(scale, random),
    }
    for what, deal in deals.items():
        found = [deal() for _ in range(draws)]
        values = np.array([own.value for own in found], dtype=float)
        p = np.mean([own.p is not None and own.p < 0.05 for own in found])
        counts = dict(Counter(str(own.verdict) for own in found))
        yield f"| {name}: {what} | SD {values.std():.2f} | p0 < .05 in {p:.3f} | {counts} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    args = parser.parse_args()
    print(
        "| in the place of items, beside twins | points beyond twins | p0 | verdict |\n| --- | --- "
        "| --- | --- |"
    )
    for name in SCALES:
        for line in lines(name, args.draws):
            print(line, flush=True)


if __name__ == "__main__":
    main()
