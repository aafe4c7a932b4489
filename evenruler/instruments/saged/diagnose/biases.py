"""Biases that are there before a model speaks: of measuring tools, and of what prompts are about (SAGED, C.2, C.3)."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.blocks import Floats, means, ratio
from evenruler.instruments.saged.diagnose.draws import as_they_are, resampled
from evenruler.instruments.saged.diagnose.inference import percentiles
from evenruler.instruments.saged.diagnose.layout import CALIBRATED, FEWEST_ROOTS, NO_BASELINE, RAW, SERIES, Layout
from evenruler.instruments.saged.diagnose.summary import Summary, in_parts

CONTEXTS = ["bad", "neutral", "good"]
"""Thirds of the baselines, from the lowest scores to the highest."""


def tool_bias(layout: Layout, said: pd.DataFrame, level: float, resamples: int, seed: int) -> pd.DataFrame:
    """What each tool says of baselines that differ only in the concept; without bias, the same of all (C.3).

    Names stand in them, also where the feature masks them.

    Args:
        layout: Measurements of a domain. Where it is not branched, baselines differ in more than the concept, and there
            is no row.
        said: By `schemas.BASELINES`.
        level: Of the intervals: percentile bootstrap over root items, the same for all concepts; none below
            `FEWEST_ROOTS`.
        resamples: How many.
        seed: Of the draws.

    Returns:
        By `schemas.TOOL_BIAS`, in the unit of the feature. Baselines that were not asked about do not
        count, each of the others does once.
    """
    if not layout.branched:
        return pd.DataFrame(columns=schemas.TOOL_BIAS.names)
    once = _each_prompt_once(layout)
    features = sorted(set(once.series["feature"]))
    table = said.pivot(index="feature", columns="id", values="value")
    baselines = table.reindex(index=features, columns=once.replies["id"]).to_numpy(dtype=np.float64)
    groups = once.groups(["concept"])
    of_concepts, observed = Summary.of("mean", baselines), as_they_are(groups)
    found = of_concepts(observed)[:, 0]
    low = high = np.full(found.shape, np.nan)
    if once.fewest_roots >= FEWEST_ROOTS:
        drawn = [of_concepts(places) for places in resampled(once, groups, resamples, seed)]
        low, high = percentiles(np.concatenate(drawn, axis=1).swapaxes(1, 2), level)
    n = of_concepts.n(observed).ravel()
    return pd.DataFrame(
        {
            "domain": layout.domain,
            "feature": np.repeat(features, len(groups.names)),
            "concept": np.tile(groups.names, len(features)),
            "mean": found.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "difference": (found - means(found)[:, None]).ravel(),
            "n": n,
            "reason": [None if count else NO_BASELINE for count in n],
        }
    )


def context_bias(layout: Layout) -> pd.DataFrame:
    """What models reply after baselines of low, middling and high scores, raw and calibrated (C.2).

    Thirds are of the domain's baselines by the feature at hand: `bad` are the lowest and `good` the highest scores,
    whatever the feature calls good. Equal scores stay together, in the third that their middle rank lies in, so that
    thirds may differ in size; where all are equal, all are `neutral`. Where calibration takes the bias of contexts out,
    calibrated means are alike.

    Args:
        layout: Measurements of a domain.

    Returns:
        By `schemas.CONTEXT_BIAS`; `n` counts replies.
    """
    contexts = _thirds(layout)
    rows = [
        layout.series.assign(context=context, calibration=calibration, **_means_where(numbers, contexts == number))
        for calibration, numbers in ((RAW, layout.values), (CALIBRATED, layout.numbers(CALIBRATED)))
        for number, context in enumerate(CONTEXTS)
    ]
    found = pd.concat(rows, ignore_index=True).assign(domain=layout.domain)
    without = pd.Series(np.tile((contexts < 0).all(axis=1), len(rows)))
    found["reason"] = None
    found.loc[found["n"] == 0, "reason"] = "no reply to such a baseline has a value"
    found.loc[without, "reason"] = NO_BASELINE
    order = found["context"].map(CONTEXTS.index)
    found = found.assign(order=order).sort_values([*SERIES, "calibration", "order"], kind="stable", ignore_index=True)
    return found[list(schemas.CONTEXT_BIAS.names)]


def _each_prompt_once(layout: Layout) -> Layout:
    """Without repetitions: a baseline is measured once."""
    _, first = np.unique(layout.items, return_index=True)
    return replace(
        layout,
        replies=layout.replies.iloc[first].reset_index(drop=True),
        values=layout.values[:, first],
        baselines=layout.baselines[:, first],
        measured=layout.measured[:, first],
    )


def _of_features(layout: Layout) -> tuple[list[str], Floats]:
    """Features, and [features, replies] their baselines, which are the same whatever model is asked."""
    lines = layout.series.groupby("feature", sort=True).indices
    baselines = [np.fmax.reduce(layout.baselines[own], axis=0) for own in lines.values()]
    return [str(feature) for feature in lines], np.stack(baselines)


def _thirds(layout: Layout) -> NDArray[np.int8]:
    """[series, replies] the third of each reply's baseline, 0 to 2; -1 where it has none."""
    once = _each_prompt_once(layout)
    features, baselines = _of_features(once)
    thirds = np.full(baselines.shape, -1, dtype=np.int8)
    for line, scores in enumerate(baselines):
        there = ~np.isnan(scores)
        share = (rankdata(scores[there]) - 0.5) / max(there.sum(), 1)
        thirds[line, there] = np.minimum(np.floor(3 * share), 2)
    of_series = np.array([features.index(feature) for feature in layout.series["feature"]], dtype=np.intp)
    return thirds[of_series][:, layout.items]


def _means_where(numbers: Floats, which: NDArray[np.bool_]) -> dict[str, NDArray[np.generic]]:
    """Mean and n of each series over the replies that are meant and have a number."""
    sums, n = np.empty(len(numbers)), np.empty(len(numbers), dtype=np.int64)
    for lines in in_parts(len(numbers)):
        counted = which[lines] & ~np.isnan(numbers[lines])
        sums[lines], n[lines] = np.where(counted, numbers[lines], 0).sum(axis=1), counted.sum(axis=1)
    return {"mean": ratio(sums, n.astype(np.float64)), "n": n}
