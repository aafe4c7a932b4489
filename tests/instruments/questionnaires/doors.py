"""Scripted answers of several models, taken through the doors of the family."""

import hashlib
import pickle
from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any

import pandas as pd

from evenruler.instruments.instrument import Plan, Record, Subject
from evenruler.instruments.questionnaires.ask import ANSWERS, scores
from evenruler.instruments.questionnaires.ask.item_scores import source_prompts
from evenruler.instruments.questionnaires.declare.source import prompt_id
from evenruler.instruments.questionnaires.diagnose import TABLES, across, figures
from evenruler.measurement import Resampling
from evenruler.models.declarations import LIKELIHOODS

PLAN: Plan = {
    "temperature": 1.0,
    "three_way": False,
    "stop_below": False,
    "smallest": 0.5,
    "least": 2,
    "embedder": "minilm",
    "judge": None,
    "prefixed": 0,
    "prefixes": {},
    "placebos": [],
    "fits": 1,
    "adapted": 1000,
    "corpora": {},
    "accuracy": {
        "bar": 0.5,
        "sources": [],
        "pairs": [],
        "facts": [],
        "words": {"never": -4.0, "always": 4.0},
    },
}


def labelled(
    configuration: str = "head", right: int = 20, n: int = 20, name: str = "mnli"
) -> pd.DataFrame:
    """Answers to n labelled pairs, labels in turn, of which the first are right; the others take
    the next label."""
    labels = [("entailment", "neutral", "contradiction")[i % 3] for i in range(n)]
    places = [(i if i < right else i + 1) % 3 for i in range(n)]
    logits = [[float(place == at) for at in range(3)] for place in places]
    found = pd.DataFrame(logits, columns=["entailment", "neutral", "contradiction"])
    return found.assign(configuration=configuration, pair=range(n), set=name, label=labels)


def known(configuration: str = "sentence", right: int = 20, n: int = 20) -> pd.DataFrame:
    """Likelihoods of n facts, of which the first are right: the right term goes with "always", else
    with "never"."""
    rows = [
        {
            "fact": fact,
            "term": term,
            "word": word,
            "nats": float((term == "right") == ((word == "always") == (fact < right))),
        }
        for fact in range(n)
        for term in ("right", "wrong")
        for word in ("never", "always")
    ]
    columns = ["fact", "term", "word", "nats"]
    return pd.DataFrame(rows, columns=columns).assign(configuration=configuration, tokens=None)


def subject(name: str = "m0", **changes: Any) -> Subject:
    """A model with a head that counts."""
    own: dict[str, Any] = {
        "name": name,
        "kind": "nli",
        "lineage": name,
        "operations": frozenset(["entail"]),
        "chats": False,
        "continues": True,
        "forms": ("head",),
        "origin": "made up",
    }
    return Subject(**{**own, **changes})


def no_answers() -> dict[str, pd.DataFrame]:
    """Every table of answers, without a row."""
    return {table: schema.empty_table().to_pandas() for table, schema in ANSWERS.items()}


def diagnose(
    prompts: pd.DataFrame,
    items: pd.DataFrame,
    answered: pd.DataFrame,
    embeddings: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
    resampling: Resampling,
    members: Collection[str] | None = None,
    acceptability: pd.DataFrame | None = None,
) -> Any:
    """The tables of the diagnosis, by name.

    Args:
        prompts: Of all questionnaires.
        items: Likewise.
        answered: A row a prompt, model, form and measure; of prompts after a prefix the id ends in
            `-PREFIX`.
        embeddings: By text.
        plans: By questionnaire, what its plan says otherwise than `PLAN`.
        resampling: How intervals are computed.
        members: The models that count.
        acceptability: Content that a judge gave.
    """
    records = []
    for model, own in answered.groupby("model", sort=True):
        right = 20 if members is None or model in members else 0
        forms, lineage = tuple(own["configuration"].unique()), own["lineage"].iloc[0]
        who = subject(str(model), lineage=lineage, forms=forms)
        pairs = pd.concat(
            [labelled(form, right) for form in forms if form not in LIKELIHOODS] or [labelled(n=0)]
        )
        for name, of_name in prompts.groupby("questionnaire", sort=False):
            plan = {**PLAN, **plans[str(name)]}
            described = items[items["questionnaire"] == name].drop(columns="questionnaire")
            tables = {
                "prompts": of_name,
                "items": described.assign(id=described["item"]),
                "terms": pd.DataFrame({"twin": []}),
            }
            answers = {**_wide(_renamed(own, of_name, plan)), **_embedded(tables, embeddings)}
            by_facts = [known(form, right) for form in forms if form in LIKELIHOODS] or [known(n=0)]
            judged_by = {"labelled_pairs": pairs, "known_answers": pd.concat(by_facts)}
            found = dict(_once(scores, tables, plan, {**no_answers(), **answers, **judged_by}, who))
            if acceptability is not None:
                judged = acceptability[acceptability["questionnaire"] == name]
                found["content"] = pd.concat([found["content"], judged], ignore_index=True)
            own_figures = _once(figures, str(name), tables, plan, found, who, resampling)
            records.append(Record(str(name), who, tables, plan, own_figures))
    return SimpleNamespace(**together(records, resampling))


_MADE: dict[bytes, Any] = {}


def _once(make: Callable[..., Any], *given: Any) -> Any:
    """What was made of the same before: tests change one thing, and most records stay as they
    were."""
    key = hashlib.sha256(pickle.dumps((make.__name__, given))).digest()
    if key not in _MADE:
        _MADE[key] = make(*given)
    return _MADE[key]


def together(records: list[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Tables as the stage puts them together: of every record, and what is of many."""
    of_many = across(records, resampling)
    found = {}
    for table in TABLES:
        frames = [
            *(record.found[table] for record in records if table in record.found),
            of_many.get(table),
        ]
        there = [frame for frame in frames if frame is not None]
        filled = [frame for frame in there if len(frame)] or there[:1]
        found[table] = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
    return found


def _renamed(answered: pd.DataFrame, prompts: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Of one questionnaire, with the ids that prompts after prefixes have."""
    ids = {str(prompt): str(prompt) for prompt in prompts["id"]}
    for row in prompts.to_dict("records"):
        key = (row["questionnaire"], row["item"], row["term"], row["intensifier"])
        ids |= {f"{row['id']}-{prefix}": prompt_id(*key, prefix) for prefix in plan["prefixes"]}
    return answered[answered["id"].isin(ids)].assign(id=lambda rows: rows["id"].map(ids))


def _wide(answered: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """A row a prompt and form, as answers are kept."""
    wide = answered.pivot(
        index=["id", "configuration"], columns="measure", values="value"
    ).reset_index()
    wide = wide.assign(corpus="", fit=0, epoch=0)
    likely = wide["configuration"].isin(["sentence", "mlm"])
    found = {}
    if not likely.all():
        found["entailment"] = wide[~likely]
    if likely.any():
        found["likelihoods"] = wide[likely].rename(columns={"log_probability": "nats"})
    return found


def _embedded(
    tables: Mapping[str, pd.DataFrame], by_text: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    chosen = source_prompts(tables["prompts"])
    texts = [*tables["items"]["original"], *chosen["whole"]]
    ids = [*tables["items"]["id"], *chosen["id"]]
    return {"embeddings": pd.DataFrame({"id": ids, "vector": [by_text[text] for text in texts]})}
