"""Files that hold no whole model are refused; nothing is made up for what they lack."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import gguf as format_of_gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.models import load, sources
from evenruler.models.declarations import Catalogue
from evenruler.models.loading import convert_load_errors, require_complete, save_tokenizer
from tests.tiny import KINDS, catalogue_of, save_tiny, tiny_declaration, tiny_params, tiny_tokenizer

SIZE = KINDS["llama"]
HEADS, KV_HEADS, WIDTH = (
    SIZE["num_attention_heads"],
    SIZE["num_key_value_heads"],
    SIZE["hidden_size"],
)

UP = "blk.1.ffn_up.weight"


def tensors(vocabulary: int) -> dict[str, np.ndarray]:
    """Weights of a tiny llama under the names that GGUF gives them."""
    inner, narrow = SIZE["intermediate_size"], WIDTH // HEADS * KV_HEADS
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd": (vocabulary, WIDTH),
        "output_norm": (WIDTH,),
        "output": (vocabulary, WIDTH),
    }
    of_layer: dict[str, tuple[int, ...]] = {
        "attn_norm": (WIDTH,),
        "ffn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (narrow, WIDTH),
        "attn_v": (narrow, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_gate": (inner, WIDTH),
        "ffn_up": (inner, WIDTH),
        "ffn_down": (WIDTH, inner),
    }
    for layer in range(SIZE["num_hidden_layers"]):
        for name, shape in of_layer.items():
            shapes[f"blk.{layer}.{name}"] = shape
    random = np.random.default_rng(0)
    return {
        f"{name}.weight": random.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def save_gguf(path: Path, *without: str, **other: np.ndarray) -> Path:
    """Save a tiny llama as one GGUF file.

    Args:
        path: Of the file.
        *without: Tensors to leave out.
        **other: Other values of some, `up` for that of `UP`.
    """
    tokenizer = tiny_tokenizer()
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer = format_of_gguf.GGUFWriter(path, "llama")
    writer.add_block_count(SIZE["num_hidden_layers"])
    writer.add_context_length(SIZE["max_position_embeddings"])
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(SIZE["intermediate_size"])
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([3 if word in tokenizer.all_special_tokens else 1 for word in words])
    writer.add_token_merges(["Ġ t", "h e"])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    weights = tensors(len(words))
    if other:
        weights[UP] = other["up"]
    for name, weight in weights.items():
        if name not in without:
            writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class TestGguf:
    def converted(self, path: Path, folder: Path) -> Path:
        folder.mkdir()
        sources.convert_gguf(path, folder, "params.yaml: models.tiny")
        return folder

    def test_a_whole_file_is_converted_with_its_weights(self, tmp_path) -> None:
        folder = self.converted(save_gguf(tmp_path / "tiny.gguf"), tmp_path / "model")

        model = AutoModelForCausalLM.from_pretrained(folder)
        weight = model.get_submodule("model.layers.1.mlp.up_proj").weight
        expected = tensors(len(tiny_tokenizer()))[UP]
        assert weight.dtype == torch.float32
        assert torch.equal(weight, torch.from_numpy(expected))

    def test_it_is_cut_once_into_plain_arrays_and_names_are_mapped_once(
        self, tmp_path, monkeypatch
    ) -> None:
        """transformers alone reads it three times, and maps names for each of its submodules."""
        path, read, mapped = save_gguf(tmp_path / "tiny.gguf"), [], []
        reader, names = format_of_gguf.GGUFReader.__init__, format_of_gguf.get_tensor_name_map

        def reading(self, *args) -> None:
            reader(self, *args)
            read.append(type(self.data))

        monkeypatch.setattr(format_of_gguf.GGUFReader, "__init__", reading)
        monkeypatch.setattr(
            format_of_gguf,
            "get_tensor_name_map",
            lambda *args: (mapped.append(args), names(*args))[1],
        )
        self.converted(path, tmp_path / "model")

        assert read == [np.ndarray]
        assert len(mapped) == 1

    @pytest.mark.parametrize(
        ("name", "named"),
        [
            (UP, "model.layers.1.mlp.up_proj.weight"),
            ("output_norm.weight", "model.norm.weight"),
        ],
    )
    def test_a_file_that_lacks_a_tensor_is_refused(self, name, named, tmp_path, error_of) -> None:
        path = save_gguf(tmp_path / "tiny.gguf", name)

        line = error_of(self.converted, path, tmp_path / "model")

        assert (
            line == f"params.yaml: models.tiny: tiny lacks 1 tensors, as {named}; see its `source`"
        )
        assert list((tmp_path / "model").iterdir()) == []

    def test_a_tensor_of_another_shape_is_refused(self, tmp_path, error_of) -> None:
        path = save_gguf(
            tmp_path / "tiny.gguf", up=np.ones((SIZE["intermediate_size"] // 2, WIDTH), np.float32)
        )

        line = error_of(self.converted, path, tmp_path / "model")

        assert line.startswith("params.yaml: models.tiny: ")


class TestEmbedder:
    @pytest.fixture
    def broken(self, shipped_params, store, tmp_path) -> Callable[..., Catalogue]:
        """Catalogue whose embedder is a copy of the shipped one with some change."""
        name = "all-minilm-l6-v2"
        shipped = sources.locate_model(name, shipped_params.models[name], store)

        def make(change: Callable[[Path], object]) -> Catalogue:
            folder = shutil.copytree(shipped, tmp_path / "model")
            change(folder)
            declared = tiny_declaration({"tiny": tmp_path})
            declared["models"]["minilm"] |= {"source": f"local:{folder}", "sha256": None}
            return catalogue_of(declared)

        return make

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("model.safetensors", b"rubbish " * 100),
            ("config.json", b"{"),
            ("tokenizer.json", b"{}"),
        ],
    )
    def test_broken_files_are_refused_in_one_line(
        self, file, content, broken, store, tmp_path, error_of
    ) -> None:
        params = broken(lambda folder: (folder / file).write_bytes(content))
        embedder = load("minilm", params, store=store)

        line = error_of(embedder.embed, ["x"])

        assert line.startswith(f"{tmp_path / 'model'}: minilm does not load (")
        assert line.endswith("); see its `source`")

    def test_weights_that_lack_a_tensor_are_refused(self, broken, store, error_of) -> None:
        def without(folder: Path) -> None:
            weights = load_file(folder / "model.safetensors")
            del weights["encoder.layer.0.output.dense.weight"]
            save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

        line = error_of(load("minilm", broken(without), store=store).embed, ["x"])

        assert "encoder.layer.0.output.dense.weight" in line

    def test_no_text_is_an_error(self, shipped_params, store) -> None:
        embedder = load("all-minilm-l6-v2", shipped_params, store=store)

        with pytest.raises(ValueError, match=r"^no text to embed$"):
            embedder.embed([])
        assert embedder.asked == 0


class TestLoading:
    @pytest.mark.parametrize(("error", "reason"), [(OSError("a\nb"), "a"), (KeyError("a"), "'a'")])
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

    def test_missing_and_mismatched_count_alike(self, error_of) -> None:
        loading_info = {"missing_keys": {"b", "c"}, "mismatched_keys": {("a", (1,), (2,))}}

        line = error_of(require_complete, (object(), loading_info), "tiny", "here")

        assert line.startswith("here: tiny lacks 3 tensors, as ")


def test_a_tokenizer_is_saved_in_the_same_bytes_whether_it_was_loaded_offline(
    tmp_path,
) -> None:
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    for name, offline in (("offline", True), ("online", False)):
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
        tokenizer.init_kwargs["local_files_only"] = offline
        save_tokenizer(tokenizer, tmp_path / name)
        assert tokenizer.init_kwargs["local_files_only"] is offline
    files = sorted(path.name for path in (tmp_path / "online").iterdir())
    assert "tokenizer_config.json" in files
    for file in files:
        assert (tmp_path / "offline" / file).read_bytes() == (
            tmp_path / "online" / file
        ).read_bytes()
