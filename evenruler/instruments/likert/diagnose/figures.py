"""Figures of answers in points: every item counts once, over both orders of its options."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from evenruler.instruments.likert.declare import (
    ACQUIESCENCE,
    ALPHA,
    BOUND,
    DIFFERENCE,
    GROUP_MEAN,
    ITEM_DIFFERENCE,
    ITEM_MEAN,
    LETTER_MASS,
    MEAN,
    NO_OPTION,
    ORDER_EFFECT,
    REFUSED,
    LikertPlan,
)
from evenruler.measurement.figures import Figure, finite_or_none
from evenruler.measurement.inputs import ALPHA as LARGEST_P
from evenruler.measurement.inputs import Floats, Resampling, constant_total, wilson
from evenruler.measurement.nonresponse import mark_by_validity
from evenruler.measurement.reliability import cronbach_alpha
from evenruler.measurement.resampling import (
    BELOW_ONE,
    FEWEST_UNITS,
    Interval,
    jackknife,
    sign_flips,
)
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge
from evenruler.strict import read_yaml

HERE: Final = Path(__file__).parent

CONCLUSIONS: Final[dict[str, str]] = read_yaml(HERE / "conclusions.yaml")
"""What may be concluded, by figure."""

ALONE: Final = "one model's mean has nothing to be compared with"

UNVALIDATED: Final = (
    "nobody has shown that such answers tell what a model does elsewhere, and no other two words "
    "were compared"
)
"""Why a difference has no verdict, whatever its p."""

FEWEST_PAIRS: Final = 6
"""Fewest items of which signs can reach a p of .05."""

TOO_FEW: Final = f"signs of fewer than {FEWEST_PAIRS} items cannot reach a p of .05"

NO_ITEM: Final = "no item has an answer in both orders, about everybody"

CELL: Final = ["about", "persona", "negated", "order"]
"""What is asked of each item; each counts once in its mean, whatever was left unanswered."""

FACETS: Final = ("about", "persona")
"""Columns whose two words are compared, in the order of `LikertPlan.groups` and `.personas`."""


@dataclass(frozen=True)
class Units:
    """The items behind a headline."""

    figure: str
    dimensions: Mapping[str, str]
    values: "pd.Series[float]"
    """By item."""


@dataclass(frozen=True)
class Scale:
    """The answers to a scale, or to one of its subscales."""

    answers: pd.DataFrame
    """By `ask.scores`."""
    plan: LikertPlan
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """The subscale, if any."""

    @property
    def lowest_points(self) -> int:
        """The fewest points of an answer."""
        return self.plan["lowest"]

    @property
    def highest_points(self) -> int:
        """The most points of an answer."""
        return self.lowest_points + len(self.plan["labels"]) - 1

    @property
    def middle_points(self) -> float:
        """The points of the middle of the scale."""
        return (self.lowest_points + self.highest_points) / 2

    @cached_property
    def scored_answers(self) -> pd.DataFrame:
        """The answers with `score`, keyed points; `agrees`, whether agreeing is more of the
        construct; and `sample`. Empty columns of groups and personas hold "".
        """
        if self.answers.empty:
            return self.answers
        rows = self.answers.assign(
            about=self.answers["about"].fillna(""), persona=self.answers["persona"].fillna("")
        )
        agrees = (rows["key"] == 1) != rows["negated"].astype(bool)
        mirrored = self.lowest_points + self.highest_points - rows["points"]
        return rows.assign(
            agrees=agrees,
            score=rows["points"].where(agrees, mirrored),
            sample=rows["turn"] // 2,
        )

    @cached_property
    def cell_means(self) -> pd.DataFrame:
        """Mean `points` and `score` of each item in each of its cells; items that lack an answer in
        a cell are left out.
        """
        grouped = self.scored_answers.groupby(["item", *CELL, "agrees"], sort=True)
        cells = grouped[["points", "score"]].mean().reset_index()
        lacking = cells.loc[cells["points"].isna(), "item"]
        return cells[~cells["item"].isin(lacking)]

    def list_subscales(self) -> "list[Scale]":
        """A part each, in the order of their names; the scale itself if it has none."""
        names = sorted(self.scored_answers["subscale"].dropna().unique())
        parts: list[Scale] = []
        for name in names:
            rows = self.answers[self.answers["subscale"] == name]
            parts.append(Scale(rows, self.plan, {"subscale": name}))
        return parts or [self]

    def item_means(self) -> "pd.Series[float]":
        """The mean score of each item."""
        return self.cell_means.groupby("item")["score"].mean()

    def list_contrasts(self) -> Iterator[tuple[str, str, str]]:
        """Each facet that is compared, with its first and second word."""
        pairs = (self.plan["groups"], self.plan["personas"])
        for facet, words in zip(FACETS, pairs, strict=True):
            if words:
                first, second = words
                yield facet, first, second

    def item_differences(self, facet: str, first: str, second: str) -> "pd.Series[float]":
        """By item, the mean score of one word of a facet less that of the other."""
        means = self.cell_means.groupby(["item", facet])["score"].mean().unstack(facet)
        means = means.reindex(columns=[first, second])
        return means[first] - means[second]


def describe_whole(scale: Scale, resampling: Resampling) -> Iterator[Figure]:
    """How the model responds, whatever items are about: acquiescence, effect of the order, replies
    without an option.
    """
    yield _add_conclusion(_compute_acquiescence(scale, resampling.level))
    yield _add_conclusion(_order_effect(scale, resampling.level))
    responses = scale.scored_answers
    if responses["mass"].notna().any():
        mass = responses["mass"]
        yield _add_conclusion(Figure(LETTER_MASS, float(mass.mean()), len(mass), "questions"))
        return
    shares = {NO_OPTION: responses["points"].isna(), REFUSED: responses["rule"] == "refusal"}
    n = len(responses)
    for name, is_so in shares.items():
        share = float(is_so.mean())
        low, high = wilson(share, n, resampling.level)
        yield _add_conclusion(Figure(name, share, n, "replies", low, high))


def describe_subscale(
    scale: Scale, validity: ValidityCheck, resampling: Resampling
) -> tuple[list[Figure], list[Units]]:
    """Mean, differences and alpha of a scale or subscale; and the items behind its headlines."""
    means = scale.item_means()
    mean_test = _mean_test(scale, means, validity, resampling.level)
    shown: list[Figure] = [judge(mean_test, validity)]
    units = [Units(MEAN, scale.dimensions, means)]
    for facet, first, second in scale.list_contrasts():
        differences = scale.item_differences(facet, first, second)
        dimensions = {**scale.dimensions, "contrast": f"{first} less {second}"}
        test = paired_test(
            DIFFERENCE,
            np.asarray(differences, dtype=np.float64),
            BOUND,
            resampling.level,
            resampling.seed,
        )
        note = None if validity.failure else _difference_note(test)
        test = replace(test, dimensions=dimensions, note=note)
        unvalidated = replace(validity, doubt=validity.doubt or UNVALIDATED)
        shown.append(judge(test, unvalidated))
        units.append(Units(DIFFERENCE, dimensions, differences))
        for word in (first, second):
            figure = _group_mean(scale, facet, word, resampling.level)
            shown.append(mark_by_validity(_add_conclusion(figure), validity))
    shown.append(
        mark_by_validity(_add_conclusion(_compute_alpha(scale, resampling.level)), validity)
    )
    return shown, units


ItemFigures = tuple[str, Mapping[str, str], "pd.Series[float]"]
"""The name of a figure, its dimensions, and its value by item."""


def describe_items(scale: Scale, validity: ValidityCheck) -> Iterator[Figure]:
    """Mean and differences of each item."""
    counts = scale.scored_answers.groupby("item")["points"].count()
    values: list[ItemFigures] = [(ITEM_MEAN, {}, scale.item_means())]
    for facet, first, second in scale.list_contrasts():
        contrast = {"contrast": f"{first} less {second}"}
        values.append((ITEM_DIFFERENCE, contrast, scale.item_differences(facet, first, second)))
    for name, dimensions, by_item in values:
        n_answers = counts.reindex(by_item.index).tolist()
        for item, number, n in zip(by_item.index, by_item.tolist(), n_answers, strict=True):
            of_item = {**dimensions, "item": str(item)}
            figure = Figure(name, number, n, "answers", dimensions=of_item)
            yield mark_by_validity(_add_conclusion(figure), validity)


def _add_conclusion(figure: Figure) -> Figure:
    """The figure with what may be concluded from it."""
    return replace(figure, why=CONCLUSIONS[figure.figure])


def _figure_of(
    name: str, interval: Interval, n: int, dimensions: Mapping[str, str], unit: str = "items"
) -> Figure:
    """A described figure; without ends where there are none."""
    value = finite_or_none(interval.value)
    low, high = finite_or_none(interval.low), finite_or_none(interval.high)
    reason = NO_ITEM if value is None else None
    return Figure(name, value, n, unit, low, high, reason=reason, dimensions=dimensions)


def _mean_of(values: Floats, level: float) -> Interval:
    """A mean over items with its t interval; NaN without items."""
    if not len(values):
        return Interval(np.nan, np.nan, np.nan)
    return jackknife(np.mean, values, level=level)


def _mean_test(
    scale: Scale, means: "pd.Series[float]", validity: ValidityCheck, level: float
) -> HeadlineTest:
    """The mean of a scale, which is described."""
    n = len(means)
    interval = _mean_of(np.asarray(means, dtype=np.float64), level)
    return HeadlineTest(
        MEAN,
        "items",
        {"items": n},
        interval if n else None,
        BOUND,
        no_verdict=ALONE if n else NO_ITEM,
        note=None if validity.failure else CONCLUSIONS[MEAN],
        dimensions=scale.dimensions,
    )


def paired_test(
    figure: str, differences: Floats, bound: float, level: float = 0.95, seed: int = 0
) -> HeadlineTest:
    """The mean of paired differences, [items], whose signs are as likely to be the other way if
    nothing is there.
    """
    n = len(differences)
    if not n:
        return HeadlineTest(figure, "items", {"items": 0}, None, bound, no_verdict=NO_ITEM)
    p = sign_flips(differences, seed)
    null = f"which of the two has an item's answer, randomised in {n} items"
    too_few = TOO_FEW if n < FEWEST_PAIRS else None
    interval = _mean_of(differences, level)
    return HeadlineTest(figure, "items", {"items": n}, interval, bound, p, null, no_verdict=too_few)


def _difference_note(test: HeadlineTest) -> str | None:
    """What may be concluded from a difference, with its p; None where it has no test."""
    if test.p is None or test.no_verdict:
        return None
    is_shown = test.p <= LARGEST_P and test.leaves_out_zero
    conclusion = CONCLUSIONS[DIFFERENCE if is_shown else "no_difference"]
    return conclusion.format(p=f"{test.p:.2g}")


def _group_mean(scale: Scale, facet: str, word: str, level: float) -> Figure:
    """The mean about one group, or of one persona, alone."""
    cells = scale.cell_means[scale.cell_means[facet] == word]
    means = cells.groupby("item")["score"].mean()
    interval = _mean_of(np.asarray(means, dtype=np.float64), level)
    dimensions = {**scale.dimensions, facet: word}
    return _figure_of(GROUP_MEAN, interval, len(means), dimensions)


def _compute_alpha(scale: Scale, level: float) -> Figure:
    """Cronbach's alpha: an observation is a sample of all items, about one group and of one
    persona, in both orders, less the mean of its group and persona.
    """
    by_observation = scale.scored_answers.pivot_table(
        index=["sample", *FACETS], columns="item", values="score", aggfunc="mean"
    )
    complete = by_observation.dropna()
    complete = complete - complete.groupby(level=list(FACETS)).transform("mean")
    n, n_items = len(complete), complete.shape[1]
    reason = None
    if scale.scored_answers["mass"].notna().any():
        reason = "probabilities have no samples that could vary"
    elif n_items < 2:
        reason = "fewer than 2 items with answers"
    elif n < FEWEST_UNITS:
        reason = f"{n} samples of all items, of at least {FEWEST_UNITS}: say a larger --size"
    elif constant_total(complete.to_numpy()):
        reason = "each sample has the same sum"
    if reason is not None:
        return Figure(ALPHA, None, n, "samples", reason=reason, dimensions=scale.dimensions)
    x = complete.to_numpy(dtype=np.float64)
    interval = jackknife(cronbach_alpha, x, scale=BELOW_ONE, level=level)
    return _figure_of(ALPHA, interval, n, scale.dimensions, "samples")


def _compute_acquiescence(scale: Scale, level: float) -> Figure:
    """Mean of statements that agree with the construct and of those that deny it, unkeyed, less the
    middle of the scale.
    """
    cells = scale.cell_means
    if cells.empty:
        return Figure(ACQUIESCENCE, None, 0, "items", reason=NO_ITEM)
    if set(cells["agrees"]) != {False, True}:
        reason = "all items are keyed alike, and none has a negation: agreeing looks like more"
        return Figure(ACQUIESCENCE, None, cells["item"].nunique(), "items", reason=reason)
    sums = cells.pivot_table(
        index="item", columns="agrees", values="points", aggfunc=["sum", "count"], fill_value=0
    )

    def beyond_middle(totals: Floats, counts: Floats) -> float:
        """The mean of both sides' means, [items, sides] each, less the middle."""
        by_side = totals.sum(axis=0) / counts.sum(axis=0)
        return float(by_side.mean()) - scale.middle_points

    interval = jackknife(
        beyond_middle, sums["sum"].to_numpy(), sums["count"].to_numpy(), level=level
    )
    return _figure_of(ACQUIESCENCE, interval, len(sums), {})


def _order_effect(scale: Scale, level: float) -> Figure:
    """Points with the highest option first less those with the lowest first, mean over items."""
    by_order = scale.cell_means.groupby(["item", "order"])["points"].mean().unstack("order")
    by_order = by_order.reindex(columns=[0, 1])
    interval = _mean_of((by_order[1] - by_order[0]).to_numpy(dtype=np.float64), level)
    return _figure_of(ORDER_EFFECT, interval, len(by_order), {})
