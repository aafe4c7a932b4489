import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evenruler.errors import UserError
from evenruler.measurement.verdicts import Verdict
from evenruler.publish.manifest import KIND
from evenruler.results.comparison import COLUMNS, DESCRIBES, EQUAL, compare
from tests.results.synthetic import CONFIRMED, drawn, figure, stored, synthetic, units_of

LEVELS = {f"unit-{i:02}": float(i) for i in range(20)}
"""Beside the values of units."""


def pair(tmp_path, first, second, statistic, beside=None, one=None, **changes):
    """Two results of one figure, of these values."""
    of = {"statistic": statistic, "figure": "spread"}
    return [
        stored(tmp_path, synthetic("one", **({"figures": one} if one else {})), units_of("one", first, beside, **of)),
        stored(tmp_path, synthetic("two", **changes), units_of("two", second, beside, **of)),
    ]


def only(frame):
    assert len(frame) == 1
    return frame.iloc[0]


class TestStatistics:
    def test_of_means_is_the_paired_t_test(self, tmp_path):
        a, b = drawn(20, 1, shift=0.4), drawn(20, 2)
        row = only(compare(pair(tmp_path, a, b, "mean")))
        test = stats.ttest_rel(list(a.values()), list(b.values()))
        interval = test.confidence_interval(0.95)
        assert row["p"] == pytest.approx(test.pvalue, rel=1e-9)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
        assert row["contrast"] == row["difference"] == pytest.approx(np.mean([a[u] - b[u] for u in a]))
        assert (row["n"], row["scale"]) == (20, "difference")

    def test_of_standard_deviations_is_their_ratio_by_the_jackknife_of_logarithms(self, tmp_path):
        a, b = drawn(20, 1, sd=3.0), drawn(20, 2)
        x, y = np.array(list(a.values())), np.array(list(b.values()))
        row = only(compare(pair(tmp_path, a, b, "sd")))
        logs = [math.log(np.delete(x, i).std(ddof=1) / np.delete(y, i).std(ddof=1)) for i in range(20)]
        error = math.sqrt(19 / 20 * sum((log - np.mean(logs)) ** 2 for log in logs))
        log = math.log(x.std(ddof=1) / y.std(ddof=1))
        assert row["p"] == pytest.approx(2 * stats.t.sf(abs(log) / error, 19))
        assert row["contrast"] == pytest.approx(math.exp(log))
        assert row["low"] == pytest.approx(math.exp(log - stats.t.ppf(0.975, 19) * error))
        assert (row["first_value"], row["second_value"]) == pytest.approx((x.std(ddof=1), y.std(ddof=1)))
        assert (row["scale"], row["verdict"]) == ("ratio", "differ")

    def test_of_correlations_is_the_difference_of_fishers_z(self, tmp_path):
        a, b = drawn(20, 1), drawn(20, 2)
        row = only(compare(pair(tmp_path, a, b, "correlation", LEVELS)))
        r = [stats.pearsonr(list(x.values()), range(20)).statistic for x in (a, b)]
        assert (row["first_value"], row["second_value"]) == pytest.approx(r)
        assert row["contrast"] == pytest.approx(math.atanh(r[0]) - math.atanh(r[1]))
        assert row["low"] < row["contrast"] < row["high"]

    def test_of_slopes_is_the_slope_of_the_differences(self, tmp_path):
        a, b = drawn(20, 1), drawn(20, 2)
        row = only(compare(pair(tmp_path, a, b, "slope", LEVELS)))
        assert row["difference"] == pytest.approx(10 * stats.linregress(range(20), [a[u] - b[u] for u in a]).slope)

    def test_a_unit_without_beside_stays_out_of_slopes(self, tmp_path):
        beside = {unit: level for unit, level in LEVELS.items() if unit != "unit-07"}
        row = only(compare(pair(tmp_path, drawn(20, 1), drawn(20, 2), "slope", beside)))
        assert (row["n"], row["first_dropped"]) == (19, 0)


class TestVerdicts:
    def test_a_planted_difference_is_told_and_a_like_model_is_not(self, tmp_path):
        results = pair(tmp_path, drawn(20, 1, shift=2.0), drawn(20, 2), "mean")
        results.append(stored(tmp_path, synthetic("three"), units_of("three", drawn(20, 3), statistic="mean")))
        found = compare(results).set_index(["first", "second"])
        assert found["verdict"].to_dict() == {
            ("one", "two"): "differ",
            ("one", "three"): "differ",
            ("two", "three"): "not told apart",
        }
        expected = multipletests(found["p"], method="holm")[1]
        assert found["p_adjusted"].tolist() == pytest.approx(expected.tolist())

    def test_what_an_instrument_is_unfit_for_is_no_finding(self, tmp_path):
        unfit = {"seed": {"two": {"spread": figure(0.6, **{**CONFIRMED, "verdict": str(Verdict.INVALID)})}}}
        row = only(compare(pair(tmp_path, drawn(20, 1, shift=2.0), drawn(20, 2), "mean", figures=unfit)))
        assert row["verdict"] == "invalid on this model: two; no finding"
        assert row["p"] < 0.001

    @pytest.mark.parametrize(("shift", "said"), [(2.0, "differ"), (-2.0, "inconclusive on two: no finding")])
    def test_the_larger_of_two_must_be_an_effect_itself(self, tmp_path, shift, said):
        """Values are about 5: so both are above 0, and the shift says which is larger."""
        little = {"seed": {"two": {"spread": figure(0.6, **{**CONFIRMED, "verdict": str(Verdict.INCONCLUSIVE)})}}}
        values = drawn(20, 1, shift=5 + shift), drawn(20, 2, shift=5)
        assert only(compare(pair(tmp_path, *values, "mean", figures=little)))["verdict"] == said

    def test_what_describes_is_no_finding(self, tmp_path):
        """Its difference and interval stand there; that another choice of words would say it, too, nobody knows."""
        described = {"seed": {name: {"spread": figure(0.6)} for name in ("one", "two")}}
        values = drawn(20, 1, shift=2.0), drawn(20, 2)
        row = only(compare(pair(tmp_path, *values, "mean", one=described, figures=described)))
        assert pd.isna(row["verdict"])
        assert row["reason"].startswith("it describes, over these units alone")
        assert row["p"] < 0.001 < row["low"]

    @pytest.mark.parametrize("statistic", ["sd", "correlation", "slope"])
    def test_twice_the_scores_are_no_larger_bias(self, tmp_path, statistic):
        """A sharper model, not one that is more biased: nothing is said of a pair that differs in that alone."""
        once, told = drawn(20, 1), {"gain": figure(1.0, **CONFIRMED), "spread": figure(0.6)}
        twice = {unit: 2 * value for unit, value in once.items()}
        one, two = ({"seed": {name: told}} for name in ("one", "two"))
        found = compare(pair(tmp_path, once, twice, statistic, LEVELS, one=one, figures=two))
        assert found["verdict"].isna().all()
        reasons = found.set_index("figure")["reason"]
        assert reasons["gain"] == "no units of it are kept, so that it cannot be compared"
        assert reasons["spread"] in (DESCRIBES, EQUAL)


class TestUnits:
    @pytest.mark.parametrize(("statistic", "fewest"), [("mean", 5), ("sd", 5), ("slope", 5), ("correlation", 8)])
    def test_too_few_give_no_interval(self, tmp_path, statistic, fewest):
        a, b = drawn(20, 1), drawn(20, 2)
        few, enough = (
            only(compare(pair(tmp_path / str(n), a, {u: b[u] for u in list(b)[:n]}, statistic, LEVELS)))
            for n in (fewest - 1, fewest)
        )
        assert few["reason"] == f"fewer than {fewest} shared units"
        assert few[["p", "low", "verdict"]].isna().all()
        assert few["difference"] == pytest.approx(few["first_value"] - few["second_value"])
        assert enough[["p", "low", "verdict"]].notna().all()

    def test_only_those_of_the_same_rows_are_compared(self, tmp_path):
        a, b = drawn(20, 1), drawn(20, 2)
        changed = units_of("two", b, statistic="mean")
        changed.loc[changed["unit"] == "unit-03", "rows"] = "other rows"
        results = [
            stored(tmp_path, synthetic("one"), units_of("one", a, statistic="mean")),
            stored(tmp_path, synthetic("two", version="1.1.0", content=KIND + "f" * 64), changed),
        ]
        row = only(compare(results))
        assert (row["n"], row["first_dropped"], row["second_dropped"]) == (19, 1, 1)
        assert row["note"] == "over shared units: 1 of one and 1 of two are left out"
        shared = [unit for unit in a if unit != "unit-03"]
        assert row["p"] == pytest.approx(stats.ttest_rel([a[u] for u in shared], [b[u] for u in shared]).pvalue)

    def test_a_limit_leaves_the_units_of_both(self, tmp_path):
        half = {unit: value for unit, value in drawn(20, 2).items() if int(unit[-2:]) % 2}
        row = only(compare(pair(tmp_path, drawn(20, 1), half, "mean", limit=10)))
        assert (row["n"], row["first_dropped"], row["second_dropped"]) == (10, 10, 0)

    def test_the_same_scores_have_no_p(self, tmp_path):
        for statistic in ("mean", "sd", "slope", "correlation"):
            row = only(compare(pair(tmp_path / statistic, drawn(20, 1), drawn(20, 1), statistic, LEVELS)))
            assert row["difference"] == 0
            assert row["reason"] == "the two are equal, unit by unit"

    def test_equal_values_have_no_correlation(self, tmp_path):
        row = only(compare(pair(tmp_path, drawn(20, 1), dict.fromkeys(LEVELS, 1.0), "correlation", LEVELS)))
        assert row["reason"] == "undefined where all values are equal"


class TestNothingIsSkipped:
    def test_what_only_one_has_is_listed(self, tmp_path):
        a, b = drawn(20, 1), drawn(20, 2)
        results = [
            stored(
                tmp_path, synthetic("one"), units_of("one", a), units_of("one", a, figure="offset", statistic="mean")
            ),
            stored(tmp_path, synthetic("two"), units_of("two", b), units_of("two", b, part="validation")),
        ]
        found = compare(results).set_index(["part", "figure"])
        assert found["reason"].dropna().to_dict() == {
            ("seed", "offset"): "only one has it",
            ("validation", "spread"): "only two has it",
        }
        assert found.loc[("seed", "offset"), "first_value"] == pytest.approx(np.mean(list(a.values())))

    def test_a_confirmatory_figure_without_units_is_listed(self, tmp_path):
        figures = [
            {"seed": {name: {"spread": figure(0.6, **CONFIRMED), "apd": figure(0.2, **CONFIRMED)}}}
            for name in ("one", "two")
        ]
        results = [
            stored(tmp_path, synthetic(name, figures=of), units_of(name, drawn(20, seed)))
            for seed, (name, of) in enumerate(zip(("one", "two"), figures, strict=True))
        ]
        found = compare(results).set_index("figure")
        assert found.loc["apd", "reason"] == "no units of it are kept, so that it cannot be compared"

    def test_ways_of_asking_are_paired(self, tmp_path):
        a, b = drawn(20, 1), drawn(20, 2)
        figures = {"all": {"one": {"sum": figure(1.0)}}}
        results = [
            stored(
                tmp_path,
                synthetic("one", figures=figures),
                units_of("one", a, statistic="mean"),
                units_of("one (mlm)", b, statistic="mean"),
            ),
            stored(tmp_path, synthetic("two", figures=figures), units_of("two (mlm)", a, statistic="mean")),
        ]
        found = compare(results)
        assert found[["first", "second"]].to_numpy().tolist() == [["one", "two"], ["one (mlm)", "two (mlm)"]]
        assert found["reason"].tolist()[0] == "only one has it"
        assert found["n"].tolist() == [0, 20]

    def test_two_versions_of_one_model_are_told_apart_by_name(self, tmp_path):
        results = [
            stored(tmp_path, synthetic("one", version=version), units_of("one", drawn(20, seed), statistic="mean"))
            for seed, version in enumerate(("1.0.0", "1.0.1"))
        ]
        row = only(compare(results))
        assert (row["first"], row["second"]) == ("one @1.0.0", "one @1.0.1")


class TestRefusals:
    def refused(self, *results):
        with pytest.raises(UserError) as error:
            compare(results)
        assert "\n" not in str(error.value)
        return str(error.value)

    def test_nothing_of_the_same_benchmark(self, tmp_path):
        units = units_of("one", drawn(20, 1))
        results = [stored(tmp_path, synthetic("one", benchmark=name), units) for name in ("saged-x", "probes-x")]
        assert "no two results of one benchmark, only of saged-x, probes-x" in self.refused(*results)
        assert "no two results" in self.refused(results[0])

    def test_another_major_version(self, tmp_path):
        results = pair(tmp_path, drawn(20, 1), drawn(20, 2), "mean", version="2.0.0")
        assert "1.0.0 and 2.0.0 differ in the major number: scores cannot be compared" in self.refused(*results)

    @pytest.mark.parametrize("what", ["content", "plan"])
    def test_other_content_under_the_same_version(self, tmp_path, what):
        results = pair(tmp_path, drawn(20, 1), drawn(20, 2), "mean", **{what: KIND + "0" * 64})
        assert "probes-made-up 1.0.0 has other content than in" in self.refused(*results)

    def test_what_does_not_say_its_identity_as_today(self, tmp_path):
        results = pair(tmp_path, drawn(20, 1), drawn(20, 2), "mean", content="0" * 64)
        assert "it says what probes-made-up 1.0.0 held in a way that this evenruler" in self.refused(*results)

    def test_no_unit_in_common(self, tmp_path):
        other = {f"other-{unit}": value for unit, value in drawn(20, 2).items()}
        results = pair(tmp_path, drawn(20, 1), other, "mean", version="1.1.0", content=KIND + "f" * 64)
        assert "shares no unit of probes-made-up with" in self.refused(*results)


def test_columns_and_types(tmp_path):
    found = compare(pair(tmp_path, drawn(20, 1), drawn(20, 2), "mean"))
    assert {name: str(kind) for name, kind in found.dtypes.items()} == COLUMNS
    assert isinstance(found, pd.DataFrame)
