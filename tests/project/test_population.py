"""`evenruler population` over real HTTP, the Hub's own client in between."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenruler.declaration.params import load_params
from tests.hub_client import Client
from tests.loopback_hub import DeathError, LoopbackHub, RefusalError, running
from tests.project.hub_repository import add_model, list_errors, make_client
from tests.warm import Warm

MODELS = """\
# The declaration of a test.
models: # the catalogue
  there: {kind: nli, source: "hub:org/nli-there",   licence: mit, origin: of others} # pinned later
"""
REST = """\

  # Of nobody yet.
training: # for fits
  mnli: {source: "hub:org/mnli", split: train,   licence: free, origin: MultiNLI}
  mnli-validation: {source: "hub:org/mnli", split: validation,   licence: free, origin: MultiNLI}
families:
  questionnaires:
    embedder: small # measures likeness
    adapted:   1
"""
ACCURACY_AT_8 = REST.replace("# measures likeness\n", "# measures likeness\n    accuracy: 0.8\n")
LABELS = {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
NLI = {
    "architectures": ["BertForSequenceClassification"],
    "model_type": "bert",
    "id2label": LABELS,
}
FEELINGS = {**NLI, "id2label": {"0": "sad", "1": "glad"}}
MASKED = {"architectures": ["BertForMaskedLM"], "model_type": "bert"}
FILLED = {
    "architectures": ["BartForConditionalGeneration"],
    "model_type": "bart",
    "is_encoder_decoder": True,
}
OLDER = {"model.safetensors": None, "pytorch_model.bin": ""}

ZERO_SHOT, CLASSIFIERS, MASKS = "zero-shot-classification", "text-classification", "fill-mask"
POPULATION = ("evenruler", "population", "nli")


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with running() as hub:
        yield hub


@pytest.fixture
def client(hub: LoopbackHub, tmp_path: Path, warm_client: Warm | None) -> Client:
    return make_client(hub, tmp_path, MODELS + REST, warm_client)


@pytest.fixture
def params(client: Client) -> Path:
    return client.folder / "params.yaml"


def put_model(
    hub: LoopbackHub,
    name: str,
    task: str,
    downloads: int,
    config: dict[str, Any],
    files: dict[str, str | None] | None = None,
    base: str | None = None,
    gated: bool = False,
) -> None:
    """Put a model into a list of the Hub."""
    card = None if base is None else {"license": "mit", "base_model": base}
    add_model(hub, name, config, files, card=card, gated=gated)
    hub.repos[name].task, hub.repos[name].downloads = task, downloads


@pytest.fixture
def commits(hub: LoopbackHub) -> dict[str, str]:
    """The commits of models: four can be used, and more downloaded ones cannot."""
    put_model(hub, "org/nli-there", CLASSIFIERS, 1000, NLI)
    put_model(hub, "org/nli-closed", CLASSIFIERS, 900, NLI, gated=True)
    put_model(hub, "org/nli-older", CLASSIFIERS, 800, NLI, OLDER)
    put_model(hub, "org/nli-feelings", CLASSIFIERS, 700, FEELINGS)
    put_model(hub, "org/feelings", CLASSIFIERS, 10_000, FEELINGS)
    put_model(hub, "org/fills", MASKS, 600, FILLED)
    put_model(hub, "org/nli-gone", ZERO_SHOT, 500, NLI)
    put_model(hub, "org/bert", MASKS, 9000, MASKED)
    put_model(hub, "other/bert", MASKS, 40, MASKED, base="org/bert")
    put_model(hub, "org/zero-shot", ZERO_SHOT, 50, NLI, base="org/bert")
    put_model(hub, "org/Small-NLI", CLASSIFIERS, 30, NLI)
    return {name: repository.head for name, repository in hub.repos.items()}


def encoder(name: str, repo: str, commit: str, licence: str, bar: str = "0.7") -> str:
    """The lines of an encoder to be fitted."""
    return f"""\
  {name}:
    kind: encoder
    source: hub:{repo}
    revision: {commit}
    finetune:
      data:
      - mnli
      validation: mnli-validation
      held_out: 9815
      fit: whole
      bar: {bar}
    licence: {licence}
    origin: {repo}, fitted on MNLI
    lineage: bert
    profile: paper
"""


def classifier(name: str, repo: str, commit: str, licence: str, lineage: str) -> str:
    """The lines of a classifier that is ready."""
    return f"""\
  {name}:
    kind: nli
    source: hub:{repo}
    revision: {commit}
    licence: {licence}
    origin: {repo}
    lineage: {lineage}
    profile: paper
"""


def first_three(commits: dict[str, str], bar: str = "0.7") -> str:
    """The lines of the new models among the four most downloaded that can be used."""
    bert = encoder("bert-mnli", "org/bert", commits["org/bert"], "apache-2.0", bar)
    ready = classifier("zero-shot", "org/zero-shot", commits["org/zero-shot"], "mit", "bert")
    other = encoder("other-bert-mnli", "other/bert", commits["other/bert"], "mit", bar)
    return bert + ready + other


def left_out(output: str) -> list[str]:
    """The lines of models that were passed over."""
    return [line for line in output.splitlines() if line.startswith("left out: ")]


def run(client: Client, hub: LoopbackHub, *words: str, **options: Any) -> str:
    """What the command printed; one of the listed models is gone by the time it is asked for."""
    hub.once("GET /api/models/org/nli-gone", RefusalError(404, "none", "RepoNotFound"))
    return client.run(*POPULATION, *words, "--yes", token="hf_read", **options)


def test_the_most_downloaded_that_can_be_used_are_written_and_all_else_stays(
    client, params, hub, commits
) -> None:
    output = run(client, hub, "--most", "4")
    assert params.read_text() == MODELS + first_three(commits) + REST
    assert output.endswith("params.yaml: 1 ready and 2 to be fitted are new, 1 were there\n")
    catalogue = load_params(params)
    assert {name: catalogue.kind(name) for name in catalogue.models} == dict.fromkeys(
        ("there", "bert-mnli", "zero-shot", "other-bert-mnli"), "nli"
    )
    assert {catalogue.lineage(name) for name in catalogue.models} == {"there", "bert"}


def test_what_cannot_be_used_is_a_line_that_says_why(client, hub, commits) -> None:
    output = run(client, hub, "--most", "4")
    assert left_out(output) == [
        "left out: hub:org/nli-closed: org/nli-closed is gated; accept its terms on its page, then "
        "log in with `hf auth login` or set HF_TOKEN",
        "left out: hub:org/nli-older: no weights (*.safetensors); name a repository that "
        "transformers loads",
        "left out: hub:org/nli-feelings: its configuration says BertForSequenceClassification with "
        "labels glad, sad, which is nothing that can be asked",
        "left out: hub:org/fills: it is of kind seq2seq, neither a classifier of entailment nor an "
        "encoder",
        "left out: hub:org/nli-gone: org/nli-gone is not on the Hub (or private); check the name, "
        "or log in with `hf auth login` or set HF_TOKEN",
    ]


def test_a_second_run_adds_nothing_and_a_larger_one_the_next(client, params, hub, commits) -> None:
    run(client, hub, "--most", "4")
    before = params.read_bytes()
    output = run(client, hub, "--most", "4")
    assert output.endswith("params.yaml: 0 ready and 0 to be fitted are new, 4 were there\n")
    assert params.read_bytes() == before
    run(client, hub)
    last = classifier(
        "small-nli", "org/Small-NLI", commits["org/Small-NLI"], "apache-2.0", "small-nli"
    )
    assert params.read_text() == MODELS + first_three(commits) + last + REST


def test_another_accuracy_is_that_of_fits_and_of_questionnaires(
    client, params, hub, commits
) -> None:
    run(client, hub, "--most", "4", "--min-accuracy", ".8")
    assert params.read_text() == MODELS + first_three(commits, "0.8") + ACCURACY_AT_8
    run(client, hub, "--most", "5")
    assert params.read_text().endswith(ACCURACY_AT_8)


def test_what_was_chosen_before_the_hub_failed_is_written(client, params, hub, commits) -> None:
    hub.once("GET /api/models/other/bert", DeathError())
    output = run(client, hub, status=2)
    new = first_three(commits)
    there = new[: new.index("  other-bert-mnli:")]
    assert params.read_text() == MODELS + there + REST
    (line,) = list_errors(output)
    assert line.startswith("error: hub:other/bert: the Hub does not answer (")
    hub.stop()
    hub.start()
    run(client, hub, "--most", "4")
    assert params.read_text() == MODELS + new + REST


def test_a_diff_that_is_refused_leaves_the_file_as_it_was(client, params, commits) -> None:
    output = client.run(*POPULATION, typed="n\n", status=1)
    assert "+  bert-mnli:\n" in output
    assert params.read_text() == MODELS + REST


@pytest.mark.parametrize(
    ("rest", "words", "line"),
    [
        (
            "",
            (),
            "params.yaml: training: no training data 'mnli'; declare it; docs/adding-a-model.md",
        ),
        (
            REST[: REST.index("families:")],
            ("--min-accuracy", ".8"),
            "params.yaml: its lines cannot be edited; write its aliases out, and each entry in",
        ),
    ],
)
def test_a_declaration_that_lacks_a_place_is_one_line(
    client, params, hub, commits, rest, words, line
) -> None:
    params.write_text(MODELS + rest)
    (error,) = list_errors(client.run(*POPULATION, *words, status=2))
    assert error.startswith(f"error: {line}")
    assert params.read_text() == MODELS + rest
