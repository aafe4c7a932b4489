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
KEY = {"benchmark": "pronouns", "model": "m", "lineage": "m", "prompt_format": "plain"}
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
    for prompt_format, (number, stimulus) in product(("plain", "chat"), enumerate(STIMULI)):
        here: dict[str, Any] = {
            **KEY,
            "prompt_format": prompt_format,
            "readout": "token",
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
        if prompt_format == "chat" and number < 5:
            choice = {**here, "readout": "choice", "factor": "gender-salience", "task": "choosing"}
            rows.append({**choice, "apd": number / 4})
    return rows


def figures() -> list[dict[str, Any]]:
    """Of model m: choices have an effect choosing alone. Where the prompt is plain, two effects of
    gender salience have a control, and one is invalid."""
    rows: list[dict[str, Any]] = []
    for prompt_format in ("plain", "chat"):
        here = {**ROW, "prompt_format": prompt_format, "readout": "token"}
        salience = {**here, "figure": "effect", "cue": "gender-salience"}
        instruction = {**here, "figure": "effect", "cue": "instruction"}
        whole = {**salience, **interval(0.5)}
        going_on = {**salience, "task": "going-on", **interval(0.35)}
        choosing = {**salience, "task": "choosing", **interval(0.65)}
        if prompt_format == "plain":
            whole["control"], going_on["control"] = 0.3, 0.1
            choosing |= {"verdict": "invalid on this model", "why": "Hardly any answer."}
        rows += [whole, going_on, choosing, {**instruction, "value": 0.5}]
        rows.append({**instruction, "task": "going-on", **interval(0.5)})
        rows.append({**here, "figure": "shift_probability", **interval(0.5)})
        coverage = {**here, "figure": "coverage"}
        of_cell = {**coverage, "task": "choosing", "cell": "bare", "value": 0.9}
        rows += [{**coverage, **interval(0.25)}, of_cell]
        for outcome, estimate in {"they": 0.35, "he": -0.2}.items():
            rows.append({**here, "figure": "shift", "outcome": outcome, **interval(estimate)})
    choice = {**ROW, "prompt_format": "chat", "readout": "choice", "figure": "effect"}
    lacking = {"cue": "instruction", "n": 0, "reason": "no reply was valid"}
    rows.append({**choice, "cue": "gender-salience", "task": "choosing", **interval(0.5)})
    rows.append({**choice, **lacking})
    return rows


ROW: dict[str, Any] = {"benchmark": "pronouns", "model": "m", "unit": "stimuli", "n": 6}


def interval(estimate: float) -> dict[str, float]:
    """An estimate between its ends."""
    return {"value": estimate, "low": estimate - 0.05, "high": estimate + 0.05}


def shifts() -> list[dict[str, Any]]:
    """`they` moves by .1 to .6, `he` by -.2."""
    here: dict[str, Any] = {**KEY, "readout": "token", "task": "choosing"}
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
        "readout": "token",
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
    sampled = {**KEY, "prompt_format": "chat", "readout": "choice", "n": 12, "least": 0.4}
    rows = [
        {**sampled, "task": task, "framing": framing, "coverage": share, "excluded": share < 0.4}
        for (task, framing), share in covered.items()
    ]
    tokens = {**KEY, "readout": "token", "n": 6, "least": 0.1, "task": "choosing"}
    rows.append({**tokens, "framing": "instruction", "coverage": 0.0625, "excluded": True})
    return rows


def comparisons() -> list[dict[str, Any]]:
    here: dict[str, Any] = {
        "benchmark": "pronouns",
        "prompt_format": "plain",
        "readout": "token",
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
    here = {**KEY, "prompt_format": "chat"}
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
        "readout": "token",
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
        {**here, "measure": "AS", "readout": "all", "change": 0.15, "control": 0.1, "reason": None}
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
