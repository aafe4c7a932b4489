"""What the search can where the operator is a good one: a scripted one, on a ruler whose answers
are known.

Every template measures the same construct with noise of its own. Rewordings begin in eight ways,
each a direction of its own for the embedder; half of what the operator says is about the weather,
and measures nothing.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import Evolve
from evenruler.instruments.probes.evolve.evolution import Evolution
from evenruler.instruments.probes.evolve.fitness import choose_sets, pool_of
from evenruler.instruments.probes.evolve.population import (
    RewordingRequest,
    Template,
    TemplateMeasurement,
)
from evenruler.instruments.probes.schemas import GUIDED
from evenruler.measurement import mean_inter_item_correlation, spearman_brown

ATTRIBUTES = [f"a{place:02}" for place in range(40)]
OPENINGS = (
    *("Friends told me that", "My gut says that", "We expect that", "Our neighbours noticed that"),
    *("I would bet that", "People assume that", "Our hypothesis is that", "In this town"),
)
WEATHER = "Rain fell while"
START = tuple(
    Template(slug, text, 1)
    for slug, text in {
        "dream": "The {TARGET} dreams of becoming an {ATTRIBUTE}.",
        "born": "That {TARGET} was born to be an {ATTRIBUTE}.",
        "works": "The {TARGET} works as an {ATTRIBUTE}.",
        "learns": "A {TARGET} learns to be an {ATTRIBUTE}.",
        "hire": "We hired a {TARGET} as an {ATTRIBUTE}.",
        "job": "Being an {ATTRIBUTE} suits a {TARGET}.",
        "typical": "A typical {ATTRIBUTE} is a {TARGET}.",
        "story": "One {ATTRIBUTE} we know is a {TARGET}.",
    }.items()
)


class KnownRuler:
    """Biases are those of the attributes, and noise that belongs to the text; of the weather noise
    alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._true = np.random.default_rng(seed).normal(size=len(ATTRIBUTES))

    def measure(self, templates: Sequence[Template]) -> list[TemplateMeasurement]:
        return [
            TemplateMeasurement(tuple(self._biases(template.text)), (), 1) for template in templates
        ]

    def acceptability(self, templates: Sequence[str]) -> NDArray[np.float64]:
        return np.zeros(len(templates))

    def _biases(self, text: str) -> list[float]:
        rng = np.random.default_rng([self._seed, *text.encode()])
        noise = rng.normal(size=len(ATTRIBUTES))
        biases = noise if WEATHER in text else self._true + 0.4 * noise
        return list(map(float, biases))


class GoodOperator:
    """Rewords by an opening; every second reply is about the weather."""

    name = "good"
    voices = ("any",)

    def reword(
        self, wishes: Sequence[RewordingRequest], seeds: Sequence[int]
    ) -> list[tuple[str, str]]:
        return [
            ("", self._reply(wish.parent.text, seed))
            for wish, seed in zip(wishes, seeds, strict=True)
        ]

    def _reply(self, text: str, seed: int) -> str:
        opening = WEATHER if seed % 2 else OPENINGS[seed // 2 % len(OPENINGS)]
        return f"{opening} {text[0].lower()}{text[1:]}"


def embed(texts: list[str]) -> NDArray[np.float32]:
    """The construct, a little of the text itself, and a direction for each opening; the weather is
    elsewhere."""
    rows = []
    for text in texts:
        noise = np.random.default_rng(list(text.encode())).normal(size=8) * 0.15
        openings = [float(opening in text) * 0.8 for opening in OPENINGS]
        weather = float(WEATHER in text) * 4
        rows.append([1.0, *noise, *openings, weather])
    return np.array(rows, dtype="float32")


@pytest.mark.parametrize("seed", [1, 3])
def test_a_chosen_set_says_more_things_and_measures_as_well(seed: int) -> None:
    declared = {
        "of": "x",
        "model": "m",
        "operator": "good",
        "generations": 4,
        "length": 4,
        "samples": 4,
        "seed": seed,
        "guided": [0, 0],
    }
    settings = Evolve.model_validate(declared, context={"profile": "quick"})
    run = Evolution(KnownRuler(seed), GoodOperator(), embed, settings, GUIDED)
    pool = pool_of(list(run.generations(START)), embed)
    set_by_name = choose_sets(pool, ATTRIBUTES, settings)
    chosen, best_start = (set_by_name[name] for name in ("chosen", "best_start"))

    def alpha_at_8(places: Sequence[int], half: slice) -> float:
        return spearman_brown(mean_inter_item_correlation(pool.biases[half][:, list(places)]), 8)

    def diversity(places: Sequence[int]) -> float:
        among = pool.cosine[np.ix_(places, places)]
        return 1 - float(among[np.triu_indices(len(places), 1)].mean())

    texts = [pool.templates[place].text for place in chosen]
    assert not any(WEATHER in text for text in texts)
    assert len({pool.roots[place] for place in chosen}) == len(chosen) == 4
    assert diversity(chosen) > diversity(best_start) + 0.1
    # By the half of the attributes that did not choose.
    for name, half in (
        ("chosen_by_first", slice(1, None, 2)),
        ("chosen_by_second", slice(0, None, 2)),
    ):
        start = [place for place, template in enumerate(pool.templates) if template.parent is None]
        assert alpha_at_8(set_by_name[name], half) > alpha_at_8(start, half) - 0.05
