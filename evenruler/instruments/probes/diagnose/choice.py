"""Figures of chat models: choices between two sentences, sentences they write, and unanswered replies, by attribute.

A choice asked in both orders scores a pair of words from -50 to 50 points, and so does the pronoun of a sentence; the
gain is computed from these scores as from likelihoods, with pairs in place of words.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evenruler.instruments import choosing, writing
from evenruler.instruments.instrument import Plan, Tables
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import CHOICE, PLACEBO, READS, RIVAL, WRITTEN, questions, sentences
from evenruler.instruments.probes.diagnose.gain import SHARE_GAIN, UNANSWERED, UNIT, WRITTEN_GAIN, gain_alone, gain_of
from evenruler.instruments.probes.diagnose.quality import mean_interval
from evenruler.measurement import Figure
from evenruler.measurement.answered import MOST_UNANSWERED, unvaried
from evenruler.measurement.figures import finite
from evenruler.measurement.reliability import wilson
from evenruler.measurement.verdicts import Confirmatory, Fitness, judge, marked
from evenruler.tables import rows_of, stacked
from evenruler.tables.ids import content_sha256
from evenruler.tables.schemas import BARE, HEADLINES

KNOWN, SHARE, WRITTEN_SHARE, NAMED = "known_answers", "chosen_share", "written_share", "named_share"


@dataclass(frozen=True)
class _Part:
    """Questions on one template set, or on written sentences, with their answers."""

    name: str
    figure: str
    """`SHARE_GAIN` or `WRITTEN_GAIN`."""
    asked: pd.DataFrame
    """Questions with `unit, at, group, word, keying, beside, framing, pole`, and with `share` of the first group and
    `unanswered`."""
    fit: Fitness
    known: tuple[int, int]
    """Number of right answers to questions with known answers, and number of these questions."""
    rested_on: "pd.Series[str]"
    """By unit, a hash of its published rows, or of its prompts."""


def choice_figures(
    name: str, tables: Tables, plan: Plan, scores: Tables, model: str, level: float
) -> dict[str, pd.DataFrame]:
    """Figures of what one chat model chose or wrote, by `schemas.FIGURES`, and `headlines`, by `HEADLINES`.

    `scores`: `choices` by `choosing.read`, or `sentences` by `writing.read`; `level`: of descriptive intervals.
    """
    rows: list[tuple[str, Confirmatory | Figure, Fitness]] = []
    made_of = []
    for part in (_chosen if choosing.TABLE in scores else _written)(tables, plan, scores):
        points, left = _points(part.asked)
        same = unvaried(points.loc[points["framing"] == BARE, "value"], "choices")
        fit = Fitness(unfit=same) if same and part.fit.unfit is None else part.fit
        silence = part.asked[part.asked["framing"] == BARE].assign(value=100 * part.asked["unanswered"])
        of_gain = points[points["framing"] != RIVAL]
        for figure, own in ((_gain(part, points, left), of_gain), (gain_alone(UNANSWERED, silence), silence)):
            rows.append((part.name, figure, fit))
            own = own.assign(part=part.name, model=model, figure=figure.figure)
            made_of.append(own.assign(rows=own["unit"].map(part.rested_on))[HEADLINES.names])
        rows += [(part.name, own, Fitness()) for own in _described(part, points, fit, level)]
    judged = judge([(figure, fit) for _, figure, fit in rows])
    told = pd.DataFrame(judged).assign(benchmark=name, part=[part for part, *_ in rows], model=model)
    return {"figures": told.reindex(columns=schemas.FIGURES.names), "headlines": stacked(made_of)}


def _chosen(tables: Tables, plan: Plan, scores: Tables) -> Iterator[_Part]:
    said = scores[choosing.TABLE]
    asked = questions(tables, plan).merge(choosing.shares(said), on=["id", "framing"])
    asked = asked.rename(columns={"attribute": "unit", "template": "at"})
    asked["pole"] = (asked["framing"] != PLACEBO).astype("int8")
    rested_on = rows_of(tables["probes"][~tables["probes"]["control"]].filter(READS["probes"]), ["set", "attribute"])
    for template_set, of_set in asked.groupby("set", sort=True):
        own = said[said["id"].isin(of_set["id"]) | (said["framing"] == choosing.KNOWN)]
        fit, known = choosing.fitness(own), choosing.known_right(own)
        yield _Part(f"{template_set}, {CHOICE}", SHARE_GAIN, of_set, fit, known, rested_on.xs(template_set))


def _written(tables: Tables, plan: Plan, scores: Tables) -> Iterator[_Part]:
    said, every = scores[choosing.SENTENCES], sentences(tables, plan)
    asked = every[every["framing"] == BARE].merge(said[["id", "framing", "said"]], on=["id", "framing"])
    asked = asked.rename(columns={"attribute": "unit", "template": "at"})
    asked = asked.assign(share=asked["said"].map(writing.NAMED), unanswered=asked["said"].isna().astype(float))
    rested_on = asked.groupby("unit")["prompt"].agg(lambda own: content_sha256(*own)[:16])
    fit, known = writing.fitness(said, every), writing.known_right(said, every)
    yield _Part(WRITTEN, WRITTEN_GAIN, asked.assign(word=WRITTEN, pole=1), fit, known, rested_on)


def _points(asked: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Share of the first sentence minus a half, `value` in percentage points, signed by keying; and what is left out.

    Left out are attributes with more than half of the replies unanswered, and words (of nouns, the whole list)
    without any choice in some template. Other missing values are imputed: the mean of their template and words, plus
    the mean deviation of the attribute from such means.
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


def _gain(part: _Part, points: pd.DataFrame, left: list[str]) -> Confirmatory:
    own, nouns, rivals = (points[points["framing"] == framing] for framing in (BARE, PLACEBO, RIVAL))
    if own.empty:
        few = "no attribute with at least half of its choices answered"
        return Confirmatory(part.figure, UNIT, {UNIT: 0}, None, 1.0, lacking=few)
    alone = part.figure == WRITTEN_GAIN
    found = gain_alone(WRITTEN_GAIN, own) if alone else gain_of(own, nouns, rivals, SHARE_GAIN)
    return replace(found, note=f"Left out, mostly unanswered: {', '.join(left)}.") if left else found


def _described(part: _Part, points: pd.DataFrame, fit: Fitness, level: float) -> Iterator[Figure]:
    """Share of right known answers, share of the first group, and of written sentences, share that name a group."""
    right, n = part.known
    wrote = part.figure == WRITTEN_GAIN
    if n:
        yield Figure(KNOWN, right / n, n, "sentences" if wrote else "pairs", *wilson(right / n, n))
    own = points[points["framing"] == BARE]
    named = own[own["share"].isin([0, 1])] if wrote else own
    told = {WRITTEN_SHARE if wrote else SHARE: named.groupby("unit")["share"].mean().dropna()}
    if wrote:
        told[NAMED] = (2 * (own["share"] - 0.5).abs()).groupby(own["unit"]).mean().dropna()
    for figure, by_unit in told.items():
        if len(by_unit):
            mean = mean_interval(by_unit.to_numpy(dtype=np.float64), level)
            low, high = finite(mean.low), finite(mean.high)
            yield marked(Figure(figure, finite(mean.value), len(by_unit), UNIT, low, high), fit)
