from collections.abc import Sequence

import pytest

from evenruler.instruments.saged.rows.questions import (
    FEWEST,
    MOST,
    PROMPT,
    Question,
    checked_question,
    request_questions,
)
from evenruler.models.questions import Reply

WOOL = "Aurelia exports wool to its neighbours."


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("What does Aurelia export?", "What does Aurelia export?"),
        ('"What does Aurelia export?"', "What does Aurelia export?"),
        ("**What does Aurelia export?**", "What does Aurelia export?"),
        ("Question: What does Aurelia export?", "What does Aurelia export?"),
        ("**Question 1:** What does Aurelia export?", "What does Aurelia export?"),
        (
            "Sure! Here is one:\n\nWhat does Aurelia's harbour export?\n\nI hope this helps.",
            "What does Aurelia's harbour export?",
        ),
    ],
)
def test_the_question_is_found_in_a_reply(reply, question):
    assert checked_question(reply, "Aurelia", WOOL) == (question, "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Aurelia exports much wool.", "no question mark at the end"),
        ("What does Aurelia export? Wool.", "no question mark at the end"),
        ("What does Aurelia export? And why does it?", "several questions"),
        ("What does Aurelia export?\nWho buys what Aurelia sells?", "several questions"),
        ("What does the country export?", "no 'Aurelia' in it"),
        ("What do Aurelians like to export?", "no 'Aurelia' in it"),
        ("What does aurelia like to export?", "no 'Aurelia' in it"),
        ("What does the Gulf of Aurelia export?", "no 'Aurelia' in it"),
        ("Aurelia exports wool. What else does it export?", "several sentences"),
        ("Does Aurelia export wool to others?", "no question word"),
        ("What can be said about Aurelia?", "it asks for nothing in particular"),
        ("What do you know about Aurelia?", "it asks for nothing in particular"),
        ("Why would you buy wool from Aurelia?", "it asks the reader"),
        ("What does the sentence say of Aurelia?", "it asks for the wording"),
        ("What does Aurelia buy from Veloria?", "a name that the sentence lacks"),
        (
            "What neutral question that the sentence answers is there on Aurelia?",
            "it asks for the wording",
        ),
        (
            "Which neutral question that Aurelia does not give the answer away is this?",
            "a copy of the instruction",
        ),
        ("What is Aurelia?", "3 words, not 4 to 25"),
        ("What does Aurelia export" + " far" * 22 + "?", "26 words, not 4 to 25"),
    ],
)
def test_what_is_no_question_about_the_keyword_is_refused(reply, reason):
    assert checked_question(reply, "Aurelia", WOOL) == ("", reason)


@pytest.mark.parametrize("words", [FEWEST, MOST])
def test_the_bounds_of_the_length_are_inside(words) -> None:
    question = "Why Aurelia " + "so " * (words - 3) + "so?"
    assert checked_question(question, "Aurelia", WOOL) == (question, "")


def test_a_question_that_gives_the_answer_away_is_refused() -> None:
    away = "Why does Aurelia export wool to its neighbour?"
    assert checked_question(away, "Aurelia", WOOL) == ("", "every word of the sentence is in it")


@pytest.mark.parametrize(
    ("question", "keyword", "sentence"),
    [
        (
            "Why does Aurelia export wool to its neighbour?",
            "Aurelia",
            "Aurelia exports wool to its neighbours for money.",
        ),
        ("What does Aurelia export to its neighbours?", "Aurelia", WOOL),
        ("When did Aurelia join the league?", "Aurelia", "Aurelia joined the league in 1921."),
        (
            "How long did the passage of the Aurelian law take?",
            "Aurelian",
            "The passage of the Aurelian law took years.",
        ),
        ("What did Dr. Lind find in Aurelia?", "Aurelia", "In Aurelia Dr. Lind found salt."),
    ],
)
def test_what_is_a_question_about_the_keyword(question, keyword, sentence) -> None:
    """Also of a text about a text, and with an abbreviation, which ends no sentence."""
    assert checked_question(question, keyword, sentence) == (question, "")


class Model:
    """A test double: a language model of known replies, round by round; `None` is a prompt that it
    refuses."""

    def __init__(self, *rounds: list[str | None]) -> None:
        self.rounds, self.asked = iter(rounds), list[list[str]]()

    def __call__(self, prompts: Sequence[str]) -> list[Reply]:
        self.asked.append(list(prompts))
        return [Reply(text, None if text else "content filter") for text in next(self.rounds)]


def request_text(keyword: str, sentence: str, *refused: str) -> str:
    return (
        PROMPT.format(keyword=keyword, sentence=sentence, fewest=4, most=25)
        + "".join(refused)
        + "Question:"
    )


def test_all_sentences_are_asked_at_once_and_those_refused_again_and_told_why():
    model = Model(
        ["I cannot say.", "What do farmers in Tol grow?", "No."],
        ["What is it?", "Question: Which coins does Sarn strike?"],
        ["Question: What does Aurelia export?"],
    )
    grow, strike = "Farmers in Tol grow barley.", "Sarn strikes coins of gold."
    questions = request_questions([WOOL, grow, strike], ["Aurelia", "Tol", "Sarn"], model)

    refused = (
        ("I cannot say.", "no question mark at the end"),
        ("What is it?", "no 'Aurelia' in it"),
    )
    assert questions == [
        Question("What does Aurelia export?", refused),
        Question("What do farmers in Tol grow?"),
        Question("Which coins does Sarn strike?", (("No.", "no question mark at the end"),)),
    ]
    first = 'Refused: "I cannot say." (no question mark at the end). Write another.\n'
    second = "Refused: \"What is it?\" (no 'Aurelia' in it). Write another.\n"
    third = 'Refused: "No." (no question mark at the end). Write another.\n'
    assert model.asked == [
        [request_text("Aurelia", WOOL), request_text("Tol", grow), request_text("Sarn", strike)],
        [request_text("Aurelia", WOOL, first), request_text("Sarn", strike, third)],
        [request_text("Aurelia", WOOL, first, second)],
    ]


def test_of_a_long_reply_a_model_is_shown_the_beginning():
    model = Model(["word " * 100], ["What does Aurelia export?"])
    request_questions([WOOL], ["Aurelia"], model)
    (second,) = model.asked[1]
    assert (
        f'Refused: "{("word " * 24)[:120]}" (no question mark at the end). Write another.\n'
        in second
    )


def test_a_model_that_never_asks_leaves_a_reason_and_what_it_said():
    questions = request_questions(
        [WOOL, "Aurelia {is} odd."],
        ["Aurelia", "Aurelia"],
        Model(["No.", "No."], ["No.", "No."]),
        tries=2,
    )
    assert questions == [Question("", (("No.", "no question mark at the end"),) * 2)] * 2


def test_a_prompt_that_a_server_refuses_is_not_asked_again_and_takes_no_other_with_it():
    model = Model([None, "What do farmers in Tol grow?"])
    questions = request_questions([WOOL, "Farmers in Tol grow barley."], ["Aurelia", "Tol"], model)
    assert questions == [
        Question("", (("", "no reply: content filter"),)),
        Question("What do farmers in Tol grow?"),
    ]
    assert len(model.asked) == 1


def test_nobody_asked_is_no_question():
    assert request_questions([WOOL], ["Aurelia"], Model(), tries=0) == [Question("")]
    assert request_questions([], [], Model()) == []
