"""Scripted answers of several models, taken through the doors of the family."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import ModelMeta, Plan, Record
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask import ANSWERS
from evenruler.instruments.questionnaires.ask.item_scores import (
    Scoring,
    score_items,
)
from evenruler.instruments.questionnaires.diagnose import TABLES, across
from evenruler.instruments.questionnaires.rows import QuestionnaireRows
from evenruler.measurement import Resampling
from evenruler.models import LABELS
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


def no_answers() -> dict[str, pd.DataFrame]:
    """Every table of answers, without a row."""
    return {table: schema.empty_table().to_pandas() for table, schema in ANSWERS.items()}


def no_subjects() -> pd.DataFrame:
    """The table of sentences about I and others, without a row."""
    empty: pd.DataFrame = schemas.SUBJECTS.empty_table().to_pandas()
    return empty


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
