"""Which items need work (EMPALC, section 3.3), and how far scores hang on the seed of a model's fit."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.instrument import Subject
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare import FIT_AGREEMENT
from evenruler.measurement import Figure
from evenruler.measurement.figures import Row, as_rows, finite
from evenruler.measurement.reliability import icc_agreement
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import Mark
from evenruler.strict import read_yaml
from evenruler.tables.ids import canonical
from evenruler.tables.schemas import WHOLE


@dataclass(frozen=True)
class Threshold:
    """What is asked of a figure of an item."""

    good: float
    """From here on good."""
    poor: float
    """Up to here, or where `poor_below` below here, poor; weak between the two."""
    poor_below: bool
    advice: str
    """What to change."""


THRESHOLDS = {
    measure: Threshold(**asked) for measure, asked in read_yaml(Path(__file__).with_name("thresholds.yaml")).items()
}
"""By measure; others are told only."""


def of_content(content: pd.DataFrame) -> pd.DataFrame:
    """Figures that depend on no model, by `schemas.QUALITY`."""
    return pd.DataFrame(_rows(content.assign(model=None)), columns=schemas.QUALITY.names)


def of_silhouettes(items: pd.DataFrame) -> pd.DataFrame:
    """SC of every item and model, by `schemas.QUALITY`."""
    columns = ["questionnaire", "item", "model", "silhouette"]
    silhouettes = items[columns].rename(columns={"silhouette": "value"}).assign(measure="silhouette")
    return pd.DataFrame(_rows(silhouettes), columns=schemas.QUALITY.names)


def refuse_poor(quality: pd.DataFrame, stopping: Collection[str]) -> None:
    """UserError at a poor item of a questionnaire that asks for it."""
    poor = quality[(quality["verdict"] == "poor") & quality["questionnaire"].isin(stopping)]
    for record in poor.to_dict("records"):
        what = f"{record['measure']} is {record['value']:.2f}"
        where = f"{record['questionnaire']}, item {record['item']}"
        raise UserError(what, where=where, remedy=f"{record['advice']}; or take `stop_below` out of params.yaml")


def _rows(figures: pd.DataFrame) -> Iterator[dict[str, object]]:
    for record in figures.to_dict("records"):
        threshold, found = THRESHOLDS.get(record["measure"]), verdict(record["measure"], float(record["value"]))
        yield {
            **{str(column): own for column, own in record.items()},
            "threshold": threshold.good if threshold else None,
            "verdict": found,
            "advice": threshold.advice if threshold and found in ("weak", "poor") else None,
        }


def verdict(measure: str, value: float) -> Mark:
    """Good, weak or poor by the threshold of a measure; `told` where it has none, or the value is none."""
    threshold = THRESHOLDS.get(measure)
    if threshold is None or pd.isna(value):
        return "told"
    if value >= threshold.good:
        return "good"
    poor = value < threshold.poor if threshold.poor_below else value <= threshold.poor
    return "poor" if poor else "weak"


UNIT = "items"

ALONE = "no model in use differs from it in the seed of its fit alone"
DOES_NOT_COUNT = "its accuracy is not surely above the bar"

Key = tuple[str, str]


def over_fits(
    subjects: Sequence[Subject], items: pd.DataFrame, twins: pd.DataFrame, members: Collection[str], level: float
) -> pd.DataFrame:
    """Agreement of fits about the items of every questionnaire, by `schemas.FIGURES`; the same row for each fit.

    Of every model that was fitted here; null with the reason where it has no other fit, or is not among `members`.
    """
    rows: list[Row] = []
    for fits in _by_recipe(subjects, members):
        own, beside = (_scores(frame, fits) for frame in (items, twins))
        for name in sorted(own):
            figure = _agreement(own[name], beside.get(name), level)
            for fit in fits:
                rows += as_rows([figure], name, fit, WHOLE)
    others = {subject.name for subject in subjects if subject.recipe is not None} - set(members)
    for (scale, model), part in items[items["model"].isin(others)].groupby(["questionnaire", "model"], sort=True):
        figure = Figure(FIT_AGREEMENT, None, len(part), UNIT, reason=DOES_NOT_COUNT)
        rows += as_rows([figure], scale, model, WHOLE)
    return pd.DataFrame(rows)


def _by_recipe(subjects: Sequence[Subject], members: Collection[str]) -> list[list[str]]:
    """Models that were fitted here and count, those together that share lineage and recipe but for the seed."""
    found: dict[Key, dict[str, None]] = {}
    for subject in subjects:
        if (recipe := recipe_of(subject)) is not None and subject.name in members:
            found.setdefault(recipe, {})[subject.name] = None
    return [sorted(names) for _, names in sorted(found.items())]


def recipe_of(subject: Subject) -> Key | None:
    """What fits share that differ in their seed alone; None of a model that was not fitted here."""
    if subject.recipe is None:
        return None
    but_seed = {key: value for key, value in subject.recipe.items() if key != "seed"}
    return subject.lineage, canonical(but_seed).decode()


def _scores(frame: pd.DataFrame, fits: Sequence[str]) -> dict[str, pd.DataFrame]:
    """By questionnaire: [items, fits] scores."""
    own = frame[frame["model"].isin(fits)]
    return {
        str(name): of_name.pivot_table(index="item", columns="model", values="score", aggfunc="mean").dropna()
        for name, of_name in own.groupby("questionnaire", sort=True)
    }


def _agreement(scores: pd.DataFrame, twins: pd.DataFrame | None, level: float) -> Figure:
    """Of [items, fits]; the control is the agreement about the twins."""
    n, fits = scores.shape
    if min(n, fits) < 2:
        reason = ALONE if fits < 2 else "fits cannot be seen to agree about one item"
        return Figure(FIT_AGREEMENT, None, n, UNIT, reason=reason)
    control = None if twins is None else finite(icc_agreement(twins, level).value)
    found = icc_agreement(scores, level)
    value, low, high = (finite(end) for end in (found.value, found.low, found.high))
    if value is None:
        return Figure(FIT_AGREEMENT, None, n, UNIT, reason="all items have the same score", control=control)
    ends = (low, high) if n >= FEWEST_UNITS else (None, None)
    return Figure(FIT_AGREEMENT, value, n, UNIT, *ends, control=control)
