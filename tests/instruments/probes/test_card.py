"""What the card of a probe benchmark says about probes."""

from typing import Any

from evenruler.instruments.card import render_templates
from evenruler.instruments.probes import card, schemas

CRITERION = {
    "file": "trades.csv",
    "column": "women",
    "label": "women (%)",
}


def own_limits(source: Any, without_number: int = 0) -> list[str]:
    """The limits of one probe set."""
    limits = render_templates(
        card.WORDS["own_limits"], source=source, without_number=without_number, evolve=None
    )
    return [*limits]


def test_a_criterion_that_is_missing_is_a_limit(source) -> None:
    assert own_limits(source(criterion=CRITERION)) == []
    none = "No criterion is known, so there is no evidence of external validity."
    assert own_limits(source(), 2) == [none]
    assert own_limits(source(criterion=CRITERION), 2) == [
        "2 attributes have no published number and are left out of r.",
    ]


def test_columns_that_are_described_are_there() -> None:
    tables = {
        "population": schemas.HISTORY,
        "biases": schemas.OWN_BIASES,
    }
    for name, words in card.WORDS["tables"].items():
        if "described" in words:
            columns = tables.get(name) or getattr(schemas, name.upper())
            assert set(words["described"]) <= set(columns.names)
