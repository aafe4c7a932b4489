"""Hostile nulls of questionnaires: what the headline says where labels are dealt anew, or twins
play the items.

Run by hand, in a built repository: `python -m studies.hostile.questionnaires`. It asks no
model: answers of the three shipped fits lie in the diagnosis. All goes through the family's
headline and `judge`, as a scale does.
"""

from collections import Counter
from collections.abc import Callable
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
from studies.tables import print_head, print_row

Floats = NDArray[np.float64]
Random = np.random.Generator

TABLES = Path("data/diagnosis/questionnaires/tables")
SCALES = ("gad-7", "phq-9", "soc-13", "trust-in-people")
N_DRAWS = 200
TOLD, SMALLEST, LEAST = 0.001, 0.5, 6
"""P that terms are told apart, where twins play items: the worst case for a false effect."""


class Scale:
    """Answers of all fits to one scale, in points: `items` [fits, items], `twins` [fits, items,
    twins]."""

    def __init__(self, name: str) -> None:
        """Read them."""
        items, twins, self.cells = (
            pd.read_parquet(TABLES / f"{table}.parquet", filters=[("questionnaire", "==", name)])
            for table in ("items", "twins", "cells")
        )
        n_words = self.cells["intensifier"].nunique()
        keyed = items[["item", "keying"]].drop_duplicates()
        self.keying = keyed.set_index("item")["keying"]
        self.items = self._wide(items, n_words)[..., 0]
        self.twins = self._wide(twins, n_words)

    @staticmethod
    def _wide(rows: pd.DataFrame, n_words: int) -> Floats:
        table = rows.pivot(index=["model", "item"], columns="twin", values="score") * n_words
        models, items = (table.index.unique(level).size for level in ("model", "item"))
        return table.to_numpy(dtype=np.float64).reshape(models, items, -1)

    def p_null(self, cells: pd.DataFrame) -> float:
        """Whether source terms are told from inverse ones."""
        described = self.keying.rename_axis("item").reset_index()
        fits: list[Any] = []
        for _, of_fit in cells.groupby("model"):
            tables: Any = {"cells": of_fit, "items": described}
            fits.append(Record("", None, {}, {}, tables))
        return polarity_permutation_p(fits, "head")

    def relabelled(self, random: Random, whole: bool) -> tuple[pd.DataFrame, Floats]:
        """Source and inverse dealt anew within items, one deal for all fits, with the answers that
        this makes."""
        terms = self.cells.drop_duplicates(["item", "term"])[["item", "term", "polarity"]]

        def dealt(labels: "pd.Series[str]") -> "pd.Series[str]":
            if not whole:
                shuffled = random.permutation(labels.to_numpy(dtype=object))
                return pd.Series(shuffled, index=labels.index)
            turned = labels.map({"source": "inverse", "inverse": "source"})
            return turned if random.random() < 0.5 else labels

        terms = terms.assign(polarity=terms.groupby("item")["polarity"].transform(dealt))
        cells = self.cells.drop(columns="polarity").merge(terms, on=["item", "term"])
        source = cells[cells["polarity"] == "source"]
        source = source.assign(weighed=source["pss"] * source["weight"])
        weighed = source.groupby(["model", "item", "term"])["weighed"].sum()
        answers = weighed.groupby(level=["model", "item"]).mean().unstack()
        return cells, (answers * self.keying).to_numpy(dtype=np.float64)


def judged(answers: Floats, twins: Floats, p_null: float) -> HeadlineFigure:
    """The headline of [fits, items] answers beside [fits, items, twins]."""
    figure = placebo_contrast(answers, twins.mean(axis=2), 3, p_null, SMALLEST, LEAST)
    (headline,) = judge([(figure, ValidityCheck())])
    assert isinstance(headline, HeadlineFigure)
    return headline


def of_labels(scale: Scale, random: Random, whole: bool) -> HeadlineFigure:
    """The scale with labels that mean nothing."""
    cells, answers = scale.relabelled(random, whole)
    return judged(answers, scale.twins, scale.p_null(cells))


def of_twins(scale: Scale, random: Random) -> HeadlineFigure:
    """One twin of each item in its place, beside the other two."""
    fits, items, twins = scale.twins.shape
    chosen = random.integers(0, twins, items)
    is_chosen = np.arange(twins)[None, :] == chosen[:, None]
    rest = scale.twins[:, ~is_chosen].reshape(fits, items, twins - 1)
    return judged(scale.twins[:, is_chosen], rest, TOLD)


def print_scale(name: str) -> None:
    """Print a scale as it is meant, and what is said where nothing is there."""
    scale, random = Scale(name), np.random.default_rng(0)
    meant = judged(scale.items, scale.twins, scale.p_null(scale.cells))
    points = f"{meant.value:.2f} [{meant.low:.2f}, {meant.high:.2f}]"
    print_row(f"{name}, as it is meant", points, f"{meant.p:.4f}", meant.verdict)
    deals: dict[str, Callable[[], HeadlineFigure]] = {
        "source and inverse terms dealt anew within items": lambda: of_labels(scale, random, False),
        "source and inverse terms swapped, or not, item by item": lambda: of_labels(
            scale, random, True
        ),
        "one of three twins in the place of its item": lambda: of_twins(scale, random),
    }
    for what, deal in deals.items():
        figures = [deal() for _ in range(N_DRAWS)]
        spread = np.std(np.array([figure.value for figure in figures], dtype=float))
        n_null = sum(figure.p is not None and figure.p < 0.05 for figure in figures)
        counts = dict(Counter(str(figure.verdict) for figure in figures))
        null = f"p0 < .05 in {n_null / N_DRAWS:.3f}"
        print_row(f"{name}: {what}", f"SD {spread:.2f}", null, counts)


def main() -> None:
    """Print the table."""
    print_head("in the place of items, beside twins", "points beyond twins", "p0", "verdict")
    for name in SCALES:
        print_scale(name)


if __name__ == "__main__":
    main()
