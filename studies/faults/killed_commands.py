"""Commands other than builds that are killed.

`release` works on a small repository with real git and DVC, `publish` on the loopback Hub,
`finetune` fits a tiny encoder, `measure` asks a tiny model for three benchmarks, on nodes for two
on a new Ray cluster of two nodes with a CPU each, and `planted test --record` reads a benchmark on
the weights of a plant in a tiny model.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
from ruamel.yaml import YAML

from evenruler.models.engines import ENGINE
from evenruler.models.store import RowStore
from studies.faults.commands import (
    COMMAND,
    ENVIRONMENT,
    ROOT,
    Command,
    Left,
    copy_anew,
    read_files,
)
from studies.faults.store_log import LOG, read_keys, write_hook
from studies.ray_nodes import ENVIRONMENT as OF_NODES
from studies.ray_nodes import start_cluster
from tests.evaluate.test_weigh import OCCUPATIONS, PLANT, PROBES
from tests.faults.declarations import project
from tests.hub_client import Client
from tests.loopback_hub import WRITE_TOKEN, running
from tests.tiny import save_tiny, tiny_declaration
from tests.training import tiny

NAME, LAST, TAG, REPO = "framing-hair", "framing-hair@v0.1.0", "framing-hair@v0.1.1", "you/it"
MEASURED = ("probes-age-competence", "framing-age", "questionnaires-phq-9")

PIPELINE = f"""vars: [active.yaml]
stages:
  declared:
    cmd: {sys.executable} -m stages.declared
    deps: [active.yaml, data/sources, params.yaml]
    outs: [data/declared.json]
  card:
    foreach: ${{active.card}}
    do:
      cmd: {sys.executable} card.py
      deps: [card.py, limit]
      params:
        - data/declared.json: ["versions.${{key}}"]
      outs:
        - benchmarks/${{item.family}}-${{key}}: {{cache: false, persist: true}}
"""
CARD = """import json
import time
from pathlib import Path
from evenruler.files import replace_folder
from evenruler.declaration.params import load_params
from evenruler.publish.manifest import Manifest, as_json

version = load_params().benchmarks["framing-hair"]
limit = Path("limit").read_text()
with replace_folder(Path("benchmarks/framing-hair")) as folder:
    folder.mkdir(parents=True)
    (folder / "evidence.json").write_text('{"schema": 1, "figures": []}')
    time.sleep(0.5)
    empty = {key: {} for key in ("rows", "columns", "files")}
    lists = {"sources": [], "licences": []}
    parameters = {"limit": limit}
    manifest = Manifest(
        name="framing-hair", version=version, location=".", content_sha256="-", rejected=0,
        parameters=parameters, **lists, **empty,
    )
    (folder / "manifest.json").write_text(as_json(manifest.model_dump(mode="json")))
"""
"""A stage that takes half a second."""

IGNORED = "/.cache/\n/benchmarks/.*\n/data/\n!/data/sources/\n__pycache__/\n"


def run_git(root: Path, *words: str) -> str:
    """Return what git prints."""
    return subprocess.check_output(["git", *words], cwd=root, env=ENVIRONMENT, text=True)


class Release(Command):
    """Of a benchmark that is released at 0.1.0, and has another limit since."""

    name = "release"
    words = ("release", NAME)

    def begin(self) -> Path:
        whole = self.folder / "whole"
        if not whole.exists():
            self._make_repository(whole)
        return copy_anew(whole, self.folder / "release")

    def _make_repository(self, root: Path) -> None:
        root.mkdir(parents=True)
        project(root)
        shutil.rmtree(root / "data/built")
        (root / "dvc.lock").unlink()
        texts = {"dvc.yaml": PIPELINE, "card.py": CARD, ".gitignore": IGNORED}
        for name, text in texts.items():
            (root / name).write_text(text)
        run_git(root, "init", "-q", "-b", "main")
        run_git(root, "config", "user.name", "t")
        run_git(root, "config", "user.email", "t@example.org")
        dvc = [sys.executable, "-m", "dvc", "init", "-q"]
        subprocess.run(dvc, cwd=root, env=ENVIRONMENT, check=True)
        for limit in ("one", "two"):
            (root / "limit").write_text(limit)
            run_command(root, "repro")
            run_git(root, "add", "-A")
            run_git(root, "commit", "-qm", limit)
            if limit == "one":
                run_command(root, "release", NAME)

    def is_half_done(self, root: Path) -> bool:
        """It has written something, and has no tag."""
        n_commits = run_git(root, "rev-list", "--count", f"{LAST}..HEAD")
        is_begun = (root / ".cache/release.json").exists() or n_commits == "2\n"
        return is_begun and TAG not in run_git(root, "tag")

    def read_left(self, root: Path) -> Left:
        """Return every file of git's HEAD, but for dates."""
        names = run_git(root, "ls-tree", "-r", "--name-only", "HEAD").split()
        files = {
            name: run_git(
                root,
                "show",
                f"HEAD:{name}",
            )
            for name in names
        }
        dateless = {
            name: re.sub(
                r"\d{4}-\d\d-\d\d",
                "DATE",
                files[name],
            )
            for name in names
        }
        tagged = run_git(root, "rev-parse", f"{TAG}^{{commit}}")
        return dateless | {
            "(commits)": run_git(root, "rev-list", "--count", "HEAD"),
            "(tags)": run_git(root, "tag"),
            "(head is tagged)": tagged == run_git(root, "rev-parse", "HEAD"),
            "(status)": run_git(root, "status", "--porcelain"),
            "(journal)": (root / ".cache/release.json").exists(),
        }

    def judge_end(self, status: int, message: str) -> int:
        """The tag may have been made before the kill."""
        return 0 if status == 2 and "nothing changed since" in message else status


def run_command(root: Path, *words: str) -> None:
    """Run a command that must end well."""
    subprocess.run(
        [*COMMAND, *words], cwd=root, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL
    )


class Publish(Command):
    """To a Hub that is empty."""

    name = "publish"
    words = ("publish", "framing-age", "--to", REPO)

    def __init__(self, folder: Path, ended: ExitStack) -> None:
        super().__init__(folder)
        self.hub = ended.enter_context(running())
        client = Client(self.hub, ROOT, folder / "home")
        self.environment = client.env(WRITE_TOKEN) | {"PYTHONPATH": str(ROOT)}

    def begin(self) -> Path:
        self.hub.repos.clear()
        self.hub.blobs.clear()
        shutil.rmtree(self.folder / "home", ignore_errors=True)
        return ROOT

    def is_half_done(self, root: Path) -> bool:
        """Something was sent, and there is no tag."""
        is_begun = bool(self.hub.blobs or self.hub.repos)
        return is_begun and not any(repo.tags for repo in self.hub.repos.values())

    def read_left(self, root: Path) -> Left:
        repo = self.hub.repos[REPO]
        files = {name: blob.sha256 for name, blob in repo.files("main").items()}
        return files | {
            "(commits)": [commit.message for commit in repo.commits.values()],
            "(tags)": {tag: commit == repo.head for tag, commit in repo.tags.items()},
        }


class Finetune(Command):
    """In a workshop in which nothing was ever fitted."""

    name = "finetune"
    words = ("finetune", "tiny")

    def begin(self) -> Path:
        whole = self.folder / "workshop"
        if not whole.exists():
            tiny.workshop(whole)
            declared = tiny.declaration(tiny.MOODS, epochs=8, batch=2)
            (whole / "params.yaml").write_text(json.dumps(declared))
        return copy_anew(whole, self.folder / "finetune")

    def is_half_done(self, root: Path) -> bool:
        return any(root.glob(".cache/finetune/*"))

    def read_left(self, root: Path) -> Left:
        return read_files(root, "data/adapters/tiny/*")


class Measure(Command):
    """Of a tiny model of which nothing was ever asked; all answers that are stored are logged."""

    name = "measure"
    benchmarks = MEASURED

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.root = folder / self.name
        options = [f"--with={benchmark}" for benchmark in self.benchmarks]
        self.words = ("measure", "local:tiny", "--size", "trial", "--limit", "5", *options)
        self.environment |= {
            "EVENRULER_CACHE": ".cache",
            "HF_HUB_OFFLINE": "1",
            LOG: str(self.root / "log"),
            "PYTHONPATH": os.pathsep.join(
                [
                    str(self.root / "hook"),
                    str(ROOT),
                ]
            ),
        }

    def begin(self) -> Path:
        whole = self.folder / f"{self.name}-whole"
        if not whole.exists():
            save_tiny(whole / "tiny", max_position_embeddings=1024)
            write_hook(whole / "hook")
        return copy_anew(whole, self.root)

    def is_half_done(self, root: Path) -> bool:
        """An answer is stored, and a result is missing."""
        n_written = len([*root.glob("results/*/*/result.json")])
        return (root / ".cache/rows.sqlite").exists() and n_written < len(self.benchmarks)

    def read_left(self, root: Path) -> Left:
        keys = read_keys(root / "log")
        return read_files(root, "results/**/*") | {
            "(answers)": RowStore(root / ".cache").count(),
            "(again)": len(keys) - len(set(keys)),
        }


class MeasureOnNodes(Measure):
    """The same on a new Ray cluster; a worker or the node that is not its head may be killed."""

    name = "ray"
    benchmarks = MEASURED[:2]

    def __init__(self, folder: Path, ended: ExitStack) -> None:
        super().__init__(folder)
        self.environment = {**OF_NODES, **self.environment}
        self.cluster = ended.enter_context(ExitStack())

    def begin(self) -> Path:
        self.cluster.close()
        os.environ.update(OF_NODES)
        nodes = self.cluster.enter_context(start_cluster(2))
        self.environment[ENGINE] = f"ray={nodes.address}"
        return super().begin()

    def list_helpers(self) -> list[psutil.Process]:
        processes = self.list_workers()
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.name() == "raylet" and "--head" not in process.cmdline():
                    processes.append(process)
        return processes

    def list_workers(self) -> list[psutil.Process]:
        processes = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if any(word.startswith("ray::Worker") for word in process.cmdline()):
                    processes.append(process)
        return processes


class PlantedTest(Command):
    """In a repository with a plant, a tiny model and a benchmark of eight units."""

    name = "planted-test"
    words = ("planted", "test", "mine.yaml", "--base", "tiny", "--record")

    def begin(self) -> Path:
        whole = self.folder / "scales"
        if not whole.exists():
            (whole / "data/sources/plants").mkdir(parents=True)
            dump = YAML().dump
            plant = {
                **PLANT,
                "units": {"he": OCCUPATIONS[:8], "she": OCCUPATIONS[8:]},
            }
            dump(plant, whole / "data/sources/plants/made.yaml")
            dump(
                tiny_declaration({"tiny": save_tiny(whole / "tiny")}),
                whole / "params.yaml",
            )
            dump(PROBES, whole / "mine.yaml")
        return copy_anew(whole, self.folder / "planted-test")

    def is_half_done(self, root: Path) -> bool:
        """Something was fitted or read, and the figures are not there."""
        is_begun = any(root.glob(".cache/*"))
        return is_begun and not (root / "data/weights/figures.csv").exists()

    def read_left(self, root: Path) -> Left:
        return read_files(root, "data/weights/*")
