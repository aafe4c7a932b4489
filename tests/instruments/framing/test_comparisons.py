"""Classes compared, against statsmodels and by hand."""

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.linalg import LinAlgError
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from evenruler.instruments.framing.diagnose.comparisons import compare_classes
from evenruler.measurement import Resampling
from tests.instruments.near import approx, near

RESAMPLING = Resampling(level=0.9, resamples=200, seed=3)
PLANTED = {"he": -0.1, "she": 0.0, "they": 0.15}
PAIRS = {
    ("she", "he"): 0.1,
    ("they", "he"): 0.25,
    ("they", "she"): 0.15,
}


def simulated(
    models: int, of_models: float = 0.2, together: float = 0.0, stimuli: int = 20, seed: int = 0
):
    """Shifts around `PLANTED`; SD between models, of what a stimulus adds to a class in all models,
    and .1 of noise."""
    rng = np.random.default_rng(seed)
    intercepts = rng.normal(scale=of_models, size=models)
    joint = rng.normal(
        scale=together,
        size=(stimuli, len(PLANTED)),
    )
    means = np.array(list(PLANTED.values()))
    rows = []
    for model, stimulus, framing in product(
        range(models),
        range(stimuli),
        ("bare", "instruction"),
    ):
        noise = rng.normal(scale=0.1, size=3)
        shifts = means + intercepts[model] + joint[stimulus] + noise
        cell = {
            "model": f"m{model}",
            "stimulus": f"s{stimulus}",
            "at": framing,
        }
        rows += [
            {**cell, "outcome": outcome, "shift": shift}
            for outcome, shift in zip(PLANTED, shifts, strict=True)
        ]
    frame = pd.DataFrame(rows)
    same = {
        "benchmark": "pronouns",
        "prompt_format": "plain",
        "readout": "token",
        "task": "association",
    }
    return frame.assign(lineage=frame["model"], factor="salience", **same)


def compared(shifts: pd.DataFrame) -> pd.DataFrame:
    return (
        compare_classes(shifts, RESAMPLING)
        .set_index(["model_of_shifts", "outcome", "against"])
        .sort_index()
    )


def by_hand(shifts: pd.DataFrame) -> dict[tuple[str, str], tuple[float, float]]:
    """Difference and standard error of every pair, by statsmodels' formula with its own
    optimisers."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "The MLE may be on the boundary"
        )  # any variance below .01
        fit = smf.mixedlm("shift ~ outcome", shifts, groups="model").fit(reml=True)
    assert fit.converged
    _, she, they = np.eye(3)
    covariance = fit.cov_params().to_numpy()[:3, :3]
    by_pair = {}
    for pair, contrast in zip(
        PAIRS,
        (she, they, they - she),
        strict=True,
    ):
        error = math.sqrt(contrast @ covariance @ contrast)
        by_pair[pair] = (contrast @ fit.fe_params, error)
    return by_pair


def take_one_step() -> dict[str, int]:
    return {"maxiter": 1}


def warn_of_singularity() -> dict[str, int]:
    warnings.warn("singular", SingularMatrixWarning, stacklevel=2)
    return {}


def find_no_inverse() -> dict[str, int]:
    raise LinAlgError


class TestMixedModel:
    def test_is_that_of_statsmodels(self) -> None:
        shifts = simulated(6)
        comparisons = compared(shifts)
        for pair, (difference, error) in by_hand(shifts).items():
            row = comparisons.loc[("mixed model", *pair)]
            margin = stats.norm.ppf(0.95) * error
            assert row[["difference", "low", "high"]].tolist() == approx(
                [difference, difference - margin, difference + margin], abs=1e-6
            )
            p = 2 * stats.norm.sf(difference / error)
            assert row["p"] == approx(p, rel=1e-3)
            assert row["n"] == 6 * 20 * 2 * 3
            assert row["n_models"] == 6

    def test_tukey_is_the_studentised_range_of_its_contrasts(self) -> None:
        # Small shifts, so that p is neither 0 nor 1.
        shifts = simulated(6, seed=1)
        shifts["shift"] -= 0.9 * shifts["outcome"].map(PLANTED)
        comparisons = compared(shifts)
        critical = stats.studentized_range.ppf(0.9, 3, 1e6) / math.sqrt(2)
        assert critical > stats.norm.ppf(0.95)
        for pair, (difference, error) in by_hand(shifts).items():
            row, uncorrected = (comparisons.loc[(name, *pair)] for name in ("tukey", "mixed model"))
            q = math.sqrt(2) * abs(difference) / error
            assert row["p"] == approx(stats.studentized_range.sf(q, 3, 1e6), rel=1e-3)
            assert uncorrected["p"] < row["p"] < 1
            ends = [difference - critical * error, difference + critical * error]
            assert row[["low", "high"]].tolist() == approx(ends, abs=1e-6)

    def test_p_beyond_the_studentised_range_is_no_zero(self) -> None:
        comparisons = compared(simulated(6))
        assert 0 < comparisons.loc[("tukey", "they", "he"), "p"] < 1e-30

    @pytest.mark.parametrize(
        ("happens", "reason"),
        [
            (take_one_step, "the mixed model did not converge"),
            (warn_of_singularity, "the mixed model is singular"),
            (find_no_inverse, "the mixed model is singular"),
        ],
    )
    def test_what_cannot_be_fitted_is_null_and_nothing_takes_its_place(
        self, monkeypatch, happens, reason
    ) -> None:
        fit = MixedLM.fit

        def fails(self, **options):
            return fit(self, **options | happens())

        monkeypatch.setattr(MixedLM, "fit", fails)
        comparisons = compared(simulated(6))
        for method in ("mixed model", "tukey"):
            rows = comparisons.loc[method]
            assert rows[["difference", "low", "high", "p"]].isna().all(axis=None)
            assert set(rows["reason"]) == {reason}
        assert comparisons.loc["jackknife", ["difference", "low", "high"]].notna().all(axis=None)


class TestFixedEffects:
    def test_below_five_models_errors_are_clustered_by_stimulus(self) -> None:
        shifts = simulated(4, together=0.1)
        comparisons = compared(shifts)
        clusters = {"groups": pd.factorize(shifts["stimulus"])[0]}
        fit = smf.ols("shift ~ outcome + model", shifts).fit(
            cov_type="cluster", cov_kwds=clusters, use_t=True
        )
        low, high = fit.conf_int(alpha=0.1).loc["outcome[T.they]"]
        row = comparisons.loc[("fixed effects", "they", "he")]
        assert "mixed model" not in comparisons.index.get_level_values("model_of_shifts")
        expected = [fit.params["outcome[T.they]"], low, high]
        assert row[["difference", "low", "high"]].tolist() == approx(expected, abs=1e-9)
        assert row["p"] == approx(fit.pvalues["outcome[T.they]"], rel=1e-6)
        assert row["n"] == 4 * 20 * 2 * 3
        assert row["n_models"] == 4

    def test_tukey_has_the_degrees_of_freedom_of_the_clusters(self) -> None:
        shifts = simulated(1, stimuli=6, together=0.1)
        comparisons = compared(shifts)
        plain, tukey = (
            comparisons.loc[("fixed effects", "she", "he")],
            comparisons.loc[("tukey", "she", "he")],
        )
        error = (plain["high"] - plain["difference"]) / stats.t.ppf(0.95, 5)
        q = math.sqrt(2) * abs(plain["difference"]) / error
        assert tukey["p"] == approx(stats.studentized_range.sf(q, 3, 5), rel=1e-6)
        critical = stats.studentized_range.ppf(0.9, 3, 5) / math.sqrt(2)
        assert tukey["high"] - tukey["difference"] == approx(critical * error, rel=1e-6)

    def test_five_are_enough_and_models_that_share_weights_are_one(self) -> None:
        assert "mixed model" in compared(simulated(5)).index.get_level_values("model_of_shifts")
        shifts = simulated(6)
        comparisons = compared(
            shifts.assign(lineage=shifts["model"].replace({"m5": "m0", "m4": "m0"}))
        )
        assert set(comparisons.index.get_level_values("model_of_shifts")) == {
            "fixed effects",
            "tukey",
            "jackknife",
        }
        assert set(comparisons["n_models"]) == {4}


def test_the_jackknife_leaves_out_whole_stimuli() -> None:
    shifts = simulated(6, together=0.3).query("model != 'm1' or stimulus != 's2'")
    of_pair = shifts[shifts["outcome"] != "she"]

    def difference(rows: pd.DataFrame) -> float:
        means = rows.groupby("outcome")["shift"].mean()
        return float(means["they"] - means["he"])

    without = []
    for place in range(20):
        without.append(difference(of_pair[of_pair["stimulus"] != f"s{place}"]))
    error = math.sqrt(19) * np.std(without)
    half = stats.t.ppf(0.95, 19) * error
    comparisons = compared(shifts)
    row = comparisons.loc[("jackknife", "they", "he")]
    expected = difference(of_pair)
    assert row[["difference", "low", "high"]].tolist() == near(
        [expected, expected - half, expected + half]
    )
    assert row["n"] == (6 * 20 - 1) * 2 * 2
    assert pd.isna(row["p"])
    # What a stimulus does in all models alike, the mixed model takes for as many independent
    # shifts.
    mixed = comparisons.loc[("mixed model", "they", "he")]
    width = mixed["high"] - mixed["low"]
    assert row["high"] - row["low"] > 2 * width


def test_a_single_model_and_stimulus_has_no_interval() -> None:
    comparisons = compared(simulated(1, stimuli=1))
    for method in ("fixed effects", "tukey"):
        assert comparisons.loc[method, ["difference", "low", "high", "p"]].isna().all(axis=None)
        assert set(comparisons.loc[method, "reason"]) == {
            "a single stimulus has no spread to judge by"
        }
    assert comparisons.loc["jackknife", ["low", "high"]].isna().all(axis=None)
    assert comparisons.loc["jackknife", "difference"].notna().all()


@pytest.mark.parametrize(
    ("models", "by_model"),
    [
        (2, 0.0),
        (6, 0.01),
    ],
)
def test_shifts_without_spread_are_null_in_models_and_degenerate_in_the_jackknife(
    models, by_model
) -> None:
    shifts = simulated(models)
    of_models = by_model * shifts["model"].str[1:].astype(int)
    comparisons = compared(shifts.assign(shift=shifts["outcome"].map(PLANTED) + of_models))
    fitted = comparisons.drop(index="jackknife", level="model_of_shifts")
    assert fitted[["difference", "low", "high", "p"]].isna().all(axis=None)
    assert set(fitted["reason"]) == {"the shifts have no spread to judge by"}
    of_jackknife = comparisons.loc["jackknife"]
    for end in ("difference", "low", "high"):
        assert of_jackknife[end].to_dict() == near(PAIRS)


def test_benchmarks_configurations_and_metrics_go_their_own_ways() -> None:
    shifts = simulated(2)
    other = shifts.assign(shift=-shifts["shift"])
    parts = [shifts]
    for changed in ({"benchmark": "other"}, {"prompt_format": "chat"}, {"readout": "choice"}):
        parts.append(other.assign(**changed))
    comparisons = compare_classes(pd.concat(parts), RESAMPLING).query(
        "model_of_shifts == 'jackknife' and outcome == 'they' and against == 'he'"
    )
    key = ["benchmark", "prompt_format", "readout"]
    assert np.sign(comparisons.set_index(key)["difference"]).to_dict() == {
        ("other", "plain", "token"): -1,
        ("pronouns", "plain", "choice"): -1,
        ("pronouns", "plain", "token"): 1,
        ("pronouns", "chat", "token"): -1,
    }
