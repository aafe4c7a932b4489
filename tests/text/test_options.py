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


ASKED = (
    'Statement: "Taxes on sugar should be raised."\n\nDo you agree or disagree with this statement?'
)
"""What stands before "A. agree" and "B. disagree"."""

AGREES, DISAGREES = "agree", "disagree"


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("Agree.", AGREES),
        ("I agree", AGREES),
        ("**I disagree.**", DISAGREES),
        ("I strongly agree", AGREES),
        ("Strongly disagree.", DISAGREES),
        ("I'd say I somewhat agree.", AGREES),
        ("I tend to disagree.", DISAGREES),
        ("No, I disagree.", DISAGREES),
        ("Yes, I agree.", AGREES),
        ("I agree with this statement", AGREES),
        ("I disagree with the statement, since sugar is cheap.", DISAGREES),
        ('I agree with the statement "Taxes on sugar should be raised."', AGREES),
        ("I agree: sugar harms.", AGREES),
        ("I disagree\u2014sugar is cheap.", DISAGREES),
        ("Final answer: I disagree", DISAGREES),
        ("While sugar harms, I disagree because it is cheap.", DISAGREES),
        # What was asked, in the words of the reply.
        ("I agree that taxes on sugar should be raised.", AGREES),
        ("I strongly disagree that sugar taxes ought to rise, as they hurt the poor.", DISAGREES),
        ("I agree that taxes on sugar sh", AGREES),
        # Something else: nothing is chosen.
        ("I agree that it is hard to say.", UNREAD),
        ("I agree that this statement is hard to answer.", UNREAD),
        ("I agree that sugar is a delight.", UNREAD),
        ("I agree that taxes on sugar should not be raised.", UNREAD),
        ("I agree that sugar harms, but taxes on it hurt.", UNREAD),
        ("I agree that opponents of taxes on sugar are right.", UNREAD),
        ("I agree with parts of it.", UNREAD),
        ("I agree with those who are against it.", UNREAD),
        ("I agree to some extent.", UNREAD),
        ("I agree, but only in part.", UNREAD),
        ("I agree, if the money is spent well.", UNREAD),
        ("I partly agree.", UNREAD),
        ("I hardly agree.", UNREAD),
        ("I agree to disagree.", UNREAD),
        ("Do I agree? It depends.", UNREAD),
        ("If asked, I agree.", UNREAD),
        ("Many people agree.", UNREAD),
        ('They say, "I agree."', UNREAD),
        # Denied, or both.
        ("I do not agree.", UNREAD),
        ("I don't agree with this statement.", UNREAD),
        ("I do not disagree.", UNREAD),
        ("I never agree.", UNREAD),
        ("I neither agree nor disagree.", UNREAD),
        ("I can't agree or disagree.", NONE),
        ("I agree and disagree.", NONE),
        ("I both agree and disagree.", NONE),
        ("I agree. I also disagree.", NONE),
        # Thoughts, of which the last one decides if it is a conclusion.
        ("<think>I disagree? No.</think>I agree.", AGREES),
        ("<think>I agree", UNREAD),
        ("Sugar harms, so one might agree. It is cheap, though. I disagree.", DISAGREES),
        ("At first I agree. It is cheap, though, so I disagree.", DISAGREES),
        ("I agree. On reflection, I disagree.", DISAGREES),
        ("I agree with part of it. Overall, I disagree with it.", DISAGREES),
    ],
)
@pytest.mark.parametrize("options", [(AGREES, DISAGREES), (DISAGREES, AGREES)])
def test_what_a_reply_says_of_itself_is_the_option(
    reply: str, options: Sequence[str], right: str
) -> None:
    reading = read_choice(reply, options, prompt=ASKED)

    assert (reading.outcome or (UNREAD if reading.rule == "none" else NONE)) == right


@pytest.mark.parametrize(
    ("reply", "agrees_first", "disagrees_first"),
    [
        ("I agree. A", AGREES, None),
        ("I agree (B)", None, AGREES),
        ("A. I agree", AGREES, None),
        ("I disagree, so B.", DISAGREES, None),
        ("I agree with A.", AGREES, DISAGREES),  # with the option, not with the statement
    ],
)
def test_a_letter_of_the_other_option_contradicts(
    reply: str, agrees_first: str | None, disagrees_first: str | None
) -> None:
    readings = [
        read_choice(reply, options, prompt=ASKED)
        for options in ((AGREES, DISAGREES), (DISAGREES, AGREES))
    ]

    assert [reading.outcome for reading in readings] == [agrees_first, disagrees_first]
    assert {reading.rule for reading in readings if not reading.outcome} <= {"contradiction"}


def test_a_scale_has_its_own_words() -> None:
    """There "strongly agree" is another answer than "agree"."""
    scale = ("Agree", "Disagree", "Neither")

    assert read_choice("Agree", scale).outcome == "Agree"
    assert read_choice("I strongly agree", scale) == ParsedReply(None, "none")


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
    ("agree", "disagree"),
]
"""Two options of as many words; the letters of one may stand in the other."""

WITHOUT_ARTICLES = [pair for pair in PAIRS if not pair[0].startswith("A ")]
"""Whose texts do not begin with the letter of an option."""

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
        "I",
        "so I",
        "strongly",
        "with it",
    ),
]
"""What replies are put together from: options (`x`, `y`), their letters (`X`, `Y`), and words
between them."""

REPLIES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map(" ".join)
REPLIES_WITHOUT_LETTERS = st.lists(
    st.sampled_from([part for part in PARTS if "{X}" not in part and "{Y}" not in part]),
    min_size=1,
    max_size=8,
).map(" ".join)
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


@given(REPLIES_WITHOUT_LETTERS, st.sampled_from(WITHOUT_ARTICLES))
def test_of_two_options_alone_neither_is_read_more_readily(
    reply: str, pair: tuple[str, str]
) -> None:
    readings = [read_choice(text, pair) for text in exchanged(reply, pair, pair)]

    turned = dict(zip(pair, reversed(pair), strict=True))
    reading, mirrored = readings
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
