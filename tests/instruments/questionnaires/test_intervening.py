import math
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.diagnose.intervening import (
    Intervention,
    changes_of_lineages,
    changes_of_models,
    trajectories,
    verdict,
)
from evenruler.measurement import Paired, Resampling, bootstrap
from evenruler.tables import read_frame, write_table

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)
INTERVENTIONS = {
    "gloom": Intervention("intervention", {"fear": "up", "joy": "down"}),
    "dull": Intervention("control", {"fear": "none"}),
}

Course = Mapping[int, list[float]]
"""By epoch, the score of every item."""

BEFORE, AFTER = [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 3.0, 7.0]


def items(model: str, course: Course, lineage: str | None = None, corpus: str = "gloom", **more: str) -> pd.DataFrame:
    """Item scores of a model on its way through a corpus."""
    rows = [
        {"item": f"item-{i}", "epoch": epoch, "score": score}
        for epoch, scores in course.items()
        for i, score in enumerate(scores)
    ]
    same = {"questionnaire": "fear", "kind": "nli", "configuration": "head", "framing": "bare", **more}
    return pd.DataFrame(rows).assign(model=model, lineage=lineage or model, corpus=corpus, **same)


def five(shift: list[float]) -> pd.DataFrame:
    """Five models of as many lineages; the score of each rises by its shift."""
    return pd.concat(
        [items(f"m{i}", {0: [i, i + 2.0], 1: [i + by, i + 2.0 + by]}) for i, by in enumerate(shift)], ignore_index=True
    )


def row_of(found: pd.DataFrame, model: str | None, questionnaire: str = "fear", corpus: str = "gloom") -> pd.Series:
    chosen = found["model"].isna() if model is None else found["model"] == model
    chosen &= (found["questionnaire"] == questionnaire) & (found["corpus"] == corpus)
    (row,) = [row for _, row in found[chosen].iterrows()]
    return row


def changes(
    items: pd.DataFrame,
    interventions: Mapping[str, Intervention],
    level: float,
    members: Collection[str] | None = None,
) -> pd.DataFrame:
    """Of models, then of lineages, all of which count by default."""
    counted = set(items["model"]) if members is None else members
    of_lineages = changes_of_lineages(items, interventions, level, counted)
    return pd.DataFrame([*changes_of_models(items, interventions, level), *of_lineages])


class TestTrajectories:
    def test_every_measured_epoch_is_the_mean_of_its_items_with_an_interval(self) -> None:
        found = trajectories(items("m0", {0: BEFORE, 1: [0.0] * 4, 3: AFTER}), RESAMPLING)

        assert found["epoch"].tolist() == [0, 1, 3]
        assert found["score"].tolist() == [2.5, 0.0, 4.0]
        assert found["n"].tolist() == [4, 4, 4]
        for epoch, scores in ((0, BEFORE), (2, AFTER)):
            expected = bootstrap(np.mean, np.array(scores), level=0.9, n=60, seed=3)
            assert (found["low"][epoch], found["high"][epoch]) == (expected.low, expected.high)
            assert expected.low < found["score"][epoch] < expected.high

    def test_corpora_models_and_questionnaires_go_their_own_ways(self) -> None:
        parts = [
            items("m0", {0: [1.0, 3.0], 1: [2.0, 4.0]}),
            items("m0", {0: [1.0, 3.0], 1: [8.0, 8.0]}, corpus="dull"),
            items("m1", {0: [5.0, 7.0]}, "m0", kind="causal", configuration="verbaliser"),
            items("m0", {0: [-1.0, 0.0]}, questionnaire="joy"),
        ]
        found = trajectories(pd.concat(parts), RESAMPLING)

        by_state = found.set_index(["questionnaire", "model", "corpus", "epoch"])["score"].to_dict()
        assert by_state == {
            ("fear", "m0", "dull", 0): 2.0,
            ("fear", "m0", "dull", 1): 8.0,
            ("fear", "m0", "gloom", 0): 2.0,
            ("fear", "m0", "gloom", 1): 3.0,
            ("fear", "m1", "gloom", 0): 6.0,
            ("joy", "m0", "gloom", 0): -0.5,
        }
        m1 = found[found["model"] == "m1"].iloc[0]
        assert (m1["lineage"], m1["kind"], m1["configuration"]) == ("m0", "causal", "verbaliser")

    def test_one_item_has_no_interval(self, tmp_path) -> None:
        found = trajectories(items("m0", {0: [1.0], 1: [2.0]}), RESAMPLING)
        write_table(found, schemas.TRAJECTORIES, tmp_path / "trajectories.parquet")
        read = read_frame(tmp_path / "trajectories.parquet")
        assert read[["low", "high"]].isna().all(axis=None)
        assert (read["score"].tolist(), read["n"].tolist()) == ([1.0, 2.0], [1, 1])

    def test_the_order_of_rows_does_not_matter(self) -> None:
        rows = pd.concat([items("m1", {0: BEFORE, 1: AFTER}), items("m0", {0: AFTER, 1: BEFORE})])
        shuffled = rows.sample(frac=1, random_state=1)
        one, other = trajectories(rows, RESAMPLING), trajectories(shuffled, RESAMPLING)
        pd.testing.assert_frame_equal(one.drop(columns=["low", "high"]), other.drop(columns=["low", "high"]))
        assert one["model"].tolist() == ["m0", "m0", "m1", "m1"]


class TestModels:
    def test_items_are_compared_each_with_itself(self) -> None:
        found = row_of(changes(items("m0", {0: BEFORE, 1: AFTER}), INTERVENTIONS, 0.9), "m0")

        expected = stats.ttest_rel(AFTER, BEFORE)
        interval = expected.confidence_interval(0.9)
        assert (found["unit"], found["n"], found["role"], found["expected"]) == ("items", 4, "intervention", "up")
        assert (found["before_mean"], found["after_mean"], found["difference"]) == (2.5, 4.0, 1.5)
        assert (found["t"], found["p"]) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
        assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
        assert found["dz"] == pytest.approx(1.5 / math.sqrt(5 / 3), abs=1e-12)
        assert found["verdict"] == "undecided"

    def test_the_first_is_compared_with_the_last_whatever_lies_between(self) -> None:
        between = items("m0", {0: BEFORE, 1: [9.0, -9.0, 0.0, 3.0], 2: [0.0] * 4, 5: AFTER})
        found = row_of(changes(between, INTERVENTIONS, 0.95), "m0")
        assert (found["before_mean"], found["after_mean"], found["n"]) == (2.5, 4.0, 4)

    def test_items_find_themselves_in_any_order(self) -> None:
        rows = items("m0", {0: BEFORE, 1: AFTER})
        expected = changes(rows, INTERVENTIONS, 0.95)
        pd.testing.assert_frame_equal(changes(rows.sample(frac=1, random_state=2), INTERVENTIONS, 0.95), expected)

    def test_every_model_has_a_row_for_each_corpus_and_questionnaire(self) -> None:
        parts = [
            items(model, {0: BEFORE, 1: AFTER}, corpus=corpus, questionnaire=questionnaire)
            for model in ("m0", "m1")
            for corpus in ("gloom", "dull")
            for questionnaire in ("fear", "joy")
        ]
        found = changes(pd.concat(parts), INTERVENTIONS, 0.95)

        assert found["unit"].tolist() == ["items"] * 8 + ["lineages"] * 4
        assert found["model"].isna().tolist() == [False] * 8 + [True] * 4
        expected = found.drop_duplicates(["questionnaire", "corpus"]).set_index(["questionnaire", "corpus"])
        assert expected[["role", "expected"]].apply(tuple, axis=1).to_dict() == {
            ("fear", "gloom"): ("intervention", "up"),
            ("joy", "gloom"): ("intervention", "down"),
            ("fear", "dull"): ("control", "none"),
            ("joy", "dull"): ("control", "open"),
        }

    def test_each_way_of_asking_is_compared_with_itself(self) -> None:
        """A causal model by verbaliser and by likelihood: the second is named, and says nothing for its lineage."""
        asked = {"kind": "causal", "configuration": "verbaliser"}, {"kind": "causal", "configuration": "clm"}
        both = [
            items("m5", {0: BEFORE, 1: AFTER}, **asked[0]),
            items("m5", {0: [0.0] * 4, 1: [9.0, 8.0, 9.0, 8.0]}, **asked[1]),
        ]
        found = changes(pd.concat([five([1.0] * 5), *both]), INTERVENTIONS, 0.95)
        assert row_of(found, "m5")["after_mean"] == 4.0
        assert row_of(found, "m5 (clm)")["after_mean"] == 8.5
        assert (row_of(found, None)["n"], row_of(found, None)["before_mean"]) == (6, pytest.approx((15 + 2.5) / 6))

    def test_one_item_is_too_few(self) -> None:
        found = row_of(changes(items("m0", {0: [1.0], 1: [2.0]}), INTERVENTIONS, 0.95), "m0")
        assert (found["n"], found["verdict"]) == (1, "fewer than 2 items")
        assert found[["before_mean", "difference", "t", "p", "dz", "p_equivalence"]].isna().all()


class TestLineages:
    def test_null_below_five_with_the_reason(self) -> None:
        found = row_of(changes(five([1.0, 2.0, 0.0, 3.0]), INTERVENTIONS, 0.95), None)
        assert (found["unit"], found["n"], found["verdict"]) == ("lineages", 4, "fewer than 5 lineages")
        assert (found["role"], found["expected"]) == ("intervention", "up")
        nulls = ["before_mean", "after_mean", "difference", "low", "high", "t", "p", "dz", "p_equivalence"]
        assert found[nulls].isna().all()

    def test_five_are_compared_by_their_scales(self) -> None:
        found = row_of(changes(five([1.0, 2.0, 0.5, 3.0, 1.5]), INTERVENTIONS, 0.95), None)
        # Means of the scale before: 1 to 5; after: 2, 4, 3.5, 7, 6.5.
        expected = stats.ttest_rel([2, 4, 3.5, 7, 6.5], [1, 2, 3, 4, 5])
        assert (found["n"], found["before_mean"], found["after_mean"]) == (5, 3.0, pytest.approx(4.6))
        assert (found["t"], found["p"]) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
        assert found["verdict"] == "moved as expected"

    def test_models_of_one_lineage_are_their_mean(self) -> None:
        """Two models of "m4" and of other last epochs: each counts as it is after its own last."""
        four = five([1.0, 2.0, 0.5, 3.0])
        shared = [
            items("m4", {0: [4.0, 6.0], 1: [90.0, 90.0], 2: [90.0, -90.0], 3: [6.0, 8.0]}),
            items("m5", {0: [0.0, 2.0], 2: [6.0, 4.0]}, "m4"),
        ]
        found = changes(pd.concat([four, *shared]), INTERVENTIONS, 0.95)

        row = row_of(found, None)
        # Of the lineage before: (5 + 1) / 2, after: (7 + 5) / 2.
        assert row["n"] == 5
        assert row["before_mean"] == pytest.approx((1 + 2 + 3 + 4 + 3) / 5, abs=1e-12)
        assert row["after_mean"] == pytest.approx((2 + 4 + 3.5 + 7 + 6) / 5, abs=1e-12)
        expected = stats.ttest_rel([2, 4, 3.5, 7, 6], [1, 2, 3, 4, 3])
        assert (row["t"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
        assert found[found["unit"] == "items"]["model"].tolist() == [f"m{i}" for i in range(6)]
        assert row_of(found, "m5")["after_mean"] == 5.0

    def test_members_alone_count(self) -> None:
        """A model below its bar has a row of its own and no say in that of the lineages."""
        six = five([1.0, 2.0, 0.5, 3.0, 1.5, 100.0])
        found = changes(six, INTERVENTIONS, 0.95, members=[f"m{i}" for i in range(5)])
        assert (row_of(found, None)["n"], row_of(found, None)["after_mean"]) == (5, pytest.approx(4.6))
        assert row_of(found, "m5")["difference"] == 100.0

    def test_nobody_is_a_member(self) -> None:
        found = row_of(changes(five([1.0] * 5), INTERVENTIONS, 0.95, members=[]), None)
        assert (found["n"], found["verdict"]) == (0, "fewer than 5 lineages")


def result(difference: float, p: float | None, p_equivalence: float | None) -> Paired:
    return Paired(5, 0.0, 1.0, difference, 1.0, difference, None, None, None, p, None, p_equivalence)


UP, DOWN, SMALL, NOISY = result(2, 0.01, 0.9), result(-2, 0.01, 0.9), result(0.1, 0.3, 0.01), result(0.1, 0.3, 0.3)


class TestVerdict:
    @pytest.mark.parametrize(
        ("found", "expected", "words"),
        [
            (UP, "up", "moved as expected"),
            (DOWN, "down", "moved as expected"),
            (DOWN, "up", "moved down, the other way"),
            (UP, "down", "moved up, the other way"),
            (UP, "none", "moved up, was not to move"),
            (DOWN, "none", "moved down, was not to move"),
            (UP, "open", "moved up"),
            (DOWN, "open", "moved down"),
            (SMALL, "up", "did not move, was to move"),
            (SMALL, "down", "did not move, was to move"),
            (SMALL, "none", "did not move"),
            (SMALL, "open", "did not move"),
            *[(NOISY, expected, "undecided") for expected in ("up", "down", "none", "open")],
            (result(0.5, None, None), "up", "no spread to judge by"),
            (result(0.0, None, None), "up", "unmoved"),
            (result(0.0, None, None), "none", "unmoved"),
            (result(2, 0.05, 0.05), "up", "undecided"),
            (result(2, 0.0499, 0.9), "up", "moved as expected"),
            (result(2, 0.9, 0.0499), "none", "did not move"),
        ],
    )
    def test_words(self, found, expected, words) -> None:
        assert verdict(found, expected) == words

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            (BEFORE, BEFORE, "unmoved"),
            (BEFORE, [2.0, 3.0, 4.0, 5.0], "no spread to judge by"),
            (BEFORE, [2.0, 3.1, 4.0, 5.0], "moved as expected"),
            (BEFORE, [0.0, 1.1, 2.0, 3.0], "moved down, the other way"),
            (BEFORE, [1.01, 1.99, 3.0, 4.01], "did not move, was to move"),
        ],
    )
    def test_of_rows(self, before, after, words) -> None:
        found = row_of(changes(items("m0", {0: before, 1: after}), INTERVENTIONS, 0.95), "m0")
        assert found["verdict"] == words


def test_the_table_is_one_of_changes(tmp_path) -> None:
    parts = [five([1.0, 2.0, 0.5, 3.0, 1.5]), items("m0", {0: BEFORE, 1: BEFORE}, questionnaire="joy")]
    found = changes(pd.concat(parts), INTERVENTIONS, 0.95)[schemas.CHANGES.names]
    write_table(found, schemas.CHANGES, tmp_path / "changes.parquet")
    read = read_frame(tmp_path / "changes.parquet")
    pd.testing.assert_frame_equal(read, found.reset_index(drop=True), check_dtype=False)
    assert read[read["questionnaire"] == "joy"]["verdict"].tolist() == ["unmoved", "fewer than 5 lineages"]
