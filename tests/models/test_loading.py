"""Files that hold no whole model are refused; nothing is made up for what they lack."""

import json
import shutil
from functools import cache
from pathlib import Path

import gguf as format_of_gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from evenruler.models import load, sources
from evenruler.models.loading import convert_load_errors, dtype_of, save_tokenizer, stored_dtype
from tests.tiny import KINDS, catalogue_of, save_tiny, tiny_declaration, tiny_params, tiny_tokenizer

SIZE = KINDS["llama"]
HEADS, KV_HEADS, WIDTH = (
    SIZE["num_attention_heads"],
    SIZE["num_key_value_heads"],
    SIZE["hidden_size"],
)

UP = "blk.1.ffn_up.weight"


@cache
def tensors() -> dict[str, np.ndarray]:
    """Weights of a tiny llama under the names that GGUF gives them."""
    names = format_of_gguf.get_tensor_name_map(
        format_of_gguf.MODEL_ARCH.LLAMA, SIZE["num_hidden_layers"]
    )
    config = AutoConfig.for_model(**SIZE, vocab_size=len(tiny_tokenizer()))
    weights = AutoModelForCausalLM.from_config(config).state_dict()
    return {names.get_name(name, (".weight",)): weights[name].numpy() for name in weights}


def save_gguf(path: Path, **changes: np.ndarray | None) -> Path:
    """Save a tiny llama as one GGUF file; by tensor, other values, or None to leave it out."""
    tokenizer = tiny_tokenizer()
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer = format_of_gguf.GGUFWriter(path, "llama")
    for field, setting in (
        ("block_count", SIZE["num_hidden_layers"]),
        ("context_length", SIZE["max_position_embeddings"]),
        ("embedding_length", WIDTH),
        ("feed_forward_length", SIZE["intermediate_size"]),
        ("head_count", HEADS),
        ("head_count_kv", KV_HEADS),
        ("layer_norm_rms_eps", 1e-5),
        ("rope_freq_base", 10000.0),
        ("vocab_size", len(words)),
        ("tokenizer_model", "gpt2"),
        ("token_list", words),
        ("token_types", [3 if word in tokenizer.all_special_tokens else 1 for word in words]),
        ("token_merges", ["Ġ t", "h e"]),
        ("bos_token_id", tokenizer.bos_token_id),
        ("eos_token_id", tokenizer.eos_token_id),
    ):
        getattr(writer, f"add_{field}")(setting)
    for name, weight in (tensors() | changes).items():
        if weight is not None:
            writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class TestGguf:
    @pytest.fixture
    def convert(self, tmp_path):
        """Converts a file with these changes; gives its folder."""
        folder = tmp_path / "model"

        def converted(**changes):
            path = save_gguf(tmp_path / "tiny.gguf", **changes)
            folder.mkdir()
            sources.convert_gguf(path, folder, "params.yaml: models.tiny")
            return folder

        return converted

    def test_a_whole_file_is_converted_with_its_weights(self, convert) -> None:
        model = AutoModelForCausalLM.from_pretrained(convert())

        weight = model.get_submodule("model.layers.1.mlp.up_proj").weight
        assert weight.dtype == torch.float32
        assert torch.equal(weight, torch.from_numpy(tensors()[UP]))

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({UP: None}, "tiny lacks 1 tensors, as model.layers.1.mlp.up_proj.weight; see its"),
            (
                {UP: np.ones((SIZE["intermediate_size"] // 2, WIDTH), np.float32)},
                "",
            ),
        ],
        ids=["layer", "shape"],
    )
    def test_tensors_that_lack_or_do_not_fit_are_refused(
        self, changes, reason, convert, tmp_path, error_of
    ) -> None:
        line = error_of(convert, **changes)

        assert line.startswith(f"params.yaml: models.tiny: {reason}")
        assert list((tmp_path / "model").iterdir()) == []


class TestEmbedder:
    @pytest.fixture
    def refusal(self, shipped_params, store, tmp_path, error_of):
        """The line that an embedder ends with, a copy of the shipped one with some change."""
        name = "all-minilm-l6-v2"
        shipped = sources.locate_model(name, shipped_params.models[name], store)

        def refuse(change):
            folder = shutil.copytree(shipped, tmp_path / "model")
            change(folder)
            declared = tiny_declaration({"tiny": tmp_path})
            declared["models"]["minilm"] |= {
                "source": f"local:{folder}",
                "sha256": None,
            }
            return error_of(load("minilm", catalogue_of(declared), store=store).embed, ["x"])

        return refuse

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("model.safetensors", b"rubbish " * 100),
            ("config.json", b"{"),
            ("tokenizer.json", b"{}"),
        ],
    )
    def test_broken_files_are_refused_in_one_line(self, file, content, refusal, tmp_path) -> None:
        line = refusal(lambda folder: (folder / file).write_bytes(content))

        assert line.startswith(f"{tmp_path / 'model'}: minilm does not load (")
        assert line.endswith("); see its `source`")

    def test_weights_that_lack_a_tensor_are_refused(self, refusal) -> None:
        name = "encoder.layer.0.output.dense.weight"

        def without(folder: Path) -> None:
            weights = load_file(folder / "model.safetensors")
            del weights[name]
            save_file(
                weights,
                folder / "model.safetensors",
                metadata={"format": "pt"},
            )

        assert name in refusal(without)


class TestLoading:
    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (OSError("a\nb"), "a"),
        ],
    )
    def test_the_first_line_of_what_is_wrong(self, error, reason, error_of) -> None:
        def load() -> None:
            with convert_load_errors("tiny", "here"):
                raise error

        assert error_of(load) == f"here: tiny does not load ({reason}); see its `source`"

    def test_what_is_no_fault_of_the_files_goes_through(self) -> None:
        with pytest.raises(RuntimeError, match="CUDA out of"), convert_load_errors("tiny", "here"):
            raise RuntimeError("CUDA out of memory")

    def test_layers_that_the_configuration_does_not_have_are_noted(
        self, tmp_path, store, capsys
    ) -> None:
        folder = save_tiny(tmp_path / "tiny", num_hidden_layers=2)
        config = folder / "config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "num_hidden_layers": 1}))

        load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood(["x"])

        assert (
            "tiny: 9 tensors of its files are not used, as model.layers.1."
            in capsys.readouterr().err
        )


def test_a_tokenizer_is_saved_in_the_same_bytes_whether_it_was_loaded_offline(
    tmp_path: Path,
) -> None:
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    contents = []
    for offline in (True, False):
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
        tokenizer.init_kwargs["local_files_only"] = offline
        folder = tmp_path / f"saved-{offline}"
        save_tokenizer(tokenizer, folder)
        assert tokenizer.init_kwargs["local_files_only"] is offline
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]
    assert "tokenizer_config.json" in contents[0]


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({"dtype": "float16"}, "float16"),
        ({"text_config": {"torch_dtype": "bfloat16"}}, "bfloat16"),
        ({}, ""),
    ],
)
def test_the_dtype_of_weights_is_that_of_the_configuration(config, dtype) -> None:
    assert dtype_of(config) == dtype


OF_FIRST = [
    (torch.bfloat16, "bfloat16"),
    (torch.float16, "float16"),
    (torch.float32, "float32"),
    (torch.float64, "float32"),
]


@pytest.mark.parametrize("named", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize(("first", "dtype"), OF_FIRST)
def test_else_it_is_that_of_the_first_tensor_of_floats(named, first, dtype, tmp_path) -> None:
    (tmp_path / "config.json").write_text("{}")
    tensors = {"a": torch.ones(2, dtype=torch.int64), "b": torch.ones(2, dtype=first)}
    save = torch.save if named.endswith(".bin") else save_file
    save(tensors, tmp_path / named)
    assert stored_dtype(tmp_path) == dtype


def test_a_folder_without_weights_is_computed_in_float32(tmp_path) -> None:
    assert stored_dtype(tmp_path) == "float32"
