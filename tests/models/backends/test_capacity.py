from dataclasses import asdict, replace

import pytest
import torch

from evenruler.models.backends import causal
from evenruler.models.backends.causal import (
    CAPACITY,
    Capacity,
    ModelShape,
    capacity_on,
    fit_capacity,
    shape_of,
)

GB = 2**30
BEST = CAPACITY["cuda"]

SMOLLM3 = ModelShape(
    layers=36,
    hidden=2048,
    inner=11008,
    heads=16,
    key_heads=4,
    head_width=128,
    vocabulary=128_256,
    number_bytes=2,
)
LLAMA_8B = replace(
    SMOLLM3,
    layers=32,
    hidden=4096,
    inner=14336,
    heads=32,
    key_heads=8,
)


class TestBytes:
    def test_of_a_pass_by_hand(self) -> None:
        """Two layers, two heads of width 2 with one of keys, three tokens, seven words, float32."""
        shape = ModelShape(
            layers=2,
            hidden=4,
            inner=8,
            heads=2,
            key_heads=1,
            head_width=2,
            vocabulary=7,
            number_bytes=4,
        )

        cache = 3 * 2 * 2 * 1 * 2 * 4
        widths = 4 * 4 + 3 * 8 + 2 * (2 + 2) * 2
        activations = 3 * widths * 4
        logits = 3 * 7 * (4 + 4)
        pairs = 9 * (2 * 4 + 8 + 2 + 2 * (4 + 4))
        assert shape.pass_bytes(3) == cache + activations + logits + pairs


class TestFitting:
    def test_a_card_that_the_model_nearly_fills_takes_less_of_everything(self) -> None:
        """24 GiB less 16 GB: 8.2 GiB of room, 4.1 for a pass."""
        room = 24 * GB - 16 * 10**9
        assert fit_capacity(BEST, room, LLAMA_8B) == Capacity(
            nodes=2048, sequences=32, replies=256, cache_bytes=4 * GB
        )

    @pytest.mark.parametrize(
        ("gigabytes", "nodes", "replies"),
        [(0.1, 64, 2), (1, 256, 32), (8, 2048, 256)],
    )
    def test_halves_with_memory(self, gigabytes, nodes, replies) -> None:
        """A node takes 1.04 MB and 206 bytes with every other; a reply 3.3 MB."""
        capacity = fit_capacity(BEST, int(gigabytes * GB), LLAMA_8B)

        assert (capacity.nodes, capacity.replies) == (nodes, replies)
        assert capacity.sequences == max(1, nodes // 64)


class TestDevice:
    def test_a_gpu_has_what_its_memory_holds_beside_the_weights(self, llama, monkeypatch) -> None:
        """The whole memory counts, whatever is free."""
        calls = []
        free_and_total = (10**6, 2**33 + 5 * 10**8)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: free_and_total)
        monkeypatch.setattr(causal, "fit_capacity", lambda *arguments: calls.append(arguments))
        model = llama.backend.model

        capacity_on("cuda", model)

        n_weights = sum(tensor.numel() for tensor in model.parameters())
        ((best, memory, shape),) = calls
        assert (best, shape) == (CAPACITY["cuda"], shape_of(model))
        # Some numbers of rotary positions besides.
        assert 0 <= 2**33 - 4 * n_weights - memory < 10_000


class TestShape:
    def test_of_a_configuration(self, llama) -> None:
        assert shape_of(llama.backend.model) == ModelShape(
            layers=3,
            hidden=32,
            inner=48,
            heads=4,
            key_heads=2,
            head_width=8,
            vocabulary=267,
            number_bytes=4,
        )

    @pytest.mark.parametrize(
        ("kind", "sizes"),
        [
            ("gpt2", {"inner": 128, "key_heads": 4, "head_width": 8}),
            ("mamba", {"heads": 1, "key_heads": 1, "head_width": 32}),
        ],
    )
    def test_of_one_that_leaves_sizes_open_or_has_no_attention(self, kind, sizes, tiny) -> None:
        shape = asdict(shape_of(tiny(kind).backend.model))
        assert shape | sizes == shape
