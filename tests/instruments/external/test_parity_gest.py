"""Answers of known models to GEST: what its authors printed, and what is detected in them; where a
mirror holds these."""

import os
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.external.diagnose.keyed import (
    KeyedDesign,
    keyed_contrast,
    keyed_figures,
    keyed_headline,
    keyed_rows,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.invariance import compare_units
from evenruler.measurement.verdicts import judge
from evenruler.models.sources import MIRROR
from studies.keyed_rates import gest_units

ANSWERS = Path(os.environ.get(MIRROR, "")) / "known/gest/predictions/english_glm"
TEMPLATES = (0, 1)

PRINTED = (
    *(1.29, 1.29, 1.29, 1.30, 1.29, 1.31, 1.29, 1.37),
    *(1.34, 1.42, 1.40, 1.34, 1.42, 1.33, 1.26, 1.41),
)
"""Odds of he over she by stereotype, of Pythia 160M in the first template: `_english_mlm.ipynb`."""


def read_answers(model: str, template: int) -> np.ndarray:
    return np.loadtxt(ANSWERS / f"{model}_template-{template}.txt")


def table_of(log_odds: np.ndarray) -> pd.DataFrame:
    units = gest_units()
    keys = np.where(units >= "08", 1, -1)
    return pd.DataFrame({"unit": units, "key": keys, "log_odds": log_odds, "pair": "he/she"})


@cache
def tables() -> dict[str, pd.DataFrame]:
    """By model: mean log odds of both templates."""
    ending = "_template-0.txt"
    paths = sorted(ANSWERS.glob(f"*{ending}"))
    names = [path.name.removesuffix(ending) for path in paths]
    return {
        name: table_of(np.mean([read_answers(name, template) for template in TEMPLATES], axis=0))
        for name in names
    }


def test_sixteen_printed_values() -> None:
    design = KeyedDesign.from_table(table_of(read_answers("pythia-160m", 0)))
    odds = np.exp(design.unit_means(design.log_odds))
    assert odds.round(2).tolist() == list(PRINTED)


@pytest.mark.parametrize(
    ("model", "his", "lean", "low", "high", "g_s", "sd_apart"),
    [
        ("Llama-2-13b-hf", 0.71, 0.37, 0.18, 0.56, 1.30, 1.00),
        ("Llama-2-13b-chat-hf", 0.41, 0.38, 0.20, 0.56, 1.51, 1.00),
        ("Mistral-7B-Instruct-v0.2", 0.32, 0.37, 0.24, 0.50, 1.56, 0.89),
        ("phi-1", 0.40, 0.06, -0.02, 0.13, 1.05, 0.13),
        ("pythia-160m", 0.99, 0.26, 0.07, 0.44, 1.06, 0.63),
    ],
)
def test_leans_of_known_models(model, his, lean, low, high, g_s, sd_apart) -> None:
    table = tables()[model]
    effect = keyed_headline(table, "stereotypes", 0.1).effect
    assert (table["log_odds"] > 0).mean().round(2) == his
    interval = (effect.value, effect.low, effect.high)
    assert interval == pytest.approx((lean, low, high), abs=0.005)
    figures = {figure.figure: figure.value for figure in keyed_figures(table, "stereotypes", 0.95)}
    nats = figures["nats_apart"]
    assert np.exp(nats).round(2) == g_s
    assert figures["sd_apart"] == pytest.approx(sd_apart, abs=0.005)


def test_all_but_one_of_23_causal_models_lean() -> None:
    verdicts = {
        model: judge(keyed_headline(table, "stereotypes", 0.1)).verdict
        for model, table in tables().items()
    }
    assert Counter(verdicts.values()) == {Verdict.DETECTED: 22, Verdict.INCONCLUSIVE: 1}
    assert verdicts["phi-1"] == Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("base", "chat", "more"),
    [
        ("Llama-2-7b-hf", "Llama-2-7b-chat-hf", 0.014),
        ("Llama-2-13b-hf", "Llama-2-13b-chat-hf", 0.012),
        ("Mistral-7B-v0.1", "Mistral-7B-Instruct-v0.2", 0.021),
    ],
)
def test_chats_lean_as_their_bases_do(base, chat, more) -> None:
    rows = [keyed_rows(tables()[model]) for model in (chat, base)]
    both = rows[0].merge(rows[1], on="unit", suffixes=("_first", "_second"))
    compared = keyed_contrast(both, 0.1)
    assert compared.effect.value == pytest.approx(more, abs=0.0005)
    assert judge(compared).verdict == Verdict.BELOW


def test_stereotypes_do_not_function_alike_in_all_models() -> None:
    """The fifteenth, *sexual*, most of all."""
    leans = [
        np.sign(KeyedDesign.from_table(table).at_even_base_rate) * table["key"]
        for table in tables().values()
    ]
    result = compare_units(np.array(leans), gest_units().tolist(), n=199)
    assert result.ratio == pytest.approx(8.0, abs=0.05)
    assert result.shared == pytest.approx(0.82, abs=0.005)
    places = np.argsort(result.p_values, axis=None)[:4]
    units = places % 16
    assert (units == 14).sum() >= 3
