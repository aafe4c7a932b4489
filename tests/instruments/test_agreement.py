"""How instruments that measure the same units agree: by hand, and against what was put in."""

import numpy as np
import pandas as pd
import pytest

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

NAMES = [
    f"{first}{last}" for first in "bcdfgh" for last in ("aker", "ooker", "iner", "ilot", "uard")
]


def instrument(
    name: str, values: pd.DataFrame, *, model: str = "m", trait: str = "men", kin: str = ""
) -> pd.DataFrame:
    """[units, items] as concepts."""
    rows = values.rename_axis("unit").reset_index().melt("unit", value_name="value")
    own = concept_rows(rows, "occupation")
    return own.assign(
        benchmark=name, kin=kin or name, part="all", model=model, trait=trait, criterion=np.nan
    )[CONCEPTS.names]


def noisy(
    true: "np.ndarray[tuple[int], np.dtype[np.float64]]", items: int, noise: float, seed: int
) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        true[:, None] + random.normal(0, noise, (len(true), items)), index=NAMES[: len(true)]
    )


def of(found: pd.DataFrame, figure: str, other: str = "") -> "pd.Series[float]":
    rows = found[(found["figure"] == figure) & (found["other"] == other if other else True)]
    assert len(rows) == 1
    return rows.iloc[0]


class TestConcepts:
    def test_by_hand(self) -> None:
        rows = pd.DataFrame(
            {
                "unit": ["Nurse", "Nurse", "clerk", "clerk", "chief"],
                "value": [1.0, 3.0, 5.0, 5.0, 9.0],
            }
        )
        found = concept_rows(rows, "occupation")
        assert found["concept"].tolist() == ["occupation:nurse", "occupation:clerk"], (
            "a unit of one item has no error"
        )
        assert found["value"].tolist() == [2.0, 5.0]
        assert found["error"].tolist() == [1.0, 0.0], "2 / 2 and 0"

    def test_error_beside_items_is_what_alpha_takes_off(self) -> None:
        x = noisy(np.random.default_rng(5).normal(size=12), 7, 0.8, 3) + np.arange(7)
        error = errors_beside_items(x)
        assert 1 - error.mean() / x.mean(axis=1).var() == pytest.approx(
            cronbach_alpha(x.to_numpy()), abs=1e-12
        )


class TestAgreement:
    def test_two_that_measure_one_trait(self) -> None:
        """The correlation of true values is 1; with reliabilities of .8 and .5, r is about the root
        of .4."""
        true = np.random.default_rng(1).normal(size=30)
        first, second = noisy(true, 4, 1.0, 2), noisy(true, 4, 2.0, 3)
        found = compute_agreement(
            pd.concat([instrument("one", first), instrument("two", second)]), 0.95
        )
        assert list(found.columns) == AGREEMENT.names
        r, true_r = of(found, R, "two"), of(found, TRUE, "two")
        assert r["value"] == pytest.approx(
            np.corrcoef(first.mean(axis=1), second.mean(axis=1))[0, 1]
        )
        both = [1 - (x.var(axis=1) / 4).mean() / x.mean(axis=1).var() for x in (first, second)]
        assert true_r["value"] == pytest.approx(r["value"] / np.sqrt(both[0] * both[1]))
        assert true_r["low"] < 1 < true_r["high"]
        assert of(found, RELIABILITY, "one")["value"] == pytest.approx(both[0])
        assert r["n"] == 30

    def test_units_are_matched_by_their_words(self) -> None:
        true = np.random.default_rng(1).normal(size=30)
        first, second = noisy(true, 3, 0.1, 2), noisy(true, 3, 0.1, 3)
        shuffled = second.sample(frac=1, random_state=4).rename(index=str.upper).iloc[:20]
        found = compute_agreement(
            pd.concat([instrument("one", first), instrument("two", shuffled)]), 0.95
        )
        assert of(found, R, "two")["value"] > 0.95
        assert of(found, R, "two")["n"] == 20

    def test_labels_dealt_at_random(self) -> None:
        """Of 100 deals about five intervals leave 0 out."""
        true, beyond = np.random.default_rng(1).normal(size=30), 0
        first = instrument("one", noisy(true, 4, 0.5, 2))
        for seed in range(100):
            dealt = noisy(np.random.default_rng(100 + seed).permutation(true), 4, 0.5, seed)
            r = of(compute_agreement(pd.concat([first, instrument("two", dealt)]), 0.95), R, "two")
            beyond += r["low"] > 0 or r["high"] < 0
        assert beyond <= 11, "99 of 100 times, where 5 are right"

    def test_letters_go_with_what_counts_letters(self) -> None:
        lengths = np.array([float(len(name)) for name in NAMES])
        true = np.random.default_rng(7).normal(size=30)
        found = compute_agreement(
            pd.concat(
                [
                    instrument("counts", noisy(lengths, 3, 0.2, 1)),
                    instrument("two", noisy(true, 3, 0.2, 2)),
                ]
            ),
            0.95,
        )
        beside = found[(found["figure"] == R) & (found["other"] == LETTERS)].set_index("benchmark")
        assert beside["value"]["counts"] > 0.9
        assert beside["low"]["two"] < 0 < beside["high"]["two"]

    def test_a_published_number_stands_beside_all(self) -> None:
        true = np.random.default_rng(1).normal(size=30)
        one = instrument("one", noisy(true, 3, 0.1, 2))
        one["criterion"] = 100 * one["concept"].str.partition(":")[2].map(
            dict(zip(NAMES, true, strict=True))
        )
        found = compute_agreement(pd.concat([one, instrument("two", noisy(true, 3, 0.1, 3))]), 0.95)
        beside = found[found["other"] == "published number of one"]
        assert sorted(beside["benchmark"].unique()) == ["one", "two"]
        assert (beside[beside["figure"] == R]["value"] > 0.95).all()

    def test_too_unreliable_for_more_than_r(self) -> None:
        true = np.random.default_rng(1).normal(size=30)
        found = compute_agreement(
            pd.concat(
                [
                    instrument("one", noisy(true, 3, 0.1, 2)),
                    instrument("two", noisy(0 * true, 3, 5.0, 3)),
                ]
            ),
            0.95,
        )
        assert of(found, R, "two")["value"] is not None
        assert np.isnan(of(found, TRUE, "two")["value"])
        assert "the less reliable one has a reliability of" in of(found, TRUE, "two")["reason"]

    def test_what_shares_words_is_no_other_method(self) -> None:
        """Its published number is counted once, and its errors are not taken off."""
        true = np.random.default_rng(1).normal(size=30)
        written = instrument("written", noisy(true, 3, 0.1, 1), kin="written")
        evolved = instrument("evolved", noisy(true, 3, 0.1, 2), kin="written")
        both = pd.concat([own.assign(criterion=own["value"]) for own in (written, evolved)])
        found = compute_agreement(both, 0.95)
        assert set(found["kind"]) == {"itself", "same trait", "same words", "other trait"}
        assert (
            found[(found["kind"] == "same words") & (found["figure"] == TRUE)]["value"].isna().all()
        )
        assert found[found["kind"] == "same trait"]["other"].nunique() == 1

    def test_one_instrument_alone_agrees_with_nobody(self) -> None:
        one = instrument("one", noisy(np.arange(30.0), 3, 0.1, 2))
        assert compute_agreement(one, 0.95).empty


def test_what_is_said() -> None:
    true = np.random.default_rng(1).normal(size=30)
    two = instrument("two", noisy(true, 3, 0.1, 3), trait="prestige")
    others = [
        instrument(name, noisy(true, 3, 0.1, seed)) for seed, name in enumerate(("one", "three"))
    ]
    found = compute_agreement(pd.concat([*others, two]), 0.95)
    told = mtmm_rows(found)
    assert [row[3] for row in told if row[1] == "one"] == [
        "itself",
        "same trait",
        "other trait",
        "other trait",
    ]
    assert [row[2] for row in told if row[1] == "one"] == ["", "three", "two", "letters"]
