"""How much questions are, roughly."""

from evenruler.models.questions import (
    LikelihoodRequest,
    NextWordsRequest,
    Prompt,
    QuestionVolume,
    Sampling,
    WordInPlace,
    amount_of,
)


def test_letters_are_counted_whatever_holds_them() -> None:
    assert amount_of(["abcd", "abcde"]) == QuestionVolume(2, 3, 0)  # 9 letters
    assert amount_of(
        [("abc", "de"), LikelihoodRequest("abc", "d"), WordInPlace("a", "b", "c")]
    ) == QuestionVolume(3, 3, 0)  # 12


def test_words_that_may_come_next_are_not_read() -> None:
    words = ("woman", "man", "nurse")
    requests = [NextWordsRequest("abcd", words), NextWordsRequest("abcde", words)]
    assert amount_of(requests) == QuestionVolume(2, 3, 0)  # 9 letters


def test_replies_are_as_long_as_they_may_be() -> None:
    prompts = [
        Prompt("abcdefgh", Sampling(n), 0, system, chat=True)
        for n, system in ((50, None), (30, "abcd"))
    ]
    volume = amount_of(prompts)
    assert volume == QuestionVolume(2, 5, 80)
