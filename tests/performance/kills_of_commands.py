"""`evenruler release`, `publish`, `finetune`, `measure` and `planted test`, killed at random moments; and
what the next run makes of what is left.

Run by hand: `python -m tests.performance.kills_of_commands FOLDER --kills N [--only
COMMAND]`; N kills of each. All
are started as users start them. `release` works on a small repository with real git and DVC,
`publish` on the loopback Hub, `finetune` fits a tiny encoder, `measure` asks a tiny model for three
benchmarks, `ray` asks it for two on a new Ray cluster of two nodes with a CPU each, and `weigh
--record` reads a benchmark on the weights of a plant in a tiny model. Moments are drawn evenly over
the time that the command takes when nobody kills it, every second one over a tenth of this time
once something is half done. Who is killed is drawn, too: the command alone, or all that it started;
on a cluster also a worker or the node that is not the head, which the command must survive. After
one to three kills the command is run until it ends well: twice at most where it names locks that a
killed git left, which are removed as it says. What is there then is compared with what a run leaves
that nobody killed; no answer that was kept may be asked again, and no process of a command or
worker may be left a minute later.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

from evenruler.models.engines import ENGINE
from evenruler.models.store import RowStore
from tests.evaluate.test_weigh import OCCUPATIONS, PLANT, PROBES
from tests.faults.declarations import project
from tests.hub_client import Client
from tests.loopback_hub import WRITE_TOKEN, LoopbackHub, running
from tests.performance.ask_by_ray import cluster
from tests.performance.kills import LOGGED
from tests.performance.ray_engine import ENVIRONMENT
from tests.performance.tables import print_head, print_row
from tests.tiny import save_tiny, tiny_declaration
from tests.training import tiny

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from evenruler.cli import main; main()")
NAME, LAST, TAG, REPO = "framing-hair", "framing-hair@v0.1.0", "framing-hair@v0.1.1", "you/it"
ENV = os.environ | {
    "PYTHONPATH": str(ROOT),
    "PYTHONDONTWRITEBYTECODE": "1",
    "DVC_NO_ANALYTICS": "1",
}

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
    (folder / "evidence.json").write_text("{}")
    time.sleep(0.5)
    empty = {key: {} for key in ("rows", "columns", "files")}
    made = Manifest(name="framing-hair", version=version, location=".", content_sha256="-", rejected=0, sources=[],
                    licences=[], parameters={"limit": limit}, **empty)
    (folder / "manifest.json").write_text(as_json(made.model_dump(mode="json")))
"""
"""A stage that takes half a second."""


@dataclass
class Tried:
    """A command, how to begin anew, and what is there once it has ended."""

    name: str
    words: tuple[str, ...]
    begin: Callable[[Path], Path]
    left: Callable[[Path], Any]
    env: dict[str, str]
    half: Callable[[Path], bool]
    """Whether something is there that is not whole."""
    others: Callable[[], list[psutil.Process]] = list
    """Who else may be killed; the command goes on then."""
    seconds: float = 0.0
    expected: Any = None
    kills: int = 0
    halves: int = 0
    rounds: int = 0
    same: int = 0
    locks: int = 0
    wrong: list[str] = field(default_factory=list)


def _run(tried: Tried, folder: Path) -> tuple[int, str]:
    command = [*COMMAND, *tried.words]
    done = subprocess.run(
        command, cwd=folder, env=tried.env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr + done.stdout


def _kill(tried: Tried, folder: Path, draws: random.Random) -> set[psutil.Process]:
    """Kill, unless the command ends first; the processes of the command that there were."""
    process = subprocess.Popen(
        [*COMMAND, *tried.words],
        cwd=folder,
        env=tried.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    moment, soon = time.monotonic() + draws.uniform(0, tried.seconds), draws.random() < 0.5
    while process.poll() is None and time.monotonic() < moment:
        time.sleep(0.01)
        if soon and tried.half(folder):
            moment, soon = time.monotonic() + draws.uniform(0, tried.seconds / 10), False
    if process.poll() is not None:
        return set()
    helpers, command = tried.others(), psutil.Process(process.pid)
    there = {command, *command.children(recursive=True), *filter(_is_worker, helpers)}
    tried.kills += 1
    if helpers and draws.random() < 0.6:
        victim = draws.choice(helpers)
        victim.kill()
        victim.wait()  # to its workers a node that nobody waited for still lives
        tried.halves += tried.half(folder)
        status = process.wait(timeout=900)
        if status:
            tried.wrong.append(f"status {status} of a command that was not killed")
        return there
    if draws.random() < 0.5:
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    tried.halves += tried.half(folder)
    return there


def _left_alone(tried: Tried, folder: Path) -> tuple[int, str]:
    """Run until it ends by itself and names no lock of git; those are removed as it says."""
    time.sleep(1)  # a git that was not killed with the command ends
    for _ in range(3):
        status, message = _run(tried, folder)
        if "remove these files" not in message:
            break
        tried.locks += 1
        for path in re.findall(r"[^\s,:]+\.lock(?=[,:])", message):
            Path(path).unlink()
    if tried.name == "release" and status == 2 and "nothing changed since" in message:
        return 0, message  # the tag was made before the kill
    return status, message


def one_round(tried: Tried, folder: Path, draws: random.Random) -> None:
    """Kill, run, compare."""
    place, seen, n_wrong = tried.begin(folder), set[psutil.Process](), len(tried.wrong)
    for _ in range(draws.randint(1, 3)):
        seen |= _kill(tried, place, draws)
    status, message = _left_alone(tried, place)
    left = tried.left(place)
    _, alive = psutil.wait_procs([*seen, *filter(_is_worker, tried.others())], timeout=60)
    if alive:
        tried.wrong.append(f"left after a minute: {alive}")
    if status or left != tried.expected:
        last_line, differing = message.strip().splitlines()[-1:], _differing(left, tried.expected)
        tried.wrong.append(f"status {status}: {last_line}; {differing}")
    tried.rounds += 1
    tried.same += len(tried.wrong) == n_wrong
    if len(tried.wrong) > n_wrong:
        shutil.copytree(
            place, folder / f"wrong-{tried.name}-{len(tried.wrong)}", dirs_exist_ok=True
        )


def _differing(left: Any, expected: Any) -> str:
    if isinstance(left, dict):
        return str(sorted(key for key in {*left, *expected} if left.get(key) != expected.get(key)))
    return f"{left} for {expected}" if left != expected else "nothing differs"


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, env=ENV, capture_output=True, text=True, check=True
    ).stdout


def _repository(folder: Path) -> Path:
    """A benchmark that is released at 0.1.0, and has another limit since; made once, and copied."""
    whole, root = folder / "whole", folder / "release"
    if not whole.exists():
        whole.mkdir(parents=True)
        project(whole)
        shutil.rmtree(whole / "data/built")
        (whole / "dvc.lock").unlink()
        (whole / "dvc.yaml").write_text(PIPELINE)
        (whole / "card.py").write_text(CARD)
        (whole / ".gitignore").write_text(
            "/.cache/\n/benchmarks/.*\n/data/\n!/data/sources/\n__pycache__/\n"
        )
        _git(whole, "init", "-q", "-b", "main")
        _git(whole, "config", "user.name", "t")
        _git(whole, "config", "user.email", "t@example.org")
        subprocess.run([sys.executable, "-m", "dvc", "init", "-q"], cwd=whole, env=ENV, check=True)
        for limit in ("one", "two"):
            (whole / "limit").write_text(limit)
            subprocess.run([*COMMAND, "repro"], cwd=whole, env=ENV, check=True, capture_output=True)
            _git(whole, "add", "-A")
            _git(whole, "commit", "-qm", limit)
            if limit == "one":
                subprocess.run(
                    [*COMMAND, "release", NAME], cwd=whole, env=ENV, check=True, capture_output=True
                )
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(whole, root, symlinks=True))


def _released(root: Path) -> dict[str, Any]:
    """Every file of git's HEAD, but for dates; how many commits, what is tagged, and what is not
    committed."""
    names = _git(root, "ls-tree", "-r", "--name-only", "HEAD").split()
    files = {
        name: re.sub(r"\d{4}-\d\d-\d\d", "DATE", _git(root, "show", f"HEAD:{name}"))
        for name in names
    }
    tagged = _git(root, "rev-parse", f"{TAG}^{{commit}}") == _git(root, "rev-parse", "HEAD")
    return files | {
        "(commits)": _git(root, "rev-list", "--count", "HEAD"),
        "(tags)": _git(root, "tag") if tagged else "elsewhere",
        "(status)": _git(root, "status", "--porcelain"),
        "(journal)": (root / ".cache/release.json").exists(),
    }


def _half_released(root: Path) -> bool:
    """It has written something, and has no tag."""
    n_commits = _git(root, "rev-list", "--count", f"{LAST}..HEAD")
    begun = (root / ".cache/release.json").exists() or n_commits == "2\n"
    return begun and TAG not in _git(root, "tag")


def _publisher(hub: LoopbackHub) -> Callable[[Path], Path]:
    """Begins with an empty Hub."""

    def begin(folder: Path) -> Path:
        hub.repos.clear()
        hub.blobs.clear()
        shutil.rmtree(folder / "home", ignore_errors=True)
        return ROOT

    return begin


def _half_published(hub: LoopbackHub, _: Path) -> bool:
    """Something was sent, and there is no tag."""
    return bool(hub.blobs or hub.repos) and not any(repo.tags for repo in hub.repos.values())


def _published(hub: LoopbackHub) -> Callable[[Path], Any]:
    def left(_: Path) -> Any:
        repo = hub.repos[REPO]
        files = {name: blob.sha256 for name, blob in repo.files("main").items()}
        return files | {
            "(commits)": [commit.message for commit in repo.commits.values()],
            "(tags)": {tag: commit == repo.head for tag, commit in repo.tags.items()},
        }

    return left


def _workshop(folder: Path) -> Path:
    """A workshop in which nothing was ever fitted."""
    whole, root = folder / "workshop", folder / "finetune"
    if not whole.exists():
        tiny.workshop(whole)
        declared = tiny.declaration(tiny.MOODS, epochs=8, batch=2)
        (whole / "params.yaml").write_text(json.dumps(declared))
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(whole, root))


def _half_fitted(root: Path) -> bool:
    """A run has been begun and is not done with."""
    return any(root.glob(".cache/finetune/*"))


MEASURED = ("probes-age-competence", "framing-age", "questionnaires-phq-9")


def _desk(folder: Path) -> Path:
    """A folder with a tiny model, where nothing was ever asked, and all that is kept is logged."""
    root = folder / "measure"
    shutil.rmtree(root, ignore_errors=True)
    save_tiny(root / "tiny", max_position_embeddings=1024)
    (root / "hook").mkdir()
    (root / "hook/sitecustomize.py").write_text(LOGGED)
    return root


def _cluster(folder: Path, env: dict[str, str], ended: ExitStack) -> Path:
    """The same beside a new cluster, whose address is written into the surroundings of the
    command."""
    ended.close()
    os.environ.update(ENVIRONMENT)
    env[ENGINE] = ended.enter_context(cluster(2))
    return _desk(folder)


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return any(word.startswith("ray::Worker") for word in process.cmdline())
    return False


def _workers_and_node() -> list[psutil.Process]:
    """The workers of the cluster that was started here, and the node that is not its head."""
    processes = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            is_node = process.name() == "raylet" and "--head" not in process.cmdline()
            if is_node or _is_worker(process):
                processes.append(process)
    return processes


def _half_asked(results: int, root: Path) -> bool:
    """An answer is kept, and a result is missing."""
    n_written = len([*root.glob("results/*/*/result.json")])
    return (root / ".cache/rows.sqlite").exists() and n_written < results


def _asking(
    name: str, benchmarks: tuple[str, ...], begin: Callable[[Path], Path], env: dict[str, str]
) -> Tried:
    """A measurement with some benchmarks."""
    words = ["measure", "local:tiny", "--size", "trial", "--limit", "5"]
    words += [f"--with={benchmark}" for benchmark in benchmarks]
    is_half = partial(_half_asked, len(benchmarks))
    return Tried(name, tuple(words), begin, _measured, env, is_half)


def _measured(root: Path) -> dict[str, Any]:
    """Every file of the results, how many answers are kept, and how many were asked again that were
    kept."""
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.glob("results/**/*")
        if path.is_file()
    }
    log = (root / "log").read_bytes()
    keys = {log[first : first + 32] for first in range(0, len(log), 32)}
    return files | {
        "(answers)": RowStore(root / ".cache").count(),
        "(again)": len(log) // 32 - len(keys),
    }


def _scales(folder: Path) -> Path:
    """A repository with a plant, a tiny model and a benchmark of eight units."""
    whole, root = folder / "scales", folder / "weigh"
    if not whole.exists():
        (whole / "data/sources/plants").mkdir(parents=True)
        dump = YAML().dump
        plant = {**PLANT, "units": {"he": OCCUPATIONS[:8], "she": OCCUPATIONS[8:]}}
        dump(plant, whole / "data/sources/plants/made.yaml")
        dump(tiny_declaration({"tiny": save_tiny(whole / "tiny")}), whole / "params.yaml")
        dump(PROBES, whole / "mine.yaml")
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(whole, root))


def _half_weighed(root: Path) -> bool:
    """Something was fitted or read, and the figures are not there."""
    return any(root.glob(".cache/*")) and not (root / "data/weights/figures.csv").exists()


def _weighed(root: Path) -> dict[str, bytes]:
    """What is recorded."""
    return {path.name: path.read_bytes() for path in (root / "data/weights").glob("*")}


def _fitted(root: Path) -> dict[str, bytes]:
    """The files of the adapter."""
    return {path.name: path.read_bytes() for path in (root / "data/adapters/tiny").glob("*")}


def _commands(hub: LoopbackHub, folder: Path, ended: ExitStack) -> list[Tried]:
    """All commands to be killed."""
    with_token = Client(hub, ROOT, folder / "home").env(WRITE_TOKEN) | {"PYTHONPATH": str(ROOT)}
    logged = ENV | {
        "EVENRULER_CACHE": ".cache",
        "HF_HUB_OFFLINE": "1",
        "ACKNOWLEDGED": str(folder / "measure/log"),
    }
    logged["PYTHONPATH"] = os.pathsep.join([str(folder / "measure/hook"), str(ROOT)])
    on_nodes = logged | ENVIRONMENT | {"PYTHONPATH": logged["PYTHONPATH"]}
    nodes = partial(_cluster, env=on_nodes, ended=ended)
    published, half_published = _published(hub), partial(_half_published, hub)
    to_publish = ("publish", "framing-age", "--to", REPO)
    to_weigh = ("planted", "test", "mine.yaml", "--base", "tiny", "--record")
    return [
        Tried("release", ("release", NAME), _repository, _released, ENV, _half_released),
        Tried("publish", to_publish, _publisher(hub), published, with_token, half_published),
        Tried("finetune", ("finetune", "tiny"), _workshop, _fitted, ENV, _half_fitted),
        _asking("measure", MEASURED, _desk, logged),
        replace(_asking("ray", MEASURED[:2], nodes, on_nodes), others=_workers_and_node),
        Tried("weigh", to_weigh, _scales, _weighed, ENV, _half_weighed),
    ]


def _kill_often(tried: Tried, folder: Path, n_kills: int) -> None:
    """Measure what a command leaves that nobody kills, then kill it."""
    draws = random.Random(f"0 {tried.name}")
    for _ in range(2):  # the first reads everything from the disk
        place, began = tried.begin(folder), time.monotonic()
        status, message = _run(tried, place)
        assert status == 0, message
        tried.seconds, tried.expected = time.monotonic() - began, tried.left(place)
    print(f"{tried.name}: {tried.seconds:.1f} s when nobody kills it", flush=True)
    while tried.kills < n_kills:
        one_round(tried, folder, draws)
        counts = f"{tried.kills} kills, {tried.halves} half way, {tried.rounds} rounds"
        print(f"{tried.name}: {counts}, {tried.same} the same", *tried.wrong[-1:], flush=True)


def main() -> None:
    """Kill each command as often as wanted; print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--only", help="the name of a command")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with running() as hub, ExitStack() as ended:
        commands = _commands(hub, folder, ended)
        for tried in commands:
            if arguments.only in (None, tried.name):
                _kill_often(tried, folder, arguments.kills)
    print_head(
        *("command", "kills", "of them half way", "rounds"),
        *("last runs with status 0 and the same left", "locks of git"),
    )
    for tried in commands:
        counts = tried.kills, tried.halves, tried.rounds, tried.same, tried.locks
        print_row(f"`{tried.name}`", *counts)


if __name__ == "__main__":
    main()
