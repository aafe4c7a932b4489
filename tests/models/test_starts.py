"""What stands before plain texts: which tokens are usual, which one is taken, where it is named."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.errors import UserError
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
from tests.models.conftest import raw_token_nats
from tests.tiny import save_tiny, tiny_tokenizer

TEXT = "The man is at the theatre"


def config(bos: int | None = None) -> Any:
    return SimpleNamespace(bos_token_id=bos)


def number(tokenizer: Any, token: str) -> int:
    return int(tokenizer.convert_tokens_to_ids(token))


@pytest.mark.parametrize(
    ("bos", "configured", "starts"),
    [
        (True, "<pad>", [("<s>", OF_TOKENIZER), ("<pad>", OF_CONFIGURATION), ("</s>", END_TOKEN)]),
        # As Qwen, whose configuration names <|endoftext|> and whose chat kinds end with <|im_end|>.
        (False, "<pad>", [("<pad>", OF_CONFIGURATION), ("</s>", END_TOKEN)]),
        (False, None, [("</s>", END_TOKEN)]),
        (False, "</s>", [("</s>", OF_CONFIGURATION)]),  # one token in two roles
        (False, 100_000, [("</s>", END_TOKEN)]),  # beyond the vocabulary
    ],
)
def test_usual_starts(bos: bool, configured: Any, starts: list[tuple[str, Any]]) -> None:
    """The tokenizer's comes first, then the configuration's, then the end token."""
    tokenizer = tiny_tokenizer(bos=bos)
    token_id = number(tokenizer, configured) if isinstance(configured, str) else configured
    assert usual_starts(tokenizer, config(token_id)) == [Start(*start) for start in starts]


class TestChoice:
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
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    return float(raw_token_nats(model, tokenizer, text, start).sum())


def saved(folder: Path, bos: bool, configured: str | None) -> Path:
    """A tiny model whose tokenizer has a start token or none, and whose configuration names one or
    none."""
    tokenizer = tiny_tokenizer(bos=bos)
    token_id = None if configured is None else number(tokenizer, configured)
    return save_tiny(folder, bos=bos, bos_token_id=token_id)


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
        self, bos: bool, configured: str | None, start: Start, tmp_path: Path, load_saved
    ) -> None:
        folder = saved(tmp_path / "m", bos, configured)
        model = load_saved(folder)
        assert model.start == start == read_start("m", folder)
        (nats,) = model.loglikelihood([TEXT]).nats
        assert nats == pytest.approx(raw_nats(folder, start.token, TEXT), abs=1e-4)
        assert model.backend.start == start
        # Answers from before the configuration's start was taken are not served.
        assert ("start" in json.loads(model.engine)) is (start.source == OF_CONFIGURATION)

    def test_a_declared_start_stands_in_the_key(self, llama_folder, load_saved) -> None:
        plain, declared = load_saved(llama_folder), load_saved(llama_folder, start="<pad>")
        assert declared.start == Start("<pad>", DECLARED)
        (nats,) = declared.loglikelihood([TEXT]).nats
        assert nats == pytest.approx(raw_nats(llama_folder, "<pad>", TEXT), abs=1e-4)
        assert json.loads(declared.engine) == {**json.loads(plain.engine), "start": "<pad>"}

    def test_the_other_start_is_asked_for_by_name(self, tmp_path: Path, load_saved) -> None:
        folder = saved(tmp_path / "m", True, None)
        model = load_saved(folder)
        for other, start in ((False, "<s>"), (True, "</s>"), (False, "<s>")):
            (nats,) = model.loglikelihood([TEXT], other_start=other).nats
            assert nats == pytest.approx(raw_nats(folder, start, TEXT), abs=1e-4)

    def test_without_another_start_there_is_no_number(self, tmp_path: Path, load_saved) -> None:
        model = load_saved(saved(tmp_path / "m", False, None))
        for _ in range(2):  # also from the store
            likelihoods = model.loglikelihood([TEXT, "x"], other_start=True)
            assert np.isnan(likelihoods.nats).all()
            assert likelihoods.tokens.tolist() == [0, 0]

    def test_a_chat_does_not_begin_with_it(self, llama_folder, load_saved) -> None:
        entries = {"chat": True}, {"chat": True, "start": "<pad>"}
        models = [load_saved(llama_folder, **entry) for entry in entries]
        for chat in (True, False):
            nats = {model.whole_words(["Who?"], [" he"], chat=chat).nats[0] for model in models}
            assert (len(nats) == 1) is chat
