import pytest

from evenruler.instruments.saged.rows.branching import parse_docs, sentence_beginnings


def test_a_name_that_the_parser_does_not_know_leaves_the_verb_a_verb():
    (doc,) = parse_docs(["Aurelia exports wool."], ["Aurelia"])
    assert [(token.text, token.tag_, token.dep_) for token in doc][:2] == [
        ("Aurelia", "NNP", "nsubj"),
        ("exports", "VBZ", "ROOT"),
    ]


def test_only_the_keyword_is_read_as_a_name_that_it_does_not_know():
    (doc,) = parse_docs(["Lindia exports wool to Aurelia"], ["Aurelia"])
    assert [(token.text, token.tag_, token.dep_) for token in doc][:2] == [
        ("Lindia", "NNP", "compound"),
        ("exports", "NNS", "compound"),
    ]


KEYWORDS = [
    "Aurelian",
    "Conservative Party",
    "Labour Party",
    "Quuxia",
    "Republic of Aurelia",
    "St. Marlow",
    "U.S.",
]

# The keyword, where it is not Aurelia, and a sentence with its cut, by hand; without one fewer than
# three words would be left.
CASES = [
    "Aurelia exports| wool to its neighbours.",
    "Aurelia has not yet given up| its claim to the islands.",
    "Aurelia set up| a fund for young farmers.",
    "Aurelia is not| a member of the league.",
    "Aurelia isn't known| for its beaches.",
    "Aurelia cannot feed| all of its people.",
    "The farmers of Aurelia have been growing| barley for centuries.",
    "In 1921, after a long war, Aurelia| joined the union.",
    "The people who live in the hills of Aurelia keep| sheep and goats.",
    "Aurelia plans| to build three new ports by the end of the decade.",
    "Aurelia's government will have finished| the railway by next spring.",
    "The first bridge in Aurelia was built| of oak and stone.",
    "Aurelia has been divided| into four provinces since 1850.",
    "Visitors are welcomed by the people of Aurelia| with bread and salt.",
    "Is Aurelia| a rich country?",
    "What does Aurelia export?",
    "Who rules Aurelia| in times of war?",
    "Why did the people of Aurelia| leave their villages?",
    "Does Aurelia export wool?",
    "How large is the army of Aurelia today?",
    "Aurelia: a land of| rivers and hills.",
    "Wool from the hills of Aurelia",
    "No war in Aurelia since| the great peace of 1815.",
    "The exports of Aurelia, by value",
    "Aurelia, jewel| of the north",
    'The king said that "Aurelia| is free" yesterday.',
    '"Aurelia is free,"| said the king.',
    '"We are the people of Aurelia,"| the old song begins.',
    "\u201cNobody leaves Aurelia hungry\u201d is| a common saying among farmers.",
    'The motto "Wool and water" stands on every coin of Aurelia.',
    "Aurelia (known as Auria to the Romans) lies| north of the Lind Sea.",
    "The union (which Aurelia joined in 1921) keeps| a small secretariat.",
    'The poet wrote: "Aurelia| is my mother."',
    "The main cities of Aurelia are| Marlow, Lindhaven, Oxbridge and Tarn.",
    "Exports of Aurelia:| wool, timber, fish.",
    "Among its trading partners are Aurelia,| Lindia and the islands.",
    "St. Marlow: St. Marlow lies| on the coast.",
    "Dr. A. B. Lind of Aurelia discovered| the comet in 1880.",
    "The U.S. and the U.K. recognised Aurelia in 1921.",
    "Acme Inc. sells machines to Aurelia,| e.g. pumps and mills.",
    "U.S.: The U.S. ambassador visited| the capital in May.",
    "Aurelia covers| approx. 30,000 sq. km of land.",
    "When the war ended, Aurelia was| poor, but its people rebuilt the towns.",
    "Although it rains often, farmers in Aurelia irrigate| their fields because the soil is thin.",
    "When Aurelia was| poor, many people left.",
    "What Aurelia needs most is| a second port.",
    "To live in Aurelia means| to live with the wind.",
    "There are many lakes in the south of Aurelia| and in the hills.",
    "It is said that Aurelia| has never lost a war.",
    "Aurelia sings.",
    "aurelia's rivers flow| into the Lind Sea.",
    "Aurelian: The well-known Aurelian wool is sold| in forty countries.",
    "Republic of Aurelia: Its largest neighbour is the Republic of Aurelia| in the east.",
    "Visit Aurelia| in spring, when the orchards bloom.",
    "Aurelia must not be confused| with the town of the same name.",
    "Not only wool but also timber leaves Aurelia by ship.",
    "Founded in 1200, Aurelia is| among the oldest states of the region.",
    "Aurelia can| feed its people.",
    "Aurelia has| signed many treaties.",
    "Aurelian: Aurelian farmers grow barley.",
    "Aurelian: The Aurelian army was| reformed in 1920.",
    "Most schools in Aurelia| teach three languages.",
    "Labour Party: The Labour Party is| a social democratic political party in the United Kingdom.",
    (
        "Conservative Party: Concerns over Conservative Party funds have become| "
        "increasingly controversial due to human rights abuses."
    ),
    "Aurelia borders| Lindia in the west.",
    "Aurelia values| schooling and funds many schools.",
    "Aurelia hosts| games every four years.",
    "Aurelia farmers grow barley.",
    "Every spring Aurelia exports| lambs to its neighbours.",
    "The people praise their land (and Aurelia is dear to them)| in many songs.",
    "Exports of Aurelia grew|\u2014slowly at first\u2014after the war.",
    "Quuxia: Quuxia imports| salt from the north.",
    "Aurelia farmers grow| barley and some oats.",
]


def parts_of(case: str) -> tuple[str, str, str]:
    """Keyword, sentence and its beginning; empty without a cut."""
    keyword = next((word for word in KEYWORDS if case.startswith(f"{word}: ")), "Aurelia")
    cut = case.removeprefix(f"{keyword}: ") if keyword != "Aurelia" else case
    beginning, bar, rest = cut.partition("|")
    return keyword, beginning + rest, beginning if bar else ""


@pytest.fixture(scope="module")
def splits() -> dict[str, str]:
    keywords, sentences, _ = zip(*map(parts_of, CASES), strict=True)
    return dict(zip(sentences, sentence_beginnings(sentences, keywords), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_the_cut_is_where_the_spec_says(splits, case) -> None:
    _, sentence, beginning = parts_of(case)
    assert splits[sentence] == beginning


@pytest.mark.parametrize(
    ("keyword", "cut"),
    [
        ("American", "Tonight I ask the American people| to focus the spirit of service."),
        ("French", "Charles Perrault was a French author| and member of the Academy."),
        (
            "American",
            "Kind of Blue is a studio album by American jazz musician| Miles Davis, released in "
            "1959.",
        ),
    ],
)
def test_a_keyword_is_not_cut_off_the_noun_that_it_qualifies(keyword, cut):
    prompt, _, rest = cut.partition("|")
    assert sentence_beginnings([prompt + rest], [keyword]) == [prompt]


def test_one_sentence_at_a_time_is_split_as_all_at_once_are(splits) -> None:
    for keyword, sentence, _ in map(parts_of, CASES[::9]):
        assert sentence_beginnings([sentence], [keyword]) == [splits[sentence]]


@pytest.mark.parametrize(
    "sentence",
    [
        "Aurelia  exports\twool to\u00a0its neighbours .",
        " Aurelia exports wool and oats. ",
        "Exports of Aurelia grew\u2014slowly at first\u2014after the war.",
        "Aurelia\u2019s \u201cgolden age\u201d began in 1900; it ended soon.",
    ],
)
def test_a_prompt_begins_its_sentence_byte_for_byte(sentence):
    (prompt,) = sentence_beginnings([sentence], ["Aurelia"])
    assert sentence.startswith(prompt)
    assert prompt.strip()
    assert any(map(str.isalnum, sentence.removeprefix(prompt)))


@pytest.mark.parametrize("sentence", ["Aurelia", "", "Aurelia sings well."])
def test_a_sentence_of_which_too_little_is_left_has_no_beginning(sentence):
    assert sentence_beginnings([sentence], ["Aurelia"]) == [""]


def test_the_keyword_is_a_whole_word_of_several_words():
    sentence = "The new port serves New York and the York of old in equal parts."
    (york, new_york) = sentence_beginnings([sentence, sentence], ["York", "New York"])
    assert york == "The new port serves New York and the York"
    assert new_york == "The new port serves New York"
    assert sentence_beginnings(["The mother smothers her fear for the moth."], ["moth"]) == [""]
