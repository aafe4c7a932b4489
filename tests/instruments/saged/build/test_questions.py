import pytest

from evenruler.instruments.saged.build.questions import (
    FEWEST,
    MOST,
    PROMPT,
    Checked,
    Question,
    ask,
    checked_question,
)

WOOL = "Aurelia exports wool to its neighbours."


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("What does Aurelia export?", "What does Aurelia export?"),
        ("  What does Aurelia export?\n", "What does Aurelia export?"),
        ('"What does Aurelia export?"', "What does Aurelia export?"),
        ("**What does Aurelia export?**", "What does Aurelia export?"),
        ("\u201cWhat does Aurelia export?\u201d", "What does Aurelia export?"),
        ("Question: What does Aurelia export?", "What does Aurelia export?"),
        ("**Question 1:** What does Aurelia export?", "What does Aurelia export?"),
        (
            "Sure! Here is one:\n\nWhat does aurelia's harbour export?\n\nI hope this helps.",
            "What does aurelia's harbour export?",
        ),
    ],
)
def test_the_question_is_found_in_a_reply(reply, question):
    assert checked_question(reply, "Aurelia") == Checked(question, "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no question mark at the end"),
        ("Aurelia exports much wool.", "no question mark at the end"),
        ("What does Aurelia export? Wool.", "no question mark at the end"),
        ("What does Aurelia export? And why does it?", "several questions"),
        ("What does Aurelia export?\nWho buys what Aurelia sells?", "several questions"),
        ("What does the country export?", "no 'Aurelia' in it"),
        ("What do Aurelians like to export?", "no 'Aurelia' in it"),
        ("What is Aurelia?", "3 words, not 4 to 25"),
        ("What does Aurelia export" + " far" * 22 + "?", "26 words, not 4 to 25"),
    ],
)
def test_what_is_no_question_about_the_keyword_is_refused(reply, reason):
    assert checked_question(reply, "Aurelia") == Checked("", reason)


def test_the_bounds_of_the_length_are_inside():
    for words in (FEWEST, MOST):
        assert checked_question("Aurelia " + "so " * (words - 2) + "so?", "Aurelia").question


def test_a_question_that_gives_the_answer_away_is_refused():
    away = "Does Aurelia export wool to its neighbour?"
    assert checked_question(away, "Aurelia", WOOL) == Checked("", "every word of the sentence is in it")
    assert checked_question(away, "Aurelia").question == away
    assert checked_question("What does Aurelia export to its neighbours?", "Aurelia", WOOL).question
    assert checked_question(
        "When did Aurelia join the league?", "Aurelia", "Aurelia joined the league in 1921."
    ).question


def test_a_model_is_asked_again_and_told_why():
    replies = iter(["I cannot say.", "What is it?", "Question: What does Aurelia export?", "never asked for"])
    asked = []

    def answer(text: str) -> str:
        asked.append(text)
        return next(replies)

    (found,) = ask([WOOL], ["Aurelia"], answer)
    refused = (("I cannot say.", "no question mark at the end"), ("What is it?", "no 'Aurelia' in it"))
    assert found == Question("What does Aurelia export?", "model", refused)
    prompt = PROMPT.format(keyword="Aurelia", sentence=WOOL, fewest=4, most=25)
    first = 'Refused: "I cannot say." (no question mark at the end). Write another.\n'
    second = "Refused: \"What is it?\" (no 'Aurelia' in it). Write another.\n"
    assert asked == [f"{prompt}Question:", f"{prompt}{first}Question:", f"{prompt}{first}{second}Question:"]


def test_a_model_that_never_asks_leaves_a_reason_and_what_it_said():
    found = ask([WOOL, "Aurelia {is} odd."], ["Aurelia", "Aurelia"], lambda _: "No.", tries=2)
    assert found == [Question("", "no question mark at the end", (("No.", "no question mark at the end"),) * 2)] * 2


def test_nobody_asked_is_no_question():
    assert ask([WOOL], ["Aurelia"], lambda _: "What does Aurelia export?", tries=0) == [Question("", "not asked")]
    assert ask([], [], lambda _: "") == []
