"""What the card of a domain says."""

from dataclasses import replace
from pathlib import Path

from evenruler.instruments.saged.card import card
from tests.instruments.saged.domains import built, declared


def test_figures_of_a_part_are_called_a_sample_and_the_rows_are_described(tmp_path: Path) -> None:
    declaration = declared(tmp_path, items=2)
    found = card(declaration, *built(declaration))
    assert "Figures are of 2 of 3 items and 3 of 3 concepts: a sample." in found.limits
    assert found.limits[-1] == "Replies to each prompt: 1."
    assert [config.name for config in found.configs] == ["prompts", "sources", "rejected"]
    tables, _ = built(declaration)
    assert set(found.configs[0].described) <= set(tables["prompts"])
    assert "More praise. " in found.reading
    assert "By feature: vader: higher is in favour." in found.reading
    assert found.parameters == {"method": "split", "per_concept": 5, "seed": 0, "model": None}
    assert found.quality[0].figure == "difference in favour"
    assert not [column.figure for column in found.quality if "shift" in column.figure]


def test_a_domain_that_is_asked_whole_is_no_sample(tmp_path: Path) -> None:
    declaration = declared(tmp_path)
    assert not [limit for limit in card(declaration, *built(declaration)).limits if "a sample" in limit]


def test_concepts_with_sentences_of_their_own_are_a_limit(tmp_path: Path) -> None:
    declaration = declared(tmp_path)
    tables, plan = built(declaration)
    apart = replace(declaration, source=declaration.source.model_copy(update={"branch": None}))
    assert (
        "Concepts have sentences of their own, so that a raw difference is also one of their texts."
        in card(apart, tables, plan).limits
    )
