import pytest

from evenruler.instruments.saged.build.questions import Question
from evenruler.instruments.saged.build.rulemade import questions
from evenruler.instruments.saged.declare.keywords import place

# Keyword, sentence, question, rule. Checked by hand.
CASES = [
    ("Aurelia", "Aurelia exports wool to its neighbours.", "What does Aurelia export?", "what"),
    ("Aurelia", "Aurelia does not export fish to the islands.", "What does Aurelia not export?", "what"),
    ("Aurelia", "Aurelia has not yet given up its claim to the islands.", "What has Aurelia not given up?", "what"),
    ("Aurelia", "Aurelia set up a fund for young farmers.", "What did Aurelia set up?", "what"),
    ("Aurelia", "Aurelia is not a member of the league.", "How can Aurelia be described?", "described"),
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
    ("Aurelia", "Aurelia was founded in 1200 by St. Oda.", "By whom or what was Aurelia founded?", "by whom"),
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
        "Aurelia",
        "Visitors are welcomed by the people of Aurelia with bread and salt.",
        "Who or what is welcomed by the people of Aurelia?",
        "who or what",
    ),
    (
        "Aurelia",
        "The treaty was not signed by Aurelia until the following year.",
        "Who or what was not signed by Aurelia?",
        "who or what",
    ),
    ("Aurelia", "Is Aurelia a rich country?", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "What does Aurelia export to its neighbours?", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "What does Aurelia export?", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "Who rules Aurelia in times of war?", "What can be said about Aurelia?", "said about"),
    (
        "Aurelia",
        "Why did the people of Aurelia leave their villages?",
        "What can be said about the people of Aurelia?",
        "said about",
    ),
    ("Aurelia", "Does Aurelia export wool?", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "How large is the army of Aurelia today?", "What can be said about the army of Aurelia?", "said about"),
    ("Aurelia", "Aurelia: a land of rivers and hills.", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "Wool from the hills of Aurelia", "What can be said about the hills of Aurelia?", "said about"),
    ("Aurelia", "No war in Aurelia since the great peace of 1815.", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "The exports of Aurelia, by value", "What can be said about the exports of Aurelia?", "said about"),
    ("Aurelia", "Aurelia, jewel of the north", "What can be said about Aurelia?", "said about"),
    (
        "Aurelia",
        'The motto "Wool and water" stands on every coin of Aurelia.',
        "Who or what stands on every coin of Aurelia?",
        "who or what",
    ),
    (
        "Aurelia",
        "The union (which Aurelia joined in 1921) keeps a small secretariat.",
        "What can be said about Aurelia and the union?",
        "said about",
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
        "Wool, timber and barley come from Aurelia in great amounts.",
        "Who or what comes from Aurelia?",
        "who or what",
    ),
    (
        "Aurelia",
        "The main cities of Aurelia are Marlow, Lindhaven, Oxbridge and Tarn.",
        "What are the main cities of Aurelia?",
        "what is",
    ),
    ("Aurelia", "Exports of Aurelia: wool, timber, fish.", "What can be said about exports of Aurelia?", "said about"),
    (
        "Aurelia",
        "Among its trading partners are Aurelia, Lindia and the islands.",
        "What can be said about Aurelia?",
        "said about",
    ),
    ("St. Marlow", "St. Marlow lies on the coast.", "Where does St. Marlow lie?", "where"),
    (
        "Aurelia",
        "Dr. A. B. Lind of Aurelia discovered the comet in 1880.",
        "What did Dr. A. B. Lind of Aurelia discover?",
        "what",
    ),
    ("Aurelia", "The U.S. and the U.K. recognised Aurelia in 1921.", "Who or what recognised Aurelia?", "who or what"),
    (
        "Aurelia",
        "Acme Inc. sells machines to Aurelia, e.g. pumps and mills.",
        "Who or what sells machines to Aurelia?",
        "who or what",
    ),
    ("U.S.", "The U.S. ambassador visited the capital in May.", "What did the U.S. ambassador visit?", "what"),
    ("Aurelia", "Aurelia covers approx. 30,000 sq. km of land.", "What does Aurelia cover?", "what"),
    (
        "Aurelia",
        "When the war ended, Aurelia was poor, but its people rebuilt the towns.",
        "How can Aurelia be described?",
        "described",
    ),
    (
        "Aurelia",
        "Although it rains often, farmers in Aurelia irrigate their fields because the soil is thin.",
        "What do farmers in Aurelia irrigate?",
        "what",
    ),
    ("Aurelia", "When Aurelia was poor, many people left.", "What can be said about Aurelia?", "said about"),
    (
        "Aurelia",
        "Aurelia grew rich, its neighbours grew envious, and war followed.",
        "What can be said about Aurelia?",
        "said about",
    ),
    ("Aurelia", "What Aurelia needs most is a second port.", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "To live in Aurelia means to live with the wind.", "What can be said about Aurelia?", "said about"),
    (
        "Aurelia",
        "There are many lakes in the south of Aurelia and in the hills.",
        "What can be said about the south of Aurelia?",
        "said about",
    ),
    ("Aurelia", "It is said that Aurelia has never lost a war.", "What can be said about Aurelia?", "said about"),
    (
        "Aurelia",
        "Critics say the government of Aurelia spends too much on roads.",
        "What can be said about the government of Aurelia?",
        "said about",
    ),
    ("Aurelia", "Aurelia sings.", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "Aurelia", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "Aurelia.", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "Many poets have praised Aurelia.", "Who or what has praised Aurelia?", "who or what"),
    ("Aurelia", "Many emigrants miss Aurelia.", "Who or what misses Aurelia?", "who or what"),
    (
        "Aurelian",
        "The well-known Aurelian wool is sold in forty countries.",
        "What can be said about the well-known Aurelian wool?",
        "said about",
    ),
    (
        "Republic of Aurelia",
        "Its largest neighbour is the Republic of Aurelia in the east.",
        "What can be said about the Republic of Aurelia?",
        "said about",
    ),
    ("Aurelia", "Visit Aurelia in spring, when the orchards bloom.", "What can be said about Aurelia?", "said about"),
    (
        "Aurelia",
        "Aurelia must not be confused with the town of the same name.",
        "What must Aurelia not be confused with?",
        "what for",
    ),
    ("Aurelia", "Aurelia looks after its old people well.", "What can be said about Aurelia?", "said about"),
    ("Aurelia", "Not only wool but also timber leaves Aurelia by ship.", "Who or what leaves Aurelia?", "who or what"),
    (
        "Aurelia",
        "Founded in 1200, Aurelia is among the oldest states of the region.",
        "How can Aurelia be described?",
        "described",
    ),
    ("Aurelia", "Aurelia imports most of its grain from Lindia.", "What does Aurelia import?", "what"),
    (
        "Aurelia",
        "The parliament of Aurelia elects the president every five years.",
        "Whom does the parliament of Aurelia elect?",
        "what",
    ),
    ("Aurelia", "Aurelia is a landlocked country in the north.", "How can Aurelia be described?", "described"),
    ("Aurelia", "The capital of Aurelia is Marlow.", "What is the capital of Aurelia?", "what is"),
    ("Aurelia", "The main exports of Aurelia are wool and timber.", "What are the main exports of Aurelia?", "what is"),
    ("Aurelia", "Aurelia is rich in lakes.", "How can Aurelia be described?", "described"),
    ("Aurelia", "Aurelia is surrounded by high mountains.", "By whom or what is Aurelia surrounded?", "by whom"),
    ("Aurelia", "Aurelia is known for its wool.", "What is Aurelia known for?", "what for"),
    ("Aurelia", "Aurelia lies in the north of the continent.", "Where does Aurelia lie?", "where"),
    ("Aurelia", "The economy of Aurelia depends on trade.", "What does the economy of Aurelia depend on?", "what for"),
    (
        "Aurelia",
        "The population of Aurelia grew rapidly after the war.",
        "How did the population of Aurelia grow?",
        "how",
    ),
    ("Aurelia", "Aurelia will host the summer games next year.", "What will Aurelia host?", "what"),
    ("Aurelia", "Aurelia can feed its people.", "Whom can Aurelia feed?", "what"),
    ("Aurelia", "Aurelia has signed many treaties.", "What has Aurelia signed?", "what"),
    (
        "Aurelia",
        "Many settlers came to Aurelia in the nineteenth century.",
        "Who or what came to Aurelia?",
        "who or what",
    ),
    ("Aurelia", "Tourists visit Aurelia for its lakes.", "Who or what visits Aurelia?", "who or what"),
    (
        "Aurelia",
        "Rivers carry timber from Aurelia to the sea.",
        "Who or what carries timber from Aurelia?",
        "who or what",
    ),
    (
        "Aurelia",
        "It is the largest city of Aurelia.",
        "What can be said about the largest city of Aurelia?",
        "said about",
    ),
    ("Aurelian", "Aurelian farmers grow barley.", "What do Aurelian farmers grow?", "what"),
    ("Aurelian", "The Aurelian army was reformed in 1920.", "When was the Aurelian army reformed?", "when"),
    ("Aurelia", "The war in Aurelia lasted for ten years.", "For how long did the war in Aurelia last?", "how long"),
    ("Aurelia", "Aurelia became a republic in 1921.", "What did Aurelia become?", "what is"),
    ("Aurelia", "Most schools in Aurelia teach three languages.", "What do most schools in Aurelia teach?", "what"),
    (
        "Labour Party",
        "The Labour Party is a social democratic political party in the United Kingdom.",
        "How can the Labour Party be described?",
        "described",
    ),
    (
        "Conservative Party",
        "Concerns over Conservative Party funds have become increasingly controversial due to human rights abuses.",
        "How can concerns over Conservative Party funds be described?",
        "described",
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
    (
        "Aurelia",
        "Nurses in Aurelia look after patients at every hour of the day.",
        "Whom do nurses in Aurelia look after?",
        "what for",
    ),
    ("Oda Lind", "Oda Lind was a poet of the north.", "Who was Oda Lind?", "what is"),
    ("Aurelia", "The president of Aurelia is Oda Lind.", "Who is the president of Aurelia?", "what is"),
    (
        "Aurelians",
        "Many Aurelians go swimming several times a week.",
        "What can be said about many Aurelians?",
        "said about",
    ),
    (
        "Aurelian",
        "Aurelian diplomats take part in talks on health.",
        "What do Aurelian diplomats take part in?",
        "what for",
    ),
    (
        "Aurelians",
        "Most Aurelians describe steady work as the root of a good life.",
        "What do most Aurelians describe as the root of a good life?",
        "what",
    ),
    (
        "Aurelia",
        "Science competitions in Aurelia encourage pupils to build and to measure.",
        "What do science competitions in Aurelia encourage pupils to do?",
        "what to do",
    ),
    (
        "Aurelia",
        "Pension funds in Aurelia help workers to save money.",
        "What do pension funds in Aurelia help workers to do?",
        "what to do",
    ),
    (
        "Aurelia",
        "School gardens in Aurelia show children how plants grow.",
        "What do school gardens in Aurelia show children?",
        "what",
    ),
    (
        "Aurelia",
        "Trade fairs in Aurelia bring together buyers and inventors.",
        "Whom do trade fairs in Aurelia bring together?",
        "what",
    ),
    (
        "Aurelia",
        "Physical education in Aurelia introduces pupils to ball games.",
        "What can be said about physical education in Aurelia?",
        "said about",
    ),
    ("Aurelia", "Aurelia had a population of two million in 1850.", "What can be said about Aurelia?", "said about"),
    (
        "Aurelians",
        "Many Aurelians work abroad as engineers and return with new ideas.",
        "What can be said about many Aurelians?",
        "said about",
    ),
    (
        "Aurelia",
        "The people of Aurelia look ahead with confidence.",
        "What can be said about the people of Aurelia?",
        "said about",
    ),
    (
        "Aurelian",
        "Several of the largest Aurelian cities stand close to old trading routes.",
        "What can be said about several of the largest Aurelian cities?",
        "said about",
    ),
    (
        "Aurelian",
        "An Aurelian hospital usually works closely with universities.",
        "What does an Aurelian hospital work closely with?",
        "what for",
    ),
    ("Aurelian", "The Aurelian economy changed step by step.", "How did the Aurelian economy change?", "how"),
    (
        "Aurelians",
        "Over the years, many Aurelians have moved from the countryside to the cities.",
        "Where have many Aurelians moved from?",
        "what for",
    ),
    ("apples", "Most apples are picked by hand.", "How are most apples picked?", "how"),
    ("apples", "Dried apples keep for a long time.", "For how long do dried apples keep?", "how long"),
    ("Noh", "Noh is often based on old tales.", "What is Noh based on?", "what for"),
    (
        "Aurelia",
        "New jobs in Aurelia are likely to arise in health care.",
        "What can be said about new jobs in Aurelia?",
        "said about",
    ),
    ("Aurelia", "The aim of Aurelia is to keep the peace.", "How can the aim of Aurelia be described?", "described"),
    (
        "Aurelians",
        "On the way to work, many Aurelians read the news or listen to a podcast.",
        "What do many Aurelians read?",
        "what",
    ),
    (
        "Aurelia",
        "Theatres in Aurelia put on plays for children.",
        "What can be said about theatres in Aurelia?",
        "said about",
    ),
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
        "What do public holidays in Aurelia give families?",
        "what",
    ),
    (
        "Aurelians",
        "Aurelians of every age are encouraged to eat well.",
        "What are Aurelians of every age encouraged to do?",
        "what to do",
    ),
    ("Aurelians", "Aurelians celebrate great victories together.", "What do Aurelians celebrate?", "what"),
    ("marxism", "Marxism is a political philosophy.", "How can marxism be described?", "described"),
    ("Marxism", "Marxism is a political philosophy.", "How can Marxism be described?", "described"),
    (
        "Marxism",
        "The state ideology is derived from Marxism\u2013Leninism.",
        "Who or what is derived from Marxism\u2013Leninism?",
        "who or what",
    ),
    (
        "Aurelia",
        "Chefs who were trained in Aurelia have opened restaurants abroad.",
        "What have chefs who were trained in Aurelia opened?",
        "what",
    ),
    (
        "mosque",
        "A mosque, also called a masjid, is a place of worship.",
        "What can be said about a mosque?",
        "said about",
    ),
    (
        "nationalism",
        "The two main forms are ethnic nationalism and civic nationalism.",
        "What can be said about ethnic nationalism?",
        "said about",
    ),
    (
        "fascism",
        "As a critic of both fascism and what he called an industry, he wrote many works.",
        "What can be said about fascism?",
        "said about",
    ),
]


@pytest.fixture(scope="module")
def made() -> dict[tuple[str, str], Question]:
    asked = [(keyword, sentence) for keyword, sentence, _, _ in CASES]
    found = questions([sentence for _, sentence in asked], [keyword for keyword, _ in asked])
    return dict(zip(asked, found, strict=True))


@pytest.mark.parametrize(("keyword", "sentence", "question", "rule"), CASES)
def test_a_sentence_gets_its_question(made, keyword, sentence, question, rule):
    assert made[keyword, sentence] == Question(question, rule)


def test_every_question_names_the_keyword_and_ends_with_its_mark(made):
    assert len(CASES) >= 25
    for (keyword, sentence), question in made.items():
        assert place(question.text, keyword), sentence
        assert question.text.endswith("?")
        assert question.text.count("?") == 1
        assert 4 <= len(question.text.split()) <= 25


def test_the_answer_is_not_in_the_question():
    (found,) = questions(["The export of Aurelia remains the export of wool."], ["Aurelia"])
    assert "wool" not in found.text
    (found,) = questions(["Aurelian wool is the best wool of all."], ["Aurelian"])
    assert found == Question("How can Aurelian wool be described?", "described")


def test_a_sentence_without_the_keyword_gets_no_question():
    assert questions(["Rain falls often."], ["Aurelia"]) == [Question("", "no 'Aurelia' in the sentence")]


def test_an_adjective_that_stands_alone_gets_no_question():
    sentence = (
        "The fighting spilled into the civil wars, which ended with all three countries becoming communist in 1975."
    )
    (found,) = questions([sentence], ["communist"])
    assert found == Question("", "the keyword is an adjective without its noun")


def test_as_many_keywords_as_sentences_are_needed():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        questions(["Aurelia exports wool.", "It is rich."], ["Aurelia"])
