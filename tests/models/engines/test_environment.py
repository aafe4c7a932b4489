import json
import shutil
from itertools import product

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from evenruler import repository
from evenruler.models import load
from evenruler.models.engines import environment
from evenruler.models.replay import FOLDER, RELEASE
from tests.models.conftest import change_json
from tests.models.conftest import model_entry as entry
from tests.tiny import save_tiny, tiny_params


@pytest.fixture
def folder(tmp_path):
    """A folder of its own, to be changed."""
    return save_tiny(tmp_path / "model", chat=True)


def one_weight(folder) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][5] += 1e-3
    save_file(
        weights,
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )


def one_merge_less(folder) -> None:
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["model"]["merges"].pop()
    path.write_text(json.dumps(tokenizer), encoding="utf-8")


def another_norm(folder) -> None:
    change_json(folder / "config.json", rms_norm_eps=1e-3)


def another_template(folder) -> None:
    path = folder / "chat_template.jinja"
    path.write_text(path.read_text() + " ")


CHANGES = [one_weight, one_merge_less, another_norm, another_template]


@pytest.fixture
def engine(folder, store):
    """Describes the engine of the model in the folder, as it is now."""

    def describe(device="cpu", **fields):
        return environment.engine_string(folder, entry(**fields), store, device)

    return describe


class TestChange:
    @pytest.mark.parametrize("change", CHANGES)
    def test_what_answers_depend_on_makes_another_engine(self, change, folder, engine) -> None:
        before = engine()
        change(folder)

        assert engine() != before

    def test_another_version_of_a_library_makes_another_engine(self, engine, monkeypatch) -> None:
        before, version = engine(), environment.version
        versions = {"tokenizers": "0.0"}
        monkeypatch.setattr(
            environment, "version", lambda name: versions.get(name) or version(name)
        )

        assert engine() != before

    def test_a_gpu_computes_in_what_is_declared_and_a_cpu_in_float32(self, folder, engine) -> None:
        gpu = environment.ComputeEnvironment("cuda-9.0-80GiB", ())
        cpu = environment.ComputeEnvironment("cpu", ())
        engines = set()
        for dtype, on in product(("float32", "bfloat16", "float16"), (cpu, gpu)):
            expected = dtype if on is gpu else "float32"
            assert environment.choose_dtype(dtype, on.device, folder) == expected
            described = engine(on, dtype=dtype)
            assert json.loads(described)["dtype"] == expected
            engines.add(described)
        assert len(engines) == 4  # one CPU, three on the GPU

    @pytest.mark.parametrize("stored", ["float32", "bfloat16", "float16"])
    def test_a_gpu_computes_as_weights_are_stored_where_nothing_is_declared(
        self, stored, tmp_path, folder, engine
    ) -> None:
        """Under the key of the same dtype declared; on a CPU a key says float32 as ever."""
        AutoModelForCausalLM.from_pretrained(folder, dtype=stored).save_pretrained(folder)
        gpu = environment.ComputeEnvironment("cuda-9.0-80GiB", ())

        assert environment.choose_dtype("auto", "cuda-9.0-80GiB", folder) == stored
        assert engine(gpu) == engine(gpu, dtype="auto") == engine(gpu, dtype=stored)
        assert json.loads(engine("cpu"))["dtype"] == "float32"
        assert engine("cpu") == engine("cpu", dtype=stored)

    def test_a_gpu_that_multiplies_in_tf32_is_another_device(self, monkeypatch) -> None:
        monkeypatch.setattr(environment, "count_gpus", lambda: 1)
        monkeypatch.setattr(environment, "card_memory", lambda: 80 * 2**30)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
        names = []
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            names.append(environment.device_class())
        torch.set_float32_matmul_precision("highest")

        assert names == ["cuda-9.0-80GiB", "cuda-9.0-80GiB-tf32"]
        assert not environment.uses_tf32()

    def test_a_gpu_is_known_by_its_memory_too_since_packs_follow_from_it(self, monkeypatch) -> None:
        """Not by what is free: a card that others use has the answers that it had."""
        monkeypatch.setattr(environment, "count_gpus", lambda: 1)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
        free_and_total = (
            3 * 2**30,
            139 * 2**30 + 500 * 2**20,
        )
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: free_and_total)

        assert environment.device_class() == "cuda-9.0-139GiB"

    def test_logits_are_named_on_a_gpu_and_a_cpu_is_described_as_ever(
        self, engine, monkeypatch
    ) -> None:
        """Another word of a CPU's would make all that is stored stale."""
        monkeypatch.setattr(environment, "device_class", lambda: "cuda-9.0-139GiB")

        cpu, gpu = (json.loads(engine(device)) for device in ("cpu", "cuda"))

        assert " ".join(cpu) == (
            "adapter attention backend chat_template code config device dtype libraries "
            "quantisation tokenizer weights"
        )
        libraries = {"torch", "transformers", "tokenizers", "sentence-transformers"}
        assert set(cpu["libraries"]) == libraries
        assert cpu["device"] == "cpu"
        assert gpu == {**cpu, "logits": "float32", "device": "cuda-9.0-139GiB"}

    @pytest.mark.parametrize(
        ("file", "kind"),
        [
            ("sentence_bert_config.json", "embedder"),  # max_seq_length
            ("1_Pooling/config.json", "embedder"),
            ("model.safetensors.index.json", "causal"),  # says which of several weights are loaded
            ("code/own.py", "causal"),
            ("tokenizer.model", "causal"),
            ("0_Transformer/deep/model.safetensors", "causal"),
        ],
    )
    def test_every_file_that_is_read_counts(self, file, kind, folder, engine) -> None:
        module = {"type": "sentence_transformers.models.Transformer", "path": "0_Transformer"}
        (folder / "modules.json").write_text(json.dumps([module]))
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        engines = set()
        for length in (256, 16):
            path.write_text(f'{{"max_seq_length": {length}}}')
            engines.add(engine(kind=kind))
        assert len(engines) == 2

    @pytest.mark.parametrize(
        ("module", "what"),
        [
            (
                {"type": "own.Module", "path": ""},
                "the module 'own.Module' is no part of sentence-transformers",
            ),
            (
                {"type": "sentence_transformers.models.Dense", "path": "../x"},
                "the module '../x' lies outside",
            ),
            (["own.Module"], "the module '' is no part of sentence-transformers"),
        ],
        ids=["code", "outside", "list"],
    )
    def test_an_embedder_of_other_code_or_files_is_refused(
        self, module, what, folder, store, error_of
    ) -> None:
        (folder / "link").symlink_to(folder.parent)
        (folder / "modules.json").write_text(json.dumps([module]))

        line = error_of(environment.engine_string, folder, entry(kind="embedder"), store, "cpu")

        assert line.startswith(f"{folder / 'modules.json'}: {what}")
        assert environment.engine_string(
            folder, entry(), store, "cpu"
        )  # of other kinds nobody reads it


class TestNoChange:
    def test_where_a_model_lies_and_what_it_is_called_do_not_matter(
        self, folder, store, tmp_path
    ) -> None:
        texts = ["The man is", "x"]
        nats = load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood(texts).nats
        elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")

        moved = load(
            "other", tiny_params({"other": elsewhere}, licence="mit", origin="there"), store=store
        )

        assert moved.loglikelihood(texts).nats.tolist() == nats.tolist()
        assert moved.asked == 0

    def test_a_file_that_no_answer_depends_on_does_not_count(self, folder, engine) -> None:
        before = engine()
        (folder / "README.md").write_text("read me")

        assert engine() == before


@pytest.mark.parametrize("name", ["minilm-sentiment", "minilm-toxicity"])
def test_the_engine_of_a_shipped_model_is_that_of_its_released_answers(
    name, shipped_params, store
) -> None:
    """Released answers are found by it, so that another way to describe the same files would lose
    them all."""
    release = json.loads(
        (repository.find_repository_root() / FOLDER / RELEASE).read_text(encoding="utf-8")
    )
    engine = json.loads(load(name, shipped_params, store=store).engine)
    engines = [
        {**released, "libraries": engine["libraries"]} for released in release["engines"].values()
    ]

    assert engine in engines
