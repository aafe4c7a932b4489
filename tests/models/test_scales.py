"""Weights that need scales are refused; other tensors that are not used are a warning in the
result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import evenruler
from evenruler.models import load
from evenruler.models.loading import SCALES
from evenruler.models.store import RowStore
from tests.models.conftest import change_json
from tests.tiny import save_tiny, tiny_params

FLOAT8 = torch.float8_e4m3fn


def rewrite(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "model.safetensors"
    save_file(
        change(load_file(path)),
        path,
        metadata={"format": "pt"},
    )


def scaled(dtype: torch.dtype, suffix: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Linear weights divided by their scale, and the scales beside them, as FP8 models are
    published."""

    def change(weights: dict[str, Any]) -> dict[str, Any]:
        rescaled = {}
        for key, tensor in weights.items():
            if "proj" in key:
                scale = tensor.abs().max() / 100
                rescaled |= {
                    key: (tensor / scale).to(dtype),
                    f"{key.removesuffix('.weight')}.{suffix}": scale,
                }
            else:
                rescaled[key] = tensor
        return rescaled

    return change


@pytest.fixture
def folder(tmp_path):
    return save_tiny(tmp_path / "tiny")


@pytest.fixture
def refusal(folder, store, error_of):
    """Gives the line that the model of the folder ends with."""
    params = tiny_params({"tiny": folder})
    return lambda: error_of(load("tiny", params, store=store).loglikelihood, ["x"])


@pytest.mark.parametrize(
    ("dtype", "method"),
    [
        (FLOAT8, None),
        (torch.int8, None),
        (FLOAT8, "compressed-tensors"),
    ],
)
def test_weights_of_eight_bits_are_refused(
    dtype: torch.dtype, method: str | None, folder, refusal
) -> None:
    rewrite(folder, scaled(dtype, "weight_scale"))
    if method:
        change_json(folder / "config.json", quantization_config={"quant_method": method})
    line = refusal()
    assert line.startswith(f"{folder}: the weights of tiny are quantised: model.layers.0.")
    take = "take the model's unquantised weights, or dequantise and save them with transformers"
    assert line.endswith(f"; {take}")


@pytest.mark.parametrize("suffix", ["weight_scale", "qzeros"])
def test_scales_that_are_not_used_are_refused(suffix: str, folder, refusal) -> None:
    rewrite(folder, scaled(torch.float16, suffix))
    name = f"model.layers.0.mlp.down_proj.{suffix}"
    assert f"tiny has scales of quantised weights, as {name}, that would not be" in refusal()


def test_names_of_scales() -> None:
    scales = [
        "a.weight_scale",
        "a.weight_scale_inv",
        "a.scales",
        "a.weight.absmax",
        "a.SCB",
        "a.zero_point",
        "qweight",
    ]
    plain = [
        "a.weight",
        "a.scale_net.weight",
        "a.position_ids",
        "layer_scale_parameter.weight",
        "a.escalate",
    ]
    assert all(map(SCALES.search, (f"x.{name}" for name in scales)))
    assert not any(map(SCALES.search, plain))


def test_masks_in_bytes_are_no_weights(folder, store: RowStore) -> None:
    mask = {"model.layers.0.self_attn.bias": torch.ones(1, 1, 4, 4).byte()}
    rewrite(folder, lambda weights: weights | mask)
    model = load(
        "tiny",
        tiny_params({"tiny": folder}),
        store=store,
    )
    assert model.loglikelihood(["x"]).tokens[0] == 1
    assert model.doubts == [
        "the model's files: 1 tensors are not used, as model.layers.0.self_attn.bias"
    ]


@pytest.mark.slow
def test_tensors_that_are_not_used_are_a_warning_in_the_result_also_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    folder = save_tiny(tmp_path / "tiny", max_position_embeddings=1024)
    change_json(folder / "config.json", num_hidden_layers=2)
    fingerprints = set()
    for _ in range(2):
        result = evenruler.measure(
            f"local:{folder}",
            "questionnaires-gad-7",
            limit=2,
            size="trial",
        )
        unused = "9 tensors are not used, as model.layers.2.input_layernorm.weight"
        assert f"the model's files: {unused}" in result.warnings
        fingerprints.add(result.model.fingerprint.numbers)
    assert len(fingerprints) == 1


def test_a_model_without_layers_is_refused(folder, refusal) -> None:
    change_json(folder / "config.json", num_hidden_layers=0)
    assert "tiny has no layers (num_hidden_layers is 0)" in refusal()
