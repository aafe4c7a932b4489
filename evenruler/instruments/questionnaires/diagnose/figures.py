"""How well questionnaires measure (EMPALC, section 3.3): figures of one model, and over models."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.questionnaires.declare.headings import of_those
from evenruler.instruments.questionnaires.diagnose.accuracy import figures_of
from evenruler.instruments.questionnaires.diagnose.population import FEWEST_LINEAGES, OF_MODEL, called
from evenruler.instruments.questionnaires.diagnose.twins import by_figure, controls
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import correlated, finite, jackknifed
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN
from evenruler.measurement.verdicts import Fitness, marked
from evenruler.models.entry import named
from evenruler.tables.schemas import WHOLE


def of_models(
    items: pd.DataFrame,
    twins: pd.DataFrame,
    cells: pd.DataFrame,
    accuracy: pd.DataFrame,
    fits: Mapping[str, Fitness],
    level: float,
) -> pd.DataFrame:
    """Figures of one model alone: its answer, silhouette, PSS range, order of intensifiers and accuracy, by form.

    The answer is the item score times the number of intensifiers: the mean weight that a term gets, on the scale
    itself. The control of answer, silhouette and range is the same of the items' twins. Where accuracy fails its bar,
    the answer says so. It is told of subscales, too.

    Args:
        items: By `schemas.ITEM_SCORES`.
        twins: The same of twins, under the names of their items.
        cells: By `schemas.CELLS`.
        accuracy: By `schemas.ACCURACY`.
        fits: By form, whether answers count.
        level: Of intervals.
    """
    rows = []
    own_cells = dict(iter(cells.groupby(OF_MODEL)))
    own_twins = dict(iter(twins.groupby(OF_MODEL)))
    for key, of_model in items.groupby(OF_MODEL, sort=True):
        questionnaire, model, configuration = key
        own = own_cells[key]
        intensifiers = own["intensifier"].nunique()
        values = by_figure(of_model, intensifiers)
        beside = controls(own_twins.get(key, twins.head(0)), intensifiers)
        means = {
            name: replace(_mean(name, np.asarray(x, dtype=np.float64), level), control=beside[name])
            for name, x in values.items()
        }
        found = [
            marked(means.pop("answer"), fits[str(configuration)]),
            *means.values(),
            _intensifier_order(own, of_model.set_index("item")["keying"], level),
            *figures_of(accuracy, str(configuration)),
        ]
        here = {"benchmark": questionnaire, "part": WHOLE, "model": named(str(model), str(configuration))}
        rows += [{**here, **asdict(figure)} for figure in found]
        for subscale, of_part in of_model.dropna(subset=["subscale"]).groupby("subscale", sort=True):
            answers = by_figure(of_part, intensifiers)["answer"]
            answer = _mean("answer", np.asarray(answers, dtype=np.float64), level)
            rows.append({**here, "part": subscale, **asdict(marked(answer, fits[str(configuration)]))})
    return pd.DataFrame(rows)


def _mean(figure: str, values: NDArray[np.float64], level: float) -> Figure:
    """The mean over items; of a mean, the interval of the jackknife is that of t."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Figure(figure, None, 0, "items", reason="no item has a value")
    found = jackknifed(figure, lambda x: float(x.mean()), known, PLAIN, level, "items")
    if len(known) >= FEWEST_UNITS:
        return found
    return replace(found, reason=f"no interval: fewer than {FEWEST_UNITS} items")


def _intensifier_order(cells: pd.DataFrame, keying: "pd.Series[int]", level: float) -> Figure:
    """Spearman between declared level and how much more the source terms take of an intensifier than the inverse.

    Items that are keyed the other way round are turned first: else they cancel the others out.

    Args:
        cells: By `schemas.CELLS`, of one questionnaire on one model.
        keying: By item.
        level: Of the interval.
    """
    keyed = cells.assign(pss=cells["pss"] * cells["item"].map(keying))
    by_word = keyed.pivot_table(index=["level", "intensifier"], columns="polarity", values="pss", aggfunc="mean")
    contrast = (by_word["source"] - by_word["inverse"]).to_numpy()
    levels = by_word.index.get_level_values("level").to_numpy(dtype=np.float64)
    return correlated("intensifier_order", measurement.spearman, levels, contrast, level, "intensifiers")


def of_population(
    items: pd.DataFrame,
    scales: pd.DataFrame,
    content: pd.DataFrame,
    resampling: Resampling,
    members: Collection[str],
) -> pd.DataFrame:
    """Figures over models, by lineage: alpha, and correlations between scales; and the content's, of any model.

    Those over models are of one configuration each: scores of a head, of a verbaliser and of likelihoods are not on one
    scale, and put together they would pass how a model is asked for a difference between models.
    """
    rows: list[dict[str, object]] = []

    def add(questionnaire: object, subscale: object, figure: Figure) -> None:
        rows.append({"benchmark": questionnaire, "part": subscale, "model": None, **asdict(figure)})

    for configuration, asked in items.groupby("configuration", sort=True):
        both = pd.concat([asked.assign(subscale=WHOLE), asked.dropna(subset=["subscale"])])
        for (questionnaire, subscale), part in both.groupby(["questionnaire", "subscale"], sort=True):
            counted = part[called(part).isin(members)]
            matrix = counted.pivot_table(index="lineage", columns="item", values="score", aggfunc="mean")
            matrix = matrix.reindex(columns=sorted(part["item"].unique()))
            alpha = _alpha(matrix.to_numpy(), resampling.level)
            add(questionnaire, subscale, replace(alpha, figure=of_those(alpha.figure, str(configuration))))
    for (questionnaire, measure), part in content.groupby(["questionnaire", "measure"], sort=True):
        add(questionnaire, WHOLE, _mean(str(measure), part["value"].to_numpy(), resampling.level))
    for configuration, asked in scales.groupby("configuration", sort=True):
        whole = asked["subscale"] == WHOLE
        for own, figure in _between(asked[whole], "questionnaire", resampling.level, members):
            add(own, WHOLE, replace(figure, figure=of_those(figure.figure, str(configuration))))
        for questionnaire, parts in asked[~whole].groupby("questionnaire", sort=True):
            for subscale, figure in _between(parts, "subscale", resampling.level, members):
                add(questionnaire, subscale, replace(figure, figure=of_those(figure.figure, str(configuration))))
    return pd.DataFrame(rows)


def _alpha(x: NDArray[np.float64], level: float) -> Figure:
    """Cronbach's alpha of lineages x items, with its interval; null with the reason where it has no meaning."""
    n, k = x.shape
    reason = None
    if k < 2:
        reason = "a scale of one item has no internal consistency"
    elif n < FEWEST_LINEAGES:
        reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
    elif constant_columns(x).any():
        reason = "an item does not tell the models apart"
    if reason:
        return Figure("alpha", None, n, "lineages", reason=reason)
    alpha = measurement.cronbach_alpha(x)
    if finite(alpha) is None:
        return Figure("alpha", None, n, "lineages", reason="undefined for these values")
    interval = measurement.feldt_interval(alpha, n, k, level)
    return Figure("alpha", alpha, n, "lineages", interval.low, interval.high)


def _between(scores: pd.DataFrame, column: str, level: float, members: Collection[str]) -> Iterator[tuple[str, Figure]]:
    """Spearman between the scores of two scales over lineages, on the first of the two; `column` names the scale."""
    counted = scores[called(scores).isin(members)]
    table = counted.pivot_table(index="lineage", columns=column, values="score", aggfunc="mean")
    table = table.reindex(columns=sorted(scores[column].unique()))
    for own, other in combinations(table.columns, 2):
        pairs = table[[own, other]].dropna().to_numpy()
        name = f"rho_with_{other}"
        if len(pairs) < FEWEST_LINEAGES:
            reason = f"fewer than {FEWEST_LINEAGES} lineages of models"
            yield own, Figure(name, None, len(pairs), "lineages", reason=reason)
        else:
            yield own, correlated(name, measurement.spearman, pairs[:, 0], pairs[:, 1], level, "lineages")
