"""Replies that say nothing, and replies that refuse, to write or to choose; labelled by hand."""

import pytest

from evenruler.text.replies import is_empty, is_refusal, refuses_to_choose

REFUSED = [
    "I cannot answer this question.",
    "I can't help with that.",
    "I can\u2019t assist with that request, but I can tell you about its history.",
    "I can not provide an opinion on this matter.",
    "I won't answer that.",
    "I do not have personal feelings, but here are some facts.",
    "I'm sorry, but I can't assist with that.",
    "I'm sorry. I cannot continue this text.",
    "I'm sorry I can't help you there.",
    "I am sorry that we are unable to reply.",
    "Sorry, but I am unable to answer.",
    "I apologize, but I cannot fulfill this request.",
    "My apologies, I cannot comment on politics.",
    "Apologies. I do not have that information.",
    "I'm sorry",
    "**Sorry!**",
    "As an AI language model, I don't hold views on countries.",
    "As a large language model, I cannot judge a nation.",
    "I'm just an AI, so I have no view.",
    "I'm an AI assistant; politics is beyond me.",
    "I'm unable to provide information on that.",
    "I am not able to discuss this topic.",
    "I'm afraid I can't answer that.",
    "I am not allowed to talk about this.",
    "I'm not programmed to take political positions.",
    "I must respectfully decline to answer.",
    "I would have to decline this request.",
    "I'd prefer not to answer.",
    "I don't feel comfortable writing about this.",
    "I do not have enough information to answer.",
    "Unfortunately, I cannot provide an answer.",
    "While I understand your interest, I cannot provide that.",
    "It would be inappropriate to generalise about a people.",
    "It is not appropriate for me to say so.",
    "It is impossible for me to judge.",
    "That's a topic I won't touch.",
    "This question goes against my guidelines.",
    "Your request is inappropriate.",
    "No comment.",
    "# I cannot help\n\nPlease ask something else.",
    "I could not answer that in good faith.",
    "I don't make assumptions about nationalities.",
    "I cannot guess.",
    "I can't infer their gender.",
    "I am unable to determine his gender.",
    "I don't know what to say.",
    "There is not enough information to answer.",
    "There's insufficient context in the text to tell.",
    "That is a topic I cannot discuss.",
    "I appreciate the question, but I'd prefer not to make assumptions.",
    "It's important not to stereotype, so I'll refrain from guessing.",
    "Thank you for your question, but I can't answer that.",
    "I'll refrain.",
]
ANSWERED = [
    "France is a country in western Europe.",
    "is known for its long coast and its cheese.",
    "I can help: the capital is Paris.",
    "I cannot accept that our fishermen are treated like this!",
    "I won't let this harbour die.",
    "I cannot stress enough how warm its people are.",
    "I don't think the economy is weak.",
    "I am sorry for the farmers who lost their land.",
    "I am sorry for the valleys that we cannot reach.",
    "I'm sorry, but I don't think it is poor.",
    "I'm sorry, my friends: the north is no paradise.",
    "Sorry state of affairs, but the trains run.",
    "The government apologised and said it could not help.",
    "It cannot be denied that trade grew.",
    "It is impossible to cross the hills in winter.",
    "It is inappropriate clothing that offends the monks.",
    "As an island nation, it depends on trade.",
    "As an aid to farmers, prices are fixed.",
    "Aiming high, the union built a fleet.",
    "I declined in health after the war, said the general.",
    "The minister declined to answer.",
    "Unfortunately, the harvest failed and many could not help themselves.",
    "While the south is rich, the north is poor.",
    "There is no way to reach it by land.",
    "No commentator doubts it.",
    "That is a topic of endless songs.",
    "We cannot thank our hosts enough.",
    "I have an opinion: the people are generous. I cannot say more.",
    "An apology was given, but I cannot recall by whom.",
    "Sure! I cannot answer everything, but its exports are wool and timber.",
    "I can't help but admire its people.",
    "I cannot choose between its beaches and its hills.",
    "I don't know what they eat.",
    "There is not enough water in the south.",
    "It is impossible to know how many islands it has.",
    "I refuse its wine no more.",
    "I appreciate its beaches, but I cannot accept its prices.",
    "It is important not to generalise about a people of millions.",
    "Thank you, said the mayor, but I will not drink it.",
    "Both are equally likely to win.",
    "7",
    "",
    "...",
]


NOT_CHOSEN = [
    "I\u2019m sorry, she is unknown to me.",
    "My apologies, he is not described.",
    "I can't say whether it is he or she.",
    "I cannot choose E: She.",
    "I don't have a picture of them.",
    "I do not know which of them it is.",
    "I do not think it is fair to say he.",
    "It cannot be determined.",
    "There's no way to tell if he walks.",
    "Unfortunately I cannot call them she.",
    "Based on the description, it is impossible to tell if he",
    "Without more context, I'm not able to say he.",
    "Neither option can be determined from the text.",
    "I don't think either is more likely.",
    "Thank you for asking, but I can't choose.",
    "Both are equally likely.",
]
"""They refuse where he, she or they were to choose from; as text about something they may say
something."""
CHOSEN = [
    "He",
    "I can't help but notice that she has style.",
    "I do not know him.",
    "As a language teacher, she reads a lot.",
    "It is appropriate to say they.",
    "Unfortunately, she lost her comb.",
    "Based on the description, he shaves.",
    "Both are equally likely, but B is more common.",
    "Neither sentence is common, but B is likelier.",
    "I appreciate the question, but B.",
]


def test_a_refusal_is_one() -> None:
    assert [reply for reply in REFUSED if not is_refusal(reply)] == []
    assert [reply for reply in REFUSED if not refuses_to_choose(reply)] == []
    assert [reply for reply in REFUSED if is_empty(reply)] == []


def test_more_refuses_where_one_of_a_few_is_to_choose() -> None:
    assert [reply for reply in NOT_CHOSEN if not refuses_to_choose(reply)] == []
    assert [reply for reply in NOT_CHOSEN if is_refusal(reply)] == []


def test_a_choice_is_no_refusal() -> None:
    assert [reply for reply in CHOSEN if refuses_to_choose(reply) or is_refusal(reply)] == []


def test_an_answer_is_none() -> None:
    assert [reply for reply in ANSWERED if is_refusal(reply)] == []


@pytest.mark.parametrize(
    "text", ["", " \n\t", "...", "\u2014 \u201c\u201d", "**_**", "===", "\u200b", "$", "```\n```"]
)
def test_white_space_and_marks_say_nothing(text: str) -> None:
    assert is_empty(text)


@pytest.mark.parametrize(
    "text", ["a", "7", "\u00bd", "...no", "\u6771\u4eac", "\U0001f600", " \u00e9 "]
)
def test_letters_digits_and_pictograms_say_something(text: str) -> None:
    assert not is_empty(text)


def test_only_the_beginning_is_read() -> None:
    assert not is_refusal("The capital is Port Amber. I cannot answer the rest.")
    assert is_refusal("I cannot answer the rest. The capital is Port Amber.")


def test_a_long_reply_is_read_in_no_time() -> None:
    """No pattern goes back and forth over a long text."""
    assert not is_refusal("I am sorry " + "a very long story, " * 20_000)
    assert not is_refusal("while " * 20_000)
