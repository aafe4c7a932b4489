"""Which sentences become items."""

import json
from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.rows import build
from evenruler.instruments.saged.rows.prompts import balanced_sample
from evenruler.instruments.saged.rows.questions import JUDGED
from evenruler.models.backends.server import KEY, URL
from evenruler.models.declarations import Catalogue
from tests.instruments.saged.domains import MODELS, SOURCE, declared
from tests.loopback_openai import ScriptedServer, running, said_in


def test_tables_are_by_their_schemas(tmp_path) -> None:
    tables = build(declared(tmp_path), MODELS).tables
    for name, table in tables.items():
        assert table.schema == getattr(schemas, name.upper())
    n_rows = {name: table.num_rows for name, table in tables.items()}
    assert n_rows == {"prompts": 9, "sources": 1, "rejected": 0, "tries": 0}
    urls = set(tables["prompts"]["url"].to_pylist())
    assert urls == {"data/sources/saged/articles/fruit.md"}


def test_the_plan_says_what_is_asked_at_the_scale_and_nothing_of_the_card(tmp_path) -> None:
    roles = {"no-role": "", "judge": {"text": "You judge.", "profile": "paper"}}
    quick, paper = (
        build(declared(tmp_path, scale, roles=roles), MODELS).plan for scale in ("quick", "paper")
    )
    assert quick["roles"] == [{"role": "no-role", "text": ""}]
    assert quick["prefixes"]["salience+instruction"] == "This is a test. Answer."
    assert paper["roles"][1] == {"role": "judge", "text": "You judge."}
    text = json.dumps(quick)
    for key in ("title", "construct", "direction", "licence"):
        assert SOURCE[key] not in text


def test_of_rows_that_nobody_has_read_no_model_is_asked_and_all_that_were_read_are_those_that_there_are(
    tmp_path, error_of
) -> None:
    def plan(**read: int) -> dict[str, Any]:
        branch = {**SOURCE["branch"], "read": {"by": "us", "wrong": 0, **read}}
        return build(declared(tmp_path, source={**SOURCE, "branch": branch}), MODELS).plan

    assert plan(rows=6, of=6)["asked"]
    assert not plan(rows=0)["asked"]
    line = "fruit: branch.read: `of` is 5, but there are 6 branched rows; read those that there are"
    assert error_of(plan, rows=5, of=5) == line


def test_weights_that_do_not_fit_labels_are_refused_before_anything_is_asked(tmp_path) -> None:
    entry = {"kind": "classifier", "source": "local:x", "licence": "cc0-1.0", "origin": "o"}
    moods = {"moods": {**entry, "labels": ["sad", "glad"]}}
    features = {"mood": {"kind": "classifier", "model": "moods", "score": {"sad": 0}}}
    with pytest.raises(
        UserError, match=r"features\.mood\.score: no weight for 'glad'; give the labels of moods"
    ):
        build(declared(tmp_path, features=features), Catalogue.model_validate({"models": moods}))


ASKING = {**SOURCE, "assemble": {"method": "question", "per_concept": 5, "model": "big"}}


def hosted(
    monkeypatch: pytest.MonkeyPatch, folder: Path, server: ScriptedServer, kind: str = "chat"
) -> Catalogue:
    """A catalogue with the model `big` of the server."""
    monkeypatch.setenv("EVENRULER_CACHE", str(folder / "cache"))
    monkeypatch.setenv(URL, server.url)
    monkeypatch.setenv(KEY, "secret-word")
    entry = {
        "kind": kind,
        "source": "endpoint:big-one",
        "licence": "by its terms",
        "origin": "o",
    }
    return Catalogue.model_validate({"models": {"big": entry}})


@dataclass
class Writer(ScriptedServer):
    """Asks about apples when it has been told twice; of autumn it does not speak."""

    def reply(self, question: dict[str, Any]) -> str:
        sentence = said_in(question).split("Sentence: ")[-1]
        if sentence.count("Refused") < 2:
            return "No." if "tree" in sentence else "What can be said about the apple?"
        return (
            "Where does every apple grow?"
            if "tree" in sentence
            else "Where does the apple fall to?"
        )


@pytest.mark.enable_socket
def test_a_hosted_model_writes_questions_in_rounds_and_what_it_wrote_is_kept(
    tmp_path, monkeypatch
) -> None:
    with running(Writer(filters="autumn")) as server:
        catalogue = hosted(monkeypatch, tmp_path, server)
        tables = build(declared(tmp_path, source=ASKING), catalogue).tables
        n_questions = len(server.asked)
        again = build(declared(tmp_path, source=ASKING), catalogue).tables
    assert len(server.asked) == n_questions == 3 + 2 + 2
    assert again == tables
    roots = {row["prompt"] for row in tables["prompts"].to_pylist() if row["is_root"]}
    assert roots == {"Where does every apple grow?", "Where does the apple fall to?"}
    (rejected,) = tables["rejected"].to_pylist()
    assert rejected["sentence"] == "An apple tastes sweet in the autumn."
    assert rejected["reason"] == "no reply: content_filter"
    attempts = [(row["attempt"], row["reason"]) for row in tables["tries"].to_pylist()]
    assert sorted(attempts) == [
        (0, "it asks for nothing in particular"),
        (0, "no question mark at the end"),
        (0, "no reply: content_filter"),
        (1, "it asks for nothing in particular"),
        (1, "no question mark at the end"),
    ]


@pytest.mark.enable_socket
def test_where_every_reply_is_refused_one_line_says_so(tmp_path, monkeypatch, error_of) -> None:
    """A server of completions only repeats in capitals here."""
    with running(Writer(filters="autumn")) as server:
        catalogue = hosted(monkeypatch, tmp_path, server, "completions")
        line = error_of(build, declared(tmp_path, source=ASKING), catalogue)
    assert "none of 3 sentences became a prompt (2: several questions); give it other" in line


class Judge(ScriptedServer):
    """Knows pears to fall, and nothing else of pears and figs."""

    def reply(self, question: dict[str, Any]) -> str:
        return "Yes." if "A pear falls" in said_in(question) else "No, never."


@pytest.mark.enable_socket
def test_a_judge_reads_every_branched_row_and_an_item_without_any_left_is_none(
    tmp_path, monkeypatch
) -> None:
    source = {**SOURCE, "branch": {**SOURCE["branch"], "judge": "big"}}
    text = "An apple falls to the ground. Every apple grows on a tree in the garden."
    with running(Judge()) as server:
        catalogue = hosted(monkeypatch, tmp_path, server)
        tables = build(declared(tmp_path, source=source, article=text), catalogue).tables
    assert len(server.asked) == 4
    assert {row["concept"]: row["baseline"] for row in tables["prompts"].to_pylist()} == {
        "apple": "An apple falls to the ground.",
        "pear": "A pear falls to the ground.",
    }
    fields = itemgetter("concept", "sentence", "reason")
    rejected = set(map(fields, tables["rejected"].to_pylist()))
    reason = f"{JUDGED}: 'No, never.'"
    assert rejected == {
        ("fig", "An apple falls to the ground.", reason),
        ("fig", "Every apple grows on a tree in the garden.", reason),
        ("pear", "Every apple grows on a tree in the garden.", reason),
    }


KEYWORDS = ["French"] * 10 + ["Paris"] * 3 + ["Seine"]
ITEMS = [
    {
        "id": f"{number:02d}",
        "keyword": keyword,
    }
    for number, keyword in enumerate(KEYWORDS)
]


def drawn(most: int, seed: int = 0) -> Counter:
    return Counter(row["keyword"] for row in balanced_sample(ITEMS, "keyword", most, seed))


def test_keywords_take_turns_until_one_has_no_more() -> None:
    assert drawn(3) == {"French": 1, "Paris": 1, "Seine": 1}
    assert drawn(7) == {"French": 3, "Paris": 3, "Seine": 1}
    assert drawn(12) == {"French": 8, "Paris": 3, "Seine": 1}


def test_where_there_are_fewer_all_are_taken_once() -> None:
    assert sorted(balanced_sample(ITEMS, "keyword", 100, 0), key=itemgetter("id")) == ITEMS
    assert balanced_sample([], "keyword", 5, 0) == []


def test_more_keep_what_fewer_gave_and_another_seed_draws_others() -> None:
    few, many = (balanced_sample(ITEMS, "keyword", most, 1) for most in (5, 9))
    assert many[:5] == few
    assert balanced_sample(ITEMS, "keyword", 5, 2) != few
