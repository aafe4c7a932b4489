"""What the card of a contrast says that it does not show, by how it is asked."""

from typing import Any

import pytest

from evenruler.instruments.framing import card
from evenruler.instruments.framing.declare.source import ContrastSource
from tests.instruments.framing.hair import settings
from tests.instruments.framing.report.framings import source

LETTERS = "Where options are lettered, what a model makes of a letter alone is "
REPLIES = "Replies are drawn as each model's entry says (temperature, top-p), or else its own files; other settings "
TOKEN = "Verdicts are of the probability of words (`token`), each model in the way of asking that is its own."
NO_CONTROL = (
    "No placebo stands beside gender-salience and instruction, so that there is no control, and nothing can be told."
)


def lettered(placebos: bool = True) -> ContrastSource:
    """Eight stimuli, one task with letters, placebos beside the one cue."""
    both = {"bare": "On {STIMULUS}: {OPTIONS} {ANSWER}", "gender-salience": "On gender, {STIMULUS}: {OPTIONS} {ANSWER}"}
    beside = {"cells": {"gender-salience": "On {PLACEBO}, {STIMULUS}: {OPTIONS} {ANSWER}"}, "texts": ["rain", "tea"]}
    task: dict[str, Any] = {"title": "Choosing", "cells": both, "option": "{LETTER}: {OPTION}"}
    task |= {"options": {"they": "They", "he": "He"}, "placebos": {"gender-salience": beside} if placebos else {}}
    return source(factors={"gender-salience": "the prompt names gender"}, tasks={"choosing": task})


def limits(of: ContrastSource, **changes: Any) -> list[str]:
    """Those that hang on how it is asked; there are six orders of options."""
    found = card.limits(of, settings(**changes), n_orders=6)
    return found[len(card.LIMITS) :]


def test_all_stimuli_all_orders_and_ten_replies_leave_little_to_say() -> None:
    asked = {"stimuli": 12, "placebo_stimuli": 12, "orders": 6, "generations": 10, "least": 8}
    letters, drawn, rough, verdicts = limits(lettered(), **asked)
    assert letters.startswith(f"{LETTERS}taken off by prompts without content")
    assert drawn.startswith(REPLIES)
    assert rough == "Replies to each question: 10; `choice` is as rough as they are few."
    assert verdicts == TOKEN


def test_a_sample_says_of_how_many_stimuli_and_of_how_many_each_placebo_is() -> None:
    asked = {"stimuli": 6, "placebo_stimuli": 3, "orders": 2, "calibrated": False, "generations": 0}
    assert limits(lettered(), **asked) == [
        "Figures are of 6 of the 8 stimuli, evenly spread over the list: a sample.",
        "6 stimuli are fewer than the 10 that a verdict needs.",
        "Each placebo is asked about 3 of these 6 at most, the next about others.",
        f"{LETTERS}in its answers.",
        "A stimulus is asked about in 2 orders of options of up to 6, the next one in others, so that options stand at "
        "letters equally often over stimuli, not for each.",
        "No replies are sampled, so there are no figures of `choice`.",
        TOKEN,
    ]


def test_where_words_are_read_and_nothing_stands_beside_the_cues() -> None:
    found = limits(source(), least=2, generations=1, confirmed="choice", mass="first_token")
    assert found[0] == "A form counts by its first token alone, so words that only begin like it count too."
    assert found[1] == NO_CONTROL
    assert found[2].startswith(REPLIES)
    assert (
        found[3]
        == "One reply to each question cannot be told from chance, so that effects of `choice` have no figures."
    )
    assert found[4].startswith("Verdicts are of sampled replies (`choice`), ")
    assert len(found) == 5


@pytest.mark.parametrize(("placebos", "told"), [(True, False), (False, True)])
def test_a_cue_without_placebos_is_named(placebos: bool, told: bool) -> None:
    without = "No placebo stands beside gender-salience, so that there is no control, and nothing can be told."
    assert (without in limits(lettered(placebos))) == told
