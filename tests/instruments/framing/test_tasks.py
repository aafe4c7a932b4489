"""Framings in one word, there and back."""

from itertools import combinations

import pytest

from evenruler.instruments.framing.declare.task_prompts import placebo_of
from evenruler.instruments.framing.declare.tasks import (
    cues_of,
    framing_of,
    real_framing,
    remove_cue,
    with_placebo,
)

FACTORS = ["gender-salience", "instruction", "test"]
SETS = [list(cues) for n in range(4) for cues in combinations(FACTORS, n)]


def test_framings_are_named_by_their_cues() -> None:
    assert [framing_of(cues) for cues in ([], ["a"], ["a", "b"])] == ["bare", "a", "a+b"]


@pytest.mark.parametrize("cues", SETS)
def test_cues_are_those_that_a_framing_was_named_by(cues: list[str]) -> None:
    assert cues_of(framing_of(cues)) == cues
    assert placebo_of(framing_of(cues)) == 0
    assert real_framing(framing_of(cues)) == framing_of(cues)


@pytest.mark.parametrize("cues", SETS)
@pytest.mark.parametrize("number", [1, 12])
def test_a_placebo_has_a_number_and_stands_for_its_cue_alone(cues: list[str], number: int) -> None:
    framing = framing_of(cues)
    for factor in cues:
        found = with_placebo(framing, factor, number)
        assert found == framing.replace(factor, f"{factor}~{number}")
        assert placebo_of(found) == number
        assert real_framing(found) == framing


def test_without_a_cue_a_framing_is_bare_or_has_the_others() -> None:
    assert remove_cue("a", "a") == "bare"
    assert remove_cue("a+b+c", "b") == "a+c"
    assert remove_cue("a+b", "c") == "a+b"
    assert remove_cue("bare", "a") == "bare"
    assert remove_cue("ab+b", "b") == "ab"
