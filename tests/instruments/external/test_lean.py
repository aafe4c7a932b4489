"""The lean: worked out by hand, beside statsmodels, and planted truths with the verdict that each
must get."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.external.diagnose import (
    Lean,
    contrast,
    lean_headline,
    lean_weights,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge
from tests.instruments.near import approx, near
from tests.later import Later

sm = Later("statsmodels.api")


def planted(
    n_units: int = 60,
    of_unit: int = 20,
    lean: float = 0.0,
    length: float = 0.0,
    seed: int = 1,
    units: float = 0.2,
) -> pd.DataFrame:
    """Items whose log-likelihood ratio leans by so many nats, and minds length by so many nats a
    token."""
    random = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n_units), of_unit)
    tokens = random.integers(-3, 4, size=len(unit)).astype(float)
    frequency = random.normal(size=len(unit))
    value = (
        lean
        - length * tokens
        + units * random.normal(size=n_units)[unit]
        + random.normal(size=len(unit))
    )
    return pd.DataFrame(
        {
            "item": [str(place) for place in range(len(unit))],
            "unit": [f"u{number}" for number in unit],
            "part": "all",
            "condition": "",
            "value": value,
            "lean": np.sign(value),
            "won": value > 0,
            "known": True,
            "right": None,
            "related": np.nan,
            "length": tokens,
            "in_tokens": True,
            "frequency": frequency,
            "criterion": np.nan,
        }
    )


def verdict(headline_test: HeadlineTest) -> tuple[str, str]:
    (judged,) = judge([(headline_test, ValidityCheck())])
    assert judged.verdict is not None
    assert judged.why is not None
    return judged.verdict, judged.why


def lean_test(items: pd.DataFrame, score: str = "preference") -> HeadlineTest:
    return lean_headline(
        items,
        score,
        "writers",
        0.1,
        3,
    )  # type: ignore[arg-type]


def test_the_lean_by_hand() -> None:
    """Six writers of one pair each, four of which lean: 2 x 4/6 - 1; the jackknife of a mean is its
    standard error."""
    leans = [1.0, 1, 1, 1, -1, -1]
    items = planted(6, 1).assign(
        lean=leans,
        length=[1.0, -1, 0, 0, 1, -1],
        frequency=0.0,
    )
    headline = lean_test(items)
    assert headline.effect.value == approx(1 / 3)
    error = items["lean"].std(ddof=1) / np.sqrt(6)
    reach = error * stats.t.ppf(0.975, 5)
    assert headline.effect.high == approx(1 / 3 + reach)
    # All 64 flips of six signs: |sum| of 2 or more is all but those with three of each.
    assert headline.p_null == approx(1 - 20 / 64)


def test_the_specific_part_is_the_intercept_of_weighted_least_squares() -> None:
    items = planted(lean=0.4, length=0.3)
    length = items["length"]
    confounds = np.column_stack([np.sign(length), length.clip(-3, 3), items["frequency"]])
    design = sm.add_constant(confounds)
    for score, weight in (
        ("preference", 1.0),
        ("stereoset", 1 / 20),
    ):
        weights = np.full(len(items), weight)
        intercept = sm.WLS(items["lean"], design, weights=weights).fit().params["const"]
        headline = lean_test(items, score)
        assert headline.specific.value == near(intercept)
        assert headline.placebo == near(items["lean"].mean() - intercept)
    # Each value without a unit is a fit without it.
    rest = (items["unit"] != "u0").to_numpy()
    again = sm.WLS(items["lean"][rest], design[rest]).fit()
    assert Lean.from_items(items, "preference").specific()[1] == near(again.params["const"])


def test_effective_units_are_those_of_kish() -> None:
    large = planted(1, 4).assign(unit="large")
    items = pd.concat([planted(5, 1), large], ignore_index=True)
    n_effective = 9**2 / (5 + 4**2)
    assert Lean.from_items(items, "preference").df == approx(n_effective - 1)
    # A mean over targets: each counts as much.
    assert Lean.from_items(items, "stereoset").df == approx(5)


def test_what_units_add_is_the_lean_and_its_specific_part() -> None:
    fitted = Lean.from_items(planted(lean=0.3, length=0.2), "preference")
    lean, specific = fitted.shares()
    assert lean.mean() == approx(fitted.mean()[0])
    assert specific.mean() == approx(fitted.specific()[0])


def test_answers_of_bbq_count_as_its_score_counts_them() -> None:
    """`unknown` is 0 where the context is ambiguous, and nothing elsewhere."""
    items = planted(2, 2).assign(
        known=[True, False] * 2, condition=["ambiguous"] * 2 + ["disambiguated"] * 2
    )
    assert lean_weights(items, "bbq").tolist() == [1, 1, 1, 0]


def test_a_lean_is_an_effect_and_its_mirror_one_of_the_other_sign() -> None:
    """A share of .56 and one of .44 get the same verdict."""
    items = planted(150, 40, lean=0.5)
    assert verdict(lean_test(items))[0] == Verdict.EFFECT
    mirrored = items.assign(**{name: -items[name] for name in ("lean", "length", "frequency")})
    plain, mirror = lean_test(items), lean_test(mirrored)
    assert verdict(mirror) == (
        Verdict.EFFECT,
        verdict(mirror)[1],
    )
    assert mirror.effect.value == approx(-plain.effect.value)
    assert plain.p == mirror.p


def shorter_wins(*shares: float) -> pd.DataFrame:
    """A model that minds length alone; shares of pairs whose first text is 2 and 1 tokens shorter,
    as long, longer."""
    random = np.random.default_rng(5)
    items = planted(77, 120)
    length = random.choice(
        [-2.0, -1.0, 0.0, 1.0, 2.0],
        p=shares,
        size=len(items),
    )
    fair = random.choice([-1.0, 1.0], size=len(items))
    return items.assign(
        length=length,
        lean=np.where(
            length == 0,
            fair,
            -np.sign(length),
        ),
    )


def test_the_shorter_one_always_wins_and_nothing_is_left() -> None:
    """A lean that length gives is no effect where it is small, as in CrowS-Pairs, and not specific
    where it is not."""
    headline = lean_test(shorter_wins(0.16, 0.17, 0.31, 0.18, 0.18))
    assert -0.08 < headline.effect.value < 0
    assert verdict(headline)[0] == Verdict.NO_EFFECT
    headline = lean_test(shorter_wins(0.1, 0.1, 0.3, 0.25, 0.25))
    assert headline.effect.high < -0.2
    assert headline.p_null == approx(1 / 10_001)
    assert headline.specific.low < 0 < headline.specific.high
    assert verdict(headline)[0] == Verdict.NOT_SPECIFIC


def test_a_lean_that_is_there_and_too_small_to_name_is_no_effect() -> None:
    items = planted(
        400,
        50,
        lean=0.05,
        units=0.0,
    )
    headline = lean_test(items)
    assert headline.p_null is not None
    assert headline.p_null < 0.01
    assert verdict(headline)[0] == Verdict.NO_EFFECT


def test_texts_of_one_length_have_no_confound() -> None:
    items = planted(lean=0.5).assign(
        length=0.0,
        frequency=0.0,
    )
    headline = lean_test(items)
    assert headline.specific.value == approx(headline.effect.value)
    assert headline.placebo == approx(0)


def test_first_texts_that_are_all_longer_cannot_be_told_from_what_they_say() -> None:
    headline = lean_test(planted(lean=0.5).assign(length=2.0))
    assert headline.specific is None
    outcome, why = verdict(headline)
    assert outcome == Verdict.INCONCLUSIVE
    assert why.startswith(
        "No verdict is possible: pairs that nearly all differ in length or frequency in the same"
    )


@pytest.mark.parametrize(
    ("share", "is_told"),
    [
        (0.05, False),
        (0.15, True),
    ],
)
def test_a_lean_at_equal_frequency_is_not_said_from_a_handful_of_items(
    share: float, is_told: bool
) -> None:
    """As in Winogender: he is more frequent than she in all pairs but those of him and her."""
    items = planted(lean=0.5).assign(length=0.0)
    other = np.arange(len(items)) % 100 < 100 * share
    headline = lean_test(items.assign(frequency=np.where(other, -0.6, 1.97)))
    assert (headline.specific is not None) is is_told
    assert headline.effect is not None
    assert (verdict(headline)[0] == Verdict.INCONCLUSIVE) is not is_told


def test_four_units_are_too_few() -> None:
    outcome, why = verdict(lean_test(planted(4, 30, lean=3.0)))
    assert (outcome, why) == (
        Verdict.INCONCLUSIVE,
        "No verdict is possible: 4 writers (at least 5 needed).",
    )


def _headlines(items: pd.DataFrame) -> pd.DataFrame:
    from evenruler.instruments.external.diagnose import headlines_of

    return headlines_of(
        items,
        "preference",
        pd.Series("row", index=items["unit"].unique()),
    )


def test_two_models_are_told_apart_by_units() -> None:
    first, second = (
        _headlines(planted(80, 30, lean=lean, length=0.2, seed=2)) for lean in (0.6, 0.0)
    )
    headline = contrast(first, second, 0.1)
    expected = (
        first[first["pole"] == 1]["value"].mean() - second[second["pole"] == 1]["value"].mean()
    )
    assert headline.effect.value == approx(expected)
    assert verdict(headline)[0] == Verdict.EFFECT
    assert verdict(contrast(first, first, 0.1))[0] == Verdict.NO_EFFECT


def test_two_models_that_share_no_unit() -> None:
    first = _headlines(planted(10, 5))
    second = first.assign(unit="x" + first["unit"])
    assert verdict(contrast(first, second, 0.1))[0] == Verdict.INCONCLUSIVE


def test_rows_that_stand_twice_change_nothing() -> None:
    items = planted(lean=0.3, length=0.2)
    once, twice = lean_test(items), lean_test(pd.concat([items, items]))
    assert verdict(twice) == verdict(once)
    assert twice.specific.low == approx(once.specific.low)
    assert twice.p_null == approx(once.p_null)
