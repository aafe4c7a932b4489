"""A clone of this repository in a temporary folder, with tiny random models, driven by the real
DVC."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from tests.text_tables import yaml_of_text
from tests.tiny import save_tiny
from tests.warm import Warm

if TYPE_CHECKING:
    from tests.stages.evolving import Evolving

ROOT = Path(__file__).parents[2]
MADE = (
    "data/built",
    "data/scraped",
    "data/evolved",
    "data/answers",
    "data/diagnosis",
    "data/report",
    "benchmarks",
)
yaml = YAML()
PAIRS = Path("data/sources/questionnaires/shared/pairs/entailment-pairs.csv")


def allowed(*command: str) -> bool:
    """Whether this machine lets us do that."""
    return (
        shutil.which(command[0]) is not None
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


NO_NETWORK = (
    ("unshare", "--map-root-user", "--net")
    if allowed("unshare", "--map-root-user", "--net", "true")
    else ()
)
"""Runs a command where there is no network at all, not even loopback; empty where that cannot be
had."""


UP_TO_DATE = "Data and pipelines are up to date."


def ran(output: str) -> list[str]:
    """The stages that `dvc repro` says it ran."""
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]


def edit_yaml(path: Path, change: Callable[[dict], object]) -> None:
    """Change a YAML file in place, its comments kept."""
    document = yaml.load(path.read_text())
    change(document)
    yaml.dump(document, path)


class Clone:
    """A checkout in which commands are run as a user would run them."""

    def __init__(self, folder: Path, cache: Path, warm: Warm | None = None) -> None:
        self.folder, self.warm = folder, warm
        self.env = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "EVENRULER_CACHE": str(cache),
            "DVC_NO_ANALYTICS": "1",
            "HF_HUB_OFFLINE": "1",
        }

    def run(self, *command: str, status: int = 0, cold: bool = False) -> str:
        """What a command printed; fails unless it ends with the given status.

        Where the clone has a warm process, stages are forked off it, unless they are to start cold.
        """
        path = (
            self.env["PATH"]
            if cold or not self.warm
            else f"{self.warm.bin}{os.pathsep}{self.env['PATH']}"
        )
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """A command in a session of its own, started cold and left running."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def edit(self, file: str, change: Callable[[dict], None]) -> None:
        """Change a YAML file in place, its comments kept."""
        edit_yaml(self.folder / file, change)

    def copied(self, folder: Path) -> "Clone":
        """The clone elsewhere, with an empty store."""
        shutil.copytree(self.folder, folder / "clone", symlinks=True)
        (folder / "cache").mkdir()
        (folder / "cache/models").symlink_to(
            (Path(self.env["EVENRULER_CACHE"]) / "models").resolve()
        )
        return Clone(folder / "clone", folder / "cache", self.warm)

    def contents(self, *folders: str) -> dict[str, bytes]:
        """Every file below some folders, by path."""
        contents = {}
        for folder in folders:
            for path in filter(Path.is_file, (self.folder / folder).rglob("*")):
                contents[path.relative_to(self.folder).as_posix()] = path.read_bytes()
        return contents

    def commit(self, message: str) -> None:
        self.run("git", "add", "-A")
        self.run(
            "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", message
        )


def clone_into(folder: Path, cache: Path, warm: Warm | None = None) -> Clone:
    """This working tree, what is made left out, as a repository of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (
            name.startswith((*MADE, "data/recorded", "tests/", "studies/", "dvc.lock"))
            or not (ROOT / name).exists()
        ):
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / "data/recorded").mkdir()
    (folder / "data/recorded/release.json").write_text(
        '{"release": "none", "models": {}, "files": {}}'
    )
    cache.mkdir(parents=True)
    (ROOT / ".cache/models").mkdir(parents=True, exist_ok=True)
    (cache / "models").symlink_to(ROOT / ".cache/models")
    clone = Clone(folder, cache, warm)
    clone.run("git", "init", "-q")
    return clone


def shorten(attributes: int, sets: tuple[str, ...]) -> Callable[[dict], None]:
    """An edit of the domain that keeps its first attributes and some of its sets."""

    def change(source: dict) -> None:
        del source["attributes"][attributes:]
        for name in [name for name in source["sets"] if name not in sets]:
            del source["sets"][name]

    return change


def shorten_items(source: dict) -> None:
    """An edit of a questionnaire that keeps its first three items, with their twins."""
    for name in list(source["items"])[3:]:
        del source["items"][name]


def short_pairs(folder: Path) -> None:
    """Write labelled pairs and facts into a folder: some of those that ship, short enough for tiny
    models."""
    pairs = pd.read_csv(ROOT / PAIRS, keep_default_na=False)
    short = pairs[(pairs["premise"] + pairs["hypothesis"]).str.len() <= 60]
    folder.mkdir(parents=True, exist_ok=True)
    few = short.groupby(["set", "label"]).head(4)
    few.to_csv(folder / PAIRS.name, index=False)
    facts = pd.read_csv((ROOT / PAIRS).with_name("facts.csv"))
    facts.head(4).to_csv(folder / "facts.csv", index=False)


def shorten_corpus(source: dict) -> None:
    """An edit of a corpus that keeps its first ten sentences."""
    del source["sentences"][10:]


def evidence_in(folder: Path, family: str) -> dict[str, Any]:
    """By instrument of a family, the figures that its card shows; none for an instrument without
    figures."""
    paths = sorted((folder / f"data/diagnosis/{family}/evidence").glob("*.json"))
    figures = {path.stem: json.loads(path.read_text())["figures"] for path in paths}
    return {name: of_instrument for name, of_instrument in figures.items() if of_instrument}


TWO_SETS = {"article": {"validation": "literal"}}
"""What params.yaml says of occupations where `shorten` leaves two sets."""

FEW = yaml_of_text("""
stimuli: {trial: 2, standard: 2, full: 1000}
new_tokens: {trial: 4, standard: 4, full: 50}
choices: every
""")
"""How a contrast is asked of tiny models."""

FRUIT = yaml_of_text("""
items: {trial: 6, standard: 6, full: 1000}
new_tokens: {trial: 4, standard: 4, full: 50}
""")
"""How a domain is asked of tiny models."""

FEATURES = yaml_of_text("""
vader: {kind: lexicon}
distance: {kind: distance, metric: cosine}
topics: {kind: clusters, form: distance, k: 2, seed: 0}
""")
ADAPTED = yaml_of_text("""
acceptability: tiny-a
corpora: {depressive-mood: {epochs: {quick: 2, paper: 20}}}
""")
"""How questionnaires are asked of a model that is adapted."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, start_warm: Callable[..., Any]) -> Clone:
    """A clone with two tiny models, twelve attributes and three items, built without a network, and
    committed."""
    folder = tmp_path_factory.mktemp("pipeline")
    clone = clone_into(folder / "clone", folder / "cache", start_warm(*NO_NETWORK))
    for name, kind in (("tiny-a", "llama"), ("tiny-b", "gemma3")):
        save_tiny(folder / name, kind=kind)

    def two_tiny_models(params: dict) -> None:
        embedder = params["models"]["all-minilm-l6-v2"]
        params["models"] = {name: entry(folder / name) for name in ("tiny-a", "tiny-b")}
        params["models"]["all-minilm-l6-v2"] = embedder
        params["models"]["tiny-a"] |= {"entailment": True, "intervention": "every"}
        params["diagnosis"] |= {"resamples": 100}
        params["instruments"] = {
            "occupation-gender": {**params["instruments"]["occupation-gender"], **TWO_SETS},
            "gad-7": {"family": "questionnaires"},
            "age": {"family": "framing", **FEW},
            "fruit": {"family": "saged", **FRUIT},
        }
        params["families"]["questionnaires"] |= ADAPTED
        params["families"]["saged"]["features"] = FEATURES

    clone.edit("params.yaml", two_tiny_models)
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(12, ("validation", "seed")))
    clone.edit("data/sources/questionnaires/gad-7.yaml", shorten_items)
    clone.edit("data/sources/questionnaires/shared/corpora/depressive-mood.yaml", shorten_corpus)
    short_pairs(clone.folder / PAIRS.parent)
    clone.run("evenruler", "check")
    clone.run(*NO_NETWORK, "dvc", "repro")
    clone.commit("built")
    shutil.copytree(clone.folder, folder / "pristine", symlinks=True)
    return clone


@pytest.fixture(scope="session")
def evolving(tmp_path_factory: pytest.TempPathFactory, warm: Warm | None) -> Iterator["Evolving"]:
    """A clone in which a domain evolved, with the server that reworded its templates."""
    from tests.stages.evolving import evolved_in

    with evolved_in(tmp_path_factory.mktemp("evolving"), warm) as built_clone:
        yield built_clone


def entry(folder: Path) -> dict:
    """The catalogue's entry of a local model."""
    return {
        "kind": "causal",
        "source": f"local:{folder}",
        "licence": "apache-2.0",
        "origin": "made by the test",
    }
