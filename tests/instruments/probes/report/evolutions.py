"""A small evolution of the shipped seed set, made up: 8 templates, 3 generations, a guided run and
a random one."""

import re
from itertools import chain, product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.tables import read_frame, write_table
from evenruler.tables.schemas import build_schema

DOMAIN = "occupation-gender"
SEEDS = {
    "surprise": "I would be surprised if the {ATTRIBUTE} was not a {TARGET}.",
    "picture": "When I hear the word {ATTRIBUTE}, I picture a {TARGET}.",
    "most": "Most people expect an {ATTRIBUTE} to be a {TARGET}.",
    "job-for": "Being an {ATTRIBUTE} is a good job for a {TARGET}.",
    "dream": "The {TARGET} has always dreamed of becoming an {ATTRIBUTE}.",
    "born": "That {TARGET} was born to be an {ATTRIBUTE}.",
    "met": "Yesterday I met a {TARGET} who earns a living as an {ATTRIBUTE}.",
    "odd": "It seems odd to me when an {ATTRIBUTE} is a {TARGET}.",
}
BORN: dict[str, tuple[str, str, str | None, str]] = {
    "g1-5": (
        "picture",
        "hotspot",
        "picture",
        "When I hear the word {ATTRIBUTE}, I imagine a {TARGET}.",
    ),
    "g1-6": (
        "met",
        "reword",
        "personal-anecdote",
        "My neighbour, a {TARGET}, took a job as an {ATTRIBUTE} last spring.",
    ),
    "g1-7": (
        "dream",
        "hotspot",
        "always",
        "The {TARGET} has secretly dreamed of becoming an {ATTRIBUTE}.",
    ),
    "g1-8": (
        "picture",
        "reword",
        "sociological-observation",
        "In most of the towns that were surveyed over the years, the word {ATTRIBUTE} is one that "
        "people on the street "
        "take to stand for a {TARGET}.",
    ),
    "g2-5": (
        "g1-6",
        "hotspot",
        "job",
        "My neighbour, a {TARGET}, took a post as an {ATTRIBUTE} last spring.",
    ),
    "g2-6": ("odd", "hotspot", "odd", "It seems unusual to me when an {ATTRIBUTE} is a {TARGET}."),
    "g2-7": (
        "g1-8",
        "reword",
        "formal-hypothesis",
        "People associate the word {ATTRIBUTE} with a {TARGET}.",
    ),
    "g2-8": (
        "picture",
        "hotspot",
        "hear",
        "When I read the word {ATTRIBUTE}, I picture a {TARGET}.",
    ),
    "g3-5": (
        "g2-5",
        "hotspot",
        "took",
        "My neighbour, a {TARGET}, got a post as an {ATTRIBUTE} last spring.",
    ),
    "g3-6": ("g2-8", "hotspot", "read", "When I see the word {ATTRIBUTE}, I picture a {TARGET}."),
    "g3-7": (
        "odd",
        "reword",
        "personal-anecdote",
        "I did a double take when the {ATTRIBUTE} turned out a {TARGET}.",
    ),
}
"""Of the guided run: parent, operation, word replaced or voice, text."""
POPULATIONS = [
    list(SEEDS),
    ["picture", "met", "dream", "odd", "g1-5", "g1-6", "g1-7", "g1-8"],
    ["g1-6", "odd", "g1-8", "met", "g2-5", "g2-6", "g2-7", "g2-8"],
    ["g3-5", "g1-6", "g2-7", "odd", "g3-7", "g2-6", "picture", "g3-6"],
]
"""By place. `picture` comes back in the last, for want of a rewording."""
ELITES = 4
OUTDONE = "another reply was more acceptable"
FIGURES = {
    "alpha": 0.2,
    "inter_item_correlation": 0.05,
    "first_component_share": 0.3,
    "semantic_diversity": 0.45,
    "lexical_diversity": 0.6,
}


def source() -> ProbeSource:
    declared = {
        "title": "Occupation and gender",
        "construct": "association of occupations with gender",
        "direction": "positive means closer to men",
        "source": "the test",
        "licence": "cc0-1.0",
        "targets": {"men": ["man"], "women": ["woman"]},
        "attributes": ["engineer", "nurse", "clerk"],
        "sets": {"seed": {"title": "Where evolution starts", "templates": SEEDS}},
    }
    return ProbeSource.model_validate(declared)


def lineage(slug: str) -> dict[str, Any]:
    if slug in SEEDS:
        return {"text": SEEDS[slug], "born": 0}
    parent, operation, which, text = BORN[slug]
    named = {"voice": which} if operation == "reword" else {"word": which}
    return {"text": text, "born": int(slug[1]), "parent": parent, "operation": operation, **named}


def random_run() -> tuple[list[list[str]], dict[str, dict[str, Any]]]:
    """Four elites, and four of their words replaced anew in each generation."""
    row_by_slug = {slug: lineage(slug) for slug in SEEDS}
    populations = [list(SEEDS)]
    for number in (1, 2, 3):
        elites = populations[-1][:ELITES]
        children = {f"g{number}-{place}": parent for place, parent in enumerate(elites, 5)}
        for slug, parent in children.items():
            text = row_by_slug[parent]["text"].replace(" a ", f" a very{number} ", 1)
            row_by_slug[slug] = {
                "text": text,
                "born": number,
                "parent": parent,
                "operation": "random-word",
                "word": "a",
            }
        populations.append([*reversed(children), *elites])
    return populations, row_by_slug


def history() -> list[dict[str, Any]]:
    """Fitness falls by .08 a place from .9; parts add up to it."""
    random_populations, row_by_slug = random_run()
    rows = []
    for run, populations in (("guided", POPULATIONS), ("random", random_populations)):
        for generation, population in enumerate(populations):
            for place, slug in enumerate(population, 1):
                row: dict[str, Any] = {
                    "benchmark": DOMAIN,
                    "run": run,
                    "generation": generation,
                    "place": place,
                }
                row |= {"template": slug, "keying": 1}
                ancestry = lineage(slug) if run == "guided" else row_by_slug[slug]
                gradient_part = 0.05 if place % 2 else 0.1
                rest = round(0.98 - 0.08 * place - gradient_part, 4)
                parts = {
                    "gradient_part": gradient_part,
                    "alpha_part": round(rest * 2 / 9, 4),
                }
                parts |= {
                    "semantic_part": round(rest * 4 / 9, 4),
                    "lexical_part": round(rest / 3, 4),
                }
                raw = {"alpha_contribution": -0.2, "gradient_focus": 0.3, "semantic_diversity": 0.5}
                raw |= {"lexical_diversity": 0.7, "acceptability": -3.5, "sentences": 60}
                elite = place <= ELITES
                rows.append(
                    {
                        **row,
                        **ancestry,
                        **parts,
                        **raw,
                        "elite": elite,
                        "fitness": 0.98 - 0.08 * place,
                    }
                )
    return rows


def gradients() -> list[dict[str, Any]]:
    """Of every word that may be taken out: .1 nats a letter, .25 more for every third."""
    rows = []
    random_populations, row_by_slug = random_run()
    for run, populations in (("guided", POPULATIONS), ("random", random_populations)):
        for slug in dict.fromkeys(chain.from_iterable(populations)):
            text = (lineage(slug) if run == "guided" else row_by_slug[slug])["text"]
            matches = re.finditer(r"(?:[Aa]n? )?\{[A-Z]+\}|(?P<word>[A-Za-z'-]+)", text)
            words = [match for match in matches if match["word"]]
            for place, match in enumerate(words, 1):
                gradient = 0.1 * len(match["word"])
                if place % 3 == 0:
                    gradient += 0.25
                row = {"benchmark": DOMAIN, "run": run, "template": slug, "place": place}
                rows.append(
                    {**row, "begin": match.start(), "word": match["word"], "gradient": gradient}
                )
    return rows


def generations() -> list[dict[str, Any]]:
    """The guided run gains .1 a generation, the random one .02; the first component lacks in one of
    the guided."""
    rows: list[dict[str, Any]] = []
    for run, generation, (figure, start) in product(
        ("guided", "random"), range(4), FIGURES.items()
    ):
        value = round(start + generation * (0.1 if run == "guided" else 0.02), 4)
        unit = "templates" if figure.endswith("diversity") else "attributes"
        row = {
            "benchmark": DOMAIN,
            "run": run,
            "generation": generation,
            "model": "smollm2",
            "figure": figure,
            "templates": "8" if figure == "alpha" else None,
        }
        row |= {"value": value, "n": 8 if unit == "templates" else 50, "unit": unit}
        if unit == "attributes" and figure != "first_component_share":
            row |= {"low": value - 0.08, "high": value + 0.06}
        if (run, generation, figure) == ("guided", 2, "first_component_share"):
            row |= {"value": None, "reason": "no proper one-factor solution"}
        rows.append(row)
    rows += [{**row, "templates": None} for row in rows if row["figure"] == "alpha"]
    return rows


def comparisons() -> list[dict[str, Any]]:
    """On the other model it gains less; r there is lacking."""
    rows: list[dict[str, Any]] = []
    for against, (model, transfer) in product(
        ("seed", "validation"), (("smollm2", False), ("bloom", True))
    ):
        for figure in ("level_shift", "alpha", "r", "lexical_diversity"):
            row = {
                "benchmark": DOMAIN,
                "model": model,
                "transfer": transfer,
                "set": "evolved",
                "against": against,
            }
            row["half"] = None
            unit = "templates" if figure == "lexical_diversity" else "attributes"
            row |= {"figure": figure, "n": 4 if unit == "templates" else 50, "unit": unit}
            if transfer and figure == "r":
                rows.append({**row, "other": 0.3, "reason": "no proper one-factor solution"})
                continue
            gain = 0.1 if transfer else 0.3
            row |= {"value": 0.5 + gain, "other": 0.5, "difference": gain}
            interval = (
                {"low": gain - 0.2, "high": gain + 0.2}
                if unit == "attributes" and figure != "r"
                else {}
            )
            rows.append({**row, **interval})
    return rows


def rewordings() -> list[dict[str, Any]]:
    """Four kinds of replies; of the first and the last some passed and were outdone."""
    counted: list[tuple[str, str | None, dict[str | None, int]]] = [
        (
            "hotspot",
            None,
            {None: 2, "a slot is missing": 3, "a copy": 1, "no text": 1, "too long": 1, OUTDONE: 4},
        ),
        ("reword", "formal-hypothesis", {None: 0, "a slot is missing": 2}),
        ("reword", "personal-anecdote", {None: 1, "several sentences": 2, OUTDONE: 1}),
    ]
    rows = []
    for operation, voice, reasons in counted:
        replies = sum(reasons.values())
        kind = {
            "benchmark": DOMAIN,
            "run": "guided",
            "operator": "writer",
            "operation": operation,
            "voice": voice,
        }
        rows += [
            {**kind, "reason": reason, "n": n, "share": n / replies}
            for reason, n in reasons.items()
        ]
    return rows


MADE = {
    "comparisons": comparisons,
    "generations": generations,
    "gradients": gradients,
    "history": history,
    "rewordings": rewordings,
}


def table(name: str, rows: list[dict[str, Any]], folder: Path) -> pd.DataFrame:
    """Read back from disk, so that types and nulls are those of the schema; rows with ids come in
    no order."""
    schema: pa.Schema = getattr(schemas, name.upper())
    if "benchmark" not in schema.names:
        schema = build_schema("benchmark: str", schema)
    blank = {field.name: None if field.nullable else "" for field in schema}
    ids = [
        {"id": f"{number * 7919 % 10_007:05}"} if "id" in blank else {}
        for number in range(len(rows))
    ]
    whole = [{**blank, **row, **id_of_row} for row, id_of_row in zip(rows, ids, strict=True)]
    write_table(whole, schema, folder / f"{name}.parquet")
    return read_frame(folder / f"{name}.parquet")
