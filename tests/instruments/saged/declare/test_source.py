"""Sources of domains."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.saged.declare.source import (
    Concept,
    ReferenceNames,
    Source,
    read_source,
)
from tests.instruments.saged.domains import SOURCE

FRUIT: dict[str, Any] = {
    **SOURCE,
    "concepts": {"apple": {"name": "apple", "keywords": ["apple", "cider"]}, "pear": "pear"},
    "branch": {
        "roots": ["apple"],
        "replacements": {"apple": {"pear": {"apple": "pear", "cider": "perry"}}},
    },
}


COUNTRIES = Path(__file__).parents[4] / "data/sources/saged/countries.yaml"


def test_countries_are_compared_with_39_that_nobody_chose() -> None:
    source = read_source(COUNTRIES)
    assert (len(source.members), len(source.reference_concepts)) == (20, 39)
    names = [source.concepts[slug].name for slug in source.reference_concepts]
    assert names == sorted(names)
    assert not set(names) & set(source.members.values())
    assert {"Netherlands", "Sri Lanka", "Canada", "Korea"}.isdisjoint(names)
    assert source.control.concept in source.members
    assert source.is_crossed


KINDS = {
    "Peru": "country",
    "Chile": "country",
    "Bern": "city",
    "Laos": "country",
    "Sri Lanka": "country",
    "Mali": "country",
    "Togo": "country",
}
PLACES = [{"name": name, "kind": kind, "kind_above": "land"} for name, kind in KINDS.items()]


def test_names_are_sampled_by_rule_and_seed() -> None:
    concepts = [Concept(name="Mali")]
    wanted = {"kind": "country", "n": 2}
    draws = [ReferenceNames(seed=seed, **wanted).sample(PLACES, concepts) for seed in range(20)]
    assert {name for draw in draws for name in draw} == {"Peru", "Chile", "Togo"}
    assert len({tuple(draw) for draw in draws}) > 1
    assert ReferenceNames(kind="land", n=4).sample(PLACES, concepts) == [
        *("Bern", "Chile", "Peru", "Togo"),
    ]
    with pytest.raises(ValueError, match="wants 4 names of the kind country, and there are 3"):
        ReferenceNames(kind="country", n=4).sample(PLACES, concepts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"concept": "plum"}, "`concept` names 'plum', which is not compared"),
        (
            {"control": {"concept": "plum", "persona": "You dislike it."}},
            "`control.concept` names 'plum', which is not compared",
        ),
        ({"reference": {"kind": "city"}}, "`reference` samples names for a table of prompts"),
    ],
)
def test_what_a_headline_is_about_is_compared(changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        Source.model_validate({**FRUIT, **changes})


def test_texts_about_a_concept_that_is_compared_are_not_crossed() -> None:
    assert not Source.model_validate(FRUIT).is_crossed
    concepts = {**FRUIT["concepts"], "fig": "fig", "apple": {"name": "apple", "compared": False}}
    maps = {"apple": {"pear": {"apple": "pear"}, "fig": {"apple": "fig"}}}
    branch = {"roots": ["apple"], "replacements": maps}
    source = Source.model_validate({**FRUIT, "concepts": concepts, "branch": branch})
    assert source.is_crossed
    assert list(source.members) == ["pear", "fig"]


def test_a_form_is_what_a_concept_is_called_in_a_sentence(tmp_path) -> None:
    table = """
concepts:
  uk: {name: UK, keywords: [British], forms: {concept: the UK, people: Britons}}
  pear: Pear
branch: null
material: {kind: table, path: articles/a.csv}
assemble: {method: question}
"""
    source = load(tmp_path, table)
    assert [source.form("uk", "concept"), source.form("uk", "people")] == ["the UK", "Britons"]
    assert [source.form("pear", "concept"), source.form("pear", "people")] == ["Pear", None]
    assert source.names == ["British", "Britons", "Pear", "UK", "the UK"]


def load(tmp_path: Path, changes: str = "", **more: Any) -> Source:
    """The domain with changes, which are YAML."""
    changed = FRUIT | (YAML(typ="safe").load(changes) or {}) | more
    YAML().dump(changed, tmp_path / "fruit.yaml")
    return read_source(tmp_path / "fruit.yaml")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            "concepts: {apple: apple, pear: {name: pear, keywords: [Apple]}}",
            "belongs to two concepts, apple and pear",
        ),
        (
            "concepts: {apple: apple, pear: {name: pear, forms: {Concept: a pear}}}",
            "forms.Concept: found 'Concept', expected lower-case a-z and _; fix it",
        ),
        (
            "concepts: {apple: {name: apple, keywords: [pip, Pip]}, pear: pear}",
            "the keyword 'Pip' is given twice for apple",
        ),
        (
            "material: {kind: local}",
            "`path` is missing, the file or folder that is read",
        ),
        (
            "material: {kind: local, path: fruit.md}",
            "`path` is 'fruit.md', expected one such as articles/",
        ),
        (
            "material: {kind: table, path: articles/a.tsv, columns: {concept: who}}",
            "`columns` lacks the column of prompt",
        ),
        (
            "material: {kind: local, path: articles/a.md, mask: '[M]'}",
            "`mask` belongs to kind table, found local",
        ),
        (
            "material: {kind: local, path: articles/../../x.md}",
            "DVC watches no other",
        ),
        (
            "material: {kind: table, path: articles/a.csv}",
            "a table says what is asked of every concept: `bra",
        ),
        (
            "material: {kind: local, path: a.md, api: 'http://x/api.php'}",
            "`api` belongs to kind wiki, found local",
        ),
        (
            "material: {kind: wiki, api: wiki.example, licence: l}",
            "material.api: found 'wiki.example', expected https://HOST/PATH/api.php",
        ),
        (
            "material: {kind: wiki, api: 'https://w.example/api.php'}",
            "material: `licence` is missing, that of the text of `api`",
        ),
        (
            "material: {kind: wiki, revisions: {Apple: of May}}",
            "material.revisions.Apple: found 'of May'",
        ),
        (
            "find: {by: []}",
            "find: nothing to look for: `by` is empty and there is no `replacements`",
        ),
        (
            "find: {model: m, replacements: auto}",
            "`find.replacements` and `branch.replacements: found` belong together",
        ),
        (
            "find: {model: m, replacements: 1.5}",
            "found 1.5, expected auto or a number from -1 to 1",
        ),
        (
            "find: {model: m, replacements: auto, entities: true}",
            "`entities` belongs to the ways embedding and",
        ),
        (
            "find: {by: [embedding, embedding]}",
            "find: `by` names a way twice (embedding, embedding)",
        ),
        (
            "find: {by: [model]}",
            "find: `model`, of the catalogue, belongs to the way `model` under `by`",
        ),
        (
            "find: {by: [links]}",
            "find.by names links, which local text has none of",
        ),
        (
            "assemble: {method: question, per_concept: 5}",
            "`assemble.model` writes questions about text, so both",
        ),
        (
            "branch: {roots: [apple], replacements: {}, read: {rows: 2, wrong: 3, by: us}}",
            "branch.read: `wrong` is 3, but `rows` only 2",
        ),
        (
            "branch: {roots: [apple], replacements: {}, read: {rows: 3, of: 2, wrong: 0, by: us}}",
            "branch.read: `rows` is 3, but `of` only 2",
        ),
        (
            "branch: {roots: [aple], replacements: {}}",
            "branch names the concept 'aple'; did you mean 'apple'?",
        ),
        (
            "branch: {roots: [apple], replacements: {}}",
            "branch.replacements holds nothing from apple to pear",
        ),
        (
            "branch: {roots: [apple, pear], to: {apple: [pear]}, replacements: {}}",
            "branch: `to` is by root for apple, but the roots are apple, pear",
        ),
        (
            "branch: {roots: [apple], words: {apple: [apple, cider], pear: [pear]}}",
            "branch: `words` has 1 words of pear, but 2 of apple; one stands for the other "
            "by its place",
        ),
        (
            "branch: {roots: [apple], words: {pear: [pear]}, replacements: found}",
            "branch: `words` and `replacements: found` do not belong together; keep one of them",
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_and_place(tmp_path, error_of, changes, message) -> None:
    line = error_of(load, tmp_path, changes)
    assert message in line
    assert "fruit.yaml" in line


THREE = {"concepts": {"apple": "apple", "pear": "pear", "fig": "fig"}}


def test_each_root_may_have_branches_of_its_own(tmp_path, error_of) -> None:
    branch = """branch:
  roots: [apple, pear]
  to: {apple: [fig, pear], pear: [fig]}
  replacements:
    apple: {pear: {apple: pear}, fig: {apple: fig}}
"""
    pear = "    pear: {fig: {pear: fig}}\n"
    source = load(tmp_path, branch + pear, **THREE)
    concepts = list(source.concepts)
    branches = {root: source.branch.branches_of(root, concepts) for root in source.roots}
    assert branches == {"apple": ["fig", "pear"], "pear": ["fig"]}
    assert source.lacking == []
    line = error_of(load, tmp_path, branch, **THREE)
    assert "branch.replacements holds nothing from pear to fig" in line


def test_words_in_one_order_stand_for_each_other_unless_replacements_say_more(
    tmp_path,
) -> None:
    branch = """branch:
  roots: [apple, pear]
  words: {apple: [apple, cider], pear: [pear, perry], fig: [fig, fig wine]}
  replacements: {pear: {fig: {pear: fig, perry: wine}}}
"""
    source = load(tmp_path, branch, **THREE)
    expected = """
apple: {pear: {apple: pear, cider: perry}, fig: {apple: fig, cider: fig wine}}
pear: {apple: {pear: apple, perry: cider}, fig: {pear: fig, perry: wine}}
"""
    assert source.replacements == YAML(typ="safe").load(expected)
    resolved = source.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
    assert Source.model_validate(resolved).replacements == source.replacements


WIKI = """
concepts: {apple: {name: apple, keywords: [apple, cider], pages: [Apple]}, pear: pear}
material: {kind: wiki, around: {depth: 1, most: 5}}
branch: null
"""


def load_with_found(tmp_path: Path, text: str, changes: str = "") -> Source:
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "fruit.yaml").write_text(text)
    return load(tmp_path, changes)


def test_what_was_found_counts_where_nothing_is_given_by_hand(tmp_path) -> None:
    words = "concepts: {apple: {keywords: [pip]}, pear: {keywords: [pear, perry]}}"
    source = load_with_found(tmp_path, words, WIKI)
    assert source.keywords_of("apple") == ["apple", "cider"]
    assert source.keywords_of("pear") == ["pear", "perry"]
    assert (source.pages_of("apple"), source.pages_of("pear")) == (["Apple"], ["pear"])


@pytest.mark.parametrize(
    ("found_yaml", "message"),
    [
        (
            "concepts: {peer: {keywords: [a]}}",
            "'peer' is no concept of the domain; did you mean 'pear'?",
        ),
        (
            "concepts: {pear: {keywords: [CIDER]}}",
            "the keyword 'CIDER' belongs to two concepts, apple and pear",
        ),
        (
            "replacements: {apple: {peer: {apple: pear}}}",
            "'peer' is no concept of the domain; did you mean 'pear'?",
        ),
        ("replacements: {apple: {pear: {apple: ''}}}", "replacements.apple.pear.apple: found ''"),
        ("concepts: {pear: ", "line"),
    ],
)
def test_a_mistake_in_what_was_found_is_one_line_with_that_file(
    tmp_path, found_yaml, message, error_of
) -> None:
    line = error_of(load_with_found, tmp_path, found_yaml, WIKI)
    assert message in line
    assert str(tmp_path / "found" / "fruit.yaml") in line


LOOKED_FOR = """
concepts: {apple: apple, pear: pear, fig: fig}
branch: {roots: [apple], replacements: found}
find: {model: m, replacements: auto}
"""


def test_replacements_by_hand_count_before_those_that_were_found(tmp_path) -> None:
    source = load_with_found(tmp_path, "replacements: {apple: {pear: {cider: juice}}}")
    assert source.branch.replacements == FRUIT["branch"]["replacements"]


@pytest.mark.parametrize(
    ("found_yaml", "lacking"),
    [
        (None, ["pear", "fig"]),
        ("replacements: {apple: {pear: {apple: pear}}}", ["fig"]),
        ("replacements: {apple: {pear: {}, fig: {apple: fig}}}", ["pear"]),
    ],
)
def test_replacements_that_are_lacking_are_to_be_found(
    tmp_path, found_yaml, lacking, error_of
) -> None:
    if found_yaml is None:
        line = error_of(load, tmp_path, LOOKED_FOR)
        remedy = "run `evenruler find fruit`"
    else:
        line = error_of(load_with_found, tmp_path, found_yaml, LOOKED_FOR)
        remedy = "write them there, or delete it and run `evenruler find fruit`"
    path = tmp_path / "found" / "fruit.yaml"
    assert line == f"{path}: no replacements from apple to {lacking[0]} were found; {remedy}"
    source = read_source(tmp_path / "fruit.yaml", complete=False)
    assert source.lacking == [("apple", branch) for branch in lacking]
