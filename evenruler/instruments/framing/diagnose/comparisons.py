"""Whether some classes of answers shift more than others under a cue (framing, section 5.3)."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.linalg import LinAlgError
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from evenruler.instruments.framing import schemas
from evenruler.measurement import Resampling
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import PLAIN

FEWEST_LINEAGES = 5
"""Fewest lineages for which models are taken as random, with a random intercept each."""

MIXED, FIXED, TUKEY, JACKKNIFE = "mixed model", "fixed effects", "tukey", "jackknife"

# Shifts lie between -1 and 1; errors below this are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Fit:
    """Mean shifts of the classes by a linear model, up to a common constant."""

    means: Floats
    covariance: Floats
    df: float
    """Degrees of freedom of the errors; infinite for normal ones."""


def compare_classes(shifts: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Compare the mean shifts of all pairs of classes, over models, factors, tasks and stimuli.

    With five lineages of models or more, a linear mixed model is fitted, `shift ~ class` with a
    random intercept per model (REML; Wald tests and intervals). With fewer, models are fixed
    effects, and errors are clustered by stimulus (t, degrees of freedom: stimuli minus one).
    `tukey`: the same contrasts with Tukey's correction for all pairs of classes, p and simultaneous
    intervals by the studentised range. The mixed model assumes shifts to be independent given the
    model, which those of one stimulus are not; `jackknife` leaves out whole stimuli, and has no p.

    `shifts`: by `schemas.SHIFTS`. Returns `COMPARISONS`: per benchmark, prompt_format, readout and
    pair of classes the model, `tukey` and `jackknife`. `difference`: how much more `outcome` shifts
    than `against`, which comes before it in the alphabet; n counts the shifts that the method used.
    Null with the reason where a model did not converge, is singular, or shifts have no spread.
    Source: section 5.3; the rule of five, and the errors used below it, are our decisions.
    """
    part = ["benchmark", "prompt_format", "readout"]
    comparison_rows: list[dict[str, object]] = []
    for key, group in shifts.groupby(part):
        part_columns = dict(zip(part, key, strict=True))
        comparison_rows += [
            {**part_columns, **row} for row in _class_comparison_rows(group, resampling)
        ]
    return pd.DataFrame(comparison_rows, columns=schemas.COMPARISONS.names)


def _class_comparison_rows(
    shifts: pd.DataFrame, resampling: Resampling
) -> Iterator[dict[str, object]]:
    """Rows of `COMPARISONS` of one benchmark, prompt format and readout: for each pair of classes
    the model's, Tukey's and the jackknife's.
    """
    classes = sorted(shifts["outcome"].unique())
    lineages = shifts["lineage"].nunique()
    if lineages >= FEWEST_LINEAGES:
        method, fit = MIXED, _fit_mixed_model(shifts)
    else:
        method, fit = FIXED, _fit_fixed_effects(shifts)
    class_sums = shifts.groupby(["stimulus", "outcome"])["shift"].agg(["sum", "size"])
    sums = class_sums.unstack(fill_value=0)

    def difference(drawn: Floats) -> float:
        """`drawn`: [stimuli, 4] sums of the shifts of two classes, and the number of shifts of
        each.
        """
        first_sum, second_sum, n_first, n_second = drawn.sum(axis=0)
        return float(first_sum / n_first - second_sum / n_second)

    for second, first in combinations(range(len(classes)), 2):
        outcome, against = classes[first], classes[second]
        pair = {"outcome": outcome, "against": against, "n_models": lineages}
        for name, corrected_for in ((method, None), (TUKEY, len(classes))):
            contrast = _contrast_classes(fit, first, second, corrected_for, resampling.level)
            yield {**pair, "model_of_shifts": name, "n": len(shifts), **contrast}
        columns = [("sum", outcome), ("sum", against), ("size", outcome), ("size", against)]
        x = sums[columns].to_numpy(dtype=np.float64)
        drawn = jackknife_figure(JACKKNIFE, difference, x, PLAIN, resampling.level, "stimuli")
        ends = {
            "difference": drawn.value,
            "low": drawn.low,
            "high": drawn.high,
            "p": None,
            "reason": drawn.reason,
        }
        n = int(x[:, 2:].sum())
        yield {**pair, "model_of_shifts": JACKKNIFE, "n": n, **ends}


def _contrast_classes(
    fit: _Fit | str, first: int, second: int, corrected_for: int | None, level: float
) -> dict[str, object]:
    """The difference of two classes, Tukey-corrected for all pairs of `corrected_for` classes; null
    without a fit.
    """
    row: dict[str, object] = dict.fromkeys(("difference", "low", "high", "p", "reason"))
    if isinstance(fit, str):
        return row | {"reason": fit}
    difference = float(fit.means[first] - fit.means[second])
    variances = fit.covariance[np.ix_([first, second], [first, second])]
    variance = variances.trace() - 2 * variances[0, 1]
    error = math.sqrt(max(variance, 0.0))
    if error < _ROUNDING:
        return row | {"reason": "the shifts have no spread to judge by"}
    t_statistic = abs(difference) / error
    p = float(2 * stats.t.sf(t_statistic, fit.df))
    critical = float(stats.t.isf((1 - level) / 2, fit.df))
    if corrected_for is not None:
        # `studentized_range.sf` is inaccurate for small p; the correction never lowers p.
        range_p = stats.studentized_range.sf(
            math.sqrt(2) * abs(difference) / error, corrected_for, fit.df
        )
        p = max(p, float(range_p))
        critical = _critical_range(level, corrected_for, fit.df) / math.sqrt(2)
    half = critical * error
    return row | {
        "difference": difference,
        "low": difference - half,
        "high": difference + half,
        "p": p,
    }


@cache  # it is slow, and the same for all pairs
def _critical_range(level: float, classes: int, df: float) -> float:
    """The quantile, at `level`, of the studentised range of so many classes."""
    return float(stats.studentized_range.ppf(level, classes, df))


def _fit_mixed_model(shifts: pd.DataFrame) -> _Fit | str:
    """`shift ~ class` with a random intercept per model, or why it cannot be fitted."""
    shift, classes, models = _code_dummy_variables(shifts)
    design = np.column_stack([classes, models])
    coefficients = np.linalg.lstsq(design, shift)[0]
    residuals = shift - design @ coefficients
    if np.abs(residuals).max() < _ROUNDING:
        return "the shifts have no spread to judge by"
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            model = MixedLM(shift, classes, groups=models.argmax(axis=1))
            # One variance is estimated; where it is small, gradient methods stop too early or
            # diverge.
            result = model.fit(reml=True, method=["powell"], xtol=1e-8, ftol=1e-10)
            covariance = np.asarray(result.cov_params(), dtype=np.float64)
        except LinAlgError:
            return "the mixed model is singular"
    if not result.converged:
        return "the mixed model did not converge"
    k = classes.shape[1]
    if any(issubclass(warning.category, SingularMatrixWarning) for warning in caught_warnings):
        return "the mixed model is singular"
    means = np.asarray(result.fe_params, dtype=np.float64)
    return _Fit(means, covariance[:k, :k], math.inf)


def _fit_fixed_effects(shifts: pd.DataFrame) -> _Fit | str:
    """`shift ~ class + model`, errors clustered by stimulus, or why it cannot be fitted."""
    shift, classes, models = _code_dummy_variables(shifts)
    stimuli = shifts["stimulus"].nunique()
    if stimuli < 2:
        return "a single stimulus has no spread to judge by"
    clusters = {"groups": pd.factorize(shifts["stimulus"])[0]}
    design = np.column_stack([classes, models[:, 1:]])
    result = OLS(shift, design).fit(cov_type="cluster", cov_kwds=clusters, use_t=True)
    k = classes.shape[1]
    covariance = np.asarray(result.cov_params())
    means = result.params[:k]
    return _Fit(means, covariance[:k, :k], stimuli - 1)


def _code_dummy_variables(shifts: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Shifts [n], and dummy variables of class and model, [n, classes] and [n, models]."""
    classes = pd.get_dummies(shifts["outcome"], dtype=float).to_numpy()
    models = pd.get_dummies(shifts["model"], dtype=float).to_numpy()
    return shifts["shift"].to_numpy(dtype=np.float64), classes, models
