"""Each file that loading opens is part of the key: flipped, it makes another engine, and outside it
is refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, BertModel, BertTokenizer

from evenruler.errors import UserError
from evenruler.models import load
from evenruler.models.in_memory import WeightsHash, hash_content
from evenruler.models.store import RowStore
from evenruler.models.tracing import CARDS, CODE, require_hashed, traced_reads
from tests.models.conftest import ErrorOf, change_json, with_lora
from tests.tiny import MASKED, save_tiny, save_tiny_masked, tiny_params, tiny_tokenizer

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning"
)  # of PEFT


def plain(folder: Path) -> dict[str, Any]:
    save_tiny(folder, chat=True)
    return {}


def sharded(folder: Path) -> dict[str, Any]:
    save_tiny(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="20KB")
    return {}


def of_merges(folder: Path) -> dict[str, Any]:
    """A tokenizer in two files, as GPT-2 was published."""
    save_tiny(folder, "gpt2")
    bpe = json.loads(tiny_tokenizer().backend_tokenizer.to_str())["model"]
    (folder / "tokenizer.json").unlink()
    lines = ["#version: 0.2", *map(" ".join, bpe["merges"]), ""]
    roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<pad>"}
    text_by_file = {
        "vocab.json": json.dumps(bpe["vocab"]),
        "merges.txt": "\n".join(lines),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "GPT2Tokenizer", **roles}),
    }
    for file, text in text_by_file.items():
        (folder / file).write_text(text, encoding="utf-8")
    return {}


def pickled(folder: Path) -> dict[str, Any]:
    save_tiny(folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return {}


def adapted(folder: Path) -> dict[str, Any]:
    save_tiny(folder / "base")
    model = AutoModelForCausalLM.from_pretrained(folder / "base")
    with_lora(model, target_modules=["q_proj"]).save_pretrained(folder / "adapter")
    for path in (folder / "base").iterdir():
        path.rename(folder / path.name)
    (folder / "base").rmdir()
    change_json(folder / "adapter/adapter_config.json", base_model_name_or_path=str(folder))
    return {"adapter": str(folder / "adapter")}


def masked(folder: Path) -> dict[str, Any]:
    save_tiny_masked(folder)
    return {"kind": "masked"}


def embedding(folder: Path) -> dict[str, Any]:
    """As sentence-transformers saves one: WordPiece in `vocab.txt`, a folder for pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig

    parts = folder.parent / "parts"
    parts.mkdir()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*marks, "the", "man", "nurse", "##s", *"abcdefghijklmnopqrstuvwxyz"]
    (parts / "vocab.txt").write_text("\n".join(words) + "\n")
    BertTokenizer(str(parts / "vocab.txt")).save_pretrained(parts)
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(words), **MASKED)).save_pretrained(parts)
    body = Transformer(str(parts), max_seq_length=32)
    SentenceTransformer(modules=[body, Pooling(32)], device="cpu").save(str(folder))
    return {"kind": "embedder"}


KINDS = [
    plain,
    sharded,
    of_merges,
    pickled,
    adapted,
    masked,
    embedding,
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda save: save.__name__)
def saved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp(request.param.__name__) / "model"
    folder.mkdir()
    return folder, request.param(folder)


def catalogue(folder: Path, entry: dict[str, Any]) -> Any:
    return tiny_params({"tiny": folder}, **entry)


def opened(folder: Path, entry: dict[str, Any], store: RowStore) -> set[Path]:
    """The files of its own that the loader opens."""
    model = load(
        "tiny",
        catalogue(folder, entry),
        store=store,
    )
    with traced_reads() as reads:
        assert model._load()
    root = folder.resolve()
    paths = {Path(read).resolve() for read in reads}
    inside = [path for path in paths if path.is_relative_to(root) and path.is_file()]
    return {path.relative_to(root) for path in inside}


def flipped(path: Path, content: bytes) -> bytes:
    """A space more in a text, a bit less or more elsewhere."""
    if path.suffix in (".json", ".txt", ".jinja"):
        return content + b" "
    return bytes([content[0] ^ 1]) + content[1:]


def test_each_file_that_a_loader_opens_is_part_of_the_key(
    saved: tuple[Path, dict[str, Any]], store: RowStore
) -> None:
    folder, entry = saved
    params = catalogue(folder, entry)
    before = load("tiny", params, store=store).engine
    read = opened(folder, entry, store)
    files = [
        path
        for path in sorted(read)
        if not any(
            map(
                path.match,
                (*CARDS, *CODE),
            )
        )
    ]
    assert len(files) >= 4, "weights, configuration and tokenizer at least"
    assert {".safetensors", ".bin"} & {path.suffix for path in files}
    assert {"tokenizer.json", "vocab.json", "vocab.txt"} & {path.name for path in files}
    for path in files:
        content = (folder / path).read_bytes()
        (folder / path).write_bytes(flipped(path, content))
        assert load("tiny", params, store=store).engine != before, path
        (folder / path).write_bytes(content)
    assert load("tiny", params, store=store).engine == before


def test_names_types_and_shapes_are_part_of_the_hash_of_weights() -> None:
    """All with the same bytes in the same order."""
    zeros = torch.zeros(4, dtype=torch.float32)
    layouts = [
        {"a": zeros},
        {"b": zeros},
        {"a": zeros.reshape(2, 2)},
        {"a": zeros.view(torch.int32)},
        {"a": zeros[:2], "b": zeros[2:]},
        {"a": zeros[:1], "b": zeros[1:]},
        {"a": (zeros,)},
        {"a": [zeros[:2], zeros[2:]]},
    ]
    assert len({hash_content(content, "tiny") for content in layouts}) == len(layouts)


@pytest.mark.parametrize(
    "replace",
    [lambda part: part + 1, lambda part: part.T, lambda part: part.view(torch.int32)],
    ids=["values", "order", "type"],
)
def test_a_tensor_that_is_replaced_is_hashed_again(replace) -> None:
    """PyTorch counts what is written to a tensor, and here nothing is."""
    part = torch.arange(16.0).view(4, 4)
    core, weights = torch.nn.Module(), WeightsHash()
    core.register_buffer("a", part)
    before = weights.sha256(core, "tiny", is_keyed=False)
    assert weights.sha256(core, "tiny", is_keyed=False) == before
    del core.a
    other = replace(part)
    assert other._version == part._version
    core.register_buffer("a", other)
    assert weights.sha256(core, "tiny", is_keyed=False) not in (before, "")


def test_a_part_that_cannot_be_read_needs_a_cache_key(error_of: ErrorOf) -> None:
    line = error_of(hash_content, {"a.state": object()}, "tiny")
    assert line.startswith("tiny: what it holds as a.state cannot be read (a object); ")
    assert line.endswith('give `cache_key="..."`, another one for other weights')
    assert hash_content({"a": object()}, "tiny", is_keyed=True)


class TestOutside:
    """What a file names outside its folder is loaded by the libraries, and so is refused."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "model"
        folder.mkdir()
        embedding(folder)
        return folder

    @pytest.mark.parametrize(
        "setting",
        [
            lambda place: {"tokenizer_name_or_path": str(place)},
            lambda place: {"tokenizer_args": {"tokenizer_file": str(place / "tokenizer.json")}},
        ],
        ids=["name", "args"],
    )
    def test_of_an_embedder(
        self,
        setting: Any,
        folder: Path,
        tmp_path: Path,
        store: RowStore,
        error_of: ErrorOf,
    ) -> None:
        other = shutil.copytree(folder, tmp_path / "other")
        (other / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b" ")
        change_json(folder / "sentence_bert_config.json", **setting(other))
        model = load(
            "tiny",
            catalogue(folder, {"kind": "embedder"}),
            store=store,
        )
        line = error_of(model.embed, ["the man"])
        assert line.startswith(f"{other}/")
        assert line.endswith("; put that file into the model's folder, and name it there")
        assert store.count() == 0

    def test_of_a_tokenizer(self, tmp_path: Path, store: RowStore) -> None:
        """Where the library reads the file elsewhere, it is refused."""
        folder, other = save_tiny(tmp_path / "model"), save_tiny(tmp_path / "other")
        change_json(folder / "tokenizer_config.json", tokenizer_file=f"{other}/tokenizer.json")
        model = load(
            "tiny",
            catalogue(folder, {}),
            store=store,
        )
        line = ""
        with traced_reads() as reads:
            try:
                model.loglikelihood(["x"])
            except UserError as error:
                line = str(error)
        is_read = any(Path(read).is_relative_to(other) for read in reads)
        assert line.startswith(f"{other}/") == is_read


class TestRequire:
    def test_what_is_outside_and_what_is_no_file_of_a_model(
        self, tmp_path: Path, error_of: ErrorOf
    ) -> None:
        folder, hashed = tmp_path / "model", {tmp_path / "model/config.json"}
        cases = {
            "other/mine.json": "tiny was loaded with a file outside its folder",
            "model/mine.json": "was loaded with 'mine.json', which is not among the files that are",
        }
        for file, reason in cases.items():
            path = tmp_path / file
            path.parent.mkdir()
            path.write_text("{}")
            assert reason in error_of(require_hashed, "tiny", [str(path)], hashed, [folder])
        for file in ("README.md", "config.json"):
            (folder / file).write_text("")
        sound = [f"{folder}/README.md", f"{folder}/config.json", json.__file__, "/proc/mounts"]
        require_hashed("tiny", [*sound, "/nowhere/x.json"], hashed, [folder])

    def test_files_of_a_model_count_though_they_lie_among_libraries(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_of: ErrorOf
    ) -> None:
        monkeypatch.setattr("sys.prefix", str(tmp_path))
        (tmp_path / "other.py").write_text("")
        require_hashed("tiny", [f"{tmp_path}/other.py"], set(), [tmp_path / "model"])
        names = (
            "a.safetensors a.bin a.pt a.model a.spm a.jinja a.tiktoken a.config.json a.index.json "
            "tokenizer.x vocab.x merges.x chat_template.x special_tokens_map.json modules.json "
            "added_tokens.json"
        )
        for name in names.split():
            path = tmp_path / name
            path.write_text("")
            line = error_of(require_hashed, "tiny", [str(path)], set(), [tmp_path / "model"])
            assert f"{name}: tiny was loaded with a file outside its folder" in line

    def test_sentencepiece_is_heard(self, tmp_path: Path) -> None:
        """It need not be installed, so a module of its name stands in, in another process."""
        lines = [
            "class SentencePieceProcessor:",
            "    def LoadFromFile(self, path): pass",
            "    Load = LoadFromFile",
        ]
        (tmp_path / "sentencepiece.py").write_text("\n".join(lines))
        (tmp_path / "spiece.model").write_text("")
        code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from evenruler.models.tracing import traced_reads
with traced_reads() as reads:
    import sentencepiece
    for method in ("Load", "LoadFromFile"):
        getattr(sentencepiece.SentencePieceProcessor(), method)({str(tmp_path / "spiece.model")!r})
print([read for read in reads if read.endswith(".model")])
"""
        process = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert process.stdout == f"{[str(tmp_path / 'spiece.model')] * 2}\n"
