"""Figures of a domain on every model: headline disparities, refusals, and shifts under prefixes."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.saged.ask import RESEEDED
from evenruler.instruments.saged.declare.headings import ALL_ROLES
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose.layout import (
    CALIBRATED,
    CONFIGURATION,
    FEWEST_ROOTS,
    ROOTS,
    SERIES,
    numbered,
    too_few,
)
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.figures import bootstrapped, finite
from evenruler.measurement.shifts import FEWEST_UNITS, UNASKED, of_prefixes, shift_figures
from evenruler.tables.schemas import BARE, figures_of

CONCEPTS = "concepts"
"""What some figures are over; others are over root items."""

COLUMNS = list(figures_of("part").names)

NOTHING_GIVEN = "the server gave no reply"

UNDECLARED = "no framings are declared"


def headlines(disparities: pd.DataFrame, settings: Disparities, roots: int) -> pd.DataFrame:
    """Range of the headline statistic, and the least impact ratio of every selection rate, raw and calibrated.

    Of the first grouping. `part` is role, template and feature; n counts root items. They describe: the value is
    without what noise adds, where that is known, and p is in the tables alone.

    Args:
        disparities: By `schemas.DISPARITIES`.
        settings: What they were computed by.
        roots: Root items of each group at least.

    Returns:
        By `evenruler.tables.schemas.figures_of`. Lower is better of a range, higher of a ratio: 0 and 1 where groups do
        not differ.
    """
    grouping = "+".join(settings.grouping[0])
    rates = [name for name, statistic in settings.statistics.items() if statistic.kind == "selection_rate"]
    ranges = (disparities["metric"] == "range") & (disparities["statistic"] == settings.headline)
    ratios = (disparities["metric"] == "min_impact_ratio") & disparities["statistic"].isin(rates)
    rows = disparities[(disparities["grouping"] == grouping) & (ranges | ratios)]
    calibrated = rows["calibration"].map({CALIBRATED: f", {CALIBRATED}"}).fillna("")
    found = rows.assign(
        benchmark=rows["domain"],
        part=rows["role"] + ", " + rows["template"] + ", " + rows["feature"],
        figure=rows["metric"] + " of " + rows["statistic"] + calibrated,
        value=rows["estimate"].fillna(rows["value"]),
        p=np.nan,
        n=np.where(rows["value"].notna(), roots, 0),
        unit=ROOTS,
    )
    return found.reindex(columns=COLUMNS).reset_index(drop=True)


def refusals(domain: str, generations: pd.DataFrame, prompts: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Share of refusals, empty replies and those in another language, over concepts, with intervals over root items.

    All are of the replies that there are. Where a server did not give some that were asked for, their share is there
    as well (`withheld_rate`).

    Args:
        domain: Its slug.
        generations: Replies of one framing to these prompts, by `schemas.GENERATIONS`.
        prompts: With `id` and `root_id`.
        resampling: How intervals are computed.

    Returns:
        By `evenruler.tables.schemas.figures_of`; `part` is role and template, n counts root items. Null where no
        reply was given.
    """
    rows = []
    root = generations["id"].astype(str).map(prompts.set_index("id")["root_id"])
    counted = generations.assign(root=root, withheld=generations["generation"].isna())
    for key, own in counted.groupby(CONFIGURATION, observed=True, sort=True):
        model, role, template = key
        given = own[~own["withheld"]]
        shares = [
            ("refusal_rate", "refusal", given),
            ("empty_rate", "empty", given),
            ("other_language_rate", "other_language", given),
        ]
        for figure, column, of in [*shares, *([("withheld_rate", "withheld", own)] if len(given) < len(own) else [])]:
            by_root = of.groupby("root")[column].agg(["sum", "size"]).to_numpy(dtype=np.float64)
            found = Figure(figure, None, 0, ROOTS, reason=NOTHING_GIVEN)
            if len(by_root):
                found = bootstrapped(figure, _share, by_root, resampling, ROOTS)
            if 0 < len(by_root) < FEWEST_ROOTS:
                found = replace(found, low=None, high=None, reason=too_few(len(by_root)))
            rows.append({"benchmark": domain, "part": f"{role}, {template}", "model": model, **asdict(found)})
    return pd.DataFrame(rows, columns=COLUMNS)


def shifts(
    domain: str,
    features: pd.DataFrame,
    prompts: pd.DataFrame,
    framed: pd.DataFrame | None,
    placebos: Collection[str],
    level: float,
) -> pd.DataFrame:
    """How far means of concepts move when something stands before their prompts (`evenruler.measurement.shifts`).

    The score of a concept is the mean of its raw values. A prompt counts where it has a value without and with every
    framing, so that the means are of the same prompts. What another seed alone does, `noise` says.

    Args:
        domain: Its slug.
        features: Of bare and framed replies, by `schemas.FEATURES`.
        prompts: With `id` and `concept`.
        framed: By `schemas.FRAMED`, those that were asked after prefixes; None where none are declared.
        placebos: Which of the framings are.
        level: Of intervals.

    Returns:
        By `evenruler.tables.schemas.figures_of`; `part` is role, template and feature, n counts concepts.
    """
    rows = []
    for here, means, lacking in _means_of_concepts(domain, features, prompts, framed):
        after = {str(prefix): means[prefix] for prefix in means.columns.drop(BARE)}
        found = of_prefixes(means[BARE], after, placebos)
        rows += [{**here, **asdict(figure)} for figure in shift_figures(found, level, CONCEPTS, lacking)]
    return pd.DataFrame(rows, columns=COLUMNS)


def tools(biases: pd.DataFrame, model: str) -> pd.DataFrame:
    """How far apart each tool holds baselines that differ in the concept alone, by their names: range of the means.

    Args:
        biases: By `schemas.TOOL_BIAS`.
        model: Beside which it is shown; it is the same of all.

    Returns:
        By `evenruler.tables.schemas.figures_of`, `part` is "all roles" and the feature; n counts concepts.
    """
    rows = []
    for (domain, feature), own in biases[biases["mean"].notna()].groupby(["domain", "feature"], sort=True):
        found = Figure("tool_bias", float(np.ptp(own["mean"])), len(own), CONCEPTS)
        rows.append({"benchmark": domain, "part": f"{ALL_ROLES}, {feature}", "model": model, **asdict(found)})
    return pd.DataFrame(rows, columns=COLUMNS)


def noise(domain: str, features: pd.DataFrame, prompts: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    """How far means of concepts move when the same prompts are asked with another seed.

    `noise_level_shift`, `noise_reordering`: the mean change, and the SD of the changes about it, in standard deviations
    of the concepts, as of prefixes; `noise_rank_agreement`: Spearman between the concepts with either seed,
    1 where a seed changes nothing. They are controls of shifts, and say how far the order of concepts is chance.

    Args:
        domain: Its slug.
        features: Of bare and reseeded replies, by `schemas.FEATURES`.
        prompts: With `id` and `concept`.
        again: By `schemas.FRAMED`, those that were asked again.

    Returns:
        By `evenruler.tables.schemas.figures_of`, in the role and template that were asked again; n counts concepts.
    """
    rows = []
    if again.empty:
        return pd.DataFrame(columns=COLUMNS)
    for here, means, _ in _means_of_concepts(domain, features, prompts, again):
        if RESEEDED not in means:  # another role, which is not asked again
            continue
        found = of_prefixes(means[BARE], {RESEEDED: means[RESEEDED]}, ())
        few = f"fewer than {FEWEST_UNITS} {CONCEPTS} were asked again"
        for figure, column in NOISE.items():
            value = finite(float(found[column].iloc[0])) if len(found) else None
            reason = None if value is not None else (few if found.empty else "all values are equal")
            rows.append({**here, **asdict(Figure(figure, value, len(means), CONCEPTS, reason=reason))})
    return pd.DataFrame(rows, columns=COLUMNS)


NOISE = {
    "noise_level_shift": "level_in_sd",
    "noise_reordering": "reordering_in_sd",
    "noise_rank_agreement": "rank_agreement",
}
"""Figures of another seed, and what `of_prefixes` calls them."""


def _means_of_concepts(
    domain: str, features: pd.DataFrame, prompts: pd.DataFrame, framed: pd.DataFrame | None
) -> Iterator[tuple[dict[str, str], pd.DataFrame, str | None]]:
    """By configuration and feature: what rows of figures begin with, [concepts, framings], and why there are none."""
    concept = prompts.set_index("id")["concept"].to_dict()
    for (model, role, template, feature), table in _by_prompt(features, framed):
        complete = table.dropna()
        lacking = None if len(complete) else "no reply has a value"
        if table.shape[1] == 1:
            lacking = UNDECLARED if framed is None else UNASKED
        here = {"benchmark": domain, "part": f"{role}, {template}, {feature}", "model": model}
        yield here, complete.groupby(complete.index.map(concept)).mean(), lacking


def _share(rows: NDArray[np.float64]) -> float:
    """Of [root items, (how many, of how many)]."""
    found, of_all = rows.sum(axis=0)
    return float(found / of_all)


def _by_prompt(features: pd.DataFrame, framed: pd.DataFrame | None) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Each configuration and feature with [prompts, framings] means over repetitions; `bare` is the first column.

    Of those framings alone that `framed` has.
    """
    series, _ = numbered(features, SERIES)
    if framed is None or framed.empty:
        yield from ((key, pd.DataFrame(columns=[BARE])) for key in series.itertuples(index=False, name=None))
        return
    bare_id = dict(zip(framed["id"], framed["bare_id"], strict=True))
    kept = features["framing"].isin([BARE, *framed["framing"].unique()])
    means = pd.concat(
        _means(features[kept & (features["feature"] == name)], bare_id) for name in series["feature"].unique()
    )
    for key, own in means.groupby(SERIES, observed=True, sort=True):
        table = own.pivot(index="prompt", columns="framing", values="value")
        yield tuple(map(str, key)), table[[BARE, *sorted(set(table.columns) - {BARE})]]


def _means(features: pd.DataFrame, bare_id: Mapping[str, str]) -> pd.DataFrame:
    """Of one feature, by configuration, framing and prompt; `bare_id` is the prompt of a framed one."""
    words = dict.fromkeys([*SERIES, "framing", "id"], str)
    own = features[[*SERIES, "framing", "id", "value"]].astype(words)
    own["prompt"] = own["id"].map(lambda key: bare_id.get(key, key))
    return own.groupby([*SERIES, "framing", "prompt"])["value"].mean().reset_index()
