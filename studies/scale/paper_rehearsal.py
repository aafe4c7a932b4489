"""Rehearse `make paper`: tiny random models of every architecture on a Hub on loopback, one item in
twenty.

FOLDER becomes a clone of this repository's last commit with the code of the working tree, and
answers of its own. `params.yaml` names the models that it always names: the Hub that is asked has a
tiny one in each repository, at the commit that the entry is pinned to, with the class of its
configuration, a small tokenizer, and a chat template of ours that does what the real one does
(`rehearsed.yaml`). Those of the classes of today, which no entry names, `evenruler add` declares.
Pages come from a MediaWiki of this machine, if it has one.
Numbers mean nothing; what is seen is that every family is asked and built.

Prints each stage when it is built, what was lost, and how long each command took;
FOLDER/rehearsal has what they said (`said.txt`) and a log of models, stages and losses (`log.md`).
Ends with status 1 where something was lost. Where FOLDER is there already, the commands are run
again, with the code of this working tree: a rehearsal that was stopped goes on.
"""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any

import pandas as pd
import pyarrow.parquet as pq
import typer
from ruamel.yaml import YAML

from evenruler.declaration.params_file import Active, load_active
from evenruler.instruments.registry import FAMILIES
from studies.performance.contenders import VLLM, find_vllm
from studies.scale.tiny_hub import fill_hub, list_declared_models
from studies.scale.tiny_models import REHEARSED, ROOT, SHAPES
from studies.tables import markdown_table
from tests.local_wiki import LocalWiki, lacking
from tests.loopback_hub import WRITE_TOKEN, LoopbackHub, running
from tests.stages.conftest import edit_yaml
from tests.warm import Warm

EVOLVING = (
    "occupation-gender-evolved",
    "age-competence-evolved",
    "political-ideology-personality-evolved",
    "occupation-gender-as-published",
)
OPERATOR = "qwen2-5-32b-instruct"
ADDED = {name: shape.repo for name, shape in SHAPES.items() if shape.repo}
"""Repositories of models that no entry names."""

CHECK = "evenruler check"
ADDING = [
    f"evenruler add hub:{repo} --name {name} --family probes --family framing --yes"
    for name, repo in ADDED.items()
]
EVOLVE = [f"evenruler evolve {name} --profile paper" for name in EVOLVING]
TWEETS = "python -m studies.hate_speech"
PREPARING = [TWEETS, "evenruler profile paper"]
COMMANDS = (*ADDING, *PREPARING, *EVOLVE, "make paper", CHECK)
"""What docs/paper-scale.md says, in its order."""

WIKIPEDIA = "countries-wikipedia"
REFRESH = f"evenruler refresh {WIKIPEDIA}"
SNAPSHOT = f"data/snapshots/{WIKIPEDIA}"

PIPELINE = "profiles/paper"
REHEARSAL = "rehearsal"
"""The folder of what the rehearsal writes."""

PAPERS = "docs/papers-ours.csv"
INSTALLED = (
    "constraints.txt",
    "pyproject.toml",
    "requirements-build.txt",
    "requirements-models.txt",
    "requirements-peers.txt",
)
"""What `make setup` installs; `make paper` sees whether it is newer than the environment."""

CODE = (
    *("Makefile", "dvc.yaml", "docs/papers.py"),
    *("evenruler", "stages", "studies", "tests"),
    *INSTALLED,
)
"""What is taken from the working tree, committed or not."""

ENGINE_COMMAND = "evenruler measure qwen3-4b --with framing-register --engine vllm"
"""One model and one benchmark suffice: what differs is who answers."""

TRAINING = Path("data/training")
STAGE = re.compile(r"^  (\S+):$", re.MULTILINE)
"""Of `dvc.lock`: a stage that is built."""

POLL_SECONDS = 5.0
IS_LOSS = re.compile(r"left out|\bdo(es)? without|^error")
"""Of a line of `evenruler check`."""


def clone_tree(folder: Path, training: Path) -> None:
    """Make FOLDER a clone of this repository, without what is built at the top."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    with (folder / ".git/info/exclude").open("a") as ignored:
        ignored.write(f"/{REHEARSAL}/\n")
    (folder / TRAINING).mkdir(parents=True)
    for path in training.glob("*.parquet"):  # commands write beside them
        (folder / TRAINING / path.name).symlink_to(path.absolute())


def copy_code(folder: Path) -> None:
    """Take the code of the working tree."""
    for name in CODE:
        subprocess.run(["cp", "-r", ROOT / name, (folder / name).parent], check=True)


def take_few(values: Any, least: int) -> Any:
    """Return one in twenty of a list or mapping, evenly spread, but so many at least."""
    keys = list(values)
    wanted = min(len(keys), max(least, len(keys) // 20))
    left = [keys[place * len(keys) // wanted] for place in range(wanted)]
    return {key: values[key] for key in left} if isinstance(values, dict) else left


def shorten_probes(source: Any) -> None:
    """Leave two words for each target, and ten attributes, or eight of each key, the fewest that
    are allowed.
    """
    targets = source["targets"]
    source["targets"] = {name: words[:2] for name, words in targets.items()}
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


READ_BRANCH = {"read": {"rows": 1000, "wrong": 0, "by": "nobody"}}
"""Without a judge somebody has to have read the rows."""


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
        branch |= READ_BRANCH


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


class Engine(StrEnum):
    """Who is asked beside what `make paper` asks: nobody, or vLLM."""

    LOCAL = "local"
    VLLM = "vllm"


@dataclass
class Rehearsal:
    """A clone with tiny models, and what its commands said.

    Stages are forked off a process that has the libraries: some three hundred would import for
    four seconds each.
    """

    folder: Path
    hub: LoopbackHub
    warm: Warm
    lines: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    lines_of_check: list[str] = field(default_factory=list)
    """What `evenruler check` says once all is built."""
    built: dict[str, float] = field(default_factory=dict)
    """Seconds from the start of a rehearsal to the end of a stage; 0 for one that was built
    before.
    """
    began: float = field(default_factory=time.monotonic)

    def declare_few(self) -> None:
        """Leave one item in twenty of every source."""
        for pattern, shorten in SHORTENED.items():
            for path in sorted((self.folder / "data/sources").glob(pattern)):
                edit_yaml(path, shorten)
        edit_yaml(self.folder / "params.yaml", self._change_params)

    def _change_params(self, params: Any) -> None:
        models = params["models"]
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
        for name in ("age", "first-names", "religion"):
            instruments[name]["asked"] = False
        instruments["p-at-gender-8"]["asked"] = True
        for name in ("occupation-gender-evolved", "occupation-gender-as-published"):
            instruments[name]["evolve"] |= {"gradient_attributes": 2, "tries": 1}
        params["diagnosis"]["resamples"] = 200
        params["families"]["saged"]["contact"] = "rehearsal@example.org"

    def fetch_pages(self) -> None:
        """Fetch pages as a user does, from a wiki on this machine; a line where there is none."""
        if (self.folder / SNAPSHOT).exists():
            return
        if lacking():
            self._say(f"without a wiki, {WIKIPEDIA} stays left out: {lacking()}")
            return
        with LocalWiki(self.folder / REHEARSAL / "wiki") as wiki:
            wiki.write(REHEARSED["pages"])

            def name_wiki(source: Any) -> None:
                source["material"] |= {"api": wiki.api, "licence": "cc-by-sa-4.0"}
                # A tiny random model writes no question, and judges none.
                source["assemble"] = {"method": "split", "per_concept": 15}
                source["branch"] |= READ_BRANCH
                source["branch"].pop("judge", None)

            edit_yaml(self.folder / f"data/sources/saged/{WIKIPEDIA}.yaml", name_wiki)
            self.run_command(REFRESH)

    def shorten_tweets(self) -> None:
        """Leave one in twenty of the sentences that are in files."""
        for path in sorted((self.folder / TRAINING).glob("*.txt")):
            tweets = path.read_text().splitlines(keepends=True)
            path.write_text("".join(take_few(tweets, 10)))

    def fill_hub(self) -> None:
        """Put a tiny model into every repository that the declaration names."""
        fill_hub(self.hub, self.read_params(), self.folder / REHEARSAL / "models", self.folder)

    def run_command(self, command: str) -> None:
        """Pass on what a command says; RuntimeError where it fails."""
        began = time.monotonic()
        self._say(f"$ {command}")
        ended = Event()
        watching = Thread(target=self._watch_stages, args=(ended,))
        watching.start()
        try:
            status = self._pass_on(command)
        finally:
            ended.set()
            watching.join()
        self.seconds[command] = time.monotonic() - began
        if status:
            last = "".join(self.lines[-20:])
            raise RuntimeError(f"{command}: status {status}\n{last}")

    def _pass_on(self, command: str) -> int:
        """Run a command and keep what it says; returns its status."""
        words = command.split()
        if words[0] == "make":
            # An environment that is ready: the one of the working tree, with warm starts.
            ready = self.warm.bin.parent
            (ready / "ready").touch()
            words += [f"VENV={ready}"]
        folder = self.folder / REHEARSAL
        (folder / "typed.txt").write_text("y\n")  # to the commits that `evenruler pin` shows
        with (folder / "typed.txt").open() as typed, (folder / "said.txt").open("a") as output:
            print(f"$ {command}", file=output)
            with subprocess.Popen(
                words,
                cwd=self.folder,
                env=self._make_environment(),
                stdin=typed,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as process:
                for line in process.stdout or ():
                    print(line, end="", file=output, flush=True)
                    self.lines.append(line)
                    if command == CHECK:
                        self.lines_of_check.append(line.strip())
        return process.returncode

    def _make_environment(self) -> dict[str, str]:
        variables = {name: os.environ[name] for name in os.environ if not name.startswith("HF_")}
        variables |= describe_hub(self.hub, self.folder)
        folders = (str(self.warm.bin), os.environ["PATH"])
        packages = (str(self.folder), str(self.warm.bin.parent))
        variables |= {"PATH": os.pathsep.join(folders), "PYTHONPATH": os.pathsep.join(packages)}
        variables |= {"EVENRULER_CACHE": str(self.folder / ".cache"), "DVC_NO_ANALYTICS": "1"}
        return variables | PATIENT | {"EVENRULER_VLLM": str(VLLM.absolute())}

    def _watch_stages(self, ended: Event) -> None:
        """Print stages of the profile as they get into `dvc.lock`, where `evenruler repro` says
        little.
        """
        while not ended.wait(POLL_SECONDS):
            for name in self.list_new_stages():
                self.built[name] = time.monotonic() - self.began
                self._say(f"stage {len(self.built)}: {name}")

    def list_new_stages(self) -> list[str]:
        path = self.folder / PIPELINE / "dvc.lock"
        text = path.read_text() if path.exists() else ""
        return [name for name in STAGE.findall(text) if name not in self.built]

    def _say(self, text: str) -> None:
        minutes = (time.monotonic() - self.began) / 60
        print(f"{minutes:5.1f} {text}", flush=True)

    def read_params(self) -> Any:
        return YAML(typ="safe").load((self.folder / "params.yaml").read_text())

    def read_active(self) -> Active:
        return load_active(self.folder / PIPELINE / "active.yaml")

    def list_asked(self) -> set[str]:
        """Return the models of which there are answers."""
        return set(self.count_answers()["model"])

    def count_answers(self) -> pd.DataFrame:
        """Count rows of answers by `model` and `family`."""
        counts = []
        for path in sorted((self.folder / PIPELINE / "data/answers").glob("*/*/*.parquet")):
            n_rows = pq.read_metadata(path).num_rows
            counts.append((path.parent.name, path.parents[1].name, n_rows))
        table = pd.DataFrame(counts, columns=["model", "family", "rows"])
        sums = table.groupby(["model", "family"], as_index=False)["rows"].sum()
        return sums[sums["rows"] > 0]

    def list_downloaded(self) -> set[str]:
        """Return the repositories of models that were downloaded."""
        folders = (self.folder / REHEARSAL / "home/hub").glob("models--*/snapshots/*")
        names = {folder.parents[1].name.removeprefix("models--") for folder in folders}
        return {name.replace("--", "/", 1) for name in names}

    def list_losses(self) -> Iterator[str]:
        """Yield what a rehearsal must not lose, and lost."""
        for family in FAMILIES:
            yield from self._list_losses_of_family(family)
        deleted = subprocess.check_output(["git", "ls-files", "-d"], cwd=self.folder, text=True)
        yield from (f"deleted: {line}" for line in deleted.splitlines())
        for name in EVOLVING:
            yield from self._list_losses_of_evolution(name)
        yield from self._list_empty_tables()
        yield from self._list_idle_models()
        yield from (line for line in self.lines_of_check if IS_LOSS.search(line))
        for stage, why in (self.read_params().get("left_out") or {}).items():
            yield f"left out: {stage}: {why}"
        if any(line.startswith("Traceback") for line in self.lines):
            yield "a traceback"

    def _list_idle_models(self) -> Iterator[str]:
        for name in sorted({*self.read_active().models} - self.list_asked()):
            yield f"{name} was asked nothing"
        downloaded = self.list_downloaded()
        for name, entry in list_declared_models(self.read_params()).items():
            if entry["source"].removeprefix("hub:") not in downloaded:
                yield f"{name} was not downloaded"

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

    def write_log(self, losses: list[str]) -> None:
        """Write what was asked and built, how long it took, and what was lost."""
        commands = pd.DataFrame({"seconds": self.seconds}).rename_axis("command")
        answers = self.count_answers().pivot(index="model", columns="family", values="rows")
        types = pd.Series({name: shape.type for name, shape in SHAPES.items()}, dtype=str)
        answers.insert(0, "type", types.reindex(answers.index).fillna(""))
        tables = {
            "Commands": commands.reset_index(),
            "Stages": self._list_kinds(),
            "Rows of answers": answers.fillna(0).reset_index(),
        }
        with (self.folder / REHEARSAL / "log.md").open("w") as log:
            for heading, table in tables.items():
                print(f"## {heading}\n{markdown_table(table)}\n", file=log)
            print("## Lost", *(losses or ["nothing"]), sep="\n", file=log)

    def _list_kinds(self) -> pd.DataFrame:
        """By kind of stage, how many are built, and when the first and the last was."""
        built = pd.DataFrame({"seconds": self.built}).rename_axis("stage").reset_index()
        built["kind"] = [name.partition("@")[0] for name in built["stage"]]
        by_kind = built.groupby("kind", sort=False)["seconds"]
        return by_kind.agg(stages="size", first="min", last="max").reset_index()


def describe_hub(hub: LoopbackHub, folder: Path) -> dict[str, str]:
    """The environment that says where the Hub is, for its libraries."""
    return {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(folder / REHEARSAL / "home"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_TOKEN": WRITE_TOKEN,
    }


PATIENT = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Stages run two at once, and threads that spin while they wait make tiny models fifty times
slower beside another busy process. A fork has the threads of the process that it is forked off.
"""


def rehearse_commands(rehearsal: Rehearsal, engine: Engine) -> list[str]:
    """Run all commands that are not done; return what was lost."""
    added = rehearsal.read_params()["models"]
    commands = [*COMMANDS]
    if engine is Engine.VLLM and find_vllm():
        commands.append(ENGINE_COMMAND)
    elif engine is Engine.VLLM:
        print(f"without `{ENGINE_COMMAND}`: no vLLM at {VLLM}; `make test-vllm` sets it up")
    try:
        rehearsal.fetch_pages()
        for command in commands:
            if not any(f" --name {name} " in command for name in added):
                rehearsal.run_command(command)
            if command == TWEETS:
                rehearsal.shorten_tweets()
        return list(rehearsal.list_losses())
    except RuntimeError as error:
        return [str(error)]


def start_warm(hub: LoopbackHub, folder: Path) -> Warm:
    """A process that stages are forked off; commands start cold, and what they start by the name of
    their Python is forked.
    """
    warm = Warm(Path(tempfile.mkdtemp()), hub=describe_hub(hub, folder) | PATIENT)
    (warm.bin / "evenruler").unlink()
    (warm.bin.parent / "sitecustomize.py").write_text(
        f"import sys\nsys.executable = {str(warm.bin / 'python')!r}\n"
    )
    return warm


def main(
    folder: Path,
    training: Annotated[
        Path, typer.Option(help="Where the data sets lie that `data/training` would hold.")
    ] = TRAINING,
    engine: Annotated[
        Engine, typer.Option(help="With `vllm`, it is asked about one benchmark, too.")
    ] = Engine.LOCAL,
) -> None:
    """Rehearse in a new folder, or run the commands again in one of an earlier rehearsal."""
    folder = folder.absolute()
    is_new = not folder.exists()
    if is_new:
        clone_tree(folder, training)
    copy_code(folder)
    (folder / REHEARSAL).mkdir(exist_ok=True)
    with running() as hub:
        warm = start_warm(hub, folder)
        rehearsal = Rehearsal(folder, hub, warm)
        if is_new:
            rehearsal.declare_few()
        rehearsal.fill_hub()
        rehearsal.built = dict.fromkeys(rehearsal.list_new_stages(), 0.0)
        losses = rehearse_commands(rehearsal, engine)
        warm.close()
    rehearsal.write_log(losses)
    print((folder / REHEARSAL / "log.md").read_text())
    raise typer.Exit(bool(losses))


if __name__ == "__main__":
    typer.run(main)
