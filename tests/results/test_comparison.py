import dataclasses

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.measurement.figures import UNTOLD, Verdict
from evenruler.publish.manifest import KIND
from evenruler.results.comparison import compare
from evenruler.results.store import StoredResult
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic


def only(frame):
    assert len(frame) == 1
    return frame.iloc[0]


def of_gain(tmp_path, name, slope, sharper=1.0, verdict_fields=CONFIRMED, **changes):
    """A result whose headline is a gain of probes, with what it is made of."""
    gain = figure_row(
        "gain",
        sharper * slope,
        name,
        **{**verdict_fields, "smallest": 0.693},
    )
    result = synthetic(name, figures=[figure_row("alpha", 0.9, name), gain], **changes)
    return stored(tmp_path, result, gain_of(name, slope, sharper, "gain"))


def pair(tmp_path, **changes):
    """Two results, the second as it is said."""
    return [of_gain(tmp_path, "one", 3.0), of_gain(tmp_path, "two", 1.0, **changes)]


class TestHeadlines:
    """The family's own `contrast`, of made-up probes."""

    def test_a_model_that_is_more_biased_is_named(self, tmp_path):
        row = only(compare(pair(tmp_path)))
        assert row["verdict"] == "one: more than two"
        assert (row["first_value"], row["second_value"]) == (3.0, 1.0)
        assert row["difference"] == pytest.approx(2.0, abs=0.2)
        assert row["specific_low"] < row["difference"] < row["specific_high"]
        assert (row["n"], row["smallest"]) == (12, 0.693)
        assert row["p"] < 0.05
        folder = tmp_path / "turned"
        turned = of_gain(folder, "one", 1.0), of_gain(folder, "two", 3.0)
        assert only(compare(turned))["verdict"] == "two: more than one"

    def test_one_that_says_the_same_twice_as_sharply_says_no_more(self, tmp_path):
        row = only(
            compare([of_gain(tmp_path, "one", 1.0, sharper=2.0), of_gain(tmp_path, "two", 1.0)])
        )
        assert row["verdict"] == "same within 0.693"
        assert row["difference"] == pytest.approx(0, abs=0.05)

    def test_several_are_corrected_together_by_holm(self, tmp_path):
        """A second set in which the models are alike makes p of the first twice as large."""
        results = []
        for name, slope in (("one", 3.0), ("two", 1.0)):
            gain = figure_row("gain", slope, name, **{**CONFIRMED, "smallest": 0.693})
            result = synthetic(name, figures=[gain, {**gain, "set": "other"}])
            alike = gain_of(name, figure="gain").assign(set="other")
            made_of = (gain_of(name, slope, figure="gain"), alike)
            results.append(stored(tmp_path / "both", result, *made_of))
        comparisons = compare(results).set_index("set")
        alone = only(compare(pair(tmp_path)))
        assert comparisons.loc["seed", "p"] == pytest.approx(2 * alone["p"])

    def test_what_an_instrument_is_unfit_for_is_no_finding(self, tmp_path):
        unfit = {**CONFIRMED, "verdict": str(Verdict.INVALID), "why": "It fails a bar."}
        row = only(compare(pair(tmp_path, verdict_fields=unfit)))
        assert (row["verdict"], row["reason"]) == ("invalid on this model: two", "It fails a bar.")
        assert pd.isna(row["difference"])

    def test_what_is_in_doubt_is_not_asserted_of_two(self, tmp_path):
        why = f"No verdict is possible: 3 items, of at least 6. {UNTOLD}: nobody has seen it."
        doubted = {**CONFIRMED, "verdict": str(Verdict.INCONCLUSIVE), "why": why}
        row = only(compare(pair(tmp_path, verdict_fields=doubted)))
        assert (row["verdict"], row["reason"]) == ("inconclusive", f"two: {why}")

    def test_without_placebos_it_stays_open(self, tmp_path):
        first, other = pair(tmp_path)
        other = dataclasses.replace(
            other, result=other.result.with_tables(other.result.headlines.query("pole != 0"), {})
        )
        row = only(compare([first, other]))
        assert (row["verdict"], row["reason"]) == (
            "inconclusive",
            "no placebo of it was asked of both; a trial may ask none",
        )

    def test_what_has_no_verdict_is_not_compared(self, tmp_path):
        described = [
            stored(tmp_path, synthetic(name, figures=[figure_row("alpha", 0.9, name)]))
            for name in ("one", "two")
        ]
        assert compare(described).empty

    def test_of_two_versions_only_units_of_the_same_rows_count(self, tmp_path):
        """Also of two major ones."""
        first, other = pair(tmp_path, version="2.0.0", content=KIND + "f" * 64)
        assert only(compare([first, other]))["n"] == 12
        other.result.headlines.loc[other.result.headlines["unit"] == "unit-03", "rows"] = (
            "other rows"
        )
        row = only(compare([first, other]))
        assert (row["n"], row["note"]) == (
            11,
            "over shared units: 1 of one and 1 of two are left out",
        )
        other.result.headlines["rows"] = "other rows"
        row = only(compare([first, other]))
        why = "no unit of the same rows was asked of both; take one version, --size and --limit"
        assert (row["verdict"], row["reason"]) == ("inconclusive", why)

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
