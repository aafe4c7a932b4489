"""Templates that are chosen as a set: by hand, and against a search through all sets that is written down here."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.instruments.probes.declare import Evolve, FitnessWeights, halves
from evenruler.instruments.probes.evolve import choosing
from evenruler.instruments.probes.evolve.choosing import (
    CONSTANT,
    FAR,
    REVERSED,
    Pool,
    choices,
    choose,
    pool_of,
    refusals,
    worth,
)
from evenruler.instruments.probes.evolve.population import Generation, Measured, Template
from evenruler.measurement import (
    lexical_diversity,
    mean_inter_item_correlation,
    semantic_diversity,
    spearman_brown,
)
from evenruler.text import words

WEIGHTS = FitnessWeights()
TEXTS = {
    "born": "That {TARGET} was born to be an {ATTRIBUTE}.",
    "dream": "The {TARGET} has dreamed of becoming an {ATTRIBUTE}.",
    "met": "Yesterday I met a {TARGET} who is an {ATTRIBUTE}.",
    "most": "Most people expect an {ATTRIBUTE} to be a {TARGET}.",
    "g1-1": "Alabama I met a {TARGET} who is an {ATTRIBUTE}.",
    "g1-2": "Studies show that the {TARGET} has dreamed of becoming an {ATTRIBUTE}.",
    "g2-1": "Friends told me that studies show that the {TARGET} has dreamed of becoming an {ATTRIBUTE}.",
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
BIASES = {
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
    made = {
        slug: Template(slug, text, 1, int(slug[1]) if slug[0] == "g" and slug[1].isdigit() else 0, PARENTS.get(slug))
        for slug, text in TEXTS.items()
    }
    populations = [list(TEXTS)[:4], ["dream", "met", "g1-1", "g1-2"], ["dream", "g1-1", "g1-2", "g2-1"]]
    return [
        Generation(
            number,
            tuple(made[slug] for slug in slugs),
            tuple(Measured(tuple(map(float, BIASES[slug])), (), 1) for slug in slugs),
            (-1.0,) * len(slugs),
            (),
        )
        for number, slugs in enumerate(populations)
    ]


def embed(texts: list[str]) -> Any:
    slugs = {text: slug for slug, text in TEXTS.items()}
    return np.array([VECTORS[slugs[text]] for text in texts], dtype=np.float32)


def pool() -> Pool:
    return pool_of(generations(), embed)


def named(found: Pool, places: Any) -> list[str]:
    return [found.templates[i].slug for i in places]


def declared(**changes: Any) -> Evolve:
    given = {"of": "trades", "model": "toy", "operator": "toy", "elites": 2, "closeness": 0.2}
    return Evolve.model_validate(given | changes, context={"scale": "quick"})


class TestPool:
    def test_every_template_once_by_slug_with_the_first_of_its_line(self) -> None:
        found = pool()
        assert named(found, range(7)) == sorted(TEXTS)
        assert dict(zip(named(found, range(7)), found.roots, strict=True)) == {
            **dict.fromkeys(("dream", "g1-2", "g2-1"), "dream"),
            **dict.fromkeys(("met", "g1-1"), "met"),
            "born": "born",
            "most": "most",
        }
        assert found.biases.shape == (6, 7)
        assert found.biases[:, sorted(TEXTS).index("met")].tolist() == list(BIASES["met"])

    def test_closeness_is_the_cosine_with_the_mean_direction_of_the_start(self) -> None:
        # The start points to 1, 1, 1 in the mean: 1/sqrt(3) of each, 1 of "most"; -1, 0, 1 is at a right angle to it.
        found = dict(zip(sorted(TEXTS), pool().closeness.tolist(), strict=True))
        assert found["born"] == found["met"] == pytest.approx(3**-0.5, abs=1e-6)
        assert found["most"] == 1
        assert found["g1-1"] == pytest.approx(0, abs=1e-6)

    def test_last_bits_change_nothing(self) -> None:
        moved = pool_of(generations(), lambda texts: embed(texts).astype(np.float64) * (1 + 1e-13) + 1e-14)
        for name in ("cosine", "jaccard", "closeness"):
            assert getattr(moved, name).tolist() == getattr(pool(), name).tolist()


class TestRefusals:
    def test_what_is_far_and_what_is_reversed(self) -> None:
        found = dict(zip(sorted(TEXTS), refusals(pool(), 0.2), strict=True))
        assert {slug: reason for slug, reason in found.items() if reason} == {"g1-1": FAR, "most": REVERSED}

    def test_what_does_not_tell_attributes_apart(self) -> None:
        biases = pool().biases.copy()
        biases[:, 0] = 3
        assert refusals(replace(pool(), biases=biases), -1)[0] == CONSTANT
        assert set(refusals(replace(pool(), biases=biases[:1]), -1)) == {CONSTANT}


class TestChoose:
    def test_at_most_one_of_a_lineage(self) -> None:
        found = pool()
        chosen = choose(found, range(7), 3, WEIGHTS)
        assert len({found.roots[i] for i in chosen}) == 3
        assert len(choose(found, range(7), 7, WEIGHTS)) == 4
        assert choose(found, [], 3, WEIGHTS) == ()
        assert named(found, choose(found, [2, 1], 1, WEIGHTS)) == ["dream"]

    def test_of_equal_sets_the_first_by_slugs(self) -> None:
        found = pool()
        flat = replace(found, cosine=np.ones((7, 7)), jaccard=np.ones((7, 7)), roots=tuple("abcdefg"))
        same = replace(flat, biases=np.repeat(flat.biases[:, :1], 7, axis=1))
        assert choose(same, range(7), 3, WEIGHTS) == (0, 1, 2)

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 1000), st.integers(2, 4))
    def test_it_is_the_best_of_all_sets(self, seed: int, size: int) -> None:
        made = simulated(seed)
        values = {
            chosen: float(worth(made, [chosen], WEIGHTS)[0])
            for chosen in combinations(range(9), size)
            if len({made.roots[i] for i in chosen}) == size
        }
        chosen = choose(made, range(9), size, WEIGHTS)
        assert values[chosen] == max(values.values())

    @pytest.mark.parametrize("seed", range(5))
    def test_of_too_many_sets_no_exchange_betters_the_one_that_is_found(
        self, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = simulated(seed)
        best = choose(made, range(9), 4, WEIGHTS)
        monkeypatch.setattr(choosing, "MOST_SETS", 10)
        chosen = choose(made, range(9), 4, WEIGHTS)
        exchanged = [
            other
            for other in combinations(range(9), 4)
            if len(set(other) & set(chosen)) == 3 and len({made.roots[i] for i in other}) == 4
        ]
        own = worth(made, [chosen], WEIGHTS)[0]
        assert own >= worth(made, exchanged, WEIGHTS).max()
        assert own <= worth(made, [best], WEIGHTS)[0]


def simulated(seed: int) -> Pool:
    """Nine templates of five lineages."""
    draw = np.random.default_rng(seed)
    directions = draw.normal(size=(9, 5)) + 1
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    biases = draw.normal(size=(12, 9)) + draw.normal(size=(12, 1))
    templates = tuple(Template(f"t{i}", f"{{TARGET}} {i} {{ATTRIBUTE}}.", 1) for i in range(9))
    jaccard = np.abs(np.corrcoef(draw.normal(size=(9, 6))))
    return Pool(templates, tuple("aabbccdee"), biases, directions @ directions.T, jaccard, np.ones(9))


class TestWorth:
    def test_alpha_at_eight_and_both_diversities_by_their_weights(self) -> None:
        found = pool()
        chosen = (0, 1, 5)
        slugs = named(found, chosen)
        alpha = spearman_brown(mean_inter_item_correlation(found.biases[:, chosen]), 8)
        semantic = semantic_diversity([VECTORS[slug] for slug in slugs]).mean()
        lexical = lexical_diversity([words(TEXTS[slug]) for slug in slugs]).mean()
        expected = 0.2 * alpha + 0.4 * semantic + 0.3 * lexical
        assert worth(found, [chosen], WEIGHTS).tolist() == pytest.approx([expected], abs=2e-6)

    def test_without_any_reliability_alpha_counts_as_minus_one(self) -> None:
        alone = FitnessWeights(alpha=1, gradient_focus=0, semantic_diversity=0, lexical_diversity=0)
        places = {slug: sorted(TEXTS).index(slug) for slug in TEXTS}
        against = (places["born"], places["most"])
        assert worth(pool(), [against], alone).tolist() == [-1]

    def test_a_set_of_one_is_worth_nothing(self) -> None:
        assert worth(pool(), [(1,), (2,)], WEIGHTS).tolist() == [0, 0]


class TestChoices:
    def test_of_the_run_and_of_the_start_by_all_and_by_halves(self) -> None:
        made = choices(pool(), ATTRIBUTES, declared())
        assert list(made.sets) == [
            *("chosen", "best_start", "chosen_by_first", "best_start_by_first"),
            *("chosen_by_second", "best_start_by_second"),
        ]
        assert made.refused == refusals(pool(), 0.2)
        for name, chosen in made.sets.items():
            slugs = named(pool(), chosen)
            assert len(slugs) == 2
            assert not {"g1-1", "most"} & set(slugs)
            assert not name.startswith("best_start") or set(slugs) <= {"born", "dream", "met"}

    def test_a_half_decides_by_its_own_attributes(self) -> None:
        made = choices(pool(), ATTRIBUTES, declared())
        first = pool().of([0, 2, 4])
        allowed = [i for i, reason in enumerate(refusals(first, 0.2)) if reason is None]
        assert made.sets["chosen_by_first"] == choose(first, allowed, 2, WEIGHTS)
        assert first.biases.tolist() == pool().biases[[0, 2, 4]].tolist()

    def test_nothing_is_chosen_where_all_are_far(self) -> None:
        assert set(choices(pool(), ATTRIBUTES, declared(closeness=1.0)).sets["chosen"]) == set()


def test_halves_take_turns_in_the_order_of_slugs() -> None:
    assert halves(["d", "b", "a", "c", "e"]) == (["a", "c", "e"], ["b", "d"])
    assert halves([]) == ([], [])
