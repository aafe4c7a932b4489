"""What stands before plain texts: which tokens are usual, which one is taken, where it is named."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.errors import UserError
from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models import load
from evenruler.models.starts import (
    DECLARED,
    END_TOKEN,
    OF_CONFIGURATION,
    OF_TOKENIZER,
    Start,
    choose_start,
    other_start,
    read_start,
    usual_starts,
)
from evenruler.models.store import RowStore
from tests.tiny import save_tiny, tiny_params, tiny_tokenizer

TEXT = "The man is at the theatre"


def config(bos: int | None = None) -> Any:
    return SimpleNamespace(bos_token_id=bos)


def number(tokenizer: Any, token: str) -> int:
    return int(tokenizer.convert_tokens_to_ids(token))


class TestUsualStarts:
    def test_the_tokenizers_start_comes_first_and_then_the_configurations(self) -> None:
        tokenizer = tiny_tokenizer()
        pad = number(tokenizer, "<pad>")
        assert usual_starts(tokenizer, config(pad)) == [
            Start("<s>", OF_TOKENIZER),
            Start("<pad>", OF_CONFIGURATION),
            Start("</s>", END_TOKEN),
        ]

    def test_without_a_start_in_the_tokenizer_the_configurations_comes_before_the_end(self) -> None:
        """As Qwen, whose configuration names <|endoftext|> and whose chat kinds end with
        <|im_end|>."""
        tokenizer = tiny_tokenizer(bos=False)
        pad = number(tokenizer, "<pad>")
        assert usual_starts(tokenizer, config(pad)) == [
            Start("<pad>", OF_CONFIGURATION),
            Start("</s>", END_TOKEN),
        ]
        assert usual_starts(tokenizer, config()) == [Start("</s>", END_TOKEN)]

    def test_one_token_in_two_roles_is_one_start(self) -> None:
        tokenizer = tiny_tokenizer(bos=False)
        end = number(tokenizer, "</s>")
        assert usual_starts(tokenizer, config(end)) == [Start("</s>", OF_CONFIGURATION)]

    def test_a_number_beyond_the_vocabulary_is_no_start(self) -> None:
        assert usual_starts(tiny_tokenizer(bos=False), config(100_000)) == [
            Start("</s>", END_TOKEN)
        ]


class TestChoice:
    def test_a_declared_start_is_taken(self) -> None:
        tokenizer = tiny_tokenizer()
        usual = usual_starts(tokenizer, config())
        assert choose_start("m", None, usual, tokenizer) == Start("<s>", OF_TOKENIZER)
        assert choose_start("m", "<pad>", usual, tokenizer) == Start("<pad>", DECLARED)

    def test_what_is_no_token_is_refused(self) -> None:
        tokenizer = tiny_tokenizer()
        with pytest.raises(UserError) as caught:
            choose_start("m", "<start>", usual_starts(tokenizer, config()), tokenizer)
        assert str(caught.value) == (
            "start: '<start>' is no token of m; name one token as its vocabulary writes it; usual "
            "here: <s>, </s>"
        )

    def test_without_any_there_is_an_error(self) -> None:
        with pytest.raises(UserError, match="the tokenizer of m has no start and no end token"):
            choose_start("m", None, [], None)

    def test_the_other_start_is_the_first_that_differs(self) -> None:
        first, second = Start("<s>", OF_TOKENIZER), Start("</s>", END_TOKEN)
        assert other_start(first, [first, second]) == second
        assert other_start(second, [first, second]) == first
        assert other_start(Start("<pad>", DECLARED), [first, second]) == first
        assert other_start(first, [first]) is None


def raw_nats(folder: Path, start: str, text: str) -> float:
    """The log-likelihood of a text after a start token by plain transformers."""
    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForCausalLM.from_pretrained(folder),
    )
    ids = [number(tokenizer, start), *tokenizer(text, add_special_tokens=False)["input_ids"]]
    with torch.no_grad():
        nats = model(torch.tensor([ids])).logits.double().log_softmax(-1)[0]
    return float(sum(nats[place, token] for place, token in enumerate(ids[1:])))


def saved(folder: Path, bos: bool, configured: str | None) -> Path:
    """A tiny model whose tokenizer has a start token or none, and whose configuration names one or
    none."""
    tokenizer = tiny_tokenizer(bos=bos)
    own = None if configured is None else number(tokenizer, configured)
    return save_tiny(folder, bos=bos, bos_token_id=own)


class TestModels:
    @pytest.mark.parametrize(
        ("bos", "configured", "start"),
        [
            (True, "<pad>", Start("<s>", OF_TOKENIZER)),
            (False, "<pad>", Start("<pad>", OF_CONFIGURATION)),
            (False, None, Start("</s>", END_TOKEN)),
        ],
    )
    def test_texts_are_scored_after_it_and_it_is_named(
        self, tmp_path: Path, store: RowStore, bos: bool, configured: str | None, start: Start
    ) -> None:
        folder = saved(tmp_path / "m", bos, configured)
        model = load("m", tiny_params({"m": folder}), store=store)
        assert model.start == start == read_start("m", folder)
        assert model.loglikelihood([TEXT]).nats[0] == pytest.approx(
            raw_nats(folder, start.token, TEXT), abs=1e-4
        )
        assert model.backend.start == start
        # Answers from before the configuration's start was taken are not served.
        assert ("start" in json.loads(model.engine)) is (start.source == OF_CONFIGURATION)

    def test_a_declared_start_stands_in_the_key(self, tmp_path: Path, store: RowStore) -> None:
        folder = saved(tmp_path / "m", True, None)
        plain, declared = (
            load("m", tiny_params({"m": folder}, **own), store=store)
            for own in ({}, {"start": "<pad>"})
        )
        assert declared.start == Start("<pad>", DECLARED)
        assert declared.loglikelihood([TEXT]).nats[0] == pytest.approx(
            raw_nats(folder, "<pad>", TEXT), abs=1e-4
        )
        assert plain.loglikelihood([TEXT]).nats[0] == pytest.approx(
            raw_nats(folder, "<s>", TEXT), abs=1e-4
        )
        assert json.loads(declared.engine) == {**json.loads(plain.engine), "start": "<pad>"}

    def test_the_other_start_is_asked_for_by_name(self, tmp_path: Path, store: RowStore) -> None:
        folder = saved(tmp_path / "m", True, None)
        model = load("m", tiny_params({"m": folder}), store=store)
        bare, other = model.loglikelihood([TEXT]), model.loglikelihood([TEXT], other_start=True)
        assert bare.nats[0] == pytest.approx(raw_nats(folder, "<s>", TEXT), abs=1e-4)
        assert other.nats[0] == pytest.approx(raw_nats(folder, "</s>", TEXT), abs=1e-4)
        assert model.loglikelihood([TEXT]).nats[0] == bare.nats[0]

    def test_without_another_start_there_is_no_number(
        self, tmp_path: Path, store: RowStore
    ) -> None:
        model = load("m", tiny_params({"m": saved(tmp_path / "m", False, None)}), store=store)
        for _ in range(2):  # also from the store
            found = model.loglikelihood([TEXT, "x"], other_start=True)
            assert np.isnan(found.nats).all()
            assert found.tokens.tolist() == [0, 0]

    def test_a_chat_does_not_begin_with_it(self, tmp_path: Path, store: RowStore) -> None:
        folder = save_tiny(tmp_path / "m", chat=True)
        models = [
            load(
                "m",
                tiny_params({"m": folder}, chat=True, **own),
                store=RowStore(tmp_path / f"store-{place}"),
            )
            for place, own in enumerate(({}, {"start": "<pad>"}))
        ]
        in_chat, plain = (
            [model.whole_words(["Who?"], [" he"], chat=chat).nats[0] for model in models]
            for chat in (True, False)
        )
        assert in_chat[0] == in_chat[1]
        assert plain[0] != plain[1]

    def test_a_model_given_in_python_takes_a_start(self, tmp_path: Path, store: RowStore) -> None:
        folder = save_tiny(tmp_path / "m")
        network, tokenizer = (
            AutoModelForCausalLM.from_pretrained(folder).eval(),
            AutoTokenizer.from_pretrained(folder),
        )
        plain, declared = (
            resolve_model(network, store, tokenizer=tokenizer, name="m", start=start).model
            for start in (None, "<pad>")
        )
        assert plain is not None
        assert declared is not None
        assert (plain.start, declared.start) == (
            Start("<s>", OF_TOKENIZER),
            Start("<pad>", DECLARED),
        )
        assert declared.loglikelihood([TEXT]).nats[0] == pytest.approx(
            raw_nats(folder, "<pad>", TEXT), abs=1e-4
        )
        assert plain.loglikelihood([TEXT]).nats[0] == pytest.approx(
            raw_nats(folder, "<s>", TEXT), abs=1e-4
        )

    def test_files_take_a_start_by_option(self, tmp_path: Path, store: RowStore) -> None:
        folder = save_tiny(tmp_path / "m")
        assert resolve_model(f"local:{folder}", store, start="<pad>").entry.start == "<pad>"
        with pytest.raises(UserError) as caught:
            resolve_model("endpoint:m", store, start="<pad>")
        assert str(caught.value) == (
            "--start of endpoint:m: a start token is of models that give log-probabilities of "
            "texts; "
            "say --kind completions, or leave --start out"
        )

    def test_other_kinds_have_none(self) -> None:
        assert load("minilm", tiny_params({})).start is None
