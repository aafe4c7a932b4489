"""Quality figures of a domain on a model: refusals, shifts under prefixes, bias of tools and
of contexts.
"""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.group_statistics import (
    CALIBRATED,
    CONFIGURATION,
    NO_BASELINE,
    RAW,
    ROOTS,
    SERIES,
    ScoreArrays,
    number_distinct_rows,
)
from evenruler.measurement import Figure
from evenruler.measurement.figures import Row, as_rows
from evenruler.measurement.nonresponse import ReplyCounts, nonresponse_reason
from evenruler.measurement.shifts import UNASKED, prefix_shifts, shift_figures
from evenruler.models.questions import cut_reasons
from evenruler.tables.schemas import BARE


def count_nonresponse(
    domain: str, generations: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Counts of refusals, empty, foreign, cut and withheld replies by concept and configuration, by
    `schemas.RATES`.
    """
    concepts = generations["id"].astype(str).map(prompts.set_index("id")["concept"])
    counted = generations.assign(concept=concepts.astype(str), domain=domain).astype(
        dict.fromkeys(CONFIGURATION, str)
    )
    counted["withheld"] = counted["generation"].isna()
    by = counted.groupby(["domain", *CONFIGURATION, "concept"], sort=True)
    counts = by[["empty", "other_language", "withheld"]].sum()
    cut = by["cut"].agg(lambda is_cut: is_cut.sum(skipna=False)).astype("Int64")
    counts = counts.assign(n=by["generation"].count(), refusals=by["refusal"].sum(), cut=cut)
    return counts.reset_index()[list(schemas.RATES.names)]


def unmeasured_reason(generations: pd.DataFrame) -> str | None:
    """Why the replies of a model measure nothing, by the rule of `measurement.nonresponse`; None
    where they measure.

    `generations`: all of one framing; a refusal in another language counts as a refusal.
    """
    refused, empty = (generations[name].to_numpy(dtype=bool) for name in ("refusal", "empty"))
    foreign = generations["other_language"].to_numpy(dtype=bool) & ~refused & ~empty
    given_replies = generations["generation"].dropna()
    counts = (
        len(generations),
        int(refused.sum()),
        int((empty & ~refused).sum()),
        int(foreign.sum()),
    )
    withheld = len(generations) - len(given_replies)
    cut = cut_reasons(generations["reason"])
    return nonresponse_reason(
        ReplyCounts(*counts, withheld=withheld, cut=cut, distinct=given_replies.nunique())
    )


OF_SERIES = ("role", "template", "feature")
"""The dimensions of a series, after its model."""

CONCEPTS = "concepts"  # unit of n in some figures; in others root items

COLUMNS = list(schemas.FIGURES.names)


def headline_figures(disparities: pd.DataFrame, settings: Disparities, roots: int) -> pd.DataFrame:
    """Range of the headline statistic, and smallest impact ratio of every selection rate, raw and
    calibrated.

    For the first grouping, by `schemas.FIGURES`; n counts root items.
    Descriptive: any groups have them, and only the tables have p. 0 and 1 where groups do not
    differ.
    """
    ranges = (disparities["metric"] == "range") & (disparities["statistic"] == settings.headline)
    # Only selection rates have impact ratios.
    impact_ratios = disparities["metric"] == "min_impact_ratio"
    is_first_grouping = disparities["grouping"] == "+".join(settings.grouping[0])
    rows = disparities[(ranges | impact_ratios) & is_first_grouping]
    n = np.where(rows["value"].notna(), roots, 0)
    figures = rows.assign(
        benchmark=rows["domain"], figure=rows["metric"], p=np.nan, n=n, unit=ROOTS
    )
    return figures.reindex(columns=COLUMNS).reset_index(drop=True)


def nonresponse_figures(
    domain: str, generations: pd.DataFrame, prompts: pd.DataFrame
) -> Iterator[Row]:
    """Shares of refusals, empty replies, those in another language, and cut ones, over concepts, by
    `FIGURES`.

    Shares are of the replies given, null without any; of cut ones also where a server does not say
    why replies ended. If some replies were not given, their share of those requested follows
    (`withheld_rate`). n counts root items.
    """
    root = generations["id"].astype(str).map(prompts.set_index("id")["root_id"])
    counted = generations.assign(root=root, withheld=generations["generation"].isna())
    for (model, role, template), group in counted.groupby(CONFIGURATION, observed=True, sort=True):
        given_replies = group[~group["withheld"]]
        replies_by_kind = dict.fromkeys(
            ("refusal", "empty", "other_language", "cut"), given_replies
        )
        if len(given_replies) < len(group):
            replies_by_kind["withheld"] = group
        for what, replies in replies_by_kind.items():
            lacking = None if len(replies) else "the server gave no reply"
            if replies[what].isna().any():
                lacking = "the server did not say of every reply why it ended"
            share = None if lacking else float(replies[what].mean())
            figure = Figure(f"{what}_rate", share, replies["root"].nunique(), ROOTS, reason=lacking)
            yield from as_rows([figure], domain, model, role=role, template=template)


def prefix_shift_figures(
    domain: str,
    features: pd.DataFrame,
    prompts: pd.DataFrame,
    framed: pd.DataFrame | None,
    placebos: Collection[str],
    level: float,
) -> Iterator[Row]:
    """How far means of concepts move when a prefix precedes their prompts
    (`evenruler.measurement.shifts`).

    The score of a concept is the mean of its raw values, over prompts that have a value without and
    with every framing, so that all means are over the same prompts.

    `features`: of bare and framed replies; `framed`: by `schemas.FRAMED`, those that were asked
    after prefixes, None where none are declared; `placebos`: which framings are placebos; `level`:
    of intervals. By `schemas.FIGURES`; n counts concepts.
    """
    for series, scores, lacking in _means_of_concepts(features, prompts, framed):
        after = {str(prefix): scores[prefix] for prefix in scores.columns.drop(BARE)}
        shift_rows = prefix_shifts(scores[BARE], after, placebos)
        figures = shift_figures(shift_rows, level, CONCEPTS, lacking)
        model, *dimensions = series
        yield from as_rows(figures, domain, model, **dict(zip(OF_SERIES, dimensions, strict=True)))


def tool_bias_figures(biases: pd.DataFrame, model: str) -> Iterator[Row]:
    """Bias of each tool: the range over concepts of its mean for baselines that differ only in the
    concept.
    """
    for (domain, feature), group in biases[biases["mean"].notna()].groupby(
        ["domain", "feature"], sort=True
    ):
        mean_range = float(np.ptp(group["mean"]))
        figure = Figure("tool_bias", mean_range, len(group), CONCEPTS)
        yield from as_rows([figure], domain, model, feature=feature)


def _means_of_concepts(
    features: pd.DataFrame, prompts: pd.DataFrame, framed: pd.DataFrame | None
) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame, str | None]]:
    """For each series: its model, role, template and feature; means, [concepts, framings]; and why
    there are none.

    Means are over repetitions, then over prompts that have a value with every framing; `bare` is
    the first column.
    """
    concept = prompts.set_index("id")["concept"].to_dict()
    if framed is None or framed.empty:
        nothing = "no framings are declared" if framed is None else UNASKED
        for key in number_distinct_rows(features, SERIES)[0].itertuples(index=False, name=None):
            yield key, pd.DataFrame(columns=[BARE]), nothing
        return
    bare_id = dict(zip(framed["id"], framed["bare_id"], strict=True))
    feature_rows = features[features["id"].isin({*bare_id, *bare_id.values()})]
    feature_rows = feature_rows[[*SERIES, "framing", "id", "value"]].astype(
        dict.fromkeys([*SERIES, "framing", "id"], str)
    )
    feature_rows["prompt"] = feature_rows["id"].map(lambda key: bare_id.get(key, key))
    means = feature_rows.groupby([*SERIES, "framing", "prompt"])["value"].mean().reset_index()
    for key, group in means.groupby(SERIES, sort=True):
        table = group.pivot(index="prompt", columns="framing", values="value")
        framings = sorted(set(table.columns) - {BARE})
        complete = table[[BARE, *framings]].dropna()
        lacking = None
        if table.shape[1] == 1:
            lacking = UNASKED
        elif not len(complete):
            lacking = "no reply has a value"
        yield key, complete.groupby(complete.index.map(concept)).mean(), lacking


def tool_bias(layout: ScoreArrays, baselines: pd.DataFrame) -> pd.DataFrame:
    """Mean score of baselines that differ only in the concept, by tool and concept; equal where
    there is no bias (C.3).

    Baselines include names, even where the feature masks them. By `schemas.TOOL_BIAS`, in the unit
    of the feature; no rows where the domain is not branched. `baselines`: by `schemas.BASELINES`;
    those of prompts outside `layout` are ignored.
    """
    if not layout.branched:
        return pd.DataFrame(columns=schemas.TOOL_BIAS.names)
    features = sorted(set(layout.series["feature"]))
    concepts = layout.groups(["concept"]).names
    of_concept = layout.replies.drop_duplicates("id").set_index("id")["concept"]
    scored_baselines = baselines.assign(concept=baselines["id"].map(of_concept)).dropna(
        subset=["concept"]
    )
    every = pd.MultiIndex.from_product([features, concepts], names=["feature", "concept"])
    bias_rows = (
        scored_baselines.groupby(["feature", "concept"], observed=True)["value"]
        .agg(mean="mean", n="count")
        .reindex(every)
    )
    bias_rows["n"] = bias_rows["n"].fillna(0).astype(np.int64)
    lacks_baseline = bias_rows["n"] == 0
    reason = pd.Series(None, bias_rows.index, dtype=object).mask(lacks_baseline, NO_BASELINE)
    difference = bias_rows["mean"] - bias_rows.groupby("feature")["mean"].transform("mean")
    bias_rows = bias_rows.assign(
        domain=layout.domain, difference=difference, reason=reason
    ).reset_index()
    return pd.DataFrame(bias_rows, columns=schemas.TOOL_BIAS.names)


def context_bias(layout: ScoreArrays) -> pd.DataFrame:
    """Mean scores of replies by the score of their baseline: low, middling or high, raw and
    calibrated (C.2).

    Thirds are of the domain's baselines by the feature at hand: `bad` are the lowest and `good` the
    highest scores, whichever end the feature favours. Equal scores stay together, in the third of
    their mean rank, so that thirds may differ in size; where all are equal, all are `neutral`.
    Where calibration removes the bias of contexts, calibrated means are alike. By
    `schemas.CONTEXT_BIAS`; `n` counts replies.
    """
    items = layout.coded("id")
    once = np.unique(items, return_index=True)[1]  # a baseline is measured once
    # The third of each baseline, 0 to 2; -1 if none.
    shape = (len(layout.series), len(once))
    contexts = np.full(shape, -1, dtype=np.int8)
    for feature in layout.series["feature"].unique():
        lines = np.flatnonzero(layout.series["feature"] == feature)
        scores = np.fmax.reduce(
            layout.baselines[np.ix_(lines, once)], axis=0
        )  # the same whatever model is asked
        there = np.flatnonzero(~np.isnan(scores))
        ranks = rankdata(scores[there]) - 0.5
        n_scored = max(len(there), 1)
        contexts[np.ix_(lines, there)] = np.floor(3 * ranks / n_scored)
    rows: list[tuple[object, ...]] = []
    series = layout.series[SERIES].itertuples(index=False, name=None)
    for key, third_by_item, values, baselines in zip(
        series, contexts, layout.values, layout.baselines, strict=True
    ):
        thirds = third_by_item[items]
        lacking = "no reply to such a baseline has a value"
        if (third_by_item < 0).all():
            lacking = NO_BASELINE
        for calibration, numbers in ((CALIBRATED, values - baselines), (RAW, values)):
            for third, context in enumerate(("bad", "neutral", "good")):
                third_scores = numbers[(thirds == third) & ~np.isnan(numbers)]
                summary = (
                    (third_scores.mean(), len(third_scores), None)
                    if len(third_scores)
                    else (np.nan, 0, lacking)
                )
                rows.append((layout.domain, *key, context, calibration, *summary))
    return pd.DataFrame(rows, columns=schemas.CONTEXT_BIAS.names)
