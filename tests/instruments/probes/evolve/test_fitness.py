"""How good templates are: within their population, as parents, and together."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.instruments.probes.declare.settings import Evolve, FitnessWeights, split_attributes
from evenruler.instruments.probes.evolve import fitness as choosing
from evenruler.instruments.probes.evolve.fitness import (
    CONSTANT,
    FAR,
    REVERSED,
    CandidatePool,
    choose_best_set,
    choose_sets,
    exclusion_reasons,
    find_hotspot,
    fitness,
    guided_share,
    normalise_columns,
    pool_of,
    rank_templates,
    rank_words_by_gradient,
    raw_fitness_parts,
    set_worth,
    tournament,
)
from evenruler.instruments.probes.evolve.population import (
    Generation,
    Template,
    TemplateMeasurement,
    WordGradient,
)
from evenruler.measurement import (
    lexical_diversity,
    mean_inter_item_correlation,
    semantic_diversity,
    spearman_brown,
)
from evenruler.text import distinct_words
from tests.later import Later

pingouin = Later("pingouin")

# Four templates on paper. Item variances over three attributes (ddof 1): 1, 1, 1, 4.
BIASES = np.array([[0, 0, 2, 0], [1, 1, 1, 2], [2, 2, 0, 4]])
GRADIENTS = [[1, 3], [2], [], [0, 0, 3]]
EMBEDDINGS = np.array([[1, 0], [0, 1], [3, 0], [3, 4]])
TOKENS = [frozenset("ab"), frozenset("ab"), frozenset("bc"), frozenset("d")]


def population(
    biases=BIASES, gradients=GRADIENTS, embeddings=EMBEDDINGS, tokens=TOKENS, clip=1.0
) -> pd.DataFrame:
    return raw_fitness_parts(biases, gradients, embeddings, tokens, clip)


def of_biases(biases, clip: float = 1.0) -> list[float]:
    """Contributions to alpha alone; the rest of the population is nothing special."""
    n = np.shape(biases)[1]
    embeddings, tokens = np.ones((n, 2)), [frozenset("a")] * n
    parts = population(biases, [[]] * n, embeddings, tokens, clip)
    return parts["alpha_contribution"].tolist()


class TestParts:
    def test_alpha_contribution_is_minus_alpha_of_the_others_clipped(self) -> None:
        # Without the first or the second, totals 2, 4, 6 of variance 4: 3/2 (1 - 6/4) = -0.75.
        # Without the third, totals 0, 4, 8 of variance 16: 3/2 (1 - 6/16) = 0.9375. Without the
        # fourth, totals 2, 3, 4 of variance 1: 3/2 (1 - 3/1) = -3, which is clipped.
        assert of_biases(BIASES, clip=1) == pytest.approx([0.75, 0.75, -0.9375, 1], abs=1e-6)
        assert of_biases(BIASES, clip=0.8) == pytest.approx([0.75, 0.75, -0.8, 0.8], abs=1e-12)
        assert of_biases(BIASES, clip=5) == pytest.approx([0.75, 0.75, -0.9375, 3], abs=1e-12)

    def test_the_other_parts_by_hand(self) -> None:
        parts = population()
        # Gradients 1 and 3 around 2: 1. Of one word and of none: 0. Of 0, 0 and 3 around 1: (1 + 1
        # + 4) / 3 = 2.
        assert parts["gradient_focus"].tolist() == pytest.approx([1, 0, 0, 2], abs=1e-12)
        # Cosines 1-2: 0, 1-3: 1, 1-4: 0.6, 2-3: 0, 2-4: 0.8, 3-4: 0.6; means with the others 8/15,
        # 4/15, 8/15, 2/3.
        expected = [7 / 15, 11 / 15, 7 / 15, 5 / 15]
        assert parts["semantic_diversity"].tolist() == pytest.approx(expected, abs=2e-6)
        # Jaccard 1-2: 1, 1-3 and 2-3: 1/3, the fourth shares nothing; means 4/9, 4/9, 2/9, 0.
        expected = [5 / 9, 5 / 9, 7 / 9, 1]
        assert parts["lexical_diversity"].tolist() == pytest.approx(expected, abs=2e-6)


class TestAlphaContribution:
    @pytest.mark.parametrize("seed", range(2))
    def test_alpha_is_that_of_pingouin(self, seed: int) -> None:
        noise = np.random.default_rng(seed).normal(size=(9, 6))
        biases = noise + np.arange(9)[:, None] / 4
        frame = pd.DataFrame(biases)
        alphas = [pingouin.cronbach_alpha(frame.drop(columns=place))[0] for place in frame]

        expected = -np.clip(alphas, -1, 1)
        assert of_biases(biases) == pytest.approx(expected, abs=2e-6)

    def test_without_which_nothing_is_measured_counts_as_the_clip(self) -> None:
        # The first two add up to 2 for every attribute: alpha without the third has no value.
        biases = np.array([[0, 2, 5], [1, 1, 1], [2, 0, 4]])

        assert of_biases(biases, clip=0.9)[2] == 0.9

    @pytest.mark.parametrize("shape", [(5, 2), (1, 4)])
    def test_too_few_to_have_an_alpha_without_one(self, shape) -> None:
        biases = np.random.default_rng(0).normal(size=shape)

        assert of_biases(biases, clip=0.7) == [0.7] * shape[1]

    def test_no_negative_zero(self) -> None:
        # Of two uncorrelated items of the same variance alpha is 0.
        biases = np.array([[1, 1, 0], [1, -1, 2], [-1, 1, 4], [-1, -1, 1]])
        contribution = of_biases(biases)[2]

        assert contribution == 0
        assert not np.signbit(contribution)


def test_a_template_alone_differs_from_none() -> None:
    parts = raw_fitness_parts([[1.0], [2.0]], [[1, 2]], [[1.0, 0.0]], [frozenset("a")], 1.0)

    assert parts.iloc[0].tolist() == [1, 0.25, 0, 0]
    assert normalise_columns(parts).to_numpy().tolist() == [[0.5] * 4]
    assert fitness(parts, FitnessWeights())["fitness"].tolist() == pytest.approx([0.5])


def test_as_many_of_each_as_there_are_templates() -> None:
    with pytest.raises(
        ValueError, match=r"biases, gradients, embeddings and token sets of \[3, 4\] templates"
    ):
        population(gradients=GRADIENTS[:3])


class TestNormalised:
    @pytest.mark.parametrize(
        "values",
        [[3, 3, 3], [-2], [0.1 + 0.2, 0.3, 0.3]],
    )
    def test_where_all_are_equal_but_for_rounding_it_is_a_half(self, values) -> None:
        normalised = normalise_columns(pd.DataFrame(values))
        assert (normalised == 0.5).all(axis=None)

    @pytest.mark.parametrize(("origin", "unit"), [(0.0, 1e-12), (1000.0, 1e-9), (-1000.0, 1e-9)])
    def test_rounding_is_a_trillionth_of_the_largest_or_of_one(
        self, origin: float, unit: float
    ) -> None:
        values = pd.DataFrame(
            {"equal": [origin, origin + 0.9 * unit], "different": [origin, origin + 1.1 * unit]}
        )

        assert normalise_columns(values)["equal"].tolist() == [0.5, 0.5]
        assert normalise_columns(values)["different"].tolist() == [0, 1]

    @given(
        st.lists(st.integers(-1000, 1000), min_size=2), st.integers(1, 50), st.integers(-500, 500)
    )
    def test_neither_unit_nor_origin_counts_and_order_stays(self, values, scale, origin) -> None:
        series = pd.Series(values, dtype=np.float64)
        normalised = normalise_columns(
            pd.DataFrame({"one": series, "two": series * scale / 7 + origin})
        )

        assert normalised["two"].tolist() == pytest.approx(normalised["one"].tolist(), abs=1e-9)
        assert normalised["one"].rank().tolist() == series.rank().tolist()
        extremes = (0.5, 0.5) if series.nunique() == 1 else (0, 1)
        assert (normalised["one"].min(), normalised["one"].max()) == extremes


class TestFitness:
    def test_equation_two_with_the_weights_of_table_5(self) -> None:
        # Of 0 to 1, alpha: 1.6875 of 1.9375 is 27/31; semantic: 2 of 6 fifteenths; lexical: 2 of 4
        # ninths.
        # .2 * 27/31 + .1 * .5 + .4 / 3; .2 * 27/31 + .4; .4 / 3 + .3 * .5; .2 + .1 + .3.
        alpha, semantic = 5.4 / 31, 0.4 / 3
        expected = [alpha + 0.05 + semantic, alpha + 0.4, semantic + 0.15, 0.6]
        parts = fitness(population(), FitnessWeights())

        assert parts["fitness"].tolist() == pytest.approx(expected, abs=2e-6)
        assert parts["gradient_part"].tolist() == pytest.approx([0.05, 0, 0, 0.1])
        assert parts.drop(columns="fitness").sum(axis=1).tolist() == pytest.approx(
            expected, abs=3e-6
        )

    def test_last_bits_change_nothing(self) -> None:
        moved = population(
            BIASES * (1 + 1e-13),
            [np.add(gradients, 1e-13).tolist() for gradients in GRADIENTS],
            EMBEDDINGS + np.float64(1e-13),
        )

        pd.testing.assert_frame_equal(moved, population(), check_exact=True)

    def test_only_proportions_of_weights_matter(self) -> None:
        ten = FitnessWeights(alpha=2, gradient_focus=1, semantic_diversity=4, lexical_diversity=3)
        expected = fitness(population(), FitnessWeights())["fitness"]

        rescaled = fitness(population(), ten)["fitness"]
        assert rescaled.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


class TestHotspot:
    def test_the_first_of_equals_whatever_the_rounding(self) -> None:
        words = [
            WordGradient(0, "Some", 0.1),
            WordGradient(5, "say", 0.3),
            WordGradient(9, "the", 0.1 + 0.2),
        ]

        assert find_hotspot(words) == words[1]

    def test_a_difference_in_the_twelfth_decimal_is_one(self) -> None:
        words = [
            WordGradient(0, "Some", 0.3),
            WordGradient(5, "say", 0.3 + 1e-12),
            WordGradient(9, "the", 0.3 + 11e-13),
        ]

        assert rank_words_by_gradient(words) == [words[1], words[2], words[0]]

    def test_none_where_there_is_no_word(self) -> None:
        assert find_hotspot([]) is None


def templates(*named: tuple[str, int]) -> list[Template]:
    return [Template(slug, f"{{ATTRIBUTE}} {slug} {{TARGET}}.", 1, born) for slug, born in named]


class TestRanked:
    def test_of_equally_fit_ones_the_older_then_the_first_by_slug(self) -> None:
        population = templates(("g2-1", 2), ("pride", 0), ("g1-2", 1), ("common", 0), ("g1-1", 1))

        assert rank_templates([0.5] * 5, population) == [3, 1, 4, 2, 0]

    def test_rounding_makes_no_difference(self) -> None:
        both = templates(("a", 0), ("b", 0))
        assert rank_templates([0.3, 0.1 + 0.2], both) == [0, 1]
        assert rank_templates([0.3, 0.3 + 1e-9], both) == [1, 0]

    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=8).flatmap(
        lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows))))))  # fmt: skip
    def test_the_order_of_the_population_is_nothing(self, case) -> None:
        rows, order = case
        population = [Template(f"t{place}", "", 1, row[1]) for place, row in enumerate(rows)]
        fitness = [numerator / 3 for numerator, _ in rows]
        ranked = rank_templates(fitness, population)
        shuffled = rank_templates([fitness[i] for i in order], [population[i] for i in order])

        assert sorted(ranked) == list(range(len(rows)))
        assert [order[i] for i in shuffled] == ranked
        assert [fitness[i] for i in ranked] == sorted(fitness, reverse=True)


class Scripted:
    """A generator that draws what was written down for it."""

    def __init__(self, *drawn: int) -> None:
        self._drawn = drawn

    def choice(self, n: int, size: int, replace: bool) -> np.ndarray:
        assert not replace
        assert len(self._drawn) == size <= n
        return np.array(self._drawn)


class TestTournament:
    RANKS = (4, 7, 0, 2, 6, 1, 3, 5)
    """Places in the population, best first."""

    @pytest.mark.parametrize(("drawn", "winner"), [((5, 2, 6), 0), ((3, 0, 7), 4)])
    def test_the_best_ranked_of_those_drawn_wins(self, drawn, winner: int) -> None:
        assert tournament(self.RANKS, 3, Scripted(*drawn)) == winner

    def test_all_take_part_where_there_are_no_more(self) -> None:
        assert tournament([2, 0, 1], 3, np.random.default_rng(0)) == 2
        assert tournament([2, 0, 1], 9, np.random.default_rng(0)) == 2
        assert tournament([0], 3, np.random.default_rng(0)) == 0

    def test_somebody_takes_part(self) -> None:
        with pytest.raises(ValueError):  # noqa: PT011
            tournament([], 3, np.random.default_rng(0))


class TestGuidedShare:
    def test_linearly_from_the_first_generation_to_the_last(self) -> None:
        rising = [guided_share(g, 5, (0.5, 0.9)) for g in range(1, 6)]
        assert rising == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
        falling = [guided_share(g, 3, (1.0, 0.0)) for g in range(1, 4)]
        assert falling == [1.0, 0.5, 0.0]

    def test_of_one_generation_it_is_the_first(self) -> None:
        assert guided_share(1, 1, (0.5, 0.9)) == 0.5

    @pytest.mark.parametrize("generation", [0, 4])
    def test_there_is_such_a_generation(self, generation: int) -> None:
        with pytest.raises(ValueError, match=f"generation {generation} of 3"):
            guided_share(generation, 3, (0.5, 0.9))


WEIGHTS = FitnessWeights()
TEXTS = {
    "born": "That {TARGET} was born to be an {ATTRIBUTE}.",
    "dream": "The {TARGET} has dreamed of becoming an {ATTRIBUTE}.",
    "met": "Yesterday I met a {TARGET} who is an {ATTRIBUTE}.",
    "most": "Most people expect an {ATTRIBUTE} to be a {TARGET}.",
    "g1-1": "Alabama I met a {TARGET} who is an {ATTRIBUTE}.",
    "g1-2": "Studies show that the {TARGET} has dreamed of becoming an {ATTRIBUTE}.",
    "g2-1": "Friends told me that studies show that the {TARGET} has dreamed of becoming an "
    "{ATTRIBUTE}.",
}
PARENTS = {"g1-1": "met", "g1-2": "dream", "g2-1": "g1-2"}
VECTORS = {
    "born": [1, 0, 0],
    "dream": [0, 1, 0],
    "met": [0, 0, 1],
    "most": [1, 1, 1],
    "g1-1": [-1, 0, 1],
    "g1-2": [0, 1, 0.1],
    "g2-1": [0.1, 1, 0.1],
}
OF_POOL = {
    "born": (1, 2, 3, 4, 5, 6),
    "dream": (1, 3, 2, 4, 6, 5),
    "met": (2, 1, 3, 5, 4, 6),
    "most": (-1, -2, -3, -4, -5, -6),
    "g1-1": (1, 2, 3, 4, 6, 5),
    "g1-2": (1, 3, 2, 4, 6, 5),
    "g2-1": (1, 3, 2, 5, 6, 4),
}
ATTRIBUTES = list("abcdef")


def generations() -> list[Generation]:
    """The start, and two more generations of which each has some of the one before."""
    template_by_slug = {}
    for slug, text in TEXTS.items():
        born = int(slug[1]) if slug in PARENTS else 0
        template_by_slug[slug] = Template(slug, text, 1, born, PARENTS.get(slug))
    populations = [
        list(TEXTS)[:4],
        ["dream", "met", "g1-1", "g1-2"],
        ["dream", "g1-1", "g1-2", "g2-1"],
    ]
    history = []
    for number, slugs in enumerate(populations):
        population = tuple(template_by_slug[slug] for slug in slugs)
        biases = [tuple(map(float, OF_POOL[slug])) for slug in slugs]
        measured = tuple(TemplateMeasurement(of_template, (), 1) for of_template in biases)
        history.append(Generation(number, population, measured, (-1.0,) * 4, ()))
    return history


def embed(texts: list[str]) -> Any:
    slugs = {text: slug for slug, text in TEXTS.items()}
    return np.array([VECTORS[slugs[text]] for text in texts], dtype=np.float32)


def pool() -> CandidatePool:
    return pool_of(generations(), embed)


def named(candidates: CandidatePool, places: Any) -> list[str]:
    return [candidates.templates[i].slug for i in places]


def declared(**changes: Any) -> Evolve:
    defaults = {"of": "trades", "model": "toy", "operator": "toy", "length": 2, "closeness": 0.2}
    return Evolve.model_validate(defaults | changes, context={"profile": "quick"})


class TestPool:
    def test_every_template_once_by_slug_with_the_first_of_its_line(self) -> None:
        candidates = pool()
        assert named(candidates, range(7)) == sorted(TEXTS)
        assert candidates.roots == ("born", "dream", "met", "dream", "dream", "met", "most")
        assert candidates.biases.shape == (6, 7)
        assert tuple(candidates.biases[:, 5]) == OF_POOL["met"]

    def test_closeness_is_the_cosine_with_the_mean_direction_of_the_start(self) -> None:
        # The start points to 1, 1, 1 in the mean: 1/sqrt(3) of each, 1 of "most"; -1, 0, 1 is at a
        # right angle to it.
        closeness_by_slug = dict(zip(sorted(TEXTS), pool().closeness.tolist(), strict=True))
        assert (
            closeness_by_slug["born"]
            == closeness_by_slug["met"]
            == pytest.approx(3**-0.5, abs=1e-6)
        )
        assert closeness_by_slug["most"] == 1
        assert closeness_by_slug["g1-1"] == pytest.approx(0, abs=1e-6)

    def test_last_bits_change_nothing(self) -> None:
        def embed_moved(texts: list[str]) -> Any:
            return embed(texts).astype(np.float64) * (1 + 1e-13) + 1e-14

        moved = pool_of(generations(), embed_moved)
        for name in ("cosine", "jaccard", "closeness"):
            assert getattr(moved, name).tolist() == getattr(pool(), name).tolist()


class TestRefusals:
    def test_what_is_far_and_what_is_reversed(self) -> None:
        reason_by_slug = dict(zip(sorted(TEXTS), exclusion_reasons(pool(), 0.2), strict=True))
        assert {slug: reason for slug, reason in reason_by_slug.items() if reason} == {
            "g1-1": FAR,
            "most": REVERSED,
        }
        assert choose_sets(pool(), ATTRIBUTES, declared(closeness=1.0))["chosen"] == ()

    def test_what_does_not_tell_attributes_apart(self) -> None:
        biases = pool().biases.copy()
        biases[:, 0] = 3
        assert exclusion_reasons(replace(pool(), biases=biases), -1)[0] == CONSTANT
        one_attribute = replace(pool(), biases=biases[:1])
        assert set(exclusion_reasons(one_attribute, -1)) == {CONSTANT}


class TestChoose:
    def test_at_most_one_of_a_lineage(self) -> None:
        candidates = pool()
        assert len(choose_best_set(candidates, range(7), 7, WEIGHTS)) == 4
        assert choose_best_set(candidates, [], 3, WEIGHTS) == ()
        assert named(candidates, choose_best_set(candidates, [2, 1], 1, WEIGHTS)) == ["dream"]

    def test_of_equal_sets_the_first_by_slugs(self) -> None:
        candidates = pool()
        ones = np.ones((7, 7))
        flat = replace(candidates, cosine=ones, jaccard=ones, roots=tuple("abcdefg"))
        first = flat.biases[:, :1]
        same = replace(flat, biases=np.repeat(first, 7, axis=1))
        assert choose_best_set(same, range(7), 3, WEIGHTS) == (0, 1, 2)

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 1000), st.integers(2, 4))
    def test_it_is_the_best_of_all_sets(self, seed: int, size: int) -> None:
        candidates = simulated(seed)
        sets = sets_of_roots(candidates, size)
        chosen = choose_best_set(candidates, range(9), size, WEIGHTS)
        worths = [float(set_worth(candidates, [places], WEIGHTS)[0]) for places in sets]
        assert worths[sets.index(chosen)] == max(worths)

    @pytest.mark.parametrize("seed", range(2))
    def test_of_too_many_sets_no_exchange_betters_the_one_that_is_found(
        self, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        candidates = simulated(seed)
        best = choose_best_set(candidates, range(9), 4, WEIGHTS)
        monkeypatch.setattr(choosing, "MOST_SETS", 10)
        chosen = choose_best_set(candidates, range(9), 4, WEIGHTS)
        sets = sets_of_roots(candidates, 4)
        exchanged = [places for places in sets if len(set(places) & set(chosen)) == 3]
        worth = set_worth(candidates, [chosen], WEIGHTS)[0]
        assert worth >= set_worth(candidates, exchanged, WEIGHTS).max()
        assert worth <= set_worth(candidates, [best], WEIGHTS)[0]


def sets_of_roots(candidates: CandidatePool, size: int) -> list[tuple[int, ...]]:
    """All sets of so many candidates of which no two have the same root."""
    return [
        places
        for places in combinations(range(9), size)
        if len(set(map(candidates.roots.__getitem__, places))) == size
    ]


def simulated(seed: int) -> CandidatePool:
    """Nine templates of five lineages."""
    draw = np.random.default_rng(seed)
    directions = draw.normal(size=(9, 5)) + 1
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    biases = draw.normal(size=(12, 9)) + draw.normal(size=(12, 1))
    numbered = templates(*((f"t{place}", 0) for place in range(9)))
    jaccard = np.abs(np.corrcoef(draw.normal(size=(9, 6))))
    return CandidatePool(
        tuple(numbered), tuple("aabbccdee"), biases, directions @ directions.T, jaccard, np.ones(9)
    )


class TestWorth:
    def test_alpha_at_eight_and_both_diversities_by_their_weights(self) -> None:
        candidates = pool()
        chosen = (0, 1, 5)
        slugs = named(candidates, chosen)
        alpha = spearman_brown(mean_inter_item_correlation(candidates.biases[:, chosen]), 8)
        semantic = semantic_diversity([VECTORS[slug] for slug in slugs]).mean()
        lexical = lexical_diversity([distinct_words(TEXTS[slug]) for slug in slugs]).mean()
        expected = 0.2 * alpha + 0.4 * semantic + 0.3 * lexical
        assert set_worth(candidates, [chosen], WEIGHTS).tolist() == pytest.approx(
            [expected], abs=2e-6
        )

    def test_without_any_reliability_alpha_counts_as_minus_one(self) -> None:
        alone = FitnessWeights(alpha=1, gradient_focus=0, semantic_diversity=0, lexical_diversity=0)
        places = {slug: sorted(TEXTS).index(slug) for slug in TEXTS}
        against = (places["born"], places["most"])
        assert set_worth(pool(), [against], alone).tolist() == [-1]

    def test_a_set_of_one_is_worth_nothing(self) -> None:
        assert set_worth(pool(), [(1,), (2,)], WEIGHTS).tolist() == [0, 0]


class TestChoices:
    def test_of_the_run_and_of_the_start_by_all_and_by_halves(self) -> None:
        set_by_name = choose_sets(pool(), ATTRIBUTES, declared())
        assert list(set_by_name) == [
            *("chosen", "best_start", "chosen_by_first", "best_start_by_first"),
            *("chosen_by_second", "best_start_by_second"),
        ]
        for name, chosen in set_by_name.items():
            slugs = named(pool(), chosen)
            assert len(slugs) == 2
            assert not {"g1-1", "most"} & set(slugs)
            assert not name.startswith("best_start") or set(slugs) <= {"born", "dream", "met"}

    def test_a_half_decides_by_its_own_attributes(self) -> None:
        set_by_name = choose_sets(pool(), ATTRIBUTES, declared())
        first = replace(pool(), biases=pool().biases[[0, 2, 4]])
        allowed = [i for i, reason in enumerate(exclusion_reasons(first, 0.2)) if reason is None]
        assert set_by_name["chosen_by_first"] == choose_best_set(first, allowed, 2, WEIGHTS)


def test_halves_take_turns_in_the_order_of_slugs() -> None:
    assert split_attributes(["d", "b", "a", "c", "e"]) == (["a", "c", "e"], ["b", "d"])
    assert split_attributes([]) == ([], [])
