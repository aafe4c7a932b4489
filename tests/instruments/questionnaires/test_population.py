import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from evenruler.instruments.questionnaires.diagnose.population import normal_scores, scale_scores, standardised


class TestStandardised:
    def test_by_hand(self) -> None:
        # Mean 4, SD sqrt((9 + 1 + 16) / 2) = sqrt(13).
        assert standardised(np.array([1.0, 3.0, 8.0])) == pytest.approx(np.array([-3, -1, 4]) / np.sqrt(13), abs=1e-15)

    @pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0], [2.0, 2.0, 2.0]])
    def test_nan_below_three_or_where_all_are_equal(self, scores) -> None:
        assert np.isnan(standardised(np.array(scores))).tolist() == [True] * len(scores)

    def test_nan_where_equal_scores_have_a_mean_that_is_rounded(self) -> None:
        assert np.isnan(standardised(np.array([0.1, 0.1, 0.1]))).all()


class TestNormalScores:
    def test_by_hand(self) -> None:
        # Ranks 3, 1, 2: (3 - .375) / 3.25 = .8077, whose quantile is .8694.
        assert normal_scores(np.array([9.0, -1.0, 0.0])) == pytest.approx([0.8694238, -0.8694238, 0.0], abs=1e-6)

    def test_ties_share_a_rank(self) -> None:
        # Ranks 1.5, 4, 1.5, 3: (1.5 - .375) / 4.25 and so on.
        expected = norm.ppf([1.125 / 4.25, 3.625 / 4.25, 1.125 / 4.25, 2.625 / 4.25])
        assert normal_scores(np.array([1.0, 7.0, 1.0, 2.0])) == pytest.approx(expected, abs=1e-15)

    def test_only_ranks_count(self) -> None:
        scores = np.array([0.3, -2.0, 5.0, 0.0])
        assert normal_scores(np.exp(scores)).tolist() == normal_scores(scores).tolist()

    def test_nan_below_three(self) -> None:
        assert np.isnan(normal_scores(np.array([1.0, 2.0]))).tolist() == [True, True]


def items(scores: dict[str, list[float]], configuration: str = "head") -> pd.DataFrame:
    """Item scores of a questionnaire of three items, of which the first two are a subscale."""
    rows = [
        {"model": model, "lineage": model, "item": f"item-{i}", "subscale": "body" if i < 2 else None, "score": score}
        for model, of_model in scores.items()
        for i, score in enumerate(of_model)
    ]
    same = {"questionnaire": "fear", "kind": "nli", "configuration": configuration, "framing": "bare"}
    return pd.DataFrame(rows).assign(**same)


SCORES = {"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, -7.0], "c": [0.0, 0.0, 3.0]}


class TestScaleScores:
    def test_means_of_scale_and_subscale(self) -> None:
        found = scale_scores(items(SCORES)).set_index(["model", "subscale"])

        assert found["score"].to_dict() == {
            ("a", "all"): 2.0,
            ("a", "body"): 1.5,
            ("b", "all"): 0.0,
            ("b", "body"): 3.5,
            ("c", "all"): 1.0,
            ("c", "body"): 0.0,
        }
        assert found["n"].to_dict() == {key: 3 if key[1] == "all" else 2 for key in found.index}

    def test_each_has_its_own_place_in_the_population(self) -> None:
        found = scale_scores(items(SCORES)).set_index(["subscale", "model"])

        assert found.loc["all", "z"].tolist() == [1.0, -1.0, 0.0]
        # 1.5, 3.5 and 0: mean 5/3, SD sqrt((1/36 + 121/36 + 100/36) / 2).
        expected = np.array([-1 / 6, 11 / 6, -10 / 6]) / np.sqrt(222 / 72)
        assert found.loc["body", "z"].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
        assert found.loc["body", "normal"].tolist() == pytest.approx([0, 0.8694238, -0.8694238], abs=1e-6)

    def test_configurations_are_populations_of_their_own(self) -> None:
        few = items({"d": [90.0, 90.0, 90.0], "e": [99.0, 99.0, 99.0]}, "verbaliser")

        found = scale_scores(pd.concat([items(SCORES), few])).query("subscale == 'all'").set_index("model")

        assert found.loc[["a", "b", "c"], "z"].tolist() == [1.0, -1.0, 0.0]
        assert found.loc[["d", "e"], ["z", "normal"]].isna().all(axis=None)


def of_all(found: pd.DataFrame) -> pd.DataFrame:
    return found.query("subscale == 'all'").set_index("model")


class TestMembers:
    MORE = {**SCORES, "d": [90.0, 90.0, 90.0], "e": [-99.0, -99.0, -99.0]}  # noqa: RUF012

    def test_others_get_no_place_and_shift_nobody(self) -> None:
        alone = of_all(scale_scores(items(SCORES)))
        found = of_all(scale_scores(items(self.MORE), members=["a", "b", "c"]))

        assert found.loc[["a", "b", "c"], "z"].tolist() == [1.0, -1.0, 0.0]
        assert found.loc[["a", "b", "c"], "normal"].tolist() == alone["normal"].tolist()
        assert found.loc[["d", "e"], ["z", "normal"]].isna().all(axis=None)
        assert found["score"].to_dict() == {"a": 2.0, "b": 0.0, "c": 1.0, "d": 90.0, "e": -99.0}
        assert found["n"].tolist() == [3] * 5

    def test_subscales_too(self) -> None:
        alone = scale_scores(items(SCORES)).query("subscale == 'body'")
        found = scale_scores(items(self.MORE), members={"c", "b", "a"}).query("subscale == 'body'")
        assert found["z"].tolist()[:3] == pytest.approx(alone["z"].tolist(), abs=1e-15)
        assert found["z"].isna().tolist() == [False] * 3 + [True] * 2

    def test_all_are_by_default(self) -> None:
        found, everybody = scale_scores(items(self.MORE)), scale_scores(items(self.MORE), list(self.MORE))
        pd.testing.assert_frame_equal(found, everybody)
        assert of_all(found)["z"].notna().all()

    @pytest.mark.parametrize("members", [[], ["a", "b"], ["nobody"]])
    def test_below_three_nobody_has_a_place(self, members) -> None:
        found = scale_scores(items(self.MORE), members)
        assert found[["z", "normal"]].isna().all(axis=None)
        assert found["score"].notna().all()

    def test_those_of_one_configuration_are_counted_apart(self) -> None:
        few = items({"d": [90.0] * 3, "e": [99.0] * 3, "f": [93.0] * 3}, "verbaliser")
        found = of_all(scale_scores(pd.concat([items(SCORES), few]), members=["a", "b", "c", "d", "e"]))
        assert found.loc[["a", "b", "c"], "z"].tolist() == [1.0, -1.0, 0.0]
        assert found.loc[["d", "e", "f"], "z"].isna().all()  # two of them count, that are too few
