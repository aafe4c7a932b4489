"""What a chat chooses between sentences: how the share of the first group's rises along the axis, and who is answered.

A choice asked both ways is the score of a pair of words, 50 points either side of none; with these scores the gain of
shares is made as that of likelihoods is, with pairs in the place of words.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from evenruler.instruments import choosing
from evenruler.instruments.instrument import Plan, Tables
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import CHOICE, PLACEBO, READS, RIVAL, questions
from evenruler.instruments.probes.diagnose.gain import SHARE_GAIN, UNIT, along, cube_of_pairs, gain_of_pairs
from evenruler.instruments.probes.diagnose.quality import mean_interval
from evenruler.measurement import Figure
from evenruler.measurement.answered import MOST_UNANSWERED, unvaried
from evenruler.measurement.figures import finite
from evenruler.measurement.verdicts import Confirmatory, Fitness, PValues, judge, marked
from evenruler.tables import rows_of, stacked
from evenruler.tables.schemas import BARE, HEADLINES

KNOWN, SHARE, UNANSWERED = "known_answers", "chosen_share", "unanswered"

SMALLEST_UNANSWERED = 15.0
"""Percentage points of replies, as the family `saged` has it."""


def choice_figures(
    name: str, tables: Tables, plan: Plan, said: pd.DataFrame, model: str, level: float
) -> dict[str, pd.DataFrame]:
    """Figures of one model's choices, by `schemas.FIGURES`, and `headlines`, by `HEADLINES`.

    Args:
        name: Of the instrument.
        tables: What is published.
        plan: What was asked.
        said: By `choosing.read`.
        model: Whose.
        level: Of intervals that describe.
    """
    asked = questions(tables, plan).merge(choosing.shares(said), on=["id", "framing"])
    asked = asked.rename(columns={"attribute": "unit", "template": "at"})
    asked["pole"] = (asked["framing"] != PLACEBO).astype("int8")
    rested_on = rows_of(tables["probes"][~tables["probes"]["control"]].filter(READS["probes"]), ["set", "attribute"])
    rows: list[tuple[str, Confirmatory | Figure, Fitness]] = []
    made_of = []
    for template_set, of_set in asked.groupby("set", sort=True):
        part = f"{template_set}, {CHOICE}"
        points, left = _points(of_set)
        fit = choosing.fitness(said[said["id"].isin(of_set["id"]) | (said["framing"] == choosing.KNOWN)])
        same = unvaried(points.loc[points["framing"] == BARE, "value"], "choices")
        fit = Fitness(unfit=same) if same and fit.unfit is None else fit
        silence = of_set[of_set["framing"] == BARE].assign(value=100 * of_set["unanswered"])
        for figure, own in ((_gain(points, left), points[points["framing"] != RIVAL]), (_unanswered(silence), silence)):
            rows.append((part, figure, fit))
            own = own.assign(part=part, model=model, figure=figure.figure)
            made_of.append(own.assign(rows=own["unit"].map(rested_on.xs(template_set)))[HEADLINES.names])
        rows += [(part, own, Fitness()) for own in _described(points, said, fit, level)]
    judged = judge([(figure, fit) for _, figure, fit in rows])
    told = [
        {"benchmark": name, "part": part, "model": model, **asdict(figure)}
        for (part, *_), figure in zip(rows, judged, strict=True)
    ]
    figures = pd.DataFrame(told).reindex(columns=schemas.FIGURES.names)
    return {"figures": figures, "headlines": stacked(made_of)}


def _points(asked: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Percentage points of choices of the first sentence beyond half, `value`, signed by keying; and who is left out.

    An attribute of which half of the replies are no choice leaves, and so do words (of nouns, the whole list) that got
    no choice at all in some template. Else a pair that was not chosen from both ways has what its template and words
    have on average, and the attribute.
    """
    silent = asked[asked["framing"] == BARE].groupby("unit")["unanswered"].mean()
    left = sorted(silent.index[silent > MOST_UNANSWERED])
    kept = asked[~asked["unit"].isin(left)]
    value = 100 * kept["keying"] * (kept["share"] - 0.5)
    cells = value.groupby([kept["framing"], kept["at"], kept["group"], kept["word"]])
    of_cell, words = cells.transform("mean"), kept["group"].where(kept["framing"] == PLACEBO, kept["word"])
    unknown = sorted(set(words[of_cell.isna()]))
    of_unit = (value - of_cell).groupby([kept["framing"], kept["unit"]]).transform("mean").fillna(0.0)
    return kept.assign(value=value.fillna(of_cell + of_unit))[~words.isin(unknown)], [*left, *unknown]


def _gain(points: pd.DataFrame, left: list[str]) -> Confirmatory:
    """The gain of shares."""
    own, nouns, rivals = (points[points["framing"] == framing] for framing in (BARE, PLACEBO, RIVAL))
    if own.empty:
        few = "no attribute of which half of the choices are answered"
        return Confirmatory(SHARE_GAIN, UNIT, {UNIT: 0}, None, 1.0, lacking=few)
    found = gain_of_pairs(own, nouns, rivals)
    return replace(found, note=f"Left out, mostly unanswered: {', '.join(left)}.") if left else found


def _unanswered(silence: pd.DataFrame) -> Confirmatory:
    """How the share of replies that are no choice rises along the axis; whoever is named, so it has no placebo."""
    cube, axis, lists = cube_of_pairs(silence)
    levels = {UNIT: len(cube.attributes)}
    effect = along(cube, axis, lists)
    if isinstance(effect, str):
        return Confirmatory(UNANSWERED, UNIT, levels, None, SMALLEST_UNANSWERED, lacking=effect)
    p, whole = effect.p(), effect.interval()
    p_values = PValues(effect=p, none=effect.p_within(SMALLEST_UNANSWERED), unspecific=1.0)
    found = Confirmatory(UNANSWERED, UNIT, levels, whole, SMALLEST_UNANSWERED, p, p=p_values)
    return replace(found, specific=whole, detectable=finite(effect.detectable()))


def _described(points: pd.DataFrame, said: pd.DataFrame, fit: Fitness, level: float) -> Iterator[Figure]:
    """Known answers, and the share of the first group's sentences in all."""
    right, n = choosing.known_right(said)
    if n:
        ends = binomtest(right, n).proportion_ci(method="wilson")
        yield Figure(KNOWN, right / n, n, "pairs", float(ends.low), float(ends.high))
    own = points[points["framing"] == BARE]
    if len(own):
        by_unit = own.groupby("unit")["share"].mean().dropna().to_numpy(dtype=np.float64)
        mean = mean_interval(by_unit, level)
        yield marked(Figure(SHARE, finite(mean.value), len(by_unit), UNIT, finite(mean.low), finite(mean.high)), fit)
