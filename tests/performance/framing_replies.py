"""Draw replies of the embedded models to framing prompts, to be labelled: by them the parser of choices is measured.

Run by hand: `python -m tests.performance.framing_replies FILE [--seed 1909] [--each 5]`. Writes a CSV, one row a reply,
with empty columns `first` and `second` for two passes of labels; an existing file is not overwritten. So came
tests/instruments/framing/data/replies.csv, whose README says how it was labelled.

Every cell of every task of three contrasts, at two settings of sampling, gets the same number of replies from each
model, each to another stimulus and order of options, as far as there are enough. Of a model that was tuned to chat they
go in turn to the prompt as it is and to the prompt in its chat template. Seeds hang on `--seed`, which is none of those
that instruments ask with.
"""

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evenruler.instruments.framing.declare.source import ContrastSource, Settings, load
from evenruler.instruments.framing.declare.tasks import LETTERS, option_text
from evenruler.instruments.framing.rows import Row, compose
from evenruler.models import Sampling
from evenruler.models import load as load_model
from evenruler.tables.ids import content_sha256

CONTRASTS = ("gender", "age", "indirect-probing")
MODELS = {"smollm2-135m-instruct": ("plain", "chat"), "gemma-3-270m": ("plain",)}
SAMPLINGS = (Sampling(20, temperature=0.3, top_p=0.9), Sampling(20, temperature=1.0, top_p=1.0))
SOURCES = Path("data/sources/framing")
SETTINGS = Settings.model_validate({}, context={"scale": "paper"})
COLUMNS = (
    *("key", "model", "configuration", "temperature", "contrast", "task", "framing", "options", "reply"),
    *("first", "second"),
)


def chosen(
    name: str, model: str, temperature: float, seed: int, each: int
) -> Iterator[tuple[str, Row, list[list[str]]]]:
    """Configuration, row of a prompt, and options as `[letter, slug, text]`, drawn for one model and setting."""
    source = load(SOURCES / f"{name}.yaml", SETTINGS, SOURCES / "shared")
    prompts = [row for row in compose(name, source, SETTINGS)["prompts"] if row["placebo"] is None]
    cells = list(dict.fromkeys((row["task"], row["framing"]) for row in prompts))
    configurations = MODELS[model]
    for number, cell in enumerate(cells):
        rows = [row for row in prompts if (row["task"], row["framing"]) == cell]
        own = int(content_sha256(seed, model, temperature, name, *cell)[:15], 16)
        for k, i in enumerate(np.random.default_rng(own).permutation(len(rows))[:each]):
            row = rows[int(i)]
            yield configurations[(k + number) % len(configurations)], row, listed(source, row)


def listed(source: ContrastSource, row: Row) -> list[list[str]]:
    """The options of a prompt in its order; none where words are read."""
    stimulus = source.stimuli[row["stimulus"]].text
    texts = {
        slug: option_text(text, stimulus)
        for task in [source.tasks[row["task"]]]
        for cell in task.cells
        for slug, text in task.options_of(cell, SETTINGS.variant).items()
    }
    return [[letter, slug, texts[slug]] for letter, slug in zip(LETTERS, row["order"], strict=False)]


def drawn(model: str, seed: int, each: int) -> Iterator[dict[str, object]]:
    """The rows of one model."""
    loaded = load_model(model)
    for sampling in SAMPLINGS:
        picked = [
            (name, *found) for name in CONTRASTS for found in chosen(name, model, sampling.temperature, seed, each)
        ]
        for configuration in MODELS[model]:
            asked = [(name, row, options) for name, own, row, options in picked if own == configuration]
            seeds = [int(content_sha256(seed, row["id"], configuration)[:15], 16) for _, row, _ in asked]
            texts = [row["prompt"] for _, row, _ in asked]
            replies = loaded.generate(texts, sampling=sampling, seeds=seeds, chat=configuration == "chat")
            for (name, row, options), own_seed, reply in zip(asked, seeds, replies, strict=True):
                key = content_sha256(model, configuration, sampling.temperature, row["prompt"], own_seed)[:10]
                told = (key, model, configuration, sampling.temperature, name, row["task"], row["framing"])
                yield dict(zip(COLUMNS, (*told, json.dumps(options), reply, "", ""), strict=True))


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--seed", type=int, default=1909)
    arguments.add_argument("--each", type=int, default=5, help="replies to a cell at a setting, of each model")
    given = arguments.parse_args()
    with given.file.open("x", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for model in MODELS:
            writer.writerows(drawn(model, given.seed, given.each))
            file.flush()  # the next model takes minutes


if __name__ == "__main__":
    main()
