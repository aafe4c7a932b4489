"""Scores of a template set on a model, and its quality: reliability, validity, diversity, items,
variances.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, combinations, product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.probes.declare.settings import COMMON_LENGTH, bias
from evenruler.instruments.probes.schemas import LEXICAL, SEMANTIC
from evenruler.measurement import Figure, Interval, Resampling
from evenruler.measurement.estimates import correlation_figure, jackknife_figure
from evenruler.measurement.facets import (
    Estimate,
    Facet,
    UnitMask,
    difference_of_groups,
    jackknife_crossed,
)
from evenruler.measurement.figures import Row, as_rows, finite_or_none
from evenruler.measurement.inputs import Floats, constant_columns, correlation
from evenruler.measurement.resampling import BELOW_ONE, CORRELATION, FEWEST_UNITS, SHARE
from evenruler.measurement.shifts import prefix_shifts
from evenruler.measurement.validity import FEWEST_PAIRS
from evenruler.tables.schemas import BARE

UNIT = "attributes"
"""The unit of observation."""

SPREAD, R = "spread", "r"

ALPHA, GENERALIZABILITY = "alpha", "generalizability"

Dimensions = Mapping[str, str]

PLAIN: Dimensions = {}
"""Dimensions of a figure of a whole set."""

AT_COMMON_LENGTH: Dimensions = {"templates": str(COMMON_LENGTH)}
"""Of one that is expected with `COMMON_LENGTH` such templates."""

EXACT: Dimensions = {"match": "exact"}
"""Of one over attributes that match the criterion exactly."""

ROUNDING = 1e-9
"""Distance from 1 below which a correlation counts as 1."""

CELL = ["benchmark", "set", "model", "lineage", "method", "framing", "variant"]
"""Columns that identify one measurement of one set."""

Cell = tuple[str, ...]
"""Values of `CELL`."""


@dataclass(frozen=True, eq=False)
class ScoreCube:
    """A model's scores of every sentence of a set, signed by keying."""

    scores: NDArray[np.float64]
    """[attributes, templates, targets] log-likelihoods, nats; their sign is changed where keying is
    -1."""
    attributes: list[str]
    templates: list[str]
    targets: list[str]
    poles: NDArray[np.int8]
    """[targets] 1 for the group that a positive bias is closer to, -1 for the other."""
    tokens: NDArray[np.float64]
    """[targets] mean number of tokens of a sentence."""

    @property
    def balanced(self) -> bool:
        """Whether both groups have equally many targets, at least two."""
        return bool(self.poles.sum() == 0 and len(self.poles) > 3)

    def biases(self) -> pd.DataFrame:
        """Equation 1 of PMPO: attributes x templates, nats."""
        return pd.DataFrame(
            bias(self.scores, self.poles.tolist()), index=self.attributes, columns=self.templates
        )


def score_cubes(
    sentences: pd.DataFrame, likelihoods: pd.DataFrame
) -> Iterator[tuple[Cell, ScoreCube]]:
    """The scores of each set on each model, by `CELL`; attributes with gaps and templates without
    scores left out.
    """
    joined = sentences.merge(
        likelihoods[["id", "model", "lineage", "method", "value", "n_tokens"]], on="id"
    )
    joined = joined.assign(value=joined["value"] * joined["keying"])
    for cell, rows in joined.groupby(CELL, sort=True):
        poles = (
            rows.drop_duplicates("target")
            .set_index("target")["pole"]
            .sort_values(ascending=False, kind="stable")
        )
        wide = rows.pivot(index="attribute", columns=["template", "target"], values="value")
        names = sorted(set(rows["template"]))
        matrix_by_template = {name: wide[name].reindex(columns=poles.index) for name in names}
        templates = [
            name for name, matrix in matrix_by_template.items() if matrix.notna().all(axis=1).any()
        ]
        stacked = np.stack(
            [matrix_by_template[name].to_numpy() for name in templates or matrix_by_template],
            axis=1,
        )
        has_gap = np.isnan(stacked).any(axis=(1, 2))
        complete = ~has_gap & (len(set(poles)) == 2)
        tokens = (
            rows.groupby("target")["n_tokens"]
            .mean()
            .reindex(poles.index)
            .to_numpy(dtype=np.float64)
        )
        attributes = list(map(str, wide.index[complete]))
        targets = list(map(str, poles.index))
        cube = ScoreCube(
            stacked[complete], attributes, templates, targets, poles.to_numpy(dtype=np.int8), tokens
        )
        yield tuple(map(str, cell)), cube


def cubes_after_prefixes(
    prefixed: pd.DataFrame, likelihoods: pd.DataFrame
) -> dict[Cell, dict[str, ScoreCube]]:
    """The scores of the sentences that were asked after prefixes, and of the same sentences
    without.

    By `CELL` of the set without prefix, then by prefix; `BARE` is the same sentences without one.
    `prefixed` has a column `benchmark`. ValueError where a model lacks scores of all the sentences,
    or of some of an attribute.
    """
    if prefixed.empty:
        return {}
    for model, model_likelihoods in likelihoods.groupby("model"):
        for benchmark, rows in prefixed.groupby("benchmark"):
            scored = rows["id"].isin(model_likelihoods["id"])
            is_asked = rows["attribute"].isin(rows.loc[scored, "attribute"])
            lacking = len(rows)
            if scored.any():
                lacking = int((is_asked & ~scored).sum())
            if lacking:
                raise ValueError(
                    f"{model}: {lacking} sentences of {benchmark} after prefixes have no score"
                )
    bare = prefixed.drop_duplicates("bare_id").assign(id=lambda rows: rows["bare_id"], framing=BARE)
    cubes_by_cell: dict[Cell, dict[str, ScoreCube]] = {}
    place = CELL.index("framing")
    for cell, cube in score_cubes(pd.concat([prefixed, bare]), likelihoods):
        bare_cell = (*cell[:place], BARE, *cell[place + 1 :])
        cube_by_prefix = cubes_by_cell.setdefault(bare_cell, {})
        cube_by_prefix[cell[place]] = cube
    return cubes_by_cell


def bias_shifts(of_set: dict[str, ScoreCube], placebos: set[str]) -> pd.DataFrame:
    """How every prefix shifts the biases of one set on one model: `schemas.SHIFTS` without its key
    columns.
    """
    biases = {prefix: cube.biases().mean(axis=1) for prefix, cube in of_set.items()}
    return prefix_shifts(biases.pop(BARE), biases, placebos) if BARE in biases else pd.DataFrame()


def start_flips(cube: ScoreCube, started: ScoreCube | None, level: float, lacking: str) -> Figure:
    """Share of the pairs of attribute and template whose bias changes sign after another usual
    start token.

    `started`: the scores after it, of some of the attributes; None where there are none, and
    `lacking` says why. The interval is over attributes.
    """
    after = pd.DataFrame() if started is None else started.biases()
    bare = cube.biases()
    attributes = bare.index.intersection(after.index)
    templates = bare.columns.intersection(after.columns)
    if not len(attributes) or not len(templates):
        return Figure("start_flips", None, 0, "pairs", reason=lacking)
    bare_signs = np.sign(bare.loc[attributes, templates].to_numpy())
    after_signs = np.sign(after.loc[attributes, templates].to_numpy())
    flips = np.not_equal(bare_signs, after_signs)
    over = mean_interval(flips.mean(axis=1), level)
    low, high = max(0.0, over.low), min(1.0, over.high)
    return Figure(
        "start_flips",
        float(flips.mean()),
        flips.size,
        "pairs",
        finite_or_none(low),
        finite_or_none(high),
    )


def of_sets(diversity: pd.DataFrame) -> pd.DataFrame:
    """Mean diversity of every set; the same whatever model is measured."""
    rows: list[Row] = []
    for (benchmark, set_name), templates in diversity.groupby(["benchmark", "set"], sort=True):
        rows += as_rows(mean_diversities(templates), benchmark, None, set=set_name)
    return pd.DataFrame(rows)


ALONE = "a set of one template"
"""Why a template has no diversity."""


def mean_diversities(templates: pd.DataFrame) -> list[Figure]:
    """Mean SD(t) and mean LD(t) of templates (PMPO, section 3.2.1), 0 (all alike) upwards; null for
    a single one.
    """
    reason = ALONE if len(templates) == 1 else None
    return [
        Figure(
            figure,
            finite_or_none(float(templates[figure].mean())),
            len(templates),
            "templates",
            reason=reason,
        )
        for figure in (SEMANTIC, LEXICAL)
    ]


def mean_interval(values: NDArray[np.float64], level: float) -> Interval:
    """The mean with its t interval, which is NaN for fewer than `FEWEST_UNITS` values or where all
    are equal.
    """
    mean, n = float(values.mean()), len(values)
    if n < FEWEST_UNITS or np.ptp(values) == 0:
        return Interval(mean, math.nan, math.nan)
    variance = float(values.var(ddof=1)) / n
    return Estimate(mean, variance, n - 1.0).interval(level)


def halving_weights(poles: NDArray[np.int8]) -> Floats:
    """[ways, targets] weights that split targets into halves with equally many of each group, or
    one more if odd.

    Such halves cancel the groups out, which other regroupings do not (docs/controls.md). Empty
    where the groups differ in size or have one target; `poles`: [targets] 1 or -1.
    """
    first = np.flatnonzero(poles == 1)
    other = np.flatnonzero(poles == -1)
    n = len(first)
    if n != len(other) or n < 2:
        return np.empty((0, len(poles)))
    n_half = n // 2
    ways = product(combinations(first, n_half), combinations(other, n - n_half))
    halves = (
        np.isin(np.arange(len(poles)), [*from_first, *from_other])
        for from_first, from_other in ways
    )
    return np.array([np.where(half, 1.0, -1.0) / n for half in halves])


def association_figures(
    cube: ScoreCube, criterion: "pd.Series[float]", level: float
) -> Iterator[Figure]:
    """How far a model spreads attributes, and how well that follows the criterion; both are
    descriptive.

    `spread`: standard deviation over attributes of the mean bias, nats, without an interval: it
    includes noise (`attribute_sd` does not). `r`: correlation of the mean bias with the criterion;
    its interval takes attributes, templates and targets as random. The control of both is the
    median absolute value over halvings of the targets.

    `criterion`: by attribute, null where there is no number; without any there is no r.
    """
    ways, n = halving_weights(cube.poles), len(cube.attributes)
    biases = cube.biases().mean(axis=1).to_numpy(dtype=np.float64)
    split = cube.scores.mean(axis=1) @ ways.T
    if n > 1:
        control = None
        if len(ways):
            control = finite_or_none(float(np.median(split.std(axis=0, ddof=1))))
        yield Figure(SPREAD, float(biases.std(ddof=1)), n, UNIT, control=control)
    else:
        yield Figure(SPREAD, None, n, UNIT, reason=f"fewer than two {UNIT}")
    aligned_criterion = np.asarray(criterion.reindex(cube.attributes), dtype=np.float64)
    there = ~np.isnan(aligned_criterion)
    if not there.any():
        return
    r_figure = correlation_figure(
        R, measurement.pearson, biases[there], aligned_criterion[there], level, UNIT
    )
    if r_figure.value is None or abs(r_figure.value) > 1 - ROUNDING:
        yield replace(r_figure, p=None)
        return
    ends = _r_over_all(cube, aligned_criterion, there, level)
    sizes = [
        abs(correlation(halving_biases, aligned_criterion[there]))
        for halving_biases in split[there].T
    ]
    control = finite_or_none(float(np.nanmedian(sizes))) if sizes else None
    yield replace(r_figure, p=None, low=ends[0], high=ends[1], control=control)


def _r_over_all(
    cube: ScoreCube, aligned_criterion: Floats, there: NDArray[np.bool_], level: float
) -> tuple[float | None, float | None]:
    """The interval of r on Fisher's z, over all three facets; none where one of them has too few
    levels.
    """
    facets = [
        Facet.from_levels(int(there.sum())),
        Facet.from_levels(len(cube.templates)),
        Facet(cube.poles.tolist()),
    ]
    members = chain.from_iterable(facet.members() for facet in facets)
    if min(map(len, members)) < 2 or there.sum() < FEWEST_UNITS:
        return None, None
    scores, criterion = cube.scores[there], aligned_criterion[there]

    def on_z(attributes: UnitMask, templates: UnitMask, targets: UnitMask) -> float:
        """Fisher's z of r between criterion and scores (first group less second) of kept units."""
        first = targets & (cube.poles == 1)
        other = targets & (cube.poles == -1)
        between = first / first.sum() - other / other.sum()
        means = scores[attributes][:, templates].mean(axis=1) @ between
        r = correlation(means, criterion[attributes])
        return math.atanh(np.clip(r, ROUNDING - 1, 1 - ROUNDING))

    interval = jackknife_crossed(on_z, facets).interval(level)
    return finite_or_none(math.tanh(interval.low)), finite_or_none(math.tanh(interval.high))


def alpha_of_halvings(cube: ScoreCube) -> float | None:
    """Median alpha over all halvings of the targets: how far wordings agree where groups mean
    nothing.
    """
    ways = halving_weights(cube.poles)
    if not len(ways) or min(cube.scores.shape[:2]) < 2:
        return None
    differences = np.moveaxis(cube.scores @ ways.T, -1, 0)
    return finite_or_none(float(np.median([measurement.cronbach_alpha(x) for x in differences])))


def further_validity(
    mean_bias: "pd.Series[float]", attributes: pd.DataFrame, level: float
) -> Iterator[Figure]:
    """Rho of mean bias (nats, by attribute) with the criterion; r and rho over attributes that
    match it exactly.
    """
    if attributes["criterion"].isna().all():
        return
    joined = attributes.assign(bias=mean_bias).dropna(subset=["criterion", "bias"])
    exact = joined[joined["match"] == "exact"]
    for name, correlate, rows, dimensions in (
        ("rho", measurement.spearman, joined, PLAIN),
        (R, measurement.jackknifed_r, exact, EXACT),
        ("rho", measurement.spearman, exact, EXACT),
    ):
        numbers = (rows["bias"].to_numpy(), rows["criterion"].to_numpy())
        figure = correlation_figure(name, correlate, *numbers, level, UNIT)
        yield replace(figure, dimensions=dimensions)


def alpha_at_common_length(x: NDArray[np.float64]) -> float:
    """Alpha of attributes x templates, extrapolated to `COMMON_LENGTH` templates; NaN where that is
    undefined.
    """
    return measurement.spearman_brown(measurement.mean_inter_item_correlation(x), COMMON_LENGTH)


RELIABILITY = (
    (ALPHA, PLAIN, measurement.cronbach_alpha, BELOW_ONE),
    ("inter_item_correlation", PLAIN, measurement.mean_inter_item_correlation, CORRELATION),
    (ALPHA, AT_COMMON_LENGTH, alpha_at_common_length, BELOW_ONE),
    ("first_component_share", PLAIN, measurement.first_component_share, SHARE),
)
"""Figures with their dimensions, their function of attributes x templates, and the scale of their
interval."""


def reliability_figures(
    x: NDArray[np.float64], resampling: Resampling, alpha_of_halvings: float | None = None
) -> Iterator[Figure]:
    """Reliability and dimensionality of attributes x templates; intervals are over attributes."""
    reason = why_no_reliability(x)
    for name, dimensions, statistic, scale in RELIABILITY:
        if reason:
            yield Figure(name, None, len(x), UNIT, reason=reason, dimensions=dimensions)
            continue
        figure = jackknife_figure(name, statistic, x, scale, resampling.level, UNIT)
        is_alpha = statistic is measurement.cronbach_alpha
        control = alpha_of_halvings if is_alpha else None
        yield replace(figure, control=control, dimensions=dimensions)


def why_no_reliability(x: NDArray[np.float64]) -> str | None:
    """Why attributes x templates have no reliability figures, or None."""
    if x.shape[1] < 2:
        return "a set of one template has no internal consistency"
    if len(x) < 3:
        return "fewer than three attributes"
    return "a template has the same bias for all attributes" if constant_columns(x).any() else None


def items_of(cube: ScoreCube, controls: ScoreCube | None, level: float) -> pd.DataFrame:
    """Each template against the rest of its set, controls against all: `schemas.ITEMS` without keys
    and diversities.
    """
    biases = cube.biases()
    total = biases.sum(axis=1)
    alone = biases.shape[1] < 2  # nothing to hold an item against
    rests = pd.DataFrame(
        {name: total * np.nan if alone else total - biases[name] for name in biases}
    )
    removed = (
        measurement.item_statistics(biases.to_numpy()).alpha_if_removed
        if min(biases.shape) > 1
        else math.nan
    )
    frames = [_describe_items(biases, rests, level).assign(control=False, alpha_if_removed=removed)]
    if controls is not None:
        control_biases = controls.biases().reindex(biases.index)
        rests = pd.DataFrame(dict.fromkeys(control_biases, total))
        frames.append(
            _describe_items(control_biases, rests, level).assign(
                control=True, alpha_if_removed=math.nan
            )
        )
    return pd.concat(frames, ignore_index=True)


def _describe_items(biases: pd.DataFrame, rests: pd.DataFrame, level: float) -> pd.DataFrame:
    """One row per template; `rests`: what each is correlated with."""
    rows = []
    for name, item in biases.items():
        pairs = np.column_stack([item, rests[name]])
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        r = low = high = math.nan
        if len(pairs) >= FEWEST_PAIRS and not constant_columns(pairs).any():
            rest_correlation = measurement.jackknifed_r(pairs[:, 0], pairs[:, 1], level)
            r, low, high = rest_correlation.value, rest_correlation.low, rest_correlation.high
        summary = {"template": name, "mean": item.mean(), "sd": item.std()}
        summary["n"] = item.count()
        rows.append({**summary, "item_rest_correlation": r, "low": low, "high": high})
    return pd.DataFrame(rows)


TEMPLATES, TARGETS = (1, 2, 4, 8, 16, 32), (2, 4, 6, 12, 24)
"""Points of the curve: templates per set, targets per group."""

EFFECTS = {
    ("unit",): "attribute",
    ("template",): "template",
    ("word",): "target",
    ("unit", "template"): "attribute x template",
    ("unit", "word"): "attribute x target",
    ("template", "word"): "template x target",
    ("unit", "template", "word"): "attribute x template x target",
}
"""Names of the variance components, by facets."""

OF_COMPONENTS = (
    (GENERALIZABILITY, PLAIN),
    (GENERALIZABILITY, AT_COMMON_LENGTH),
    ("attribute_sd", PLAIN),
)
"""Figures of variance components, with their dimensions."""


def variance_components(
    cube: ScoreCube, level: float
) -> tuple[pd.DataFrame, pd.DataFrame, list[Figure]]:
    """Variance components of a set on a model, its coefficient, and the offset of its wordings.

    By `schemas.VARIANCES` and `schemas.CURVE` without key columns, empty where undefined, and these
    figures: `offset`: mean bias, nats; its interval takes attributes, templates and targets as
    random. `generalizability`: how well mean biases order the attributes, 0 to 1, also with
    `COMMON_LENGTH` templates. `attribute_sd`: SD of the attributes' biases, nats, from the variance
    component: the spread without noise of templates and targets; 0 where the component is not above
    0.

    Source: Brennan (2001), Generalizability Theory.
    """
    n, templates, targets = cube.scores.shape
    why = None
    if not cube.balanced:
        why = "the groups are not of equal size, two at least"
    elif n < 2 or templates < 2:
        why = "fewer than two attributes or templates"
    if why:
        offset = Figure("offset", float(cube.biases().to_numpy().mean()), n, UNIT)
        nothing = [
            Figure(name, None, n, UNIT, reason=why, dimensions=dimensions)
            for name, dimensions in OF_COMPONENTS
        ]
        return pd.DataFrame(), pd.DataFrame(), [offset, *nothing]
    components = difference_of_groups(cube.scores, cube.poles)
    interval = components.interval(level)
    coefficients = [
        finite_or_none(components.coefficient(length, targets // 2))
        for length in (templates, COMMON_LENGTH)
    ]
    values = [*coefficients, math.sqrt(max(components.variances["unit",], 0.0))]
    figures = [
        Figure(
            "offset",
            interval.value,
            n,
            UNIT,
            finite_or_none(interval.low),
            finite_or_none(interval.high),
        )
    ]
    for (name, dimensions), value in zip(OF_COMPONENTS, values, strict=True):
        reason = "no variance" if value is None else None
        figures.append(Figure(name, value, n, UNIT, reason=reason, dimensions=dimensions))
    variances = [
        {"effect": name, "variance": components.variances[effect]}
        for effect, name in EFFECTS.items()
    ]
    curve = [
        {
            "templates": length,
            "targets": words,
            "coefficient": finite_or_none(components.coefficient(length, words)),
        }
        for words, length in product(TARGETS, TEMPLATES)
    ]
    return pd.DataFrame(variances), pd.DataFrame(curve), figures
