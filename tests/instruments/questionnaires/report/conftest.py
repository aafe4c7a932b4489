"""Small declarations, and tables of a diagnosis by their schemas, made up."""

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare import Source
from evenruler.instruments.questionnaires.declare.shared import CorpusSource
from evenruler.instruments.questionnaires.declare.source import ResponseScale
from evenruler.tables import read_frame, write_table

INTENSIFIERS = {"never": (1, -4.0), "very-rarely": (2, -3.0), "often": (3, 2.0), "always": (4, 4.0)}
TERMS = {
    "source": {"nervous": "nervous", "on-edge": "on edge"},
    "inverse": {"calm": "calm", "at-ease": "at ease"},
}
MODELS = {
    "speaker": ("speaker", "causal", "verbaliser"),
    "head-a": ("encoder", "nli", "head"),
    "head-low": ("encoder", "nli", "head"),
}
ITEMS = {"worry": ["one", "two"], "trust": ["one"]}
STAGES = (
    (1, 0),
    (1, 1),
    (1, 2),
    (2, 0),
    (2, 2),
)
"""Fits and epochs: the first fit on the way, the second at its end."""


def questionnaire(name: str) -> Source:
    template = {"original": "How?", "premise": "I have been {TERM}.", "terms": TERMS}
    twin = {"premise": "The sea has been {TERM}.", "terms": TERMS}
    return Source.model_validate(
        {
            "title": f"Scale of {name}",
            "construct": name,
            "direction": f"positive means more {name}",
            "original": {
                "name": name,
                "licence": "cc-by-4.0",
                "reference": "ours",
                "wording": "held",
            },
            "source": "the test",
            "licence": "cc-by-4.0",
            "responses": scale(),
            "items": {
                slug: {
                    **template,
                    "hypothesis": f"I {{INTENSIFIER}} feel {slug}.",
                    "twins": [twin | {"hypothesis": f"It {{INTENSIFIER}} looks {slug}."}],
                }
                for slug in ITEMS[name]
            },
        }
    )


def scale() -> ResponseScale:
    levels = [
        {"weight": weight, "words": [word.replace("-", " ")]}
        for word, (_, weight) in INTENSIFIERS.items()
    ]
    return ResponseScale.model_validate(
        {"title": "Frequency", "source": "the test", "levels": levels}
    )


def corpus(role: str, expect: dict[str, str]) -> CorpusSource:
    words = {
        "title": f"Corpus for {role}",
        "about": f"sentences of the {role} about <it>",
        "source": "t",
        "licence": "cc-by-4.0",
    }
    matched = {"matched": {"to": "gloom"}} if role == "control" else {}
    by_role = {
        "role": role,
        "expect": expect,
        "provenance": "made by the test",
        "sentences": ["One.", "Two."],
    }
    return CorpusSource.model_validate({**words, **by_role, **matched})


@pytest.fixture
def declared() -> dict[str, Source]:
    return {name: questionnaire(name) for name in ITEMS}


@pytest.fixture
def corpora() -> dict[str, CorpusSource]:
    return {
        "gloom": corpus("intervention", {"worry": "up", "trust": "down"}),
        "bolts": corpus("control", {"worry": "none"}),
    }


def of_model(model: str, name: str) -> dict[str, Any]:
    lineage, kind, method = MODELS[model]
    return {
        "questionnaire": name,
        "model": model,
        "lineage": lineage,
        "kind": kind,
        "method": method,
        "framing": "bare",
    }


def cells() -> list[dict[str, Any]]:
    """p counts up from .0001, so that every cell has a value of its own; sorted as on disk, by
    slug."""
    rows = []
    terms = [(polarity, term) for polarity, words in TERMS.items() for term in words]
    for name, model in product(sorted(ITEMS), MODELS):
        for slug, (polarity, term), intensifier in product(
            ITEMS[name], sorted(terms), sorted(INTENSIFIERS)
        ):
            level, weight = INTENSIFIERS[intensifier]
            place = {
                "item": slug,
                "twin": 0,
                "term": term,
                "polarity": polarity,
                "intensifier": intensifier,
            }
            p = (len(rows) + 1.00001) / 10_000
            rows.append(
                {
                    **of_model(model, name),
                    **place,
                    "level": level,
                    "weight": weight,
                    "p": p,
                    "pss": p / 2,
                }
            )
    return rows


def scales() -> list[dict[str, Any]]:
    rows = []
    for (name, items), (number, model) in product(ITEMS.items(), enumerate(MODELS)):
        row = {
            **of_model(model, name),
            "subscale": "all",
            "score": number / 10 + len(items),
            "n": len(items),
        }
        rows.append(
            {
                **row,
                "z": 1.25 if model == "head-a" else None,
                "normal": 0.5 if model == "head-a" else None,
            }
        )
    return rows


def quality() -> list[dict[str, Any]]:
    """worry: one works, two does not; trust: one works for the models that count."""
    ratings = {
        ("worry", "one"): (0.7, "good", [(0.8, "good"), (0.7, "good"), (0.65, "good")]),
        ("worry", "two"): (0.4, "poor", [(0.3, "weak"), (-0.1, "poor"), (0.9, "good")]),
        ("trust", "one"): (0.3, "told", [(0.9, "good"), (None, "told"), (-0.2, "poor")]),
    }
    rows = []
    for (name, slug), (similarity, verdict, by_model) in ratings.items():
        measure = "similarity_to_paraphrase" if verdict == "told" else "similarity"
        row = {
            "questionnaire": name,
            "item": slug,
            "measure": measure,
            "model": None,
            "value": similarity,
        }
        advice = "say it closer" if verdict == "poor" else None
        rows.append({**row, "threshold": 0.5, "verdict": verdict, "advice": advice})
        for model, (silhouette, silhouette_verdict) in zip(MODELS, by_model, strict=True):
            row = {
                "questionnaire": name,
                "item": slug,
                "measure": "silhouette",
                "model": model,
                "value": silhouette,
            }
            advice = "take plainer opposites" if silhouette_verdict in ("weak", "poor") else None
            rows.append({**row, "threshold": 0.6, "verdict": silhouette_verdict, "advice": advice})
    return rows


def population() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for model, (lineage, kind, method) in MODELS.items():
        row = {"model": model, "lineage": lineage, "kind": kind, "method": method}
        below = model == "head-low"
        measured = (
            {"accuracy": 0.55, "low": 0.5, "high": 0.6}
            if below
            else {"accuracy": 0.8, "low": 0.75, "high": 0.85}
        )
        standing = {"member": not below, "standing": "below, does not count" if below else "counts"}
        rows.append({**row, **measured, "n": 501, "threshold": 0.7, **standing})
    return rows


def accuracy() -> list[dict[str, Any]]:
    """`head-low` was asked the pairs that are judged by alone, and its AUC is not known."""
    rows = []
    for row in population():
        shared = {key: row[key] for key in ("model", "method", "accuracy", "low", "high", "n")}
        low = row["model"] == "head-low"
        auc = None if low else 0.9
        rows.append({**shared, "set": "mnli", "chance": 1 / 3, "auc": auc})
        if not low:
            rows.append({**shared, "set": "statements", "n": 60, "chance": 0.5, "auc": 0.6})
    return rows


def items() -> list[dict[str, Any]]:
    """PSS of every item reaches from .1 to .2, of the second .3."""
    rows = []
    for (name, slugs), model in product(ITEMS.items(), MODELS):
        for place, slug in enumerate(slugs):
            item_columns = {
                "subscale": None,
                "item": slug,
                "twin": 0,
                "keying": 1,
                "score": 0.0,
                "silhouette": 0.5,
                "n": 4,
            }
            rows.append(
                {
                    **of_model(model, name),
                    **item_columns,
                    "pss_low": 0.1,
                    "pss_high": 0.2 + place / 10,
                }
            )
    return rows


def figures() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    of_any: dict[str, Any] = dict.fromkeys(schemas.FIGURES.names)
    none = {"n": 2, "unit": "lineages", "reason": "fewer than 5 lineages of models"}
    for name in ITEMS:
        alpha = {"figure": "alpha", "method": "head"}
        rows.append({**of_any, "benchmark": name, **alpha, **none})
        for model in MODELS:
            measured = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 7, "unit": "items"}
            labels = {**of_any, "benchmark": name, "model": model}
            rows.append({**labels, "figure": "mean_response", **measured, "control": 0.125})
    rho = {"figure": "rho", "other": "worry", "method": "verbaliser"}
    rows.append({**of_any, "benchmark": "trust", **rho, **none})
    return [*rows, *moved()]


def moved() -> list[dict[str, Any]]:
    """Interventions: told of worry, by one fit alone of trust."""
    of_any: dict[str, Any] = {
        **dict.fromkeys(schemas.FIGURES.names),
        "unit": "fits",
        "model": "head-a",
    }
    judged = {"smallest": 0.5, "figure": "moved", "corpus": "gloom"}
    beyond = {
        **judged,
        "value": 0.2,
        "n": 6,
        "low": 0.15,
        "high": 0.25,
        "verdict": "effect",
        "why": "It is <large>.",
    }
    little = {
        **judged,
        "value": 0.1,
        "n": 1,
        "reason": "no interval",
        "verdict": "inconclusive",
        "why": "One.",
    }
    rows: list[dict[str, Any]] = [
        {"benchmark": "worry", **beyond},
        {
            "benchmark": "worry",
            "figure": "changed",
            "corpus": "gloom",
            "value": 0.3,
            "n": 6,
            "low": 0.2,
            "high": 0.4,
        },
        {
            "benchmark": "worry",
            "figure": "changed",
            "corpus": "bolts",
            "value": 0.1,
            "n": 6,
            "low": 0.0,
            "high": 0.2,
        },
        {"benchmark": "trust", **little},
    ]
    return [of_any | row for row in rows]


def trajectories() -> list[dict[str, Any]]:
    rows = []
    for name, chosen, (fit, epoch) in product(ITEMS, ("gloom", "bolts"), STAGES):
        row = {
            **of_model("head-a", name),
            "corpus": chosen,
            "fit": fit,
            "epoch": epoch,
            "answer": epoch / 10,
        }
        rows.append({**row, "n": 2})
    return rows


def changes() -> list[dict[str, Any]]:
    change = {"corpus": "gloom", "control": "bolts", "expected": "up", "before": 0.0, "after": 0.2}
    of_fit = {"after_control": 0.1, "difference": 0.1}
    return [{**of_model("head-a", "worry"), **change, "fit": fit, **of_fit} for fit in (1, 2)]


def course() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for model, chosen, (fit, epoch) in product(("head-a", "speaker"), ("gloom", "bolts"), STAGES):
        here = {
            "model": model,
            "corpus": chosen,
            "fit": fit,
            "epoch": epoch,
            "text": None,
            "reason": None,
        }
        rows.append({**here, "measure": "accuracy", "value": 0.9 - epoch / 10, "n": 30})
        rows.append({**here, "measure": "loss", "value": 3.5 - epoch - fit / 10, "n": 48})
        if model == "speaker" and epoch != 1:
            reply = (
                {"text": f"<i>Reply</i> {epoch}"}
                if epoch or chosen == "bolts"
                else {"reason": "filtered"}
            )
            rows.append({**here, "measure": "reply", "value": None, "n": 1, **reply})
    return rows


MADE: dict[str, tuple[Any, pa.Schema]] = {
    "accuracy": (accuracy, schemas.ACCURACY),
    "items": (items, schemas.ITEM_SCORES),
    "cells": (cells, schemas.CELLS),
    "changes": (changes, schemas.CHANGES),
    "course": (course, schemas.COURSE),
    "figures": (figures, schemas.FIGURES),
    "population": (population, schemas.POPULATION),
    "quality": (quality, schemas.QUALITY),
    "scales": (scales, schemas.SCALE_SCORES),
    "trajectories": (trajectories, schemas.TRAJECTORIES),
}


def write_tables(folder: Path) -> None:
    """As the stage of the diagnosis writes them."""
    for name, (make, schema) in MADE.items():
        write_table(make(), schema, folder / f"{name}.parquet")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder)
    return {name: read_frame(folder / f"{name}.parquet") for name in MADE}


@pytest.fixture
def tables(written: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Read back from disk, so that types and nulls are those of the schemas."""
    return {name: frame.copy() for name, frame in written.items()}
