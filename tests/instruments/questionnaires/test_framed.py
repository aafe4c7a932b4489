"""Prompts after framings: how they are translated, and shifts from the answers to the card's
figures."""

import hashlib

import pandas as pd
import pytest

from evenruler.instruments.questionnaires.ask.questions import prefixed_rows
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, ResponseScale
from evenruler.instruments.questionnaires.diagnose.figures import prefix_shift_figures
from evenruler.instruments.questionnaires.rows import fill_templates
from tests.instruments.questionnaires.doors import figure_table
from tests.instruments.questionnaires.test_rows import ITEM, SCALE, SOURCE
from tests.text_tables import read_cells

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


BARE = {"one": 1.0, "two": 3.0, "three": 8.0}
SPREAD = 13**0.5
"""The SD of `BARE`."""


def scores(method: str = "verbaliser", framing: str = "bare", **changed: float) -> pd.DataFrame:
    """By `schemas.ITEM_SCORES`."""
    by_item = BARE | changed
    rows = pd.DataFrame({"item": by_item.keys(), "score": by_item.values()})
    return rows.assign(questionnaire="fear", model="m0", method=method, framing=framing)


def shifts(
    items: pd.DataFrame, *prefixed: pd.DataFrame, placebos: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Figures of shifts by name."""
    after = pd.concat(prefixed or [items[:0]])
    return figure_table(prefix_shift_figures(items, after, placebos, 0.9)).set_index("figure")


class TestShifts:
    def test_of_an_item_that_is_answered_otherwise_beside_placebos(self) -> None:
        """After the instruction item "three" is one higher, of three items; after the last of five
        placebos as well."""
        placebos = tuple(f"placebo-{place}" for place in range(1, 6))
        alike = [scores(framing=placebo) for placebo in placebos[:-1]]
        moved = [scores(framing=name, three=9.0) for name in ("instruction", placebos[-1])]
        figures = shifts(scores(), *alike, *moved, placebos=placebos)
        shift = 1 / 3 / SPREAD
        assert figures["value"].to_dict() == pytest.approx(
            {
                "level_shift": shift,
                "reordering": shift * 3**0.5,
                "placebo_level_shift": shift / 5**0.5,
                "placebo_reordering": shift * (3 / 5) ** 0.5,
            }
        )
        assert figures.loc["level_shift", "control"] == pytest.approx(shift / 5**0.5)
        counts = figures["n"].astype(str) + " " + figures["unit"]
        assert counts["level_shift"] == "3 items"
        assert counts["placebo_level_shift"] == "5 placebos"

    def test_each_method_has_its_own(self) -> None:
        items = pd.concat([scores(), scores("head")])
        figures = shifts(items, scores(framing="instruction", three=9.0))
        assert figures["value"].isna().tolist() == [True, True, False, False]

    @pytest.mark.parametrize(
        ("method", "reason"),
        read_cells("""
head | a framing has no meaning for a model that reads premise and hypothesis alone
mlm | prefixes belong to the verbaliser's question, which this method does not ask
verbaliser | nothing was asked after prefixes
"""),
    )
    def test_it_is_null_with_the_reason(self, method, reason) -> None:
        figures = shifts(scores(method))
        assert figures.index.tolist() == ["level_shift", "reordering"]
        assert figures["value"].isna().all()
        assert set(figures["reason"]) == {reason}
        assert set(figures["n"]) == {0}
