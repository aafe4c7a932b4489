import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from evenruler.errors import UserError
from evenruler.models import load
from evenruler.models.declarations import Catalogue, ModelEntry, slug_of
from evenruler.models.store import RowStore
from tests.conftest import ROOT
from tests.models.conftest import model_entry
from tests.tiny import save_tiny_masked, tiny_params

CAUSAL = {"loglikelihood", "words", "next_words", "generate", "slor", "entail"}
ASKED = {
    "loglikelihood": lambda model: model.loglikelihood(["x"]),
    "replies": lambda model: model.replies(["x"]),
    "in_place": lambda model: model.in_place([]),
    "probabilities": lambda model: model.probabilities(["x"]),
    "embed": lambda model: model.embed(["x"]),
}
"""Public methods, by name; those that are no operation need one."""

NEEDS = {"replies": "generate", "probabilities": "classify"}


SOURCES = {"chat": "endpoint:big", "completions": "endpoint:big", "recorded": "recorded:x"}


def entry(kind: str, **fields: Any) -> ModelEntry:
    return model_entry(kind, **{"source": SOURCES.get(kind, "local:x")} | fields)


def test_an_unknown_name_is_answered_with_the_nearest(shipped_params, store, error_of) -> None:
    assert error_of(load, "gemma-3-270", shipped_params, store=store) == (
        "params.yaml: models: no model 'gemma-3-270'; check the name (did you mean "
        "'gemma-3-270m'?) or add an entry"
    )


def test_a_device_that_there_is_not(shipped_params, store, error_of) -> None:
    ask = partial(load, "all-minilm-l6-v2", shipped_params, store=store)
    assert "no device 'tpu' here" in error_of(ask, device="tpu")


class TestCan:
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("causal", CAUSAL),
            ("completions", {"loglikelihood", "words", "generate", "entail"}),
            ("seq2seq", {"words", "generate"}),
            ("chat", {"generate"}),
            ("masked", {"in_place", "pll"}),
            ("embedder", {"embed"}),
            ("recorded", {"loglikelihood"}),
        ],
    )
    def test_what_a_kind_can_do_is_known_from_its_declaration(self, kind, expected) -> None:
        assert entry(kind).operations == expected

    def test_there_is_no_other_operation(self, llama_folder, store) -> None:
        with pytest.raises(ValueError, match="no operation 'loglikelihoods'"):
            load("tiny", tiny_params({"tiny": llama_folder}), store=store).can("loglikelihoods")

    def test_what_it_cannot_do_is_one_line(self, tmp_path, store, shipped_params, error_of) -> None:
        embedder = load("all-minilm-l6-v2", shipped_params, store=store)
        masked = load(
            "tiny",
            tiny_params({"tiny": save_tiny_masked(tmp_path / "bert")}, kind="masked"),
            store=store,
        )
        for method, ask in ASKED.items():
            operation = NEEDS.get(method, method)
            other, only = (masked, "in_place, pll") if method == "embed" else (embedder, "embed")
            cannot = f"{other.name} (kind {other.kind}) cannot {operation}, only {only}"

            assert cannot in error_of(ask, other)
            assert other._backend is None


class TestDeclaration:
    def test_questionnaires_need_entailment_or_words_in_place(self) -> None:
        with pytest.raises(ValidationError, match="`entailment: true`, but kind chat can only"):
            entry("chat", entailment=True)
        for kind in ("nli", "masked"):
            assert entry(kind, entailment=True).entailment

    def test_how_a_hosted_model_is_asked(self) -> None:
        assert entry("completions").answering_methods == ["verbaliser", "sentence"]
        assert entry("completions", methods=["sentence"]).answering_methods == ["sentence"]
        assert (entry("chat").chats, entry("chat").continues) == (True, False)
        assert (entry("completions").chats, entry("completions").continues) == (False, True)
        with pytest.raises(ValidationError, match="declare it as kind chat"):
            entry("completions", chat=True)

    def test_a_start_token_is_of_kinds_that_score_texts(self) -> None:
        assert entry("completions", start="<s>").start == "<s>"
        with pytest.raises(ValidationError, match="`start` belongs to the kinds"):
            entry("chat", start="<s>")

    @pytest.mark.parametrize(("kind", "source"), [("chat", "local:x"), ("causal", "endpoint:x")])
    def test_kind_and_source_belong_together(self, kind, source) -> None:
        with pytest.raises(ValidationError, match="belongs to the kinds chat and completions"):
            entry(kind, source=source)

    def test_sampling_settings_are_checked(self) -> None:
        for wrong in (
            {"temperature": -1},
            {"top_p": 0},
            {"top_k": -1},
            {"temperatur": 1},
        ):
            with pytest.raises(ValidationError):
                entry("causal", sampling=wrong)
        with pytest.raises(ValidationError, match="models that generate"):
            entry("masked", sampling={"temperature": 1})

    @pytest.mark.parametrize("kind", ["masked", "embedder"])
    def test_only_weights_that_answer_questionnaires_are_adapted(self, kind) -> None:
        with pytest.raises(ValidationError, match="`intervention` belongs"):
            entry(kind, intervention="last")


def test_params_and_store_are_those_here_by_default(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path))

    assert load("all-minilm-l6-v2")._cache.store.root == tmp_path


def test_a_folder_without_params_is_a_mistake_of_the_user(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UserError, match="no such model, and no catalogue"):
        load("tiny", store=RowStore(tmp_path / "store"))


def test_the_declaration_and_the_room_are_imported_without_the_libraries_behind_backends() -> None:
    code = (
        "import evenruler.declaration.params, evenruler.models, sys; "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )

    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )

    assert process.stdout == "[]\n"


LOG = {"kind": "recorded", "source": "recorded:x.csv", "licence": "mit", "origin": "somebody"}


def test_a_label_makes_the_name_of_its_model() -> None:
    """So two labels that make one name cannot stand in a catalogue."""
    labelled = {**LOG, "label": "GPT-3.5"}
    catalogue = Catalogue.model_validate({"models": {"gpt-3-5": labelled}})
    assert catalogue.models["gpt-3-5"].label == "GPT-3.5"
    second = {"gpt-3-5": labelled, "gpt-35": {**LOG, "label": "gpt-3-5"}}
    for models in ({"gpt": labelled}, second):
        with pytest.raises(ValidationError, match="makes the name gpt-3-5; call the model so"):
            Catalogue.model_validate({"models": models})
    with pytest.raises(ValidationError, match="expected letters, digits and"):
        ModelEntry.model_validate({**LOG, "label": "a|b"})


@pytest.mark.parametrize(
    ("label", "slug"),
    [
        ("gpt-3.5-turbo-0125", "gpt-3-5-turbo-0125"),
        ("Llama-3.1:8b", "llama-3-1-8b"),
        ("a__b.", "a-b"),
    ],
)
def test_the_slug_of_a_label(label: str, slug: str) -> None:
    assert slug_of(label) == slug


@pytest.mark.parametrize("key", ["requests", "partial", "pll"])
def test_what_is_said_of_a_log_belongs_to_logs(key: str) -> None:
    said_of_log = {key: "requests.jsonl" if key == "requests" else True}
    assert ModelEntry.model_validate({**LOG, **said_of_log})
    chat = {**LOG, "kind": "chat", "source": "endpoint:x"}
    with pytest.raises(ValidationError, match=f"`{key}` belongs to the kind recorded"):
        ModelEntry.model_validate({**chat, **said_of_log})
