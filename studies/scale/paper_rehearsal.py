"""Rehearse the profile `paper`: tiny random models of every architecture, one item in twenty, all
of `make paper`.

FOLDER becomes a clone with answers of its own. In it every model of the scale is a tiny one: the
class of its configuration, a small tokenizer, and a chat template of ours that does what the real
one does (`rehearsed.yaml`). Numbers mean nothing; what is seen is that every family is asked and
built.

Some of what is not pinned gets a tiny model in its place, and some is left out, as no Hub is asked
here. Prints what was lost, and how long each command took; what they said is in
FOLDER/rehearsal/said.txt. Ends with status 1 where something was lost. Where FOLDER is there
already, the commands alone are run again, with the code of this working tree.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import typer
from ruamel.yaml import YAML

from evenruler.declaration.params_file import Active, load_active
from evenruler.instruments.registry import FAMILIES
from studies.scale.tiny_models import REHEARSED, ROOT, SHAPES, save_model
from tests.stages.conftest import Clone, clone_into, edit_yaml
from tests.tiny import PUBLISHED
from tests.warm import Warm

EVOLVING = (
    "occupation-gender-evolved",
    "age-competence-evolved",
    "political-ideology-personality-evolved",
    "occupation-gender-as-published",
)
OPERATOR = "qwen2-5-32b-instruct"
COMMANDS = (
    "evenruler profile paper",
    *(f"evenruler evolve {name} --profile paper" for name in EVOLVING),
    "evenruler repro --profile paper",
    "python docs/papers.py profiles/paper",
)
PIPELINE = "profiles/paper"
REHEARSAL = "rehearsal"
"""The folder of what the rehearsal writes."""
PAPERS = "docs/papers-ours.csv"
TOOLS = ("multilingual-sentiments-student", "toxic-bert")
ADDED = ("gemma-2-2b-it", "llama-3-2-3b-instruct")
ADDED_ENTRY = {
    "kind": "causal",
    "chat": True,
    "profile": "paper",
    "licence": "cc0-1.0",
    "origin": "tiny",
}
CACHE = ".cache/answers"


def clone_tree(folder: Path) -> None:
    """Make FOLDER a repository of this working tree, with what is tracked committed."""
    clone = clone_into(folder, folder / CACHE)
    with (folder / ".gitignore").open("a") as ignored:
        ignored.write(f"/{REHEARSAL}/\n")
    clone.commit("as it was")


def take_few(values: Any, least: int) -> Any:
    """Return one in twenty of a list or mapping, evenly spread, but so many at least."""
    keys = list(values)
    wanted = min(len(keys), max(least, len(keys) // 20))
    left = [keys[place * len(keys) // wanted] for place in range(wanted)]
    return {key: values[key] for key in left} if isinstance(values, dict) else left


def shorten_probes(source: Any) -> None:
    """Leave ten attributes, or eight of each key, the fewest that are allowed."""
    if "keys" not in source:
        source["attributes"] = take_few(source["attributes"], 10)
        return
    for words in ("keys", "rivals"):
        for pole in ("high", "low"):
            source[words][pole] = take_few(source[words][pole], 8)
    keys = {*source["keys"]["high"], *source["keys"]["low"]}
    source["attributes"] = [word for word in source["attributes"] if word in keys]


def shorten_questionnaire(source: Any) -> None:
    """Leave three items with their twins, the fewest with an alpha, in one wording."""
    source["items"] = take_few(source["items"], 3)
    for item in source["items"].values():
        for question in (item, *item["twins"]):
            terms = question["terms"]
            question["terms"] = {pole: words[:1] for pole, words in terms.items()}


def shorten_corpus(source: Any) -> None:
    """Leave ten sentences, where they are in the source itself."""
    if "sentences" in source:
        source["sentences"] = take_few(source["sentences"], 10)


def shorten_domain(source: Any) -> None:
    """Leave four concepts, and those that texts are about."""
    concepts = source["concepts"]
    uncompared = {name: concept for name, concept in concepts.items() if "compared" in concept}
    compared = {name: concept for name, concept in concepts.items() if name not in uncompared}
    if "control" in source:  # its concept is among the four
        source["control"]["concept"] = next(iter(compared))
    source["concepts"] = {**uncompared, **take_few(compared, 4)}
    if "branch" in source:
        branch = source["branch"]
        branch["words"] = {name: branch["words"][name] for name in source["concepts"]}
        # A tiny random model writes no question, and judges none.
        source["assemble"] = {"method": "split", "per_concept": 75}
        del branch["judge"]
        branch["read"] = {"rows": 1000, "wrong": 0, "by": "nobody"}


SHORTENED = {
    "probes/*.yaml": shorten_probes,
    "questionnaires/*.yaml": shorten_questionnaire,
    "questionnaires/shared/corpora/*.yaml": shorten_corpus,
    "saged/countries.yaml": shorten_domain,
    "saged/countries-article.yaml": shorten_domain,
}
"""By sources, what leaves a twentieth of them."""


def set_family(params: Any, family: str, settings: dict[str, Any]) -> None:
    """Give a family settings that no instrument of it overrides."""
    params["families"][family] |= settings
    for entry in params["instruments"].values():
        if entry["family"] == family:
            for key in settings:
                entry.pop(key, None)


@dataclass
class Rehearsal:
    """A clone with tiny models, and what its commands said.

    Stages are forked off a process that has the libraries: some two hundred would import for four
    seconds each.
    """

    folder: Path
    bin: Path
    lines: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def declare_few(self) -> None:
        """Leave one item in twenty of every source, and put tiny models in the place of large
        ones."""
        for pattern, shorten in SHORTENED.items():
            for path in sorted((self.folder / "data/sources").glob(pattern)):
                edit_yaml(path, shorten)
        edit_yaml(self.folder / "params.yaml", self._change_params)

    def _change_params(self, params: Any) -> None:
        models = params["models"]
        for name in ADDED:
            models[name] = dict(ADDED_ENTRY)
        for name, shape in SHAPES.items():
            if shape.type in PUBLISHED:
                models[name] = {**ADDED_ENTRY, "families": ["probes", "framing"]}
        for name, shape in SHAPES.items():
            folder = self.folder / REHEARSAL / "models" / name
            save_model(folder, name, models[name]["kind"])
            models[name].pop("revision", None)
            models[name]["source"] = f"local:{folder}"
            models[name]["origin"] = f"tiny, random, of the type {shape.type}"
        # Fits of ours are no architecture of the papers; one of them shows that an encoder with an
        # adapter is asked.
        models["mpnet-nli-a"].pop("intervention")
        for name in ("mpnet-nli-b", "mpnet-nli-c"):
            models[name]["profile"] = "quick"
        for family, settings in REHEARSED["settings"].items():
            set_family(params, family, settings)
        for corpus in params["families"]["questionnaires"]["corpora"].values():
            corpus["epochs"] = 2
        # Contrasts that stand in no table of a paper are built, and nobody is asked.
        instruments = params["instruments"]
        instruments["age"]["asked"] = False
        instruments["p-at-gender-8"]["asked"] = True
        for name in ("occupation-gender-evolved", "occupation-gender-as-published"):
            instruments[name]["evolve"] |= {"gradient_attributes": 2, "tries": 1}
        params["diagnosis"]["resamples"] = 200

    def run_command(self, command: str) -> None:
        """Pass on what a command says; RuntimeError where it fails."""
        began = time.monotonic()
        print(f"$ {command}", flush=True)
        environment = Clone(self.folder, self.folder / CACHE).env
        environment |= {
            "PATH": f"{self.bin}{os.pathsep}{environment['PATH']}",
            "PYTHONPATH": f"{self.folder}{os.pathsep}{self.bin.parent}",
        }
        process = subprocess.Popen(
            command.split(),
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process, (self.folder / REHEARSAL / "said.txt").open("a") as output:
            print(f"$ {command}", file=output)
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", file=output, flush=True)
                self.lines.append(line)
        self.seconds[command] = time.monotonic() - began
        if process.returncode:
            last = "".join(self.lines[-20:])
            raise RuntimeError(f"{command}: status {process.returncode}\n{last}")

    def read_params(self) -> Any:
        return YAML(typ="safe").load((self.folder / "params.yaml").read_text())

    def read_active(self) -> Active:
        return load_active(self.folder / PIPELINE / "active.yaml")

    def list_asked(self) -> set[str]:
        """Return the models of which there are answers."""
        models: set[str] = set()
        for path in sorted((self.folder / PIPELINE / "data/answers").glob("*/*/*.parquet")):
            table = pd.read_parquet(path)
            if len(table):
                models.add(path.parent.name)
        return models

    def list_losses(self) -> Iterator[str]:
        """Yield what a rehearsal must not lose, and lost."""
        for family in FAMILIES:
            yield from self._list_losses_of_family(family)
        deleted = subprocess.check_output(["git", "ls-files", "-d"], cwd=self.folder, text=True)
        yield from (f"deleted: {line}" for line in deleted.splitlines())
        for name in EVOLVING:
            yield from self._list_losses_of_evolution(name)
        yield from self._list_empty_tables()
        for name in sorted(SHAPES.keys() - self.list_asked() - {*TOOLS}):
            yield f"{name} was asked nothing"
        for stage, why in (self.read_params().get("left_out") or {}).items():
            yield f"left out: {stage}: {why}"
        if any(line.startswith("Traceback") for line in self.lines):
            yield "a traceback"

    def _list_losses_of_family(self, family: str) -> Iterator[str]:
        families = self.read_active().families
        if family not in families:
            yield f"{family} vanished"
            return
        metrics = self.folder / PIPELINE / "data/diagnosis" / family / "metrics.json"
        if not metrics.exists() or not json.loads(metrics.read_text()):
            yield f"{family} has no figures"
        for name in families[family].instruments:
            benchmark = f"benchmarks/{family}-{name}"
            if not (self.folder / PIPELINE / benchmark / "evidence.json").exists():
                yield f"{benchmark} is not built"

    def _list_losses_of_evolution(self, name: str) -> Iterator[str]:
        folder = self.folder / PIPELINE / "data/evolved" / name
        if not (folder / "history.parquet").exists():
            yield f"{name} did not evolve"
            return
        n_generations = pd.read_parquet(folder / "history.parquet")["generation"].max()
        operators = set(pd.read_parquet(folder / "tries.parquet")["operator"])
        if not n_generations or operators != {OPERATOR}:
            yield f"{name}: {n_generations} generations, by {operators}"

    def _list_empty_tables(self) -> Iterator[str]:
        """Of every model that was asked, some row of each table of a paper where the model stands
        is filled."""
        cells = pd.read_csv(self.folder / PAPERS, dtype=str, keep_default_na=False)
        is_asked = cells["ours"].isin(self.list_asked())
        for (paper, table), rows in cells.groupby(["paper", "table"]):
            if rows["figure"].str.fullmatch("|not run|none.*").all():
                yield f"{paper}, {table}: no figure of ours"
            empty = rows.loc[is_asked & (rows["figure"] == "not run"), "ours"]
            for model in sorted(set(empty)):
                yield f"{paper}, {table}: {model} was asked and is not run"


def rehearse_commands(rehearsal: Rehearsal) -> list[str]:
    """Run all commands; return what was lost."""
    try:
        for command in COMMANDS:
            rehearsal.run_command(command)
        return list(rehearsal.list_losses())
    except RuntimeError as error:
        return [str(error)]


def main(folder: Path) -> None:
    """Rehearse in a new folder, or run the commands again in one of an earlier rehearsal."""
    folder = folder.absolute()
    warm = Warm(Path(tempfile.mkdtemp()))
    # Commands start cold, and what they start by the name of their Python is forked.
    (warm.bin / "evenruler").unlink()
    (warm.bin.parent / "sitecustomize.py").write_text(
        f"import sys\nsys.executable = {str(warm.bin / 'python')!r}\n"
    )
    rehearsal = Rehearsal(folder, warm.bin)
    if folder.exists():
        for code in ("evenruler", "stages", "docs/papers.py"):
            subprocess.run(["cp", "-r", ROOT / code, (folder / code).parent], check=True)
    else:
        clone_tree(folder)
        rehearsal.declare_few()
    losses = rehearse_commands(rehearsal)
    warm.close()
    for command, seconds in rehearsal.seconds.items():
        print(f"`{command}`: {seconds / 60:.1f} minutes")
    print("\n".join(losses) or "nothing was lost")
    raise typer.Exit(bool(losses))


if __name__ == "__main__":
    typer.run(main)
