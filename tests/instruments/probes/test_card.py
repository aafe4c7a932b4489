"""What the card of a probe benchmark says about probes."""

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.card import words as card

CRITERION = {"file": "trades.csv", "column": "women", "label": "women (%)"}


def test_a_score_is_read_with_its_direction_in_words(source) -> None:
    found = card.reading(source(direction="positive means closer to {men}"), 0)

    assert (
        "in nats, averaged over targets and templates (PMPO, equation 1): positive means closer to {men}. Its" in found
    )


def test_limits_of_every_probe_set_go_first(source) -> None:
    own = card.limits(source(limits=["Two trades."], criterion=CRITERION), 0)

    assert own == [*card.LIMITS, "Two trades."]


def test_a_criterion_that_is_missing_is_a_limit(source) -> None:
    none = "No criterion is known, so there is no evidence of external validity."
    assert card.limits(source(), 2) == [*card.LIMITS, none]
    assert card.limits(source(criterion=CRITERION), 2) == [
        *card.LIMITS,
        "2 attributes have no published number and stay out of r.",
    ]


def test_columns_that_are_described_are_there() -> None:
    assert set(card.COLUMNS) <= set(schemas.PROBES.names)
    assert set(card.ATTRIBUTE_COLUMNS) <= set(schemas.ATTRIBUTES.names)
