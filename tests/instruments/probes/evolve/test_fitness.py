import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenruler.instruments.probes.declare import FitnessWeights
from evenruler.instruments.probes.evolve.fitness import fitness, hotspot, normalised, parts, telling
from evenruler.instruments.probes.evolve.population import WordGradient
from tests.later import Later

pingouin = Later("pingouin")

# Four templates on paper. Item variances over three attributes (ddof 1): 1, 1, 1, 4.
BIASES = np.array([[0, 0, 2, 0], [1, 1, 1, 2], [2, 2, 0, 4]])
GRADIENTS = [[1, 3], [2], [], [0, 0, 3]]
EMBEDDINGS = np.array([[1, 0], [0, 1], [3, 0], [3, 4]])
TOKENS = [frozenset("ab"), frozenset("ab"), frozenset("bc"), frozenset("d")]


def population(biases=BIASES, gradients=GRADIENTS, embeddings=EMBEDDINGS, tokens=TOKENS, clip=1.0) -> pd.DataFrame:
    return parts(biases, gradients, embeddings, tokens, clip)


def of_biases(biases, clip: float = 1.0) -> list[float]:
    """Contributions to alpha alone; the rest of the population is nothing special."""
    n = np.shape(biases)[1]
    return parts(biases, [[]] * n, np.ones((n, 2)), [frozenset("a")] * n, clip)["alpha_contribution"].tolist()


class TestParts:
    def test_alpha_contribution_is_minus_alpha_of_the_others_clipped(self) -> None:
        # Without the first or the second, totals 2, 4, 6 of variance 4: 3/2 (1 - 6/4) = -0.75.
        # Without the third, totals 0, 4, 8 of variance 16: 3/2 (1 - 6/16) = 0.9375.
        # Without the fourth, totals 2, 3, 4 of variance 1: 3/2 (1 - 3/1) = -3, which is clipped to -1.
        assert population()["alpha_contribution"].tolist() == pytest.approx([0.75, 0.75, -0.9375, 1], abs=1e-6)

    def test_the_clip(self) -> None:
        assert of_biases(BIASES, clip=0.8) == pytest.approx([0.75, 0.75, -0.8, 0.8], abs=1e-12)
        assert of_biases(BIASES, clip=5) == pytest.approx([0.75, 0.75, -0.9375, 3], abs=1e-12)

    def test_gradient_focus_is_the_variance_of_gradients(self) -> None:
        # Of 1 and 3 around 2: 1. Of one word and of none: 0. Of 0, 0 and 3 around 1: (1 + 1 + 4) / 3 = 2.
        assert population()["gradient_focus"].tolist() == pytest.approx([1, 0, 0, 2], abs=1e-12)

    def test_semantic_diversity(self) -> None:
        # Cosines 1-2: 0, 1-3: 1, 1-4: 0.6, 2-3: 0, 2-4: 0.8, 3-4: 0.6; means with the others 8/15, 4/15, 8/15, 2/3.
        expected = [7 / 15, 11 / 15, 7 / 15, 5 / 15]
        assert population()["semantic_diversity"].tolist() == pytest.approx(expected, abs=2e-6)

    def test_lexical_diversity(self) -> None:
        # Jaccard 1-2: 1, 1-3 and 2-3: 1/3, the fourth shares nothing; means 4/9, 4/9, 2/9, 0.
        expected = [5 / 9, 5 / 9, 7 / 9, 1]
        assert population()["lexical_diversity"].tolist() == pytest.approx(expected, abs=2e-6)

    @given(arrays(np.float64, (6, 5), elements=st.integers(-50, 50).map(lambda n: n / 8)), st.permutations(range(5)))
    def test_a_template_has_its_parts_wherever_it_stands(self, biases, order) -> None:
        found = of_biases(biases)

        assert of_biases(biases[:, order]) == pytest.approx([found[i] for i in order], abs=1e-6)


class TestAlphaContribution:
    @pytest.mark.parametrize("seed", range(5))
    def test_alpha_is_that_of_pingouin(self, seed: int) -> None:
        biases = np.random.default_rng(seed).normal(size=(9, 6)) + np.arange(9)[:, None] / 4
        expected = [
            -np.clip(pingouin.cronbach_alpha(pd.DataFrame(np.delete(biases, i, axis=1)))[0], -1, 1) for i in range(6)
        ]

        assert of_biases(biases) == pytest.approx(expected, abs=2e-6)

    def test_the_template_that_goes_with_no_other_contributes_least(self) -> None:
        shared = np.arange(8.0)
        noise = np.random.default_rng(0).normal(size=(8, 4))
        biases = np.column_stack([noise[:, 0] * 3, shared + noise[:, 1], shared + noise[:, 2], shared + noise[:, 3]])
        found = of_biases(biases)

        assert int(np.argmin(found)) == 0

    def test_without_which_nothing_is_measured_counts_as_the_clip(self) -> None:
        # The first two add up to 2 for every attribute: alpha without the third has no value.
        biases = np.array([[0, 2, 5], [1, 1, 1], [2, 0, 4]])

        assert of_biases(biases, clip=0.9)[2] == 0.9

    @pytest.mark.parametrize("shape", [(5, 2), (5, 1), (1, 4), (1, 1)])
    def test_too_few_to_have_an_alpha_without_one(self, shape) -> None:
        biases = np.random.default_rng(0).normal(size=shape)

        assert of_biases(biases, clip=0.7) == [0.7] * shape[1]

    def test_no_negative_zero(self) -> None:
        # Of two uncorrelated items of the same variance alpha is 0.
        biases = np.array([[1, 1, 0], [1, -1, 2], [-1, 1, 4], [-1, -1, 1]])
        found = of_biases(biases)[2]

        assert found == 0
        assert not np.signbit(found)


def test_a_template_alone_differs_from_none() -> None:
    found = parts([[1.0], [2.0]], [[1, 2]], [[1.0, 0.0]], [frozenset("a")], 1.0)

    assert found.iloc[0].tolist() == [1, 0.25, 0, 0]
    assert normalised(found).to_numpy().tolist() == [[0.5] * 4]
    assert fitness(found, FitnessWeights())["fitness"].tolist() == pytest.approx([0.5])


def test_as_many_of_each_as_there_are_templates() -> None:
    with pytest.raises(ValueError, match=r"biases, gradients, embeddings and token sets of \[3, 4\] templates"):
        population(gradients=GRADIENTS[:3])


class TestNormalised:
    def test_the_least_is_0_and_the_greatest_is_1(self) -> None:
        # Alpha: 1.6875 of 1.9375 is 27/31. Semantic: 2 of 6 fifteenths. Lexical: 2 of 4 ninths.
        found = normalised(population())

        assert found["alpha_contribution"].tolist() == pytest.approx([27 / 31, 27 / 31, 0, 1], abs=1e-6)
        assert found["gradient_focus"].tolist() == pytest.approx([0.5, 0, 0, 1], abs=1e-12)
        assert found["semantic_diversity"].tolist() == pytest.approx([1 / 3, 1, 1 / 3, 0], abs=3e-6)
        assert found["lexical_diversity"].tolist() == pytest.approx([0, 0, 0.5, 1], abs=1e-12)

    @pytest.mark.parametrize(
        "values", [[0, 0, 0], [3, 3, 3], [-2], [0.1 + 0.2, 0.3, 0.3], [0, 1e-16], [0, 1e-12], [1e9, 1e9 + 1e-6]]
    )
    def test_where_all_are_equal_but_for_rounding_it_is_a_half(self, values) -> None:
        assert normalised(pd.DataFrame({"one": values}))["one"].tolist() == [0.5] * len(values)

    @pytest.mark.parametrize(("origin", "unit"), [(0.0, 1e-12), (1000.0, 1e-9), (-1000.0, 1e-9)])
    def test_rounding_is_a_trillionth_of_the_largest_or_of_one(self, origin: float, unit: float) -> None:
        values = pd.DataFrame({"equal": [origin, origin + 0.9 * unit], "different": [origin, origin + 1.1 * unit]})

        assert normalised(values)["equal"].tolist() == [0.5, 0.5]
        assert normalised(values)["different"].tolist() == [0, 1]

    def test_small_differences_are_differences(self) -> None:
        assert normalised(pd.DataFrame({"one": [1e-9, 3e-9, 5e-9]}))["one"].tolist() == pytest.approx([0, 0.5, 1])

    @given(st.lists(st.integers(-1000, 1000), min_size=2), st.integers(1, 50), st.integers(-500, 500))
    def test_neither_unit_nor_origin_counts_and_order_stays(self, values, scale, origin) -> None:
        one = pd.Series(values, dtype=np.float64)
        found = normalised(pd.DataFrame({"one": one, "two": one * scale / 7 + origin}))

        assert found["two"].tolist() == pytest.approx(found["one"].tolist(), abs=1e-9)
        assert found["one"].rank().tolist() == one.rank().tolist()
        extremes = (0.5, 0.5) if one.nunique() == 1 else (0, 1)
        assert (found["one"].min(), found["one"].max()) == extremes


class TestFitness:
    def test_equation_two_with_the_weights_of_table_5(self) -> None:
        # .2 * 27/31 + .1 * .5 + .4 / 3; .2 * 27/31 + .4; .4 / 3 + .3 * .5; .2 + .1 + .3.
        expected = [5.4 / 31 + 0.05 + 0.4 / 3, 5.4 / 31 + 0.4, 0.4 / 3 + 0.15, 0.6]

        assert fitness(population(), FitnessWeights())["fitness"].tolist() == pytest.approx(expected, abs=2e-6)

    @pytest.mark.parametrize(
        ("weight", "column"),
        [
            ("alpha", "alpha_contribution"),
            ("gradient_focus", "gradient_focus"),
            ("semantic_diversity", "semantic_diversity"),
            ("lexical_diversity", "lexical_diversity"),
        ],
    )
    def test_each_weight_is_of_its_part(self, weight: str, column: str) -> None:
        zero = {"alpha": 0, "gradient_focus": 0, "semantic_diversity": 0, "lexical_diversity": 0}
        found = fitness(population(), FitnessWeights(**(zero | {weight: 7})))["fitness"]

        assert found.tolist() == pytest.approx(normalised(population())[column].tolist(), abs=1e-6)

    def test_it_is_the_sum_of_what_the_parts_add(self) -> None:
        found = fitness(population(), FitnessWeights())

        assert found.drop(columns="fitness").sum(axis=1).tolist() == pytest.approx(found["fitness"].tolist(), abs=3e-6)
        assert found["gradient_part"].tolist() == pytest.approx([0.05, 0, 0, 0.1])

    def test_last_bits_change_nothing(self) -> None:
        moved = population(
            BIASES * (1 + 1e-13), [[g + 1e-13 for g in of] for of in GRADIENTS], EMBEDDINGS + np.float64(1e-13)
        )

        pd.testing.assert_frame_equal(moved, population(), check_exact=True)

    def test_only_proportions_of_weights_matter_and_other_columns_do_not(self) -> None:
        ten = FitnessWeights(alpha=2, gradient_focus=1, semantic_diversity=4, lexical_diversity=3)
        found = fitness(population(), FitnessWeights())["fitness"]

        assert fitness(population(), ten)["fitness"].tolist() == pytest.approx(found.tolist(), abs=1e-6)
        assert (
            fitness(population().iloc[:, ::-1].assign(born=9), FitnessWeights())["fitness"].tolist() == found.tolist()
        )


class TestHotspot:
    def test_the_highest(self) -> None:
        words = [WordGradient(0, "Some", 0.5), WordGradient(5, "say", 0.75), WordGradient(9, "the", 0.0)]

        assert hotspot(words) == words[1]

    @pytest.mark.parametrize("other", [0.3, 0.1 + 0.2, 0.3 - 1e-15])
    def test_the_first_of_equals_whatever_the_rounding(self, other: float) -> None:
        words = [WordGradient(0, "Some", 0.1), WordGradient(5, "say", 0.3), WordGradient(9, "the", other)]

        assert hotspot(words) == words[1]

    def test_a_difference_in_the_twelfth_decimal_is_one(self) -> None:
        words = [
            WordGradient(0, "Some", 0.3),
            WordGradient(5, "say", 0.3 + 1e-12),
            WordGradient(9, "the", 0.3 + 11e-13),
        ]

        assert telling(words) == [words[1], words[2], words[0]]

    def test_none_where_there_is_no_word(self) -> None:
        assert hotspot([]) is None
