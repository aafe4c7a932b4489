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
    ITEM_REST,
    ORDER_SHIFT,
    RHO,
    of_those,
)
from evenruler.instruments.questionnaires.diagnose.population import (
    FEWEST_LINEAGES,
    OF_MODEL,
    accuracy_figures,
    method_label,
)
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.estimates import correlation_figure, jackknife_figure
from evenruler.measurement.figures import UNDEFINED, Row, as_rows, finite_or_none
from evenruler.measurement.inputs import constant_columns
from evenruler.measurement.nonresponse import mark_by_fitness
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN
from evenruler.measurement.shifts import UNASKED, prefix_shifts, shift_figures
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.models.declarations import BY_FACTS, OPTIONS, VERBALISER, label_with_method
from evenruler.tables.schemas import WHOLE


def model_figures(
    items: pd.DataFrame,
    twins: pd.DataFrame,
    cells: pd.DataFrame,
    accuracy: pd.DataFrame,
    fits: Mapping[str, ValidityCheck],
    level: float,
) -> pd.DataFrame:
    """Figures of one model, by form: answer, silhouette, PSS range, order of words, accuracy.

    The answer is the item score times the number of intensifiers: the mean weight that a term gets,
    in points of the scale. The control of answer, silhouette and range is the same figure of twins.
    The answer is marked invalid where `fits` (by form) say so; it is also given for subscales.
    """
    rows: list[Row] = []
    own_cells = dict(iter(cells.groupby(OF_MODEL)))
    own_twins = dict(iter(twins.groupby(OF_MODEL)))
    for key, of_model in items.groupby(OF_MODEL, sort=True):
        questionnaire, model, configuration = key
        model_cells, fit = own_cells[key], fits[str(configuration)]
        of_twins = own_twins.get(key, twins.head(0))
        intensifiers = model_cells["intensifier"].nunique()
        answer, *other_figures = means_of(of_model, of_twins, intensifiers, level)
        figures = [
            mark_by_fitness(answer, fit),
            *other_figures,
            _intensifier_order(model_cells, of_model.set_index("item")["keying"], level),
            *accuracy_figures(accuracy, str(configuration)),
        ]
        form = label_with_method(str(model), str(configuration))
        rows += as_rows(figures, questionnaire, form, WHOLE)
        for subscale, of_part in of_model.dropna(subset=["subscale"]).groupby(
            "subscale", sort=True
        ):
            answer, *_ = means_of(
                of_part, of_twins[of_twins["subscale"] == subscale], intensifiers, level
            )
            rows += as_rows([mark_by_fitness(answer, fit)], questionnaire, form, subscale)
    return pd.DataFrame(rows)


def of_options(cells: pd.DataFrame, by_order: "pd.Series[float]", level: float) -> pd.DataFrame:
    """For chat models, in points: mean weight of source and inverse terms together, and the effect
    of the order.

    `by_order`: [orders] mean weight of all terms.
    """
    option_cells, rows = cells[cells["configuration"] == OPTIONS], list[Row]()
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
        rows += as_rows(figures, questionnaire, label_with_method(str(model), OPTIONS), WHOLE)
    return pd.DataFrame(rows)


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
) -> pd.DataFrame:
    """Figures over lineages of models (alpha, correlations between scales), and figures of the
    items' content.

    Figures over models are computed per configuration: scores of heads, verbalisers and likelihoods
    are not on one scale, and mixing them would show differences of form as differences between
    models.
    """
    rows: list[Row] = []

    def add(
        questionnaire: object, subscale: object, figure: Figure, configuration: object = None
    ) -> None:
        name = (
            figure.figure if configuration is None else of_those(figure.figure, str(configuration))
        )
        rows.extend(as_rows([replace(figure, figure=name)], questionnaire, None, subscale))

    for configuration, group in items.groupby("configuration", sort=True):
        both = pd.concat([group.assign(subscale=WHOLE), group.dropna(subset=["subscale"])])
        for (questionnaire, subscale), part in both.groupby(
            ["questionnaire", "subscale"], sort=True
        ):
            counted = part[method_label(part).isin(members)]
            matrix = counted.pivot_table(
                index="lineage", columns="item", values="score", aggfunc="mean"
            )
            matrix = matrix.reindex(columns=sorted(part["item"].unique()))
            add(
                questionnaire,
                subscale,
                _alpha_figure(matrix.to_numpy(), resampling.level),
                configuration,
            )
            for item, figure in _with_rest(matrix) if subscale == WHOLE else ():
                add(questionnaire, item, figure, configuration)
    for (questionnaire, measure), part in content.groupby(["questionnaire", "measure"], sort=True):
        add(
            questionnaire,
            WHOLE,
            _mean_figure(str(measure), part["value"].to_numpy(), resampling.level),
        )
    for configuration, group in scales.groupby("configuration", sort=True):
        whole = group["subscale"] == WHOLE
        for scale_name, figure in _scale_correlations(
            group[whole], "questionnaire", resampling.level, members
        ):
            add(scale_name, WHOLE, figure, configuration)
        for questionnaire, parts in group[~whole].groupby("questionnaire", sort=True):
            for subscale, figure in _scale_correlations(
                parts, "subscale", resampling.level, members
            ):
                add(questionnaire, subscale, figure, configuration)
    return pd.DataFrame(rows)


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
        return Figure("alpha", None, n, "lineages", reason=reason)
    alpha = measurement.cronbach_alpha(x)
    if finite_or_none(alpha) is None:
        return Figure("alpha", None, n, "lineages", reason=UNDEFINED)
    interval = measurement.feldt_interval(alpha, n, k, level)
    return Figure("alpha", alpha, n, "lineages", interval.low, interval.high)


def _with_rest(matrix: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Item-rest correlations over lineages, by item; `matrix`: [lineages, items]."""
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
        yield (
            str(item),
            Figure(ITEM_REST, value, n, "lineages", reason=few if value is None else None),
        )


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
        name = f"{RHO}{second_scale}"
        if len(pairs) < FEWEST_LINEAGES:
            reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
            yield first_scale, Figure(name, None, len(pairs), "lineages", reason=reason)
        else:
            yield (
                first_scale,
                correlation_figure(
                    name, measurement.spearman, pairs[:, 0], pairs[:, 1], level, "lineages"
                ),
            )


UNIT = "items"


def means_of(
    items: pd.DataFrame, twins: pd.DataFrame, intensifiers: int, level: float
) -> Iterator[Figure]:
    """Answer, silhouette and PSS range: means over items, with those over twins, if any, as
    control.
    """
    item_scores, twin_scores = (
        table.assign(
            answer=table["score"] * intensifiers, pss_range=table["pss_high"] - table["pss_low"]
        )
        for table in (items, twins)
    )
    for name in ("answer", "silhouette", "pss_range"):
        mean = _mean_figure(name, item_scores[name].to_numpy(dtype=np.float64), level)
        yield replace(mean, control=finite_or_none(float(twin_scores[name].mean())))


NO_PROMPT = "a framing has no meaning for a model that reads premise and hypothesis alone"
NO_QUESTION = "prefixes belong to the verbaliser's question, which this form does not ask"


def prefix_shift_figures(
    items: pd.DataFrame, prefixed: pd.DataFrame, placebos: Collection[str], level: float
) -> pd.DataFrame:
    """Shifts by prefixes of one questionnaire on one model, by form; null with the reason where
    undefined.

    `items` and `prefixed` as `schemas.ITEM_SCORES`; the latter after prefixes, named in `framing`.
    """
    rows: list[Row] = []
    for (questionnaire, model, configuration), group in items.groupby(OF_MODEL, sort=True):
        after = prefixed[prefixed["configuration"] == configuration]
        by_prefix = {
            str(prefix): prefix_scores.set_index("item")["score"]
            for prefix, prefix_scores in after.groupby("framing")
        }
        shifts = prefix_shifts(group.set_index("item")["score"], by_prefix, placebos)
        reason = _missing_shift_reason(str(configuration), has_prefixes=bool(by_prefix))
        figures = shift_figures(shifts, level, UNIT, reason)
        rows += as_rows(
            figures, questionnaire, label_with_method(str(model), str(configuration)), WHOLE
        )
    return pd.DataFrame(rows)


def _missing_shift_reason(configuration: str, *, has_prefixes: bool) -> str | None:
    if configuration in BY_FACTS:
        return NO_QUESTION
    if configuration != VERBALISER:
        return NO_PROMPT
    return None if has_prefixes else UNASKED
