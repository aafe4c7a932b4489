from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import SummaryStatistic
from evenruler.instruments.saged.diagnose.group_statistics import (
    FAMILY,
    RAW,
    SERIES,
    CellStatistics,
    Places,
    ScoreArrays,
    adjust_p,
    permutation_p,
    permute_labels,
)
from evenruler.instruments.saged.diagnose.statistics import Floats
from tests.instruments.near import approx
from tests.instruments.saged.diagnose import measured


def layout(values: Floats, prompts: pd.DataFrame) -> ScoreArrays:
    """Series of values, [series, prompts in order of ids]; of one repetition, unless they say."""
    once = prompts if "repetition" in prompts else prompts.assign(repetition=0)
    ordered = once.sort_values(["id", "repetition"], ignore_index=True)
    series = pd.DataFrame("any", index=range(len(values)), columns=SERIES)
    return ScoreArrays("fruit", ordered, series, values, values, np.ones(values.shape, dtype=bool))


def of_means(
    scores: ScoreArrays, metrics: list[str], n: int, seed: int
) -> tuple[Floats, np.ndarray]:
    """[metrics, series] p of means, and permutations that count."""
    groups, mean = scores.groups(["concept"]), SummaryStatistic(kind="mean")
    return permutation_p(CellStatistics(scores, groups, "mean", mean, RAW), metrics, n, seed)


def p_of(values: Floats, prompts: pd.DataFrame, metrics: list[str], n: int = 199) -> Floats:
    """[metrics, series] p of means."""
    return of_means(layout(values, prompts), metrics, n, 5)[0]


def labels(draws: Iterable[Places], total: int) -> np.ndarray:
    """[draws, replies] the group in which each reply counts, once."""
    places = np.concatenate(list(draws))
    counts = (places[..., None] == np.arange(total)).sum(axis=2)
    assert (counts.sum(axis=1) == 1).all()
    return counts.argmax(axis=1)


# Draws


def test_labels_are_shuffled_within_root_items_and_every_order_is_as_probable() -> None:
    scores = layout(
        np.zeros((1, 6)),
        measured.prompts(2, ["fig", "kiwi", "lime"]),
    )
    shuffled = labels(permute_labels(scores, scores.groups(["concept"]), 6000, seed=1), 6)
    for root in ("root-000", "root-001"):
        labels_of_root = shuffled[:, scores.replies["root_id"] == root]
        assert (np.sort(labels_of_root, axis=1) == [0, 1, 2]).all()
        _, counts = np.unique(labels_of_root, axis=0, return_counts=True)
        assert len(counts) == 6
        assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_without_branches_labels_are_shuffled_within_the_domain() -> None:
    scores = layout(
        np.zeros((1, 6)),
        measured.prompts(3, ["fig", "kiwi"], branched=False),
    )
    shuffled = labels(permute_labels(scores, scores.groups(["concept"]), 8000, seed=1), 6)
    assert (shuffled.sum(axis=1) == 3).all()
    _, counts = np.unique(shuffled, axis=0, return_counts=True)
    assert len(counts) == 20
    assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_groups_that_root_items_do_not_mix_are_shuffled_root_by_root() -> None:
    prompts = measured.prompts(4, ["fig", "kiwi"])
    prompts["section"] = np.where(prompts["root_id"] < "root-002", "a", "b")
    scores = layout(np.zeros((1, 8)), prompts)
    shuffled = labels(permute_labels(scores, scores.groups(["section"]), 600, seed=1), 8)
    for places in scores.replies.groupby("root_id").indices.values():
        of_root = shuffled[:, places]
        assert (of_root == of_root[:, :1]).all()
    assert len(np.unique(shuffled, axis=0)) == 6


def test_repetitions_stay_with_their_prompt() -> None:
    prompts = measured.prompts(3, ["fig", "kiwi"])
    twice = pd.concat([prompts.assign(repetition=i) for i in range(2)])
    scores = layout(np.zeros((1, 12)), twice)
    shuffled = labels(permute_labels(scores, scores.groups(["concept"]), 50, seed=1), 12)
    assert (shuffled[:, ::2] == shuffled[:, 1::2]).all()
    assert len(np.unique(shuffled, axis=0)) == 8


# Permutation tests


@pytest.mark.parametrize("branched", [True, False])
def test_p_is_uniform_where_groups_are_exchangeable(branched) -> None:
    draw = np.random.default_rng(7)
    prompts = measured.prompts(12, ["fig", "kiwi", "lime", "pear"], branched)
    values = draw.exponential(size=(600, len(prompts)))
    values[draw.random(values.shape) < 0.1] = np.nan
    if branched:  # ids are in order of concepts, then of root items
        values += np.tile(draw.normal(0, 3, (600, 12)), 4)
    metrics = ["range", "std", "max_z", "min_z", "dixon_high", "dixon_low"]
    for metric, p in zip(metrics, p_of(values, prompts, metrics=metrics), strict=True):
        assert scipy.stats.kstest(p, "uniform").pvalue > 0.001, metric


def test_p_counts_what_is_at_least_as_extreme_on_paper() -> None:
    # One root item of two: half of all permutations are the groups themselves, the others have the
    # same range.
    values = np.array([[0.1, 0.7]])
    assert p_of(
        values,
        measured.prompts(1, ["fig", "kiwi"]),
        metrics=["range"],
    ) == approx(1.0)
    # Three root items: the range is largest where all three stand the same way, 2 of 8.
    prompts, metrics = measured.prompts(3, ["fig", "kiwi"]), ["range", "min_max_ratio"]
    p = p_of(np.repeat(values, 3, axis=1), prompts, n=20000, metrics=metrics)
    assert p == approx(0.25, abs=0.01)


def test_a_group_of_zeros_has_a_mean_of_exactly_zero() -> None:
    # As features of clusters have: a mean of -1e-17 would leave a ratio undefined, and break ties.
    prompts = measured.prompts(6, ["fig", "kiwi", "lime"])
    values = np.zeros((1, 18))
    values[0, [0, 6]] = 1
    scores = layout(values, prompts)
    p, n = of_means(
        scores,
        ["min_max_ratio"],
        60,
        seed=1,
    )
    assert (p[0, 0], n[0, 0]) == (1, 60)


# Benjamini-Hochberg


def adjusted_p(p: Floats) -> Floats:
    family = dict.fromkeys(FAMILY, "one")
    table = pd.DataFrame(columns=schemas.DISPARITIES.names).assign(p=p, **family)
    return adjust_p(table)["p_adjusted"].to_numpy(dtype=np.float64)


@pytest.mark.parametrize("n", [1, 300])
def test_benjamini_hochberg_equals_statsmodels(n) -> None:
    p = np.random.default_rng(n).random(n) ** 3
    p[n // 2 :: 7] = p[0]
    np.testing.assert_allclose(
        adjusted_p(p),
        multipletests(p, method="fdr_bh")[1],
        rtol=1e-12,
    )


def test_benjamini_hochberg_leaves_out_what_is_no_test() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    adjusted = adjusted_p(p)
    assert np.isnan(adjusted[[1, 4]]).all()
    assert adjusted[[0, 2, 3]] == approx([0.03, 0.04, 0.04])
    assert np.isnan(adjusted_p(np.full(2, np.nan))).all()
