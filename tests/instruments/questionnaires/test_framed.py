"""Prompts after framings: how they are translated, and shifts from the answers to the card's
figures."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires.ask.questions import prefixed_rows
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, ResponseScale
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.measurement.figures import dimensions_of, model_label
from tests.instruments.questionnaires.doors import diagnose
from tests.instruments.questionnaires.test_diagnosis import (
    BY_HAND,
    FEAR,
    ITEMS,
    LINEAGES,
    MODELS,
    PROMPTS,
    RESAMPLING,
    SCORES,
    Matrices,
    answers,
    embeddings,
    score_of,
)
from tests.instruments.questionnaires.test_rows import ITEM, SCALE, SOURCE

SALIENCE, INSTRUCTION = "This is a test of enmity.", "Answer the following question:"
FRAMINGS = {"salience": SALIENCE, "instruction": INSTRUCTION}


def prefixed(n: int = 9, **changes: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The prompts of a questionnaire of one item, bare and after prefixes."""
    source = QuestionnaireSource.model_validate(
        {**SOURCE, "items": {"one": ITEM}, "prefixes": FRAMINGS, **changes}
    )
    bare = pd.DataFrame(
        fill_templates("meetings", source, ResponseScale.model_validate(SCALE)).prompts
    )
    assert source.prefixes is not None
    return bare, prefixed_rows(bare, {"prefixed": n, "prefixes": source.prefixes.prefixes})


class TestRows:
    def test_every_prompt_stands_after_each_cue_and_after_both(self) -> None:
        bare, rows = prefixed()

        assert dict(zip(rows["framing"], rows["before"], strict=True)) == {
            "salience": SALIENCE,
            "instruction": INSTRUCTION,
            "salience+instruction": f"{SALIENCE} {INSTRUCTION}",
        }
        same = ["premise", "hypothesis", "item", "term", "intensifier"]
        for _, of_framing in rows.groupby("framing"):
            pd.testing.assert_frame_equal(of_framing[same].reset_index(drop=True), bare[same])

    def test_a_row_after_a_prefix_is_another_than_the_bare_one(self) -> None:
        bare, rows = prefixed()

        assert len({*bare["id"], *rows["id"]}) == 4 * 4
        identity = (
            '{"benchmark":"meetings","family":"questionnaires","framing":"instruction","intensifier":"often",'
            '"item":"one","term":"pal","variant":"agree"}'
        )
        chosen = "framing == 'instruction' and term == 'pal' and intensifier == 'often'"
        (row,) = rows.query(chosen).to_dict("records")
        assert row["id"] == hashlib.sha256(identity.encode()).hexdigest()[:16]

    def test_none_where_none_are_asked_for(self) -> None:
        bare, rows = prefixed(0)
        assert (len(rows), list(rows)) == (0, [*bare, "before"])


def answered(method: str, models: Mapping[str, Matrices], framing: str = "") -> pd.DataFrame:
    """Scripted models' answers by a method: to the bare prompts, or to those after a framing."""
    rows = answers(models, LINEAGES, 7.0).assign(method=method)
    return rows.assign(id=rows["id"] + f"-{framing}", framing=framing) if framing else rows


@pytest.fixture
def diagnosed() -> Callable[..., Any]:
    """Diagnoses m0 and m1, asked by verbaliser, whose answers after framings to some items are
    given."""

    def make(
        under: Mapping[str, Mapping[str, Matrices]],
        lost: Sequence[str] = (),
        added: Sequence[pd.DataFrame] = (),
    ) -> Any:
        scores = [answered("verbaliser", unmoved()), *added]
        for prefix, models in under.items():
            rows = answered("verbaliser", models, prefix)
            scores.append(rows[~rows["id"].isin(lost)])
        placebos = [prefix for prefix in under if prefix.startswith("placebo")]
        prefixes = {prefix: f"{prefix}!" for prefix in under}
        plan = {"prefixed": 9, "prefixes": prefixes, "placebos": placebos}
        plans = {"fear": plan, "joy": {**plan, "temperature": 2.0}}
        answered_rows = pd.concat(scores, ignore_index=True)
        return diagnose(PROMPTS, ITEMS, answered_rows, embeddings(), plans, RESAMPLING)

    return make


def figure(
    diagnosis: Any, name: str = "level_shift", model: str = "m0", benchmark: str = "fear"
) -> pd.Series:
    rows = diagnosis.figures.query("figure == @name and benchmark == @benchmark")
    (row,) = [row for _, row in rows.iterrows() if model_label(row) == model]
    assert set(dimensions_of(row)) <= {"method"}
    return row


def unmoved() -> dict[str, Matrices]:
    return {name: MODELS[name] for name in ("m0", "m1")}


SPREAD = SCORES.loc["m0", FEAR].std(ddof=1)


class TestShifts:
    def test_of_a_scripted_model_that_answers_one_item_otherwise_beside_placebos(
        self, diagnosed
    ) -> None:
        # After the instruction m0 answers item "three" as "one": a known amount, of three items;
        # after the last of five placebos as well.
        moved = score_of(BY_HAND) - SCORES.loc["m0", "three"]
        assert abs(moved) > 0.05
        otherwise = {**unmoved(), "m0": {**MODELS["m0"], "three": BY_HAND}}
        placebos = {f"placebo-{place}": unmoved() for place in range(1, 5)}
        diagnosis = diagnosed({"instruction": otherwise, **placebos, "placebo-5": otherwise})
        shift = abs(moved) / 3 / SPREAD
        row = figure(diagnosis)
        assert row["value"] == pytest.approx(shift, abs=1e-12)
        assert (row["n"], row["unit"]) == (3, "items")
        reordering = figure(diagnosis, "reordering")
        assert reordering["value"] == pytest.approx(shift * 3**0.5, abs=1e-12)
        assert figure(diagnosis, model="m1")["value"] == 0
        control = figure(diagnosis, "placebo_level_shift")
        assert control["value"] == pytest.approx(shift / 5**0.5, abs=1e-12)
        assert (control["n"], control["unit"]) == (5, "placebos")
        assert row["control"] == control["value"]
        # Nothing else rests on what was asked after prefixes.
        without = diagnosed({})
        for table in ("cells", "items", "scales", "content", "quality"):
            pd.testing.assert_frame_equal(getattr(diagnosis, table), getattr(without, table))

    @pytest.mark.parametrize(
        ("lost", "complaint"),
        [
            (["one-calm-never-instruction"], "m0: 1 prompts have no score"),
            (
                [f"{prompt}-instruction" for prompt in PROMPTS["id"][:36]],
                "all 36 prompts have no score",
            ),
        ],
    )
    def test_a_model_that_was_asked_in_part_or_not_at_all_is_an_error(
        self, lost, complaint, diagnosed
    ) -> None:
        with pytest.raises(ValueError, match=rf"^{complaint}$"):
            diagnosed({"instruction": unmoved()}, lost=lost)


class TestWhereItHasNoMeaning:
    @pytest.mark.parametrize(
        ("method", "name", "reason"),
        [
            (
                "head",
                "m2",
                "a framing has no meaning for a model that reads premise and hypothesis alone",
            ),
            (
                "mlm",
                "m2 (mlm)",
                "prefixes belong to the verbaliser's question, which this method does not ask",
            ),
        ],
    )
    def test_it_is_null_with_the_reason(self, method, name, reason, diagnosed) -> None:
        other = answered(method, {"m2": MODELS["m2"]})
        if method != "head":
            other = other[other["measure"] == "entailment"]
            other = other.assign(
                measure="log_probability", value=-np.log1p(np.exp(-other["value"]))
            )
        diagnosis = diagnosed({"instruction": unmoved()}, added=[other])
        for figure_name in ("level_shift", "reordering"):
            row = figure(diagnosis, figure_name, name)
            assert pd.isna(row["value"])
            assert (row["n"], row["reason"]) == (0, reason)
        assert figure(diagnosis)["value"] == 0

    def test_and_where_no_framings_are_declared(self, diagnosed) -> None:
        row = figure(diagnosed({}))
        assert pd.isna(row["value"])
        assert row["reason"] == "nothing was asked after prefixes"
