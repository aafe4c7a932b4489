"""What is asked of whom at a decision point, what is kept of it, and that nothing is asked
twice."""

from collections.abc import Sequence

import pandas as pd
import pytest

from evenruler.instruments.asking import collect_answers
from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.ask import (
    asked_forms,
    asked_replies,
    limited,
    requests,
    scores,
    surface_forms,
)
from evenruler.instruments.framing.declare.task_prompts import CONTROL, alternative_of
from evenruler.instruments.framing.rows import compose_tables
from evenruler.instruments.instrument import RequestBatch
from evenruler.models.declarations import Kind
from evenruler.tables import table_of
from tests.instruments.framing.answering import MadeUp, none
from tests.instruments.framing.hair import (
    built,
    declaration,
    hair,
    settings,
    subject,
    with_alternatives,
)

TABLES, PLAN = built(declaration())


def outline(batches: Sequence[RequestBatch]) -> list[tuple[str, str, dict, int]]:
    return [
        (
            request.table,
            str(request.operation),
            dict(request.settings),
            len(request.rows),
        )
        for request in batches
    ]


# About each of two stimuli: two orders of three letters in two cells, each letter alone and with a
# word, with and without a space; words in three cells. Letters after six prompts without content
# besides.
FORMS = 2 * (4 * 12 + 3 * 16) + 6 * 6


def test_prompts_without_content_are_asked_where_letters_are_calibrated() -> None:
    rows = requests(TABLES, PLAN, {}, subject())[0].rows
    free = rows[rows["id"].isin(TABLES["content-free"]["id"])]
    assert free["id"].nunique() == 6
    assert sorted(set(free["surface_form"])) == [" A", " B", " C", "A", "B", "C"]
    _, plan = built(declaration(calibrated=False))
    forms, _ = requests(TABLES, plan, {}, subject())
    assert len(forms.rows) == FORMS - 6 * 6


@pytest.mark.parametrize(
    ("kind", "confirmed", "are_sampled"),
    [("causal", "token", False), ("causal", "choice", True), ("chat", "token", True)],
)
def test_alternatives_are_sampled_where_the_headline_rests_on_replies(
    kind: Kind, confirmed: str, are_sampled: bool
) -> None:
    tables, plan = built(declaration(with_alternatives(), confirmed=confirmed))
    *forms, replies = requests(tables, plan, {}, subject(kind))
    prompt_rows = tables["prompts"]
    numbered = set(prompt_rows.loc[prompt_rows["alternative"].notna(), "id"])
    # Twelve colours, 39 sentences and a control; in lists in two orders, of which one is drawn.
    n_sampled = len(set(replies.rows["id"]) & numbered)
    assert n_sampled == (2 * 12 * 40 if are_sampled else 0)
    for request in forms:
        shared = numbered.intersection(request.rows["id"])
        assert len(shared) == 3 * 12 * 40


@pytest.mark.parametrize(("n", "n_sentences"), [(2, 2), (1000, 39)])
def test_a_limit_is_of_stimuli_and_of_alternatives(n: int, n_sentences: int) -> None:
    tables, plan = built(declaration(with_alternatives(), generations=0))
    limited_tables, limited_plan = limited(tables, plan, n)
    (forms,) = requests(limited_tables, limited_plan, {}, subject())
    prompts = limited_tables["prompts"]
    asked_prompts = prompts[prompts["id"].isin(forms.rows["id"])]
    assert asked_prompts["stimulus"].nunique() == min(n, 12)
    numbers = set(asked_prompts["framing"].map(alternative_of))
    assert numbers == {CONTROL, *range(n_sentences + 1)}
    assert plan["alternatives"][0]["asked"] == 39, "the plan itself stays"


def test_what_is_answered_is_not_asked_again() -> None:
    answered = none()
    assert requests(TABLES, PLAN, answered, subject()) == []
    batches = requests(
        TABLES,
        PLAN,
        {"forms": answered["forms"]},
        subject(),
    )
    assert [request.table for request in batches] == ["replies"]


def test_what_a_model_cannot_do_is_not_asked() -> None:
    _, every = built(declaration(choices="every"))
    served = requests(TABLES, PLAN, {}, subject("chat"))
    assert outline(served) == [("replies", "generate", {"new_tokens": 20, "chat": True}, 10)]
    continued = requests(
        TABLES, every, {}, subject("completions", chats=False)
    )  # its own one, of want of the other
    assert outline(continued) == [
        ("forms", "words", {"chat": False}, FORMS),
        ("replies", "generate", {"new_tokens": 20, "chat": False}, 10),
    ]
    assert requests(TABLES, every, {}, subject("masked", chats=False)) == []


def test_a_model_that_was_not_tuned_to_chat_is_left_out_of_replies_and_that_is_said_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    plain, silent = subject(chats=False, name="plain"), subject(chats=False, name="silent")
    for _ in range(2):
        batches = requests(TABLES, PLAN, {}, plain)
        assert outline(batches) == [("forms", "words", {"chat": False}, FORMS)]
    _, unsampled = built(declaration(generations=0))
    assert [batch.table for batch in requests(TABLES, unsampled, {}, silent)] == ["forms"]
    notes = capfd.readouterr().err.splitlines()
    assert notes == [
        "plain is not sampled where framing has `choices: chat`: it was not tuned to chat"
    ]


def test_scores_say_whose_they_are_and_in_which_framing() -> None:
    answers = collect_answers(
        {"hair": (TABLES, PLAN)},
        requests,
        subject(),
        MadeUp(),
    )
    scored = scores(TABLES, PLAN, answers, subject())
    prompt_rows = pd.concat([TABLES[name] for name in ("prompts", "content-free")])
    framings = prompt_rows.set_index("id")["framing"]
    for name, schema in (("forms", schemas.FORMS), ("replies", schemas.REPLIES)):
        rows = scored[name]
        assert table_of(rows, schema).num_rows == len(answers[name])
        assert set(rows["model"] + " of " + rows["lineage"]) == {"m of m-family"}
        assert (rows["framing"].array == framings[rows["id"]].array).all()


OUTCOMES = {
    "he": ["he", "him"],
    "she": ["she", "hers"],
}


def prompts() -> pd.DataFrame:
    return pd.DataFrame(compose_tables("hair", hair(), settings())["prompts"])


@pytest.mark.parametrize(
    ("forms", "before", "chat", "expected"),
    [
        (
            ["he"],
            "The answer is:",
            False,
            [" he", "he", " He", "He"],
        ),
        (
            ["he", "NASA"],
            "when I hear a beard is",
            False,
            [" he", " He", " NASA"],
        ),
        (
            ["he"],
            "when I hear a beard is",
            True,
            [" he", "he", " He", "He"],
        ),
    ],
    ids=["anywhere else", "after a letter", "in a chat"],
)
def test_forms_come_with_and_without_space_and_capital(
    forms: list[str], before: str, chat: bool, expected: list[str]
) -> None:
    assert surface_forms(forms, before, chat=chat) == expected


def test_letters_are_asked_alone_and_with_the_first_word_of_their_option() -> None:
    def forms(texts: list[str], after: str) -> list[str]:
        prompts = pd.DataFrame({"id": ["a"], "prompt": [after]})
        return asked_forms(prompts, OUTCOMES, {"a": texts}, "plain")["surface_form"].tolist()

    assert forms(["He is walking", "She", ""], "The answer is:") == [
        *[" A", "A", " B", "B", " C", "C"],
        *[" A He", "A He", " B She", "B She"],
    ]
    assert forms(["He", "She"], "The answer is") == [" A", " B", " A He", " B She"]


def test_every_reply_has_a_seed_of_its_own_that_more_repetitions_do_not_change() -> None:
    few, many = (asked_replies(prompts(), n, 0, "plain") for n in (2, 5))
    assert many["seed"].is_unique
    assert len(many) == 5 * 2 * 5
    key = ["id", "seed"]
    assert len(few.merge(many, on=key)) == len(few)
    other = asked_replies(prompts(), 2, 1, "plain")
    assert not set(other["seed"]) & set(few["seed"])
