"""One contrast from answers to figures, of published tables and plan alone, and what figures are
made of."""

import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose import TABLES, across, evidence
from evenruler.instruments.framing.schemas import HEADLINES
from evenruler.tables import table_of
from tests.instruments.framing.plans import find_figure
from tests.instruments.framing.recording import RESAMPLING, record
from tests.instruments.near import approx


def test_figures_of_a_model_that_never_looks_at_its_prompt() -> None:
    figure_rows = record(name="coiffure").diagnosis["figures"]
    assert set(figure_rows["benchmark"]) == {"coiffure"}
    parts = zip(
        figure_rows["prompt_format"],
        figure_rows["readout"],
        strict=True,
    )
    assert set(parts) == {
        ("plain", "token"),
        ("chat", "choice"),
    }
    token = figure_rows[figure_rows["readout"] == "token"]
    # Two classes of a choice, .04 each for their letters; he, him, she, hers: .33, .04, .13, .04.
    # (2 * .08 + 3 * .54) / 5.
    assert find_figure(token, "coverage")["value"] == approx(0.356)
    assert find_figure(token, "effect", cue="instruction", task="completion")["value"] == 0
    distributions = record().diagnosis["distributions"]
    he = distributions[(distributions["task"] == "completion") & (distributions["outcome"] == "he")]
    shares = he.loc[he["readout"] == "token", "share"]
    assert shares.tolist() == approx([0.37 / 0.54] * 6)


def test_every_table_is_one_of_the_schemas_and_comparisons_are_left_to_across() -> None:
    recorded = record(
        generations=2,
        continuation={"outcome": "he", "keywords": ["he"]},
        stimuli={name: {"text": name, "group": f"of-{name}"} for name in ("short", "long")},
        **STUDY,
    )
    schemas = {**TABLES, "headlines": HEADLINES}
    assert set(recorded.diagnosis) == set(schemas) - {"comparisons"}
    for name, frame in {**recorded.diagnosis, **across([recorded], RESAMPLING)}.items():
        assert table_of(frame, schemas[name]).num_rows == len(frame), name
        assert len(frame) or name == "headlines", name


def test_where_nothing_was_answered_tables_are_empty() -> None:
    recorded = record(
        answered=False,
        continuation={"outcome": "he", "keywords": ["he"]},
    )
    for name, frame in {**recorded.diagnosis, **across([recorded], RESAMPLING)}.items():
        assert frame.empty, name
        assert list(frame.columns) == {**TABLES, "headlines": HEADLINES}[name].names
    assert evidence(recorded.diagnosis) == {}


STUDY = {
    "replicates": "p-at",
    "factors": {"salience": "the prompt names gender"},
    "tasks": {
        "one": {
            "title": "One",
            "cells": {"bare": "Of {STIMULUS}: {ANSWER}", "salience": "Sex of {STIMULUS}: {ANSWER}"},
        }
    },
}


@pytest.mark.parametrize(
    ("generations", "readouts"),
    [
        (1, {"token"}),
        (2, {"token", "choice"}),
    ],
)
def test_one_reply_to_a_question_has_no_shifts(generations: int, readouts: set[str]) -> None:
    assert set(record(generations=generations).diagnosis["shifts"]["readout"]) == readouts


def test_classes_are_compared_over_all_models_of_a_contrast_in_any_order() -> None:
    records = [record(model, name) for name in ("hair", "beard") for model in ("one", "two")]
    comparisons = across(records, RESAMPLING)["comparisons"]
    assert list(dict.fromkeys(comparisons["benchmark"])) == ["hair", "beard"]
    assert set(comparisons["n_models"]) == {2}
    turned = across(records[::-1], RESAMPLING)["comparisons"]
    both = (table.set_index("benchmark").loc[["hair", "beard"]] for table in (comparisons, turned))
    pd.testing.assert_frame_equal(*both, check_exact=True)


def test_evidence_is_rows_by_contrast() -> None:
    rows = evidence(record().diagnosis)["hair"]
    part = {"prompt_format": "plain", "readout": "token"}
    coverage = {
        "figure": "coverage",
        "model": "m",
        **part,
        "value": approx(0.356),
    }
    assert {**coverage, "n": 2, "unit": "stimuli"} in rows


def test_words_that_all_begin_alike_are_not_scored_by_their_first_token(
    capsys: pytest.CaptureFixture[str],
) -> None:
    apart = record(mass="first_token").diagnosis
    assert set(apart["distributions"]["readout"]) == {"token", "choice"}
    alike = record(mass="first_token", first_token=7, model="cut-to-bytes").diagnosis
    assert set(alike["distributions"]["readout"]) == {"choice"}
    assert set(alike["figures"]["readout"]) == {"choice"}
    assert find_figure(alike["figures"], "coverage")["value"] == approx(
        find_figure(apart["figures"].query("readout == 'choice'"), "coverage")["value"]
    )
    note = "cut-to-bytes: its next words are not scored: contrast hair: every first token of class"
    assert note in capsys.readouterr().err
