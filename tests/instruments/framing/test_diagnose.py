"""One contrast from answers to figures, of published tables and plan alone, and what figures are
made of."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.framing import diagnose
from evenruler.instruments.framing.diagnose import TABLES, across, evidence
from evenruler.instruments.framing.diagnose.comparisons import compare_classes
from evenruler.instruments.framing.schemas import HEADLINES
from evenruler.tables import table_of
from tests.instruments.framing.plans import find_figure
from tests.instruments.framing.recording import RESAMPLING, record


def test_figures_of_a_model_that_never_looks_at_its_prompt() -> None:
    figure_rows = record(name="coiffure").found["figures"]
    assert set(figure_rows["benchmark"]) == {"coiffure"}
    parts = zip(figure_rows["prompt_format"], figure_rows["readout"], strict=True)
    assert set(parts) == {("plain", "token"), ("chat", "choice")}
    token = figure_rows[figure_rows["readout"] == "token"]
    # Two classes of a choice, .04 each for their letters; he, him, she, hers: .33, .04, .13, .04.
    # (2 * .08 + 3 * .54) / 5.
    assert find_figure(token, "coverage")["value"] == pytest.approx(0.356)
    assert find_figure(token, "effect", cue="instruction", task="completion")["value"] == 0
    distributions = record().found["distributions"]
    he = distributions[(distributions["task"] == "completion") & (distributions["outcome"] == "he")]
    shares = he.loc[he["readout"] == "token", "share"]
    assert shares.tolist() == pytest.approx([0.37 / 0.54] * 6)


def test_options_are_read_by_the_texts_that_the_prompt_lists() -> None:
    choices = record().found["choices"]
    assert choices["rule"].value_counts().to_dict() == {"word": 6, "option": 3, "withheld": 1}
    assert set(choices.loc[choices["rule"] != "withheld", "outcome"]) == {"he"}
    assert set(choices.loc[choices["rule"] == "withheld", "reason"]) == {"too rude"}


def test_every_table_is_one_of_the_schemas_and_comparisons_are_left_to_across() -> None:
    recorded = record(
        generations=2,
        continuation={"outcome": "he", "keywords": ["he"]},
        stimuli={name: {"text": name, "group": f"of-{name}"} for name in ("short", "long")},
        **STUDY,
    )
    schemas = {**TABLES, "headlines": HEADLINES}
    assert set(recorded.found) == set(schemas) - {"comparisons"}
    for name, frame in {**recorded.found, **across([recorded], RESAMPLING)}.items():
        assert table_of(frame, schemas[name]).num_rows == len(frame), name
        assert len(frame) or name == "headlines", name


def test_where_nothing_was_answered_tables_are_empty() -> None:
    recorded = record(answered=False, continuation={"outcome": "he", "keywords": ["he"]})
    for name, frame in {**recorded.found, **across([recorded], RESAMPLING)}.items():
        assert frame.empty, name
        assert list(frame.columns) == {**TABLES, "headlines": HEADLINES}[name].names
    assert evidence(recorded.found) == {}


def test_a_continuation_is_counted_where_the_source_names_one() -> None:
    rows = record(continuation={"outcome": "he", "keywords": ["he"]}).found["continuations"]
    of_all = rows[rows["factor"] == "all"]
    assert of_all["n"].tolist() == of_all["named"].tolist() == [9]
    assert record().found["continuations"].empty


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


def test_groups_of_a_study_go_in_the_order_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    stimuli = {
        name: {"text": name, "group": group}
        for name, group in (("b", "science"), ("a", "arts"), ("c", "science"))
    }
    seen = _arguments(monkeypatch, diagnose, "compute_replications")
    record(stimuli=stimuli, **STUDY)
    ((*_, groups, study, level),) = seen
    assert groups == {"b": "science", "c": "science", "a": "arts"}
    assert list(dict.fromkeys(groups.values())) == ["science", "arts"]
    assert (study, level) == ("p-at", RESAMPLING.level)


def _arguments(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> list[tuple[Any, ...]]:
    """What a function of a module is given, call by call, from here on."""
    seen: list[tuple[Any, ...]] = []
    real: Callable[..., pd.DataFrame] = getattr(module, name)

    def looked_at(*arguments: Any) -> pd.DataFrame:
        seen.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(module, name, looked_at)
    return seen


@pytest.mark.parametrize(("generations", "readouts"), [(1, {"token"}), (2, {"token", "choice"})])
def test_one_reply_to_a_question_has_no_shifts(generations: int, readouts: set[str]) -> None:
    assert set(record(generations=generations).found["shifts"]["readout"]) == readouts


def test_classes_are_compared_over_all_models_of_a_contrast_in_any_order() -> None:
    records = [record(model, name) for name in ("hair", "beard") for model in ("one", "two")]
    comparisons = across(records, RESAMPLING)["comparisons"]
    assert list(dict.fromkeys(comparisons["benchmark"])) == ["hair", "beard"]
    assert set(comparisons["n_models"]) == {2}
    turned = across(records[::-1], RESAMPLING)["comparisons"]
    assert list(dict.fromkeys(turned["benchmark"])) == ["beard", "hair"]
    by_name = pd.concat(
        [turned[turned["benchmark"] == name] for name in ("hair", "beard")], ignore_index=True
    )
    pd.testing.assert_frame_equal(comparisons, by_name, check_exact=True)
    together = compare_classes(
        pd.concat([hair_record.found["shifts"] for hair_record in records]), RESAMPLING
    )
    ordered = together.sort_values("benchmark", ascending=False, kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(comparisons, ordered)


def test_evidence_is_rows_by_contrast() -> None:
    rows = evidence(record().found)["hair"]
    part = {"prompt_format": "plain", "readout": "token"}
    coverage = {"figure": "coverage", "model": "m", **part, "value": pytest.approx(0.356)}
    assert {**coverage, "n": 2, "unit": "stimuli"} in rows
