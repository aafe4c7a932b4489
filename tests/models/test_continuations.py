from itertools import product

import numpy as np
import pytest

from tests.models.conftest import raw_token_nats

NATS = 1e-4


def raw(model, text: str) -> np.ndarray:
    return raw_token_nats(model.backend.model, model.backend.tokenizer, text)


@pytest.mark.parametrize(("prompt", "begin"), [("The man", 4), ("x", 1)])  # T, he, Ġ, man; x
def test_a_continuation_is_the_sum_over_its_own_tokens(prompt, begin, llama) -> None:
    options = [" is", " sees!"]

    nats = llama.continuations([prompt], options)

    expected = [raw(llama, prompt + option)[begin:].sum() for option in options]
    assert nats[0] == pytest.approx(expected, abs=NATS)


def test_a_token_across_the_border_belongs_to_the_option(llama) -> None:
    # " t" is the token Ġt alone; with "he" it becomes the one token Ġthe, which alone counts.
    tokenizer = llama.backend.tokenizer
    assert (tokenizer.tokenize(" t"), tokenizer.tokenize(" the")) == (["Ġt"], ["Ġthe"])

    assert llama.continuations([" t"], ["he"])[0, 0] == pytest.approx(
        raw(llama, " the")[0], abs=NATS
    )


def test_a_trailing_space_of_the_prompt_joins_the_first_word_of_the_option(llama) -> None:
    # "x " is x and Ġ; "x the" is x and Ġthe: the space is part of the option's token. "xthe" has
    # no space at all.
    nats = llama.continuations(["x ", "x"], ["the", " the"])

    spaced, bare = raw(llama, "x the")[1], raw(llama, "xthe")[1:].sum()
    ours = [
        nats[0, 0],
        nats[1, 1],
        nats[1, 0],
    ]
    assert ours == pytest.approx([spaced, spaced, bare], abs=NATS)
    assert abs(bare - spaced) > 0.01


def test_rows_are_prompts_and_columns_options(llama) -> None:
    prompts, options = ["a", "b", "c"], [" man", " girl"]

    nats = llama.continuations(prompts, options)

    assert (nats.shape, nats.dtype) == ((3, 2), np.float64)
    pairs = product(prompts, options)
    alone = [llama.continuations([prompt], [option]).item() for prompt, option in pairs]
    assert nats.ravel().tolist() == alone
    assert llama.continuations(["a"], ["", " is"])[0, 0] == 0.0  # it is certain
