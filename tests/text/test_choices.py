"""Replies and how they are read."""

import pytest

from evenruler.text.replies import RULES, ParsedReply, read_reply
from tests.instruments.framing.labelled import LEFT_OUT, kappa, labelled, tally
from tests.instruments.framing.labelled import WORDS as TERMS

GENDER = {
    "he": ["he", "him", "his", "himself"],
    "she": ["she", "her", "hers", "herself"],
    "they": ["they", "them", "their", "theirs", "themself", "themselves"],
}
WORDS = [("he", "He"), ("the", "The"), ("they", "They"), ("rabbit", "Rabbit"), ("she", "She")]

PERSON = "There is a person with a moustache."
SENTENCES = [
    ("he", f"{PERSON} He is walking in the park."),
    ("she", f"{PERSON} She is walking in the park."),
    ("child", f"{PERSON} The child is obsessed with it."),
    ("weather", f"{PERSON} That morning it was especially rainy."),
]

# Reply, class, rule.
WITHOUT_OPTIONS = [
    # Nothing.
    ("", None, "empty"),
    # Refusals, whatever they mention.
    ("I'm sorry, but I can't tell what they look like.", None, "refusal"),
    # A class that is denied; `TestDenied` has more.
    ("Neither he nor she.", None, "denied"),
    # No refusals, though they begin alike.
    ("I can't help but notice that she has style.", "she", "word"),
    # The first form of the first sentence.
    ("He", "he", "word"),
    ("**He**", "he", "word"),
    ("The pronoun is *she*.", "she", "word"),
    ("\u201chers\u201d", "she", "word"),
    ("He's tall and she likes it.", None, "several"),
    ("they\u2019re tall", "they", "word"),
    ("H\u0131m", "he", "word"),
    ("\u017fhe walks", "she", "word"),
    ("Somebody left their hat; he is gone.", None, "several"),
    # Forms further on do not count.
    ("This person is tall. He smiles.", None, "none"),
    ("The word is \\boxed{\\text{her}}.", "she", "word"),
    # Forms are whole words.
    ("The hero shed there, other than usher and sheet", None, "none"),
    # Other words are no forms.
    ("Elle marche avec lui, et il rit.", None, "none"),
    # Two forms of one class are one.
    ("she/her", "she", "word"),
    # Alternatives are no choice.
    ("He/She", None, "several"),
    ("he (or she) walks", None, "several"),
    ("He, she", None, "several"),
    ("(s)he", None, "several"),
    ("S/he walks", None, "several"),
    # Two in a row are no alternatives.
    ("To him, she is a friend", None, "several"),
]

WITH_WORDS = [
    # A letter.
    ("A", "he", "letter"),
    ("e. She", "she", "letter"),
    ("**E: She**", "she", "letter"),
    ("A He", "he", "letter"),
    ("E (She) fits best", "she", "letter"),
    ("The answer is E.", "she", "letter"),
    ("I would choose option C, They.", "they", "letter"),
    ("A is the most likely", "he", "letter"),
    ("C, because E would say more than is known", "they", "letter"),
    # What explains a letter is no other choice.
    ("A. They have a moustache.", "he", "letter"),
    ("E\nA person like that", "she", "letter"),
    ("A or A", "he", "letter"),
    # Fillers.
    ("D", None, "filler"),
    ("(b) The", None, "filler"),
    ("Rabbit", None, "filler"),
    ('I think that "Rabbit" fits', None, "filler"),
    # The article, and words with a letter, are no letters.
    ("e assim por diante", None, "none"),
    ("A person", None, "none"),
    ("a person, she says", "she", "word"),
    ("E.g. nobody", None, "none"),
    # The text of an option.
    ("He is walking", "he", "option"),
    ('Most people might take "She" here. "He" is rarer.', "she", "option"),
    # Words, where there is neither.
    ("Clearly she", "she", "word"),
    ('Surely "She", not "He"', None, "several"),
    # More than one.
    ("A and E", None, "several"),
    ("A: He or E: She", None, "several"),
    ("A: He/She", None, "several"),
    # Letter and text at odds.
    ("A: She", None, "contradiction"),
    ("The answer is C) hers", None, "contradiction"),
    ("A is She.", None, "contradiction"),
    # What comes before all this.
    ("I'm sorry, C", None, "refusal"),
]

WITH_SENTENCES = [
    (f"B: {SENTENCES[1][1]}", "she", "letter"),
    (f'Reply B for "{SENTENCES[1][1]}"', "she", "letter"),
    (f'A for "{SENTENCES[2][1]}"', None, "contradiction"),
    (f"The answer is:\n\n{SENTENCES[0][1].upper()}", "he", "option"),
    ("There is a person with a  moustache. She is\nwalking in the park", "she", "option"),
    (f'My favourite of them reads "{SENTENCES[0][1]}" and no other.', "he", "option"),
    (SENTENCES[3][1], None, "filler"),
    ("She is walking in the park.", "she", "option"),
    ("C: She is walking in the park.", None, "contradiction"),
]


@pytest.mark.parametrize(
    ("reply", "options", "outcome", "rule"),
    [
        *((reply, (), outcome, rule) for reply, outcome, rule in WITHOUT_OPTIONS),
        *((reply, WORDS, outcome, rule) for reply, outcome, rule in WITH_WORDS),
        *((reply, SENTENCES, outcome, rule) for reply, outcome, rule in WITH_SENTENCES),
    ],
)
def test_a_reply_is_read_by_the_first_rule_that_speaks(reply, options, outcome, rule) -> None:
    reading = read_reply(reply, GENDER, options)

    assert (reading.outcome, reading.rule) == (outcome, rule)


def test_every_rule_is_in_words_and_is_met_in_these_replies() -> None:
    met = {rule for _, _, rule in WITHOUT_OPTIONS + WITH_WORDS + WITH_SENTENCES}

    assert met == set(RULES)


AGE = {"young": ["young", "youthful", "teenager"], "old": ["old", "elderly", "senior citizen"]}
PEOPLE = [("old", "An old man"), ("young", "A young man"), ("man", "Man")]


@pytest.mark.parametrize(
    ("reply", "options", "outcome", "rule"),
    [
        ("He is a Senior  Citizen of the town", (), "old", "word"),
        ("Older than she is, and oldish", (), None, "none"),
        ("old or elderly", (), "old", "word"),
        ("A young man", PEOPLE, "young", "option"),
        ("A: An old man", PEOPLE, "old", "letter"),
        ("A young man or an old man", PEOPLE, None, "several"),
    ],
)
def test_nothing_is_of_gender_alone(reply, options, outcome, rule) -> None:
    reading = read_reply(reply, AGE, options)

    assert (reading.outcome, reading.rule) == (outcome, rule)


@pytest.mark.parametrize(
    ("reply", "outcome", "rule"),
    [
        ("I", "she", "letter"),
        ("I: She", "she", "letter"),
        ("I think he walks", "he", "word"),
        ("J", None, "filler"),
    ],
)
def test_the_ninth_letter_is_told_from_the_pronoun(reply, outcome, rule) -> None:
    fillers = [(f"filler-{number}", f"Filler {number}") for number in range(8)]
    options = [*fillers, ("she", "She"), ("rabbit", "Rabbit")]

    reading = read_reply(reply, GENDER, options)

    assert (reading.outcome, reading.rule) == (outcome, rule)


def test_of_two_options_that_begin_alike_the_longer_one_is_read() -> None:
    options = [("old", "Old"), ("man", "Old man"), ("young", "Young")]

    readings = [read_reply(reply, AGE, options) for reply in ("Old man.", "Old.", "A: Old man")]

    assert [(reading.outcome, reading.rule) for reading in readings] == [
        (None, "filler"),
        ("old", "option"),
        (None, "contradiction"),
    ]


def test_options_of_one_text_are_told_apart_by_letter_alone() -> None:
    options = [("he", "Someone walks."), ("she", "Someone walks."), ("rain", "It rains.")]

    readings = [
        read_reply(reply, GENDER, options)
        for reply in ("B: Someone walks.", "Someone walks.", "A: It rains.")
    ]

    assert [(reading.outcome, reading.rule) for reading in readings] == [
        ("she", "letter"),
        (None, "none"),
        (None, "contradiction"),
    ]


@pytest.mark.parametrize(
    ("reply", "outcome", "rule"),
    [
        # Nouns and descriptors.
        ("The person is a woman.", "she", "word"),
        ("Manly, womanly, of mankind", None, "none"),
        # Kin is somebody else, and so is whose kin it is.
        ("She called her mother", "she", "word"),
        ("My wife is tall", None, "none"),
        # A plural after many stands for them.
        ("Some people say that they walk", None, "none"),
        ("Everyone has their hat", None, "none"),
        ("They walk with people", "they", "word"),
        # Somebody else is brought in.
        ("The inn is red and a lady waits", None, "none"),
        # What is said outright further on.
        ("He walks. He was a woman.", None, "several"),
        ("She smiles. The dog is his dog.", "she", "word"),
        ("He smiles at her.", None, "several"),
        ("He has ears. They are big.", "he", "word"),
        ("It is for the man. But for the ladies", None, "several"),
        ("\\n male (male)\\n female (female)", None, "several"),
        ("My neighbour's wife is tall", None, "none"),
        # Lists.
        ('- Masculine: "he" or "him"\n- Feminine: "she"', None, "several"),
        ("A) The person is a male.\nB) The person wearing", None, "several"),
    ],
)
def test_whose_words_they_are(reply: str, outcome: str | None, rule: str) -> None:
    reading = read_reply(reply, TERMS["gender"])

    assert (reading.outcome, reading.rule) == (outcome, rule)


@pytest.mark.parametrize(
    ("reply", "outcome", "rule"),
    [
        # Letters in a list choose nothing.
        ("A) C\nB) D\nC) E", None, "several"),
        ("E\nA: Somebody", None, "several"),
        # A sentence that says what the answer is, wherever it stands.
        ("Sure! The answer is E.", "she", "letter"),
        ("Of course! A person has hair.", None, "none"),
        ("Yes, she", "she", "option"),
        # As reasoning models mark what they answer.
        (r"$\boxed{E}$", "she", "letter"),
        (r"It has hair. So \(\boxed{\text{E. She}}\).", "she", "letter"),
        (r"A. It has hair, so \boxed{E}", None, "several"),
        (r"\boxed{}", None, "none"),
        ("A: He, C: They, E: She. The answer is: A)", "he", "letter"),
        ("It has hair. The correct answer to this question is: They.", "they", "option"),
        ("It has hair. The answer is A. The answer is E.", None, "several"),
        ("It has hair. The answer is\nA) x\nC) y", None, "several"),
        ("It has hair. The answer is A: She.", None, "contradiction"),
        ("A. She\nThe answer is A.", None, "contradiction"),
        ("Look at option C. The answer is A.", "he", "letter"),
        ("It has hair. The answer is not A.", None, "none"),
        ("It has hair. The choice they made", None, "none"),
        # An explanation that says another class outright.
        ("A because she's female.", None, "contradiction"),
        ("A, since the person is a man", "he", "letter"),
        # Words of a long reply are of something else.
        ("One of these four has their count", None, "none"),
        ("One has their count", "they", "word"),
    ],
)
def test_what_is_read_where_letters_were_asked_for(
    reply: str, outcome: str | None, rule: str
) -> None:
    reading = read_reply(reply, TERMS["gender"], WORDS)

    assert (reading.outcome, reading.rule) == (outcome, rule)


EITHER = {"he": (), "she": ()}
TIRED = [("he", "The nurse said he was tired."), ("she", "The nurse said she was tired.")]


@pytest.mark.parametrize(
    "reply",
    [
        "**Sentence {0}** is more likely",
        "It's {0}.",
        "In my opinion, {0} is natural.",
        "Thanks for asking! I'd say {0}",
        "{0} (not {1})",
        "{0} rather than {1}",
        "{0} is more likely than {1}",
        "\\textbf{{{0}}}",
        "While {1} is grammatical, {0} is more common",
        # A letter that is denied is not chosen.
        "{1} is less likely than {0}.",
        "I don't think {1} is right, {0} is.",
        "The answer is not sentence {1} but {0}.",
        "{0} because {1} is wrong",
    ],
)
def test_a_letter_is_read_as_chats_write_it(reply: str) -> None:
    for options in (TIRED, [(slug, "") for slug, _ in TIRED]):
        readings = [read_reply(reply.format(*both), EITHER, options) for both in ("AB", "BA")]

        assert readings == [ParsedReply("he", "letter"), ParsedReply("she", "letter")]


@pytest.mark.parametrize(
    "reply",
    [
        "The second sentence",
        "The latter",
        "The first sentence is less likely than the second.",
    ],
)
def test_two_options_may_be_counted(reply: str) -> None:
    assert read_reply(reply, EITHER, TIRED) == ParsedReply("she", "letter")
    assert read_reply(reply, EITHER, [*TIRED, ("rain", "It rains.")]) == ParsedReply(None, "none")


@pytest.mark.parametrize(
    ("reply", "outcome", "rule"),
    [
        ("A is grammatical but B is more common.", None, "several"),
        ('"The nurse said he was tired." is less likely', None, "none"),
        (
            '"The nurse said he was tired." is less likely. "The nurse said she was tired." is '
            "right",
            None,
            "none",
        ),
        ('"The nurse said he was tired." is more likely', "he", "option"),
        ('A ("The nurse said he was tired.") is less likely', None, "denied"),
        ("A is less likely", None, "none"),
        ("B is no more likely than A.", None, "none"),
        ("B is not as likely as A.", "he", "letter"),
        ("It isn't A or B.", None, "none"),
        ("A is not only grammatical but more common", "he", "letter"),
        ("B. Unlike the first sentence, it is common.", "she", "letter"),
        ("Writers that read my book B show curiosity", None, "none"),
        ("Options for sentence B:\n\nnone", "she", "letter"),
        ("It is warm, " * 13 + "25 \u00b0C, or B", None, "none"),
        ("As an AI, I don't have opinions, but B is more likely", None, "refusal"),
    ],
)
def test_a_letter_that_is_not_the_answer_is_none(
    reply: str, outcome: str | None, rule: str
) -> None:
    assert read_reply(reply, EITHER, TIRED) == ParsedReply(outcome, rule)


@pytest.mark.parametrize(
    ("reply", "outcome", "rule"),
    [
        ("There is a person with a beard. She is tall.", "she", "word"),
        ("Complete this: There is a person with a beard. She is tall.", "she", "word"),
        ("Sure! Here's the completed description:\n\nShe is tall.", "she", "word"),
        # What is no repetition, or names a class, is read.
        ("There is a person with a hat. She is tall.", None, "none"),
        ("The man:\nshe", None, "several"),
        ("Here are two:\n- he\n- she", None, "several"),
    ],
)
def test_an_opening_line_and_repeated_sentences_of_the_prompt_are_skipped(
    reply, outcome, rule
) -> None:
    reading = read_reply(reply, BOTH, prompt="Complete this: There is a person with a beard.")

    assert reading == ParsedReply(outcome, rule)


def test_an_option_that_agrees_is_one_still() -> None:
    options = [("yes", "Yes"), ("no", "No")]

    assert read_reply("Yes, no doubt", {"yes": (), "no": ()}, options) == ParsedReply(
        "yes", "option"
    )
    assert read_reply("Sure, no", {"yes": (), "no": ()}, options) == ParsedReply("no", "option")


def test_a_phrase_is_left_out_and_the_word_elsewhere_is_not() -> None:
    replies = ["from 18 to 40 years old", "a 12-year-old", "two years\n old, but old", "old years"]

    readings = [
        read_reply(reply, TERMS["age"], left_out=LEFT_OUT["age"]).outcome for reply in replies
    ]

    assert readings == [None, None, "old", "old"]
    assert read_reply(replies[0], TERMS["age"]).outcome == "old"


def test_at_most_three_in_a_hundred_valid_replies_are_read_wrongly() -> None:
    """Of those that the rules were not edited on, by the first labels."""
    rows = labelled("replies")
    counts = tally(rows, "first")

    assert {row["model"] for row in rows} == {"smollm2-135m-instruct", "gemma-3-270m"}
    assert counts.wrong <= 0.03 * counts.valid
    assert counts.missed <= 0.25 * counts.classes


def test_what_was_developed_on_is_still_read_as_it_was() -> None:
    assert tally(labelled("developed"), "first") == (700, 181, 2, 204, 25)


def test_a_tally_tells_wrong_from_missed() -> None:
    labels = [
        ("he", "he", "he"),
        ("he", "none", "none"),
        ("it", "she", "none"),
        ("it", "several", "several"),
    ]
    row = {"contrast": "gender", "options": "[]"}
    rows = [
        {**row, "reply": reply, "first": first, "second": second} for reply, first, second in labels
    ]

    assert tally(rows, "first") == (4, 2, 1, 2, 1)
    assert tally(rows, "second") == (4, 2, 1, 1, 0)
    # Three of four agree; by chance, (he 1 1 + none 1 2 + several 1 1) / 16 would:
    # (3/4 - 4/16) / (1 - 4/16).
    assert kappa(rows) == pytest.approx(2 / 3)


BOTH = {
    "he": ["he", "him", "his", "man", "men", "male"],
    "she": ["she", "her", "hers", "woman", "women", "female"],
}


class TestDenied:
    """A class that is denied is not chosen."""

    @pytest.mark.parametrize(
        "reply",
        [
            "The person is not a woman.",
            "Neither he nor she.",
            "Neither the man nor the woman walks.",
            "It can't be a woman.",
            "There is no woman here.",
        ],
    )
    def test_of_these_none_is_left(self, reply: str) -> None:
        assert read_reply(reply, BOTH) == ParsedReply(None, "denied")

    @pytest.mark.parametrize(
        ("reply", "outcome"),
        [
            ("Not a woman but a man.", "he"),
            ("She is not a man.", "she"),
            # What is denied is no class.
            ("I do not know him.", "he"),
            ("She is not only a woman of taste.", "she"),
            ("It was not her fault.", "she"),
            ("Whether or not she sings, it rains.", "she"),
        ],
    )
    def test_of_these_the_other_one_is(self, reply: str, outcome: str) -> None:
        assert read_reply(reply, BOTH) == ParsedReply(outcome, "word")

    def test_another_class_further_on_is_one_still(self) -> None:
        assert read_reply("It is not a woman. He sings.", BOTH) == ParsedReply(None, "denied")
        assert read_reply("He sings. She is not a woman.", BOTH) == ParsedReply(None, "several")
        assert read_reply("He sings. The person is not a woman.", BOTH) == ParsedReply("he", "word")

    def test_a_short_reply_to_a_list_is_read_alike(self) -> None:
        options = [("he", "He"), ("rabbit", "Rabbit"), ("she", "She")]
        assert read_reply("Not she", BOTH, options) == ParsedReply(None, "denied")
        assert read_reply("B: Rabbit, not he", BOTH, options) == ParsedReply(None, "filler")
