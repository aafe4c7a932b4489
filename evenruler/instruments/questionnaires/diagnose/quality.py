"""Which items need work (EMPALC, section 3.3), and agreement between fits of a model with different
seeds.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evenruler.instruments.instrument import ModelMeta
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare import FIT_AGREEMENT
from evenruler.measurement import Figure
from evenruler.measurement.figures import Row, as_rows, finite_or_none
from evenruler.measurement.reliability import icc_agreement
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.strict import read_yaml
from evenruler.tables.ids import canonical_json


@dataclass(frozen=True)
class Threshold:
    """Limits for a figure of an item."""

    good: float
    """Good from this value on."""
    poor: float
    """Poor up to this value, or below it if `poor_below`; weak in between."""
    poor_below: bool
    advice: str
    """What to change in the item."""


THRESHOLDS = {
    measure: Threshold(**threshold_fields)
    for measure, threshold_fields in read_yaml(Path(__file__).with_name("thresholds.yaml")).items()
}
"""Thresholds by measure; measures without one are shown without a verdict."""


def of_content(content: pd.DataFrame) -> pd.DataFrame:
    """Figures that depend on no model, as `schemas.QUALITY`."""
    return pd.DataFrame(_quality_rows(content.assign(model=None)), columns=schemas.QUALITY.names)


def of_silhouettes(items: pd.DataFrame) -> pd.DataFrame:
    """SC of every item and model, as `schemas.QUALITY`."""
    columns = ["questionnaire", "item", "model", "silhouette"]
    silhouettes = (
        items[columns].rename(columns={"silhouette": "value"}).assign(measure="silhouette")
    )
    return pd.DataFrame(_quality_rows(silhouettes), columns=schemas.QUALITY.names)


def _quality_rows(figures: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Each figure with the threshold of its measure, the word for it, and advice where that is weak
    or poor; null for measures without threshold.
    """
    for record in figures.to_dict("records"):
        threshold = THRESHOLDS.get(record["measure"])
        verdict_name = threshold_verdict(record["measure"], float(record["value"]))
        needs_work = verdict_name in ("weak", "poor")
        good = threshold.good if threshold else None
        advice = threshold.advice if threshold and needs_work else None
        yield {
            **{str(column): cell for column, cell in record.items()},
            "threshold": good,
            "verdict": verdict_name,
            "advice": advice,
        }


def threshold_verdict(measure: str, value: float) -> str:
    """Good, weak or poor by the threshold of a measure; `told` without threshold or value."""
    threshold = THRESHOLDS.get(measure)
    if threshold is None or pd.isna(value):
        return "told"
    if value >= threshold.good:
        return "good"
    poor = value < threshold.poor if threshold.poor_below else value <= threshold.poor
    return "poor" if poor else "weak"


UNIT = "items"

ALONE = "no model in use differs from it in the seed of its fit alone"
DOES_NOT_COUNT = "the interval of its accuracy is not above the threshold"

Key = tuple[str, str]


def over_fits(
    subjects: Sequence[ModelMeta],
    items: pd.DataFrame,
    twins: pd.DataFrame,
    members: Collection[str],
    level: float,
) -> list[Row]:
    """Agreement between fits on the items of every questionnaire; the same row for each fit.

    For every model fitted here; null with the reason where it has no other fit, or is not among
    `members`.
    """
    rows: list[Row] = []
    for fits in _by_recipe(subjects, members):
        item_scores = _scores_by_questionnaire(items, fits)
        twin_scores = _scores_by_questionnaire(twins, fits)
        for name in sorted(item_scores):
            figure = _agreement_figure(item_scores[name], twin_scores.get(name), level)
            for fit in fits:
                rows += as_rows([figure], name, fit)
    fitted_models = {subject.name for subject in subjects if subject.recipe is not None}
    uncounted = items[items["model"].isin(fitted_models - set(members))]
    for (scale, model), part in uncounted.groupby(["questionnaire", "model"], sort=True):
        figure = Figure(FIT_AGREEMENT, None, len(part), UNIT, reason=DOES_NOT_COUNT)
        rows += as_rows([figure], scale, model)
    return rows


def _by_recipe(subjects: Sequence[ModelMeta], members: Collection[str]) -> list[list[str]]:
    """Groups of counting models fitted here that share lineage and recipe, except for the seed."""
    names_by_recipe: dict[Key, dict[str, None]] = {}
    for subject in subjects:
        recipe = recipe_of(subject)
        if recipe is not None and subject.name in members:
            names_by_recipe.setdefault(recipe, {})[subject.name] = None
    return [sorted(names) for _, names in sorted(names_by_recipe.items())]


def recipe_of(subject: ModelMeta) -> Key | None:
    """Lineage and recipe without the seed; None for models not fitted here."""
    if subject.recipe is None:
        return None
    but_seed = {key: value for key, value in subject.recipe.items() if key != "seed"}
    return subject.lineage, canonical_json(but_seed).decode()


def _scores_by_questionnaire(frame: pd.DataFrame, fits: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Scores [items, fits] by questionnaire."""
    fit_scores = frame[frame["model"].isin(fits)]
    return {
        str(name): of_name.pivot_table(
            index="item", columns="model", values="score", aggfunc="mean"
        ).dropna()
        for name, of_name in fit_scores.groupby("questionnaire", sort=True)
    }


def _agreement_figure(scores: pd.DataFrame, twins: pd.DataFrame | None, level: float) -> Figure:
    """Agreement of scores [items, fits]; the control is the agreement on twins."""
    n, fits = scores.shape
    if min(n, fits) < 2:
        reason = ALONE if fits < 2 else "agreement of fits needs at least two items"
        return Figure(FIT_AGREEMENT, None, n, UNIT, reason=reason)
    control = None if twins is None else finite_or_none(icc_agreement(twins, level).value)
    agreement = icc_agreement(scores, level)
    value, low, high = (
        finite_or_none(end) for end in (agreement.value, agreement.low, agreement.high)
    )
    if value is None:
        return Figure(
            FIT_AGREEMENT, None, n, UNIT, reason="all items have the same score", control=control
        )
    ends = (low, high) if n >= FEWEST_UNITS else (None, None)
    return Figure(FIT_AGREEMENT, value, n, UNIT, *ends, control=control)
