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


def test_how_a_set_is_chosen_is_said_with_its_numbers() -> None:
    (found,) = [limit for limit in card.limits(settings(closeness=0.25)) if "chosen as a set" in limit]
    assert "below 0.25 or that is reversed; alpha at 8 templates counts 0.2, semantic diversity 0.4, lexical" in found


def test_nothing_is_said_of_an_outcome() -> None:
    assert not [limit for limit in card.limits(settings()) if "more things" in limit or "more consistent" in limit]


def test_columns_that_are_described_are_there() -> None:
    assert set(card.LINEAGE_COLUMNS) <= set(schemas.HISTORY.names)
    assert set(card.TRY_COLUMNS) <= set(schemas.TRIES.names)
    assert set(card.GRADIENT_COLUMNS) <= set(schemas.GRADIENTS.names)
    assert set(card.BIAS_COLUMNS) <= set(schemas.OWN_BIASES.names)
    assert set(card.CHOICE_COLUMNS) <= set(schemas.CHOICES.names)
