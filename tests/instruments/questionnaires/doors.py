"""Scripted answers of several models, taken through the doors of the family."""

import hashlib
import pickle
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import ModelMeta, Plan, Record
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask import ANSWERS, scores
from evenruler.instruments.questionnaires.ask.item_scores import (
    Scoring,
    score_items,
    source_prompts,
)
from evenruler.instruments.questionnaires.declare.source import prompt_id
from evenruler.instruments.questionnaires.diagnose import TABLES, across, figures
from evenruler.instruments.questionnaires.rows import QuestionnaireRows
from evenruler.measurement import Resampling
from evenruler.models import LABELS
from evenruler.models.declarations import LIKELIHOODS
from evenruler.publish.folder import BenchmarkFolder, Config
from evenruler.versions import Changelog
from tests.text_tables import yaml_of_text


def matrix_of_text(text: str) -> np.ndarray:
    """A matrix: rows end with a semicolon, cells may be fractions."""
    rows = []
    for row in text.split(";"):
        rows.append([float(Fraction(cell)) for cell in row.split()])
    return np.array(rows)


PLAN: Plan = yaml_of_text("""\
temperature: 1.0
three_way: false
bound: 0.5
least: 2
embedder: minilm
judge: null
prefixed: 0
prefixes: {}
placebos: []
refused: {}
subjects: 6
fits: 1
adapted: 1000
corpora: {}
accuracy: {threshold: 0.5, sources: [], pairs: [], facts: [], words: {never: -4.0, always: 4.0}}
""")


def labelled(
    method: str = "head", right: int = 20, n: int = 20, name: str = "mnli"
) -> pd.DataFrame:
    """Answers to n labelled pairs, labels in turn, of which the first are right; the others take
    the next label."""
    labels = [("entailment", "neutral", "contradiction")[pair % 3] for pair in range(n)]
    places = [(pair + (pair >= right)) % 3 for pair in range(n)]
    logits = [np.eye(3)[place].tolist() for place in places]
    frame = pd.DataFrame(logits, columns=["entailment", "neutral", "contradiction"])
    return frame.assign(method=method, pair=range(n), set=name, label=labels)


def fact_answers(method: str = "sentence", right: int = 20, n: int = 20) -> pd.DataFrame:
    """Likelihoods of n facts, of which the first are right: the right term goes with "always", else
    with "never"."""
    rows = []
    for fact, term, word in product(range(n), ("right", "wrong"), ("never", "always")):
        says_right = (word == "always") == (fact < right)
        rows.append((fact, term, word, float((term == "right") == says_right)))
    columns = ["fact", "term", "word", "nats"]
    return pd.DataFrame(rows, columns=columns).assign(method=method, tokens=None)


def subject(name: str = "m0", **changes: Any) -> ModelMeta:
    """A model with a head that counts."""
    declared = {"name": name, "lineage": name, "kind": "nli", "methods": ("head",)}
    can = {"operations": frozenset(["entail"]), "chats": False, "continues": True}
    return ModelMeta(**{**declared, **can, "origin": "made up", **changes})


def by_logits(
    built: QuestionnaireRows,
    logits: Callable[[list[tuple[str, str]]], Any],
    settings: Scoring,
    name: str,
) -> pd.DataFrame:
    """Scores of items as the product computes them, and `axis_position`, the means of their
    twins.
    """
    prompts = pd.DataFrame(built.prompts)
    values = logits(list(zip(prompts["premise"], prompts["hypothesis"], strict=True)))
    wide = pd.DataFrame(values, columns=LABELS).assign(id=prompts["id"], framing=prompts["framing"])
    scores = wide.melt(["id", "framing"], var_name="measure").assign(
        model="m", lineage="m", kind="causal", method="verbaliser"
    )
    items = pd.DataFrame(built.items).assign(questionnaire=name)
    item_scores = score_items(prompts, items, scores, settings)
    twin_means = item_scores[item_scores["twin"] > 0].groupby("item")["score"].mean()
    return item_scores[item_scores["twin"] == 0].set_index("item").assign(axis_position=twin_means)


def benchmark_folder(
    name: str, source: Any, tables: Mapping[str, pa.Table], plan: Plan, words: Any
) -> BenchmarkFolder:
    """A benchmark to be written, with few words beside its tables."""
    return BenchmarkFolder(
        name=name,
        title=source.title,
        version="1.0.0",
        language="en",
        task_categories=["text-classification"],
        tags=["questionnaire"],
        construct=source.construct_,
        warning=None,
        reading=words.reading,
        limits=list(words.limits),
        citations=[],
        configs=[Config(table, table, table=rows) for table, rows in tables.items()],
        n_rejected=0,
        parameters=words.parameters,
        plan=plan,
        quality=words.quality,
        quality_of_any=words.quality_of_any,
        listed=[],
        compared=[],
        evidence=[{"figure": "similarity", "model": None, "value": 0.6, "n": 2, "unit": "items"}],
        models={},
        command="make repro",
        harness=words.harness,
        harness_task=words.harness_task,
        changelog=Changelog(),
    )


def no_answers() -> dict[str, pd.DataFrame]:
    """Every table of answers, without a row."""
    return {table: schema.empty_table().to_pandas() for table, schema in ANSWERS.items()}


def no_subjects() -> pd.DataFrame:
    """The table of sentences about I and others, without a row."""
    empty: pd.DataFrame = schemas.SUBJECTS.empty_table().to_pandas()
    return empty


def diagnose(
    prompts: pd.DataFrame,
    items: pd.DataFrame,
    answered: pd.DataFrame,
    embeddings: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
    resampling: Resampling,
    members: Collection[str] | None = None,
) -> Any:
    """The tables of the diagnosis, by name.

    Args:
        prompts: Of all questionnaires.
        items: Likewise.
        answered: A row a prompt, model, method and measure; of prompts after a prefix the id ends
        in
            `-PREFIX`.
        embeddings: By text.
        plans: By questionnaire, what its plan says otherwise than `PLAN`.
        resampling: How intervals are computed.
        members: The models that count.
    """
    records = []
    for model, of_model in answered.groupby("model", sort=True):
        methods = tuple(of_model["method"].unique())
        who = subject(str(model), lineage=of_model["lineage"].iloc[0], methods=methods)
        judged_by = _known(methods, members is None or model in members)
        for name, of_name in prompts.groupby("questionnaire", sort=False):
            plan = {**PLAN, **plans[str(name)]}
            described = items[items["questionnaire"] == name].drop(columns="questionnaire")
            tables = {
                "prompts": of_name,
                "items": described.assign(id=described["item"]),
                "terms": pd.DataFrame({"twin": []}),
                "subjects": no_subjects(),
            }
            answers = _wide(_renamed(of_model, of_name, plan)) | _embedded(tables, embeddings)
            answers = no_answers() | answers | judged_by
            scored = dict(_once(scores, tables, plan, answers, who))
            tables_of_figures = _once(figures, str(name), tables, plan, scored, who, resampling)
            records.append(Record(str(name), who, tables, plan, tables_of_figures))
    return SimpleNamespace(**together(records, resampling))


def _known(methods: Collection[str], is_member: bool) -> dict[str, pd.DataFrame]:
    """Answers to labelled pairs, or to facts, of a model that counts, or does not."""
    right = 20 if is_member else 0
    pairs, facts = [labelled(n=0)], [fact_answers(n=0)]
    for method in methods:
        if method in LIKELIHOODS:
            facts.append(fact_answers(method, right))
        else:
            pairs.append(labelled(method, right))
    return {
        "labelled_pairs": pd.concat(pairs[1:] or pairs),
        "known_answers": pd.concat(facts[1:] or facts),
    }


_MADE: dict[bytes, Any] = {}


def _once(make: Callable[..., Any], *arguments: Any) -> Any:
    """What was made of the same before: tests change one thing, and most records stay as they
    were."""
    key = hashlib.sha256(pickle.dumps((make.__name__, arguments))).digest()
    if key not in _MADE:
        _MADE[key] = make(*arguments)
    return _MADE[key]


def figure_table(rows: Any) -> pd.DataFrame:
    """Figures as a table, with "" for dimensions that do not apply."""
    table = pd.DataFrame(rows, columns=schemas.FIGURES.names)
    dimensions = table[schemas.DIMENSIONS.names].astype(object)
    return table.assign(**dimensions.where(dimensions.notna(), ""))


def together(records: list[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Tables as the stage puts them together: of every record, and what is of many."""
    of_many = across(records, resampling)
    frame_by_table = {}
    for table in TABLES:
        frames = [record.diagnosis.get(table) for record in records] + [of_many.get(table)]
        there = [frame for frame in frames if frame is not None]
        filled = [frame for frame in there if len(frame)] or there[:1]
        frame_by_table[table] = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
    return frame_by_table


def _renamed(answered: pd.DataFrame, prompts: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Of one questionnaire, with the ids that prompts after prefixes have."""
    ids = {str(prompt): str(prompt) for prompt in prompts["id"]}
    for row in prompts.to_dict("records"):
        key = (row["questionnaire"], row["item"], row["term"], row["intensifier"])
        for prefix in plan["prefixes"]:
            ids[f"{row['id']}-{prefix}"] = prompt_id(*key, prefix)
    of_prompts = answered[answered["id"].isin(ids)]
    return of_prompts.assign(id=of_prompts["id"].map(ids))


def _wide(answered: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """A row a prompt and method, as answers are kept."""
    wide = answered.pivot(index=["id", "method"], columns="measure", values="value").reset_index()
    wide = wide.assign(corpus="", fit=0, epoch=0)
    likely = wide["method"].isin(["sentence", "mlm"])
    answers_by_table = {}
    if not likely.all():
        answers_by_table["entailment"] = wide[~likely]
    if likely.any():
        answers_by_table["likelihoods"] = wide[likely].rename(columns={"log_probability": "nats"})
    return answers_by_table


def _embedded(
    tables: Mapping[str, pd.DataFrame], by_text: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    chosen = source_prompts(tables["prompts"])
    texts = [*tables["items"]["original"], *chosen["whole"]]
    ids = [*tables["items"]["id"], *chosen["id"]]
    return {"embeddings": pd.DataFrame({"id": ids, "vector": [by_text[text] for text in texts]})}
