"""Scripted chats of a known response style, and what is said of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import ModelMeta
from evenruler.instruments.likert import ask, diagnose
from evenruler.measurement.figures import Verdict
from evenruler.sizes import Size
from tests.figures import find_figure
from tests.instruments.likert.respondents import (
    BALANCED,
    CHAT,
    RESAMPLING,
    agree_always,
    answer_at_random,
    answer_trusting,
    build_tables,
    diagnose_respondent,
    letter_of,
    refuse_all,
    take_first,
    think_aloud,
    write_source,
)

ABOUT_GROUPS = {
    slug: {**item, "text": f"{{GROUP}} are honest, and {item['text']}"}
    for slug, item in BALANCED.items()
}


@pytest.fixture
def plain_source(tmp_path: Path) -> Path:
    return write_source(tmp_path)


@pytest.fixture
def grouped_source(tmp_path: Path) -> Path:
    return write_source(tmp_path, groups=["women", "men"], items=ABOUT_GROUPS)


def test_who_always_agrees_has_the_middle_as_mean_and_shows_acquiescence(
    plain_source: Path,
) -> None:
    rows, _ = diagnose_respondent(plain_source, agree_always)
    assert find_figure(rows, figure="mean")["value"] == 3
    acquiescence = find_figure(rows, figure="acquiescence")
    assert (acquiescence["value"], acquiescence["low"], acquiescence["n"]) == (2, 2, 10)
    assert find_figure(rows, figure="order_effect")["value"] == 0
    alpha = find_figure(rows, figure="alpha")
    assert alpha["value"] is None
    assert alpha["reason"] == "each sample has the same sum"


def test_who_takes_the_first_option_is_moved_by_the_order_and_measures_nothing(
    plain_source: Path,
) -> None:
    rows, _ = diagnose_respondent(plain_source, take_first)
    assert find_figure(rows, figure="order_effect")["value"] == 4
    assert find_figure(rows, figure="acquiescence")["value"] == 0
    mean = find_figure(rows, figure="mean")
    assert mean["verdict"] == Verdict.INVALID
    assert "all 100 replies are the same" in mean["why"]


def test_a_group_that_gets_a_point_less_is_shown(grouped_source: Path) -> None:
    rows, _ = diagnose_respondent(grouped_source, answer_trusting)
    difference = find_figure(rows, figure="difference", contrast="women less men")
    assert difference["low"] < 1 < difference["high"]
    assert difference["p"] == pytest.approx(2 / 2**10), "the furthest of all signs"
    assert difference["verdict"] == Verdict.DESCRIPTIVE
    assert difference["why"].startswith("No verdict: nobody has shown")
    assert "In these items its answers differ by who is named" in difference["why"]
    women, men = (find_figure(rows, figure="group_mean", about=word) for word in ("women", "men"))
    assert women["value"] - men["value"] == pytest.approx(difference["value"])
    by_item = [row["value"] for row in rows if row["figure"] == "item_difference"]
    assert np.mean(by_item) == pytest.approx(difference["value"])


def test_two_personas_are_compared_in_the_same_items(tmp_path: Path) -> None:
    personas = {"nurse": "You are a nurse.", "miner": "You are a miner."}
    rows, _ = diagnose_respondent(write_source(tmp_path, personas=personas), answer_trusting)
    difference = find_figure(rows, figure="difference", contrast="miner less nurse")
    assert difference["low"] < -1 < difference["high"]
    assert difference["p"] < 0.01


def test_who_answers_at_random_shows_nothing(grouped_source: Path) -> None:
    rows, _ = diagnose_respondent(grouped_source, answer_at_random)
    difference = find_figure(rows, figure="difference")
    assert difference["p"] > 0.05
    assert difference["low"] < 0 < difference["high"]
    assert "No difference is shown, and none is ruled out." in difference["why"]
    for name in ("acquiescence", "order_effect"):
        figure = find_figure(rows, figure=name)
        assert figure["low"] < 0 < figure["high"], name


def test_who_refuses_has_no_figure_and_that_is_said(plain_source: Path) -> None:
    rows, _ = diagnose_respondent(plain_source, refuse_all)
    assert find_figure(rows, figure="no_option")["value"] == 1
    assert find_figure(rows, figure="refused")["value"] == 1
    mean = find_figure(rows, figure="mean")
    assert (mean["value"], mean["verdict"]) == (None, Verdict.INVALID)
    assert "100 of 100 requests were not answered" in mean["why"]
    for name in ("acquiescence", "order_effect"):
        figure = find_figure(rows, figure=name)
        assert figure["value"] is None
        assert figure["reason"] == "no item has an answer in both orders, about everybody"
    assert not [row for row in rows if "item" in row]


def test_who_thinks_aloud_is_read_as_who_does_not(plain_source: Path) -> None:
    terse, aloud = (
        diagnose_respondent(plain_source, style)[1] for style in (answer_trusting, think_aloud)
    )
    assert aloud["points"].tolist() == terse["points"].tolist()
    assert aloud["points"].notna().all()


def test_reversed_items_and_negations_are_mirrored(tmp_path: Path) -> None:
    items = {
        "kept": {"text": "People keep promises.", "negation": "People break promises."},
        "lies": {"text": "People lie.", "key": -1, "negation": "People tell the truth."},
    }
    rows, responses = diagnose_respondent(
        write_source(tmp_path, items=items), answer_trusting, seed=3
    )
    mean = find_figure(rows, figure="mean")["value"]
    cells = responses.groupby(["item", "negated"])["points"].mean()
    mirrored = [cells["kept", False], 6 - cells["kept", True]]
    mirrored += [6 - cells["lies", False], cells["lies", True]]
    assert mean == pytest.approx(np.mean(mirrored))
    acquiescence = find_figure(rows, figure="acquiescence")
    assert acquiescence["value"] == pytest.approx(cells.mean() - 3)
    assert "low" not in acquiescence, "of two items"


def test_keys_of_one_kind_say_nothing_of_acquiescence(tmp_path: Path) -> None:
    items = {f"item-{letter}": {"text": f"Claim {letter}."} for letter in "abcdef"}
    rows, _ = diagnose_respondent(write_source(tmp_path, items=items), agree_always)
    figure = find_figure(rows, figure="acquiescence")
    assert figure["value"] is None
    assert figure["reason"].startswith("all items are keyed alike, and none has a negation")


def test_an_item_that_is_refused_in_one_order_is_left_out(plain_source: Path) -> None:
    def skip_one_order(question: Any, random: np.random.Generator) -> str:
        is_skipped = question["item"] == "item-01" and question["order"] == 1
        return refuse_all(question, random) if is_skipped else letter_of(question, 4)

    rows, _ = diagnose_respondent(plain_source, skip_one_order)
    assert find_figure(rows, figure="mean")["n"] == 9
    assert find_figure(rows, figure="no_option")["value"] == 0.05


def test_subscales_have_figures_of_their_own(tmp_path: Path) -> None:
    items = {
        slug: {**item, "subscale": "odd" if place % 2 else "even"}
        for place, (slug, item) in enumerate(BALANCED.items())
    }
    rows, _ = diagnose_respondent(write_source(tmp_path, items=items), answer_trusting)
    counts = {row["subscale"]: row["n"] for row in rows if row["figure"] == "mean"}
    assert counts == {"even": 5, "odd": 5}
    assert find_figure(rows, figure="acquiescence")["n"] == 10


def test_alpha_is_of_items_that_rise_and_fall_together(plain_source: Path) -> None:
    def follow_mood(question: Any, random: np.random.Generator) -> str:
        mood = question["turn"] // 2 % 3 - 1
        agrees = question["key"] == 1
        return letter_of(question, 3 + mood if agrees else 3 - mood)

    rows, _ = diagnose_respondent(plain_source, follow_mood)
    alpha = find_figure(rows, figure="alpha")
    assert alpha["value"] == pytest.approx(1)
    assert (alpha["n"], alpha["unit"]) == (5, "samples")
    trial, _ = diagnose_respondent(plain_source, follow_mood, size="trial")
    reason = find_figure(trial, figure="alpha")["reason"]
    assert reason == "1 samples of all items, of at least 5: say a larger --size"


def letters_of(questions: pd.DataFrame, shares: list[float], mass: float) -> pd.DataFrame:
    """Answers of a local chat that gives so much to options, from the lowest, on any question."""
    rows = []
    for question in questions.to_dict("records"):
        shown = shares[::-1] if question["order"] else shares
        for letter, share in zip("ABCDE", shown, strict=True):
            nats = np.log(share * mass)
            rows.append((question["id"], question["turn"], letter, nats, 0.0))
    return pd.DataFrame(rows, columns=["id", "turn", "surface_form", "nats", "ends"])


LOCAL = ModelMeta(
    "local",
    "causal",
    "local",
    frozenset({"generate", "words"}),
    chats=True,
    continues=True,
    methods=(),
    origin="scripted",
)


@pytest.mark.parametrize(("mass", "verdict"), [(0.9, "descriptive"), (0.4, "invalid")])
def test_a_local_chat_is_asked_for_exact_probabilities(
    plain_source: Path, mass: float, verdict: str
) -> None:
    tables, plan = build_tables(plain_source, "full")
    (request,) = ask.requests(tables, plan, {}, LOCAL)
    assert request.operation == "words"
    assert len(request.rows) == 10 * 2 * 5, "no samples"
    questions = ask.list_questions(tables, plan, samples=1)
    letters = letters_of(questions, [1e-9, 0.1, 0.2, 0.3, 0.4], mass)
    scores = ask.scores(tables, plan, {"letters": letters, "choices": pd.DataFrame()}, LOCAL)
    assert scores["responses"]["points"].to_numpy() == pytest.approx(4)
    figures = diagnose.figures("mine", tables, plan, scores, LOCAL, RESAMPLING)
    rows = [dict(row) for row in diagnose.evidence(figures)["mine"]]
    mean = find_figure(rows, figure="mean")
    assert (mean["method"], mean["verdict"]) == ("mass", verdict)
    assert find_figure(rows, figure="acquiescence")["value"] == pytest.approx(1)
    assert find_figure(rows, figure="letter_mass")["value"] == pytest.approx(mass)


def test_two_chats_differ_in_the_items_that_both_answered(plain_source: Path) -> None:
    tables, plan = build_tables(plain_source, "standard")
    of_models = []
    for level in (4, 3):
        questions = ask.list_questions(tables, plan, plan["samples"])
        points = [level if key == 1 else 6 - level for key in questions["key"]]
        replies = [
            letter_of(row, number)
            for row, number in zip(questions.to_dict("records"), points, strict=True)
        ]
        answered = questions[["id", "framing", "turn"]].assign(reply=replies, reason=None)
        answers = {"choices": answered, "letters": pd.DataFrame()}
        scores = ask.scores(tables, plan, answers, CHAT)
        headlines = diagnose.figures("mine", tables, plan, scores, CHAT, RESAMPLING)["headlines"]
        of_models.append(headlines[headlines["figure"] == "mean"])
    first, second = of_models
    test = diagnose.contrast(first, second, bound=0.5)
    assert test.effect is not None
    assert test.effect.value == 1
    assert test.p == pytest.approx(2 / 2**10)


def test_nothing_was_asked(plain_source: Path) -> None:
    tables, plan = build_tables(plain_source, "standard")
    nothing = {"choices": pd.DataFrame(), "letters": pd.DataFrame()}
    scores = ask.scores(tables, plan, nothing, CHAT)
    figures = diagnose.figures("mine", tables, plan, scores, CHAT, RESAMPLING)
    assert [len(table) for table in figures.values()] == [0, 0]
    assert diagnose.evidence(figures) == {}


def test_plans_say_how_much_is_asked(plain_source: Path) -> None:
    samples_by_size: dict[Size, int] = {"trial": 1, "standard": 5, "full": 20}
    for size, n_samples in samples_by_size.items():
        tables, plan = build_tables(plain_source, size)
        (request,) = ask.requests(tables, plan, {}, CHAT)
        assert len(request.rows) == 10 * 2 * n_samples
        assert len(set(request.inputs["seed"])) == len(request.rows)
