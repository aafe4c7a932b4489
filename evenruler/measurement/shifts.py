"""How much a prefix before prompts shifts scores, compared with placebos of similar length."""

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evenruler.measurement.figures import Figure
from evenruler.measurement.inputs import FEWEST_FOR_SPREAD, Floats, check_level, constant_columns
from evenruler.measurement.resampling import Interval

FEWEST_UNITS = 3

LEVEL, REORDERING = "level_shift", "reordering"
"""Root mean square over cues: of the mean change of scores, and of the SD of changes around it,
both in SDs of the scores. The control is the same for placebos."""

UNASKED = "nothing was asked after prefixes"


@dataclass(frozen=True)
class PrefixShift:
    """The effect of one prefix on the scores of n units."""

    level: float
    """Mean signed change, in units of the scores."""
    level_in_sd: float
    """The same in standard deviations of the units' scores without it; NaN where these do not
    differ."""
    reordering: float
    """Standard deviation of the changes about their mean, in the unit of the scores."""
    reordering_in_sd: float
    """The same in standard deviations of the units' scores without it; NaN where these do not
    differ."""
    rank_agreement: float
    """Spearman's rho between scores without and with it; NaN where either is constant."""
    n: int


def measure_shift(bare: ArrayLike, after: ArrayLike) -> PrefixShift:
    """Compare scores [n] without and with a prefix. ValueError: n below three, unequal shapes, or
    non-finite scores.
    """
    x = np.asarray(bare, dtype=np.float64)
    y = np.asarray(after, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < FEWEST_UNITS:
        raise ValueError(
            f"expected two rows of at least {FEWEST_UNITS} scores, got {x.shape} and {y.shape}"
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("scores must be finite")
    alike = constant_columns(np.column_stack([x, y]))
    level = float((y - x).mean())
    reordering = float((y - x).std(ddof=1))
    spread = math.nan if alike[0] else float(x.std(ddof=1))
    rho = math.nan if alike.any() else float(stats.spearmanr(x, y).statistic)
    return PrefixShift(
        level=level,
        level_in_sd=level / spread,
        reordering=reordering,
        reordering_in_sd=reordering / spread,
        rank_agreement=rho,
        n=len(x),
    )


def prefix_shifts(
    bare: "pd.Series[float]", after: "Mapping[str, pd.Series[float]]", placebos: Collection[str]
) -> pd.DataFrame:
    """The effect of every prefix on the same units: a row per prefix, `prefix`, `placebo` and the
    fields of `PrefixShift`.

    `bare`: scores without a prefix, by unit. `after`: scores after each prefix; units that are NaN
    or missing are left out of both. ValueError where a unit has a score after some prefixes only.
    Empty where fewer than three units were asked.
    """
    scores = pd.DataFrame(dict(after)).reindex(bare.index)
    lacks = scores.isna()
    if (lacks.any(axis=1) & ~lacks.all(axis=1)).any():
        raise ValueError("some units have a score after some prefixes and not after others")
    has_scores = ~lacks.any(axis=1) & bare.notna()
    if has_scores.sum() < FEWEST_UNITS:
        return pd.DataFrame()
    shifts = {
        prefix: asdict(measure_shift(bare[has_scores], scores.loc[has_scores, prefix]))
        for prefix in sorted(after)
    }
    rows = [
        {"prefix": prefix, "placebo": prefix in placebos, **fields}
        for prefix, fields in shifts.items()
    ]
    return pd.DataFrame(rows)


def shift_figures(
    rows: pd.DataFrame, level: float, unit: str, lacking: str | None = None
) -> list[Figure]:
    """How much cues shift scores, in SDs of the scores, with placebos as control.

    `rows`: from `prefix_shifts`. `level`: coverage of the interval of `placebo_level_shift`, whose
    units are prefixes. `unit`: the scored units. `lacking`: why there are no rows, if not because
    too few units were asked.
    """
    n = int(rows["n"].iloc[0]) if len(rows) else 0
    reason = None
    if rows.empty:
        reason = lacking or f"fewer than {FEWEST_UNITS} {unit} were asked after prefixes"
    elif rows["placebo"].all():
        reason = UNASKED
    elif rows["level_in_sd"].isna().any():
        reason = f"all {unit} have the same score without a prefix"
    if reason:
        return [Figure(figure, None, n, unit, reason=reason) for figure in (LEVEL, REORDERING)]
    figures = []
    for figure, column in ((LEVEL, "level_in_sd"), (REORDERING, "reordering_in_sd")):
        cues, placebos = (rows.loc[rows["placebo"] == which, column] for which in (False, True))
        control = None
        if len(placebos) >= FEWEST_FOR_SPREAD:
            interval = rms_placebo_shift(placebos, level)
            control = interval.value
            # Reorderings do not centre on 0, so the interval does not hold for them.
            ends = (interval.low, interval.high) if figure == LEVEL else (None, None)
            name, n_placebos = f"placebo_{figure}", len(placebos)
            figures.append(Figure(name, control, n_placebos, "placebos", *ends))
        shift = float(np.sqrt((cues**2).mean()))
        figures.append(Figure(figure, shift, n, unit, control=control))
    return figures


def rms_placebo_shift(values: ArrayLike, level: float = 0.95) -> Interval:
    """The root mean square of the shifts of k placebo prefixes, `values` [k]: the size expected
    without content.

    The chi-square interval over prefixes assumes normal shifts around 0, which holds for level
    shifts. ValueError: fewer than five placebos, or a value that is not finite.
    """
    check_level(level)
    x: Floats = np.asarray(values, dtype=np.float64)
    are_enough = x.ndim == 1 and len(x) >= FEWEST_FOR_SPREAD
    if not are_enough or not np.isfinite(x).all():
        raise ValueError(
            f"expected numbers of at least {FEWEST_FOR_SPREAD} placebos, got {x.shape}"
        )
    k = len(x)
    square = float((x**2).sum())
    upper_quantile = stats.chi2.ppf(0.5 + level / 2, k)
    lower_quantile = stats.chi2.ppf(0.5 - level / 2, k)
    low = math.sqrt(square / upper_quantile)
    high = math.sqrt(square / lower_quantile)
    return Interval(math.sqrt(square / k), low, high)
