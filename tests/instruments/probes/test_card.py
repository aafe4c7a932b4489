"""What the card of a probe benchmark says about probes."""

from evenruler.instruments.probes import card, schemas


def test_columns_that_are_described_are_there() -> None:
    tables = {
        "population": schemas.HISTORY,
        "biases": schemas.OWN_BIASES,
    }
    for name, words in card.WORDS["tables"].items():
        if "described" in words:
            columns = tables.get(name) or getattr(schemas, name.upper())
            assert set(words["described"]) <= set(columns.names)
