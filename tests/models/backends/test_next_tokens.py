"""What lists of next tokens say of the word before them, by hand."""

import math

import pytest

from evenruler.models.backends.next_tokens import (
    LENGTHS,
    begins_word,
    continues_word,
    longest_allowed,
    read_next_tokens,
    read_word_end,
    texts_a_request,
)


@pytest.mark.parametrize(
    ("text", "continues", "begins"),
    [
        ("licopter", True, True),
        ("é", True, True),
        ("\ufffd", True, True),
        (" was", False, True),
        ("7", False, True),
        (" \t7", False, True),
        ("\nHe", False, False),
        (" (", False, False),
        (".", False, False),
        ("<|im_end|>", False, False),
        ("", False, False),
    ],
)
def test_what_ends_a_word(text: str, continues: bool, begins: bool) -> None:
    assert continues_word(text) is continues
    assert begins_word(text) is begins


def listed(**shares: float) -> dict[str, float]:
    return {text: math.log(share) for text, share in shares.items()}


def test_shares_by_hand() -> None:
    """Of ten parts, two go on with a letter or a part of one, five begin a word, and three do
    neither."""
    whole = {".": 0.3, " was": 0.5, "licopter": 0.1, "bytes:\\xe4": 0.06, "<0xE4>": 0.04}
    word_end = read_word_end(listed(**whole))
    assert math.exp(word_end.ends) == pytest.approx(0.8)
    assert math.exp(word_end.alone) == pytest.approx(0.3)
    assert word_end.unlisted == pytest.approx(0, abs=1e-12)
    assert word_end.is_known


def test_what_is_open_counts_half() -> None:
    word_end = read_word_end(listed(**{".": 0.3, " was": 0.5, "licopter": 0.1}))
    assert word_end.unlisted == pytest.approx(0.1)
    assert math.exp(word_end.ends) == pytest.approx(0.85)
    assert math.exp(word_end.alone) == pytest.approx(0.35)
    assert not word_end.is_known


def test_a_word_that_never_ends_has_a_number() -> None:
    word_end = read_word_end({"licopter": 0.0})
    assert math.isfinite(word_end.ends)
    assert word_end.ends < -700


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"logprobs": None},
        {"logprobs": {"top_logprobs": None}},
        {"logprobs": {"top_logprobs": []}},
        {"logprobs": {"top_logprobs": [None]}},
        {"logprobs": {"top_logprobs": [{}]}},
        {"logprobs": {"top_logprobs": [{"a": None}]}},
        {"logprobs": {"top_logprobs": [{"a": 0.5}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": -1.0}]}},
    ],
)
def test_what_is_no_list(choice: dict[str, object]) -> None:
    assert read_next_tokens(choice) is None


def test_the_list_of_the_first_new_token() -> None:
    table = {"top_logprobs": [{"a": -1.0, "b": -9999.0}, {"c": 0.0}]}
    assert read_next_tokens({"logprobs": table}) == {"a": -1.0, "b": -9999.0}


VLLM = (
    "Error code: 400 - {'error': {'message': 'Requested sample logprobs of 4096, which is greater "
    "than max allowed: 20', 'type': 'BadRequestError', 'param': 'logprobs', 'code': 400}}"
)
TOO_LONG = "This model's maximum context length is 512 tokens. However, you requested 600 tokens"


@pytest.mark.parametrize(
    ("refusal", "allowed"),
    [
        (VLLM, 20),
        ("logprobs must be less than or equal to 5", 5),
        ("logprobs: at most 9000 are listed", 0),
        ("logprobs are switched off", 0),
        (TOO_LONG, 0),
    ],
)
def test_the_limit_that_a_refusal_names(refusal: str, allowed: int) -> None:
    assert longest_allowed(refusal, 4096) == allowed


def test_texts_whose_lists_fit_into_an_answer() -> None:
    assert list(map(texts_a_request, LENGTHS)) == [64, 16, 4, 1]
