"""What the card of a domain says."""

from dataclasses import replace

from evenruler.instruments.saged.card import card
from tests.instruments.saged.domains import SOURCE, built, declared


def test_figures_of_a_part_are_called_a_sample_and_the_rows_are_described(tmp_path) -> None:
    declaration = declared(tmp_path, items=2)
    domain_card = card(declaration, *built(declaration), [])
    assert "Figures are for 2 of 3 items: a sample." in domain_card.limits
    assert domain_card.limits[-1] == "Replies to each prompt: 1."
    tables, _ = built(declaration)
    assert set(domain_card.configs[0].described) <= set(tables["prompts"])
    assert [
        heading.figure for heading in domain_card.quality if heading.figure_type == "headline"
    ] == ["favour"]
    assert not [column.figure for column in domain_card.quality if "shift" in column.figure]
    whole = declared(tmp_path)
    limits = card(whole, *built(whole), []).limits
    assert not [limit for limit in limits if "a sample" in limit]


def test_text_of_others_says_how_to_get_it(tmp_path) -> None:
    declaration = declared(tmp_path)
    assert card(declaration, *built(declaration), []).withheld is None
    withholding = replace(
        declaration, settings=declaration.settings.model_copy(update={"text": "others"})
    )
    instructions = card(withholding, *built(declaration), []).withheld
    assert "`evenruler repro card-third-party@fruit`" in instructions
    assert "`benchmarks/saged-fruit/`" in instructions


def test_what_is_synthetic_is_said(tmp_path) -> None:
    declaration = declared(tmp_path)
    tables, plan = built(declaration)
    branched = card(declaration, tables, plan, []).responsible
    apart = declared(
        tmp_path, source={**SOURCE, "branch": None, "concepts": {"apple": "apple", "tree": "tree"}}
    )
    domain_card = card(apart, *built(apart), [])
    sentence = (
        "Concepts have sentences of their own, so a raw difference includes that of their texts."
    )
    assert sentence in domain_card.limits
    split = domain_card.responsible
    assert (branched.synthetic, split.synthetic) == (True, False)


def test_the_example_is_a_branch_and_validity_counts_rows(tmp_path) -> None:
    declaration = declared(tmp_path)
    tables, plan = built(declaration)
    prompts = tables["prompts"]
    refusals = {"figure": "refusal_rate", "model": "m", "value": 0.125}
    shown = card(declaration, tables, plan, [refusals])
    assert not prompts.set_index("id").loc[shown.example.id, "is_root"]
    assert shown.validity.representative.startswith("3 root items, 9 prompts ")
    assert shown.validity.errors.startswith("Refusals (share): m 0.12.")
