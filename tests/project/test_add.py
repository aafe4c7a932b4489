"""`evenruler add` over real HTTP, the Hub's own client in between."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenruler.declaration.params import load_params
from evenruler.project.add import thinking_of
from tests.hub_client import Client
from tests.loopback_hub import LoopbackHub, running
from tests.project.hub_repository import add_model, add_repository, list_errors, make_client
from tests.warm import Warm

ABOVE = """\
# The declaration of a test.
models: # the catalogue
  here: {kind: causal, source: "local:weights/here",   licence: mit, origin: of our own} # ours
"""
BELOW = """\

  # Of nobody yet.
# Of the next.
families: {framing:   {}}
"""
CAUSAL = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
}
MASKED = {
    "architectures": ["BertForMaskedLM"],
    "model_type": "bert",
    "torch_dtype": "float32",
}
LABELS = {"0": "contradiction", "1": "neutral", "2": "entailment"}
NLI = {
    "architectures": ["BertForSequenceClassification"],
    "model_type": "bert",
    "id2label": LABELS,
}
MOVED = {"other/model.safetensors": ""}
THINKS = "{% if add_generation_prompt %}{% if not enable_thinking %}<think></think>{% endif %}"
CHAT = {"tokenizer_config.json": json.dumps({"chat_template": THINKS})}


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with running() as hub:
        yield hub


@pytest.fixture
def client(hub: LoopbackHub, tmp_path: Path, warm_client: Warm | None) -> Client:
    return make_client(hub, tmp_path, ABOVE + BELOW, warm_client)


@pytest.fixture
def params(client: Client) -> Path:
    return client.folder / "params.yaml"


def test_a_chat_is_written_whole_and_all_else_stays(client, params, hub) -> None:
    commit = add_model(hub, "org/Chat-1.5B", CAUSAL, CHAT)
    output = client.run("evenruler", "add", "hub:org/Chat-1.5B", "--family", "saged", "--yes")
    entry = f"""\
  chat-1-5b:
    kind: causal
    source: hub:org/Chat-1.5B
    revision: {commit}
    dtype: bfloat16
    chat: true
    thinking: off
    licence: apache-2.0
    origin: org/Chat-1.5B
    families:
    - saged
    profile: paper
"""
    assert params.read_text() == ABOVE + entry + BELOW
    assert "+    thinking: off\n" in output
    assert output.endswith("params.yaml: models now holds chat-1-5b; next: `evenruler check`\n")
    model = load_params(params).models["chat-1-5b"]
    assert (model.chat, model.thinking, model.entailment) == (True, "off", None)


def test_a_base_model_is_asked_by_all_families_and_about_entailment(client, params, hub) -> None:
    """At a tag of its own, under a name of ours, with a template in no file."""
    commit = add_model(hub, "org/base", {**CAUSAL, "torch_dtype": "float32"})
    hub.repos["org/base"].tags["v1"] = commit
    put_newer = hub.repos["org/base"].commit({}, "without files")
    words = ("--name", "plain", "--profile", "quick", "--yes")
    client.run("evenruler", "add", "hub:org/base@v1", *words)
    model = load_params(params).models["plain"]
    assert model.revision == commit != put_newer
    assert (model.dtype, model.chat, model.entailment) == ("float32", False, True)
    assert (model.families, model.profile) == (None, "quick")


@pytest.mark.parametrize(
    ("config", "words", "kind"),
    [
        (MASKED, (), "masked"),
        (NLI, ("--family", "questionnaires"), "nli"),
        ({**NLI, "id2label": {"0": "sad", "1": "glad"}}, ("--kind", "classifier"), "classifier"),
    ],
)
def test_its_kind_is_that_of_its_class_or_as_the_user_says(
    client, params, hub, config, words, kind
) -> None:
    add_model(hub, "org/model", config)
    client.run("evenruler", "add", "hub:org/model", *words, "--yes")
    model = load_params(params).models["model"]
    assert (model.kind, model.entailment) == (kind, None)


def test_a_diff_that_is_refused_leaves_the_file_as_it_was(client, params, hub) -> None:
    add_model(hub, "org/model", CAUSAL)
    client.run("evenruler", "add", "hub:org/model", typed="n\n", status=1)
    assert params.read_text() == ABOVE + BELOW


@pytest.mark.parametrize(
    ("config", "files", "words", "line"),
    [
        ({}, {}, (), "hub:org/model: its configuration says no class, which is nothing that can"),
        (
            {"architectures": ["ResNetForImageClassification"], "model_type": "resnet"},
            {},
            (),
            "hub:org/model: its configuration says ResNetForImageClassification, which is nothing",
        ),
        (
            {**CAUSAL, "quantization_config": {"bits": 4}},
            {},
            (),
            "hub:org/model: its weights are quantised; take the model's unquantised weights",
        ),
        (
            {**CAUSAL, "model_type": "phi3small"},
            {},
            (),
            "hub:org/model: transformers has no model of type 'phi3small'; name another model;",
        ),
        (
            MASKED,
            {},
            ("--family", "saged"),
            "--family saged: it asks nothing that a model of kind masked can do; name another",
        ),
        (CAUSAL, {}, ("--family", "sage"), "--family: no family 'sage'; did you mean 'saged'?"),
        (CAUSAL, {}, ("--name", "here"), "params.yaml: models: there is a model 'here' already"),
        (CAUSAL, {}, ("--name", "A B"), "--name: found 'A B'; say lower-case letters, digits and"),
        (
            CAUSAL,
            {**MOVED, "model.safetensors": None},
            (),
            "hub:org/model: no weights (*.safetensors);",
        ),
        (CAUSAL, {"tokenizer.json": None}, (), "hub:org/model: no tokenizer; name a repository"),
        (CAUSAL, {"config.json": None}, (), "hub:org/model: no config.json; name a repository"),
    ],
)
def test_what_cannot_be_asked_is_one_line(client, params, hub, config, files, words, line) -> None:
    add_model(hub, "org/model", config, files)
    (error,) = list_errors(client.run("evenruler", "add", "hub:org/model", *words, status=2))
    assert error.startswith(f"error: {line}")
    assert params.read_text() == ABOVE + BELOW


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("org/model", "evenruler add: found 'org/model'; say hub:ORG/NAME"),
        ("local:weights", "evenruler add: found 'local:weights'; say hub:ORG/NAME"),
        ("hub:org/none", "hub:org/none: org/none is not on the Hub (or private); check the name"),
        ("hub:org/closed", "hub:org/closed: org/closed is gated; accept its terms on its page"),
    ],
)
def test_a_source_that_cannot_be_read_is_one_line(client, hub, source, line) -> None:
    add_repository(hub, "org/closed", gated=True)
    output = client.run("evenruler", "add", source, status=2, token="hf_read")
    (error,) = list_errors(output)
    assert error.startswith(f"error: {line}")


@pytest.mark.parametrize(
    ("template", "setting"),
    [
        ("{{ messages }}", None),
        ("{% if enable_thinking %}<think>{% endif %}{{ add_generation_prompt }}", "off"),
        ("{{ m.split('</think>') }}{% if add_generation_prompt %}assistant", None),
        ("{% if add_generation_prompt %}assistant<think>{% endif %}", {"tokens": 4096}),
        (
            "<|channel|>final<|message|>{% if add_generation_prompt %}assistant",
            {"tokens": 4096, "end": "<|channel|>final<|message|>"},
        ),
    ],
)
def test_thinking_is_switched_off_or_has_a_budget_as_the_template_says(template, setting) -> None:
    assert thinking_of(template) == setting


@pytest.mark.parametrize(
    ("stored", "dtype"), [("float16", "float16"), ("float64", "auto"), ("", "auto")]
)
def test_its_dtype_is_that_of_its_weights_where_a_model_can_be_computed_in_it(
    client, params, hub, stored, dtype
) -> None:
    add_model(hub, "org/model", {**CAUSAL, "torch_dtype": stored})
    client.run("evenruler", "add", "hub:org/model", "--yes")
    assert load_params(params).models["model"].dtype == dtype
