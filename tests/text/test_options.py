"""Replies to questions with options, read by hand first: which option each one chose, and which
chose none."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.text.replies import ParsedReply, read_choice

BAKER = ("The baker", "The smith", "Can't be determined")
SEXES = ("The man", "The woman", "Unknown")
KIN = ("The grandfather", "The grandson", "Can't be determined")
NAMES = ("Maria", "Maria Lopez", "Not enough info")
MEN = ("The old man", "The man", "Not known")
ANSWERS = ("Yes", "No", "Maybe")
BARE = ("A man", "A woman", "Cannot answer")
LETTERS = ("B", "A", "C")  # option A is the text "B"
IN_ORDER = ("A", "B", "C")
LONG = ("The tall young baker", "The tall young smith", "Not answerable")

# The reply was read, and chooses nothing: it refuses, denies, contradicts itself or names several.
NONE = "no answer"
UNREAD = "unread"  # nothing was found

READ: list[tuple[str, Sequence[str], int | str]] = [
    # A letter, as models write it.
    ("A", BAKER, 0),
    ("[B]", BAKER, 1),
    ("Answer:\nB", BAKER, 1),
    ("$\\boxed{\\text{B}}$", BAKER, 1),
    ("I choose A because B is not mentioned as late.", BAKER, 0),
    ("\uff22", BAKER, 1),  # full width
    ("\u201cB\u201d", BAKER, 1),
    ("Nobody was named before the shop closed, so the smith must be meant.\n\nANSWER: B", BAKER, 1),
    ("<think>A or B? The text names B.</think>\n\nC", BAKER, 2),
    # In other languages.
    ("Die Antwort ist B.", BAKER, 1),
    ("La respuesta correcta es la B.", BAKER, 1),
    # A letter with its text, and with that of another option.
    ("C) Can't be determined", BAKER, 2),
    ("The answer is B, the smith.", BAKER, 1),
    ("C) The baker", BAKER, NONE),
    ("The answer is A: the smith.", BAKER, NONE),
    # Several letters, and letters that are denied.
    ("A or B", BAKER, NONE),
    ("ANSWER: A, B", BAKER, NONE),
    ("ANSWER: Both", BAKER, NONE),
    ("It is not the baker (A).", BAKER, UNREAD),
    ("It isn't the baker (A), it is the smith (B).", BAKER, 1),
    ("Neither A nor B", BAKER, UNREAD),
    ("None of the above", BAKER, UNREAD),
    ("The baker or the smith", BAKER, NONE),
    # The text of an option.
    ("smith", BAKER, 1),
    ("Can't be determined", BAKER, 2),
    ("It can't be determined.", BAKER, 2),
    ("Ox.", ("An ox", "A cow"), 0),
    ('Hm, I wonder."The smith"', BAKER, UNREAD),
    ("The one who was late was the smith.", BAKER, 1),
    ("I think aloud.\nAnswer: the baker", BAKER, 0),
    ("the smith.\n\nQ: Who was early?\nA: The baker", BAKER, 1),
    ("2. The smith", BAKER, 1),
    ("1. The baker\n2. The smith", BAKER, NONE),
    ("The smith's wife was late.", BAKER, UNREAD),
    ("Smithers was late.", BAKER, UNREAD),
    ("It is not the smith.", BAKER, UNREAD),
    # Refusals, also where one of the options reads like one.
    ("I'm sorry, but I can't answer that.", BAKER, NONE),
    ("I cannot answer.", BARE, NONE),
    ("Cannot answer", BARE, 2),
    ("", BAKER, NONE),
    # Both sides are named.
    ("The woman or the man", SEXES, NONE),
    ("Either the woman or the man.", SEXES, NONE),
    ("Neither the man nor the woman", SEXES, UNREAD),
    ("mankind", SEXES, UNREAD),
    # Options within options.
    ("Maria Lo", NAMES, 1),
    ("The old man said so", MEN, 0),
    ("A", BARE, 0),
    # Words that chats begin with, as options.
    ("No, she is not.", ANSWERS, 1),
    ("Yes or no", ANSWERS, NONE),
    # Options that are letters.
    ("B", IN_ORDER, 1),
    ("The answer is C.", IN_ORDER, 2),
    ("B", LETTERS, UNREAD),
    ("A", LETTERS, UNREAD),
    # A text that was cut off counts from eight letters or two words on, and only if it fits one
    # option alone.
    ("Can't b", BAKER, 2),
    ("The b", BAKER, UNREAD),
    ("the grandf", KIN, UNREAD),
    ("the grandfat", KIN, 0),
    ("The tall young", LONG, UNREAD),
    ("The tall young b", LONG, 0),
]


@pytest.mark.parametrize(("reply", "options", "right"), READ)
def test_what_a_reply_chose(reply: str, options: Sequence[str], right: int | str) -> None:
    reading = read_choice(reply, options)

    chosen: int | str = UNREAD
    if reading.outcome is not None:
        chosen = options.index(reading.outcome)
    elif reading.rule != "none":
        chosen = NONE
    assert chosen == right


@pytest.mark.parametrize(
    ("reply", "rule"), [("Answer: both", "several"), ("Answer: neither", "denied")]
)
def test_what_chooses_all_or_none_of_the_options(reply: str, rule: str) -> None:
    assert read_choice(reply, ["The man", "The woman"]) == ParsedReply(None, rule)


PAIRS = [
    ("The man", "The woman"),
    ("man", "woman"),
    ("A man", "A woman"),
    ("he", "she"),
    ("The old man", "The young man"),
    ("Maria", "Marian"),
    ("Yes", "No"),
    ("The grandfather", "The grandson"),
]
"""Two options of as many words; the letters of one may stand in the other."""

NESTED = [("The old man", "The man"), ("Maria", "Maria Lopez"), ("Bob", "Bob the smith")]
"""Two options of which the words of one stand in the other."""

PARTS = [
    *("{x}", "{y}", "{x}.", "{y},", '"{x}"', "**{y}**", "({x})", "{x}:", "{y}\n", "\\boxed{{{x}}}"),
    *("{X}", "{Y}", "{X})", "{Y}.", "**{Y}**", "{X}:", "{X}) {x}", "{Y}: {x}", "option {X}"),
    *("not", "rather than", "or", "and", "is", "was", "because", "and his", "than", "but", "of"),
    *("The answer is", "Answer:", "It was", "Not", "Neither", "nor", "Both", "I choose", "1.", "-"),
    *(
        ",",
        ".",
        ":",
        "\n",
        "is less likely",
        "isn't",
        "sat with",
        "</think>",
        "I cannot say",
        "Sure,",
    ),
]
"""What replies are put together from: options (`x`, `y`), their letters (`X`, `Y`), and words
between them."""

REPLIES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map(" ".join)
FILLERS = ("Unknown", "Not answerable")


def exchanged(reply: str, pair: tuple[str, str], options: Sequence[str]) -> tuple[str, str]:
    """A reply about the two options, and the same with them and their letters exchanged."""
    x, y = pair
    first, second = ("ABCD"[options.index(option)] for option in pair)
    return reply.format(x=x, y=y, X=first, Y=second), reply.format(x=y, y=x, X=second, Y=first)


@given(REPLIES, st.sampled_from(PAIRS), st.permutations(range(3)))
def test_exchanging_two_options_exchanges_the_reading(
    reply: str, pair: tuple[str, str], order: Sequence[int]
) -> None:
    """Whatever a reply says of one side, it would say of the other: neither is read more readily.

    The letter A stands for no side, since it is an article, too; the next test is about it.
    """
    rest = (*pair, FILLERS[1])
    options = (FILLERS[0], *(rest[place] for place in order))
    reading, mirrored = (read_choice(text, options) for text in exchanged(reply, pair, options))

    turned = dict(zip(pair, reversed(pair), strict=True))
    assert (turned.get(str(reading.outcome), reading.outcome), reading.rule) == (
        mirrored.outcome,
        mirrored.rule,
    )


@given(REPLIES, st.sampled_from(NESTED), st.permutations(range(3)))
def test_of_nested_options_neither_is_read_more_readily(
    reply: str, pair: tuple[str, str], order: Sequence[int]
) -> None:
    """A denial reaches one or two words far, so one of the two may be unread; never is the same
    option read twice."""
    rest = (*pair, FILLERS[1])
    options = (FILLERS[0], *(rest[place] for place in order))
    readings = {read_choice(text, options).outcome for text in exchanged(reply, pair, options)}

    assert len(readings) == 2 or not readings & {*pair}


@given(REPLIES, st.sampled_from([*PAIRS, *NESTED]))
def test_the_order_of_options_changes_letters_alone(reply: str, pair: tuple[str, str]) -> None:
    orders = permutations((*pair, FILLERS[1]))
    lists = [(FILLERS[0], *rest) for rest in orders]
    readings = {read_choice(exchanged(reply, pair, options)[0], options) for options in lists}

    assert len(readings) == 1


@pytest.mark.parametrize(
    "reply",
    [
        *("{X}", "**{X}**", "{X}) {x}", "{X}: {x}", "The answer is {X}.", "Option {X}"),
        *("\\boxed{{{X}}}", "I choose {X}, not {Y}.", "{X} rather than {Y}", "{X} was right."),
        *("{x}", '"{x}"', "It was {x}.", "It's {x}.", "So the answer would be {x}."),
        *("{x}, not {y}.", "{x} rather than {y}", "{x}, because {y} was on time."),
    ],
)
def test_either_option_is_read_where_it_is_named(reply: str) -> None:
    """As the first of two options, whose letter is an article, and as the second."""
    for pair in (*PAIRS, *NESTED):
        for options in (pair, pair[::-1]):
            text, mirrored = exchanged(reply, pair, options)

            assert (
                read_choice(text, options).outcome,
                read_choice(mirrored, options).outcome,
            ) == pair
