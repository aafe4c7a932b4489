from collections.abc import Sequence

import pytest

from evenruler.instruments.saged.rows.questions import (
    FEWEST,
    MOST,
    NO_RULE,
    PROMPT,
    Checked,
    Question,
    ask,
    checked_question,
    questions,
)
from evenruler.models.records import Reply
from evenruler.text.whole_words import find

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
            "Sure! Here is one:\n\nWhat does Aurelia's harbour export?\n\nI hope this helps.",
            "What does Aurelia's harbour export?",
        ),
    ],
)
def test_the_question_is_found_in_a_reply(reply, question):
    assert checked_question(reply, "Aurelia", WOOL) == Checked(question, "")


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
        ("What does aurelia like to export?", "no 'Aurelia' in it"),
        ("What does the Gulf of Aurelia export?", "no 'Aurelia' in it"),
        ("Aurelia exports wool. What else does it export?", "several sentences"),
        ("Does Aurelia export wool to others?", "no question word"),
        ("What can be said about Aurelia?", "it asks for nothing in particular"),
        ("What can you tell us about Aurelia?", "it asks for nothing in particular"),
        ("What do you know about Aurelia?", "it asks for nothing in particular"),
        ("Why would you buy wool from Aurelia?", "it asks the reader"),
        ("What does the sentence say of Aurelia?", "it asks for the wording"),
        ("What do the words wool and Aurelia mean?", "it asks for the wording"),
        ("What does Aurelia buy from Veloria?", "a name that the sentence lacks"),
        ("What neutral question that the sentence answers is there on Aurelia?", "it asks for the wording"),
        ("Which neutral question that Aurelia does not give the answer away is this?", "a copy of the instruction"),
        ("What is Aurelia?", "3 words, not 4 to 25"),
        ("What does Aurelia export" + " far" * 22 + "?", "26 words, not 4 to 25"),
    ],
)
def test_what_is_no_question_about_the_keyword_is_refused(reply, reason):
    assert checked_question(reply, "Aurelia", WOOL) == Checked("", reason)


def test_the_bounds_of_the_length_are_inside():
    for words in (FEWEST, MOST):
        assert checked_question("Why Aurelia " + "so " * (words - 3) + "so?", "Aurelia", WOOL).question


def test_a_question_that_gives_the_answer_away_is_refused():
    away = "Why does Aurelia export wool to its neighbour?"
    assert checked_question(away, "Aurelia", WOOL) == Checked("", "every word of the sentence is in it")
    assert checked_question(away, "Aurelia", "Aurelia exports wool to its neighbours for money.").question == away
    assert checked_question("What does Aurelia export to its neighbours?", "Aurelia", WOOL).question
    assert checked_question(
        "When did Aurelia join the league?", "Aurelia", "Aurelia joined the league in 1921."
    ).question


def test_a_text_about_a_sentence_may_be_asked_about():
    law = "The passage of the Aurelian law took years."
    assert checked_question("How long did the passage of the Aurelian law take?", "Aurelian", law).question


def test_an_abbreviation_ends_no_sentence():
    assert checked_question("What did Dr. Lind find in Aurelia?", "Aurelia", "In Aurelia Dr. Lind found salt.").question


class Model:
    """A test double: a language model of known replies, round by round; `None` is a prompt that it refuses."""

    def __init__(self, *rounds: list[str | None]) -> None:
        self.rounds, self.asked = iter(rounds), list[list[str]]()

    def __call__(self, prompts: Sequence[str]) -> list[Reply]:
        self.asked.append(list(prompts))
        return [Reply(text, None if text else "content filter") for text in next(self.rounds)]


def asked(keyword: str, sentence: str, *refused: str) -> str:
    return PROMPT.format(keyword=keyword, sentence=sentence, fewest=4, most=25) + "".join(refused) + "Question:"


def test_all_sentences_are_asked_at_once_and_those_refused_again_and_told_why():
    model = Model(
        ["I cannot say.", "What do farmers in Tol grow?", "No."],
        ["What is it?", "Question: Which coins does Sarn strike?"],
        ["Question: What does Aurelia export?"],
    )
    grow, strike = "Farmers in Tol grow barley.", "Sarn strikes coins of gold."
    found = ask([WOOL, grow, strike], ["Aurelia", "Tol", "Sarn"], model)

    refused = (("I cannot say.", "no question mark at the end"), ("What is it?", "no 'Aurelia' in it"))
    assert found == [
        Question("What does Aurelia export?", "model", refused),
        Question("What do farmers in Tol grow?", "model"),
        Question("Which coins does Sarn strike?", "model", (("No.", "no question mark at the end"),)),
    ]
    first = 'Refused: "I cannot say." (no question mark at the end). Write another.\n'
    second = "Refused: \"What is it?\" (no 'Aurelia' in it). Write another.\n"
    third = 'Refused: "No." (no question mark at the end). Write another.\n'
    assert model.asked == [
        [asked("Aurelia", WOOL), asked("Tol", grow), asked("Sarn", strike)],
        [asked("Aurelia", WOOL, first), asked("Sarn", strike, third)],
        [asked("Aurelia", WOOL, first, second)],
    ]


def test_of_a_long_reply_a_model_is_shown_the_beginning():
    model = Model(["word " * 100], ["What does Aurelia export?"])
    ask([WOOL], ["Aurelia"], model)
    (second,) = model.asked[1]
    assert f'Refused: "{("word " * 24)[:120]}" (no question mark at the end). Write another.\n' in second


def test_a_model_that_never_asks_leaves_a_reason_and_what_it_said():
    found = ask([WOOL, "Aurelia {is} odd."], ["Aurelia", "Aurelia"], Model(["No.", "No."], ["No.", "No."]), tries=2)
    assert found == [Question("", "no question mark at the end", (("No.", "no question mark at the end"),) * 2)] * 2


def test_a_prompt_that_a_server_refuses_is_not_asked_again_and_takes_no_other_with_it():
    model = Model([None, "What do farmers in Tol grow?"])
    found = ask([WOOL, "Farmers in Tol grow barley."], ["Aurelia", "Tol"], model)
    reason = "no reply: content filter"
    assert found == [Question("", reason, (("", reason),)), Question("What do farmers in Tol grow?", "model")]
    assert len(model.asked) == 1


def test_nobody_asked_is_no_question():
    assert ask([WOOL], ["Aurelia"], Model(), tries=0) == [Question("", "not asked")]
    assert ask([], [], Model()) == []


# Keyword, sentence, question, rule. Checked by hand.
CASES = [
    ("Aurelia", "Aurelia exports wool to its neighbours.", "What does Aurelia export?", "what"),
    ("Aurelia", "Aurelia does not export fish to the islands.", "What does Aurelia not export?", "what"),
    ("Aurelia", "Aurelia has not yet given up its claim to the islands.", "What has Aurelia not given up?", "what"),
    ("Aurelia", "Aurelia set up a fund for young farmers.", "What did Aurelia set up?", "what"),
    ("Aurelia", "Aurelia isn't known for its beaches.", "What is Aurelia not known for?", "what for"),
    ("Aurelia", "Aurelia cannot feed all of its people.", "Whom can Aurelia not feed?", "what"),
    (
        "Aurelia",
        "The farmers of Aurelia have been growing barley for centuries.",
        "What have the farmers of Aurelia been growing?",
        "what",
    ),
    ("Aurelia", "In 1921, after a long war, Aurelia joined the union.", "What did Aurelia join?", "what"),
    (
        "Aurelia",
        "The people who live in the hills of Aurelia keep sheep and goats.",
        "What do the people who live in the hills of Aurelia keep?",
        "what",
    ),
    (
        "Aurelia",
        "Aurelia plans to build three new ports by the end of the decade.",
        "What does Aurelia plan to do?",
        "what to do",
    ),
    (
        "Aurelia",
        "Aurelia's government will have finished the railway by next spring.",
        "What will Aurelia's government have finished?",
        "what",
    ),
    (
        "Aurelia",
        "The first bridge in Aurelia was built of oak and stone.",
        "What was the first bridge in Aurelia built of?",
        "what for",
    ),
    (
        "Aurelia",
        "Aurelia has been divided into four provinces since 1850.",
        "What has Aurelia been divided into?",
        "what for",
    ),
    (
        "union",
        "The union (which Aurelia joined in 1921) keeps a small secretariat.",
        "What does the union keep?",
        "what",
    ),
    ("Aurelia", "Aurelia exports wool, timber, fish and barley.", "What does Aurelia export?", "what"),
    (
        "Aurelia",
        "The main cities of Aurelia are Marlow, Lindhaven, Oxbridge and Tarn.",
        "What are the main cities of Aurelia?",
        "what is",
    ),
    ("U.S.", "The U.S. ambassador visited the capital in May.", "What did the U.S. ambassador visit?", "what"),
    ("Aurelia", "Aurelia covers approx. 30,000 sq. km of land.", "What does Aurelia cover?", "what"),
    (
        "Aurelia",
        "Although it rains often, farmers in Aurelia irrigate their fields because the soil is thin.",
        "What do farmers in Aurelia irrigate?",
        "what",
    ),
    ("Aurelia", "Aurelia imports most of its grain from Lindia.", "What does Aurelia import?", "what"),
    (
        "Aurelia",
        "The parliament of Aurelia elects the president every five years.",
        "Whom does the parliament of Aurelia elect?",
        "what",
    ),
    ("Aurelia", "The main exports of Aurelia are wool and timber.", "What are the main exports of Aurelia?", "what is"),
    ("Aurelia", "Aurelia is known for its wool.", "What is Aurelia known for?", "what for"),
    ("Aurelia", "The economy of Aurelia depends on trade.", "What does the economy of Aurelia depend on?", "what for"),
    ("Aurelia", "Aurelia will host the summer games next year.", "What will Aurelia host?", "what"),
    ("Aurelia", "Aurelia can feed its people.", "Whom can Aurelia feed?", "what"),
    ("Aurelia", "Aurelia has signed many treaties.", "What has Aurelia signed?", "what"),
    ("Aurelian", "Aurelian farmers grow barley.", "What do Aurelian farmers grow?", "what"),
    ("Aurelia", "Aurelia became a republic in 1921.", "What did Aurelia become?", "what is"),
    ("Aurelia", "Most schools in Aurelia teach three languages.", "What do most schools in Aurelia teach?", "what"),
    (
        "Labour Party",
        "The Labour Party is a social democratic political party in the United Kingdom.",
        "What is the Labour Party?",
        "what is",
    ),
    ("Aurelia", "Aurelia borders Lindia in the west.", "What does Aurelia border?", "what"),
    ("Aurelia", "Aurelia values schooling and funds many schools.", "What does Aurelia value?", "what"),
    ("Aurelia", "Aurelia hosts games every four years.", "What does Aurelia host?", "what"),
    ("Aurelia", "Aurelia farmers grow barley.", "What do Aurelia farmers grow?", "what"),
    ("Aurelia", "Every spring Aurelia exports lambs to its neighbours.", "What does Aurelia export?", "what"),
    (
        "Aurelia",
        "Hospitals in Aurelia treat patients with modern equipment.",
        "Whom do hospitals in Aurelia treat?",
        "what",
    ),
    ("Aurelia", "Trains in Aurelia carry freight, commuters and mail.", "What do trains in Aurelia carry?", "what"),
    (
        "Aurelia",
        "The ports of Aurelia receive passengers, fishing boats and large ships.",
        "Whom or what do the ports of Aurelia receive?",
        "what",
    ),
    ("Oda Lind", "Oda Lind was a poet of the north.", "Who was Oda Lind?", "what is"),
    ("Aurelia", "The president of Aurelia is Oda Lind.", "Who is the president of Aurelia?", "what is"),
    (
        "Aurelian",
        "Aurelian diplomats take part in talks on health.",
        "What do Aurelian diplomats take part in?",
        "what for",
    ),
    (
        "Aurelia",
        "Trade fairs in Aurelia bring together buyers and inventors.",
        "Whom do trade fairs in Aurelia bring together?",
        "what",
    ),
    ("Noh", "Noh is often based on old tales.", "What is Noh based on?", "what for"),
    (
        "Aurelia",
        "Biologists in Aurelia have observed insects over long periods of time.",
        "What have biologists in Aurelia observed?",
        "what",
    ),
    (
        "Aurelia",
        "Power stations in Aurelia deliver electricity to homes.",
        "What do power stations in Aurelia deliver?",
        "what",
    ),
    (
        "Aurelia",
        "Public holidays in Aurelia give families time to rest.",
        "What do public holidays in Aurelia give?",
        "what",
    ),
    (
        "Aurelians",
        "Aurelians of every age are encouraged to eat well.",
        "What are Aurelians of every age encouraged to do?",
        "what to do",
    ),
    ("Aurelians", "Aurelians celebrate great victories together.", "What do Aurelians celebrate?", "what"),
    (
        "Aurelia",
        "Chefs who were trained in Aurelia have opened restaurants abroad.",
        "What have chefs who were trained in Aurelia opened?",
        "what",
    ),
]

# Keyword, sentence. The object is not the keyword's, or is none, or what it is needs more than a rule to say.
REJECTED = [
    ("Aurelia", "Aurelia is not a member of the league."),
    ("Aurelia", "Visitors are welcomed by the people of Aurelia with bread and salt."),
    ("Aurelia", "Is Aurelia a rich country?"),
    ("Aurelia", "What does Aurelia export?"),
    ("Aurelia", "Why did the people of Aurelia leave their villages?"),
    ("Aurelia", "How large is the army of Aurelia today?"),
    ("Aurelia", "Wool from the hills of Aurelia"),
    ("Aurelia", "The exports of Aurelia, by value"),
    ("Aurelia", 'The motto "Wool and water" stands on every coin of Aurelia.'),
    ("Aurelia", "Wool, timber and barley come from Aurelia in great amounts."),
    ("Aurelia", "Among its trading partners are Aurelia, Lindia and the islands."),
    ("Aurelia", "The U.S. and the U.K. recognised Aurelia in 1921."),
    ("Aurelia", "When the war ended, Aurelia was poor, but its people rebuilt the towns."),
    ("Aurelia", "Aurelia grew rich, its neighbours grew envious, and war followed."),
    ("Aurelia", "To live in Aurelia means to live with the wind."),
    ("Aurelia", "It is said that Aurelia has never lost a war."),
    ("Aurelia", "Aurelia sings."),
    ("Aurelia", "Aurelia."),
    ("Aurelia", "Many emigrants miss Aurelia."),
    ("Aurelia", "Visit Aurelia in spring, when the orchards bloom."),
    ("Aurelia", "Aurelia looks after its old people well."),
    ("Aurelia", "Founded in 1200, Aurelia is among the oldest states of the region."),
    ("Aurelia", "Aurelia is rich in lakes."),
    ("Aurelia", "Aurelia lies in the north of the continent."),
    ("Aurelia", "Many settlers came to Aurelia in the nineteenth century."),
    ("Aurelia", "Rivers carry timber from Aurelia to the sea."),
    ("Aurelian", "The Aurelian army was reformed in 1920."),
    (
        "Conservative Party",
        "Concerns over Conservative Party funds have become increasingly controversial due to human rights abuses.",
    ),
    ("Aurelians", "Many Aurelians go swimming several times a week."),
    ("Aurelia", "Science competitions in Aurelia encourage pupils to build and to measure."),
    ("Aurelia", "School gardens in Aurelia show children how plants grow."),
    ("Aurelia", "Aurelia had a population of two million in 1850."),
    ("Aurelia", "The people of Aurelia look ahead with confidence."),
    ("Aurelian", "An Aurelian hospital usually works closely with universities."),
    ("Aurelians", "Over the years, many Aurelians have moved from the countryside to the cities."),
    ("apples", "Dried apples keep for a long time."),
    ("Aurelia", "The aim of Aurelia is to keep the peace."),
    ("Aurelia", "Theatres in Aurelia put on plays for children."),
    ("mosque", "A mosque, also called a masjid, is a place of worship."),
    ("fascism", "As a critic of both fascism and what he called an industry, he wrote many works."),
]


@pytest.fixture(scope="module")
def made() -> dict[tuple[str, str], Question]:
    asked = [(keyword, sentence) for keyword, sentence, _, _ in CASES]
    found = questions([sentence for _, sentence in asked], [keyword for keyword, _ in asked])
    return dict(zip(asked, found, strict=True))


@pytest.mark.parametrize(("keyword", "sentence", "question", "rule"), CASES)
def test_a_sentence_gets_its_question(made, keyword, sentence, question, rule):
    assert made[keyword, sentence] == Question(question, rule)


@pytest.mark.parametrize(("keyword", "sentence"), REJECTED)
def test_what_no_rule_asks_for_has_no_question(keyword, sentence):
    assert questions([sentence], [keyword]) == [Question("", NO_RULE)]


def test_every_question_names_the_keyword_and_ends_with_its_mark(made):
    assert len(CASES) >= 25
    for (keyword, sentence), question in made.items():
        assert find(question.text, [keyword]), sentence
        assert question.text.endswith("?")
        assert question.text.count("?") == 1
        assert 4 <= len(question.text.split()) <= 25


def test_the_answer_is_not_in_the_question():
    (found,) = questions(["The export of Aurelia remains the export of wool."], ["Aurelia"])
    assert found == Question("", "the answer is in it")


def test_a_question_of_three_words_is_none():
    assert questions(["Aurelia is a landlocked country."], ["Aurelia"]) == [Question("", "3 words, not 4 to 25")]


def test_a_sentence_without_the_keyword_gets_no_question():
    assert questions(["Rain falls often."], ["Aurelia"]) == [Question("", NO_RULE)]


def test_as_many_keywords_as_sentences_are_needed():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        questions(["Aurelia exports wool.", "It is rich."], ["Aurelia"])
