"""What the card of an evolved benchmark says about its evolution."""

from typing import Any

import pytest

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.card import evolved as card
from evenruler.instruments.probes.declare import Evolve


def settings(scale: str = "quick", **changes: Any) -> Evolve:
    given = {
        "of": "trades",
        "model": {"quick": "tiny", "paper": "big"},
        "operator": {"quick": "talker", "paper": "server"},
        "start": "by-hand",
        "generations": {"quick": 2, "paper": 9},
        "elites": 5,
        "tournament": 6,
    }
    return Evolve.model_validate(given | changes, context={"scale": scale})


@pytest.mark.parametrize(
    ("scale", "generations", "operator", "model"), [("quick", 2, "talker", "tiny"), ("paper", 9, "server", "big")]
)
def test_it_says_how_the_templates_came_about_at_that_scale(
    scale: Any, generations: int, operator: str, model: str
) -> None:
    found = card.reading(settings(scale))
    assert f"evolved from the set `by-hand` over {generations} generations: in each, the 5 best stayed" in found
    assert f"tournaments of 6, and {operator} replaced a telling word" in found
    assert f"was asked of {model}: what it adds to alpha counts 0.2, " in found
    assert "single words 0.1, semantic diversity 0.4, lexical diversity 0.3." in found
    assert "{" not in found


def test_limits_name_the_model_that_is_flattered() -> None:
    found = card.limits(settings("paper"))
    assert len(found) == len(card.LIMITS)
    assert found[0].startswith("Templates were chosen by what big answers, so figures of that model flatter them;")
    assert "tiny" not in "".join(found)


@pytest.mark.parametrize("times", [1, 10, 0.5])
def test_shares_of_the_fitness_are_of_all_weights(times: float) -> None:
    """Only their proportions matter."""
    weights = {"alpha": 0.2, "gradient_focus": 0.1, "semantic_diversity": 0.4, "lexical_diversity": 0.3}
    scaled = {name: weight * times for name, weight in weights.items()}
    (found,) = [limit for limit in card.limits(settings(weights=scaled)) if "Diversity counts" in limit]
    assert found.startswith("Diversity counts 70% of the fitness, consistency 20%: ")


def test_columns_that_are_described_are_there() -> None:
    assert set(card.LINEAGE_COLUMNS) <= set(schemas.HISTORY.names)
    assert set(card.TRY_COLUMNS) <= set(schemas.TRIES.names)
    assert set(card.GRADIENT_COLUMNS) <= set(schemas.GRADIENTS.names)
    assert set(card.BIAS_COLUMNS) <= set(schemas.OWN_BIASES.names)
