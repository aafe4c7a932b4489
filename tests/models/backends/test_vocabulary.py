"""Words that a tokenizer does not know, or drops: found, left out, and refused where they cannot
be."""

from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

from evenruler.errors import UserError
from evenruler.models import load
from evenruler.models.backends.vocabulary import UnknownWords
from evenruler.models.questions import LABELS
from evenruler.models.store import RowStore
from tests.tiny import tiny_params, tiny_tokenizer

WORDS = [
    "<unk>",
    "<s>",
    "</s>",
    *["with", "tea", "mornings", "are", "calm", "and", "slow", ",", "."],
]

SIZES = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


def word_level(drops: str | None = None) -> Any:
    """A tokenizer of whole words; `drops`: a letter that its normalizer drops."""
    core = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    steps = [normalizers.Lowercase(), *([normalizers.Replace(drops, "")] if drops else [])]
    core.normalizer, core.pre_tokenizer = normalizers.Sequence(steps), pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


@pytest.fixture
def model(tmp_path, store):
    """A random causal model that knows nine words."""
    folder = tmp_path / "words"
    word_level().save_pretrained(folder)
    config = AutoConfig.for_model(
        "llama", vocab_size=len(WORDS), bos_token_id=1, eos_token_id=2, **SIZES
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return load("words", tiny_params({"words": folder}), store=store)


class TestUnknownWords:
    def test_words_without_a_token_of_their_own_are_unknown(self) -> None:
        unknown = UnknownWords(
            word_level(), ["With tea, mornings are calm.", "With mocha, mornings are calm.", "chai"]
        )
        assert unknown.words == ["mocha,", "chai"]  # as blanks separate them
        assert unknown.stand_in("With mocha, mornings are calm.")
        assert not unknown.stand_in("With tea, mornings are calm.")
        assert str(unknown) == "unknown to its tokenizer: 'mocha,', 'chai'"

    def test_words_that_a_normalizer_drops_are_unknown(self) -> None:
        unknown = UnknownWords(word_level(drops="☕"), ["tea ☕ calm", "tea calm"])
        assert unknown.words == ["☕"]
        assert unknown.stand_in("tea ☕ calm")

    def test_of_many_words_some_are_named(self) -> None:
        unknown = UnknownWords(word_level(), ["one two three four five six seven"])
        assert (
            str(unknown)
            == "unknown to its tokenizer: 'one', 'two', 'three', 'four', 'five' and 2 more"
        )

    @pytest.mark.parametrize("text", ["東京 🎉", "a\u200bb"])
    def test_bytes_know_every_word(self, text) -> None:
        unknown = UnknownWords(tiny_tokenizer(), [text])
        assert unknown.words == []
        assert not unknown.stand_in(text)
        unknown.refuse("m")


class TestCausal:
    TEXTS = (
        "With tea mornings are calm",
        "With mocha mornings are calm",
        "With chai mornings are calm",
        "tea and tea",
    )

    def test_texts_with_unknown_words_have_no_number(self, model, capsys) -> None:
        for _ in range(2):  # computed, then from the store
            likelihoods = model.loglikelihood(self.TEXTS)
            assert np.isnan(likelihoods.nats).tolist() == [False, True, True, False]
            assert likelihoods.tokens.tolist() == [5, 0, 0, 3]
        printed = capsys.readouterr().err
        assert (
            printed.count(
                "words: unknown to its tokenizer: 'mocha', 'chai'; texts with them are left out"
            )
            == 1
        )

    def test_the_others_have_the_numbers_that_they_have_alone(self, model, tmp_path) -> None:
        together = model.loglikelihood(self.TEXTS).nats
        alone = load(
            "words", tiny_params({"words": tmp_path / "words"}), store=RowStore(tmp_path / "other")
        )
        assert together[[0, 3]] == pytest.approx(
            alone.loglikelihood([self.TEXTS[0], self.TEXTS[3]]).nats
        )

    def test_only_the_scored_text_counts(self, model) -> None:
        """A context is not scored: what is unknown there changes what follows, and is no answer by
        itself."""
        assert np.isfinite(model.loglikelihood(["calm"], ["mocha mornings are"]).nats).all()

    def test_unknown_words_are_refused_where_a_word_is_scored(self, model) -> None:
        with pytest.raises(UserError) as caught:
            model.whole_words(["mornings are", "mornings are"], [" calm", " hectic"])
        assert str(caught.value) == (
            "words: unknown to its tokenizer: 'hectic'; leave these words out, or take another "
            "model"
        )
        assert model.whole_words(["mornings are"], [" calm"]).nats.shape == (1,)

    def test_unknown_options_are_refused(self, model) -> None:
        with pytest.raises(
            UserError, match="one of the options ' calm', ' yes' is unknown to its tokenizer"
        ):
            model.continuations(["mornings are"], [" calm", " yes"])

    def test_acceptability_needs_every_word(self, model) -> None:
        with pytest.raises(
            UserError, match="words in 1 of 2 texts are unknown to its tokenizer, as in 'With chai"
        ):
            model.slor(["With tea mornings are calm", "With chai mornings are calm"])


class TestPairs:
    PAIRS = (("tea and tea", "mornings are calm"), ("mocha and tea", "mornings are calm"))

    @pytest.fixture
    def classifier(self, tmp_path, store):
        """A random classifier of pairs that knows nine words."""
        folder = tmp_path / "pairs"
        tokenizer = word_level()
        tokenizer.pad_token = "</s>"
        tokenizer.save_pretrained(folder)
        labels = {
            "id2label": dict(enumerate(LABELS)),
            "label2id": {label: i for i, label in enumerate(LABELS)},
        }
        config = AutoConfig.for_model(
            "bert", vocab_size=len(WORDS), pad_token_id=2, **labels, **SIZES
        )
        AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
        return load("pairs", tiny_params({"pairs": folder}, kind="nli"), store=store)

    def test_unknown_words_are_said_and_refused_where_every_word_counts(
        self, classifier, capsys
    ) -> None:
        """As of a questionnaire, whose prompts differ in such words; stored answers are no way
        around it."""
        assert classifier.entailment(self.PAIRS).shape == (2, 3)
        note = "pairs: unknown to its tokenizer: 'mocha'; pairs that differ"
        assert note in capsys.readouterr().err
        with pytest.raises(UserError) as caught:
            classifier.entailment(self.PAIRS, every=True)
        assert str(caught.value) == (
            "pairs: unknown to its tokenizer: 'mocha'; leave these words out, or take another model"
        )
        assert classifier.entailment(self.PAIRS[:1], every=True).shape == (1, 3)
