"""Measurements as matrices."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import group_statistics
from evenruler.instruments.saged.diagnose.group_statistics import (
    SERIES,
    arrange_scores,
    group_rows,
    number_distinct_rows,
    pad_groups,
)
from tests.instruments.saged.diagnose import measured

nan = math.nan


def test_rows_of_a_group_stay_in_their_order_and_smaller_groups_are_filled_up() -> None:
    found = group_rows(np.array([[1, 0, 1, 3]]), 4)
    np.testing.assert_array_equal(found, [[[1, 4], [0, 2], [4, 4], [3, 4]]])


def test_rows_of_many_stay_in_their_order() -> None:
    codes = np.arange(200) * 7 % 5
    found = group_rows(codes[None], 5)[0]
    np.testing.assert_array_equal(found, [np.flatnonzero(codes == group) for group in range(5)])


def test_groups_without_rows() -> None:
    np.testing.assert_array_equal(group_rows(np.array([[0]]), 2), [[[0], [1]]])
    assert group_rows(np.empty((1, 0), dtype=np.intp), 0).shape == (1, 0, 0)


def test_draws_may_differ_in_sizes() -> None:
    found = group_rows(np.array([[1, 0, 1], [1, 1, 1]]), 2)
    np.testing.assert_array_equal(found, [[[1, 3, 3], [0, 2, 3]], [[3, 3, 3], [0, 1, 2]]])


def test_numbers_that_are_not_there_are_nan() -> None:
    found = pad_groups(np.array([[5.0, 6.0, nan], [7.0, 8.0, 9.0]]), np.array([[[0, 3], [2, 1]]]))
    np.testing.assert_array_equal(found, [[[[5, nan], [nan, 6]]], [[[7, nan], [9, 8]]]])


CONCEPTS = ["fig", "kiwi", "lime", "melon"]


def two_features() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of two models, in no order; one with nulls."""
    prompts = measured.prompts(6, CONCEPTS)
    draw = np.random.default_rng(1)
    parts = [
        measured.features(
            prompts,
            draw.random(len(prompts)),
            draw.random(len(prompts)),
            model=model,
            feature=feature,
        )
        for model in ("m1", "m0")
        for feature in ("vader", "regard", "toxicity")
    ]
    features = pd.concat(parts).sample(frac=1, random_state=0).reset_index(drop=True)
    features.loc[::7, "value"] = np.nan
    return features, prompts


class TestNumbered:
    @pytest.mark.parametrize("dtype", ["str", "category"])
    def test_rows_are_numbered_in_order_of_their_values(self, dtype) -> None:
        frame = pd.DataFrame(
            {"id": ["b", "a", "b", "b"], "repetition": np.array([1, 3, 0, 1], dtype=np.int32)}
        )
        found, number = number_distinct_rows(frame.astype({"id": dtype}), ["id", "repetition"])
        assert found.to_numpy().tolist() == [["a", 3], ["b", 0], ["b", 1]]
        assert number.tolist() == [2, 0, 1, 2]
        assert (number.dtype, found["repetition"].dtype) == (np.int32, np.int32)

    def test_categories_that_nothing_has_are_not_there(self) -> None:
        column = pd.Categorical(["c", "a", "c"], categories=["c", "b", "a"])
        found, number = number_distinct_rows(pd.DataFrame({"feature": column}), ["feature"])
        assert (found["feature"].tolist(), number.tolist()) == (["a", "c"], [1, 0, 1])

    def test_numbers_stand_where_their_series_and_reply_do(self) -> None:
        features, prompts = two_features()
        found = arrange_scores("fruit", features, prompts)
        by_id = features.set_index(["model", "feature", "id"]).sort_index()
        for numbers, name in ((found.values, "value"), (found.baselines, "baseline")):
            for line, (model, feature) in enumerate(
                zip(found.series["model"], found.series["feature"], strict=True)
            ):
                expected = by_id.loc[(model, feature), name].reindex(found.replies["id"])
                np.testing.assert_array_equal(numbers[line], expected)
        assert found.series[["model", "feature"]].to_numpy().tolist() == [
            [model, feature]
            for model in ("m0", "m1")
            for feature in ("regard", "toxicity", "vader")
        ]

    def test_no_row(self) -> None:
        found, number = number_distinct_rows(
            pd.DataFrame({name: [] for name in SERIES}, dtype="str"), SERIES
        )
        assert (len(found), len(number), list(found)) == (0, 0, SERIES)


def test_without_some_concepts_replies_and_numbers_are_those_of_others() -> None:
    features, prompts = two_features()
    whole = arrange_scores("fruit", features, prompts)
    found = whole.without(["lime", "fig"])
    kept = whole.replies["concept"].isin(["kiwi", "melon"]).to_numpy()
    assert found.replies["id"].tolist() == whole.replies.loc[kept, "id"].tolist()
    assert found.replies.index.tolist() == list(range(12))
    np.testing.assert_array_equal(found.values, whole.values[:, kept])


def test_some_series_at_a_time_have_the_same_figures(monkeypatch) -> None:
    features, prompts = two_features()
    settings = Disparities(permutations=99, headline_permutations=99)
    arguments = (features, measured.replies(features), prompts, settings)
    whole = measured.diagnosed(*arguments)
    monkeypatch.setattr(group_statistics, "AT_ONCE", 1)
    parts = measured.diagnosed(*arguments)
    for name in ("summaries", "compared", "shapes"):
        keys = [column for column in whole[name] if whole[name][column].dtype in ("str", object)][
            :8
        ]
        keys += [
            column for column in ("group", "metric") if column in whole[name] and column not in keys
        ]
        one, other = (found[name].sort_values(keys, ignore_index=True) for found in (whole, parts))
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)
