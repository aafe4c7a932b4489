"""What the card of a probe benchmark says about probes, and of evolved ones about their
evolution."""

from typing import Any

import pytest

from evenruler.instruments.card import render_templates
from evenruler.instruments.probes import card, schemas
from evenruler.instruments.probes.declare.settings import Evolve

CRITERION = {"file": "trades.csv", "column": "women", "label": "women (%)"}


def reading(source: Any, evolve: Evolve | None = None) -> str:
    """How a score is read, without prefixes."""
    return str(
        render_templates(card.WORDS["reading"], source=source, plan={"prefixed": 0}, evolve=evolve)
    )


def own_limits(source: Any, without_number: int = 0, evolve: Evolve | None = None) -> list[str]:
    """The limits of one probe set."""
    told = render_templates(
        card.WORDS["own_limits"], source=source, without_number=without_number, evolve=evolve
    )
    return [*told]


def test_a_score_is_read_with_its_direction_in_words(source) -> None:
    found = reading(source(direction="positive means closer to {men}"))

    assert (
        "in nats, averaged over targets and templates (PMPO, equation 1): positive means closer to "
        "{men}. Its" in found
    )


def test_a_criterion_that_is_missing_is_a_limit(source) -> None:
    assert own_limits(source(criterion=CRITERION)) == []
    none = "No criterion is known, so there is no evidence of external validity."
    assert own_limits(source(), 2) == [none]
    assert own_limits(source(criterion=CRITERION), 2) == [
        "2 attributes have no published number and are left out of r.",
    ]


def test_columns_that_are_described_are_there() -> None:
    tables = {"population": schemas.HISTORY, "biases": schemas.OWN_BIASES}
    for name, own in card.WORDS["tables"].items():
        if described := own.get("described"):
            columns = tables.get(name) or getattr(schemas, name.upper())
            assert set(described) <= set(columns.names)


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
    ("scale", "generations", "operator", "model"),
    [("quick", 2, "talker", "tiny"), ("paper", 9, "server", "big")],
)
def test_it_says_how_the_templates_came_about_at_that_scale(
    source: Any, scale: Any, generations: int, operator: str, model: str
) -> None:
    found = reading(source(), settings(scale))
    assert (
        f"evolved from the set `by-hand` over {generations} generations: in each, the 5 best stayed"
        in found
    )
    assert f"tournaments of 6, and {operator} replaced the most influential word" in found
    assert f"was computed with {model}: its contribution to alpha has weight 0.2, " in found
    assert "single words 0.1, semantic diversity 0.4, lexical diversity 0.3." in found
    assert "{" not in found


def limits(source: Any, evolve: Evolve) -> list[str]:
    """What is said more of a set that evolved."""
    plain, found = own_limits(source()), own_limits(source(), evolve=evolve)
    assert found[: len(plain)] == plain
    return found[len(plain) :]


def test_limits_name_the_model_that_is_flattered(source) -> None:
    found = limits(source, settings("paper"))
    assert len(found) == 3
    assert found[0].startswith(
        "Templates were selected with big, so its figures are too favourable;"
    )
    assert "tiny" not in "".join(found)


def test_how_a_set_is_chosen_is_said_with_its_numbers(source) -> None:
    (found,) = [
        limit for limit in limits(source, settings(closeness=0.25)) if "chosen jointly" in limit
    ]
    assert (
        "below 0.25 or that is reversed; alpha at 8 templates counts 0.2, semantic diversity 0.4, "
        "lexical" in found
    )


def test_nothing_is_said_of_an_outcome(source) -> None:
    assert not [
        limit
        for limit in limits(source, settings())
        if "more things" in limit or "more consistent" in limit
    ]
