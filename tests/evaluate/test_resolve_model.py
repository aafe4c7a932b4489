from pathlib import Path

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.evaluate.resolve_model import kind_of, parse_options, resolve_model
from evenruler.models.chat_settings import Thinking
from evenruler.models.starts import OF_TOKENIZER, Start
from evenruler.models.store import RowStore
from tests.evaluate.conftest import ErrorOf
from tests.tiny import save_tiny, save_tiny_masked

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("class_name", "model_type", "kind"),
    [
        ("LlamaForCausalLM", "llama", "causal"),
        ("GPT2LMHeadModel", "gpt2", "causal"),
        ("BertForMaskedLM", "bert", "masked"),  # BERT has a causal class, too
        ("RobertaForMaskedLM", "roberta", "masked"),
        ("T5ForConditionalGeneration", "t5", "seq2seq"),
        ("BartForConditionalGeneration", "bart", "seq2seq"),
        ("T5Gemma2ForConditionalGeneration", "t5gemma2", "seq2seq"),  # which takes images, too
        ("Mistral3ForConditionalGeneration", "mistral3", "causal"),
        ("Idefics3ForConditionalGeneration", "idefics3", "causal"),
        ("IdeficsForVisionText2Text", "idefics", "causal"),  # by no ending
        ("BertForSequenceClassification", "bert", "nli"),
    ],
)
def test_the_kind_is_that_of_the_configuration(class_name: str, model_type: str, kind: str) -> None:
    config = {
        "architectures": [class_name],
        "model_type": model_type,
        "is_encoder_decoder": kind == "seq2seq",
        "id2label": {"0": "CONTRADICTION", "1": "neutral", "2": "entailment"},
    }
    assert kind_of(config, "x") == kind


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"architectures": ["BertModel"], "model_type": "bert"}, "BertModel"),
        ({"architectures": ["Gemma3ForTokens"], "model_type": "gemma3"}, "Gemma3ForTokens"),
        ({}, "no class"),
        (
            {
                "architectures": ["BertForSequenceClassification"],
                "id2label": {"0": "bad", "1": "good"},
            },
            "bad, good",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(error_of: ErrorOf, config: dict, message: str) -> None:
    line = error_of(kind_of, config, "local:there")
    assert line.startswith("local:there: ")
    assert message in line
    assert "--kind" in line


def test_a_folder_says_whether_its_model_chats(
    tmp_path: Path, store: RowStore, tiny_folder: Path
) -> None:
    chat = resolve_model(f"local:{tiny_folder}", store)
    assert (chat.name, chat.entry.kind, chat.entry.chats) == ("tiny", "causal", True)
    plain = resolve_model(f"local:{save_tiny(tmp_path / 'Plain_One')}", store)
    assert (plain.name, plain.entry.chats, plain.entry.entailment) == ("plain-one", False, True)
    masked = resolve_model(f"local:{save_tiny_masked(tmp_path / 'masked')}", store)
    assert masked.entry.kind == "masked"


def test_a_file_of_a_package_is_pinned_by_its_checksum(
    packaged_store: RowStore, shipped_params
) -> None:
    declared = shipped_params.models["smollm2-135m-instruct"]
    model = resolve_model(declared.source, packaged_store)
    assert (model.name, model.entry.sha256) == ("smollm2-135m-instruct-q4-1", declared.sha256)
    assert model.entry.chats


def test_an_endpoint_chats_unless_it_is_said_otherwise(store: RowStore) -> None:
    assert resolve_model("endpoint:qwen/big-1", store).entry.kind == "chat"
    model = resolve_model("endpoint:qwen/big-1", store, kind="completions")
    assert (model.name, model.entry.kind, model.entry.source) == (
        "big-1",
        "completions",
        "endpoint:qwen/big-1",
    )


def test_a_name_of_the_catalogue(store: RowStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    model = resolve_model("gemma-3-270m", store)
    assert model.entry.licence == "gemma"
    renamed = resolve_model("gemma-3-270m", store, name="other")
    assert (renamed.name, renamed.entry.licence) == ("other", "gemma")
    assert resolve_model("gemma-3-270m", store, start="<s>").entry.start == "<s>"


def test_every_entry_of_the_catalogue_is_resolved_as_it_stands(
    store: RowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    declared = ParamsFile(Path("params.yaml")).catalogue
    for name, entry in declared.models.items():
        model = resolve_model(name, store)
        assert (model.name, model.entry) == (name, entry)
        assert model.catalogue == declared


def test_files_are_located_once(
    store: RowStore, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = resolve_model(f"local:{tiny_folder}", store)
    assert resolved.folder == tiny_folder
    monkeypatch.delattr("evenruler.models.sources.locate_model")
    assert resolved.load_model(store, "cpu", None).start == Start("<s>", OF_TOKENIZER)


def test_a_repository_with_the_name_of_a_file(error_of: ErrorOf, store: RowStore) -> None:
    line = error_of(resolve_model, "hub:org/Model.GGUF", store)
    assert line.startswith("hub:org/Model.GGUF: a repository with the name of a file")


def test_a_slip_is_one_line_with_the_way_to_say_it(
    error_of: ErrorOf, store: RowStore, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "folder").mkdir()
    assert "say `local:folder`" in error_of(resolve_model, "folder", store)
    monkeypatch.chdir(ROOT)
    assert "gemma-3-270m" in error_of(resolve_model, "gemma-3-270", store)


def test_options_are_laid_over_what_an_entry_says(store: RowStore) -> None:
    options = parse_options(
        "4096", "low", ["enable_thinking=true", "date=26 Jul", "n=3"], 50, 9, "b"
    )
    entry = resolve_model("endpoint:big", store, options=options).entry
    assert entry.thinking == Thinking(tokens=4096)
    assert entry.template == {"enable_thinking": True, "date": "26 Jul", "n": 3}
    assert (entry.effort, entry.new_tokens, entry.timeout, entry.answers_as) == ("low", 50, 9, "b")


def test_options_of_a_name_of_the_catalogue(store: RowStore, elsewhere: Path) -> None:
    options = "thinking: {end: '[/T]', tokens: 9}, template: {a: 1}"
    entry = f"{{kind: chat, source: 'endpoint:a', licence: x, origin: x, {options}}}"
    (elsewhere / "params.yaml").write_text(
        f"models:\n  a: {entry}\n  b: {entry.replace('9', '7')}\n"
    )
    model = resolve_model("a", store, options=parse_options("80", template=["b=2"]))
    assert model.entry.thinking == Thinking(end="[/T]", tokens=80)
    assert model.entry.template == {"a": 1, "b": 2}
    assert model.catalogue.models["b"].thinking == Thinking(end="[/T]", tokens=7)


@pytest.mark.parametrize(("dtype", "expected"), [(None, "bfloat16"), ("float32", "float32")])
def test_a_dtype_is_laid_over_that_of_the_catalogue(
    dtype, expected, store: RowStore, elsewhere: Path
) -> None:
    entry = "{kind: causal, source: 'local:a', licence: x, origin: x, dtype: bfloat16}"
    (elsewhere / "params.yaml").write_text(f"models:\n  a: {entry}\n")
    assert resolve_model("a", store, dtype=dtype).entry.dtype == expected


def test_files_are_computed_in_their_own_dtype_unless_it_is_said_otherwise(
    store: RowStore, tiny_folder: Path
) -> None:
    source = f"local:{tiny_folder}"
    assert resolve_model(source, store).entry.dtype == "auto"
    assert resolve_model(source, store, dtype="float16").entry.dtype == "float16"
