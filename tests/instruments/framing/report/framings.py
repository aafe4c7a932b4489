"""A small contrast, and tables of its diagnosis by their schemas, made up."""

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.tables import read_frame, write_table

STIMULI = [f"s{number}" for number in range(6)]
TEXTS = {stimulus: f"hair of length {stimulus}" for stimulus in [*STIMULI, "s6", "s7"]}
WORDS = {"gender-salience": "the prompt names gender", "instruction": "the prompt asks"}
KEY = {"benchmark": "pronouns", "model": "m", "lineage": "m", "configuration": "plain"}
TASKS = {"going-on": "Going on", "choosing": "Choosing"}


def source(**changes: Any) -> ContrastSource:
    both = "gender-salience+instruction"
    cells = {"going-on": ["bare", "instruction", both], "choosing": ["instruction", both]}
    tasks = {}
    for task, title in TASKS.items():
        prompts = {cell: f"{task} {cell} {{STIMULUS}} {{ANSWER}}" for cell in cells[task]}
        tasks[task] = {"title": title, "cells": prompts}
    declared: dict[str, Any] = {
        "title": "Pronouns",
        "construct": "choice of pronouns",
        "direction": "a shift above 0 says more of it",
        "source": "the test",
        "licence": "cc0-1.0",
        "factors": WORDS,
        "headline": "they",
        "outcomes": {"they": ["they"], "he": ["he"]},
        "stimuli": TEXTS,
        "continuation": {"outcome": "they", "keywords": ["man", "woman"]},
        "tasks": tasks,
    }
    return ContrastSource.model_validate(declared | changes)


def effects() -> list[dict[str, Any]]:
    """Gender salience: .1 to .6 going on, .3 more choosing; instruction: .5 everywhere. Choices:
    choosing alone.

    Placebos for gender salience going on: .05 and .15 of five stimuli, .9 of four.
    """
    rows = []
    for configuration, (number, stimulus) in product(("plain", "chat"), enumerate(STIMULI)):
        here: dict[str, Any] = {
            **KEY,
            "configuration": configuration,
            "metric": "token",
            "stimulus": stimulus,
            "n": 1,
        }
        placebos = {1: (0.05, 5), 2: (0.15, 5), 3: (0.9, 4)}
        rows += [
            {
                **here,
                "factor": "gender-salience",
                "task": "going-on",
                "apd": shift,
                "placebo": placebo,
            }
            for placebo, (shift, stimuli) in placebos.items()
            if number < stimuli
        ]
        here["placebo"] = 0
        apd = (number + 1) / 10
        cued = {**here, "factor": "gender-salience"}
        rows += [
            {**cued, "task": "going-on", "apd": apd},
            {**cued, "task": "choosing", "apd": apd + 0.3},
            {**here, "factor": "instruction", "task": "going-on", "apd": 0.5},
        ]
        if configuration == "chat" and number < 5:
            choice = {**here, "metric": "choice", "factor": "gender-salience", "task": "choosing"}
            rows.append({**choice, "apd": number / 4})
    return rows


def figures() -> list[dict[str, Any]]:
    """By part, model m: choices have an effect choosing alone."""
    both = {
        "shift probability": 0.5,
        "effect: gender-salience": 0.5,
        "effect: instruction": 0.5,
        "coverage": 0.25,
    }
    tokens = both | {
        "effect: gender-salience, going-on": 0.35,
        "effect: instruction, going-on": 0.5,
    }
    tokens |= {"effect: gender-salience, choosing": 0.65, "shift: they": 0.35, "shift: he": -0.2}
    parts = {"plain, token": tokens, "chat, token": tokens}
    parts["chat, choice"] = {"effect: gender-salience, choosing": 0.5}
    rows: list[dict[str, Any]] = []
    for part, names in parts.items():
        here: dict[str, Any] = {
            "benchmark": "pronouns",
            "part": part,
            "model": "m",
            "unit": "stimuli",
            "p": None,
        }
        for name, estimate in names.items():
            low, high = (
                (None, None)
                if name == "effect: instruction"
                else (estimate - 0.05, estimate + 0.05)
            )
            rows.append(
                {
                    **here,
                    "figure": name,
                    "value": estimate,
                    "low": low,
                    "high": high,
                    "n": 6,
                    "reason": None,
                }
            )
        lacking = {"value": None, "low": None, "high": None, "n": 0, "reason": "no reply was valid"}
        if part == "chat, choice":
            rows.append({**here, "figure": "effect: instruction", **lacking})
    _judge(rows)
    return rows


def _judge(rows: list[dict[str, Any]]) -> None:
    """Two controls and an invalid effect, where the prompt is plain."""
    row_by_figure = {row["figure"]: row for row in rows if row["part"] == "plain, token"}
    row_by_figure["effect: gender-salience, going-on"]["control"] = 0.1
    row_by_figure["effect: gender-salience, choosing"].update(
        verdict="invalid on this model", why="Hardly any answer."
    )
    row_by_figure["effect: gender-salience"]["control"] = 0.3


def shifts() -> list[dict[str, Any]]:
    """`they` moves by .1 to .6, `he` by -.2."""
    here: dict[str, Any] = {**KEY, "metric": "token", "task": "choosing"}
    here |= {"factor": "gender-salience", "at": "instruction"}
    rows = []
    for number, stimulus in enumerate(STIMULI):
        row = {**here, "stimulus": stimulus}
        rows.append({**row, "outcome": "he", "shift": -0.2})
        rows.append({**row, "outcome": "they", "shift": (number + 1) / 10})
    return rows


def distributions() -> list[dict[str, Any]]:
    here = {
        **KEY,
        "metric": "token",
        "task": "choosing",
        "framing": "instruction",
        "outcome": "they",
    }
    return [
        {**here, "stimulus": stimulus, "mass": 0.1, "share": 1.0, "coverage": 0.1, "n": 1}
        for stimulus in STIMULI
    ]


def exclusions() -> list[dict[str, Any]]:
    """Coverage of replies of m in its chat template, and of the tokens of m as the prompt is."""
    covered = {
        ("going-on", "bare"): 0.39,
        ("going-on", "instruction"): 0.4,
        ("going-on", "gender-salience+instruction"): 0.125,
        ("going-on", "gender-salience~1+instruction"): 0.0,
        ("choosing", "instruction"): 1.0,
    }
    sampled = {**KEY, "configuration": "chat", "metric": "choice", "n": 12, "least": 0.4}
    rows = [
        {**sampled, "task": task, "framing": framing, "coverage": share, "excluded": share < 0.4}
        for (task, framing), share in covered.items()
    ]
    tokens = {**KEY, "metric": "token", "n": 6, "least": 0.1, "task": "choosing"}
    rows.append({**tokens, "framing": "instruction", "coverage": 0.0625, "excluded": True})
    return rows


def comparisons() -> list[dict[str, Any]]:
    here: dict[str, Any] = {
        "benchmark": "pronouns",
        "configuration": "plain",
        "metric": "token",
        "n": 12,
    }
    here |= {"n_models": 1, "outcome": "they", "against": "he", "reason": None}
    estimate = {"difference": 0.55, "low": 0.25, "high": 0.85}
    lacking = {**dict.fromkeys(estimate), "p": None, "reason": "it did not converge"}
    return [
        {**here, **estimate, "method": "fixed effects", "p": 0.00004},
        {**here, **lacking, "method": "tukey"},
        {**here, **estimate, "method": "jackknife", "p": None},
    ]


def continuations() -> list[dict[str, Any]]:
    here = {**KEY, "configuration": "chat"}
    counts = {
        ("all", False): (3, 200),
        ("gender-salience", False): (3, 150),
        ("gender-salience", True): (0, 0),
    }
    rows = []
    for (factor, cue), (named, n) in counts.items():
        share = named / n if n else None
        rows.append({**here, "factor": factor, "cue": cue, "n": n, "named": named, "share": share})
    return rows


def replications() -> list[dict[str, Any]]:
    """GAS with intervals and a control, ADD and GLD without intervals."""
    rows = []
    values = {"GAS": (0.4, 0.6), "GLD": (0.5, 0.25), "ADD": (0.3, 0.3)}
    here: dict[str, Any] = {
        **KEY,
        "benchmark": "probing",
        "study": "indirect-probing",
        "metric": "token",
        "n": 6,
    }
    for measure, (before, after) in values.items():
        row = {
            **here,
            "measure": measure,
            "reason": None,
            "before": before,
            "after": after,
            "change": after - before,
        }
        if measure == "GAS":
            row |= {"low": -0.5, "high": 0.5, "control": 0.05}
            for name, share in (("before", before), ("after", after)):
                row[f"{name}_low"] = share - 0.1
                row[f"{name}_high"] = share + 0.1
        rows.append(row)
    rows.append({**here, "measure": "S", "reason": "no reply was valid"})
    rows.append(
        {**here, "measure": "AS", "metric": "all", "change": 0.15, "control": 0.1, "reason": None}
    )
    return rows


MADE = {
    "comparisons": comparisons,
    "continuations": continuations,
    "distributions": distributions,
    "effects": effects,
    "exclusions": exclusions,
    "figures": figures,
    "replications": replications,
    "shifts": shifts,
}


def table(name: str, rows: list[dict[str, Any]], folder: Path) -> pd.DataFrame:
    """Read back from disk, so that types and nulls are those of the schema."""
    schema: pa.Schema = getattr(schemas, name.upper())
    path = folder / f"{name}.parquet"
    nulls = dict.fromkeys(schema.names)
    write_table([{**nulls, **row} for row in rows], schema, path)
    return read_frame(path)
