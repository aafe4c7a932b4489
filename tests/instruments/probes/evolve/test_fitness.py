"""How good templates are: within their population, as parents, and together."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

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
from tests.instruments.near import approx, near
from tests.text_tables import read_columns

# Four templates on paper. Item variances over three attributes (ddof 1): 1, 1, 1, 4.
BIASES = np.array(
    [
        [0, 0, 2, 0],
        [1, 1, 1, 2],
        [2, 2, 0, 4],
    ]
)
GRADIENTS = [
    [1, 3],
    [2],
    [],
    [0, 0, 3],
]
EMBEDDINGS = np.array([[1, 0], [0, 1], [3, 0], [3, 4]])
TOKENS = [
    frozenset("ab"),
    frozenset("ab"),
    frozenset("bc"),
    frozenset("d"),
]


def population(
    biases=BIASES, gradients=GRADIENTS, embeddings=EMBEDDINGS, tokens=TOKENS, clip=1.0
) -> pd.DataFrame:
    return raw_fitness_parts(biases, gradients, embeddings, tokens, clip)


def of_biases(biases, clip: float | None = 1.0) -> list[float]:
    """Contributions to alpha alone; the rest of the population is nothing special."""
    n = np.shape(biases)[1]
    embeddings, tokens = np.ones((n, 2)), [frozenset("a")] * n
    parts = population(
        biases,
        [[]] * n,
        embeddings,
        tokens,
        clip,
    )
    return parts["alpha_contribution"].tolist()


class TestParts:
    def test_alpha_contribution_is_minus_alpha_of_the_others_clipped(self) -> None:
        # Without the first or the second, totals 2, 4, 6 of variance 4: 3/2 (1 - 6/4) = -0.75.
        # Without the third, totals 0, 4, 8 of variance 16: 3/2 (1 - 6/16) = 0.9375. Without the
        # fourth, totals 2, 3, 4 of variance 1: 3/2 (1 - 3/1) = -3, which is clipped.
        assert of_biases(BIASES, clip=1) == approx([0.75, 0.75, -0.9375, 1], abs=1e-6)
        assert of_biases(BIASES, clip=0.8) == near([0.75, 0.75, -0.8, 0.8])
        assert of_biases(BIASES, clip=5) == near([0.75, 0.75, -0.9375, 3])
        assert of_biases(BIASES, clip=None) == near([0.75, 0.75, -0.9375, 3])

    def test_the_other_parts_by_hand(self) -> None:
        parts = population()
        # Gradients 1 and 3 around 2: 1. Of one word and of none: 0. Of 0, 0 and 3 around 1: (1 + 1
        # + 4) / 3 = 2.
        assert parts["gradient_focus"].tolist() == near([1, 0, 0, 2])
        # Cosines 1-2: 0, 1-3: 1, 1-4: 0.6, 2-3: 0, 2-4: 0.8, 3-4: 0.6; means with the others 8/15,
        # 4/15, 8/15, 2/3.
        fifteenths = 15 * parts["semantic_diversity"]
        assert fifteenths.tolist() == approx([7, 11, 7, 5], abs=3e-5)
        # Jaccard 1-2: 1, 1-3 and 2-3: 1/3, the fourth shares nothing; means 4/9, 4/9, 2/9, 0.
        ninths = 9 * parts["lexical_diversity"]
        assert ninths.tolist() == approx([5, 5, 7, 9], abs=2e-5)


class TestAlphaContribution:
    def test_without_which_nothing_is_measured_counts_as_the_clip(self) -> None:
        # The first two add up to 2 for every attribute: alpha without the third has no value.
        biases = np.array([[0, 2, 5], [1, 1, 1], [2, 0, 4]])

        assert of_biases(biases, clip=0.9)[2] == 0.9
        # Unclipped as the least of the others. Totals 7, 2, 4 without the first, of variance 19/3:
        # 2 (1 - (1 + 13/3) / (19/3)) = 6/19; 5, 2, 6 without the second, of variance 13/3: -6/13.
        unclipped = of_biases(biases, clip=None)
        assert unclipped == approx([-0.315789, 0.461538, 0.461538], abs=1e-5)


@pytest.mark.parametrize(
    ("origin", "unit"),
    [(0.0, 1e-12), (1000.0, 1e-9), (-1000.0, 1e-9)],
)
def test_rounding_is_a_trillionth_of_the_largest_or_of_one(origin: float, unit: float) -> None:
    values = pd.DataFrame({"equal": [0, 0.9], "different": [0, 1.1]})
    normalised = normalise_columns(origin + unit * values)
    assert normalised["equal"].tolist() == [0.5, 0.5]
    assert normalised["different"].tolist() == [0, 1]


class TestFitness:
    def test_equation_two_with_the_weights_of_table_5(self) -> None:
        # Of 0 to 1, alpha: 1.6875 of 1.9375 is 27/31; semantic: 2 of 6 fifteenths; lexical: 2 of 4
        # ninths.
        # .2 * 27/31 + .1 * .5 + .4 / 3; .2 * 27/31 + .4; .4 / 3 + .3 * .5; .2 + .1 + .3.
        alpha, semantic = 5.4 / 31, 0.4 / 3
        expected = [
            alpha + 0.05 + semantic,
            alpha + 0.4,
            semantic + 0.15,
            0.6,
        ]
        parts = fitness(population(), FitnessWeights())

        assert parts["fitness"].tolist() == approx(expected, abs=2e-6)
        assert parts["gradient_part"].tolist() == approx([0.05, 0, 0, 0.1])
        contributions = parts.drop(columns="fitness").sum(axis=1)
        assert contributions.tolist() == approx(expected, abs=3e-6)

    def test_only_proportions_of_weights_matter(self) -> None:
        ten = FitnessWeights(alpha=2, gradient_focus=1, semantic_diversity=4, lexical_diversity=3)
        expected = fitness(population(), FitnessWeights())["fitness"]

        rescaled = fitness(population(), ten)["fitness"]
        assert rescaled.tolist() == approx(expected.tolist(), abs=1e-6)


class TestHotspot:
    def test_the_first_of_equals_whatever_the_rounding(self) -> None:
        words = [
            WordGradient(0, "Some", 0.1),
            WordGradient(5, "say", 0.3),
            WordGradient(9, "the", 0.1 + 0.2),
        ]

        assert find_hotspot(words) == words[1]


def templates(*named: tuple[str, int]) -> list[Template]:
    return [Template(slug, f"{{ATTRIBUTE}} {slug} {{TARGET}}.", 1, born) for slug, born in named]


class TestRanked:
    def test_of_equally_fit_ones_the_older_then_the_first_by_slug(self) -> None:
        population = templates(
            ("g2-1", 2),
            ("pride", 0),
            ("g1-2", 1),
            ("common", 0),
            ("g1-1", 1),
        )

        assert rank_templates([0.5] * 5, population) == [3, 1, 4, 2, 0]


def test_the_best_ranked_of_a_tournament_wins() -> None:
    draw = np.random.default_rng(0)
    assert tournament([2, 0, 1], 3, draw) == 2
    assert tournament([2, 0, 1], 9, draw) == 2  # all take part where there are no more
    winners = {tournament([2, 0, 1], 2, draw) for _ in range(50)}
    assert winners == {2, 0}


class TestGuidedShare:
    def test_linearly_from_the_first_generation_to_the_last(self) -> None:
        shares = [guided_share(generation, 5, (0.5, 0.9)) for generation in range(1, 6)]
        assert shares == approx([0.5, 0.6, 0.7, 0.8, 0.9])

    def test_of_one_generation_it_is_the_first(self) -> None:
        assert guided_share(1, 1, (0.5, 0.9)) == 0.5


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

VECTORS = read_columns("""
    born  dream  met  most  g1-1  g1-2  g2-1
    1     0      0    1     -1    0     0.1
    0     1      0    1     0     1     1
    0     0      1    1     1     0.1   0.1
""")
OF_POOL = read_columns("""
    born  dream  met  most  g1-1  g1-2  g2-1
    1     1      2    -1    1     1     1
    2     3      1    -2    2     3     3
    3     2      3    -3    3     2     2
    4     4      5    -4    4     4     5
    5     6      4    -5    6     6     6
    6     5      6    -6    5     5     4
""")
"""Biases of six attributes."""
ATTRIBUTES = list("abcdef")


def generations() -> list[Generation]:
    """The start, and two more generations of which each has some of the one before."""
    template_by_slug = {}
    for slug, text in TEXTS.items():
        born = int(slug[1]) if slug in PARENTS else 0
        template_by_slug[slug] = Template(
            slug,
            text,
            1,
            born,
            PARENTS.get(slug),
        )
    slugs_by_generation = ["born dream met most", "dream met g1-1 g1-2", "dream g1-1 g1-2 g2-1"]
    history = []
    for number, slugs in enumerate(slugs_by_generation):
        population = tuple(template_by_slug[slug] for slug in slugs.split())
        measured = [
            TemplateMeasurement(tuple(map(float, OF_POOL[template.slug])), (), 1)
            for template in population
        ]
        acceptability = (-1.0,) * 4
        history.append(Generation(number, population, tuple(measured), acceptability, ()))
    return history


def embed(texts: list[str]) -> Any:
    slugs = {text: slug for slug, text in TEXTS.items()}
    return VECTORS[[slugs[text] for text in texts]].to_numpy(np.float32).T


def pool() -> CandidatePool:
    return pool_of(generations(), embed)


def named(candidates: CandidatePool, places: Any) -> list[str]:
    return [candidates.templates[i].slug for i in places]


def declared(**changes: Any) -> Evolve:
    models = {
        "of": "trades",
        "model": "toy",
        "operator": "toy",
    }
    settings = {
        **models,
        "length": 2,
        "closeness": 0.2,
        **changes,
    }
    return Evolve.model_validate(settings, context={"profile": "quick"})


class TestPool:
    def test_every_template_once_by_slug_with_the_first_of_its_line(self) -> None:
        candidates = pool()
        assert named(candidates, range(7)) == sorted(TEXTS)
        assert candidates.roots == ("born", "dream", "met", "dream", "dream", "met", "most")
        assert candidates.biases.shape == (6, 7)
        assert candidates.biases[:, 5].tolist() == OF_POOL["met"].tolist()

    def test_closeness_is_the_cosine_with_the_mean_direction_of_the_start(self) -> None:
        # The start points to 1, 1, 1 in the mean: 1/sqrt(3) of each, 1 of "most"; -1, 0, 1 is at a
        # right angle to it.
        closeness_by_slug = dict(zip(sorted(TEXTS), pool().closeness.tolist(), strict=True))
        assert closeness_by_slug["born"] == closeness_by_slug["met"] == approx(3**-0.5, abs=1e-6)
        assert closeness_by_slug["most"] == 1
        assert closeness_by_slug["g1-1"] == approx(0, abs=1e-6)


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

    @pytest.mark.parametrize("seed", range(8))
    def test_it_is_the_best_of_all_sets_or_no_exchange_betters_it(
        self, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where there are too many sets to compare all, as if ten were."""
        candidates, size = simulated(seed), 2 + seed % 3
        sets = sets_of_roots(candidates, size)
        worths = set_worth(candidates, sets, WEIGHTS)
        best = choose_best_set(
            candidates,
            range(9),
            size,
            WEIGHTS,
        )
        assert worths[sets.index(best)] == worths.max()
        monkeypatch.setattr(choosing, "MOST_SETS", 10)
        chosen = choose_best_set(
            candidates,
            range(9),
            size,
            WEIGHTS,
        )
        n_shared = np.array([len({*places} & {*chosen}) for places in sets])
        assert worths[n_shared == size - 1].max() <= worths[sets.index(chosen)]


def sets_of_roots(candidates: CandidatePool, size: int) -> list[tuple[int, ...]]:
    """All sets of so many candidates of which no two have the same root."""
    sets = combinations(range(9), size)
    return [places for places in sets if len({candidates.roots[place] for place in places}) == size]


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
        semantic = semantic_diversity(VECTORS[slugs].T).mean()
        lexical = lexical_diversity([distinct_words(TEXTS[slug]) for slug in slugs]).mean()
        expected = 0.2 * alpha + 0.4 * semantic + 0.3 * lexical
        assert set_worth(candidates, [chosen], WEIGHTS).tolist() == approx([expected], abs=2e-6)

    def test_without_any_reliability_alpha_counts_as_minus_one(self) -> None:
        alone = FitnessWeights(alpha=1, gradient_focus=0, semantic_diversity=0, lexical_diversity=0)
        places = {slug: sorted(TEXTS).index(slug) for slug in TEXTS}
        against = (places["born"], places["most"])
        assert set_worth(pool(), [against], alone).tolist() == [-1]


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


def test_elites_are_published_as_they_are_and_chosen_by_no_half() -> None:
    candidates = pool()
    elites = [candidates.templates[2], candidates.templates[0]]
    by_us = choose_sets(candidates, ATTRIBUTES, declared())
    set_by_name = choose_sets(candidates, ATTRIBUTES, declared(variant="paper"), elites)
    assert set_by_name["chosen"] == (0, 2)
    assert set_by_name["chosen_by_first"] == set_by_name["chosen_by_second"] == ()
    assert set_by_name["best_start"] == by_us["best_start"]


def test_halves_take_turns_in_the_order_of_slugs() -> None:
    assert split_attributes(["d", "b", "a", "c", "e"]) == (
        ["a", "c", "e"],
        ["b", "d"],
    )
    assert split_attributes([]) == ([], [])
