"""The door: tables by their schemas, and a plan that no word of a card is in."""

import json
from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.build import build
from evenruler.models.declared import Catalogue
from tests.instruments.saged.domains import MODELS, SOURCE, declared


def test_tables_are_by_their_schemas(tmp_path: Path) -> None:
    found = build(declared(tmp_path), MODELS)
    for name, schema in (
        ("prompts", schemas.PROMPTS),
        ("sources", schemas.SOURCES),
        ("rejected", schemas.REJECTED),
        ("tries", schemas.TRIES),
    ):
        assert found.tables[name].schema == schema
    assert {name: table.num_rows for name, table in found.tables.items()} == {
        "prompts": 9,
        "sources": 1,
        "rejected": 0,
        "tries": 0,
    }
    assert set(found.tables["prompts"]["url"].to_pylist()) == {"data/sources/saged/articles/fruit.md"}
    assert found.said[0] == "apple: 3 items, 0% of them with replacements"
    assert found.said[-1] == "9 prompts, 0 sentences rejected"


def test_the_plan_says_what_is_asked_at_the_scale_and_nothing_of_the_card(tmp_path: Path) -> None:
    roles = {"no-role": "", "judge": {"text": "You judge.", "scale": "paper"}}
    quick, paper = (build(declared(tmp_path, scale, roles=roles), MODELS).plan for scale in ("quick", "paper"))
    assert (quick["items"], quick["prefixed"], quick["new_tokens"]) == (6, 0, 24)
    assert quick["roles"] == [{"role": "no-role", "text": ""}]
    assert quick["prefixes"]["salience+instruction"] == "This is a test. Answer."
    assert quick["features"] == {"vader": {"kind": "lexicon", "offset": 0.0}}
    assert quick["disparities"]["permutations"] == 200
    assert paper["roles"][1] == {"role": "judge", "text": "You judge."}
    assert paper["prefixed"] == 1000
    text = json.dumps(quick)
    assert json.loads(text) == quick
    assert not [key for key in ("title", "construct", "direction", "licence") if SOURCE[key] in text]


def test_weights_that_do_not_fit_labels_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    entry = {"kind": "classifier", "source": "local:x", "licence": "cc0-1.0", "origin": "o", "labels": ["sad", "glad"]}
    catalogue = Catalogue.model_validate({"models": {"moods": entry}})
    features = {"mood": {"kind": "classifier", "model": "moods", "score": {"sad": 0}}}
    with pytest.raises(UserError, match=r"features\.mood\.score: no weight for 'glad'; give the labels of moods"):
        build(declared(tmp_path, features=features), catalogue)
