import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.errors import UserError
from evenruler.measurement.verdicts import Verdict
from evenruler.publish.manifest import KIND
from evenruler.results.comparison import COLUMNS, DESCRIBES, compare
from tests.results.synthetic import CONFIRMED, drawn, figure, gain_of, stored, synthetic, units_of

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
        assert row["contrast"] == pytest.approx(math.exp(log))
        assert row["low"] == pytest.approx(math.exp(log - stats.t.ppf(0.975, 19) * error))
        assert (row["first_value"], row["second_value"]) == pytest.approx((x.std(ddof=1), y.std(ddof=1)))
        assert row["scale"] == "ratio"

    def test_of_correlations_is_the_difference_of_fishers_z(self, tmp_path):
        a, b = drawn(20, 1), drawn(20, 2)
        row = only(compare(pair(tmp_path, a, b, "correlation", LEVELS)))
        r = [stats.pearsonr(list(x.values()), range(20)).statistic for x in (a, b)]
        assert (row["first_value"], row["second_value"]) == pytest.approx(r)
        assert row["contrast"] == pytest.approx(math.atanh(r[0]) - math.atanh(r[1]))
        assert row["low"] < row["contrast"] < row["high"]

    def test_they_describe_and_have_no_verdict(self, tmp_path):
        """That another choice of words would say it, too, nobody knows."""
        row = only(compare(pair(tmp_path, drawn(20, 1, shift=2.0), drawn(20, 2), "mean")))
        assert row[["verdict", "p"]].isna().all()
        assert row["reason"] == DESCRIBES
        assert row["low"] > 0


def of_gain(tmp_path, name, slope, sharper=1.0, told=CONFIRMED, **changes):
    """A result whose headline is a gain of probes, with what it is made of."""
    figures = {"seed": {name: {"gain": figure(sharper * slope, **{**told, "smallest": 0.693})}}}
    units = units_of(name, drawn(12, 1))
    return stored(tmp_path, synthetic(name, figures=figures, **changes), units, headlines=gain_of(name, slope, sharper))


def headline(results):
    return only(compare(results).query("figure == 'gain'"))


class TestHeadlines:
    """The family's own `contrast`, of made-up probes."""

    def test_a_model_that_is_more_biased_is_named(self, tmp_path):
        row = headline([of_gain(tmp_path, "one", 3.0), of_gain(tmp_path, "two", 1.0)])
        assert row["verdict"] == "one: more than two"
        assert (row["first_value"], row["second_value"]) == (3.0, 1.0)
        assert row["difference"] == pytest.approx(2.0, abs=0.2)
        assert row["low"] < row["difference"] < row["high"]
        assert (row["n"], row["smallest"]) == (12, 0.693)
        assert row["p"] < 0.05

    def test_whichever_stands_first(self, tmp_path):
        row = headline([of_gain(tmp_path, "one", 1.0), of_gain(tmp_path, "two", 3.0)])
        assert row["verdict"] == "two: more than one"

    def test_one_that_says_the_same_twice_as_sharply_says_no_more(self, tmp_path):
        row = headline([of_gain(tmp_path, "one", 1.0, sharper=2.0), of_gain(tmp_path, "two", 1.0)])
        assert row["verdict"] == "same within 0.693"
        assert row["difference"] == pytest.approx(0, abs=0.05)

    def test_several_are_corrected_together_by_holm(self, tmp_path):
        """A second set in which the models are alike makes p of the first twice as large."""
        results = []
        for name, slope in (("one", 3.0), ("two", 1.0)):
            own = {"gain": figure(slope, **{**CONFIRMED, "smallest": 0.693})}
            made_of = pd.concat([gain_of(name, slope), gain_of(name, 1.0).assign(part="other")])
            result = synthetic(name, figures={"seed": {name: own}, "other": {name: own}})
            results.append(stored(tmp_path / "both", result, units_of(name, drawn(12, 1)), headlines=made_of))
        alone = headline([of_gain(tmp_path, "one", 3.0), of_gain(tmp_path, "two", 1.0)])
        found = compare(results).query("figure == 'gain'").set_index("part")
        assert found.loc["seed", "p"] == pytest.approx(2 * alone["p"])

    def test_what_an_instrument_is_unfit_for_is_no_finding(self, tmp_path):
        unfit = {**CONFIRMED, "verdict": str(Verdict.INVALID), "why": "It fails a bar."}
        row = headline([of_gain(tmp_path, "one", 3.0), of_gain(tmp_path, "two", 1.0, told=unfit)])
        assert (row["verdict"], row["reason"]) == ("invalid on this model: two", "It fails a bar.")
        assert pd.isna(row["difference"])

    def test_without_what_it_is_made_of_it_stays_open(self, tmp_path):
        figures = [{"seed": {name: {"gain": figure(1.0, **CONFIRMED)}}} for name in ("one", "two")]
        results = pair(tmp_path, drawn(20, 1), drawn(20, 2), "mean", one=figures[0], figures=figures[1])
        row = headline(results)
        assert (row["verdict"], row["reason"]) == ("inconclusive", "nothing that it is made of is kept of both")

    def test_what_only_one_has_stays_open(self, tmp_path):
        without = stored(tmp_path, synthetic("two", figures={}), units_of("two", drawn(12, 1)))
        row = headline([of_gain(tmp_path, "one", 3.0), without])
        assert (row["verdict"], row["reason"]) == ("inconclusive", "only one has it")

    def test_of_two_versions_only_units_of_the_same_rows_count(self, tmp_path):
        other = of_gain(tmp_path, "two", 1.0, version="2.0.0", content=KIND + "f" * 64)
        results = [of_gain(tmp_path, "one", 3.0), other]
        assert headline(results)["n"] == 12
        results[1].units.loc[results[1].units["unit"] == "unit-03", "rows"] = "other rows"
        assert headline(results)["n"] == 11


class TestUnits:
    @pytest.mark.parametrize(("statistic", "fewest"), [("mean", 5), ("sd", 5), ("correlation", 8)])
    def test_too_few_give_no_interval(self, tmp_path, statistic, fewest):
        a, b = drawn(20, 1), drawn(20, 2)
        few, enough = (
            only(compare(pair(tmp_path / str(n), a, {u: b[u] for u in list(b)[:n]}, statistic, LEVELS)))
            for n in (fewest - 1, fewest)
        )
        assert few["reason"] == f"fewer than {fewest} shared units"
        assert few[["low", "high"]].isna().all()
        assert few["difference"] == pytest.approx(few["first_value"] - few["second_value"])
        assert enough[["low", "high"]].notna().all()

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
        test = stats.ttest_rel([a[u] for u in shared], [b[u] for u in shared]).confidence_interval(0.95)
        assert row["low"] == pytest.approx(test.low)

    def test_a_limit_leaves_the_units_of_both(self, tmp_path):
        half = {unit: value for unit, value in drawn(20, 2).items() if int(unit[-2:]) % 2}
        row = only(compare(pair(tmp_path, drawn(20, 1), half, "mean", limit=10)))
        assert (row["n"], row["first_dropped"], row["second_dropped"]) == (10, 10, 0)

    def test_the_same_scores_have_no_interval(self, tmp_path):
        for statistic in ("mean", "sd", "correlation"):
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
        assert found["reason"].to_dict() == {
            ("seed", "offset"): "only one has it",
            ("seed", "spread"): DESCRIBES,
            ("validation", "spread"): "only two has it",
        }
        assert found.loc[("seed", "offset"), "first_value"] == pytest.approx(np.mean(list(a.values())))

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
