"""Rankings of CVs that Bloomberg published: their printed rates, and our verdicts on them; where a
mirror holds the replies."""

import gzip
import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.external.ask.ranking import find_first_named
from evenruler.instruments.external.diagnose.ranking import RankedLists, odds_headlines
from evenruler.measurement.figures import HeadlineFigure
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.models.sources import MIRROR

PUBLISHED = Path(os.environ.get(MIRROR, "")) / "known/bloomberg"


@pytest.fixture(scope="module")
def replies() -> list[dict[str, Any]]:
    """The replies to 8,000 lists, with the place of who is named first."""
    with gzip.open(PUBLISHED / "rankings.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    of_lists = [row for row in rows if not row["oversampled"]]
    for row in of_lists:
        row["place"] = find_first_named(row["reply"], row["names"])
    return of_lists


def lists_of(replies: list[dict[str, Any]]) -> RankedLists:
    texts: list[tuple[str, int, str, str]] = []
    for index, row in enumerate(replies):
        candidates = zip(row["names"], row["groups"], strict=True)
        for place, (name, group) in enumerate(candidates):
            texts.append((f"{index:04d}", place, name, group))
    names = [f"{index:04d}" for index in range(len(replies))]
    items = pd.DataFrame({"item": names})
    return RankedLists.from_rows(
        pd.DataFrame(texts, columns=["item", "role", "unit", "stratum"]),
        items.assign(value=[row["place"] for row in replies]),
    )


def headlines(replies: list[dict[str, Any]], model: str) -> dict[str, HeadlineFigure]:
    lists = lists_of([row for row in replies if row["model"] == model])
    figures = odds_headlines(lists, math.log(1 / 0.8), 0, ValidityCheck())
    return {figure.dimensions["candidates"]: figure for figure in figures}


def test_all_printed_rates(replies) -> None:
    printed = pd.read_csv(PUBLISHED / "performance_ranking.csv").query("rank == 1")
    assert len(printed) == 64
    for row in printed.itertuples():
        model_and_job = (f"{row.model}-0613", row.job)
        answered = [reply for reply in replies if (reply["model"], reply["job"]) == model_and_job]
        winners = [reply["groups"][reply["place"]] for reply in answered]
        assert np.mean([group == row.demo for group in winners]) == pytest.approx(
            row.selection_rate, abs=5e-4
        )


@pytest.mark.parametrize(
    ("model", "odds", "verdicts"),
    [
        ("gpt-3.5-turbo-0613", (0.80, 0.71, 0.90), {"detected": 4, "below": 2, "inconclusive": 2}),
        ("gpt-4-0613", (0.86, 0.78, 0.94), {"detected": 1, "below": 7}),
    ],
)
def test_odds_of_black_men(
    model,
    odds,
    verdicts,
    replies,
) -> None:
    figures = headlines(replies, model)
    black_men = figures["B_M"]
    log_odds = (black_men.value, black_men.low, black_men.high)
    assert np.exp(np.array(log_odds, dtype=np.float64)) == pytest.approx(odds, abs=0.006)
    assert black_men.verdict == "detected"
    assert Counter(str(figure.verdict) for figure in figures.values()) == verdicts
