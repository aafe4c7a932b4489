"""Hostile nulls of questionnaires: what the headline says where labels are dealt anew, or twins
play the items.

Needs a built repository. It asks no model: answers of the three shipped fits lie in the diagnosis.
All goes through the family's headline and `judge`, as a scale does.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.diagnose.headlines import (
    placebo_contrast,
    polarity_permutation_p,
)
from evenruler.measurement.figures import HeadlineFigure
from evenruler.measurement.verdicts import ValidityCheck, judge
from studies.tables import print_head, print_row

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
        items, twins, self.cells = (
            pd.read_parquet(
                TABLES / f"{table}.parquet",
                filters=[("questionnaire", "==", name)],
            )
            for table in ("items", "twins", "cells")
        )
        n_words = self.cells["intensifier"].nunique()
        keyed = items[["item", "keying"]].drop_duplicates()
        self.keying = keyed.set_index("item")["keying"]
        self.items = self._pivot_scores(items, n_words)[..., 0]
        self.twins = self._pivot_scores(twins, n_words)

    @staticmethod
    def _pivot_scores(rows: pd.DataFrame, n_words: int) -> Floats:
        table = rows.pivot(index=["model", "item"], columns="twin", values="score") * n_words
        models, items = (table.index.unique(level).size for level in ("model", "item"))
        return table.to_numpy(dtype=np.float64).reshape(models, items, -1)

    def find_p(self, cells: pd.DataFrame) -> float:
        """Whether source terms are told from inverse ones."""
        described = self.keying.rename_axis("item").reset_index()
        fits: list[Any] = []
        for _, of_fit in cells.groupby("model"):
            tables: Any = {"cells": of_fit, "items": described}
            fits.append(Record("", None, {}, {}, tables))
        return polarity_permutation_p(fits, "head")

    def relabel_terms(self, random: Random, deal: "Deal") -> tuple[pd.DataFrame, Floats]:
        """Source and inverse dealt anew within items, one deal for all fits, with the answers that
        this makes."""
        terms = self.cells.drop_duplicates(["item", "term"])[["item", "term", "polarity"]]
        labels = terms.groupby("item")["polarity"].transform(deal, random)
        terms = terms.assign(polarity=labels)
        cells = self.cells.drop(columns="polarity").merge(terms, on=["item", "term"])
        source = cells[cells["polarity"] == "source"]
        source = source.assign(weighed=source["pss"] * source["weight"])
        weighed = source.groupby(["model", "item", "term"])["weighed"].sum()
        answers = weighed.groupby(level=["model", "item"]).mean().unstack()
        return cells, (answers * self.keying).to_numpy(dtype=np.float64)


Labels = Any  # a column
Deal = Callable[[Labels, Random], Labels]
"""Deals the labels of an item's terms anew."""


def shuffle_labels(labels: Labels, random: Random) -> Labels:
    """Any term may get any label."""
    return pd.Series(random.permutation(labels.to_numpy(dtype=object)), index=labels.index)


def swap_labels(labels: Labels, random: Random) -> Labels:
    """All terms get the other label, or none."""
    turned = labels.map({"source": "inverse", "inverse": "source"})
    return turned if random.random() < 0.5 else labels


def judge_answers(answers: Floats, twins: Floats, p_null: float) -> HeadlineFigure:
    """The headline of [fits, items] answers beside [fits, items, twins]."""
    figure = placebo_contrast(answers, twins.mean(axis=2), 3, p_null, SMALLEST, LEAST)
    (headline,) = judge([(figure, ValidityCheck())])
    assert isinstance(headline, HeadlineFigure)
    return headline


def judge_labels(scale: Scale, random: Random, deal: Deal) -> HeadlineFigure:
    """The scale with labels that mean nothing."""
    cells, answers = scale.relabel_terms(random, deal)
    return judge_answers(answers, scale.twins, scale.find_p(cells))


def judge_twins(scale: Scale, random: Random) -> HeadlineFigure:
    """One twin of each item in its place, beside the other two."""
    fits, items, twins = scale.twins.shape
    chosen = random.integers(0, twins, items)
    is_chosen = np.arange(twins)[None, :] == chosen[:, None]
    rest = scale.twins[:, ~is_chosen].reshape(
        fits,
        items,
        twins - 1,
    )
    return judge_answers(scale.twins[:, is_chosen], rest, TOLD)


DEALS: dict[str, Callable[[Scale, Random], HeadlineFigure]] = {
    "source and inverse terms dealt anew within items": partial(judge_labels, deal=shuffle_labels),
    "source and inverse terms swapped, or not, item by item": partial(
        judge_labels, deal=swap_labels
    ),
    "one of three twins in the place of its item": judge_twins,
}


def print_scale(name: str, draws: int) -> None:
    """Print a scale as it is meant, and what is said where nothing is there."""
    scale, random = Scale(name), np.random.default_rng(0)
    meant = judge_answers(scale.items, scale.twins, scale.find_p(scale.cells))
    points = f"{meant.value:.2f} [{meant.low:.2f}, {meant.high:.2f}]"
    print_row(
        f"{name}, as it is meant",
        points,
        f"{meant.p:.4f}",
        meant.verdict,
    )
    for what, deal in DEALS.items():
        figures = [deal(scale, random) for _ in range(draws)]
        spread = np.std(
            np.array(
                [figure.value for figure in figures],
                dtype=float,
            )
        )
        n_null = sum(figure.p is not None and figure.p < 0.05 for figure in figures)
        counts = dict(Counter(str(figure.verdict) for figure in figures))
        null = f"p0 < .05 in {n_null / draws:.3f}"
        print_row(
            f"{name}: {what}",
            f"SD {spread:.2f}",
            null,
            counts,
        )


def main(draws: int = 200) -> None:
    """Print the table, of so many deals a row."""
    print_head("in the place of items, beside twins", "points beyond twins", "p0", "verdict")
    for name in SCALES:
        print_scale(name, draws)


if __name__ == "__main__":
    typer.run(main)
