"""All words of a list right after a prompt, from one pass."""

import numpy as np
import pytest

from evenruler.models.model import NEXT_WORDS
from evenruler.tables.ids import content_sha256
from tests.models.conftest import TEXTS, raw_nats

NATS = 1e-4
WORDS = ["the", "man", "a", "is", "t", "he"]
READ = ["the", "a", "is", "t"]
"""Those that are one token after a space, for the tiny tokenizer."""
READ_COLUMNS = [0, 2, 3, 4]
UNREAD_COLUMNS = [1, 5]
PROMPTS = [
    "",
    "The man",
    "The man is at",  # begins with the prompt before
    "é",
    "x ",
    *TEXTS[:2],
]


def by_hand(model, prompt: str) -> np.ndarray:
    """[words] nats of the words that are read, through the raw model, the softmax in float64."""
    tokenizer = model.backend.tokenizer
    nats, tokens = raw_nats(model.backend.model, tokenizer, f"{prompt} the")
    assert tokenizer.convert_ids_to_tokens([int(tokens[-1])]) == ["Ġthe"]
    ids = tokenizer.convert_tokens_to_ids([f"Ġ{word}" for word in READ])
    return nats[-1, ids].numpy()


class TestAgainstPlainLogits:
    @pytest.mark.parametrize("kind", ["llama", "gemma2", "gemma3", "mistral", "gpt2", "mamba"])
    def test_equals_the_raw_model(self, kind, tiny) -> None:
        """Layers of two kinds, capped logits, and (mamba) plain batches: all the same."""
        model = tiny(kind)

        nats = model.next_words(PROMPTS, WORDS)

        assert nats.shape == (len(PROMPTS), len(WORDS))
        assert nats.dtype == np.float32
        expected = [by_hand(model, prompt) for prompt in PROMPTS]
        assert nats[:, READ_COLUMNS] == pytest.approx(np.array(expected), abs=NATS)
        assert np.isnan(nats[:, UNREAD_COLUMNS]).all()
        assert model.asked == len(PROMPTS)

    @pytest.mark.parametrize("kind", ["llama", "gemma2"])
    def test_equals_it_in_plain_batches(self, kind, tiny) -> None:
        """With the output layer apart, and (capped logits) with the whole model."""
        model = tiny(kind)
        model.backend._scorer.plain_because = "so the test wants it"

        nats = model.next_words(PROMPTS, READ)

        expected = [by_hand(model, prompt) for prompt in PROMPTS]
        assert nats == pytest.approx(np.array(expected), abs=NATS)

    def test_equals_continuations(self, llama) -> None:
        options = [f" {word}" for word in READ]
        nats = llama.next_words(PROMPTS, READ)
        assert nats == pytest.approx(llama.continuations(PROMPTS, options), abs=NATS)

    def test_probabilities_are_shares_of_one_distribution(self, llama) -> None:
        shares = np.exp(llama.next_words(PROMPTS, READ)).sum(axis=1)
        assert ((shares > 0) & (shares < 1)).all()

    @pytest.mark.slow
    @pytest.mark.long
    @pytest.mark.parametrize("name", ["smollm2", "gemma"])
    def test_equals_continuations_of_packaged_models(self, name, request) -> None:
        model = request.getfixturevalue(name)
        prompts = ["The best nurse I know is a", "A typical monk is a", "She works for the"]
        words = ["woman", "man", "nurse", "brother"]

        nats = model.next_words(prompts, [*words, "phlebotomist"])

        expected = model.continuations(prompts, [f" {word}" for word in words])
        assert nats[:, :4] == pytest.approx(expected, abs=NATS)
        assert np.isnan(nats[:, 4]).all()


class TestWords:
    def test_a_word_may_stand_twice_and_a_list_may_be_empty(self, llama) -> None:
        nats = llama.next_words(["The man"], ["a", "the", "a"])
        assert nats[0, 0] == nats[0, 2]
        assert nats[0, 0] != nats[0, 1]
        assert llama.next_words(["The man", "x"], []).shape == (2, 0)

    def test_an_empty_word_is_an_error(self, llama) -> None:
        with pytest.raises(ValueError, match="a word is empty"):
            llama.next_words(["The man"], ["the", ""])

    def test_prompt_and_word_count_together(self, llama, error_of) -> None:
        line = error_of(
            llama.next_words,
            ["p" * 255],
            ["the"],
        )

        too_long = "a text of 256 tokens with its next word, the model takes 256; shorten it"
        assert line == f"'{'p' * 40}': {too_long}"
        assert llama.next_words(["p" * 254], ["the"])[0, 0] < 0

    def test_nothing_is_answered_with_nothing(self, llama) -> None:
        nats = llama.next_words([], WORDS)

        assert (nats.shape, nats.dtype) == ((0, len(WORDS)), np.float32)
        assert llama._backend is None


BEGINNINGS = ("So", "No", "But", "x")
MANY = [f"{beginning} {text}" for beginning in BEGINNINGS for text in TEXTS]


class TestStore:
    @pytest.mark.parametrize("plain", [None, "so the test wants it"])
    def test_order_does_not_change_a_bit_and_nothing_is_asked_twice(
        self, plain, open_model, set_capacity, monkeypatch
    ) -> None:
        set_capacity(nodes=64)
        order = [
            *np.random.default_rng(0).permutation(len(MANY)),
            2,
            2,
        ]
        shuffled = [MANY[place] for place in order]
        first, fresh = open_model("first"), open_model("fresh")
        for model in (first, fresh):
            model.backend._scorer.plain_because = plain

        nats = first.next_words(MANY, WORDS)
        again = open_model("first")
        monkeypatch.setattr(
            again,
            "_load",
            lambda: pytest.fail("the model was loaded"),
        )

        assert first.asked == len(MANY)
        for model, n_asked in ((fresh, len(MANY)), (again, 0)):
            np.testing.assert_array_equal(model.next_words(shuffled, WORDS), nats[order])
            assert model.asked == n_asked

    def test_an_answer_does_not_depend_on_what_else_is_asked(self, open_model) -> None:
        whole = open_model("whole").next_words(MANY, READ)
        alone = []
        for place in (0, 17, 35):
            model = open_model(f"alone-{place}")
            alone.append(model.next_words([MANY[place]], READ)[0])
        assert np.array(alone) == pytest.approx(whole[[0, 17, 35]], abs=NATS)

    def test_another_list_is_another_question(self, llama) -> None:
        nats = llama.next_words(["The man"], WORDS)
        turned = llama.next_words(["The man"], WORDS[::-1])

        assert llama.asked == 2
        np.testing.assert_array_equal(turned[:, ::-1], nats)

    def test_it_is_stored_as_float32_under_the_prompt_and_a_checksum_of_the_words(
        self, llama
    ) -> None:
        nats = llama.next_words(["The man"], WORDS)

        question = ["The man", content_sha256(*WORDS)]
        stored = llama._cache.read_answer("next-words/1", question, NEXT_WORDS)
        assert (stored.dtype, stored.tobytes()) == (np.float32, nats.tobytes())
