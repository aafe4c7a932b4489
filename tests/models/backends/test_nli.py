import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenruler.models import LABELS
from evenruler.models.backends.encoders import Nli, labelled_sample, order_of
from evenruler.models.model import Model
from evenruler.models.questions import EntailmentPair, entailment_prompts
from tests.models.conftest import change_json
from tests.tiny import made_once, tiny_tokenizer

PAIRS = [
    ("The man is at the theatre.", "A man is there."),
    ("A man is there.", "The man is at the theatre."),
    ("I feel calm.", "I am upset."),
    ("x", "y"),
    ("naïve café — 東京 🎉", "the café is a café"),
    ("In this story, the main character is a brother who is also an archivist.", "He is."),
    *(
        (f"The man is at the {'very ' * i}big theatre.", "It is big.") for i in range(30)
    ),  # two batches
]
FIVE = PAIRS[:5]
TURNED = ["contradiction", "entailment", "neutral"]
UNNAMED = ["LABEL_0", "LABEL_1", "LABEL_2"]
LONGEST = 200

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


@made_once
def save_classifier(
    folder: Path, kind: str = "bert", labels: Sequence[str] = LABELS, **config: Any
) -> Path:
    """Save a tiny classifier of pairs: random, with weights so large that every token matters."""
    import torch
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoConfig, AutoModelForSequenceClassification

    tokenizer = tiny_tokenizer()
    tokenizer.model_max_length = LONGEST
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[(word, tokenizer.convert_tokens_to_ids(word)) for word in ("<s>", "</s>")],
    )
    settings = {
        **SIZES,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": LONGEST,
        "initializer_range": 0.3,
        "pad_token_id": tokenizer.pad_token_id,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: i for i, label in enumerate(labels)},
        **config,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForSequenceClassification.from_config(
            AutoConfig.for_model(kind, **settings)
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def plain(folder: Path, pairs: Sequence[EntailmentPair], **options: Any) -> np.ndarray:
    """[n, 3] logits of pairs in the model's own order, one at a time through transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    inputs = [tokenizer(*pair, return_tensors="pt", **options) for pair in pairs]
    with torch.inference_mode():
        return torch.cat([model(**of_pair).logits for of_pair in inputs]).numpy()


def change_config(folder: Path, name: str = "config.json", **changes: Any) -> None:
    change_json(folder / name, **changes)


@pytest.fixture
def folder(tmp_path) -> Path:
    return save_classifier(tmp_path / "tiny")


@pytest.fixture
def loaded(load_saved) -> Callable[..., Model]:
    return partial(load_saved, kind="nli")


class TestLogits:
    @pytest.mark.parametrize(
        ("kind", "config"),
        [
            ("bert", {}),
            ("roberta", {"max_position_embeddings": LONGEST + 10, "type_vocab_size": 2}),
        ],
    )
    def test_are_those_of_transformers_one_pair_at_a_time(
        self, kind, config, tmp_path, loaded
    ) -> None:
        folder = save_classifier(tmp_path / kind, kind, **config)

        logits = loaded(folder).entailment(PAIRS)

        expected = plain(folder, PAIRS)
        assert logits == pytest.approx(expected, abs=1e-5)
        assert (np.ptp(expected, axis=0) > 0.1).all()
        # Premise and hypothesis are not the same to it.
        assert abs(expected[0] - expected[1]).max() > 1e-3
        assert (logits.shape, logits.dtype) == ((len(PAIRS), 3), np.float64)

    @pytest.mark.parametrize(
        ("labels", "order"),
        [
            ({0: "NEUTRAL", 1: "CONTRADICTION", 2: "ENTAILMENT"}, [2, 0, 1]),
            ({0: "NEUTRAL", 1: "ENTAILMENT", 2: "CONTRADICTION"}, [1, 0, 2]),
            ({2: "contradiction", 0: "entailment", 1: "neutral"}, [0, 1, 2]),
        ],
        ids=["turned", "swapped", "in another order"],
    )
    def test_leave_in_one_order_whatever_the_heads_is(self, labels, order, folder, loaded) -> None:
        change_config(folder, id2label=labels)

        logits = loaded(folder).entailment(FIVE)

        assert logits == pytest.approx(plain(folder, FIVE)[:, order], abs=1e-5)


class TestStore:
    def test_answers_under_other_labels_are_others(self, folder, store, loaded) -> None:
        usual = loaded(folder, store=store).entailment(FIVE)
        turned = loaded(folder, store=store, labels=TURNED).entailment(FIVE)
        assert turned == pytest.approx(usual[:, [1, 2, 0]], abs=1e-12)


class TestLabels:
    @pytest.mark.parametrize(
        ("names", "order"),
        [
            (["entailment", "neutral", "contradiction"], [0, 1, 2]),
            (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], [2, 1, 0]),
            (["neutral", " Contradict", "entailed"], [2, 0, 1]),
            (["LABEL_0", "LABEL_1", "LABEL_2"], None),
            (["entailment", "neutral", "neutral"], None),
            (["entailment", "not_entailment"], None),
        ],
    )
    def test_by_name(self, names, order) -> None:
        assert order_of(names) == order

    def test_params_name_what_has_no_names(self, tmp_path, loaded) -> None:
        folder = save_classifier(tmp_path / "tiny", labels=UNNAMED)
        logits = loaded(folder, labels=TURNED).entailment(FIVE)
        assert logits == pytest.approx(
            plain(folder, FIVE)[:, [1, 2, 0]],
            abs=1e-5,
        )

    def test_another_number_of_labels_is_refused(self, tmp_path, loaded, error_of) -> None:
        folder = save_classifier(tmp_path / "tiny", labels=LABELS[:2])
        line = error_of(loaded(folder).entailment, PAIRS[:1])
        assert line == f"{folder}: tiny has 2 labels, expected 3; see its `source`"


class AnswersThatAreGiven:
    """A double of `_logits`: the answers to the labelled sample, by the column that is the
    largest."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **columns: Sequence[int]) -> None:
        """By label, the columns that its pairs get in turn."""
        turns = {label: itertools.cycle(of_label) for label, of_label in columns.items()}
        column_by_pair = {pair: next(turns[label]) for pair, label in labelled_sample()}

        def logits(_: Nli, pairs: Sequence[EntailmentPair]) -> np.ndarray:
            return np.eye(3)[[column_by_pair.get(pair, 0) for pair in pairs]]

        monkeypatch.setattr(Nli, "logits", logits)


class TestDetection:
    """What the labels of a head mean that calls them LABEL_0 to LABEL_2."""

    REFUSED = "does not say what its three labels mean, and its answers do not tell"

    @pytest.fixture
    def unnamed(self, tmp_path) -> Path:
        return save_classifier(tmp_path / "unnamed", labels=UNNAMED)

    def test_a_random_head_is_refused(self, unnamed, loaded, error_of) -> None:
        assert error_of(loaded(unnamed).entailment, PAIRS[:1]) == (
            f"{unnamed}: tiny {self.REFUSED}; give `labels` in its order, as [entailment, neutral, "
            "contradiction]"
        )

    @pytest.mark.parametrize("order", [(1, 2, 0), (1, 0, 2)], ids=str)
    def test_the_majority_of_each_label_tells(self, order, unnamed, loaded, monkeypatch) -> None:
        e, n, c = order
        columns = {
            "entailment": [e, e, n],
            "neutral": [n, c, n],
            "contradiction": [e, c, c],
        }
        model = loaded(unnamed)
        with monkeypatch.context() as patched:
            AnswersThatAreGiven(patched, **columns)
            assert model.backend._order == list(order)

        expected = plain(unnamed, FIVE)[:, list(order)]
        assert model.entailment(FIVE) == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize(
        "columns",
        [
            ([0], [1], [1]),
            ([0], [1, 2], [2]),
            ([0, 1, 2], [1], [2]),
        ],
        ids=["one-for-two", "a-half-is-no-majority", "a-third-neither"],
    )
    def test_what_is_not_clear_is_refused(
        self, columns, unnamed, loaded, error_of, monkeypatch
    ) -> None:
        labels = ("entailment", "neutral", "contradiction")
        AnswersThatAreGiven(monkeypatch, **dict(zip(labels, columns, strict=True)))
        assert self.REFUSED in error_of(loaded(unnamed).entailment, PAIRS[:1])


class TestLength:
    LONG = "xyz" * 100
    HYPOTHESIS = "xxxx"

    def test_a_premise_that_is_too_long_is_cut_and_that_is_said(
        self, folder, loaded, capsys
    ) -> None:
        # A token a letter; 4 of the hypothesis and 3 around: the first 193 letters of the premise
        # are left.
        premises = [self.LONG[:n] for n in (193, 192, 20)]
        whole, shorter, short = [(premise, self.HYPOTHESIS) for premise in premises]
        model = loaded(folder)
        fits = model.entailment([whole])
        assert "cut" not in capsys.readouterr().err

        logits = model.entailment([(self.LONG, self.HYPOTHESIS), short])

        expected = plain(folder, [whole, short, shorter])
        assert logits == pytest.approx(expected[:2], abs=1e-5)
        assert fits == pytest.approx(expected[:1], abs=1e-5)
        assert abs(expected[0] - expected[2]).max() > 1e-3
        assert "tiny: 1 premises cut to fit into 200 tokens\n" in capsys.readouterr().err

    def test_a_hypothesis_that_is_too_long_is_refused(self, folder, loaded, error_of) -> None:
        # 198 letters and 3 tokens around.
        pairs = [("x", "y"), ("x", self.LONG[:198])]
        line = error_of(loaded(folder).entailment, pairs)
        assert line == f"{self.LONG[:40]!r}: a hypothesis of 201 tokens, tiny takes 200; shorten it"

    @pytest.mark.parametrize("kind", ["bert", "roberta"])
    def test_a_tokenizer_that_knows_no_limit(self, kind, tmp_path, loaded, capsys) -> None:
        folder = save_classifier(
            tmp_path / kind,
            kind,
            type_vocab_size=2,
        )
        change_config(folder, "tokenizer_config.json", model_max_length=int(1e30))

        logits = loaded(folder).entailment([(self.LONG, self.HYPOTHESIS)])

        assert np.isfinite(logits).all()
        assert "1 premises cut" in capsys.readouterr().err


class TestVerbaliser:
    @pytest.mark.parametrize("before", [None, ["This is a test.", "Answer:"]])
    def test_is_the_question_less_the_question_without_content(self, before, llama) -> None:
        pairs = [("I feel calm.", "I am upset."), ("x", "A man is here.")]

        logits = llama.entailment(pairs, before=before)

        prompts, empty = entailment_prompts(pairs, before)  # by hand in test_verbaliser.py
        assert llama.asked == 3 * 4
        words = [" yes", " maybe", " no"]
        expected = llama.continuations(prompts, words) - llama.continuations(empty, words)
        assert logits == pytest.approx(expected, abs=1e-12)
        assert abs(expected).max() > 1e-4
