"""Draws of studies stay in a CSV, replies are read once, and planted leans are what chats say."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.external.ask.choice import choice_questions, parse_replies
from evenruler.measurement.figures import Verdict
from studies.draws import describe_draws, draw_cell, has_verdict, mean_text, share_text
from studies.planted import external_rankings, external_statements
from studies.planted.external_choices import is_null, names_wrong_part
from studies.planted.external_rankings import GROUPS, PLANTED, Lists
from studies.planted.external_statements import Statements, planted_lean
from studies.planted.replies import ReplyReader
from tests.instruments.external import made
from tests.instruments.external.chats import (
    AgreementChat,
    NamingChat,
    OptionChat,
    PairChat,
    ReferentChat,
    name_thinking,
    think_aloud,
)
from tests.personas import STYLES


def read_coin(draw: int) -> Mapping[str, object]:
    """Heads in every third draw."""
    verdict = "detected" if draw % 3 == 0 else "below"
    return {"verdict": verdict, "value": draw / 2}


def test_a_second_run_adds_draws_and_draws_none_again(tmp_path: Path) -> None:
    out = tmp_path / "cells" / "draws.csv"
    assert len(draw_cell(out, "coins, fair", 4, read_coin)) == 4
    draw_cell(out, "coins, other", 2, read_coin)
    rows = draw_cell(out, "coins, fair", 7, read_coin)
    assert rows["draw"].tolist() == list(range(7))
    assert rows["value"].tolist() == [draw / 2 for draw in range(7)]
    assert share_text(has_verdict(rows, Verdict.DETECTED)) == ".429"
    n_lines = len(out.read_text().splitlines())
    assert len(draw_cell(out, "coins, fair", 3, read_coin)) == 3
    assert n_lines == len(out.read_text().splitlines()) == 1 + 7 + 2


def test_a_run_that_is_stopped_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "draws.csv"

    def stop_at_three(draw: int) -> Mapping[str, object]:
        if draw == 3:
            raise KeyboardInterrupt
        return read_coin(draw)

    with pytest.raises(KeyboardInterrupt):
        draw_cell(out, "coins", 6, stop_at_three)
    rows = draw_cell(out, "coins", 6, read_coin)
    assert rows["draw"].tolist() == list(range(6))


def test_rates_in_words() -> None:
    rows = pd.DataFrame({"verdict": ["detected, below", "below", "invalid", "inconclusive"]})
    shares = [share_text(has_verdict(rows, verdict)) for verdict in Verdict]
    by_verdict = dict(zip(Verdict, shares, strict=True))
    assert by_verdict[Verdict.DETECTED] == ".250"
    assert by_verdict[Verdict.BELOW] == ".500"
    assert by_verdict[Verdict.INVALID] == ".250"
    assert by_verdict[Verdict.DESCRIPTIVE] == "0"
    assert share_text(pd.Series(dtype=bool)) == ""
    assert describe_draws(200) == ("200", ".030")
    assert describe_draws(1000) == ("1,000", ".014")
    assert mean_text(pd.Series([0.1, 0.24])) == "0.17"
    assert mean_text(pd.Series([np.nan])) == ""


CHATS = [
    PairChat(lean=0.5, refuses=0.2),
    PairChat(style=think_aloud),
    PairChat(random=True, style=STYLES["text"]),
    PairChat(always="A"),
]


@pytest.mark.parametrize("chat", CHATS, ids=["refuses", "thinks aloud", "letters", "always A"])
def test_readings_that_are_kept_are_those_of_the_parser(tmp_path: Path, chat: PairChat) -> None:
    built = made.build(tmp_path, "pairs", {"texts": made.numbered_pairs(12, 3)})
    plan: Any = built.plan
    questions = choice_questions(made.frames(built), plan)
    reader = ReplyReader(questions, parse_replies)
    for seed in range(3):
        replies = chat.replies(questions, seed)
        pd.testing.assert_frame_equal(
            reader.read_replies(replies), parse_replies(questions, replies)
        )
    assert len(reader.readings) <= 3 * len(questions)


def test_which_chats_lean_nowhere() -> None:
    assert all(map(is_null, [OptionChat(), PairChat(at_first=2.0), ReferentChat(refuses=0.45)]))
    assert is_null(PairChat(always="A"))
    leaning = [OptionChat(lean=1.0), PairChat(random=True), PairChat(refuses=0.9)]
    assert not any(map(is_null, leaning))


def test_a_part_is_wrong_where_nothing_is_planted() -> None:
    rows = pd.DataFrame({"parts": ["", "Age", "Age|SES"]})
    assert names_wrong_part(rows, OptionChat()).tolist() == [False, True, True]
    in_age = OptionChat(lean=1.0, part="Age")
    assert names_wrong_part(rows, in_age).tolist() == [False, False, True]
    assert names_wrong_part(rows, OptionChat(lean=1.0)).empty


@pytest.fixture(scope="module")
def statements() -> Statements:
    return Statements(external_statements.build_statements())


def test_statements_are_as_many_of_a_side_as_were_asked(statements: Statements) -> None:
    texts = statements.tables["texts"]
    sides = texts[texts["role"] == "first"]["condition"].value_counts().to_dict()
    assert sides == {"left": 42, "right": 38}
    assert len(statements.reader.questions) == 160


@pytest.mark.parametrize(
    "chat",
    [
        AgreementChat(lean=1.03),
        AgreementChat(lean=1.03, agrees=2.0),
        AgreementChat(lean=-1.03, at_first=1.5),
        AgreementChat(agrees=3.0, at_first=1.5),
    ],
    ids=["leans", "says yes", "takes A", "no lean"],
)
def test_the_planted_lean_of_statements_is_what_replies_say(
    statements: Statements, chat: AgreementChat
) -> None:
    """In the mean of 300 chats, whose statements are drawn anew."""
    leans: list[float] = []
    for seed in range(300):
        questions = statements.reader.questions
        agree = chat.shares(questions, np.random.default_rng(seed))[:, 0]
        of_sides = pd.Series(agree).groupby(questions["condition"].to_numpy()).mean()
        leans.append(float(of_sides["left"] - of_sides["right"]))
    assert np.mean(leans) == pytest.approx(planted_lean(chat), abs=0.01)


def test_chats_that_are_asked_statements_get_their_verdict(statements: Statements) -> None:
    """Quick guards of `studies.planted.external_statements`."""
    leaning = AgreementChat(lean=1.5)
    row = statements.read_draw(leaning, 1)
    assert (row["verdict"], row["holds"]) == ("detected", True)
    thinking = statements.read_draw(replace(leaning, style=think_aloud), 1)
    assert thinking == row
    fair = [statements.read_draw(AgreementChat(at_first=1.0), seed) for seed in range(20)]
    verdicts = [row["verdict"] for row in fair]
    assert verdicts.count("detected") <= 4
    assert set(verdicts) <= {"detected", "inconclusive"}
    for chat in (AgreementChat(always="A"), AgreementChat(lean=3.0, refuses=0.4)):
        assert statements.read_draw(chat, 1)["verdict"] == "invalid"


@pytest.fixture(scope="module")
def lists() -> Lists:
    return Lists(external_rankings.build_lists())


def test_lists_are_as_many_as_are_asked_at_trial(lists: Lists) -> None:
    assert len(lists.reader.questions) == 1000
    names = lists.texts.groupby("stratum")["unit"].nunique().to_dict()
    assert names == dict.fromkeys(GROUPS, 100)


def test_chats_that_are_asked_rankings_get_their_verdict(lists: Lists) -> None:
    """Quick guards of `studies.planted.external_rankings`."""
    biased = NamingChat({PLANTED: 0.5}, at_first=1.0)
    row = lists.read_draw(biased, 1)
    assert (row["verdict"], row["holds"]) == ("detected", True)
    assert lists.read_draw(replace(biased, style=name_thinking), 1) == row
    fair = [lists.read_draw(NamingChat(at_first=1.0), seed) for seed in range(4)]
    assert sum(row["verdict"] == "detected" for row in fair) <= 1
    always = lists.read_draw(NamingChat(at_first=60.0), 1)
    assert (always["verdict"], always["others_below"]) == ("inconclusive", 0)
    refused = lists.read_draw(NamingChat(refuses=0.4), 1)
    assert (refused["verdict"], refused["others_detected"]) == ("invalid", 0)
