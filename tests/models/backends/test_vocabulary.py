"""Words that a tokenizer does not know, or drops: found, left out, and refused where they cannot
be."""

from pathlib import Path
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

from evenruler.models import load
from evenruler.models.backends.vocabulary import UnknownWords
from evenruler.models.model import Model
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


def word_level(drops: str = "") -> Any:
    """A tokenizer of whole words; `drops`: a letter that its normalizer drops."""
    numbers = {word: place for place, word in enumerate(WORDS)}
    core = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    steps = [normalizers.Lowercase()]
    if drops:
        steps.append(normalizers.Replace(drops, ""))
    core.normalizer, core.pre_tokenizer = normalizers.Sequence(steps), pre_tokenizers.Whitespace()
    roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=core, **roles)


@pytest.fixture
def model(tmp_path: Path, store: RowStore) -> Model:
    """A random causal model that knows nine words."""
    folder = tmp_path / "words"
    word_level().save_pretrained(folder)
    config = AutoConfig.for_model(
        "llama", vocab_size=len(WORDS), bos_token_id=1, eos_token_id=2, **SIZES
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return load(
        "words",
        tiny_params({"words": folder}),
        store=store,
    )


class TestUnknownWords:
    @pytest.mark.parametrize(
        ("texts", "drops", "words", "line"),
        [
            (
                ["With mocha, mornings are calm.", "chai"],
                "",
                ["mocha,", "chai"],  # as blanks separate them
                "'mocha,', 'chai'",
            ),
            (["tea ☕ calm"], "☕", ["☕"], "'☕'"),
        ],
    )
    def test_words_without_a_token_of_their_own_are_unknown(
        self, texts, drops, words, line
    ) -> None:
        known_text = "With tea, mornings are calm."
        unknown = UnknownWords(word_level(drops), [known_text, *texts])
        assert unknown.words == words
        assert all(map(unknown.has_word_in, texts))
        assert not unknown.has_word_in(known_text)
        assert str(unknown) == f"unknown to its tokenizer: {line}"

    @pytest.mark.parametrize("text", ["東京 🎉", "a\u200bb"])
    def test_bytes_know_every_word(self, text: str) -> None:
        unknown = UnknownWords(tiny_tokenizer(), [text])
        assert unknown.words == []
        assert not unknown.has_word_in(text)
        unknown.refuse("m")


class TestCausal:
    def test_of_a_list_of_next_words_only_those_that_it_knows_are_read(self, model) -> None:
        nats = model.next_words(["With", "With mocha and"], ["tea", "mocha", "calm"])

        assert np.isnan(nats).tolist() == [[False, True, False]] * 2
        expected = model.continuations(["With", "With mocha and"], [" tea", " calm"])
        assert nats[:, [0, 2]] == pytest.approx(expected, abs=1e-4)

    TEXTS = (
        "With tea mornings are calm",
        "With mocha mornings are calm",
        "With chai mornings are calm",
        "tea and tea",
    )

    def test_texts_with_unknown_words_have_no_number_and_the_others_what_they_have_alone(
        self, model, load_saved, capsys
    ) -> None:
        for _ in range(2):  # computed, then from the store
            likelihoods = model.loglikelihood(self.TEXTS)
            assert np.isnan(likelihoods.nats).tolist() == [False, True, True, False]
            assert likelihoods.tokens.tolist() == [5, 0, 0, 3]
        left_out = "unknown to its tokenizer: 'mocha', 'chai'; texts with them are left out"
        assert capsys.readouterr().err.count(f"words: {left_out}") == 1
        alone = load_saved(model._folder).loglikelihood(self.TEXTS[::3])
        assert likelihoods.nats[::3] == pytest.approx(alone.nats)

    def test_only_the_scored_text_counts(self, model: Model) -> None:
        """A context is not scored: what is unknown there changes what follows, and is no answer by
        itself."""
        assert np.isfinite(model.loglikelihood(["calm"], ["mocha mornings are"]).nats).all()

    def test_unknown_words_are_refused_where_a_word_is_scored(self, model: Model, error_of) -> None:
        line = error_of(model.whole_words, ["mornings are"] * 2, [" calm", " hectic"])
        leave = "leave these words out, or take another model"
        assert line == f"words: unknown to its tokenizer: 'hectic'; {leave}"
        assert model.whole_words(["mornings are"], [" calm"]).nats.shape == (1,)

    def test_unknown_options_are_refused(self, model: Model, error_of) -> None:
        line = error_of(model.continuations, ["mornings are"], [" calm", " yes"])
        assert "one of the options ' calm', ' yes' is unknown to its tokenizer" in line

    def test_acceptability_needs_every_word(self, model: Model, error_of) -> None:
        line = error_of(model.slor, [self.TEXTS[0], self.TEXTS[2]])
        assert "words in 1 of 2 texts are unknown to its tokenizer, as in 'With chai" in line


class TestPairs:
    PAIRS = (("tea and tea", "mornings are calm"), ("mocha and tea", "mornings are calm"))

    @pytest.fixture
    def classifier(self, tmp_path: Path, store: RowStore) -> Model:
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
        return load(
            "pairs",
            tiny_params({"pairs": folder}, kind="nli"),
            store=store,
        )

    def test_unknown_words_are_said_and_refused_where_every_word_counts(
        self, classifier: Model, capsys: pytest.CaptureFixture[str], error_of
    ) -> None:
        """As of a questionnaire, whose prompts differ in such words; stored answers are no way
        around it."""
        assert classifier.entailment(self.PAIRS).shape == (2, 3)
        unknown = "pairs: unknown to its tokenizer: 'mocha'; "
        assert f"{unknown}pairs that differ" in capsys.readouterr().err
        line = error_of(classifier.entailment, self.PAIRS, every=True)
        assert line == f"{unknown}leave these words out, or take another model"
        assert classifier.entailment(self.PAIRS[:1], every=True).shape == (1, 3)
