"""Framings in one word, there and back."""

from itertools import combinations

import pytest

from evenruler.instruments.framing.declare.task_prompts import CONTROL, alternative_of
from evenruler.instruments.framing.declare.tasks import (
    cues_of,
    framing_of,
    real_framing,
    remove_cue,
    with_alternative,
)

FACTORS = ["gender-salience", "instruction", "test"]
SETS = [list(cues) for n in range(4) for cues in combinations(FACTORS, n)]


def test_framings_are_named_by_their_cues() -> None:
    assert framing_of([]) == "bare"
    assert framing_of(["a"]) == "a"
    assert framing_of(["a", "b"]) == "a+b"


@pytest.mark.parametrize("cues", SETS)
def test_cues_are_those_that_a_framing_was_named_by(cues: list[str]) -> None:
    assert cues_of(framing_of(cues)) == cues
    assert alternative_of(framing_of(cues)) == 0
    assert real_framing(framing_of(cues)) == framing_of(cues)


@pytest.mark.parametrize("cues", SETS)
def test_an_alternative_has_a_number_and_stands_for_its_cue_alone(cues: list[str]) -> None:
    framing, number = framing_of(cues), 12
    for factor in cues:
        named = with_alternative(framing, factor, number)
        assert named == framing.replace(factor, f"{factor}~{number}")
        assert alternative_of(named) == number
        assert real_framing(named) == framing
        control = with_alternative(framing, factor, CONTROL)
        assert control == framing.replace(factor, f"{factor}~control")
        assert alternative_of(control) == CONTROL
        assert real_framing(control) == framing
        assert with_alternative(framing, factor, 0) == framing


def test_without_a_cue_a_framing_is_bare_or_has_the_others() -> None:
    assert remove_cue("a", "a") == "bare"
    assert remove_cue("a+b+c", "b") == "a+c"
    assert remove_cue("a+b", "c") == "a+b"
    assert remove_cue("bare", "a") == "bare"
    assert remove_cue("ab+b", "b") == "ab"
