"""The gain of probes: known slopes come back, and verdicts follow from what was planted."""

import math
from dataclasses import astuple, replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from evenruler.instruments.probes.diagnose.gain import (
    NO_LIKENESS,
    NO_NULL_OF_KEYS,
    Scores,
    contrast,
    detectable_at_common_length,
    gain_beyond_rivals,
    gain_headline,
    measure_sharpness,
    trait_rows,
)
from evenruler.measurement import slopes
from evenruler.measurement.slopes import logit_positions
from evenruler.measurement.verdicts import HeadlineTest, judge
from tests.instruments.near import approx

Floats = NDArray[np.float64]

POLES = np.repeat(np.array([1, -1], dtype=np.int8), 6)
AXIS = np.linspace(2, 98, 25)
PLACE = logit_positions(AXIS)
HALVES = np.where(POLES == 1, 0.5, -0.5)
"""What words add to scores for a difference of 1 between the groups."""


def lines(
    slopes: Floats, seed: int = 0, noise: float = 0.0, place: Floats = PLACE, templates: int = 4
) -> Floats:
    """[attributes, templates, words] of lines along the criterion, sharp where attributes lie
    apart.
    """
    random = np.random.default_rng(seed)
    of_attributes = np.random.default_rng(99)
    plausible = of_attributes.normal(0, 1, (len(place), 1, 1))
    scores: Floats = place[:, None, None] * slopes + plausible
    return scores + random.normal(0, noise, (len(place), templates, len(slopes)))


def likeness(seed: int = 5, n: int = 25, nouns: int = 60) -> Floats:
    """[attributes, nouns] scores with nouns: a few ways in which attributes are alike, and noise."""
    random = np.random.default_rng(seed)
    ways = random.normal(size=(n, 6)) * [3, 2, 1.5, 1, 1, 1]
    loadings = random.normal(size=(6, nouns))
    scores: Floats = ways @ loadings + random.normal(size=(n, nouns))
    return scores


def targets(values: Floats, axis: Floats = AXIS, alike: Floats | None = None) -> Scores:
    units = [f"unit {place}" for place in range(len(axis))]
    return Scores(values, axis, POLES, ["nouns"] * 12, units, None, alike)


def test_slopes_without_noise_come_back_exactly() -> None:
    of_men = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0]
    of_women = [-0.3, -0.4, -0.2, -0.3, -0.35, -0.25]
    of_words = np.array([of_men, of_women])
    figure = gain_headline(targets(lines(of_words.ravel())))
    assert figure.effect is not None
    variances = of_words.var(axis=1, ddof=1)
    error = math.sqrt(variances.sum() / 6)
    half = stats.t.ppf(0.975, 10) * error
    # 1.3 of 10% to 90%.
    assert astuple(figure.effect) == approx((1.3, 1.3 - half, 1.3 + half))
    assert figure.facets == {"attributes": 25, "templates": 4, "words": 12}
    assert (figure.p, figure.no_null) == (None, NO_LIKENESS)


def test_words_that_are_constants_gain_nothing() -> None:
    """Section 12, test 3: a model of word preferences has no slope."""
    constants = np.random.default_rng(1).normal(size=12)
    values = np.broadcast_to(constants, (25, 4, 12)).copy()
    figure = gain_headline(targets(values, alike=likeness()))
    assert figure.effect is not None
    assert figure.effect.value == approx(0, abs=1e-12)
    assert figure.p == 1


def test_a_gain_along_the_criterion_is_detected_to_either_side() -> None:
    for difference in (1.34, -1.34):
        figure = gain_headline(targets(lines(HALVES * difference, 1, 0.05), alike=likeness()))
        assert judge(figure).verdict == "detected"
        assert figure.null == (
            "criterion randomised spectrally over 25 attributes, 9,999 randomisations, seed 0"
        )


def test_covariates_are_held_equal() -> None:
    """A difference that follows the length of words alone is no gain, and its null says so."""
    letters = np.random.default_rng(3).normal(8, 2, 25) + 3 * PLACE
    differences = (letters[:, None, None] * HALVES).repeat(4, axis=1)
    differences += np.random.default_rng(4).normal(
        0,
        0.1,
        differences.shape,
    )
    scores = targets(differences, alike=likeness())
    biased = gain_headline(scores)
    assert biased.effect is not None
    assert biased.effect.value > 1
    figure = gain_headline(replace(scores, covariates=letters[:, None]))
    assert figure.effect is not None
    assert figure.effect.low < 0 < figure.effect.high
    assert "with 1 covariate" in str(figure.null)


def test_keyed_attributes_are_two_groups_and_have_no_null() -> None:
    keys = np.repeat([1.0, -1.0], [10, 15])
    figure = gain_headline(targets(lines(HALVES, 1, 0.05, keys), keys, likeness()))
    assert figure.effect is not None
    assert figure.effect.value == approx(2.0, abs=0.15)  # from -1 to 1
    assert (figure.p, figure.no_null, figure.no_verdict) == (None, NO_NULL_OF_KEYS, None)
    assert judge(figure).verdict == "inconclusive"
    few = np.repeat([1.0, -1.0], [20, 5])
    described = gain_headline(targets(lines(HALVES, 1, 0.05, few), few))
    assert described.no_verdict == "5 attributes of one key (at least 8 needed)"
    assert judge(described).verdict == "descriptive"


@pytest.mark.slow
def test_what_it_detects_is_what_its_test_and_its_interval_detect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of gains as large as studies say that they detect, some 8 in 10 are detected."""
    alike = likeness()

    def study(size: float, seed: int) -> HeadlineTest:
        scores = lines(HALVES * size, seed, 1.2, templates=16)
        return gain_headline(targets(scores, alike=alike))

    sizes = [study(0, seed).detects for seed in range(8)]
    monkeypatch.setattr(slopes, "detectable_slope", lambda *_: 0.0)  # not needed, and slow
    size = np.mean(np.array(sizes, dtype=float))
    detected = [study(size, 100 + seed).is_detected for seed in range(60)]
    assert 0.7 < np.mean(detected) <= 0.9


class TestRivals:
    @pytest.mark.parametrize(("of_rival", "left"), [(0.0, 2.0), (1.0, 0.0)])
    def test_what_rivals_gain_is_taken_away(self, of_rival: float, left: float) -> None:
        """The gain of the construct is 2; the words of both are the same."""
        keys = np.repeat([1.0, -1.0], 10)
        words = np.random.default_rng(1).normal(0, 0.05, 12)
        construct = targets(lines(HALVES + words, 1, 0.1, keys), keys)
        rival = targets(lines(HALVES * of_rival + words, 2, 0.1, keys), keys)
        figure = gain_beyond_rivals(construct, rival, 0.95)
        assert (figure.figure, figure.n) == ("gain_beyond_rivals", 20)
        assert figure.value == approx(left, abs=0.15)
        assert figure.low < left < figure.high  # type: ignore[operator]


class TestAtCommonLength:
    def test_at_its_own_length_it_is_what_the_variance_says(self) -> None:
        random = np.random.default_rng(7)
        scores = lines(HALVES, 3, 0.3, templates=8)
        scores = scores + random.normal(0, 0.4, (25, 1, 12))
        scores = scores + random.normal(0, 0.3, (25, 8, 1)) * POLES
        figure = gain_headline(targets(scores))
        assert figure.effect is not None
        detectable = detectable_at_common_length(targets(scores))
        assert detectable is not None
        # An interval is .975 of t, what is found in 80 of 100 the .8 more: 2.8 to 3.3 for 1.96 to
        # 2.3.
        half = (figure.effect.high - figure.effect.low) / 2
        assert 1.35 < detectable / half < 1.45

    def test_a_criterion_that_is_the_same_for_all_has_none(self) -> None:
        scores = lines(np.ones(12))
        assert detectable_at_common_length(targets(scores, np.ones(25))) is None

    def test_a_single_template_has_none(self) -> None:
        assert detectable_at_common_length(targets(lines(HALVES, templates=1))) is None


def long(scores: Floats, poles: NDArray[np.int8], group: str = "words") -> pd.DataFrame:
    """Rows as `tables.schemas.HEADLINES` has them."""
    unit, template, word = np.indices(scores.shape).reshape(3, -1)
    units = [f"unit {place:02}" for place in unit]
    words = [f"{group} {place:02}" for place in word]
    templates = template.astype(str)
    return pd.DataFrame(
        {
            "unit": units,
            "at": templates,
            "word": words,
            "group": group,
            "pole": poles[word],
            "axis_position": AXIS[unit],
            "value": scores.ravel(),
        }
    )


def model_rows(gain: float, seed: int = 5, sharper: float = 1.0) -> pd.DataFrame:
    """What the gain of a model is made of. All models agree but for `gain`, noise and sharpness."""
    of_words = HALVES * gain + np.random.default_rng(1).normal(0, 0.05, 12)
    words = long(sharper * lines(of_words, seed, 0.05), POLES)
    no_poles = np.zeros(60, dtype=np.int8)
    nouns = long(sharper * likeness()[:, None, :], no_poles, "reference")
    return pd.concat([words, nouns.assign(at=None)]).assign(figure="gain", model=str(seed))


def test_an_array_is_made_of_rows_whatever_their_order() -> None:
    rows = model_rows(1.0)
    scores = Scores.from_rows(rows.sample(frac=1, random_state=1))
    (value,) = rows.query("unit == 'unit 07' and at == '2' and word == 'words 10'")["value"]
    assert scores.values.shape == (25, 4, 12)
    assert scores.values[7, 2, 10] == value
    assert (scores.units[7], scores.axis[7]) == ("unit 07", AXIS[7])
    assert (scores.poles[10], scores.lists[10]) == (-1, "words")
    assert scores.likeness == approx(likeness())
    assert "unit 00" not in Scores.from_rows(rows.iloc[1:]).units


def test_rows_of_letters_frequency_and_likeness() -> None:
    nurse = {
        "attribute": "nurse",
        "word": "nurse",
        "criterion": 12.6,
        "log_frequency": 4.4,
    }
    without_criterion = {**nurse, "criterion": None, "likeness": []}
    attributes = pd.DataFrame([{**nurse, "likeness": [0.5, -1.0]}, without_criterion])
    rows = trait_rows(attributes)
    traits = rows[["group", "word", "value"]].to_numpy().tolist()
    assert traits == [
        ["covariates", "letters", 5.0],
        ["covariates", "log_frequency", 4.4],
        ["likeness", "component 1", 0.5],
        ["likeness", "component 2", -1.0],
    ]
    assert set(rows["axis_position"]) == {12.6}


def with_covariates(rows: pd.DataFrame, lacking: int) -> pd.DataFrame:
    """With letters of all attributes, and the log frequency of all but the first few."""
    units = rows.drop_duplicates("unit").assign(pole=0, at=None, group="covariates")
    tables = [units.assign(word=word) for word in ("letters", "log_frequency")]
    random = np.random.default_rng(3)
    covariates = [table.assign(value=random.normal(size=len(table))) for table in tables]
    return pd.concat([rows, covariates[0], covariates[1][lacking:]])


def test_a_headline_says_which_covariate_attributes_lack() -> None:
    lacking, whole = (with_covariates(model_rows(1.0), n) for n in (2, 0))
    figure = gain_headline(Scores.from_rows(lacking))
    says = "Not at equal log frequency, missing for 2 of 25 attributes."
    assert figure.note == says
    assert Scores.from_rows(lacking).covariates.shape == (25, 1)
    assert gain_headline(Scores.from_rows(whole)).note is None
    compared = compare_models(lacking, with_covariates(model_rows(2.0, 7), 0))
    assert str(compared.note).startswith(f"{says} At equal sharpness")


def compare_models(first: pd.DataFrame, second: pd.DataFrame) -> HeadlineTest:
    return contrast(first, second, math.log(2))


class TestTwoModels:
    def test_one_that_says_the_same_twice_as_sharply_is_not_above_the_other(self) -> None:
        """Section 12, test 20: in nats it gains more, and at equal sharpness it does not."""
        figure = compare_models(model_rows(1.34, 5, sharper=2.0), model_rows(1.34, 7))
        assert figure.effect is not None
        assert figure.effect.low > 0
        assert figure.p is not None
        assert 0.05 < figure.p < 1
        assert judge(figure).verdict == "inconclusive"
        (at_equal,) = figure.also_required.values()
        assert at_equal.low < 0 < at_equal.high
        note = str(figure.note)
        assert note.startswith("At equal sharpness it is")
        assert note.endswith(f"p {figure.p:.2g}.")

    def test_one_that_gains_more_is_detected_whichever_stands_first(self) -> None:
        more, less = model_rows(2.0, 5), model_rows(1.0, 7)
        figures = [compare_models(more, less), compare_models(less, more)]
        assert [judge(figure).verdict for figure in figures] == ["detected", "detected"]
        values = [figure.effect.value for figure in figures if figure.effect is not None]
        assert values == approx([1.0, -1.0], abs=0.1)
        assert "raw and at equal sharpness" in str(figures[0].null)

    def test_what_was_asked_of_one_alone_is_left_out(self) -> None:
        more, less = model_rows(3.0, 5), model_rows(1.0, 7)
        few = compare_models(more.query("at != '3'"), less.query("unit != 'unit 00'"))
        assert few.facets == {"attributes": 24, "templates": 3, "words": 12}

    def test_without_a_reference_set_nothing_is_detected(self) -> None:
        more, less = model_rows(3.0), model_rows(1.0)
        figure = compare_models(more.query("pole != 0"), less.query("pole != 0"))
        assert (figure.p, figure.no_null) == (None, NO_LIKENESS)
        nothing = compare_models(more.head(0), less)
        assert nothing.no_verdict == "no sentence that both were asked"


def test_sharpness_is_how_far_attributes_lie_apart() -> None:
    scores = Scores.from_rows(model_rows(1.0))
    doubled = Scores.from_rows(model_rows(1.0, sharper=2.0))
    spread = math.sqrt(likeness().var(axis=0, ddof=1).mean())
    assert measure_sharpness(scores) == approx(spread)
    assert measure_sharpness(doubled) == approx(2 * spread)


def test_rows_twice_change_nothing() -> None:
    """Section 12, test 19: templates that are asked twice keep value and p."""
    rows = model_rows(1.0)
    again = rows[rows["pole"] != 0].assign(at=lambda table: table["at"] + " again")
    once, twice = (
        gain_headline(Scores.from_rows(table)) for table in (rows, pd.concat([rows, again]))
    )
    assert once.effect is not None
    assert twice.effect is not None
    assert twice.effect.value == approx(once.effect.value)
    assert twice.p == once.p
