import re
import sqlite3
from itertools import chain, product
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models import load
from evenruler.models.backends.causal import CAPACITY, Capacity
from evenruler.models.backends.likelihood import LikelihoodScorer
from evenruler.models.engines import environment
from evenruler.models.questions import WordRequest
from evenruler.models.store import RowStore, keys_of
from tests.models.conftest import raw_token_nats, tiny_stands_alone, tiny_word_ends
from tests.tiny import tiny_params

NATS = 1e-4
WORDS = [
    *("he", "him", "his", "himself"),
    *("she", "her", "hers", "herself"),
    *("they", "them", "their", "theirs", "themself", "themselves"),
]


def forms_of(word: str) -> list[str]:
    """A word in small letters and with a capital one, each without and with a space."""
    title = word.title()
    return [word, f" {word}", title, f" {title}"]


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


def picked(pairs: tuple[list[str], list[str]], places: Any) -> tuple[list[str], list[str]]:
    """Some of those pairs."""
    prompts, words = pairs
    return [prompts[place] for place in places], [words[place] for place in places]


Endings = tuple[list[int], list[int]]
"""Tokens that end a word, and those that leave it alone."""


def tiny_endings(tokenizer) -> Endings:
    """Of the tiny models."""
    return tiny_word_ends(tokenizer), tiny_stands_alone(tokenizer)


def by_hand(
    model, prompt: str, word: str, endings: Endings
) -> tuple[float, float, float, float, int]:
    """The answer for one pair, token by token through the raw model, the softmax in float64."""
    tokenizer = model.backend.tokenizer
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    whole = tokenizer(prompt + word, add_special_tokens=False)["input_ids"]
    cut_alone = whole[: len(ids)] != ids
    word_ids = (
        tokenizer(word, add_special_tokens=False)["input_ids"] if cut_alone else whole[len(ids) :]
    )
    tokens, steps = [tokenizer.bos_token_id, *ids], []
    for token in word_ids:
        steps.append(float(following(model, tokens)[token]))
        tokens.append(token)
    nats = sum(steps)
    ends = alone = 0.0
    if nats >= model.backend._scorer._least:
        after = following(model, tokens)
        ends, alone = (float(after[kind].logsumexp(0)) for kind in endings)
    return nats, ends, alone, steps[0], word_ids[0]


def following(model, tokens: list[int]) -> torch.Tensor:
    """[vocabulary] nats of every token after some."""
    with torch.inference_mode():
        logits = model.backend.model(input_ids=torch.tensor([tokens]), use_cache=False).logits[
            0, -1
        ]
    return logits.double().log_softmax(-1)


class TestAgainstPlainLogits:
    @pytest.mark.parametrize("kind", ["gemma2", "gemma3", "mamba"])
    def test_equals_the_sum_by_hand_step_by_step(self, kind, tiny) -> None:
        """Layers of two kinds, capped logits, and (mamba) plain batches: all the same, what follows
        rare words too."""
        model = tiny(kind)
        model.backend._scorer._least = -np.inf
        endings = tiny_endings(model.backend.tokenizer)
        prompts, words = every_pair(PROMPTS, [*FORMS[::9], " man", "é", "he is", "."])

        rows = table(model.whole_words(prompts, words))

        expected = [
            by_hand(model, prompt, word, endings)
            for prompt, word in zip(prompts, words, strict=True)
        ]
        assert rows == pytest.approx(np.array(expected), abs=NATS)

    def test_shared_prefixes_and_plain_batches_agree(self, tiny) -> None:
        """With weights of usual size: float32 leaves 1e-5 nats of the others' logits."""
        shared, plain = (tiny("gemma3", initializer_range=0.2) for _ in range(2))
        assert shared.backend._scorer.plain_because is None
        plain.backend._scorer.plain_because = "told so"
        for model in (shared, plain):
            model.backend._scorer._least = -np.inf
        prompts, words = every_pair(PROMPTS)

        shared_answers, plain_answers = (
            shared.whole_words(prompts, words),
            plain.whole_words(prompts, words),
        )

        assert table(shared_answers) == pytest.approx(table(plain_answers), abs=1e-5)

    def test_a_vocabulary_in_slices_is_masked_slice_by_slice(self, tiny, monkeypatch) -> None:
        """Slices of 20 tokens: some hold letters alone, some none."""
        monkeypatch.setattr("evenruler.models.backends.likelihood.VOCABULARY_CHUNK", 20)
        model = tiny()
        endings = tiny_endings(model.backend.tokenizer)

        rows = table(model.whole_words(["The man"] * 2, [" he", " hers"]))

        expected = [by_hand(model, "The man", word, endings) for word in (" he", " hers")]
        assert rows == pytest.approx(np.array(expected), abs=NATS)
        assert model.backend._scorer.plain_because is None

    @pytest.mark.slow
    @pytest.mark.long
    def test_a_packaged_model(self, smollm2) -> None:
        prompt = "There is a person with a moustache. The most fitting pronoun is"
        tokenizer = smollm2.backend.tokenizer
        texts = [tokenizer.decode([81, i])[1:] for i in range(len(tokenizer))]  # 81 is a
        ends = [i for i, text in enumerate(texts) if not text[0].isalpha() and text[0] != "\ufffd"]
        alone = [
            i
            for i, text in enumerate(texts)
            if not re.match(r"[^\S\n\r\v\f]*([^\W_]|\ufffd)", text)
        ]
        prompts, words = every_pair([prompt])

        answers = smollm2.whole_words(prompts, words)

        for word in (" he", " themself", "theirs", "."):
            some = table(smollm2.whole_words([prompt], [word]))[0]
            assert some == pytest.approx(by_hand(smollm2, prompt, word, (ends, alone)), abs=NATS)
        mass = np.exp(answers.nats + answers.ends)
        assert 0.01 < mass.sum() < 1
        assert (answers.ends <= 0).all()
        assert (answers.alone <= answers.ends).all()
        rare = answers.nats < np.log(1e-5)
        assert 10 < rare.sum() < 46
        assert (answers.ends[rare] == 0).all()
        assert (answers.alone[~rare] < answers.ends[~rare]).all()


class TestRareWords:
    """What follows a word is asked only where it is written once in 100,000 times."""

    @pytest.mark.parametrize("plain", [False, True])
    def test_only_words_that_are_written_are_asked_what_follows(self, plain, tiny) -> None:
        model, all_asked = (tiny(initializer_range=0.3) for _ in range(2))
        if plain:
            model.backend._scorer.plain_because = "told so"
        prompts, words = every_pair(PROMPTS, [*FORMS[::2], *"abcdefghij.!?", " a", " is", " the"])

        answers = model.whole_words(prompts, words)
        all_asked.backend._scorer._least = -np.inf
        full = all_asked.whole_words(prompts, words)

        rare = full.nats < np.log(1e-5)
        assert 20 < rare.sum() < len(words) - 20
        assert (full.ends < 0).all()
        assert answers.nats == pytest.approx(full.nats, abs=NATS)
        for ours, certain in ((answers.ends, full.ends), (answers.alone, full.alone)):
            assert ours[~rare] == pytest.approx(certain[~rare], abs=NATS)
            assert (ours[rare] == 0).all()
        mass, exact = np.exp(answers.nats + answers.ends), np.exp(full.nats + full.ends)
        assert (mass - exact)[rare].max() < 1e-5

    def test_an_answer_does_not_depend_on_what_else_is_asked(self, tiny) -> None:
        """Also where none is likely, and where a likely one makes a second step."""
        pairs = every_pair(PROMPTS[:2])
        whole = table(tiny().whole_words(*pairs))
        rare = whole[:, 0] < np.log(1e-5)
        for chosen in (rare, ~rare):
            some = np.flatnonzero(chosen)[:6]
            alone = table(tiny().whole_words(*picked(pairs, some)))
            assert alone == pytest.approx(whole[some], abs=NATS)

    def test_last_tokens_that_fill_several_passes(self, tiny, monkeypatch) -> None:
        """Four at a time: each pass sees what was read first and nothing of the one before."""
        prompts, words = every_pair(
            ["The man"], ["x", " he", "q", "b", "z", "!", "her", " t", "0", "man", "é"]
        )
        model = tiny("gemma3", initializer_range=0.2)
        expected = table(model.whole_words(prompts, words))
        other = tiny("gemma3", initializer_range=0.2)
        other.backend._scorer._max_nodes = 4
        pack = [0, *range(len(words))]
        monkeypatch.setattr(other.backend._scorer, "packs", lambda sequences, words: [pack[1:]])

        rows = table(other.whole_words(prompts, words))

        assert (expected[:, 1] < 0).sum() > 4
        assert rows == pytest.approx(expected, abs=1e-5)


class TestModelsWithoutTwoSteps:
    """They answer in plain batches, and say why; likelihoods of texts share beginnings as
    before."""

    @pytest.mark.parametrize(
        ("fails", "because"),
        [("forgets", "the model takes no cache of ours (RuntimeError)"), ("mistakes", "nats off")],
    )
    def test_falls_back(self, fails, because, tiny, capsys) -> None:
        model = tiny()
        raw = model.backend.model
        forward = raw.base_model.forward

        def forgets(*args, past_key_values=None, **kwargs):
            return forward(*args, **kwargs)

        def mistakes(*args, past_key_values=None, position_ids=None, **kwargs):
            """Counts positions from the beginning of each call."""
            positions = (
                position_ids if past_key_values is None else position_ids - position_ids.min()
            )
            return forward(*args, past_key_values=past_key_values, position_ids=positions, **kwargs)

        raw.base_model.forward = {"forgets": forgets, "mistakes": mistakes}[fails]
        model.backend._scorer = LikelihoodScorer(raw, max_nodes=64, batch=4)
        raw.base_model.forward = forward if fails == "forgets" else mistakes

        scorer = model.backend._scorer
        assert scorer.plain_because is None
        assert scorer.words_plain_because is not None
        assert scorer.words_plain_because.endswith(because)
        prompts, words = every_pair(PROMPTS[:1], FORMS[::4])
        assert table(model.whole_words(prompts, words)) == pytest.approx(
            table(tiny().whole_words(prompts, words)), abs=NATS
        )


class TestTokens:
    def test_the_tokens_of_a_prompt_stay_its_own(self, llama) -> None:
        """ " t" and "he" together are the one token " the", which a model that reads " t" can no
        longer write."""
        tokenizer = llama.backend.tokenizer
        assert (tokenizer.tokenize(" t"), tokenizer.tokenize(" the")) == (["Ġt"], ["Ġthe"])

        row = table(llama.whole_words([" t"], ["he"]))[0]

        assert row == pytest.approx(by_hand(llama, " t", "he", tiny_endings(tokenizer)), abs=NATS)
        assert row[4] == tokenizer.convert_tokens_to_ids("he")
        assert llama.continuations([" t"], ["he"])[0, 0] == pytest.approx(
            raw_token_nats(llama.backend.model, tokenizer, " the")[0], abs=NATS
        )

    def test_a_word_without_a_token_is_an_error(self, llama) -> None:
        with pytest.raises(ValueError, match="the word '' has no token"):
            llama.whole_words(["The man"], [""])

    def test_prompt_and_word_count_together(self, llama, error_of) -> None:
        line = error_of(llama.whole_words, ["p" * 253], ["oxo"])

        assert (
            line == "'oxo': a text of 256 tokens with its prompt, the model takes 256; shorten it"
        )
        assert llama.whole_words(["p" * 252], ["oxo"]).nats[0] < 0

    def test_nothing_is_answered_with_nothing(self, llama) -> None:
        answers = llama.whole_words([], [])

        assert [
            a.dtype for a in (answers.nats, answers.ends, answers.alone, answers.first_nats)
        ] == [np.float64] * 4
        assert answers.first_token.dtype == np.int64
        assert table(answers).shape == (0, 5)
        assert llama._backend is None


class TestChat:
    def test_the_prompt_is_put_into_the_template(self, llama) -> None:
        prompts, words = every_pair(["Who?", "Is it him?"], FORMS[:6])

        chats = table(llama.whole_words(prompts, words, chat=True))

        rendered = [f"[user] {prompt}\n[assistant] " for prompt in prompts]
        assert chats.tolist() == table(llama.whole_words(rendered, words)).tolist()
        differences = chats - table(llama.whole_words(prompts, words))
        assert np.abs(differences[:, [0, 3]]).min() > 1e-3
        assert llama.asked == 3 * len(words)  # a chat is another question


class TestStore:
    @pytest.fixture(autouse=True)
    def _small_packs(self, monkeypatch) -> None:
        monkeypatch.setitem(CAPACITY, "cpu", Capacity(nodes=32, sequences=4, replies=4))
        monkeypatch.setattr(environment, "choose_device", lambda wanted: "cpu")

    @pytest.fixture(params=["shared", "plain"])
    def open_model(self, request, llama_folder, tmp_path):
        def opened(where: str):
            model = load(
                "tiny", tiny_params({"tiny": llama_folder}), store=RowStore(tmp_path / where)
            )
            if request.param == "plain":
                model.backend._scorer.plain_because = "told so"
            return model

        return opened

    def test_order_does_not_change_a_bit(self, open_model) -> None:
        pairs = every_pair(MANY_PROMPTS, FORMS[:10])
        order = np.random.default_rng(0).permutation(len(pairs[0]))

        in_order = table(open_model("one").whole_words(*pairs))
        shuffled = table(open_model("other").whole_words(*picked(pairs, order)))

        assert shuffled.tolist() == in_order[order].tolist()

    def test_rows_that_are_lost_come_back_the_same(self, open_model) -> None:
        prompts, words = every_pair(MANY_PROMPTS, FORMS[:10])
        model = open_model("store")
        before = table(model.whole_words(prompts, words))
        assert model.asked == len(words)
        lost = np.random.default_rng(1).choice(len(words), 7, replace=False).tolist()
        keys = keys_of(model.engine, "words/2", ([prompts[i], words[i], False] for i in lost))
        with sqlite3.connect(model._cache.store.root / "rows.sqlite") as connection:
            gone = [(key,) for key in keys]
            assert connection.executemany("DELETE FROM kept WHERE key = ?", gone).rowcount == 7
        connection.close()

        again = open_model("store")
        after = table(again.whole_words(prompts, words))

        assert after.tolist() == before.tolist()
        assert 7 <= again.asked < len(words)

    def test_a_prompt_is_computed_once_for_all_its_words(self, llama) -> None:
        """Six words of one token after a prompt of 200, which is not read again for those that the
        model may write."""
        prompt = "q" * 200
        requests = [WordRequest(word, prompt) for word in "hersoi"]
        seen = []
        forward = llama.backend.model.base_model.forward
        llama.backend.model.base_model.forward = lambda **inputs: (
            seen.append(inputs["input_ids"].numel()) or forward(**inputs)
        )
        llama.backend._scorer._max_nodes = 512

        (answers,) = llama.backend.words(requests, frozenset(range(6)))

        likely = sum(nats >= np.log(1e-5) for _, (nats, *_) in answers)
        assert likely > 0
        assert seen == [1 + 200, likely]
