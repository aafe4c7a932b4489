from typing import Any

import pytest
from huggingface_hub import ModelCard
from ruamel.yaml import YAML

from evenruler.models.declarations import ModelEntry
from evenruler.training.fit import card_of

RECORD: dict[str, Any] = YAML(typ="safe").load("""
labels: [sad, glad]
recipe:
  data: [moods, tempers]
  validation: moods
  held_out: 40
  half: null
  fit: adapter
  rank: 4
  epochs: 2
  learning_rate: 0.01
  batch: 8
  seed: 3
  bar: 0.7
data:
  moods: {rows: 1234, licence: cc0-1.0, origin: of our own}
  tempers: {rows: 56, licence: mit, origin: by others}
rows_fitted_on: 1250
history:
- {epoch: 1, loss: 0.5, accuracy: 0.75}
- {epoch: 2, loss: 0.25, accuracy: 0.875}
held_out: {data: moods, n: 1040, accuracy: 0.8749, by_label: {glad: 0.9, sad: 0.85}}
""")
RECIPE = RECORD["recipe"]


ENTRY = ModelEntry.model_validate(
    {
        "kind": "encoder",
        "source": "local:encoder",
        "licence": "cc-by-4.0",
        "origin": "An adapter of ours on an encoder",
        "lineage": "encoder",
        "finetune": RECIPE,
    }
)


def rendered(**recipe: Any) -> str:
    return card_of(
        "tiny",
        ENTRY,
        {**RECORD, "recipe": {**RECIPE, **recipe}},
    )


def test_the_front_matter_is_what_the_hub_reads() -> None:
    data = ModelCard(rendered()).data.to_dict()
    assert (data["license"], data["library_name"]) == ("cc-by-4.0", "peft")
    assert (data["pipeline_tag"], data["language"]) == ("text-classification", "en")
    assert ModelCard(rendered(fit="whole")).data.library_name == "transformers"


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"fit": "head"}, "Fitted: the head alone; the encoder is frozen."),
        ({"half": 2}, "1,250 rows (half 2 of 2), 2 epochs,"),
    ],
)
def test_what_was_fitted_on_what(recipe, words) -> None:
    assert words in rendered(**recipe)


def test_accuracy_against_the_bar() -> None:
    rows = "Accuracy on 1,040 rows of `moods` that no row of the same text was fitted on"
    assert f"{rows}: **0.875**; the bar is 0.87.\n" in rendered(bar=0.8749)
    assert f"{rows}: **0.875**, BELOW the bar of 0.90." in rendered(bar=0.9)
