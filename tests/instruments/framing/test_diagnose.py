"""One contrast from answers to figures, of published tables and plan alone, and what figures are
made of."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.framing import diagnose
from evenruler.instruments.framing.diagnose import TABLES, across, evidence
from evenruler.instruments.framing.diagnose import compare_classes as comparing
from evenruler.instruments.framing.diagnose.comparisons import compare_classes
from evenruler.tables import table_of
from evenruler.tables.schemas import HEADLINES
from tests.instruments.framing.hair import with_placebos
from tests.instruments.framing.recording import RESAMPLING, record


def test_figures_of_a_model_that_never_looks_at_its_prompt() -> None:
    found = record(name="coiffure").found["figures"]
    assert set(found["benchmark"]) == {"coiffure"}
    assert set(found["part"]) == {"plain, token", "chat, choice"}
    token = found[found["part"] == "plain, token"].set_index("figure")
    # Two classes of a choice, .04 each for their letters; he, him, she, hers: .33, .04, .13, .04.
    assert token.loc["coverage", "value"] == pytest.approx((2 * 0.08 + 3 * 0.54) / 5)
    assert token.loc["effect: instruction, completion", "value"] == 0
    distributions = record().found["distributions"]
    he = distributions[(distributions["task"] == "completion") & (distributions["outcome"] == "he")]
    assert he.loc[he["metric"] == "token", "share"].tolist() == [pytest.approx(0.37 / 0.54)] * 6


def test_options_are_read_by_the_texts_that_the_prompt_lists() -> None:
    choices = record().found["choices"]
    assert choices["rule"].value_counts().to_dict() == {"word": 6, "option": 3, "withheld": 1}
    assert set(choices.loc[choices["rule"] != "withheld", "outcome"]) == {"he"}
    assert set(choices.loc[choices["rule"] == "withheld", "reason"]) == {"too rude"}


def test_every_table_is_one_of_the_schemas_and_comparisons_are_left_to_across() -> None:
    found = record().found
    schemas = {**TABLES, "headlines": HEADLINES}
    assert set(found) == set(schemas) - {"comparisons"}
    for name, frame in found.items():
        assert table_of(frame, schemas[name]).num_rows == len(frame)


def test_where_nothing_was_answered_tables_are_empty() -> None:
    found = record(answered=False)
    assert {name: len(frame) for name, frame in found.found.items()} == dict.fromkeys(
        found.found, 0
    )
    assert across([found], RESAMPLING)["comparisons"].empty
    assert list(across([], RESAMPLING)["comparisons"].columns) == TABLES["comparisons"].names
    for name, frame in found.found.items():
        assert list(frame.columns) == {**TABLES, "headlines": HEADLINES}[name].names
    assert evidence(found.found) == {}


def test_a_continuation_is_counted_where_the_source_names_one() -> None:
    found = record(continuation={"outcome": "he", "keywords": ["he"]}).found["continuations"]
    of_all = found[found["factor"] == "all"]
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


@pytest.mark.parametrize("first", ["arts", "science"])
def test_groups_of_a_study_go_in_the_order_of_the_source(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = {"arts": "science", "science": "arts"}[first]
    stimuli = {
        name: {"text": name, "group": group}
        for name, group in (("b", first), ("a", last), ("c", first))
    }
    seen = _arguments(monkeypatch, diagnose, "replications")
    record(stimuli=stimuli, **STUDY)
    ((*_, groups, study, level),) = seen
    assert groups == {"b": first, "c": first, "a": last}
    assert list(dict.fromkeys(groups.values())) == [first, last]
    assert (study, level) == ("p-at", RESAMPLING.level)


def _arguments(monkeypatch: pytest.MonkeyPatch, of: ModuleType, name: str) -> list[tuple[Any, ...]]:
    """What a function of a module is given, call by call, from here on."""
    seen: list[tuple[Any, ...]] = []
    real: Callable[..., pd.DataFrame] = getattr(of, name)

    def looked_at(*given: Any) -> pd.DataFrame:
        seen.append(given)
        return real(*given)

    monkeypatch.setattr(of, name, looked_at)
    return seen


@pytest.mark.parametrize(("generations", "metrics"), [(1, {"token"}), (2, {"token", "choice"})])
def test_one_reply_to_a_question_has_no_shifts(generations: int, metrics: set[str]) -> None:
    assert set(record(generations=generations).found["shifts"]["metric"]) == metrics


def test_models_are_compared_in_one_order_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [record(model) for model in ("one", "two")]
    seen = _arguments(monkeypatch, comparing, "comparisons")
    across(records, RESAMPLING)
    across(records[::-1], RESAMPLING)
    (first, _), (second, _) = seen
    pd.testing.assert_frame_equal(first.reset_index(drop=True), second.reset_index(drop=True))


def test_classes_are_compared_over_all_models_of_a_contrast_in_any_order() -> None:
    records = [record(model, name) for name in ("hair", "beard") for model in ("one", "two")]
    found = across(records, RESAMPLING)["comparisons"]
    assert list(dict.fromkeys(found["benchmark"])) == ["hair", "beard"]
    assert set(found["n_models"]) == {2}
    turned = across(records[::-1], RESAMPLING)["comparisons"]
    assert list(dict.fromkeys(turned["benchmark"])) == ["beard", "hair"]
    by_name = pd.concat(
        [turned[turned["benchmark"] == name] for name in ("hair", "beard")], ignore_index=True
    )
    pd.testing.assert_frame_equal(found, by_name, check_exact=True)
    together = compare_classes(pd.concat([one.found["shifts"] for one in records]), RESAMPLING)
    ordered = together.sort_values("benchmark", ascending=False, kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(found, ordered)


def test_placebos_are_no_part_of_what_is_compared_over_models() -> None:
    own = record(stimuli={"short": "short hair", "long": "long hair"}, tasks=with_placebos().tasks)
    bare = record(stimuli={"short": "short hair", "long": "long hair"})
    assert set(own.found["effects"]["placebo"]) > {0}
    assert len(own.found["shifts"]) == len(bare.found["shifts"])


def test_evidence_is_by_contrast_part_and_model() -> None:
    found = evidence(record().found)
    assert set(found["hair"]) == {"plain, token", "chat, choice"}
    coverage = found["hair"]["plain, token"]["m"]["coverage"]
    assert (coverage["value"], coverage["n"], coverage["unit"]) == (
        pytest.approx(0.356),
        2,
        "stimuli",
    )
