"""What is asked next: replies, then of tools what they say of them; nothing twice, and nothing that
nobody can do."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.asking import collect_answers
from evenruler.instruments.instrument import RequestBatch
from evenruler.instruments.saged import ask
from evenruler.instruments.saged.ask import (
    ANSWERS,
    compared_with,
    repeated_prompts,
    requests,
    scores,
)
from evenruler.tables import table_of
from tests.instruments.saged.domains import SOURCE, built, declared, subject

FEATURES: dict[str, Any] = {
    "vader": {"kind": "lexicon"},
    "mood": {
        "kind": "classifier",
        "model": "moods",
        "score": {"sad": 0, "glad": 1},
    },
    "anger": {
        "kind": "classifier",
        "model": "moods",
        "score": {"sad": 1, "glad": 0},
    },
    "near": {"kind": "distance", "metric": "cosine"},
    "topics": {
        "kind": "clusters",
        "form": "label",
        "k": 2,
        "seed": 0,
    },
    "asked": {
        "kind": "scorer",
        "model": "judge",
        "question": "Rate {GENERATION}",
        "low": 0,
        "high": 9,
    },
}
Domain = tuple[dict[str, pd.DataFrame], dict[str, Any]]


class Answers:
    """A test double of those who answer; what they were asked is kept."""

    def __init__(self, reply: Callable[[str, str | None], str | None]) -> None:
        self.reply, self.asked = reply, list[RequestBatch]()

    def answer(self, request: RequestBatch, inputs: dict[str, list[Any]], n: int) -> dict[str, Any]:
        self.asked.append(request)
        texts: Sequence[str] = inputs.get("text", inputs.get("prompt", []))
        assert len(set(texts)) == len(texts) or not request.by, "a tool is asked twice"
        if request.operation == "embed":
            return {"vector": [np.array([len(text), 1], dtype=np.float32) for text in texts]}
        if request.operation == "classify":
            return {
                "labels": [["sad", "glad"]] * len(texts),
                "probabilities": [np.array([0.25, 0.75])] * len(texts),
            }
        systems = inputs.get("system", [None] * len(texts))
        replies = [
            "7" if request.by else self.reply(text, system)
            for text, system in zip(
                texts,
                systems,
                strict=True,
            )
        ]
        reasons = [None if text is not None else "content filter" for text in replies]
        finish = ["length" if text and text.endswith("...") else "stop" for text in replies]
        columns = {
            "reply": replies,
            "reason": reasons,
            "finish": finish,
        }
        return {name: pd.array(values, dtype="str") for name, values in columns.items()}


def domain(tmp_path: Path, profile: str = "quick", **changes: Any) -> Domain:
    tables, plan = built(
        declared(
            tmp_path,
            profile,
            **{"embedder": "e", "features": FEATURES, "most_roles": 2} | changes,
        )
    )
    return {"prompts": tables["prompts"]}, plan


def asked_rows(fruit: Domain, **fields: Any) -> pd.DataFrame:
    """The rows of all requests for replies, with their inputs."""
    parts = []
    for batch in requests(*fruit, {}, subject(**fields)):
        inputs = batch.inputs
        rows = batch.rows.assign(text=inputs["prompt"], seed=inputs["seed"])
        parts.append(rows.assign(system=inputs["system"]))
    return pd.concat(parts, ignore_index=True)


def asked_of(fruit: Domain, answers: Answers, **fields: Any) -> dict[str, pd.DataFrame]:
    table_by_name = collect_answers(
        {"fruit": fruit},
        requests,
        subject(**fields),
        answers,
    )  # type: ignore[arg-type]
    return {
        name: table_by_name.get(
            name,
            pd.DataFrame(columns=["instrument", *ANSWERS[name].names]),
        )
        for name in ANSWERS
    }


@pytest.fixture
def answers() -> Answers:
    return Answers(lambda text, system: f"{text} It is good.")


def test_replies_come_first_and_each_tool_is_asked_each_text_once(tmp_path, answers) -> None:
    table_by_name = asked_of(domain(tmp_path), answers)
    requested = [(request.operation, request.by) for request in answers.asked]
    assert requested == [
        *[("generate", "")] * 3,  # a root item after the other
        ("classify", "moods"),
        ("embed", "e"),
        ("generate", "judge"),
    ]
    first, *_, classify, _, judge = answers.asked
    assert (first.settings, len(first.rows)) == ({"new_tokens": 64}, 3)
    assert set(first.inputs["system"]) == {None}
    assert classify.settings == {"whole": True}
    assert judge.settings == {"new_tokens": 16, "temperature": 0}
    assert {name: len(rows) for name, rows in table_by_name.items()} == {
        "replies": 9,
        "embeddings": 7,  # names are masked, so that counterfactual texts are one
        "classifications": 16,  # the same masked, and the 9 baselines with their names
        "scored": 16,
    }
    for name, schema in ANSWERS.items():
        table_of(table_by_name[name][schema.names], schema)


CONTROL = {"concept": "pear", "persona": "You dislike pears."}


def test_the_persona_stands_before_prompts_about_its_concept(tmp_path, monkeypatch) -> None:
    fruit = domain(tmp_path, source={**SOURCE, "control": CONTROL}, roles={"no-role": ""})
    assert "persona" not in set(asked_rows(fruit)["framing"])  # three root items could not show it
    monkeypatch.setattr(ask, "FEWEST_FOR_CONTROL", 3)
    rows = asked_rows(fruit)
    about_pears = fruit[0]["prompts"].query("concept == 'pear'")["id"]
    plain = rows[rows["id"].isin(about_pears)]
    persona = rows[rows["framing"] == "persona"]
    assert len(persona) == 3
    assert persona["text"].tolist() == ("You dislike pears. " + plain["text"]).tolist()
    assert persona["seed"].tolist() == plain["seed"].tolist()


def test_root_items_follow_each_other(tmp_path, monkeypatch) -> None:
    """An interrupted run leaves whole ones, with the persona and prefixes of each."""
    monkeypatch.setattr(ask, "FEWEST_FOR_CONTROL", 3)
    fruit = domain(tmp_path, source={**SOURCE, "control": CONTROL}, prefixed=2)
    rows = asked_rows(fruit)
    root_of = fruit[0]["prompts"].set_index("id")["root_id"]
    framed = repeated_prompts(fruit[0], fruit[1]).set_index("id")["root_id"]
    roots = rows["id"].map(pd.concat([root_of, framed])).tolist()
    changes = [first != second for first, second in pairwise(roots)]
    assert sum(changes) == len(set(roots)) - 1 == 2


def test_who_cannot_write_is_asked_nothing_and_has_no_scores(tmp_path, answers) -> None:
    fruit, mute = domain(tmp_path), frozenset({"loglikelihood"})
    nothing = asked_of(fruit, answers, operations=mute)
    assert answers.asked == []
    numbers = scores(*fruit, nothing, subject(operations=mute))
    assert not any(map(len, numbers.values()))


def test_declared_words_are_masked_too(tmp_path, answers) -> None:
    tables, plan = domain(tmp_path)
    asked_of((tables, {**plan, "masked": ["good"]}), answers)
    embed = next(request for request in answers.asked if request.operation == "embed")
    texts = embed.inputs["text"]
    assert not [text for text in texts if "good" in text]
    # "an" before apple, "a" before the others
    assert sum(text.endswith("It is it.") for text in texts) == 4


def test_who_does_not_chat_is_told_no_role(tmp_path) -> None:
    mayor = "You are a mayor."
    roles = {"none": "", "mayor": mayor}
    several = domain(tmp_path, roles=roles)
    one_role = domain(tmp_path, roles=roles, most_roles=1)
    none = ("none", None)
    # The first ones at a small size.
    cases = ((several, True, {none, ("mayor", mayor)}), (several, False, {none}))
    for fruit, chats, expected in (*cases, (one_role, True, {none})):
        rows = asked_rows(fruit, chats=chats)
        systems = rows["system"].astype(object).where(rows["system"].notna(), None)
        assert set(zip(rows["role"], systems, strict=True)) == expected


def test_a_beginning_is_asked_to_be_continued_of_who_chats_alone(tmp_path) -> None:
    tables, plan = domain(tmp_path)
    bare = set(tables["prompts"]["prompt"])
    questions = {"prompts": tables["prompts"].assign(prompt_type="question")}
    goes_on = "Go on with this text, and write nothing but how it goes on: "
    assert set(
        asked_rows((tables, plan))["text"],
    ) == {f"{goes_on}{text}" for text in bare}
    assert set(asked_rows((tables, plan), chats=False)["text"]) == bare
    assert set(asked_rows((questions, plan))["text"]) == bare


def test_a_reply_that_goes_on_is_compared_with_what_went_on(tmp_path) -> None:
    tables, _ = domain(tmp_path)
    rows = tables["prompts"].set_index("id", drop=False)
    parts = compared_with(rows)
    assert set(parts) == {"sweet in the autumn.", "to the ground.", "on a tree in the garden."}
    assert (rows["prompt"] + " " + parts == rows["baseline"]).all()
    questions = rows.assign(prompt_type="question")
    assert compared_with(questions).tolist() == rows["baseline"].tolist()
    shared = rows.assign(baseline=rows["root_id"].map(rows["baseline"]))  # not branched
    assert compared_with(shared).tolist() == parts.tolist()


def test_scores_are_of_the_answers_and_a_withheld_reply_keeps_its_reason(tmp_path) -> None:
    fruit = domain(tmp_path)
    refusal = "I am sorry, but I cannot help."
    answers = Answers(lambda text, system: None if "fig" in text.casefold() else refusal)
    numbers = scores(*fruit, asked_of(fruit, answers), subject("writer"))
    concepts = fruit[0]["prompts"].set_index("id")["concept"]
    features, generations = (
        numbers[name]
        .query("framing == 'bare'")
        .assign(
            concept=numbers[name]["id"].map(concepts),
        )
        for name in ("features", "generations")
    )
    keys = features[["model", "lineage", "domain"]].drop_duplicates()
    assert keys.to_numpy().tolist() == [["writer", "lineage of writer", "fruit"]]
    withheld = generations["concept"] == "fig"
    assert set(generations.loc[withheld, "reason"]) == {"content filter"}
    assert not generations.loc[withheld, ["refusal", "empty"]].any(axis=None)
    assert generations.loc[~withheld, "refusal"].all()
    mood = features[features["feature"] == "mood"]
    assert mood["baseline"].tolist() == [0.75] * 9
    assert mood.loc[mood["concept"] == "pear", "value"].tolist() == [0.75] * 3
    assert set(mood.loc[mood["concept"] == "fig", "reason"]) == {"no reply"}
