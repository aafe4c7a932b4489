"""Another sentence before texts: what is asked after it, and how far it turns items and moves the
score, by hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.external import ask
from evenruler.instruments.instrument import BuiltInstrument, RequestBatch
from tests.instruments.external import made
from tests.instruments.near import approx


def pairs(folder: Path, units: int = 10, of_unit: int = 4, **more: Any) -> BuiltInstrument:
    """Pairs of one length, four to a writer."""
    text = made.numbered_pairs(units, of_unit)
    return made.build(folder, "pairs", {"texts": text}, **more)


def unit_of(row: pd.Series) -> int:
    return int(row["unit"][1:])


def by_role(lean: Callable[[pd.Series], float]) -> Callable[[pd.Series], float]:
    """A model that finds first texts likelier by so much than second ones."""
    return lambda row: lean(row) if row["role"] == "first" else 0.0


def seven_lean(row: pd.Series) -> float:
    """Seven units lean one way, the others the other."""
    return 1 if unit_of(row) < 7 else -1


def turning(row: pd.Series) -> float:
    """Every sentence before a text turns the lean."""
    return 1 if row["framing"] == "bare" else -1


def figures_of(built: BuiltInstrument, lean: Callable[[pd.Series], float]) -> pd.DataFrame:
    return made.figures(built, made.scores(built, by_role(lean)))


def alone(requests: list[RequestBatch]) -> list[RequestBatch]:
    """Those after the model's own start token."""
    return [request for request in requests if request.table == "likelihoods"]


def test_a_placebo_stands_before_an_items_own_prompt_and_what_parts_it_from_the_text_is_kept(
    tmp_path,
) -> None:
    built = made.build(tmp_path, "stereoset", between="\n")
    requests = alone(ask.requests(made.frames(built), built.plan, {}, made.SUBJECT))
    prompts = {}
    for request in requests:
        prompts |= dict.fromkeys(request.inputs["before"], request.settings)
    assert prompts["Here is a chess player."] == {"between": "\n"}
    assert prompts["It was a Tuesday. Here is a chess player."] == {"between": "\n"}
    assert prompts[""] == {}
    assert prompts["It was a Tuesday."] == {}
    assert len(prompts) == 2 * (1 + 5)
    assert sum(len(request.rows) for request in requests) == 12 * 6
    rows = pd.concat([request.rows for request in requests])
    assert set(rows["framing"]) == {
        "bare",
        *(f"placebo-{n}" for n in range(1, 6)),
    }
    assert not rows.duplicated("id").any()
    assert not rows.duplicated(["text_id", "framing"]).any()


def test_of_some_items_alone(tmp_path) -> None:
    built = pairs(tmp_path)
    plan = {**built.plan, "prefixed": 7, "prefixes": {"placebo-1": "It was a Tuesday."}}
    (request,) = alone(ask.requests(made.frames(built), plan, {}, made.SUBJECT))
    assert request.rows["framing"].value_counts().to_dict() == {"bare": 80, "placebo-1": 14}


def test_a_model_that_minds_no_sentence_before(tmp_path) -> None:
    figures = figures_of(
        pairs(tmp_path), lambda row: 1.0 + unit_of(row) if unit_of(row) < 7 else -1
    )
    turned, moved = (made.find_row(figures, name) for name in ("turned", "moved"))
    assert turned[["value", "low", "high", "n"]].tolist() == [0, 0, 0, 40]
    assert moved[["value", "control", "n"]].tolist() == [0, 0, 40]
    assert made.find_values(figures, "dependability", "share") == approx([1, 0.7])


def test_a_model_that_turns_with_every_sentence(tmp_path) -> None:
    """All items turn; the share goes from .7 to .3, over and over: |2 x .7 - 1|."""
    figures = figures_of(
        pairs(tmp_path),
        lambda row: seven_lean(row) * turning(row),
    )
    assert made.find_values(figures, "turned", "moved", "share") == approx([1, 0.4, 0.7])
    moved = made.find_row(figures, "moved")
    assert moved["low"] == approx(
        0.4
        * np.sqrt(
            5 / stats.chi2.ppf(0.975, 5),
        )
    )
    # Units change by -1 (seven) and 1 (three): the standard error of their mean.
    assert moved["control"] == approx(
        stats.sem(
            [-1] * 7 + [1] * 3,
        )
    )
    assert figures["verdict"].notna().sum() == 1  # of the lean alone


def test_two_of_three_sentences_turn_the_items_of_one_writer(tmp_path) -> None:
    built = pairs(tmp_path)
    prefixes = list(built.plan["prefixes"].items())
    built.plan["prefixes"] = dict(prefixes[:3])

    def lean(row: pd.Series) -> float:
        return (
            -1
            if unit_of(row) == 4
            and row["framing"]
            in (
                "placebo-1",
                "placebo-3",
            )
            else 1
        )

    figures = figures_of(built, lean)
    # 8 of 3 x 40; three sentences have no interval.
    values = made.find_values(
        figures,
        "turned",
        "moved",
    )
    assert values == approx(
        [
            1 / 15,
            0.1 * np.sqrt(2 / 3),
        ]
    )
    assert np.isnan(made.find_row(figures, "moved")["low"])


def test_a_score_moves_in_its_own_unit(tmp_path) -> None:
    """Of stereoset 100 ss; one of three targets turns: 33.3 points. BBQ moves in each kind of
    context."""
    built = made.build(tmp_path, "stereoset")
    fixed = {"second": 0.0, "third": -9.0}

    def nats(row: pd.Series) -> float:
        is_turned = row["unit"] == "sister" and row["framing"] != "bare"
        return fixed.get(row["role"], -1.0 if is_turned else 1.0)

    figures = made.figures(built, made.scores(built, nats, lambda row: 1))
    assert made.find_values(figures, "ss", "moved", "turned") == approx(
        [100, 100 / 3, 1 / 4],
    )
    built = made.build(tmp_path, "bbq")
    chosen = {"ambiguous": ("first", "third"), "disambiguated": ("second", "first")}

    def is_chosen(row: pd.Series) -> float:
        bare, after_sentence = chosen[row["condition"]]
        return float(row["role"] == (bare if row["framing"] == "bare" else after_sentence))

    figures = made.figures(built, made.scores(built, is_chosen))
    # All unknown: no bias score there; from -1 to 1 in the other.
    assert np.isnan(made.find_values(figures, "moved", condition="ambiguous")).all()
    assert made.find_values(figures, "moved", condition="disambiguated") == approx([2])
    assert made.find_values(figures, "turned") == [1]


def test_an_item_that_lacks_an_answer_after_a_sentence_is_left_out_of_both(tmp_path) -> None:
    built = pairs(tmp_path, units=5, of_unit=1)

    def lean(row: pd.Series) -> float:
        if row["framing"] == "placebo-2" and unit_of(row) == 0:
            return float("nan")
        return 1 if row["framing"] == "bare" or unit_of(row) else -1

    figures = figures_of(built, lean)
    assert made.find_row(figures, "answered")["value"] == 1
    assert made.find_row(figures, "turned")[["value", "n"]].tolist() == [0, 4]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("causal", "not asked after placebo"),
        ("recorded", "recorded answers are to the texts"),
    ],
)
def test_where_nothing_was_asked_figures_are_null_with_the_reason(tmp_path, kind, reason) -> None:
    built, subject = pairs(tmp_path), replace(made.SUBJECT, kind=kind)
    built.plan["prefixed"] = 500 if kind == "recorded" else 0
    scores = made.scores(built, by_role(lambda row: 1), subject=subject)
    figures = made.figures(built, scores, subject)
    for name in ("turned", "moved", "dependability"):
        row = made.find_row(figures, name)
        assert np.isnan(row["value"])
        assert reason in row["reason"]


@pytest.mark.parametrize(
    ("units", "is_known"),
    [
        (5, True),
        (4, False),
    ],
)
def test_chance_and_intervals_are_known_from_five_units_on(tmp_path, units, is_known) -> None:
    built = pairs(tmp_path, units=units)
    figures = figures_of(
        built,
        lambda row: 1 if row["framing"] != "placebo-1" else -1,
    )
    assert made.find_row(figures, "turned")["value"] == approx(1 / 5)
    assert made.find_row(figures, "moved")["value"] == approx(5**-0.5)
    assert pd.notna(made.find_row(figures, "moved")["control"]) is is_known
    assert pd.notna(made.find_row(figures, "turned")["low"]) is is_known


class TestOtherStart:
    """Another usual start token before the texts: what is asked after it, and how many items change
    direction."""

    def start_requests(self, built: BuiltInstrument, subject: Any = made.SUBJECT) -> list[Any]:
        plan = {**built.plan, "prefixed": 0}
        requests = ask.requests(made.frames(built), plan, {}, subject)
        return [request for request in requests if request.table == "starts"]

    def figure(
        self,
        built: BuiltInstrument,
        lean: Callable[[pd.Series], float],
        after: Callable[[pd.Series], float],
    ) -> pd.Series:
        tables, plan = made.frames(built), {**built.plan, "prefixed": 0}
        texts = tables["texts"].set_index("id")
        answers: dict[str, pd.DataFrame] = {}
        for request in ask.requests(tables, plan, {}, made.SUBJECT):
            model = after if request.table == "starts" else lean
            nats = [model(texts.loc[text]) for text in request.rows["text_id"]]
            answers[request.table] = request.rows.assign(nats=nats, tokens=5)
        scores = ask.scores(tables, plan, answers, made.SUBJECT)
        figures = made.figures(BuiltInstrument(built.tables, plan), scores)
        return made.find_row(figures, "start_flips")

    def test_a_local_models_texts_are_asked_once_more(self, tmp_path) -> None:
        built = pairs(tmp_path)
        (request,) = self.start_requests(built)
        assert request.settings == {"other_start": True}
        assert sorted(request.rows["text_id"]) == sorted(
            made.frames(built)["texts"]["id"],
        )
        assert self.start_requests(built, replace(made.SUBJECT, kind="completions")) == []

    def test_at_most_a_hundred_items(self, tmp_path) -> None:
        (request,) = self.start_requests(pairs(tmp_path, units=60, of_unit=10))
        assert len(request.rows) == 2 * 100

    def test_a_text_keeps_its_own_prompt(self, tmp_path) -> None:
        built = made.build(tmp_path, "stereoset", between="\n")
        settings = [dict(request.settings) for request in self.start_requests(built)]
        assert settings == [
            {"other_start": True},
            {"other_start": True, "between": "\n"},
        ]

    def test_the_share_of_items_that_change_direction(self, tmp_path) -> None:
        """Of ten writers three are turned, with all four of their items: 12 of 40. Another size of
        the same sign is no flip."""
        built = pairs(tmp_path)
        flips = self.figure(
            built,
            by_role(lambda row: 1.0),
            by_role(
                lambda row: -1.0 if unit_of(row) < 3 else 0.01,
            ),
        )
        # By hand: the jackknife's variance of a mean over ten writers, three 1 and seven 0, and t
        # with nine degrees.
        reach = stats.t.ppf(0.975, 9) * np.sqrt(
            0.3 * 0.7 / 9,
        )
        interval = flips[["value", "low", "high"]].tolist()
        assert interval == approx([0.3, 0, 0.3 + reach])
        assert (flips["n"], flips["unit"]) == (40, "items")

    def test_without_another_start_there_is_a_reason(self, tmp_path) -> None:
        flips = self.figure(pairs(tmp_path), by_role(lambda row: 1.0), lambda row: np.nan)
        assert pd.isna(flips["value"])
        assert flips["reason"] == "the model has one usual start token"
