import numpy as np
import pytest

from tests.models.conftest import raw_token_nats

NATS = 1e-4


def raw(model, text: str) -> np.ndarray:
    return raw_token_nats(model.backend.model, model.backend.tokenizer, text)


def test_a_continuation_is_the_sum_over_its_own_tokens(llama) -> None:
    prompts, options = ["The man", "x"], [" is", " sees!"]

    found = llama.continuations(prompts, options)

    begin = {"The man": 4, "x": 1}  # T, he, Ġ, man; x
    expected = [[raw(llama, p + o)[begin[p] :].sum() for o in options] for p in prompts]
    assert found == pytest.approx(np.array(expected), abs=NATS)


def test_prompt_and_continuation_add_up_to_the_whole(llama) -> None:
    prompts, options = ["The man", "the theatre is"], [" is here", ", sir"]

    whole = llama.loglikelihood([p + o for p in prompts for o in options]).nats.reshape(2, 2)
    given = llama.loglikelihood(prompts).nats

    assert given[:, None] + llama.continuations(prompts, options) == pytest.approx(
        whole, abs=2 * NATS
    )


def test_a_token_across_the_border_belongs_to_the_option(llama) -> None:
    # " t" is the token Ġt alone; with "he" it becomes the one token Ġthe, which is all that counts.
    tokenizer = llama.backend.tokenizer
    assert (tokenizer.tokenize(" t"), tokenizer.tokenize(" the")) == (["Ġt"], ["Ġthe"])

    assert llama.continuations([" t"], ["he"])[0, 0] == pytest.approx(
        raw(llama, " the")[0], abs=NATS
    )


def test_a_trailing_space_of_the_prompt_joins_the_first_word_of_the_option(llama) -> None:
    # "x " is x and Ġ; "x the" is x and Ġthe: the space is part of the option's token.
    found = llama.continuations(["x ", "x"], ["the", " the"])

    expected = raw(llama, "x the")[1]
    assert found[0, 0] == pytest.approx(expected, abs=NATS)
    assert found[1, 1] == pytest.approx(expected, abs=NATS)
    # "xthe" has no space at all.
    assert found[1, 0] == pytest.approx(raw(llama, "xthe")[1:].sum(), abs=NATS)
    assert abs(found[1, 0] - expected) > 0.01


def test_without_a_prompt_it_is_the_likelihood_and_is_paid_once(llama) -> None:
    options = ["The man", " is"]

    nats = llama.loglikelihood(options).nats
    asked = llama.asked

    assert llama.continuations([""], options).tolist() == [nats.tolist()]
    assert llama.asked == asked


def test_an_empty_option_is_certain(llama) -> None:
    assert llama.continuations(["The man"], ["", " is"])[0, 0] == 0.0


def test_rows_are_prompts_and_columns_options(llama) -> None:
    prompts, options = ["a", "b", "c"], [" man", " girl"]

    found = llama.continuations(prompts, options)

    assert found.shape == (3, 2)
    assert found.dtype == np.float64
    one_by_one = [[llama.continuations([p], [o])[0, 0] for o in options] for p in prompts]
    assert found.tolist() == one_by_one
    assert llama.continuations([], options).shape == (0, 2)
    assert llama.continuations(prompts, []).shape == (3, 0)


def test_a_packaged_model_prefers_what_fits(smollm2) -> None:
    prompts = ["The capital of France is", "The capital of Italy is"]

    found = smollm2.continuations(prompts, [" Paris", " Rome"])

    # One token each, so the last of the whole.
    assert [len(smollm2.backend.tokenizer.tokenize(option)) for option in (" Paris", " Rome")] == [
        1,
        1,
    ]
    expected = [
        [raw(smollm2, prompt + option)[-1] for option in (" Paris", " Rome")] for prompt in prompts
    ]
    assert found == pytest.approx(np.array(expected), abs=NATS)
    assert found[0, 0] > found[0, 1]
    assert found[1, 1] > found[1, 0]
