import pytest

from evenruler.models.questions import INSTRUCTION, entailment_prompts

PAIRS = [("I {feel} calm.", "I am well."), ("It rains.", "It is wet.")]
QUESTION = "Does the first sentence mean that the second is true? Answer yes, no or maybe.\n"


@pytest.mark.parametrize("before", [None, ["", ""]])
def test_with_nothing_before_it_is_the_question_alone(before) -> None:
    prompts, empty = entailment_prompts(PAIRS, before)
    assert prompts == [
        INSTRUCTION.format(premise=premise, hypothesis=hypothesis) for premise, hypothesis in PAIRS
    ]
    assert prompts[0] == f"{QUESTION}First: I {{feel}} calm.\nSecond: I am well.\nAnswer:"
    assert empty[1] == f"{QUESTION}First: N/A\nSecond: It is wet.\nAnswer:"


def test_words_before_stand_on_a_line_of_their_own_also_without_content() -> None:
    prompts, empty = entailment_prompts(PAIRS, ["A {test}.", ""])
    assert (
        prompts[0] == f"A {{test}}.\n{QUESTION}First: I {{feel}} calm.\nSecond: I am well.\nAnswer:"
    )
    assert empty[0] == f"A {{test}}.\n{QUESTION}First: N/A\nSecond: I am well.\nAnswer:"
    plain, plain_empty = entailment_prompts(PAIRS)
    assert prompts[1] == plain[1]
    assert empty[1] == plain_empty[1]
