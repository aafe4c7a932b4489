import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenruler.models import LABELS, load
from evenruler.models.backends.encoders import Nli, labelled_sample, order_of
from evenruler.models.model import Model
from evenruler.models.questions import EntailmentPair, entailment_prompts
from evenruler.models.store import RowStore
from tests.tiny import made_once, save_tiny, tiny_params, tiny_tokenizer

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
    with torch.inference_mode():
        return np.stack(
            [
                model(**tokenizer(*pair, return_tensors="pt", **options)).logits[0].numpy()
                for pair in pairs
            ]
        )


def change_config(folder: Path, name: str = "config.json", **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def folder(tmp_path) -> Path:
    return save_classifier(tmp_path / "tiny")


@pytest.fixture
def loaded(tmp_path) -> Callable[..., Model]:
    """Loads the classifier of a folder; from a store that is empty unless one is given."""
    number = itertools.count()

    def make(folder: Path, store: RowStore | None = None, **entry: Any) -> Model:
        params = tiny_params({"tiny": folder}, kind="nli", **entry)
        store = store or RowStore(tmp_path / f"store-{next(number)}")
        return load("tiny", params, store=store)

    return make


class TestLogits:
    @pytest.mark.parametrize("kind", ["bert", "roberta"])
    def test_are_those_of_transformers_one_pair_at_a_time(self, kind, tmp_path, loaded) -> None:
        more = (
            {}
            if kind == "bert"
            else {"max_position_embeddings": LONGEST + 10, "type_vocab_size": 2}
        )
        folder = save_classifier(tmp_path / kind, kind, **more)

        logits = loaded(folder).entailment(PAIRS)

        expected = plain(folder, PAIRS)
        assert logits == pytest.approx(expected, abs=1e-5)
        assert (np.ptp(expected, axis=0) > 0.1).all()
        assert (
            abs(expected[0] - expected[1]).max() > 1e-3
        )  # premise and hypothesis are not the same to it
        assert (logits.shape, logits.dtype) == ((len(PAIRS), 3), np.float64)

    @pytest.mark.parametrize(
        "labels",
        [
            ["neutral", "contradiction", "entailment"],
            ["neutral", "entailment", "contradiction"],
        ],
        ids=["turned", "swapped"],
    )
    def test_leave_in_one_order_whatever_the_heads_is(self, labels, folder, loaded) -> None:
        change_config(folder, id2label=dict(enumerate(map(str.upper, labels))))

        logits = loaded(folder).entailment(PAIRS[:5])

        logits_by_label = dict(zip(labels, plain(folder, PAIRS[:5]).T, strict=True))
        expected = np.column_stack(
            [
                logits_by_label["entailment"],
                logits_by_label["neutral"],
                logits_by_label["contradiction"],
            ]
        )
        assert logits == pytest.approx(expected, abs=1e-5)

    def test_of_a_config_whose_labels_stand_in_another_order(self, folder, loaded) -> None:
        change_config(folder, id2label={"2": "contradiction", "0": "entailment", "1": "neutral"})
        assert loaded(folder).entailment(PAIRS[:5]) == pytest.approx(
            plain(folder, PAIRS[:5]), abs=1e-5
        )

    def test_no_pairs_no_logits(self, folder, loaded) -> None:
        model = loaded(folder)
        assert model.entailment([]).shape == (0, 3)
        assert (model.asked, model._backend) == (0, None)


class TestStore:
    def test_order_and_repeats_do_not_matter(self, folder, loaded) -> None:
        by_pair = dict(zip(PAIRS, loaded(folder).entailment(PAIRS), strict=True))
        order = np.random.default_rng(0).permutation(len(PAIRS))
        shuffled = [PAIRS[index] for index in (*order, 2, 2)]
        model = loaded(folder)

        logits = model.entailment(shuffled)

        assert (logits == np.array([by_pair[pair] for pair in shuffled])).all()
        assert model.asked == len(PAIRS)

    def test_answers_under_other_labels_are_others(self, folder, store, loaded) -> None:
        usual = loaded(folder, store).entailment(PAIRS[:5])
        turned = loaded(
            folder, store, labels=["contradiction", "entailment", "neutral"]
        ).entailment(PAIRS[:5])
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
        folder = save_classifier(tmp_path / "tiny", labels=["LABEL_0", "LABEL_1", "LABEL_2"])
        logits = loaded(folder, labels=["contradiction", "entailment", "neutral"]).entailment(
            PAIRS[:5]
        )
        expected = plain(folder, PAIRS[:5])[:, [1, 2, 0]]
        assert logits == pytest.approx(expected, abs=1e-5)

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
        return save_classifier(tmp_path / "unnamed", labels=["LABEL_0", "LABEL_1", "LABEL_2"])

    def test_a_random_head_is_refused(self, unnamed, loaded, error_of) -> None:
        assert error_of(loaded(unnamed).entailment, PAIRS[:1]) == (
            f"{unnamed}: tiny {self.REFUSED}; give `labels` in its order, as [entailment, neutral, "
            "contradiction]"
        )

    @pytest.mark.parametrize("order", [(1, 2, 0), (1, 0, 2)], ids=str)
    def test_the_majority_of_each_label_tells(self, order, unnamed, loaded, monkeypatch) -> None:
        e, n, c = order
        model = loaded(unnamed)
        with monkeypatch.context() as patched:
            AnswersThatAreGiven(
                patched, entailment=[e, e, n], neutral=[n, c, n], contradiction=[e, c, c]
            )
            assert model.backend._order == list(order)

        assert model.entailment(PAIRS[:5]) == pytest.approx(
            plain(unnamed, PAIRS[:5])[:, list(order)], abs=1e-5
        )

    @pytest.mark.parametrize(
        "columns",
        [
            pytest.param(
                {"entailment": [0], "neutral": [1], "contradiction": [1]}, id="one-for-two"
            ),
            pytest.param(
                {"entailment": [0], "neutral": [1, 2], "contradiction": [2]},
                id="a-half-is-no-majority",
            ),
            pytest.param(
                {"entailment": [0, 1, 2], "neutral": [1], "contradiction": [2]},
                id="a-third-neither",
            ),
        ],
    )
    def test_what_is_not_clear_is_refused(
        self, columns, unnamed, loaded, error_of, monkeypatch
    ) -> None:
        AnswersThatAreGiven(monkeypatch, **columns)
        assert self.REFUSED in error_of(loaded(unnamed).entailment, PAIRS[:1])


class TestLength:
    LONG = "xyz" * 100
    HYPOTHESIS = "xxxx"

    def test_a_premise_that_is_too_long_is_cut_and_that_is_said(
        self, folder, loaded, capsys
    ) -> None:
        short = [("x" * 20, "y"), ("y" * 20, "x")]

        model = loaded(folder)
        fits = model.entailment([(self.LONG[:193], self.HYPOTHESIS)])
        assert "cut" not in capsys.readouterr().err
        logits = model.entailment([(self.LONG, self.HYPOTHESIS), *short])

        # A token a letter; 4 of the hypothesis and 3 around: the first 193 letters of the premise
        # are left.
        expected = plain(folder, [(self.LONG[:193], self.HYPOTHESIS), *short])
        assert logits == pytest.approx(expected, abs=1e-5)
        assert fits[0] == pytest.approx(expected[0], abs=1e-5)
        shorter = plain(folder, [(self.LONG[:192], self.HYPOTHESIS)])
        assert abs(expected[0] - shorter[0]).max() > 1e-3
        assert "tiny: 1 premises cut to fit into 200 tokens\n" in capsys.readouterr().err

    def test_a_hypothesis_that_is_too_long_is_refused(self, folder, loaded, error_of) -> None:
        # 198 letters and 3 tokens around.
        pairs = [("x", "y"), ("x", self.LONG[:198])]
        line = error_of(loaded(folder).entailment, pairs)
        assert line == f"{self.LONG[:40]!r}: a hypothesis of 201 tokens, tiny takes 200; shorten it"

    @pytest.mark.parametrize("kind", ["bert", "roberta"])
    def test_a_tokenizer_that_knows_no_limit(self, kind, tmp_path, loaded, capsys) -> None:
        folder = save_classifier(tmp_path / kind, kind, type_vocab_size=2)
        change_config(folder, "tokenizer_config.json", model_max_length=int(1e30))

        logits = loaded(folder).entailment([(self.LONG, self.HYPOTHESIS)])

        assert np.isfinite(logits).all()
        assert "1 premises cut" in capsys.readouterr().err


class TestVerbaliser:
    @pytest.mark.parametrize("before", [None, ["This is a test.", "Answer:", "x"]])
    def test_is_the_question_less_the_question_without_content(self, before, llama) -> None:
        pairs = [
            ("I feel calm.", "I am upset."),
            ("The man is here.", "A man is here."),
            ("x", "A man is here."),
        ]

        logits = llama.entailment(pairs, before=before)

        prompts, empty = entailment_prompts(pairs, before)  # by hand in test_verbaliser.py
        assert llama.asked == 3 * len({*prompts, *empty})
        yes_maybe_no = [" yes", " maybe", " no"]
        expected = llama.continuations(prompts, yes_maybe_no) - llama.continuations(
            empty, yes_maybe_no
        )
        assert logits == pytest.approx(expected, abs=1e-12)
        assert (logits.shape, logits.dtype) == ((3, 3), np.float64)
        assert abs(expected).max() > 1e-4


class TestCatalogue:
    def test_a_causal_model_has_no_head_for_pairs(self, tmp_path, loaded, error_of) -> None:
        folder = save_tiny(tmp_path / "causal")
        change_config(folder, id2label=dict(enumerate(LABELS)))
        line = error_of(loaded(folder).entailment, PAIRS[:1])
        assert line == f"{folder}: tiny lacks 1 tensors, as score.weight; see its `source`"
