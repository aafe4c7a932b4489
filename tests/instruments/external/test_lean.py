"""The lean: worked out by hand, beside statsmodels, and planted truths with the verdict that each
must get."""

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.external.diagnose import contrast, headlines_of
from evenruler.instruments.external.diagnose.lean import (
    ItemLikeness,
    LeanRegression,
    differing_words,
    lean_headline,
    lean_weights,
    number_items,
    positive_control,
    randomise_roles,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import HeadlineTest, judge
from tests.instruments.near import approx, near
from tests.later import Later

sm = Later("statsmodels.api")

Floats = NDArray[np.float64]

NO_WORDS = pd.DataFrame({"item": [], "word": [], "count": []})


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
    n = len(unit)
    tokens = random.integers(-3, 4, size=n).astype(float)
    frequency = random.normal(size=n)
    of_units = units * random.normal(size=n_units)[unit]
    value = lean - length * tokens + of_units + random.normal(size=n)
    items = pd.DataFrame({"unit": unit, "value": value, "length": tokens, "frequency": frequency})
    items["unit"] = "u" + items["unit"].astype(str)
    items["item"] = items.index.astype(str)
    items["lean"], items["won"] = np.sign(value), value > 0
    constants = {"part": "all", "condition": "", "known": True, "right": None, "in_tokens": True}
    return items.assign(**constants, related=np.nan, criterion=np.nan)


def lean_test(
    items: pd.DataFrame, words: pd.DataFrame = NO_WORDS, score: str = "preference", n: int = 999
) -> HeadlineTest:
    return lean_headline(
        items,
        words,
        score,  # type: ignore[arg-type]
        "writers",
        0.1,
        3,
        n=n,
    )


def verdict(test: HeadlineTest) -> str:
    return str(judge(test).verdict)


def value_of(test: HeadlineTest) -> float:
    return test.effect.value


def test_the_lean_by_hand() -> None:
    """Six writers of one pair each, four of which lean: 2 x 4/6 - 1; the jackknife of a mean is its
    standard error."""
    items = planted(6, 1).assign(
        lean=[1.0, 1, 1, 1, -1, -1],
        length=0.0,
        frequency=0.0,
    )
    test = lean_test(items)
    assert test.effect.value == approx(1 / 3)
    error = items["lean"].std(ddof=1) / np.sqrt(6)
    reach = error * stats.t.ppf(0.975, 5)
    assert test.effect.high == approx(1 / 3 + reach)
    assert test.facets == {"writers": 6, "words": 0}


def test_the_lean_is_the_intercept_of_weighted_least_squares() -> None:
    items = planted(lean=0.4, length=0.3)
    length = items["length"]
    confounds = np.column_stack(
        [
            np.sign(length),
            length.clip(-3, 3),
            items["frequency"],
        ]
    )
    design = sm.add_constant(confounds)
    intercept = sm.OLS(items["lean"], design).fit().params["const"]
    for score in ("preference", "stereoset"):  # units of one size
        assert value_of(lean_test(items, score=score)) == near(intercept)
    # Each value without a unit is a fit without it.
    rest = (items["unit"] != "u0").to_numpy()
    again = sm.OLS(items["lean"][rest], design[rest]).fit()
    regression = LeanRegression.from_items(items, "preference")
    assert regression.jackknife_intercepts()[1] == near(again.params["const"])
    residuals = sm.OLS(items["lean"], confounds).fit().resid
    assert regression.residuals_under_null() == near(residuals.to_numpy())


def test_effective_units_are_those_of_kish() -> None:
    large = planted(1, 4).assign(unit="large")
    items = pd.concat([planted(5, 1), large], ignore_index=True)
    n_effective = 9**2 / (5 + 4**2)
    assert LeanRegression.from_items(items, "preference").df == approx(n_effective - 1)
    # A mean over targets: each counts as much.
    assert LeanRegression.from_items(items, "stereoset").df == approx(5)


def test_answers_of_bbq_count_as_its_score_counts_them() -> None:
    """`unknown` is 0 where the context is ambiguous, and nothing elsewhere."""
    items = planted(2, 2).assign(
        known=[True, False] * 2, condition=["ambiguous"] * 2 + ["disambiguated"] * 2
    )
    assert lean_weights(items, "bbq").tolist() == [1, 1, 1, 0]


def test_an_interval_needs_two_units_whose_answers_count() -> None:
    few = LeanRegression.from_items(planted(4, 2), "preference")
    assert few.why_no_interval("writers") == "4 writers (at least 5 needed)"
    items = planted(6, 2).assign(condition="disambiguated")
    of_one = items.assign(known=items["unit"] == "u0")
    only = LeanRegression.from_items(of_one, "bbq")
    assert only.why_no_interval("writers") == "1 of 6 writers with an answer that counts"
    of_two = items.assign(known=items["unit"].isin(["u0", "u1"]))
    assert LeanRegression.from_items(of_two, "bbq").why_no_interval("writers") is None


def test_the_words_that_only_one_text_has() -> None:
    texts = pd.DataFrame(
        {
            "item": list("aaabb"),
            "role": ["first", "second", "third", "first", "second"],
            "text": ["He, he said", "She said", "Cats sit", "It's old.", "It's new."],
        }
    )
    words = differing_words(texts).sort_values(["item", "word"])
    assert words.to_numpy().tolist() == [
        ["a", "he", 2],
        ["a", "she", -1],
        ["b", "new", -1],
        ["b", "old", 1],
    ]


def word_table(pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Words of items "0", "1" and so on: one of the first text, one of the second."""
    rows: list[tuple[str, str, int]] = []
    for place, (first, second) in enumerate(pairs):
        rows += [(str(place), first, 1), (str(place), second, -1)]
    return pd.DataFrame(rows, columns=["item", "word", "count"])


def likeness_of(pairs: list[tuple[str, str]], codes: list[int]) -> ItemLikeness:
    items = pd.Series([str(place) for place in range(len(pairs))])
    return ItemLikeness.from_words(word_table(pairs), items, np.asarray(codes, dtype=np.intp))


def test_items_are_alike_in_the_words_that_they_share() -> None:
    """The first two share one word of two, with the same sign; the third has it in the other
    text; words of one item count for nothing."""
    pairs = [("old", "new"), ("old", "fresh"), ("grey", "old")]
    likeness = likeness_of(pairs, [0, 0, 1])
    assert likeness.n_words == 1
    half = 0.5**0.5
    assert likeness.words.toarray().ravel() == approx([half, half, -half])
    # The variance of a sum of all: (1/2 + 1/2 - 1/2)^2 in all, within units 2 and 1/2 of it.
    assert likeness.words_between_units(np.ones(3)) == 0
    # Of 1, 1, -1: 9/2 in all, 2 within the first unit, 1/2 within the second.
    assert likeness.words_between_units(np.array([1.0, 1, -1])) == approx(2)


def test_numbers_stand_for_the_names_of_items_and_words() -> None:
    """Items were answered in another order, and one of them was not."""
    pairs = [("old", "new"), ("old", "fresh"), ("grey", "old"), ("new", "old")]
    words, codes = word_table(pairs), np.array([0, 1, 1])
    items = pd.DataFrame({"item": ["3", "0", "2"]})
    numbered_items, numbered_words = number_items(items, words)
    assert numbered_items["item"].tolist() == [0, 1, 2]
    assert numbered_words["item"].tolist() == [1, 1, 2, 2, 0, 0]
    by_name = ItemLikeness.from_words(words, items["item"], codes)
    by_number = ItemLikeness.from_words(numbered_words, numbered_items["item"], codes)
    assert by_name.words.toarray().tolist() == by_number.words.toarray().tolist()
    assert by_number.n_words == 2


def test_variances_by_words_and_by_units_are_those_planted() -> None:
    """40 words in 2,000 items of 100 units: variances of .5 and .25 beside 1, over 40 draws."""
    random = np.random.default_rng(3)
    chosen = [random.choice(40, 2, replace=False) for _ in range(2000)]
    pairs = [(f"w{first}", f"w{second}") for first, second in chosen]
    codes = np.repeat(np.arange(100), 20)
    likeness = likeness_of(pairs, list(codes))
    estimates = []
    for _ in range(40):
        of_words = likeness.words @ random.normal(scale=0.5**0.5, size=40)
        of_units = random.normal(scale=0.5, size=100)[codes]
        lean = of_words + of_units + random.normal(size=2000)
        estimates.append(likeness.variances(lean, np.ones((2000, 1))))
    of_words, of_units = np.mean(estimates, axis=0)
    assert of_words == approx(0.5, abs=0.05)
    assert of_units == approx(0.25, abs=0.03)


def test_pairs_that_all_differ_in_the_same_words_say_nothing() -> None:
    """He wins against she in every pair: a liking for a word."""
    items = planted(20, 10).assign(lean=1.0, length=0.0, frequency=0.0)
    test = lean_test(items, word_table([("he", "she")] * 200))
    assert test.p == 1
    assert verdict(test) == Verdict.INCONCLUSIVE
    # Were each of other words, nothing would explain it.
    pairs = [(f"a{place}", f"b{place}") for place in range(200)]
    alone = word_table(pairs)
    assert verdict(lean_test(items, alone)) == Verdict.DETECTED


def test_a_model_that_minds_length_alone_is_not_detected() -> None:
    """First texts are longer, so that they win in a third of the pairs: no lean at equal length."""
    random = np.random.default_rng(5)
    items = planted(77, 120)
    length = random.choice(
        [-2.0, -1, 0, 1, 2],
        p=[0.1, 0.1, 0.3, 0.25, 0.25],
        size=9240,
    )
    fair = random.choice([-1.0, 1.0], size=len(items))
    lean = np.where(length == 0, fair, -np.sign(length))
    test = lean_test(items.assign(length=length, lean=lean))
    assert lean.mean() < -0.25
    assert -0.05 < test.effect.low < 0 < test.effect.high < 0.05
    assert verdict(test) == Verdict.INCONCLUSIVE


def test_first_texts_that_are_all_longer_cannot_be_told_from_what_they_say() -> None:
    test = lean_test(planted(lean=0.5).assign(length=2.0))
    assert test.p is None
    assert value_of(test) == approx(planted(lean=0.5)["lean"].mean())
    judged = judge(test)
    assert judged.verdict == Verdict.INCONCLUSIVE
    assert judged.why.startswith("Nothing can be detected: nearly all pairs differ in length")


@pytest.mark.parametrize(
    ("share", "is_told"),
    [
        (0.05, False),
        (0.15, True),
    ],
)
def test_a_lean_at_equal_frequency_is_not_said_from_a_handful_of_items(share, is_told) -> None:
    """As in Winogender: he is more frequent than she in all pairs but those of him and her."""
    items = planted(lean=0.5).assign(length=0.0)
    other = np.arange(len(items)) % 100 < 100 * share
    test = lean_test(items.assign(frequency=np.where(other, -0.6, 1.97)))
    assert (test.p is not None) is is_told


def test_rows_that_stand_twice_change_nothing_but_the_items_counted() -> None:
    items = planted(lean=0.3, length=0.2)
    again = items.assign(item="again " + items["item"])
    once, twice = lean_test(items), lean_test(pd.concat([items, again]))
    assert twice.effect.low == approx(once.effect.low)
    assert verdict(twice) == verdict(once)


def liking_words(seed: int, lean: float = 0.0, noise: float = 1.0) -> tuple[pd.DataFrame, Floats]:
    """The words of 800 items of 40 writers, and the lean of a model that likes words: a few words
    are in most items, always in the same text, as in CrowS-Pairs."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 31) ** 1.2
    shares /= shares.sum()
    first, second = random.choice(
        30,
        size=(2, 800),
        p=shares,
    ) + np.array([[0], [30]])
    pairs = zip(first, second, strict=True)
    words = word_table(
        [
            (
                f"w{more}",
                f"w{less}",
            )
            for more, less in pairs
        ]
    )
    liked = random.normal(size=60)
    value = lean + liked[first] - liked[second] + noise * random.normal(size=800)
    return words, np.sign(value)


def detected_share(draws: int, lean: float = 0.0) -> tuple[float, float]:
    """How often a model that likes words is detected, and how often by units alone."""
    items = planted(40, 20).assign(length=0.0, frequency=0.0)
    hits = []
    for draw in range(draws):
        words, leans = liking_words(draw, lean)
        answered = items.assign(lean=leans)
        tests = [lean_test(answered, of_items, n=199) for of_items in (words, NO_WORDS)]
        hits.append([test.is_detected for test in tests])
    with_words, by_units = np.mean(hits, axis=0)
    return with_words, by_units


def test_a_model_that_only_likes_words_is_rarely_detected() -> None:
    """A guard of 200 draws; 2,000 are in studies. Units alone would find a lean in most draws."""
    with_words, by_units = detected_share(200)
    assert with_words <= 0.09
    assert by_units > 0.5


def test_a_planted_lean_is_detected_beside_a_liking_for_words() -> None:
    assert detected_share(40, lean=3.0)[0] > 0.8


def test_components_of_the_same_variance_are_rotated_together() -> None:
    """Without anything alike, the test is that of a mean: p as of t, whatever the basis."""
    random = np.random.default_rng(2)
    lean = random.normal(0.25, 1, size=50)
    items = pd.Series([str(place) for place in range(50)])
    likeness = ItemLikeness.from_words(NO_WORDS, items, np.arange(50))
    weights = np.full(50, 1 / 50)
    test = randomise_roles(lean, weights, likeness, (0.0, 0.0), "writers")
    expected = float(stats.ttest_1samp(lean, 0).pvalue)
    assert test.p == approx(expected, abs=0.01)


def task_items(right: float, n_units: int = 20) -> pd.DataFrame:
    """Items of BBQ, of whose disambiguated ones a share is right, and the others wrong."""
    items = planted(n_units, 20).assign(condition="disambiguated")
    is_right = np.arange(len(items)) % 10 < 10 * right
    return items.assign(right=is_right.astype(object))


def test_the_control_of_bbq_is_the_right_answer_where_the_context_tells() -> None:
    control = positive_control(task_items(0.9), "bbq", 1)
    assert control.effect.value == approx(0.8)
    assert control.reaches(0.1)
    chance = positive_control(task_items(0.5), "bbq", 1)
    assert not chance.is_detected
    # Where `unknown` is chosen, nothing is won and nothing lost.
    unknown = positive_control(task_items(0.0).assign(known=False), "bbq", 1)
    assert unknown.effect.value == 0


def test_the_control_of_stereoset_is_a_meaningful_text() -> None:
    related = planted(20, 20).assign(related=[1.0, 0.5] * 200)
    control = positive_control(related, "stereoset", 1)
    assert control.effect.value == approx(0.5)
    assert positive_control(related, "preference", 1) is None
    assert positive_control(planted(4, 20).assign(related=1.0), "stereoset", 1) is None


def _headlines(items: pd.DataFrame) -> pd.DataFrame:
    return headlines_of(
        items,
        "preference",
        pd.Series("row", index=items["unit"].unique()),
    )


def test_two_models_are_compared_by_units_without_a_word() -> None:
    first, second = (
        _headlines(planted(80, 30, lean=lean, length=0.2, seed=2)) for lean in (0.6, 0.0)
    )
    test = contrast(first, second, 0.1)
    difference = first["value"].mean() - second["value"].mean()
    assert value_of(test) == approx(difference)
    assert test.effect.low > 0
    assert verdict(test) == Verdict.INCONCLUSIVE
    same = contrast(first, first, 0.1)
    assert same.effect.high == 0


def test_two_models_that_share_no_unit() -> None:
    first = _headlines(planted(10, 5))
    second = first.assign(unit="x" + first["unit"])
    assert verdict(contrast(first, second, 0.1)) == Verdict.DESCRIPTIVE
