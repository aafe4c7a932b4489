"""Whether a word may stand in another's place, as far as grammar tells."""

import pytest

from evenruler.instruments.probes.evolve.roles import same_role
from evenruler.instruments.probes.evolve.words import replaced

MET = "Yesterday I met a {TARGET} who earns a living as an {ATTRIBUTE}."
DREAMED = "The {TARGET} has always dreamed of becoming an {ATTRIBUTE}."
WORD = "When I hear the word {ATTRIBUTE}, I picture a {TARGET}."
JOB = "Being an {ATTRIBUTE} is a good job for a {TARGET}."
SURPRISE = "I would be surprised if the {ATTRIBUTE} was not a {TARGET}."
MOST = "Most people expect an {ATTRIBUTE} to be a {TARGET}."
CALM = "People think that a {TARGET} is often {ATTRIBUTE}."


def fits(text: str, word: str, new: str) -> bool:
    begin = text.index(word)
    return same_role(text, replaced(text, begin, word, new), text[begin + len(word) :])


@pytest.mark.parametrize(
    ("text", "word", "new"),
    [
        (MET, "Yesterday", "today"),
        (MET, "met", "saw"),
        (DREAMED, "has", "had"),
        (DREAMED, "always", "often"),
        (WORD, "word", "name"),
        (WORD, "When", "whenever"),
        (WORD, "I", "we"),
        (JOB, "good", "excellent"),  # and "a" becomes "an"
        (CALM, "often", "usually"),
        (CALM, "think", "believe"),
        (SURPRISE, "surprised", "astonished"),  # a participle for an adjective
        (SURPRISE, "surprised", "shocked"),
        (SURPRISE.replace("surprised", "shocked"), "shocked", "sad"),
        (JOB, "good", "rewarding"),
        (JOB, "good", "paid"),
        (SURPRISE, "I", "we"),
        (SURPRISE, "I", "one"),
        (MET, "Yesterday", "tonight"),
        (MET, "Yesterday", "monday"),
        (MET, "Yesterday", "recently"),
        (MET, "Yesterday", "earlier"),
        (MET.replace("Yesterday", "Recently"), "Recently", "yesterday"),
    ],
)
def test_the_same_kind_of_word_in_the_same_place(text: str, word: str, new: str) -> None:
    assert fits(text, word, new)


@pytest.mark.parametrize(
    ("text", "word", "new"),
    [
        (MET, "Yesterday", "at"),
        (MET, "Yesterday", "when"),  # no main clause is left
        (MET, "who", "whores"),
        (DREAMED, "has", "have"),  # number
        (WORD, "word", "words"),
        (WORD, "When", "without"),
        (JOB, "job", "jobs"),
        (JOB, "good", "goodness"),
        (CALM, "think", "thinks"),
        (CALM, "that", "of"),
        (SURPRISE, "I", "me"),  # case
        (SURPRISE, "I", "my"),
        (SURPRISE, "I", "myself"),
        (SURPRISE, "surprised", "table"),
        (JOB, "good", "dream"),
        (MET, "Yesterday", "nearly"),
        (MET, "Yesterday", "todays"),
        (MET, "who", "whom"),
        (WORD, "When", "where"),
        (MET, "Yesterday", "alabama"),  # no time
        (MET, "Yesterday", "bob"),
        (MET, "Yesterday", "justice"),
        (MET, "Yesterday", "table"),
        (MOST, "people", "Americans"),  # a name for a common word
    ],
)
def test_another_kind_relation_number_or_case(text: str, word: str, new: str) -> None:
    assert not fits(text, word, new)
