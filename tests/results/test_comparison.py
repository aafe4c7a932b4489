import dataclasses
from types import SimpleNamespace

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.measurement.figures import UNKNOWN, Verdict
from evenruler.publish.manifest import KIND
from evenruler.results import comparison
from evenruler.results.comparison import DIFFER, compare
from evenruler.results.store import StoredResult
from tests.results.synthetic import (
    CONFIRMED,
    contrast_gains,
    figure_row,
    gain_of,
    stored,
    synthetic,
)


def only(frame):
    assert len(frame) == 1
    return frame.iloc[0]


def of_gain(tmp_path, name, slope, sharper=1.0, verdict_fields=CONFIRMED, **changes):
    """A result whose headline is a gain of probes, with what it is made of."""
    gain = figure_row(
        "gain",
        sharper * slope,
        name,
        **{**verdict_fields, "bound": 0.693},
    )
    result = synthetic(name, figures=[figure_row("alpha", 0.9, name), gain], **changes)
    return stored(tmp_path, result, gain_of(name, slope, sharper, "gain"))


def pair(tmp_path, **changes):
    """Two results, the second as it is said."""
    return [of_gain(tmp_path, "one", 3.0), of_gain(tmp_path, "two", 1.0, **changes)]


class TestHeadlines:
    """By `contrast_gains`: the mean over 12 attributes, signs randomised over them."""

    def test_a_model_that_is_more_biased_is_named(self, tmp_path):
        row = only(compare(pair(tmp_path)))
        assert (row["verdict"], row["says"]) == ("detected", "one: more than two")
        assert (row["first_value"], row["second_value"]) == (3.0, 1.0)
        assert row["difference"] == pytest.approx(2.0, abs=0.2)
        assert 0 < row["low"] < row["difference"] < row["high"]
        assert (row["n"], row["bound"]) == (12, 0.693)
        assert row["p"] == 2 / 2**12
        assert row["null"] == "which sentence of a pair is the first, randomised in 12 pairs"
        folder = tmp_path / "turned"
        turned = of_gain(folder, "one", 1.0), of_gain(folder, "two", 3.0)
        assert only(compare(turned))["says"] == "two: more than one"

    def test_what_differs_little_is_below_the_bound_that_both_controls_reach(self, tmp_path):
        alike = [of_gain(tmp_path, "one", 1.05), of_gain(tmp_path, "two", 1.0)]
        row = only(compare(alike))
        assert (row["verdict"], row["says"]) == (
            "detected, below",
            "one: more than two, below 0.693",
        )
        folder = tmp_path / "same"
        same = [of_gain(folder, "one", 1.0), of_gain(folder, "two", 1.0)]
        assert only(compare(same))["says"] == "below 0.693"

    @pytest.mark.parametrize(
        "changes",
        [
            {"positive_value": 0.6, "positive_low": 0.5, "positive_high": 0.7},
            {"positive_control": "kings and nuns"},
        ],
        ids=["one reads less than the bound", "they asked another"],
    )
    def test_without_a_control_of_both_nothing_is_below(self, tmp_path, changes):
        fields = {**CONFIRMED, **changes}
        same = [of_gain(tmp_path, "one", 1.0), of_gain(tmp_path, "two", 1.0, verdict_fields=fields)]
        assert only(compare(same))["says"] == "inconclusive"

    def test_each_is_judged_by_itself(self, tmp_path):
        """Section 12, test 22: other headlines of the pair, and other results, change nothing."""
        alone = only(compare(pair(tmp_path)))
        results = []
        for name, slope in (("one", 3.0), ("two", 1.0), ("three", 2.0)):
            gain = figure_row("gain", slope, name, **{**CONFIRMED, "bound": 0.693})
            result = synthetic(name, figures=[gain, {**gain, "set": "other"}])
            alike = gain_of(name, figure="gain").assign(set="other")
            made_of = (gain_of(name, slope, figure="gain"), alike)
            results.append(stored(tmp_path / "all", result, *made_of))
        comparisons = compare(results)
        assert len(comparisons) == 6
        row = only(comparisons.query("set == 'seed' and first == 'one' and second == 'two'"))
        assert row["p"] == alone["p"]
        assert row["says"] == alone["says"]

    @pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.DESCRIPTIVE])
    def test_what_is_not_judged_is_compared_with_nothing(self, tmp_path, verdict):
        why = f"{UNKNOWN}: nobody has seen it."
        barred = {**CONFIRMED, "verdict": str(verdict), "why": why}
        row = only(compare(pair(tmp_path, verdict_fields=barred)))
        assert (row["verdict"], row["reason"]) == (verdict, why)
        assert row["says"] == f"{verdict}: two"
        assert pd.isna(row["difference"])

    def test_a_difference_of_spreads_names_no_larger_side(self, tmp_path, monkeypatch):
        def contrast(first, second, bound):
            test = contrast_gains(first, second, bound)
            return dataclasses.replace(test, has_direction=False, note="Of two concepts.")

        monkeypatch.setattr(
            comparison, "family_module", lambda name, room: SimpleNamespace(contrast=contrast)
        )
        row = only(compare(pair(tmp_path)))
        assert (row["verdict"], row["says"]) == ("detected", DIFFER)
        assert row["reason"].endswith("Of two concepts.")

    def test_what_has_no_verdict_is_not_compared(self, tmp_path):
        described = [
            stored(tmp_path, synthetic(name, figures=[figure_row("alpha", 0.9, name)]))
            for name in ("one", "two")
        ]
        assert compare(described).empty

    def test_of_two_versions_only_units_of_the_same_rows_count(self, tmp_path):
        """Also of two major ones."""
        first, other = pair(tmp_path, version="2.0.0", content=KIND + "f" * 64)
        made_of = other.result.headlines
        made_of.loc[made_of["unit"] == "unit-03", "rows"] = "other rows"
        row = only(compare([first, other]))
        assert row["n"] == 11
        assert row["note"] == "over shared units: 1 of one and 1 of two are left out"
        made_of["rows"] = "other rows"
        row = only(compare([first, other]))
        why = "no unit of the same rows was asked of both; take one version, --size and --limit"
        assert (row["says"], row["reason"]) == ("inconclusive", why)

    def test_methods_of_asking_are_paired(self, tmp_path):
        results = []
        for name, methods in (("one", ("head", "mlm")), ("two", ("mlm",))):
            gain = figure_row("gain", 1.0, name, **CONFIRMED)
            figures = [{**gain, "method": method} for method in methods]
            made_of = [gain_of(name, figure="gain").assign(method=method) for method in methods]
            result = synthetic(name, figures=figures).with_tables(pd.concat(made_of), {})
            results.append(StoredResult(result, tmp_path))
        comparisons = compare(results)
        assert comparisons["method"].tolist() == ["head", "mlm"]
        assert comparisons["n"].tolist() == [0, 12]

    def test_two_versions_of_one_model_are_told_apart_by_name(self, tmp_path):
        results = [of_gain(tmp_path, "one", 1.0, version=version) for version in ("1.0.0", "1.0.1")]
        row = only(compare(results))
        assert (row["first"], row["second"]) == ("one @1.0.0", "one @1.0.1")


class TestRefusals:
    def refused(self, *results):
        with pytest.raises(UserError) as error:
            compare(results)
        assert "\n" not in str(error.value)
        return str(error.value)

    def test_nothing_of_the_same_benchmark(self, tmp_path):
        results = [
            stored(tmp_path, synthetic("one", benchmark=name)) for name in ("saged-x", "probes-x")
        ]
        assert "no two results of one benchmark, only of saged-x, probes-x" in self.refused(
            *results
        )
        assert "no two results" in self.refused(results[0])

    @pytest.mark.parametrize("what", ["content", "plan"])
    def test_other_content_under_the_same_version(self, tmp_path, what):
        results = pair(tmp_path, **{what: KIND + "0" * 64})
        assert "probes-made-up 1.0.0 has other content than in" in self.refused(*results)

    def test_what_does_not_say_its_identity_as_today(self, tmp_path):
        results = pair(tmp_path, content="0" * 64)
        assert (
            "it says what probes-made-up 1.0.0 held in a way that this evenruler"
            in self.refused(*results)
        )
