"""Weights that need scales are refused; other tensors that are not used are a warning in the
result."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import evenruler
from evenruler.models import load
from evenruler.models.loading import SCALES
from tests.tiny import save_tiny, tiny_params

FLOAT8 = torch.float8_e4m3fn


def rewrite(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def scaled(dtype: torch.dtype, suffix: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Linear weights divided by their scale, and the scales beside them, as FP8 models are
    published."""

    def change(weights):
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


@pytest.mark.parametrize(
    ("dtype", "method"),
    [
        (FLOAT8, None),
        (torch.int8, None),
        (torch.uint8, "modelopt"),
        (FLOAT8, "compressed-tensors"),
    ],
)
def test_weights_of_eight_bits_are_refused(
    dtype,
    method,
    tmp_path,
    store,
    error_of,
) -> None:
    folder = save_tiny(tmp_path / "tiny")
    rewrite(folder, scaled(dtype, "weight_scale"))
    if method:
        path = folder / "config.json"
        path.write_text(
            json.dumps(
                {**json.loads(path.read_text()), "quantization_config": {"quant_method": method}}
            )
        )
    line = error_of(load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood, ["x"])
    assert line.startswith(f"{folder}: the weights of tiny are quantised: model.layers.0.")
    assert line.endswith(
        "; take the model's unquantised weights, or dequantise and save them with transformers"
    )


@pytest.mark.parametrize("suffix", ["weight_scale", "qzeros"])
def test_scales_that_are_not_used_are_refused(suffix, tmp_path, store, error_of) -> None:
    folder = save_tiny(tmp_path / "tiny")
    rewrite(folder, scaled(torch.float16, suffix))
    line = error_of(load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood, ["x"])
    assert (
        f"tiny has scales of quantised weights, as model.layers.0.mlp.down_proj.{suffix}, that "
        "would not be" in line
    )


def test_weights_of_eight_bits_in_a_pickle(tmp_path, store, error_of) -> None:
    folder = save_tiny(tmp_path / "tiny")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(scaled(torch.int8, "weight_scale")(weights), folder / "pytorch_model.bin")
    line = error_of(load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood, ["x"])
    assert "the weights of tiny are quantised" in line


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


def test_masks_in_bytes_are_no_weights(tmp_path, store) -> None:
    folder = save_tiny(tmp_path / "tiny")
    rewrite(
        folder,
        lambda weights: {**weights, "model.layers.0.self_attn.bias": torch.ones(1, 1, 4, 4).byte()},
    )
    model = load("tiny", tiny_params({"tiny": folder}), store=store)
    assert model.loglikelihood(["x"]).tokens[0] == 1
    assert model.doubts == [
        "the model's files: 1 tensors are not used, as model.layers.0.self_attn.bias"
    ]


@pytest.mark.slow
def test_tensors_that_are_not_used_are_a_warning_in_the_result_also_from_the_store(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    folder = save_tiny(tmp_path / "tiny", max_position_embeddings=1024)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_hidden_layers": 2}))
    results = [
        evenruler.measure(f"local:{folder}", "questionnaires-gad-7", limit=2, size="trial")
        for _ in range(2)
    ]
    warning = "the model's files: 9 tensors are not used, as model.layers.2.input_layernorm.weight"
    assert all(warning in result.warnings for result in results)
    fingerprints = [result.model.fingerprint for result in results]
    assert fingerprints[0] == fingerprints[1]
    assert fingerprints[0] is not None
    assert fingerprints[0].numbers


def test_a_model_without_layers_is_refused(tmp_path, store, error_of) -> None:
    folder = save_tiny(tmp_path / "tiny")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_hidden_layers": 0}))
    line = error_of(load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood, ["x"])
    assert "tiny has no layers (num_hidden_layers is 0)" in line
