"""A clone in which templates evolve: tiny models measure them, a server on loopback rewords."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.tables import read_frame
from tests.loopback_openai import ScriptedServer, running
from tests.stages.conftest import TWO_SETS, Clone, clone_into, entry, shorten
from tests.text_tables import read_words, yaml_of_text
from tests.tiny import save_tiny
from tests.warm import Warm

DOMAIN, EVOLVED = "occupation-gender", "occupation-gender-evolved"
MADE, BUILT = f"data/evolved/{EVOLVED}", f"data/built/probes/{EVOLVED}"
REPLIES = "data/sources/probes/replies"
BENCHMARK = f"benchmarks/probes-{EVOLVED}"
SEEDS = {"surprise", "picture", "most", "job-for", "dream", "born", "met", "guess"}
ATTRIBUTES, ELITES, GENERATIONS, SAMPLES = 10, 3, 2, 2
EVOLUTION = yaml_of_text(f"""
of: {DOMAIN}
model: tiny-a
operator: reworder
generations: {{quick: {GENERATIONS}, paper: 10}}
elites: {ELITES}
length: {ELITES}
samples: {{quick: {SAMPLES}, paper: 3}}
shots: {{quick: false, paper: false}}
tries: 2
gradient_attributes: {{quick: 3, paper: 1000}}
ablation: {{quick: true, paper: true}}
acceptability: 100.0  # what is likely for a random model is nothing that a person would say
""")
SPARE, *ALIKE = read_words("""\
usual normal common ideal perfect proper real true model decent plain great
I we they you
would might could should
hear read see say
word name term sound
picture imagine expect want meet
people parents voters adults
always often once long
dreamed talked thought heard
met saw knew found
yesterday today tonight
becoming being meeting
""")
"""Adjectives; then words of which one can stand where another does."""


def word_like(word: str, seed: int) -> str:
    """Return a word that fits in its place; an adjective where none is listed."""
    alike = [words for words in ALIKE if word in words]
    alternatives = [other for other in alike[0] if other != word] if alike else SPARE
    return alternatives[seed % len(alternatives)]


def number_of(question: dict[str, Any]) -> str:
    """What tells a question from others: its prompt and its seed."""
    text = f"{question['seed']} {question['messages'][-1]['content']}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return str(int(digest[:12], 16))


@dataclass
class Rewording(ScriptedServer):
    """Rewords by seed, and says in every reply which one it is, behind what some readers take for a
    line's end."""

    prompt_by_number: dict[str, str] = field(default_factory=dict)
    """Prompt by number of the reply."""
    before: Callable[[], None] = lambda: None
    """Runs before every answer."""

    def answer(self, question: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.before()
        return super().answer(question)

    def reply(self, question: dict[str, Any]) -> str:
        if self.content is not None:
            return self.content
        prompt, number = question["messages"][-1]["content"], number_of(question)
        self.prompt_by_number[number] = prompt
        seed = question["seed"]
        replaced = re.search(r'Replace the word "(.+?)"', prompt)
        if replaced:
            return f"{word_like(replaced[1], seed)}\u2028{number}"
        _, template, *_ = prompt.split("\n\n")
        return f"It is {SPARE[seed % len(SPARE)]} that {template}\u2028{number}"


@dataclass
class Evolving:
    """A clone in which a domain evolved, and the server that its operator is behind."""

    clone: Clone
    server: Rewording

    def __post_init__(self) -> None:
        self.clone.env |= {"OPENAI_BASE_URL": self.server.url, "OPENAI_API_KEY": "secret-word"}

    def table(self, path: str) -> pd.DataFrame:
        return read_frame(self.clone.folder / f"{path}.parquet")

    def published(self, config: str) -> pd.DataFrame:
        return self.table(f"{BENCHMARK}/{config}/test-00000-of-00001")

    def copied(self, folder: Path, server: Rewording) -> "Evolving":
        """The clone elsewhere, with an empty store and another server."""
        return Evolving(self.clone.copied(folder), server)


def declare(folder: Path) -> Callable[[dict], None]:
    """An edit of the declaration that has two tiny models and one domain, which evolves, and
    nothing else."""

    def change(params: dict) -> None:
        embedder = params["models"]["all-minilm-l6-v2"]
        reworder = {
            "kind": "chat",
            "source": "endpoint:big",
            "licence": "by its terms",
            "origin": "made by the test",
        }
        reworder["profile"] = "none"  # it rewords, and is not measured
        params["models"] = {name: entry(folder / name) for name in ("tiny-a", "tiny-b")}
        params["models"] |= {"all-minilm-l6-v2": embedder, "reworder": reworder}
        params["instruments"] = {
            DOMAIN: {**params["instruments"][DOMAIN], **TWO_SETS},
            EVOLVED: {"family": "probes", "evolve": EVOLUTION},
        }
        params["families"] = {"probes": params["families"]["probes"]}
        params["training"] = {}
        params["diagnosis"] |= {"resamples": 100}

    return change


def two_targets(source: dict) -> None:
    """An edit of the domain that keeps two targets of each group."""
    for words in source["targets"].values():
        del words[2:]


@contextmanager
def evolved_in(folder: Path, warm: Warm | None) -> Iterator[Evolving]:
    """The clone, built by the real DVC and committed; its server goes on meanwhile."""
    clone = clone_into(folder / "clone", folder / "cache", warm)
    for name, kind in (("tiny-a", "llama"), ("tiny-b", "gemma3")):
        save_tiny(folder / name, kind=kind)
    clone.edit("params.yaml", declare(folder))
    clone.edit(f"data/sources/probes/{DOMAIN}.yaml", shorten(ATTRIBUTES, ("validation", "seed")))
    clone.edit(f"data/sources/probes/{DOMAIN}.yaml", two_targets)
    with running(Rewording()) as server:
        evolving = Evolving(clone, server)
        clone.run("evenruler", "check")
        clone.run("evenruler", "evolve", EVOLVED)
        clone.run("dvc", "repro")
        clone.commit("built")
        yield evolving
