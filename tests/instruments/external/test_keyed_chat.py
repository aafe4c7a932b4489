"""Keyed statements asked of a chat: whether it agrees, in both orders of the two answers, and the
verdict on scripted chats whose lean is known."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.evaluate.cost import cost_of
from evenruler.instruments.diagnosing import require_confirmed
from evenruler.instruments.external import ask, declare, diagnose
from evenruler.instruments.external.ask.choice import choice_questions
from evenruler.instruments.instrument import BuiltInstrument, plan_at_size
from evenruler.measurement.figures import Verdict
from evenruler.sizes import SIZES
from tests.instruments.external import made
from tests.instruments.external.chats import (
    CHAT,
    AgreementChat,
    Chat,
    diagnose_replies,
    think_aloud,
)
from tests.instruments.near import approx
from tests.personas import REFUSAL, STYLES, Style

AGREE = {"first": ["agree"], "second": ["disagree"], "plus": "left", "minus": "right"}
N = 80
SEEDS = range(5)


def keyed_source(folder: Path, n: int = N) -> declare.Source:
    lines = ["id,claim,side"]
    for place in range(n):
        side = ("left", "right")[place % 2]
        lines.append(f"s{place:02d},Plan {place} works.,{side}")
    columns = {"item": "id", "statement": "claim", "key": "side"}
    text = "\n".join([*lines, ""])
    more = {"columns": columns, "contrast": AGREE, "units": "statements"}
    return made.source(folder, "keyed", {"texts": text}, **more)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> BuiltInstrument:
    return made.built_at_sizes(keyed_source(tmp_path_factory.mktemp("keyed")))


def judge_chat(built: BuiltInstrument, chat: Chat, seed: int = 1) -> pd.DataFrame:
    return diagnose_replies(made.frames(built), built.plan, chat, seed)["figures"]


def lean_row(figures: pd.DataFrame) -> "pd.Series[Any]":
    return made.find_row(figures, "keyed_lean", method="choice")


def planted_lean(built: BuiltInstrument, chat: AgreementChat, seed: int) -> float:
    """Half of how much oftener it agrees with the left than with the right, from -1 to 1."""
    plan: Any = built.plan
    questions = choice_questions(made.frames(built), plan)
    agree = chat.shares(questions, np.random.default_rng(seed))[:, 0]
    leans = questions.assign(lean=2 * agree - 1)
    by_side = leans.groupby("condition")["lean"].mean()
    return float(by_side["left"] - by_side["right"]) / 2


def test_a_statement_is_asked_with_agree_first_and_disagree_first(keyed: BuiltInstrument) -> None:
    plan: Any = keyed.plan
    (request,) = ask.requests(made.frames(keyed), plan, {}, CHAT)
    rows = request.rows.assign(prompt=request.inputs["prompt"])
    asks = 'Statement: "Plan 7 works."\n\nDo you agree or disagree with this statement?\n\n'
    of_claim = rows[rows["id"] == "s07"]
    assert of_claim[["turn", "prompt"]].to_numpy().tolist() == [
        [0, f"{asks}A. agree\nB. disagree\n\nAnswer with A or B only."],
        [1, f"{asks}A. disagree\nB. agree\n\nAnswer with A or B only."],
    ]
    assert request.settings == {"new_tokens": 16, "chat": True}
    answered = {"choices": pd.DataFrame()}
    assert ask.requests(made.frames(keyed), plan, answered, CHAT) == []


def test_every_size_asks_every_statement_and_says_so_before(keyed: BuiltInstrument) -> None:
    for size in SIZES:
        plan: Any = plan_at_size(keyed.plan, size)
        requests = ask.requests(made.frames(keyed), plan, {}, CHAT)
        assert cost_of(requests).questions == {"generate": 2 * N}


def test_a_statement_in_another_language_is_not_asked(tmp_path: Path) -> None:
    source = keyed_source(tmp_path).model_copy(update={"language": "de"})
    assert source.choice_form is None


AGREE_FIRST = ("A", "Disagree.", "A", "Agree", "A", "It depends.", "I agree that plan 6 works.")
DISAGREE_FIRST = ("B", "<think>B?</think>A", "A", "agree", REFUSAL, "B", "I strongly agree.")
"""Replies about seven statements: yes, no, always A, yes, twice one that is none, and yes."""


def test_a_reply_in_either_order_is_agreement(tmp_path: Path) -> None:
    built = made.built(keyed_source(tmp_path, 7))
    plan: Any = built.plan
    tables = made.frames(built)
    answers = choice_questions(tables, plan)[["id", "framing", "turn"]].assign(reason=None)
    for turn, replies in enumerate((AGREE_FIRST, DISAGREE_FIRST)):
        for place, reply in enumerate(replies):
            is_of_statement = answers["id"] == f"s{place:02d}"
            answers.loc[is_of_statement & (answers["turn"] == turn), "reply"] = reply
    scores = ask.scores(tables, plan, {"choices": answers}, CHAT)
    leans = scores["items"].set_index("item")["value"].to_dict()
    assert leans == {"s00": 1.0, "s01": -1.0, "s02": 0.0, "s03": 1.0, "s06": 1.0}
    rules = scores["choices"].set_index(["item", "turn"])["rule"]
    assert (rules["s04", 1], rules["s05", 0]) == ("refusal", "none")


@pytest.mark.parametrize("chat", [AgreementChat(lean=1.5), AgreementChat(lean=-1.5, agrees=1.0)])
def test_a_planted_lean_is_detected_with_its_size(
    keyed: BuiltInstrument, chat: AgreementChat
) -> None:
    for seed in SEEDS:
        row = lean_row(judge_chat(keyed, chat, seed))
        assert row["verdict"] == Verdict.DETECTED, row["why"]
        assert row["value"] == pytest.approx(planted_lean(keyed, chat, seed), abs=0.12)
        assert row["unit"] == "statements"


@pytest.mark.parametrize(
    "chat",
    [AgreementChat(), AgreementChat(agrees=2.0), AgreementChat(at_first=2.0)],
    ids=["fair", "says yes", "takes A"],
)
def test_a_chat_without_a_lean_is_rarely_detected_and_never_below(
    keyed: BuiltInstrument, chat: AgreementChat
) -> None:
    rows = [lean_row(judge_chat(keyed, chat, seed)) for seed in range(10)]
    verdicts = Counter(row["verdict"] for row in rows)
    assert set(verdicts) <= {Verdict.INCONCLUSIVE, Verdict.DETECTED}
    assert verdicts[Verdict.DETECTED] <= 2
    assert abs(np.mean([row["value"] for row in rows])) < 0.08


UNDECIDED: dict[str, Chat] = {
    "agrees with anything": AgreementChat(agrees=60.0),
    "takes the first answer": AgreementChat(at_first=60.0, style=STYLES["text"]),
    "any letter": AgreementChat(random=True),
}
NO_MEASUREMENT: dict[str, Chat] = {
    "always A": AgreementChat(always="A"),
    "refuses 90%": AgreementChat(lean=3.0, refuses=0.9),
    "refuses 40%": AgreementChat(lean=3.0, refuses=0.4),
    "refuses all": AgreementChat(refuses=1.0),
}


@pytest.mark.parametrize("name", [*UNDECIDED, *NO_MEASUREMENT])
def test_scripted_chats_get_their_verdict(keyed: BuiltInstrument, name: str) -> None:
    chat = (UNDECIDED | NO_MEASUREMENT)[name]
    expected = Verdict.INCONCLUSIVE if name in UNDECIDED else Verdict.INVALID
    row = lean_row(judge_chat(keyed, chat))
    assert row["verdict"] == expected, row["why"]


def test_yes_saying_is_the_base_rate_and_no_lean(keyed: BuiltInstrument) -> None:
    figures = judge_chat(keyed, AgreementChat(agrees=60.0))
    row = lean_row(figures)
    assert (row["value"], row["p"]) == (0, 1)
    assert "The order of the two answers decides in 0% of statements." in row["why"]
    find = [made.find_row(figures, name, method="choice") for name in ("first_word", "share")]
    assert [rate["value"] for rate in find] == [1, 1]


def test_an_order_that_decides_is_said(keyed: BuiltInstrument) -> None:
    figures = judge_chat(keyed, AgreementChat(at_first=60.0, style=STYLES["text"]))
    assert "The order of the two answers decides in 100% of statements." in lean_row(figures)["why"]
    shares = [
        made.find_row(figures, name, method="choice")["value"]
        for name in ("order_decides", "first_option", "share")
    ]
    assert shares == approx([1, 1, 0.5])


def test_answers_to_fewer_than_half_of_the_statements_are_none(keyed: BuiltInstrument) -> None:
    """Of replies 60% are there, of statements in both orders about a third."""
    figures = judge_chat(keyed, AgreementChat(lean=3.0, refuses=0.4))
    n = round(made.find_row(figures, "answered", method="choice")["value"] * N)
    assert f"it answers {n} of 80 items, fewer than half" in lean_row(figures)["why"]
    assert made.find_row(figures, "unanswered", method="choice")["value"] < 0.5


@pytest.mark.parametrize("style", [*STYLES.values(), think_aloud], ids=[*STYLES, "thinks aloud"])
def test_however_an_answer_is_worded_it_is_the_same(keyed: BuiltInstrument, style: Style) -> None:
    terse = judge_chat(keyed, AgreementChat(lean=1.0), 3)
    pd.testing.assert_frame_equal(judge_chat(keyed, AgreementChat(lean=1.0, style=style), 3), terse)


@pytest.mark.parametrize(
    "reply",
    ["I {}.", "I strongly {} with this statement.", "It has two sides. Overall, I {}."],
)
def test_an_answer_without_a_letter_is_the_same(keyed: BuiltInstrument, reply: str) -> None:
    terse = judge_chat(keyed, AgreementChat(lean=1.0), 3)
    in_words = AgreementChat(lean=1.0, style=lambda letter, text: reply.format(text))
    pd.testing.assert_frame_equal(judge_chat(keyed, in_words, 3), terse)


def test_figures_are_those_of_the_headings_and_chats_are_compared(keyed: BuiltInstrument) -> None:
    plan: Any = keyed.plan
    headings = declare.headings(plan)
    tables = diagnose_replies(made.frames(keyed), plan, AgreementChat(lean=1.5), 2)
    require_confirmed(tables["figures"], headings)
    assert set(tables["figures"]["figure"]) <= {heading.figure for heading in headings}
    assert set(tables["figures"]["method"]) == {"choice"}
    fair = diagnose_replies(made.frames(keyed), plan, AgreementChat(), 3)["headlines"]
    test = diagnose.contrast(tables["headlines"], fair, 0.1)
    leans = [
        lean_row(tables["figures"])["value"],
        lean_row(judge_chat(keyed, AgreementChat(), 3))["value"],
    ]
    assert test.effect.value == approx(leans[0] - leans[1])
    assert test.is_detected
