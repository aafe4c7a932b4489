"""Quality of questionnaires (EMPALC, section 3.3): figures of one model, and over models."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.questionnaires.declare import (
    AGREES,
    ALPHA,
    ITEM_REST,
    ORDER_SHIFT,
    RHO,
)
from evenruler.instruments.questionnaires.diagnose.population import (
    FEWEST_LINEAGES,
    OF_MODEL,
    accuracy_figures,
    method_dimension,
    method_label,
)
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.estimates import correlation_figure, jackknife_figure
from evenruler.measurement.figures import (
    UNDEFINED,
    WHOLE,
    Row,
    as_rows,
    finite_or_none,
)
from evenruler.measurement.inputs import constant_columns
from evenruler.measurement.nonresponse import mark_by_validity
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN
from evenruler.measurement.shifts import UNASKED, prefix_shifts, shift_figures
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.models.declarations import BY_FACTS, OPTIONS, VERBALISER


def model_figures(
    items: pd.DataFrame,
    twins: pd.DataFrame,
    cells: pd.DataFrame,
    accuracy: pd.DataFrame,
    fits: Mapping[str, ValidityCheck],
    level: float,
) -> list[Row]:
    """Figures of one model, by method: answer, silhouette, PSS range, order of words, accuracy.

    The answer is the item score times the number of intensifiers: the mean weight that a term gets,
    in points of the scale. The control of answer, silhouette and range is the same figure of twins.
    The answer is marked invalid where `fits` (by method) say so; it is also given for subscales.
    """
    rows: list[Row] = []
    own_cells = dict(iter(cells.groupby(OF_MODEL)))
    own_twins = dict(iter(twins.groupby(OF_MODEL)))
    for key, of_model in items.groupby(OF_MODEL, sort=True):
        questionnaire, model, method = key
        model_cells, fit = own_cells[key], fits[str(method)]
        of_twins = own_twins.get(key, twins.head(0))
        intensifiers = model_cells["intensifier"].nunique()
        answer, *other_figures = means_of(of_model, of_twins, intensifiers, level)
        figures = [
            mark_by_validity(answer, fit),
            *other_figures,
            _intensifier_order(model_cells, of_model.set_index("item")["keying"], level),
            *accuracy_figures(accuracy, str(method)),
        ]
        method = method_dimension(method)
        rows += as_rows(figures, questionnaire, model, method=method)
        for subscale, subscale_items in of_model.groupby("subscale", sort=True):
            subscale_twins = of_twins[of_twins["subscale"] == subscale]
            answer, *_ = means_of(subscale_items, subscale_twins, intensifiers, level)
            figure = mark_by_validity(answer, fit)
            rows += as_rows([figure], questionnaire, model, subscale=subscale, method=method)
    return rows


def of_options(cells: pd.DataFrame, by_order: "pd.Series[float]", level: float) -> Iterator[Row]:
    """For chat models, in points: mean weight of source and inverse terms together, and the effect
    of the order.

    `by_order`: [orders] mean weight of all terms.
    """
    option_cells = cells[cells["method"] == OPTIONS]
    for (questionnaire, model), of_model in option_cells.groupby(
        ["questionnaire", "model"], sort=True
    ):
        weighed = of_model.assign(points=of_model["weight"] * of_model["pss"])
        points = weighed.groupby(["item", "polarity", "term"])["points"].sum()
        both = points.groupby(level=["item", "polarity"]).mean().groupby(level="item").mean()
        moved = float(by_order.max() - by_order.min())
        figures = (
            _mean_figure(AGREES, both.to_numpy(), level),
            Figure(ORDER_SHIFT, moved, len(by_order), "orders"),
        )
        yield from as_rows(figures, questionnaire, model, method=OPTIONS)


def _mean_figure(figure: str, values: NDArray[np.float64], level: float) -> Figure:
    """The mean over items with its jackknife interval, which for a mean is the t interval."""
    defined_values = values[~np.isnan(values)]
    if not len(defined_values):
        return Figure(figure, None, 0, "items", reason="no item has a value")
    mean_figure = jackknife_figure(
        figure, lambda x: float(x.mean()), defined_values, PLAIN, level, "items"
    )
    if len(defined_values) >= FEWEST_UNITS:
        return mean_figure
    return replace(mean_figure, reason=f"no interval: fewer than {FEWEST_UNITS} items")


def _intensifier_order(cells: pd.DataFrame, keying: "pd.Series[int]", level: float) -> Figure:
    """Spearman's rho of the level of intensifiers with their keyed PSS for source minus inverse
    terms.
    """
    keyed = cells.assign(pss=cells["pss"] * cells["item"].map(keying))
    by_word = keyed.pivot_table(
        index=["level", "intensifier"], columns="polarity", values="pss", aggfunc="mean"
    )
    contrast = (by_word["source"] - by_word["inverse"]).to_numpy()
    levels = by_word.index.get_level_values("level").to_numpy(dtype=np.float64)
    return correlation_figure(
        "intensifier_order", measurement.spearman, levels, contrast, level, "intensifiers"
    )


def population_figures(
    items: pd.DataFrame,
    scales: pd.DataFrame,
    content: pd.DataFrame,
    resampling: Resampling,
    members: Collection[str],
) -> list[Row]:
    """Figures over lineages of models (alpha, correlations between scales), and figures of the
    items' content.

    Figures over models are computed per method: scores of heads, verbalisers and likelihoods
    are not on one scale, and mixing them would show differences of method as differences between
    models.
    """
    level = resampling.level
    return [
        *_consistency_rows(items, members, level),
        *_content_figure_rows(content, level),
        *_correlation_rows(scales, members, level),
    ]


def _consistency_rows(items: pd.DataFrame, members: Collection[str], level: float) -> Iterator[Row]:
    """Alpha of scales and subscales, and the correlation of each item with the rest of its
    scale.
    """
    for (method, questionnaire), scale_items in items.groupby(
        ["method", "questionnaire"], sort=True
    ):
        matrix = _lineage_means(scale_items, members)
        figures = [_alpha_figure(matrix.to_numpy(), level), *_with_rest(matrix)]
        yield from as_rows(figures, questionnaire, None, method=method)
        for subscale, subscale_items in scale_items.groupby("subscale", sort=True):
            subscale_matrix = _lineage_means(subscale_items, members)
            alpha = _alpha_figure(subscale_matrix.to_numpy(), level)
            yield from as_rows([alpha], questionnaire, None, subscale=subscale, method=method)


def _lineage_means(items: pd.DataFrame, members: Collection[str]) -> pd.DataFrame:
    """Scores [lineages, items], means over the models of a lineage that count."""
    counted = items[method_label(items).isin(members)]
    matrix = counted.pivot_table(index="lineage", columns="item", values="score", aggfunc="mean")
    return matrix.reindex(columns=sorted(items["item"].unique()))


_CONTENT_FIGURES: dict[str, tuple[str, dict[str, str]]] = {
    "similarity_to_paraphrase": ("similarity", {"reference": "paraphrase"})
}
"""Figure and dimensions by measure of `schemas.CONTENT`; other measures are figures themselves."""
for _name in ("slor", "acceptability"):
    _CONTENT_FIGURES[_name] = (_name, {"item_set": "items"})
    _CONTENT_FIGURES[f"{_name}_of_twins"] = (_name, {"item_set": "twins"})


def _content_figure_rows(content: pd.DataFrame, level: float) -> Iterator[Row]:
    """A row for each measure of content: the mean over items, with its interval at `level`."""
    for (questionnaire, measure), part in content.groupby(["questionnaire", "measure"], sort=True):
        name, dimensions = _CONTENT_FIGURES.get(str(measure), (str(measure), {}))
        figure = _mean_figure(name, part["value"].to_numpy(), level)
        yield from as_rows([figure], questionnaire, None, **dimensions)


def _correlation_rows(
    scales: pd.DataFrame, members: Collection[str], level: float
) -> Iterator[Row]:
    """Correlations of every two questionnaires, and of every two subscales of one."""
    for method, group in scales.groupby("method", sort=True):
        is_whole = group["subscale"] == WHOLE
        for scale, rho in _scale_correlations(group[is_whole], "questionnaire", level, members):
            yield from as_rows([rho], scale, None, method=method)
        for questionnaire, parts in group[~is_whole].groupby("questionnaire", sort=True):
            for subscale, rho in _scale_correlations(parts, "subscale", level, members):
                yield from as_rows([rho], questionnaire, None, subscale=subscale, method=method)


def _alpha_figure(x: NDArray[np.float64], level: float) -> Figure:
    """Cronbach's alpha of lineages x items, with its interval; null with the reason where
    undefined.
    """
    n, k = x.shape
    reason = None
    if k < 2:
        reason = "a scale of one item has no internal consistency"
    elif n < FEWEST_LINEAGES:
        reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
    elif constant_columns(x).any():
        reason = "an item has the same score on all models"
    if reason:
        return Figure(ALPHA, None, n, "lineages", reason=reason)
    alpha = measurement.cronbach_alpha(x)
    if finite_or_none(alpha) is None:
        return Figure(ALPHA, None, n, "lineages", reason=UNDEFINED)
    interval = measurement.feldt_interval(alpha, n, k, level)
    return Figure(ALPHA, alpha, n, "lineages", interval.low, interval.high)


def _with_rest(matrix: pd.DataFrame) -> Iterator[Figure]:
    """Item-rest correlations over lineages; `matrix`: [lineages, items]."""
    n, items = matrix.shape
    enough = n >= FEWEST_LINEAGES and items > 1
    correlations = (
        measurement.item_statistics(matrix).item_rest_correlation
        if enough
        else np.full(items, np.nan)
    )
    few = f"fewer than {FEWEST_LINEAGES} lineages of models" if n < FEWEST_LINEAGES else UNDEFINED
    for item, r in zip(matrix.columns, correlations, strict=True):
        value = finite_or_none(float(r))
        reason, dimensions = few if value is None else None, {"item": str(item)}
        yield Figure(ITEM_REST, value, n, "lineages", reason=reason, dimensions=dimensions)


def _scale_correlations(
    scores: pd.DataFrame, column: str, level: float, members: Collection[str]
) -> Iterator[tuple[str, Figure]]:
    """Spearman's rho of every two scales over lineages, with the first scale's name; `column` names
    the scale.
    """
    counted = scores[method_label(scores).isin(members)]
    table = counted.pivot_table(index="lineage", columns=column, values="score", aggfunc="mean")
    table = table.reindex(columns=sorted(scores[column].unique()))
    for first_scale, second_scale in combinations(table.columns, 2):
        pairs = table[[first_scale, second_scale]].dropna().to_numpy()
        if len(pairs) < FEWEST_LINEAGES:
            reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
            rho = Figure(RHO, None, len(pairs), "lineages", reason=reason)
        else:
            rho = correlation_figure(
                RHO, measurement.spearman, pairs[:, 0], pairs[:, 1], level, "lineages"
            )
        yield first_scale, replace(rho, dimensions={"other": second_scale})


UNIT = "items"


def means_of(
    items: pd.DataFrame, twins: pd.DataFrame, intensifiers: int, level: float
) -> Iterator[Figure]:
    """Answer, silhouette and PSS range: means over items, with those over twins, if any, as
    control.
    """
    item_scores, twin_scores = (
        table.assign(
            mean_response=table["score"] * intensifiers,
            pss_range=table["pss_high"] - table["pss_low"],
        )
        for table in (items, twins)
    )
    for name in ("mean_response", "silhouette", "pss_range"):
        mean = _mean_figure(name, item_scores[name].to_numpy(dtype=np.float64), level)
        yield replace(mean, control=finite_or_none(float(twin_scores[name].mean())))


NO_PROMPT = "a framing has no meaning for a model that reads premise and hypothesis alone"
NO_QUESTION = "prefixes belong to the verbaliser's question, which this method does not ask"


def prefix_shift_figures(
    items: pd.DataFrame, prefixed: pd.DataFrame, placebos: Collection[str], level: float
) -> Iterator[Row]:
    """Shifts by prefixes of one questionnaire on one model, by method; null with the reason where
    undefined.

    `items` and `prefixed` as `schemas.ITEM_SCORES`; the latter after prefixes, named in `framing`.
    """
    for (questionnaire, model, method), group in items.groupby(OF_MODEL, sort=True):
        after = prefixed[prefixed["method"] == method]
        by_prefix = {
            str(prefix): prefix_scores.set_index("item")["score"]
            for prefix, prefix_scores in after.groupby("framing")
        }
        shifts = prefix_shifts(group.set_index("item")["score"], by_prefix, placebos)
        reason = _missing_shift_reason(str(method), has_prefixes=bool(by_prefix))
        figures = shift_figures(shifts, level, UNIT, reason)
        yield from as_rows(figures, questionnaire, model, method=method_dimension(method))


def _missing_shift_reason(method: str, *, has_prefixes: bool) -> str | None:
    """Why a method has no figures of shifts by prefixes; None where it has them."""
    if method in BY_FACTS:
        return NO_QUESTION
    if method != VERBALISER:
        return NO_PROMPT
    return None if has_prefixes else UNASKED
