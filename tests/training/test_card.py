from typing import Any

import pytest
from huggingface_hub import ModelCard
from ruamel.yaml import YAML

from evenruler.models.declarations import ModelEntry
from evenruler.training.fit import card_of

RECIPE: dict[str, Any] = {
    "data": ["moods", "tempers"],
    "validation": "moods",
    "held_out": 40,
    "half": None,
    "fit": "adapter",
    "rank": 4,
    "epochs": 2,
    "learning_rate": 0.01,
    "batch": 8,
    "seed": 3,
    "bar": 0.7,
}
RECORD: dict[str, Any] = {
    "labels": ["sad", "glad"],
    "recipe": RECIPE,
    "data": {
        "moods": {"rows": 1234, "licence": "cc0-1.0", "origin": "of our own"},
        "tempers": {"rows": 56, "licence": "mit", "origin": "by others"},
    },
    "rows_fitted_on": 1250,
    "history": [
        {"epoch": 1, "loss": 0.5, "accuracy": 0.75},
        {"epoch": 2, "loss": 0.25, "accuracy": 0.875},
    ],
    "held_out": {
        "data": "moods",
        "n": 1040,
        "accuracy": 0.8749,
        "by_label": {"glad": 0.9, "sad": 0.85},
    },
}
CHECKS = [
    {
        "premise": "I am calm.",
        "hypothesis": "I feel calm.",
        "expected": "entailment",
        "said": "entailment",
    }
    | {"entailment": 0.981},
    {
        "premise": "I am calm.",
        "hypothesis": "I am upset.",
        "expected": "contradiction",
        "said": "neutral",
    }
    | {"entailment": 0.2},
]


def rendered(recipe: dict[str, Any] | None = None, **record: Any) -> str:
    entry = ModelEntry.model_validate(
        {
            "kind": "encoder",
            "source": "local:encoder",
            "licence": "cc-by-4.0",
            "origin": "An adapter of ours on an encoder",
            "lineage": "encoder",
            "finetune": RECIPE,
        }
    )
    return card_of("tiny", entry, {**RECORD, **record, "recipe": {**RECIPE, **(recipe or {})}})


def test_the_front_matter_is_what_the_hub_reads() -> None:
    front = YAML(typ="safe").load(rendered().split("---\n")[1])
    assert front == {
        "license": "cc-by-4.0",
        "library_name": "peft",
        "pipeline_tag": "text-classification",
        "language": "en",
        "tags": ["even-ruler"],
    }
    assert ModelCard(rendered()).data.license == "cc-by-4.0"


def test_a_whole_model_is_one_of_transformers() -> None:
    text = rendered({"fit": "whole"})
    assert ModelCard(text).data.library_name == "transformers"
    assert "Fitted: the encoder and the head. " in text


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (
            {},
            "Fitted: low-rank changes of every layer (rank 4) and the head; the encoder's own "
            "weights stay as they",
        ),
        ({"fit": "head"}, "Fitted: the head alone; the encoder is frozen."),
        ({}, "1,250 rows, 2 epochs, learning rate 0.01, batches of 8, seed 3."),
        ({"half": 2}, "1,250 rows (half 2 of 2), 2 epochs,"),
        ({}, "# tiny\nAn adapter of ours on an encoder. Fitted: "),
        ({}, " Outputs, in order: sad, glad. Made by `evenruler finetune tiny`; "),
        ({}, "| label | accuracy |\n| --- | --- |\n| glad | 0.900 |\n| sad | 0.850 |\n"),
        (
            {},
            "| epoch | loss | accuracy |\n| --- | --- | --- |\n| 1 | 0.500 | 0.750 |\n| 2 | 0.250 "
            "| 0.875 |\n",
        ),
        ({}, "| `moods` | 1,234 | cc0-1.0 | of our own |\n| `tempers` | 56 | mit | by others |\n"),
    ],
)
def test_what_was_fitted_on_what(recipe, words) -> None:
    assert words in rendered(recipe)


def test_accuracy_against_the_bar() -> None:
    rows = "Accuracy on 1,040 rows of `moods` that no row of the same text was fitted on"
    assert f"{rows}: **0.875**; the bar is 0.70.\n" in rendered()
    assert f"{rows}: **0.875**; the bar is 0.87.\n" in rendered({"bar": 0.8749})
    below = rendered({"bar": 0.9})
    assert f"{rows}: **0.875**, BELOW the bar of 0.90." in below
    assert "BELOW" not in rendered()


def test_sense_checks_of_an_entailment_model() -> None:
    text = rendered(sense_checks=CHECKS)
    assert "Hand-written pairs whose answer is plain to a reader: 1 of 2 right." in text
    assert (
        "| --- | --- | --- | --- | --- |\n"
        "| I am calm. | I feel calm. | entailment | entailment | 0.98 |\n"
        "| I am calm. | I am upset. | contradiction | **neutral** | 0.20 |\n"
        "\n## What it was fitted on\n"
    ) in text
    assert ModelCard(text).data.tags == ["even-ruler", "natural-language-inference"]


def test_no_sense_checks_of_another() -> None:
    text = rendered()
    assert "Sense checks" not in text
    assert "natural-language-inference" not in text


def test_an_epoch_without_a_figure_is_an_empty_cell() -> None:
    assert "| 1 |  |  |\n" in rendered(history=[{"epoch": 1}])


@pytest.mark.parametrize("checks", [[], CHECKS])
def test_the_text_is_clean(checks) -> None:
    text = rendered(sense_checks=checks)
    assert text.endswith(".\n")
    assert "\n\n\n" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
