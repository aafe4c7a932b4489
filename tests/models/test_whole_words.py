from itertools import chain, product
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models.backends.likelihood import LikelihoodScorer
from tests.models.conftest import tiny_stands_alone, tiny_word_ends

NATS = 1e-4
WORDS = [
    *("he", "him", "his", "himself"),
    *("she", "her", "hers", "herself"),
    *("they", "them", "their", "theirs", "themself", "themselves"),
]


def forms_of(word: str) -> list[str]:
    """A word in small letters and with a capital one, each without and with a space."""
    title = word.title()
    return [
        word,
        f" {word}",
        title,
        f" {title}",
    ]


FORMS = list(chain.from_iterable(map(forms_of, WORDS)))
SUBJECTS = product(("The", "A", "No", "One"), ("man", "girl"))
MANY_PROMPTS = [f"{article} {noun} is here. So is" for article, noun in SUBJECTS]
PROMPTS = ["The man is at the theatre. Is it", "The man is at the theatre. Is it his or", "", "é"]


def every_pair(prompts: list[str], forms: list[str] = FORMS) -> tuple[list[str], list[str]]:
    """Every form after every prompt."""
    pairs = list(product(prompts, forms))
    return [prompt for prompt, _ in pairs], [form for _, form in pairs]


def table(answers) -> np.ndarray:
    """[n, 5] all of an answer."""
    return np.stack(
        [answers.nats, answers.ends, answers.alone, answers.first_nats, answers.first_token], axis=1
    )


def by_hand(
    model: Any, prompt: str, word: str, least: float = -np.inf
) -> tuple[float, float, float, float, int]:
    """The answer for one pair, token by token through the raw model, the softmax in float64; what
    follows a word that is rarer than the least is not asked."""
    tokenizer = model.backend.tokenizer
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    whole = tokenizer(prompt + word, add_special_tokens=False)["input_ids"]
    word_ids = whole[len(ids) :]
    if whole[: len(ids)] != ids:
        word_ids = tokenizer(word, add_special_tokens=False)["input_ids"]
    tokens = torch.tensor([[tokenizer.bos_token_id, *ids, *word_ids]])
    with torch.inference_mode():
        logits = model.backend.model(input_ids=tokens, use_cache=False).logits
    *before, after = logits[0, len(ids) :].double().log_softmax(-1)
    steps = [float(nats[token]) for nats, token in zip(before, word_ids, strict=True)]
    ends = float(after[tiny_word_ends(tokenizer)].logsumexp(0))
    alone = float(after[tiny_stands_alone(tokenizer)].logsumexp(0))
    if sum(steps) < least:
        ends = alone = 0.0
    return sum(steps), ends, alone, steps[0], word_ids[0]


def every_answer(model: Any) -> Any:
    """The model, which is asked what follows rare words, too."""
    model.backend._scorer._least = -np.inf
    return model


class TestAgainstPlainLogits:
    @pytest.mark.parametrize("kind", ["gemma2", "gemma3", "mamba"])
    def test_equals_the_sum_by_hand_step_by_step(self, kind, tiny) -> None:
        """Layers of two kinds, capped logits, and (mamba) plain batches: all the same, what follows
        rare words too."""
        model = every_answer(tiny(kind))
        prompts, words = every_pair(
            PROMPTS,
            [*FORMS[::18], " man", "é", "he is", "."],
        )

        rows = table(model.whole_words(prompts, words))

        pairs = zip(prompts, words, strict=True)
        expected = [by_hand(model, prompt, word) for prompt, word in pairs]
        assert rows == pytest.approx(np.array(expected), abs=NATS)


class TestRareWords:
    """What follows a word is asked only where it is written once in 100,000 times."""

    @pytest.mark.parametrize("plain", [None, "told so"])
    def test_only_words_that_are_written_are_asked_what_follows(self, plain, tiny) -> None:
        model, thorough = (tiny(initializer_range=0.3) for _ in range(2))
        model.backend._scorer.plain_because = plain
        pairs = every_pair(PROMPTS, [*FORMS[::2], *"abcdefghij.!?", " a", " is", " the"])

        answers = model.whole_words(*pairs)
        full = every_answer(thorough).whole_words(*pairs)

        rare = full.nats < np.log(1e-5)
        assert 20 < rare.sum() < len(rare) - 20
        assert (full.ends < 0).all()
        assert answers.nats == pytest.approx(full.nats, abs=NATS)
        for ours, certain in ((answers.ends, full.ends), (answers.alone, full.alone)):
            assert ours == pytest.approx(np.where(rare, 0, certain), abs=NATS)

    def test_last_tokens_that_fill_several_passes(self, tiny, monkeypatch) -> None:
        """Four at a time: each pass sees what was read first and nothing of the one before."""
        words = ["x", " he", "q", "b", "z", "!", "her", " t", "0", "man", "é"]
        pairs = every_pair(["The man"], words)
        model, other = (tiny("gemma3", initializer_range=0.2) for _ in range(2))
        expected = table(model.whole_words(*pairs))
        scorer = other.backend._scorer
        scorer._max_nodes = 4
        monkeypatch.setattr(scorer, "packs", lambda tokens, words: [list(range(len(tokens)))])

        rows = table(other.whole_words(*pairs))

        assert (expected[:, 1] < 0).sum() > 4
        assert rows == pytest.approx(expected, abs=1e-5)


class TestModelsWithoutTwoSteps:
    """They answer in plain batches, and say why; likelihoods of texts share beginnings as
    before."""

    @pytest.mark.parametrize(
        ("fails", "because"),
        [("forgets", "the model takes no cache of ours (RuntimeError)"), ("mistakes", "nats off")],
    )
    def test_falls_back(self, fails, because, tiny) -> None:
        model, plain = tiny(), tiny()
        raw = model.backend.model
        forward = raw.base_model.forward

        def forgets(*args, past_key_values=None, **kwargs):
            return forward(*args, **kwargs)

        def mistakes(*args, past_key_values=None, position_ids=None, **kwargs):
            """Counts positions from the beginning of each call."""
            if past_key_values is not None:
                position_ids = position_ids - position_ids.min()
            kwargs |= {"past_key_values": past_key_values, "position_ids": position_ids}
            return forward(*args, **kwargs)

        raw.base_model.forward = {"forgets": forgets, "mistakes": mistakes}[fails]
        scorer = LikelihoodScorer(raw, max_nodes=64, batch=4)
        raw.base_model.forward = forward if fails == "forgets" else mistakes
        model.backend._scorer = scorer

        assert scorer.plain_because is None
        assert scorer.words_plain_because.endswith(because)
        pairs = every_pair(PROMPTS[:1], FORMS[::4])
        rows = table(model.whole_words(*pairs))
        assert rows == pytest.approx(table(plain.whole_words(*pairs)), abs=NATS)


class TestTokens:
    def test_the_tokens_of_a_prompt_stay_its_own(self, llama) -> None:
        """ " t" and "he" together are the one token " the", which a model that reads " t" can no
        longer write."""
        tokenizer = llama.backend.tokenizer
        assert (tokenizer.tokenize(" t"), tokenizer.tokenize(" the")) == (["Ġt"], ["Ġthe"])

        (row,) = table(llama.whole_words([" t"], ["he"]))

        least = llama.backend._scorer._least
        assert row == pytest.approx(by_hand(llama, " t", "he", least), abs=NATS)
        assert row[4] == tokenizer.convert_tokens_to_ids("he")

    def test_a_word_without_a_token_is_an_error(self, llama) -> None:
        with pytest.raises(ValueError, match="the word '' has no token"):
            llama.whole_words(["The man"], [""])

    def test_prompt_and_word_count_together(self, llama, error_of) -> None:
        line = error_of(llama.whole_words, ["p" * 253], ["oxo"])

        too_long = "a text of 256 tokens with its prompt, the model takes 256; shorten it"
        assert line == f"'oxo': {too_long}"
        assert llama.whole_words(["p" * 252], ["oxo"]).nats[0] < 0


class TestStore:
    @pytest.mark.parametrize("plain", [None, "told so"])
    def test_order_does_not_change_a_bit(self, plain, open_model, set_capacity) -> None:
        set_capacity(nodes=32)
        pairs = list(product(MANY_PROMPTS, FORMS[:10]))
        order = np.random.default_rng(0).permutation(len(pairs))

        tables = []
        for places in (range(len(pairs)), order):
            model = open_model(f"store-{len(tables)}")
            model.backend._scorer.plain_because = plain
            prompts, words = zip(*(pairs[place] for place in places), strict=True)
            tables.append(table(model.whole_words(prompts, words)))

        assert tables[1].tolist() == tables[0][order].tolist()
