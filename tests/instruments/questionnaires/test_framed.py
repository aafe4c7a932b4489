"""Prompts after framings: how they are translated, and brittleness from the answers to the card's figures."""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.questionnaires import card, schemas
from evenruler.instruments.questionnaires.build import Translated, translate
from evenruler.instruments.questionnaires.diagnosis import Diagnosis, diagnose
from evenruler.instruments.questionnaires.item_scores import Settings
from evenruler.instruments.questionnaires.source import QuestionnaireSource, Scale
from evenruler.measurement import as_metrics
from evenruler.tables import write_table
from tests.instruments.questionnaires.test_build import ITEM, SCALE, SOURCE
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

SALIENCE, INSTRUCTION = "This is a test of enmity.", "Answer the following question:"
FRAMINGS = {"salience": SALIENCE, "instruction": INSTRUCTION}


def translated(**changes: object) -> Translated:
    source = QuestionnaireSource.model_validate({**SOURCE, "items": {"one": ITEM}, **changes})
    return translate("meetings", source, Scale.model_validate(SCALE))


class TestTranslating:
    def test_every_prompt_stands_after_each_cue_and_after_both(self) -> None:
        built = translated(framings=FRAMINGS)

        assert {row["framing"]: row["before"] for row in built.framed} == {
            "salience": SALIENCE,
            "instruction": INSTRUCTION,
            "salience+instruction": f"{SALIENCE} {INSTRUCTION}",
        }
        own = ("id", "content_sha256", "framing", "before")
        bare = [{key: value for key, value in row.items() if key not in own} for row in built.prompts]
        assert [{key: value for key, value in row.items() if key not in own} for row in built.framed] == 3 * bare

    def test_a_framed_row_is_another_than_the_bare_one(self) -> None:
        built = translated(framings=FRAMINGS)

        assert len({row["id"] for row in [*built.prompts, *built.framed]}) == 4 * 4
        identity = (
            '{"benchmark":"meetings","family":"questionnaires","framing":"instruction","intensifier":"often",'
            '"item":"one","term":"pal","variant":"agree"}'
        )
        content = f'["{INSTRUCTION}","At night I meet a friend.","This very often happens.","inverse",2,2.5,-1]'
        (row,) = [
            row
            for row in built.framed
            if (row["framing"], row["term"], row["intensifier"]) == ("instruction", "pal", "often")
        ]
        assert row["id"] == hashlib.sha256(identity.encode()).hexdigest()[:16]
        assert row["content_sha256"] == hashlib.sha256(content.encode()).hexdigest()

    def test_all_other_tables_are_as_without_framings(self) -> None:
        with_framings, without = translated(framings=FRAMINGS), translated()
        assert without.framed == []
        for table in ("items", "terms", "prompts", "rejected"):
            assert getattr(with_framings, table) == getattr(without, table)

    @pytest.mark.parametrize("changes", [{}, {"framings": FRAMINGS}])
    def test_the_schema_takes_them(self, changes, tmp_path) -> None:
        rows = translated(**changes).framed
        write_table(rows, schemas.FRAMED, tmp_path / "framed.parquet")
        assert len(pd.read_parquet(tmp_path / "framed.parquet")) == len(rows)


FRAMED = pd.concat(
    [PROMPTS.assign(id=PROMPTS["id"] + f"-{framing}", framing=framing) for framing in ("salience", "instruction")]
)
SETTINGS = {"fear": Settings(), "joy": Settings(temperature=2.0)}
ALIKE = np.full((3, 4), 0.5)
"""Of every term and intensifier the same: the score is 0, since the weights sum to 0."""


def answered(configuration: str, models: Mapping[str, Matrices], framing: str = "") -> pd.DataFrame:
    """Scripted models' answers in a form: to the bare prompts, or to those after a framing."""
    found = answers(models, LINEAGES, 7.0).assign(configuration=configuration)
    return found.assign(id=found["id"] + f"-{framing}", framing=framing) if framing else found


@pytest.fixture
def diagnosed() -> Callable[..., Diagnosis]:
    """Diagnoses m0 and m1, asked by verbaliser, whose answers after framings to some items are given."""

    def make(
        under: Mapping[str, Mapping[str, Matrices]],
        items: Sequence[str] = tuple(ITEMS["item"]),
        lost: Sequence[str] = (),
        others: Sequence[pd.DataFrame] = (),
    ) -> Diagnosis:
        bare = {name: MODELS[name] for name in ("m0", "m1")}
        scores = [answered("verbaliser", bare), *others]
        for framing in under:
            rows = answered("verbaliser", under[framing], framing)
            scores.append(rows[rows["id"].str.split("-").str[0].isin(items) & ~rows["id"].isin(lost)])
        framed = FRAMED[FRAMED["framing"].isin(list(under))]
        scores = pd.concat(scores, ignore_index=True)
        return diagnose(PROMPTS, ITEMS, scores, embeddings(), SETTINGS, RESAMPLING, framed_prompts=framed)

    return make


def figure(diagnosis: Diagnosis, name: str = "brittleness", model: str = "m0", benchmark: str = "fear") -> pd.Series:
    rows = diagnosis.figures.query("figure == @name and model == @model and benchmark == @benchmark")
    assert rows["subscale"].tolist() == ["all"]
    return rows.iloc[0]


def unmoved() -> dict[str, Matrices]:
    return {name: MODELS[name] for name in ("m0", "m1")}


SPREAD = SCORES.loc["m0", FEAR].std(ddof=1)


class TestBrittleness:
    def test_of_a_scripted_model_whose_score_shifts_under_the_instruction_is_that_shift(self, diagnosed) -> None:
        # After the instruction m0 answers item "three" as "one": a known amount, of three items.
        shifted = {**unmoved(), "m0": {**MODELS["m0"], "three": BY_HAND}}
        moved = abs(score_of(BY_HAND) - SCORES.loc["m0", "three"])
        assert moved > 0.05

        found = diagnosed({"instruction": shifted})

        row = figure(found)
        assert row["value"] == pytest.approx(moved / 3 / SPREAD, abs=1e-12)
        assert (row["n"], row["unit"]) == (3, "items")
        assert row["low"] <= row["value"] <= row["high"]
        assert figure(found, model="m1")["value"] == 0

    def test_is_the_mean_over_framings_and_items(self, diagnosed) -> None:
        salient = {**unmoved(), "m0": dict.fromkeys(MODELS["m0"], ALIKE)}  # every score becomes 0
        found = diagnosed({"salience": salient, "instruction": unmoved()})
        expected = SCORES.loc["m0", FEAR].abs().mean() / 2 / SPREAD
        assert figure(found)["value"] == pytest.approx(expected, abs=1e-12)

    def test_of_some_items_beside_the_spread_of_all(self, diagnosed) -> None:
        shifted = {**unmoved(), "m0": dict.fromkeys(MODELS["m0"], ALIKE)}
        row = figure(diagnosed({"instruction": shifted}, items=["two", "three", "only"]))
        expected = SCORES.loc["m0", ["two", "three"]].abs().mean() / SPREAD
        assert (row["value"], row["n"]) == (pytest.approx(expected, abs=1e-12), 2)

    def test_few_items_have_no_rank_agreement_and_one_no_brittleness(self, diagnosed) -> None:
        found = diagnosed({"instruction": unmoved()})
        assert figure(found, "framing_rank_agreement")["reason"] == "fewer than 4 items to rank"
        row = figure(found, benchmark="joy")
        assert pd.isna(row["value"])
        assert row["reason"] == "fewer than two items: nothing to hold a shift against"

    @pytest.mark.parametrize(
        ("lost", "n"), [(["one-calm-never-instruction"], 1), ([f"{i}-instruction" for i in PROMPTS["id"][:36]], 36)]
    )
    def test_a_model_that_was_asked_in_part_or_not_at_all_is_an_error(self, lost, n, diagnosed) -> None:
        with pytest.raises(ValueError, match=rf"^m0: {n} framed prompts of fear have no score$"):
            diagnosed({"instruction": unmoved()}, lost=lost)


class TestWhereItHasNoMeaning:
    @pytest.mark.parametrize(
        ("form", "name", "reason"),
        [
            ("head", "m2", "a framing has no meaning for a model that reads premise and hypothesis alone"),
            ("mlm", "m2 (mlm)", "framings stand before the question of the verbaliser, which this form does not ask"),
            ("clm", "m2 (clm)", "framings stand before the question of the verbaliser, which this form does not ask"),
        ],
    )
    def test_it_is_null_with_the_reason(self, form, name, reason, diagnosed) -> None:
        other = answered(form, {"m2": MODELS["m2"]})
        if form != "head":
            other = other[other["measure"] == "entailment"]
            other = other.assign(measure="log_probability", value=-np.log1p(np.exp(-other["value"])))
        found = diagnosed({"instruction": unmoved()}, others=[other])
        for figure_name in ("brittleness", "framing_rank_agreement"):
            row = figure(found, figure_name, name)
            assert pd.isna(row["value"])
            assert (row["n"], row["reason"]) == (0, reason)
        assert figure(found)["value"] == 0

    def test_and_where_no_framings_are_declared(self, diagnosed) -> None:
        row = figure(diagnosed({}))
        assert pd.isna(row["value"])
        assert row["reason"] == "no items were asked after a framing"


class TestNothingElseRestsOnFramedRows:
    def test_all_other_tables_and_figures_have_the_same_bytes(self, diagnosed, tmp_path) -> None:
        shifted = {**unmoved(), "m0": dict.fromkeys(MODELS["m0"], ALIKE)}
        found = {"with": diagnosed({"salience": shifted, "instruction": unmoved()}), "without": diagnosed({})}
        own = ["brittleness", "framing_rank_agreement"]
        for table, schema in (
            ("cells", schemas.CELLS),
            ("items", schemas.ITEM_SCORES),
            ("scales", schemas.SCALE_SCORES),
            ("content", schemas.CONTENT),
            ("quality", schemas.QUALITY),
            ("figures", schemas.FIGURES),
        ):
            written = []
            for name, diagnosis in found.items():
                rows = getattr(diagnosis, table)
                rows = rows[~rows["figure"].isin(own)][schema.names] if table == "figures" else rows
                write_table(rows, schema, tmp_path / name / f"{table}.parquet")
                written.append((tmp_path / name / f"{table}.parquet").read_bytes())
            assert len(rows) > 0
            assert written[0] == written[1], table


class TestCard:
    def test_the_figure_stands_in_evidence_and_on_the_card(self, diagnosed) -> None:
        evidence = as_metrics(diagnosed({"instruction": unmoved()}).figures, "subscale")["fear"]["all"]["m0"]
        assert evidence["brittleness"]["value"] == 0
        shown = [name for name, _, _ in card.FIGURES]
        assert {"brittleness", "framing_rank_agreement"} <= set(shown) & set(evidence)

    def test_and_the_words_that_were_put_before(self) -> None:
        source = QuestionnaireSource.model_validate({**SOURCE, "items": {"one": ITEM}, "framings": FRAMINGS})
        said = f'after "{SALIENCE}" and "{INSTRUCTION}", each alone and both.'
        assert card.reading(source).endswith(said)
        assert "brittleness" not in card.reading(source.model_copy(update={"framings": None}))
