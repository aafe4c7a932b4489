"""Convergent and discriminant validity: agreement between instruments, unit by unit, on the same
model.

Campbell and Fiske (1959): measures of one trait by several methods should correlate with each other
and with external criteria of the trait, and more than measures of different traits. Units are
matched by their words: the nurse in probes with the nurse in Winogender.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.measurement.estimates import correlation_figure, jackknife_figure
from evenruler.measurement.figures import Figure
from evenruler.measurement.inputs import Floats, correlation
from evenruler.measurement.resampling import BELOW_ONE, FEWEST_UNITS, PLAIN
from evenruler.measurement.validity import jackknifed_r
from evenruler.strict import read_yaml
from evenruler.tables.schemas import AGREEMENT

R, TRUE, RELIABILITY = "r", "r_true", "reliability"
"""The correlation of two instruments; the same corrected for attenuation; the reliability of one
instrument."""

PUBLISHED, LETTERS = "published number", "letters"
"""External measures that need no model: an instrument's published criterion, which has its trait;
and the word length of units, a null trait that should correlate with nothing."""

ITSELF, SAME_TRAIT, SAME_WORDS, OTHER_TRAIT = "itself", "same trait", "same words", "other trait"
"""What two measures have in common. With the same words they agree on an untrained model, too."""

LEAST_RELIABLE: Final = 0.2
"""Below this reliability r is not corrected: the divisor would be close to zero."""


@dataclass(frozen=True)
class UnitMeasure:
    """The values that an instrument, or an external measure, gives for units."""

    benchmark: str
    kin: str
    part: str
    trait: str
    values: pd.DataFrame
    """Indexed by concept: columns `value`, `error`."""
    is_asked: bool = True
    """Whether they come from a model."""


def compute_agreement(concepts: pd.DataFrame, level: float) -> pd.DataFrame:
    """Agreement of instruments (`tables.schemas.AGREEMENT`); empty if no two have units in common.

    `concepts` has all instruments and models (`tables.schemas.CONCEPTS`). Returns, per model and
    pair, `r` over the shared units and `r_true`, which is r divided by the root of the product of
    both reliabilities (Spearman 1904) and may exceed 1; per model and instrument, its
    `reliability`. Instruments are also paired with published numbers and with the number of letters
    of a unit's word.
    """
    rows: list[dict[str, Any]] = []
    if concepts.empty:
        return pd.DataFrame(rows, columns=AGREEMENT.names)
    unit_names = concepts["concept"].str.partition(":")[0]
    for (model, unit_key), group in concepts.groupby(["model", unit_names]):
        unit = str(unit_key)
        instrument_measures: list[UnitMeasure] = []
        for labels, values in group.groupby(["benchmark", "kin", "part", "trait"]):
            benchmark, kin, part, trait = map(str, labels)
            unit_values = values.set_index("concept")
            instrument_measures.append(UnitMeasure(benchmark, kin, part, trait, unit_values))
        external_measures = list(
            _external_measures(concepts[concepts["concept"].str.startswith(f"{unit}:")])
        )
        pairs: list[tuple[UnitMeasure, UnitMeasure]] = []
        for first, second in combinations([*instrument_measures, *external_measures], 2):
            # Sets and sizes ("@0.1.0+trial") of one instrument share items.
            first_name = first.benchmark.partition("@")[0]
            second_name = second.benchmark.partition("@")[0]
            if not first.is_asked or first_name == second_name:
                continue
            if not first.values.index.intersection(second.values.index).empty:
                pairs.append((first, second))
        if not any(second.is_asked for _, second in pairs):
            continue
        keys = {"of": unit, "model": str(model)}
        rows += [
            {
                **keys,
                **_measure_columns(measure, measure),
                **vars(_reliability_figure(measure, level, unit)),
            }
            for measure in instrument_measures
        ]
        for pair in pairs:
            for figure in _correlation_figures(*pair, level, unit):
                rows.append({**keys, **_measure_columns(*pair), **vars(figure)})
    return pd.DataFrame(rows, columns=AGREEMENT.names)


def _external_measures(concepts: pd.DataFrame) -> Iterator[UnitMeasure]:
    """External measures: published numbers of each instrument that has them, and the word
    lengths.
    """
    criterion_rows = concepts.dropna(subset=["criterion"]).drop_duplicates(["kin", "concept"])
    for (benchmark, trait), group in criterion_rows.groupby(["benchmark", "trait"]):
        values = (
            group.set_index("concept")[["criterion"]]
            .rename(columns={"criterion": "value"})
            .assign(error=0.0)
        )
        yield UnitMeasure(
            f"{PUBLISHED} of {benchmark}", PUBLISHED, "", str(trait), values, is_asked=False
        )
    words = sorted(set(concepts["concept"]))
    lengths = [float(len(word.partition(":")[2])) for word in words]
    values = pd.DataFrame({"value": lengths, "error": 0.0}, index=words)
    yield UnitMeasure(LETTERS, LETTERS, "", LETTERS, values, is_asked=False)


def _measure_columns(measure: UnitMeasure, other: UnitMeasure) -> dict[str, str]:
    """The columns of `AGREEMENT` that name two measures, and what they have in common (`kind`)."""
    if measure.trait != other.trait:
        kind = OTHER_TRAIT
    elif measure is other:
        kind = ITSELF
    else:
        kind = SAME_WORDS if measure.kin == other.kin else SAME_TRAIT
    named = {
        "benchmark": measure.benchmark,
        "part": measure.part,
        "trait": measure.trait,
        "kind": kind,
    }
    return {**named, "other": other.benchmark, "other_part": other.part, "other_trait": other.trait}


def _reliability(x: Floats) -> float:
    """Share of the variance of values that is not error, from [units, 2], value and error variance:
    1 - mean error variance / variance (ddof 1). Below 0 where errors are larger.
    """
    error_variance = x[:, 1].mean()
    return float(1 - error_variance / x[:, 0].var(ddof=1))


def _reliability_figure(measure: UnitMeasure, level: float, unit: str) -> Figure:
    """The figure `reliability` of an instrument's values of units, with its jackknife interval;
    without a value below `FEWEST_UNITS` units or if all are equal.
    """
    x = measure.values[["value", "error"]].to_numpy(dtype=np.float64)
    if len(x) < FEWEST_UNITS or not np.ptp(x[:, 0]):
        return Figure(
            RELIABILITY,
            None,
            len(x),
            unit,
            reason=f"fewer than {FEWEST_UNITS} units, or all are equal",
        )
    return jackknife_figure(RELIABILITY, _reliability, x, BELOW_ONE, level, unit)


def _correlation_figures(
    measure: UnitMeasure, other: UnitMeasure, level: float, unit: str
) -> Iterator[Figure]:
    """The figures `r` over units of both measures and `r_true`, corrected for attenuation; `r_true`
    without a value, but a reason, if units are few, words shared or a reliability low.
    """
    value_tables = [
        paired_measure.values[["value", "error"]] for paired_measure in (measure, other)
    ]
    x = pd.concat(value_tables, axis=1, join="inner").to_numpy(dtype=np.float64)
    first = x[:, :2]  # value and error
    second = x[:, 2:]
    r = correlation_figure(R, jackknifed_r, first[:, 0], second[:, 0], level, unit)
    yield r
    if r.value is None or len(x) < FEWEST_UNITS:
        yield Figure(
            TRUE, None, len(x), unit, reason=r.reason or f"fewer than {FEWEST_UNITS} units"
        )
        return
    if measure.kin == other.kin:
        yield Figure(
            TRUE, None, len(x), unit, reason="they share words, so their errors are correlated"
        )
        return
    least = min(_reliability(first), _reliability(second))
    if least < LEAST_RELIABLE:
        why = (
            f"the less reliable one has a reliability of {least:z.2f}; at least {LEAST_RELIABLE} "
            "is needed"
        )
        yield Figure(TRUE, None, len(x), unit, reason=why)
        return

    def without_errors(x: Floats) -> float:
        """The r over the root of both reliabilities, of [units, 4]: value and error variance of
        each measure; NaN if the product of reliabilities is not positive.
        """
        first = x[:, :2]
        second = x[:, 2:]
        reliable = _reliability(first) * _reliability(second)
        if reliable > 0:
            observed = correlation(first[:, 0], second[:, 0])
            return observed / float(np.sqrt(reliable))
        return np.nan

    yield jackknife_figure(TRUE, without_errors, x, PLAIN, level, unit)


def _figure_text(row: Mapping[Hashable, Any]) -> str:
    """A figure as "0.12 [-0.10, 0.33]", without the interval where it has none; the reason where it
    has no value.
    """
    if pd.isna(row["value"]):
        return str(row["reason"])
    value = f"{row['value']:z.2f}"
    low, high = row["low"], row["high"]
    if pd.isna(low):
        return value
    return f"{value} [{low:z.2f}, {high:z.2f}]"


_WORDS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("agreement.yaml"))
TITLE, TEXT = str(_WORDS["title"]), str(_WORDS["text"])
HEAD: Final[tuple[str, ...]] = tuple(_WORDS["head"])


def _benchmark_label(benchmark: object, part: object) -> str:
    """The name of a benchmark, with its part unless that is the whole."""
    return str(benchmark) if part in ("", "all") else f"{benchmark}, {part}"


def mtmm_rows(agreement: pd.DataFrame) -> list[list[str]]:
    """Rows of the multitrait-multimethod matrix (`HEAD`): reliabilities, pairs of the same trait,
    the others.
    """
    keys = ["model", "benchmark", "part", "other", "other_part"]
    true = agreement[agreement["figure"] == TRUE].set_index(keys)
    matrix_rows = []
    for row in agreement[agreement["figure"] != TRUE].to_dict("records"):
        itself = row["kind"] == ITSELF
        first_label = _benchmark_label(row["benchmark"], row["part"])
        second_label = _benchmark_label(row["other"], row["other_part"])
        if itself:
            rest = ""
        else:
            place = tuple(row[key] for key in keys)
            rest = _figure_text(true.loc[place].to_dict())
        matrix_rows.append(
            [
                row["model"],
                first_label,
                "" if itself else second_label,
                row["kind"],
                str(row["n"]),
                _figure_text(row),
                rest,
            ]
        )
    order = (ITSELF, SAME_TRAIT, SAME_WORDS, OTHER_TRAIT)
    return sorted(matrix_rows, key=lambda row: (row[0], order.index(row[3])))
