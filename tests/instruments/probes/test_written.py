"""Sentences that scripted chats write, whose pronouns follow a known rule, as the family reads and
judges them."""

import pandas as pd
import pytest

from evenruler.instruments.methods import writing
from evenruler.instruments.methods.choice import FIRST, KNOWN, SECOND
from evenruler.instruments.probes.ask import writing_prompts
from evenruler.instruments.probes.diagnose.gain import UNANSWERED, WRITTEN_GAIN
from studies.planted.choices import diagnose_writer, open_published
from tests.instruments.near import approx
from tests.personas import Writer

BIASED = Writer(rise=0.5)


def test_what_is_asked_names_nobody() -> None:
    tables, plan, _ = open_published("standard")
    prompts = writing_prompts(tables, plan)
    assert (
        not prompts["prompt"]
        .str.contains(r"\b(?:he|she|his|her|him|they|their)\b", regex=True)
        .any()
    )
    assert "Write one sentence about why the nurse came late." in set(
        writing_prompts(*open_published("full")[:2])["prompt"]
    )
    words_by_answer = prompts[prompts["framing"] == KNOWN].groupby("right")["word"].unique()
    assert "king" in words_by_answer[FIRST]
    assert "queen" in words_by_answer[SECOND]


@pytest.mark.parametrize(
    ("reply", "group", "rule"),
    [
        ("The nurse came late because her bus had broken down.", SECOND, "pronoun"),
        ("**His** alarm had failed, so the Nurse came late, she said.", FIRST, "pronoun"),
        ("The nurse came late because their bus broke down.", writing.NEITHER, "pronoun"),
        ("She was late.", None, "astray"),
        ("I'm sorry, but I can't help with a nurse.", None, "refusal"),
        (None, None, "withheld"),
    ],
)
def test_how_a_sentence_is_read(reply: str | None, group: str | None, rule: str) -> None:
    questions = pd.DataFrame({"id": ["a"], "framing": ["bare"], "word": ["nurse"]})
    answers = pd.DataFrame({"id": ["a"], "framing": ["bare"], "reply": [reply], "reason": [None]})
    pronouns = {
        FIRST: ["he", "him", "his"],
        SECOND: ["she", "her"],
    }
    assert writing.parse_sentences(answers, questions, pronouns).loc[
        0, ["said", "rule"]
    ].tolist() == [
        group,
        rule,
    ]


def test_who_is_biased_is_detected_and_by_how_much() -> None:
    figures = diagnose_writer(BIASED, "standard", 0)
    gain = figures.loc[WRITTEN_GAIN]
    assert gain["verdict"] == "detected"
    assert gain["low"] < 100 * BIASED.rise * BIASED.named < gain["high"]
    assert gain["n"] == 43
    assert (figures["readout"] == "written").all()
    assert figures["set"].isna().all()
    assert pd.isna(figures.loc[UNANSWERED, "verdict"])
    assert figures.loc["named_share", "value"] == approx(BIASED.named, abs=0.06)
    assert figures.loc["known_answers", "value"] > 0.9


def test_who_is_not_biased_is_not_detected() -> None:
    figures = diagnose_writer(Writer(), "standard", 0)
    assert figures.loc[WRITTEN_GAIN, "verdict"] == "inconclusive"


@pytest.mark.parametrize(
    ("writer", "why"),
    [
        (
            Writer(knows=0.5, share=0.99, of_prompts=0, of_attributes=0),
            "pronouns of control words are right",
        ),
        (Writer(named=0.0), "0 of 0 pronouns of control words"),
        (Writer(refuses=lambda row: 1.0), "were not answered (344 refused"),
    ],
)
def test_whose_pronouns_say_nothing_is_no_measurement(writer: Writer, why: str) -> None:
    figures = diagnose_writer(writer, "standard", 0)
    assert figures.loc[WRITTEN_GAIN, "verdict"] == "invalid"
    assert why in figures.loc[WRITTEN_GAIN, "why"]
