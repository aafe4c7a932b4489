"""How instruments that measure the same units agree: by hand, and against what was put in."""

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from evenruler.instruments.agreement import (
    LETTERS,
    RELIABILITY,
    TRUE,
    R,
    compute_agreement,
    mtmm_rows,
)
from evenruler.measurement import cronbach_alpha
from evenruler.measurement.reliability import concept_rows, errors_beside_items
from evenruler.tables.schemas import AGREEMENT, CONCEPTS
from tests.instruments.near import approx, near

NAMES = [
    f"{first}{last}" for first in "bcdfgh" for last in ("aker", "ooker", "iner", "ilot", "uard")
]


def instrument(
    name: str, values: pd.DataFrame, *, model: str = "m", trait: str = "men", kin: str = ""
) -> pd.DataFrame:
    """[units, items] as concepts."""
    rows = values.rename_axis("unit").reset_index().melt("unit", value_name="value")
    concepts = concept_rows(rows, "occupation")
    return concepts.assign(
        benchmark=name, kin=kin or name, part="all", model=model, trait=trait, criterion=np.nan
    )[CONCEPTS.names]


def noisy(true: "NDArray[np.float64]", items: int, noise: float, seed: int) -> pd.DataFrame:
    errors = np.random.default_rng(seed).normal(0, noise, (len(true), items))
    return pd.DataFrame(true[:, None] + errors, index=NAMES[: len(true)])


def row_of(agreement: pd.DataFrame, figure: str, other: str = "") -> "pd.Series[float]":
    rows = agreement[
        (agreement["figure"] == figure) & (agreement["other"] == other if other else True)
    ]
    assert len(rows) == 1
    return rows.iloc[0]


class TestConcepts:
    def test_by_hand(self) -> None:
        units = ["Nurse", "Nurse", "clerk", "clerk", "chief"]
        rows = pd.DataFrame({"unit": units, "value": [1.0, 3.0, 5.0, 5.0, 9.0]})
        concepts = concept_rows(rows, "occupation")
        # A unit of one item has no error; those of the others are 2 / 2 and 0.
        assert concepts["concept"].tolist() == ["occupation:nurse", "occupation:clerk"]
        assert concepts["value"].tolist() == [2.0, 5.0]
        assert concepts["error"].tolist() == [1.0, 0.0]

    def test_error_beside_items_is_what_alpha_takes_off(self) -> None:
        true = np.random.default_rng(5).normal(size=12)
        scores = noisy(true, 7, 0.8, 3) + np.arange(7)
        error = errors_beside_items(scores)
        alpha = 1 - error.mean() / scores.mean(axis=1).var()
        assert alpha == near(cronbach_alpha(scores.to_numpy()))


class TestAgreement:
    def test_two_that_measure_one_trait(self) -> None:
        """The correlation of true values is 1; with reliabilities of .8 and .5, r is about the root
        of .4."""
        true = np.random.default_rng(1).normal(size=30)
        first, second = (
            noisy(
                true,
                4,
                1.0,
                2,
            ),
            noisy(true, 4, 2.0, 3),
        )
        agreement = compute_agreement(
            pd.concat([instrument("one", first), instrument("two", second)]), 0.95
        )
        assert list(agreement.columns) == AGREEMENT.names
        r, true_r = (row_of(agreement, figure, "two") for figure in (R, TRUE))
        assert r["value"] == approx(
            np.corrcoef(
                first.mean(axis=1),
                second.mean(axis=1),
            )[0, 1]
        )
        both = []
        for scores in (first, second):
            error = scores.var(axis=1) / 4
            both.append(1 - error.mean() / scores.mean(axis=1).var())
        assert true_r["value"] == approx(
            r["value"] / np.sqrt(np.prod(both)),
        )
        assert true_r["low"] < 1 < true_r["high"]
        assert row_of(agreement, RELIABILITY, "one")["value"] == approx(both[0])
        assert r["n"] == 30

    def test_units_are_matched_by_their_words(self) -> None:
        true = np.random.default_rng(1).normal(size=30)
        first = instrument("one", noisy(true, 3, 0.1, 2))
        second = noisy(true, 3, 0.1, 3)
        shuffled = second.sample(frac=1, random_state=4).rename(index=str.upper).iloc[:20]
        first["criterion"] = 100 * first["value"]
        agreement = compute_agreement(pd.concat([first, instrument("two", shuffled)]), 0.95)
        r = row_of(agreement, R, "two")
        assert r["value"] > 0.95
        assert r["n"] == 20
        # A published number stands beside all.
        published = agreement[agreement["other"] == "published number of one"]
        assert sorted(published["benchmark"].unique()) == ["one", "two"]
        assert (published[published["figure"] == R]["value"] > 0.95).all()

    @pytest.mark.slow
    @pytest.mark.long
    def test_labels_dealt_at_random(self) -> None:
        """Of 100 deals about five intervals leave 0 out."""
        true, beyond = np.random.default_rng(1).normal(size=30), 0
        first = instrument("one", noisy(true, 4, 0.5, 2))
        for seed in range(100):
            shuffled = np.random.default_rng(100 + seed).permutation(true)
            dealt = instrument("two", noisy(shuffled, 4, 0.5, seed))
            r = row_of(
                compute_agreement(pd.concat([first, dealt]), 0.95),
                R,
                "two",
            )
            beyond += r["low"] > 0 or r["high"] < 0
        assert beyond <= 11, "99 of 100 times, where 5 are right"

    def test_letters_go_with_what_counts_letters(self) -> None:
        lengths = np.array([float(len(name)) for name in NAMES])
        true = np.random.default_rng(7).normal(size=30)
        counts, other = (
            noisy(
                lengths,
                3,
                0.2,
                1,
            ),
            noisy(true, 3, 0.2, 2),
        )
        agreement = compute_agreement(
            pd.concat([instrument("counts", counts), instrument("two", other)]), 0.95
        )
        rows = agreement[(agreement["figure"] == R) & (agreement["other"] == LETTERS)]
        letters = rows.set_index("benchmark")
        assert letters["value"]["counts"] > 0.9
        assert letters["low"]["two"] < 0 < letters["high"]["two"]

    def test_too_unreliable_for_more_than_r(self) -> None:
        true = np.random.default_rng(1).normal(size=30)
        reliable = instrument("one", noisy(true, 3, 0.1, 2))
        unreliable = instrument("two", noisy(0 * true, 3, 5.0, 3))
        agreement = compute_agreement(pd.concat([reliable, unreliable]), 0.95)
        assert row_of(agreement, R, "two")["value"] is not None
        row = row_of(agreement, TRUE, "two")
        assert np.isnan(row["value"])
        assert "the less reliable one has a reliability of" in row["reason"]

    def test_what_shares_words_is_no_other_method(self) -> None:
        """Its published number is counted once, and its errors are not taken off."""
        true = np.random.default_rng(1).normal(size=30)
        both = pd.concat(
            [
                instrument("written", noisy(true, 3, 0.1, 1), kin="written"),
                instrument("evolved", noisy(true, 3, 0.1, 2), kin="written"),
            ]
        )
        agreement = compute_agreement(both.assign(criterion=both["value"]), 0.95)
        assert set(agreement["kind"]) == {"itself", "same trait", "same words", "other trait"}
        same_words = agreement[agreement["kind"] == "same words"]
        lacking = same_words[same_words["figure"] == TRUE]
        assert lacking["value"].isna().all()
        assert set(lacking["reason"]) == {"they share words, so their errors are correlated"}
        assert agreement[agreement["kind"] == "same trait"]["other"].nunique() == 1

    def test_one_instrument_alone_agrees_with_nobody(self) -> None:
        alone = instrument(
            "one",
            noisy(np.arange(30.0), 3, 0.1, 2),
        )
        assert compute_agreement(alone, 0.95).empty

    def test_a_handful_of_units_has_a_reason(self) -> None:
        """Parts that are the whole go by the name of the benchmark alone."""
        first, second = (noisy(np.arange(4.0), 3, 0.1, seed) for seed in (1, 2))
        both = pd.concat([instrument("one", first), instrument("two", second).assign(part="")])
        agreement = compute_agreement(both, 0.95)
        for figure, other in ((RELIABILITY, "one"), (TRUE, "two")):
            row = row_of(agreement, figure, other)
            assert np.isnan(row["value"])
            assert row["n"] == 4
            assert row["reason"].startswith("fewer than 5 units")
        itself, _, pair, *_ = mtmm_rows(agreement)
        assert itself[:4] == ["m", "one", "", "itself"]
        assert pair[:4] == ["m", "one", "two", "same trait"]
