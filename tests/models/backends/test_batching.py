"""Packs that a GPU has no memory for, by a double of its memory: a real model whose forward pass
counts tokens."""

from itertools import chain

import pytest
import torch

from evenruler.errors import UserError
from evenruler.models.backends.batching import Batches, batched
from evenruler.models.backends.likelihood import LikelihoodScorer
from evenruler.models.questions import LikelihoodRequest
from tests.models.conftest import TEXTS

NATS = 1e-4


class DoubleOfGpuMemory:
    """Stands before a model's forward pass and runs out of memory where more than so many tokens go
    through."""

    def __init__(self, model, monkeypatch) -> None:
        self.tokens = None
        self.refused = 0
        forward = model.forward

        def counted(*args, input_ids, **kwargs):
            if self.tokens is not None and input_ids.numel() > self.tokens:
                self.refused += 1
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return forward(*args, input_ids=input_ids, **kwargs)

        monkeypatch.setattr(model, "forward", counted)


@pytest.fixture
def memory(llama, monkeypatch) -> DoubleOfGpuMemory:
    """Of the body of the model, which likelihoods go through without its output layer."""
    return DoubleOfGpuMemory(llama.backend.model.base_model, monkeypatch)


REQUESTS = [LikelihoodRequest(text) for text in TEXTS]


def answered(operation, questions) -> tuple[list[list[int]], dict]:
    """Indices pack by pack, and all answers by index."""
    wanted = frozenset(range(len(questions)))
    packs = [dict(pack) for pack in operation(questions, wanted)]
    answers = chain.from_iterable(pack.items() for pack in packs)
    return [list(pack) for pack in packs], dict(answers)


class TestHalves:
    def test_likelihoods_are_those_of_whole_packs_but_for_rounding(
        self, llama, memory, capsys
    ) -> None:
        packs, expected = answered(llama.backend.loglikelihood, REQUESTS)
        memory.tokens = 60

        cut, answers = answered(llama.backend.loglikelihood, REQUESTS)

        assert memory.refused >= 1
        assert cut == packs  # what is stored together stays together
        assert sorted(answers) == list(range(len(TEXTS)))
        for index, answer in answers.items():
            assert answer == pytest.approx(expected[index], abs=NATS)
        note = "the GPU ran out of memory: packs that do not fit are answered in"
        assert capsys.readouterr().err.count(note) == 1

    def test_other_errors_are_errors(self, llama, monkeypatch) -> None:
        def broken(*args, **kwargs):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        monkeypatch.setattr(llama.backend.model.base_model, "forward", broken)

        with pytest.raises(RuntimeError, match="illegal memory access"):
            answered(llama.backend.loglikelihood, REQUESTS)

    def test_one_text_that_does_not_fit_is_a_line_for_the_user(self, llama, memory) -> None:
        memory.tokens = 20

        too_little = "^the GPU has too little memory for one text alone; end what else runs there"
        with pytest.raises(UserError, match=too_little):
            answered(llama.backend.loglikelihood, REQUESTS)

    def test_parts_are_halves_of_halves(self) -> None:
        tried = []

        class Backend:
            @batched
            def length(self, texts):
                def answer(pack):
                    tried.append(list(pack))
                    if len(pack) > 2:
                        raise torch.OutOfMemoryError
                    return [(index, len(texts[index])) for index in pack]

                return Batches([[4, 0, 1, 3, 2]], answer)

        texts = ["", "a", "bb", "ccc", "dddd"]
        (pack,) = Backend().length(texts, frozenset([0]))

        assert tried == [
            [4, 0, 1, 3, 2],
            [4, 0],
            [1, 3, 2],
            [1],
            [3, 2],
        ]
        assert pack == [(length, length) for length in (4, 0, 1, 3, 2)]


class TestTheModelItself:
    def test_a_model_that_does_not_fit_is_a_line_for_the_user(self, llama, monkeypatch) -> None:
        def full(*args):
            raise torch.OutOfMemoryError("CUDA out of memory.")

        monkeypatch.setattr(torch.nn.Module, "to", full)

        too_large = "tiny does not fit into the memory of the GPU; end what else runs there"
        with pytest.raises(UserError, match=too_large) as refused:
            llama.loglikelihood(TEXTS)
        assert "--dtype bfloat16" in str(refused.value)
        assert "engine" in str(refused.value)

    def test_a_trial_that_runs_out_of_memory_says_nothing_about_masks(
        self, llama, monkeypatch
    ) -> None:
        """It would leave the model with plain batches for good."""
        raw = llama.backend.model
        forward = raw.base_model.forward

        def full(*args, attention_mask, **kwargs):
            if attention_mask.dim() == 4:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return forward(*args, attention_mask=attention_mask, **kwargs)

        monkeypatch.setattr(raw.base_model, "forward", full)

        with pytest.raises(torch.OutOfMemoryError):
            LikelihoodScorer(raw, max_nodes=64, batch=4)
