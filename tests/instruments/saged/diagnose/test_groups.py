"""Measurements as matrices."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.saged.diagnose.group_statistics import (
    arrange_scores,
    group_rows,
    number_distinct_rows,
    pad_groups,
)
from tests.instruments.saged.diagnose import measured

nan = math.nan


def test_draws_may_differ_in_sizes() -> None:
    codes = np.array([[1, 0, 1], [1, 1, 1]])
    places = group_rows(codes, 2)
    assert places.tolist() == [
        [
            [1, 3, 3],
            [0, 2, 3],
        ],
        [
            [3, 3, 3],
            [0, 1, 2],
        ],
    ]


def test_numbers_that_are_not_there_are_nan() -> None:
    numbers = np.array([[5.0, 6.0, nan], [7.0, 8.0, 9.0]])
    places = np.array([[[0, 3], [2, 1]]])
    padded = pad_groups(numbers, places)
    expected = [
        [[[5, nan], [nan, 6]]],
        [[[7, nan], [9, 8]]],
    ]
    np.testing.assert_array_equal(padded, expected)


CONCEPTS = ["fig", "kiwi", "lime", "melon"]


def two_features() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of two models, in no order; one with nulls."""
    prompts = measured.prompts(6, CONCEPTS)
    draw = np.random.default_rng(1)
    n = len(prompts)
    parts = []
    for model, feature in product(("m1", "m0"), ("vader", "regard", "toxicity")):
        values, baselines = draw.random((2, n))
        parts.append(measured.features(prompts, values, baselines, model, feature))
    features = pd.concat(parts).sample(frac=1, random_state=0).reset_index(drop=True)
    features.loc[::7, "value"] = np.nan
    return features, prompts


class TestNumbered:
    @pytest.mark.parametrize("dtype", ["str", "category"])
    def test_rows_are_numbered_in_order_of_their_values(self, dtype) -> None:
        repetitions = np.array([1, 3, 0, 1], dtype=np.int32)
        frame = pd.DataFrame({"id": ["b", "a", "b", "b"], "repetition": repetitions})
        distinct, number = number_distinct_rows(frame.astype({"id": dtype}), ["id", "repetition"])
        assert distinct.to_numpy().tolist() == [
            ["a", 3],
            ["b", 0],
            ["b", 1],
        ]
        assert number.tolist() == [2, 0, 1, 2]
        assert (number.dtype, distinct["repetition"].dtype) == (np.int32, np.int32)

    def test_numbers_stand_where_their_series_and_reply_do(self) -> None:
        features, prompts = two_features()
        scores = arrange_scores("fruit", features, prompts)
        by_id = features.set_index(["model", "feature", "id"]).sort_index()
        series = scores.series[["model", "feature"]].itertuples(index=False, name=None)
        assert list(series) == list(product(("m0", "m1"), ("regard", "toxicity", "vader")))
        for line, pair in enumerate(product(("m0", "m1"), ("regard", "toxicity", "vader"))):
            expected = by_id.loc[pair].reindex(scores.replies["id"])
            np.testing.assert_array_equal(scores.values[line], expected["value"])
            np.testing.assert_array_equal(scores.baselines[line], expected["baseline"])
