import re
import sqlite3
from itertools import product

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
from tests.tiny import KINDS, tiny_params

NATS = 1e-4
CLASSES = {
    "he": ["he", "him", "his", "himself"],
    "she": ["she", "her", "hers", "herself"],
    "they": ["they", "them", "their", "theirs", "themself", "themselves"],
}
FORMS = [
    space + cased
    for words in CLASSES.values()
    for word in words
    for cased in (word, word.title())
    for space in ("", " ")
]
MANY_PROMPTS = [
    f"{a} {b} is here. So is" for a in ("The", "A", "No", "One") for b in ("man", "girl")
]
PROMPTS = ["The man is at the theatre. Is it", "The man is at the theatre. Is it his or", "", "é"]


def asked(prompts: list[str], forms: list[str] = FORMS) -> tuple[list[str], list[str]]:
    """Every form after every prompt."""
    pairs = list(product(prompts, forms))
    return [prompt for prompt, _ in pairs], [form for _, form in pairs]


def table(found) -> np.ndarray:
    """[n, 5] all of an answer."""
    return np.stack(
        [found.nats, found.ends, found.alone, found.first_nats, found.first_token], axis=1
    )


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
    own = tokenizer(word, add_special_tokens=False)["input_ids"] if cut_alone else whole[len(ids) :]
    tokens, steps = [tokenizer.bos_token_id, *ids], []
    for token in own:
        steps.append(float(following(model, tokens)[token]))
        tokens.append(token)
    after = following(model, tokens)
    ends, alone = (
        float(after[e].logsumexp(0)) if sum(steps) >= model.backend._scorer._least else 0.0
        for e in endings
    )
    return sum(steps), ends, alone, steps[0], own[0]


def following(model, tokens: list[int]) -> torch.Tensor:
    """[vocabulary] nats of every token after some."""
    with torch.inference_mode():
        logits = model.backend.model(input_ids=torch.tensor([tokens]), use_cache=False).logits[
            0, -1
        ]
    return logits.double().log_softmax(-1)


class TestAgainstPlainLogits:
    @pytest.mark.parametrize("kind", KINDS)
    def test_equals_the_sum_by_hand_step_by_step(self, kind, tiny) -> None:
        """Layers of two kinds, capped logits, and (mamba) plain batches: all the same, what follows
        rare words too."""
        model = tiny(kind)
        model.backend._scorer._least = -np.inf
        endings = tiny_endings(model.backend.tokenizer)
        prompts, words = asked(PROMPTS, [*FORMS[::9], " man", "é", "he is", "."])

        found = table(model.whole_words(prompts, words))

        expected = [
            by_hand(model, prompt, word, endings)
            for prompt, word in zip(prompts, words, strict=True)
        ]
        assert found == pytest.approx(np.array(expected), abs=NATS)

    @pytest.mark.parametrize("kind", ["llama", "gemma3", "gemma2"])
    def test_shared_prefixes_and_plain_batches_agree(self, kind, tiny) -> None:
        """With weights of usual size: float32 leaves 1e-5 nats of the others' logits."""
        shared, plain = (tiny(kind, initializer_range=0.2) for _ in range(2))
        assert shared.backend._scorer.plain_because is None
        plain.backend._scorer.plain_because = "told so"
        for model in (shared, plain):
            model.backend._scorer._least = -np.inf
        prompts, words = asked(PROMPTS)

        one, other = shared.whole_words(prompts, words), plain.whole_words(prompts, words)

        assert table(one) == pytest.approx(table(other), abs=1e-5)

    def test_a_vocabulary_in_slices_is_masked_slice_by_slice(self, tiny, monkeypatch) -> None:
        """Slices of 20 tokens: some hold letters alone, some none."""
        monkeypatch.setattr("evenruler.models.backends.likelihood.VOCABULARY_CHUNK", 20)
        model = tiny()
        endings = tiny_endings(model.backend.tokenizer)

        found = table(model.whole_words(["The man"] * 2, [" he", " hers"]))

        expected = [by_hand(model, "The man", word, endings) for word in (" he", " hers")]
        assert found == pytest.approx(np.array(expected), abs=NATS)
        assert model.backend._scorer.plain_because is None

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
        prompts, words = asked([prompt])

        found = smollm2.whole_words(prompts, words)

        for word in (" he", " themself", "theirs", "."):
            some = table(smollm2.whole_words([prompt], [word]))[0]
            assert some == pytest.approx(by_hand(smollm2, prompt, word, (ends, alone)), abs=NATS)
        mass = np.exp(found.nats + found.ends)
        assert 0.01 < mass.sum() < 1
        assert (found.ends <= 0).all()
        assert (found.alone <= found.ends).all()
        rare = found.nats < np.log(1e-5)
        assert 10 < rare.sum() < 46
        assert (found.ends[rare] == 0).all()
        assert (found.alone[~rare] < found.ends[~rare]).all()


class TestRareWords:
    """What follows a word is asked only where it is written once in 100,000 times."""

    @pytest.mark.parametrize("plain", [False, True])
    def test_only_words_that_are_written_are_asked_what_follows(self, plain, tiny) -> None:
        model, all_asked = (tiny(initializer_range=0.3) for _ in range(2))
        if plain:
            model.backend._scorer.plain_because = "told so"
        prompts, words = asked(PROMPTS, [*FORMS[::2], *"abcdefghij.!?", " a", " is", " the"])

        found = model.whole_words(prompts, words)
        all_asked.backend._scorer._least = -np.inf
        full = all_asked.whole_words(prompts, words)

        rare = full.nats < np.log(1e-5)
        assert 20 < rare.sum() < len(words) - 20
        assert (full.ends < 0).all()
        assert found.nats == pytest.approx(full.nats, abs=NATS)
        for ours, certain in ((found.ends, full.ends), (found.alone, full.alone)):
            assert ours[~rare] == pytest.approx(certain[~rare], abs=NATS)
            assert (ours[rare] == 0).all()
        overstated = np.exp(found.nats + found.ends) - np.exp(full.nats + full.ends)
        assert overstated[rare].max() < 1e-5

    def test_an_answer_does_not_depend_on_what_else_is_asked(self, tiny) -> None:
        """Also where none is likely, and where a likely one makes a second step."""
        prompts, words = asked(PROMPTS[:2])
        whole = table(tiny().whole_words(prompts, words))
        rare = whole[:, 0] < np.log(1e-5)
        for chosen in (rare, ~rare):
            some = [i for i, wanted in enumerate(chosen) if wanted][:6]
            alone = table(tiny().whole_words([prompts[i] for i in some], [words[i] for i in some]))
            assert alone == pytest.approx(whole[some], abs=NATS)

    def test_last_tokens_that_fill_several_passes(self, tiny, monkeypatch) -> None:
        """Four at a time: each pass sees what was read first and nothing of the one before."""
        prompts, words = asked(
            ["The man"], ["x", " he", "q", "b", "z", "!", "her", " t", "0", "man", "é"]
        )
        model = tiny("gemma3", initializer_range=0.2)
        expected = table(model.whole_words(prompts, words))
        other = tiny("gemma3", initializer_range=0.2)
        other.backend._scorer._max_nodes = 4
        pack = [0, *range(len(words))]
        monkeypatch.setattr(other.backend._scorer, "packs", lambda sequences, words: [pack[1:]])

        found = table(other.whole_words(prompts, words))

        assert (expected[:, 1] < 0).sum() > 4
        assert found == pytest.approx(expected, abs=1e-5)


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
            own = position_ids if past_key_values is None else position_ids - position_ids.min()
            return forward(*args, past_key_values=past_key_values, position_ids=own, **kwargs)

        raw.base_model.forward = {"forgets": forgets, "mistakes": mistakes}[fails]
        model.backend._scorer = LikelihoodScorer(raw, max_nodes=64, batch=4)
        raw.base_model.forward = forward if fails == "forgets" else mistakes

        scorer = model.backend._scorer
        assert scorer.plain_because is None
        assert scorer.words_plain_because is not None
        assert scorer.words_plain_because.endswith(because)
        prompts, words = asked(PROMPTS[:1], FORMS[::4])
        assert table(model.whole_words(prompts, words)) == pytest.approx(
            table(tiny().whole_words(prompts, words)), abs=NATS
        )


class TestTotals:
    @pytest.mark.parametrize("kind", ["llama", "mamba"])
    def test_all_forms_of_all_classes_together_are_never_above_one(self, kind, tiny) -> None:
        prompts, words = asked([*PROMPTS, "t", " t", "x h", "The m"])

        found = tiny(kind).whole_words(prompts, words)

        totals = np.exp(found.nats + found.ends).reshape(-1, len(FORMS)).sum(axis=1)
        assert (totals > 0).all()
        assert (totals < 1).all()


class TestTokens:
    def test_the_tokens_of_a_prompt_stay_its_own(self, llama) -> None:
        """ " t" and "he" together are the one token " the", which a model that reads " t" can no
        longer write."""
        tokenizer = llama.backend.tokenizer
        assert (tokenizer.tokenize(" t"), tokenizer.tokenize(" the")) == (["Ġt"], ["Ġthe"])

        found = table(llama.whole_words([" t"], ["he"]))[0]

        assert found == pytest.approx(by_hand(llama, " t", "he", tiny_endings(tokenizer)), abs=NATS)
        assert found[4] == tokenizer.convert_tokens_to_ids("he")
        assert llama.continuations([" t"], ["he"])[0, 0] == pytest.approx(
            raw_token_nats(llama.backend.model, tokenizer, " the")[0], abs=NATS
        )

    def test_a_word_without_a_token_is_an_error(self, llama) -> None:
        with pytest.raises(ValueError, match="the word '' has no token"):
            llama.whole_words(["The man"], [""])

    def test_a_word_for_each_prompt(self, llama) -> None:
        with pytest.raises(ValueError, match="shorter"):
            llama.whole_words(["a", "b"], ["he"])

    def test_prompt_and_word_count_together(self, llama, error_of) -> None:
        line = error_of(llama.whole_words, ["p" * 253], ["oxo"])

        assert (
            line == "'oxo': a text of 256 tokens with its prompt, the model takes 256; shorten it"
        )
        assert llama.whole_words(["p" * 252], ["oxo"]).nats[0] < 0

    def test_nothing_is_answered_with_nothing(self, llama) -> None:
        found = llama.whole_words([], [])

        assert [a.dtype for a in (found.nats, found.ends, found.alone, found.first_nats)] == [
            np.float64
        ] * 4
        assert found.first_token.dtype == np.int64
        assert table(found).shape == (0, 5)
        assert llama._backend is None


class TestChat:
    def test_the_prompt_is_put_into_the_template(self, llama) -> None:
        prompts, words = asked(["Who?", "Is it him?"], FORMS[:6])

        chats = table(llama.whole_words(prompts, words, chat=True))

        rendered = [f"[user] {prompt}\n[assistant] " for prompt in prompts]
        assert chats.tolist() == table(llama.whole_words(rendered, words)).tolist()
        assert np.abs(chats - table(llama.whole_words(prompts, words)))[:, [0, 3]].min() > 1e-3

    def test_a_chat_is_another_question(self, llama) -> None:
        for chat in (True, False, True):
            llama.whole_words(["Who?"], [" he"], chat=chat)

        assert llama.asked == 2

    def test_a_model_without_a_template_is_refused_in_one_line(self, tiny, error_of) -> None:
        line = error_of(tiny().whole_words, ["Who?"], [" he"], chat=True)

        assert (
            line
            == "'Who?': a chat is asked of a model without a chat template; ask with chat: false"
        )


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
        prompts, words = asked(MANY_PROMPTS, FORMS[:10])
        order = np.random.default_rng(0).permutation(len(words))

        one = table(open_model("one").whole_words(prompts, words))
        other = table(
            open_model("other").whole_words([prompts[i] for i in order], [words[i] for i in order])
        )

        assert other.tolist() == one[order].tolist()

    def test_rows_that_are_lost_come_back_the_same(self, open_model) -> None:
        prompts, words = asked(MANY_PROMPTS, FORMS[:10])
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

    def test_a_second_call_asks_nothing_and_repeats_are_asked_once(self, open_model) -> None:
        model = open_model("store")

        first = model.whole_words(["The man"] * 3, [" he", " she", " he"])
        second = model.whole_words(["The man"] * 2, [" she", " he"])

        assert model.asked == 2
        assert table(second).tolist() == table(first)[[1, 2]].tolist()
        assert model._cache.store.count() == 3  # with its fingerprint

    def test_a_word_and_a_continuation_are_two_questions(self, open_model) -> None:
        model = open_model("store")

        nats = model.continuations(["The man"], [" he"])[0, 0]
        found = model.whole_words(["The man"], [" he"])

        assert model.asked == 2
        assert found.nats[0] == pytest.approx(nats, abs=NATS)

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

        (found,) = llama.backend.words(requests, frozenset(range(6)))

        likely = sum(nats >= np.log(1e-5) for _, (nats, *_) in found)
        assert likely > 0
        assert seen == [1 + 200, likely]
