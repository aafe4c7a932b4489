"""Randomisation tests by hand, by full enumeration, and by what must change nothing; and guards:
rates of 200 draws of section 12 of spec/controls.md, whose limit is .09."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import statsmodels.api as sm

from evenruler.measurement.randomisation import (
    detectable_slope,
    invert_spectral_randomisation,
    likeness_basis,
    randomise_criterion,
    randomise_within_items,
    rank_test,
)

UNITS, NOUNS, DRAWS, LIMIT = 43, 60, 200, 0.09

Floats = np.ndarray
EIGHT = np.arange(8.0)


def random_numbers(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


def test_a_basis_is_orthonormal_orthogonal_to_the_constant_and_ordered() -> None:
    sizes = np.arange(1, 8)[:, None]
    scores = random_numbers(1, 7, 30) * sizes + 5
    basis = likeness_basis(scores)
    assert basis.shape == (7, 6)
    assert basis.T @ basis == pytest.approx(np.eye(6), abs=1e-12)
    assert basis.sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-12)
    # Components of what is left when units and words have given theirs.
    centred = scores - scores.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    covariances = basis.T @ centred @ centred.T @ basis
    variances = np.diag(covariances)
    assert covariances == pytest.approx(np.diag(variances), abs=1e-9)
    assert (np.diff(variances) < 0).all()


def test_with_fewer_words_than_units_the_basis_is_whole_and_has_no_constant() -> None:
    basis = likeness_basis(random_numbers(2, 9, 3))
    assert basis.T @ basis == pytest.approx(np.eye(8), abs=1e-12)
    assert basis.sum(axis=0) == pytest.approx(np.zeros(8), abs=1e-12)


@pytest.mark.parametrize("n_covariates", [0, 1])
def test_p_is_the_share_of_all_signs_with_as_large_a_t_of_hc3(n_covariates: int) -> None:
    basis = likeness_basis(random_numbers(3, 8, 12))
    criterion, scores = random_numbers(4, 8), random_numbers(5, 8)
    covariates = random_numbers(6, 8, n_covariates)
    fixed = np.column_stack([np.ones(8), covariates])
    directions, _ = np.linalg.qr(np.column_stack([fixed, basis]))
    axes = directions[:, fixed.shape[1] :]
    loadings = axes.T @ criterion

    def t_of_hc3(signs: tuple[int, ...]) -> float:
        randomised = axes @ (signs * loadings)
        fit = sm.OLS(scores, np.column_stack([randomised, fixed])).fit(cov_type="HC3")
        return abs(float(fit.tvalues[0]))

    all_signs = itertools.product([1, -1], repeat=len(loadings))
    every = [t_of_hc3(signs) for signs in all_signs]
    expected = np.mean(np.array(every) >= every[0] - 1e-9)
    assert 0.1 < expected < 0.9
    p = randomise_criterion(scores, criterion, basis, covariates if n_covariates else None).p
    assert p == pytest.approx(expected, abs=0.02)


def test_a_slope_that_one_unit_decides_has_a_p_of_1() -> None:
    criterion = np.where(EIGHT == 3, 1.0, 0.0)
    scores = 9 * criterion + random_numbers(5, 8) / 100
    assert randomise_criterion(scores, criterion, likeness_basis(random_numbers(3, 8, 12))).p == 1


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ([0.0, 1, 5], 1 / 6),
        ([1.0, 0, 5], 2 / 6),
    ],
)
def test_a_free_randomisation_is_the_permutation_test(
    criterion: list[float], expected: float
) -> None:
    # Six orders of 0, 1 and 5 have these products with -2, -1 and 3: 14, 13, -11, -7, -7, -2.
    p = randomise_criterion(
        [0.0, 1, 5],
        criterion,
        None,
        n=20_000,
    ).p
    assert p == pytest.approx(expected, abs=0.015)


def test_scores_that_follow_the_criterion_have_the_smallest_p() -> None:
    basis, criterion = likeness_basis(random_numbers(5, 30, 50)), random_numbers(6, 30)
    test = randomise_criterion(3 - 2 * criterion, criterion, basis, units="attributes")
    assert test.p == 1 / 10_000
    over = "criterion randomised spectrally over 30 attributes"
    assert test.null == f"{over}, 9,999 randomisations, seed 0"


@pytest.mark.parametrize("with_basis", [True, False])
@pytest.mark.parametrize("n_covariates", [0, 2])
def test_units_directions_and_reference_words_of_scores_change_no_p(
    with_basis: bool, n_covariates: int
) -> None:
    nouns, scores = random_numbers(7, 20, 40), random_numbers(8, 20)
    criterion = np.arange(20) ** 1.5
    covariates = random_numbers(9, 20, n_covariates)

    def p(x: Floats, y: Floats, words: Floats = nouns, z: Floats = covariates) -> float:
        basis = likeness_basis(words) if with_basis else None
        return randomise_criterion(
            x,
            y,
            basis,
            z if n_covariates else None,
            n=499,
        ).p

    expected = p(scores, criterion)
    assert 0.01 < expected < 0.99
    assert p(7 - 2 * scores, 3 - criterion / 9, 2 * nouns) == expected
    # Reference words doubled, in another order.
    doubled = np.hstack([nouns[:, ::-1], nouns])
    assert p(scores, criterion, doubled) == expected
    assert p(scores, criterion, nouns, 1000 - 5 * covariates) == expected
    # What covariates explain is no part of scores or criterion.
    moved = covariates.sum(axis=1)
    assert p(scores + 9 * moved, criterion - moved) == expected
    # A covariate that others explain, and one that does not vary, add nothing.
    redundant = np.column_stack([covariates, moved + 1, np.ones(20)])
    assert p(scores, criterion, nouns, redundant) == expected


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"criterion": np.ones(8)}, "does not vary"),
        ({"criterion": EIGHT, "covariates": EIGHT * 2 + 1}, "does not vary"),
        ({"criterion": np.arange(7.0)}, "8 scores and 7 criterion values"),
        ({"scores": [1, 2, math.nan, 4, 5, 6, 7, 8]}, "finite"),
        ({"covariates": np.arange(7.0)}, "a row for each of 8 units"),
        ({"basis": np.eye(8)[:, :7]}, "orthogonal to the constant"),
        ({"basis": np.eye(8)}, "8 x 7"),
        ({"n": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_randomised_is_refused(changed: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "scores": random_numbers(16, 8),
        "criterion": np.arange(8.0),
        "basis": likeness_basis(random_numbers(17, 8, 20)),
    }
    with pytest.raises(ValueError, match=message):
        randomise_criterion(**{**arguments, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own_answers", "other_answers", "expected"),
    [
        # Of four labels of 10, 0, 1 and 3, no other one is as far apart as 10.
        ([[10.0]], [[0.0, 1, 3]], 1 / 4),
        # t of 4, 6 | 0, 1 is 4.5 / sqrt(1.25); 4, 0 | 6, 1 has 1.5 / sqrt(10.25) and 4, 1 | 6, 0
        # has .5 / sqrt(11.25); and each the other way round.
        ([[4.0, 6]], [[0.0, 1]], 2 / 6),
        ([[4.0, 0]], [[6.0, 1]], 4 / 6),
        # Of 36 labels of two such items, the two that put both the same way.
        (
            [[4.0, 6]] * 2,
            [[0.0, 1]] * 2,
            2 / 36,
        ),
    ],
)
def test_labels_within_items_by_hand(
    own_answers: list[list[float]], other_answers: list[list[float]], expected: float
) -> None:
    _, test = randomise_within_items(
        own_answers,
        other_answers,
        n=20_000,
    )
    assert test.p == pytest.approx(expected, abs=0.015)


def test_the_difference_has_the_variance_of_welch_over_items() -> None:
    own_answers = np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 7.0]])
    other_answers = np.array([[0.0, 2.0], [1.0, 1.0]])
    estimate, test = randomise_within_items(own_answers, other_answers, n=99, seed=3)
    # Item by item 2 - 1 and 5 - 1; variances 1/3 + 2/2 and 3/3 + 0, over the square of two items.
    assert estimate.value == pytest.approx(2.5)
    variances = 1 / 3 + 1 + 1 + 0
    assert estimate.variance == pytest.approx(variances / 4)
    # Satterthwaite: (7/3)^2 over 1/9 / 2, 1 / 1 and 1 / 2.
    of_parts = 1 / 18 + 1 + 1 / 2
    assert estimate.df == pytest.approx((7 / 3) ** 2 / of_parts)
    assert (
        test.null
        == "labels of 3 and 2 answers randomised within 2 items, 99 randomisations, seed 3"
    )


def test_a_single_answer_on_a_side_has_the_variance_within_both() -> None:
    other_answers = [[0.0, 1.0, 2.0], [1.0, 1.0, 4.0]]
    estimate, _ = randomise_within_items([[3.0], [1.0]], other_answers, n=9)
    # 3 - 1 and 1 - 2; variances 1 and 3, times 1 + 1/3, over the square of two items.
    assert estimate.value == pytest.approx(0.5)
    assert estimate.variance == pytest.approx((1 + 3) * (4 / 3) / 4)
    of_parts = 1 / 2 + 9 / 2
    assert estimate.df == pytest.approx((1 + 3) ** 2 / of_parts)


def test_units_items_levels_and_sides_of_answers_change_no_p() -> None:
    own_answers = random_numbers(19, 7, 3) + 0.3
    other_answers = random_numbers(20, 7, 3)
    estimate, test = randomise_within_items(own_answers, other_answers, n=999)
    assert 0.01 < test.p < 0.99
    levels = random_numbers(21, 7, 1) * 4
    opposite, again = randomise_within_items(
        levels - 2 * own_answers, levels - 2 * other_answers, n=999
    )
    assert again.p == test.p
    assert opposite.value == pytest.approx(-2 * estimate.value)
    assert opposite.p() == pytest.approx(estimate.p())


def test_answers_that_do_not_vary_differ_by_nothing_or_always() -> None:
    other_answers = np.full((7, 6), 0.1)
    alike, test = randomise_within_items(np.full((7, 3), 0.1), other_answers, n=99)
    assert test.p == 1
    assert alike.value == pytest.approx(0, abs=1e-12)
    apart, test = randomise_within_items(np.full((7, 3), 0.7), other_answers, n=99)
    assert test.p == 0.01
    assert apart.interval().low == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("own_answers", "other_answers", "message"),
    [
        (np.ones((2, 1)), np.ones((2, 1)), "1 and 1 answers"),
        (np.ones((2, 2)), np.ones((3, 2)), "same items"),
        (np.ones((2, 3)), np.ones((2, 0)), "3 and 0 answers"),
        (np.ones(3), np.ones(3), "same items"),
        (np.full((2, 2), math.inf), np.eye(2), "finite"),
    ],
)
def test_answers_that_cannot_be_compared_are_refused(
    own_answers: Floats, other_answers: Floats, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        randomise_within_items(own_answers, other_answers)


def test_each_of_forty_exchangeable_values_has_its_rank_as_p() -> None:
    values = np.random.default_rng(22).standard_t(2, 40)
    p_values = []
    for k in range(40):
        alternatives = np.delete(values, k)
        p_values.append(rank_test(values[k], alternatives).p)
    ranks = np.arange(1, 41) / 40
    assert np.sort(np.array(p_values, dtype=float)) == pytest.approx(ranks)
    assert sum(p is not None and p <= 0.05 for p in p_values) == 2


def test_the_furthest_of_twenty_has_a_p_of_a_twentieth_and_of_nineteen_none() -> None:
    test = rank_test(-9.0, np.arange(19))
    assert (test.p, test.less_far, test.null) == (0.05, 19, "rank among 19 alternatives")
    assert test.lacking is None
    fewer = rank_test(-9.0, np.arange(18))
    assert (fewer.p, fewer.less_far) == (None, 18)
    assert fewer.lacking == "18 alternatives (at least 19 needed)"


def test_equal_distances_are_ties_that_count_as_far() -> None:
    assert rank_test(0.0, [1.0] * 10 + [0.0] * 9).p == 1
    assert rank_test(0.1 + 0.2, [0.3] * 20).p == 1
    alternatives = [-3.0, *[0.5, -0.5] * 10]
    assert rank_test(3.0, alternatives).p == pytest.approx(2 / 22)


def test_themes_are_ranked_by_their_means() -> None:
    themes = random_numbers(23, 39, 3)
    test = rank_test([4.0, -1.0, 3.0], themes)
    means = themes.mean(axis=1)
    assert test.p == rank_test(2.0, means).p == rank_test(2.0, themes).p
    assert test.null == "rank among 39 themes of 3 wordings"
    with pytest.raises(ValueError, match="4 wordings of the value, 3"):
        rank_test(np.ones(4), themes)
    with pytest.raises(ValueError, match="shape"):
        rank_test(np.ones(3), themes[:, 0])
    with pytest.raises(ValueError, match="finite"):
        rank_test(math.nan, themes)


def rate(draw: Callable[[np.random.Generator, int], bool], seed: int) -> float:
    """The share of draws in which something is detected."""
    random = np.random.default_rng(seed)
    return float(np.mean([draw(random, place) for place in range(DRAWS)]))


def standardised(x: Floats) -> Floats:
    z: Floats = (x - x.mean()) / x.std()
    return z


def draw_alike(random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Effects, a smooth criterion and likeness of units of which nothing follows another."""
    rest = random.normal(size=(UNITS, UNITS - 1))
    constant_first = np.column_stack([np.ones(UNITS), rest])
    axes = np.linalg.qr(constant_first)[0][:, 1:]
    sizes = np.exp(-0.07 * np.arange(UNITS - 1))
    loadings = random.normal(size=(UNITS - 1, NOUNS))
    nouns = axes @ (sizes[:, None] * loadings)
    effects = standardised(axes @ (sizes * random.normal(size=UNITS - 1)))
    in_first = axes[:, :8] @ random.normal(size=8)
    criterion = 0.82 * standardised(in_first)
    criterion = standardised(criterion + 0.57 * random.normal(size=UNITS))
    return effects, criterion, likeness_basis(nouns)


def test_guard_smooth_criteria_of_alike_units_are_detected_freely_and_not_spectrally() -> None:
    def is_detected(random: np.random.Generator, place: int) -> bool:
        effects, criterion, basis = draw_alike(random)
        axes = basis if is_spectral else None
        return randomise_criterion(effects, criterion, axes, n=199, seed=place).p < 0.05

    is_spectral = True
    assert rate(is_detected, 1) <= LIMIT
    is_spectral = False
    assert rate(is_detected, 1) > 0.15


def test_guard_units_at_the_ends_of_a_criterion_that_scatter_more_are_no_gain() -> None:
    def is_detected(random: np.random.Generator, place: int) -> bool:
        _, criterion, basis = draw_alike(random)
        scores = (0.2 + np.abs(criterion)) * random.normal(size=UNITS)
        axes = basis if is_studentised else None
        return randomise_criterion(scores, criterion, axes, n=199, seed=place).p <= 0.05

    is_studentised = True
    assert rate(is_detected, 3) <= LIMIT
    is_studentised = False
    assert rate(is_detected, 3) > 0.15


@pytest.mark.parametrize("spectral", [True, False])
def test_guard_frequency_is_detected_without_its_covariate(spectral: bool) -> None:
    def is_detected(random: np.random.Generator, place: int) -> bool:
        effects, criterion, basis = draw_alike(random)
        if not spectral:
            effects = random.normal(size=UNITS)
        frequency = 0.4 * criterion + 0.917 * random.normal(size=UNITS)
        scores = 0.8 * effects + 0.6 * frequency
        covariates = frequency if is_equal else None
        axes = basis if spectral else None
        return randomise_criterion(scores, criterion, axes, covariates, n=199, seed=place).p < 0.05

    is_equal = True
    assert rate(is_detected, 2) <= LIMIT
    is_equal = False
    assert rate(is_detected, 2) > 0.1


@pytest.mark.parametrize("kind", ["variances", "skew", "twice"])
def test_guard_exchangeable_answers_of_unequal_items(kind: str) -> None:
    sizes = np.linspace(1, 5, 7)[:, None]

    def is_detected(random: np.random.Generator, place: int) -> bool:
        answers = sizes * random.normal(size=(7, 9))
        if kind == "skew":
            answers = sizes * random.exponential(size=(7, 9))
        if kind == "twice":
            answers[:, :3] *= 2
        own_answers, other_answers = np.split(answers, [3], axis=1)
        estimate, test = randomise_within_items(own_answers, other_answers, n=199, seed=place)
        return test.p < 0.05 and estimate.p() < 0.05

    assert rate(is_detected, 4) <= LIMIT


def test_guard_alike_wordings_of_a_cue_are_a_theme() -> None:
    def draw_wordings(random: np.random.Generator) -> Floats:
        """[40 themes, 3 wordings], the cue's theme first."""
        themes = 0.8 * random.normal(size=(40, 1))
        return themes + 0.6 * random.normal(size=(40, 3))

    def is_theme_detected(random: np.random.Generator, _: int) -> bool:
        wordings = draw_wordings(random)
        p = rank_test(wordings[0], wordings[1:]).p
        return p in (1 / 40, 2 / 40)

    def are_wordings_detected(random: np.random.Generator, place: int) -> bool:
        # Wordings as if they were exchangeable, which those of a theme are not.
        wordings = draw_wordings(random)
        other_answers = wordings[1:].reshape(1, -1)
        _, test = randomise_within_items(wordings[:1], other_answers, n=199, seed=place)
        return test.p < 0.05

    assert rate(is_theme_detected, 5) <= LIMIT
    assert rate(are_wordings_detected, 5) > 0.15


@pytest.mark.parametrize("tails", ["normal", "t(3)"])
def test_guard_a_declared_name_among_known_names(tails: str) -> None:
    def is_detected(random: np.random.Generator, _: int) -> bool:
        names = random.normal(size=40) if tails == "normal" else random.standard_t(3, 40)
        scores = 0.3 * names + random.normal(size=40) / math.sqrt(20)
        p = rank_test(scores[0], scores[1:]).p
        return p is not None and p <= 0.05

    assert rate(is_detected, 6) <= LIMIT


class TestInterval:
    """The slopes that the spectral randomisation does not reject."""

    def study(self, slope: float, seed: int = 0) -> tuple[Floats, Floats, Floats]:
        random = np.random.default_rng(seed)
        nouns = random.normal(size=(20, 50)) * np.linspace(3, 0.5, 50)
        criterion = random.normal(size=20)
        scores = slope * criterion + random.normal(0, 0.5, 20)
        return scores, criterion, likeness_basis(nouns)

    def test_slopes_at_its_ends_have_a_p_of_the_level(self) -> None:
        scores, criterion, basis = self.study(0.4)
        interval = invert_spectral_randomisation(scores, criterion, basis)
        assert interval.low < interval.value < interval.high
        loadings = basis.T @ criterion
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(9999, 19))

        def p_of_slope(slope: float) -> float:
            left = loadings * (basis.T @ (scores - slope * criterion))
            as_far = np.abs(signs @ left) >= abs(left.sum())
            return (1 + int(as_far.sum())) / 10_000

        for end, inside in ((interval.low, 1e-6), (interval.high, -1e-6)):
            assert p_of_slope(end + inside) >= 0.05
            assert p_of_slope(end - inside) < 0.05 + 1e-9

    def test_it_moves_with_the_slope_and_with_nothing_else(self) -> None:
        nothing, more = self.study(0.0), self.study(1.0)
        first, second = (invert_spectral_randomisation(*study) for study in (nothing, more))
        assert second.value - first.value == pytest.approx(1)
        assert second.low - first.low == pytest.approx(1)
        assert second.high - first.high == pytest.approx(1)

    def test_at_equal_covariates_a_criterion_that_is_one_of_them_has_no_slope(self) -> None:
        scores, criterion, basis = self.study(1.0)
        with pytest.raises(ValueError, match="does not vary beside its covariates"):
            invert_spectral_randomisation(scores, criterion, basis, criterion)
        covariate = np.random.default_rng(9).normal(size=20)
        moved = invert_spectral_randomisation(scores + 5 * covariate, criterion, basis, covariate)
        plain = invert_spectral_randomisation(scores, criterion, basis, covariate)
        assert moved.value == pytest.approx(plain.value)
        assert moved.low == pytest.approx(plain.low)

    def test_of_few_units_every_slope_is_kept_and_none_is_detectable(self) -> None:
        random = np.random.default_rng(0)
        criterion = random.normal(size=6)
        basis = likeness_basis(random.normal(size=(6, 9)))
        scores = 5 * criterion + random.normal(size=6)
        # 32 choices of signs: those of the criterion and their opposite come in 1 of 16.
        interval = invert_spectral_randomisation(scores, criterion, basis)
        assert (interval.low, interval.high) == (-math.inf, math.inf)
        assert detectable_slope(scores, criterion, basis) == math.inf

    def test_a_detectable_slope_is_detected_in_8_of_10_studies(self) -> None:
        """By the test and the interval of studies that scatter like the one at hand."""
        detected: list[bool] = []
        for seed in range(3):
            scores, criterion, basis = self.study(0.4, seed)
            planted = detectable_slope(scores, criterion, basis) * criterion
            loadings = basis.T @ criterion
            rest = basis.T @ scores
            rest -= (loadings @ rest / (loadings @ loadings)) * loadings

            random = np.random.default_rng(seed)
            for place in range(DRAWS // 2):
                signs = random.choice([-1.0, 1.0], size=19)
                study = planted + basis @ (signs * rest)
                p = randomise_criterion(study, criterion, basis, n=199, seed=place).p
                interval = invert_spectral_randomisation(study, criterion, basis, n=199, seed=place)
                detected.append(p <= 0.05 and interval.low > 0)
        assert np.mean(detected) == pytest.approx(0.8, abs=0.06)
