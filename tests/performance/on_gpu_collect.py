"""Collects into `.cache/on_gpu` what `on_gpu.sh` needs on a bare machine; run here by `on_gpu.sh --collect`.

The tokenizer of SmolLM2 and the sizes of its model, no weights (in float32 they are 538 MB, and quantised, as they are
packaged, 98 MB); the sentences that are scored, as an evolution at paper settings asks them; and the Python files of
lm-evaluation-harness, which is never committed here.
"""

import json
import shutil
from importlib.metadata import distribution
from pathlib import Path

from evenruler.declared import Declared
from evenruler.instruments.probes import declare
from evenruler.instruments.probes.evolve.population import Ruler, Template
from evenruler.models import LogLikelihoods, load
from tests.performance.evolution import NEW
from tests.performance.generation import QUESTIONS, ROLES
from tests.performance.likelihood import sentences

FOLDER = Path(".cache/on_gpu")
MODEL, NAME, SOURCES = "smollm2-135m-instruct", "occupation-gender", Path("data/sources/probes")
TOKENIZER = ("tokenizer*", "chat_template*", "config.json")
EVERY_ATTRIBUTE = 1000
PLACES = [
    "Algeria",
    "Argentina",
    "Australia",
    "Austria",
    "Belgium",
    "Bolivia",
    "Brazil",
    "Bulgaria",
    "Cambodia",
    "Cameroon",
    "Canada",
    "Chile",
    "China",
    "Colombia",
    "Croatia",
    "Cuba",
    "Denmark",
    "Ecuador",
    "Egypt",
    "Estonia",
    "Ethiopia",
    "Fiji",
    "Finland",
    "France",
    "Georgia",
    "Germany",
    "Ghana",
    "Greece",
    "Hungary",
    "Iceland",
    "India",
    "Indonesia",
    "Ireland",
    "Italy",
    "Japan",
    "Jordan",
    "Kenya",
    "Latvia",
    "Malta",
    "Mexico",
    "Morocco",
    "Nepal",
    "Norway",
    "Peru",
    "Poland",
    "Portugal",
    "Senegal",
    "Spain",
]


class Asked(Exception):  # noqa: N818  # nothing is wrong
    """What a ruler asks of its model."""


class Listener:
    """A model that answers nothing."""

    name = "listener"

    def loglikelihood(self, texts: list[str]) -> LogLikelihoods:
        raise Asked(texts)


def generation() -> list[str]:
    """All sentences of a population of eight templates, every word of each taken out for every attribute."""
    source = declare.load(SOURCES / f"{NAME}.yaml", Declared().settings(NAME), SOURCES / "shared")
    texts = [text for group in NEW for text in group][:8]
    ruler = Ruler(Listener(), source, "agree", EVERY_ATTRIBUTE)
    try:
        ruler.measure([Template(f"t{i}", text, 1) for i, text in enumerate(texts)])
    except Asked as asked:
        return list(dict.fromkeys(asked.args[0]))
    raise AssertionError("a ruler asks its model")


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "tokenizer").mkdir(parents=True)
    folder = load(MODEL)._folder
    for pattern in TOKENIZER:
        for path in folder.glob(pattern):
            shutil.copyfile(path, FOLDER / "tokenizer" / path.name)
    prompts = [(question.format(place), role) for place in PLACES for role in ROLES for question in QUESTIONS]
    texts = {"validation": sentences(), "generation": generation(), "prompts": prompts}
    (FOLDER / "texts.json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    harness = distribution("lm_eval")
    for file in harness.files or ():
        if (file.suffix == ".py" and "tasks" not in file.parts) or file.name == "METADATA":
            target = FOLDER / "site" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    print(f"{FOLDER}: {size / 1e6:.1f} MB, {len(texts['generation']):,} sentences of a generation")


if __name__ == "__main__":
    main()
