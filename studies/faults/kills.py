"""Builds of a tiny pipeline that are killed at random moments, and what is left once the next build
has ended.

Run by hand: `python -m studies.faults.kills FOLDER --kills N`. The folder holds the pipeline and
what was seen; a later run goes on from there. The stages are those of this project, started cold;
the model is that of `tests.tiny`. A round begins where some stages have been built, of a clone in
which nothing else ever was (`a`) or in which all was built of another declaration (`b`). Builds
(`evenruler repro` or `dvc repro`) are killed until a round has had enough; then one `evenruler
repro` is left alone. Where DVC was killed while it wrote `dvc.lock`, the file of the begin is
taken, as the error of the next command says (`git checkout dvc.lock`). The last build must end with
status 0, and leave the files, byte for byte, that a build leaves which nobody killed. Who is killed
is drawn: the command, the DVC that it started, or a stage; and by what: KILL, TERM or INT. Moments
are drawn evenly, or are those at which `dvc.lock` is being written.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
from ruamel.yaml import YAML

from studies.tables import print_head, print_row
from tests.stages.conftest import FRUIT, Clone, clone_into, entry, shorten
from tests.tiny import save_tiny

LONGEST = 15.0
"""Seconds after which a build is killed at the latest."""

A_ROUND = 8
"""Kills in a round, on average."""

AT_THE_LOCK = 0.25
"""Share of kills that wait for DVC to write `dvc.lock`."""

STATES = ("a", "b")
STAGES = (
    *(
        "declared",
        "scrape@fruit",
        "rows@occupation-gender",
        "rows@fruit",
        "ask@probes-tiny",
        "ask@saged-tiny",
    ),
    *("diagnose@probes", "diagnose@saged", "card@occupation-gender", "card@fruit"),
)
"""All but the last, in an order in which they can run."""

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
COMMANDS = {"evenruler repro": ("evenruler", "repro"), "dvc repro": ("dvc", "repro")}
MADE_BY_THE_WAY = ("/.git/", "/.dvc/", "/.cache/", "/__pycache__/", "/dvc.lock")

LOGGED = """import importlib.abc, importlib.util, os, sys

class Logging(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "evenruler.models.store":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        whole = spec.loader.exec_module

        def exec_module(module):
            whole(module)
            put = module.RowStore.put

            def logged(store, answers):
                answers = list(answers)
                put(store, answers)
                with open(os.environ["ACKNOWLEDGED"], "ab") as file:
                    file.write(b"".join(key for key, _ in answers))

            module.RowStore.put = logged

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Logging())
"""
"""For a `sitecustomize`: the keys of all answers that the store said it has, in a file."""


@dataclass(frozen=True)
class Kill:
    """One kill, or a command that ended before it."""

    round: int
    command: str
    victim: str
    """`command`, `dvc`, `stage`; `none` where it ended first."""
    signal: str
    """One of `SIGNALS`."""
    moment: str
    """`random` or `lock`."""
    seconds: float
    stage: str
    """That ran then; empty where none did."""
    lock: str
    """`dvc.lock` after it: `whole`, `cut` or `none`."""
    outlived: int
    """Processes that were there ten seconds later."""
    said: str
    """Of a command that ended by itself and failed: its last line."""


@dataclass(frozen=True)
class Round:
    """What the build after the kills left."""

    round: int
    kills: int
    status: int
    differing: list[str]
    """Files that are not what a build leaves which nobody killed, or `git status`."""
    twice: int
    """Answers that were kept, and asked again."""
    lost: int
    """Answers that were kept, and are gone."""
    acknowledged: int


class Pipeline:
    """The tiny pipeline and what was seen of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clone = Clone(folder / "clone", folder / "cache")
        self.log = folder / "acknowledged"
        hook = folder / "hook"
        self.clone.env |= {
            "ACKNOWLEDGED": str(self.log),
            "PYTHONPATH": os.pathsep.join([str(hook), str(self.clone.folder)]),
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if not (folder / "expected.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            hook.mkdir(parents=True)
            (hook / "sitecustomize.py").write_text(LOGGED)
            self._make()
        self.expected = json.loads((folder / "expected.json").read_text())

    def _make(self) -> None:
        """Build both declarations without a kill, and keep what each stage left."""
        clone_into(self.clone.folder, self.folder / "cache")
        save_tiny(self.folder / "tiny", kind="llama")
        expected = {}
        for state in STATES:
            _declare(self.clone, state, self.folder / "tiny")
            self.clone.run("evenruler", "check")
            self._empty()
            for number, stage in enumerate(STAGES):
                _copy(self.clone.folder, self.folder / f"begun/{state}-{number}/clone")
                _copy(self.folder / "cache", self.folder / f"begun/{state}-{number}/cache")
                self.clone.run("dvc", "repro", "--single-item", stage)
            self.clone.run("evenruler", "repro")
            expected[state] = self.left()
            self.clone.commit(state)
            print(f"built {state}: {len(expected[state])} files", flush=True)
        (self.folder / "expected.json").write_text(json.dumps(expected))

    def _empty(self) -> None:
        """Forget every answer, and every result that DVC could take in place of a run."""
        for path in (self.folder / "cache").glob("rows.sqlite*"):
            path.unlink()
        shutil.rmtree(self.clone.folder / ".dvc/cache/runs", ignore_errors=True)

    def begin(self, state: str, number: int) -> None:
        """Be where that many stages have been built, and log answers from here on."""
        for name in ("clone", "cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            _copy(self.folder / f"begun/{state}-{number}" / name, self.folder / name)
        self.log.write_bytes(b"".join(sorted(self.stored())))

    def restore_lock(self, state: str, number: int) -> None:
        """Take the lock of the begin, as `git checkout dvc.lock` would; what was built since is in
        DVC's cache."""
        lock = self.clone.folder / "dvc.lock"
        begun = self.folder / f"begun/{state}-{number}/clone/dvc.lock"
        lock.unlink()
        if begun.exists():
            shutil.copy(begun, lock)

    def left(self) -> dict[str, str]:
        """The checksum of every file; of dvc.lock that of what it says, whose order is that of the
        runs."""
        checksums = {}
        for path in sorted(self.clone.folder.rglob("*")):
            name = f"/{path.relative_to(self.clone.folder).as_posix()}"
            if path.is_file() and not any(word in name for word in MADE_BY_THE_WAY):
                checksums[name[1:]] = hashlib.sha256(path.read_bytes()).hexdigest()
        lock = YAML(typ="safe").load((self.clone.folder / "dvc.lock").read_text())
        ordered = json.dumps(lock, sort_keys=True)
        checksums["dvc.lock"] = hashlib.sha256(ordered.encode()).hexdigest()
        checksums["git status"] = self.clone.run("git", "status", "--porcelain")
        return checksums

    def acknowledged(self) -> list[bytes]:
        """The keys of all answers that the store said it has, in their order."""
        content = self.log.read_bytes()
        return [content[first : first + 32] for first in range(0, len(content), 32)]

    def stored(self) -> set[bytes]:
        """The keys in the store."""
        import sqlite3

        path = self.folder / "cache/rows.sqlite"
        if not path.exists():
            return set()
        with sqlite3.connect(path) as connection:
            return {key for (key,) in connection.execute("SELECT key FROM kept")}

    def locked(self) -> set[str]:
        """The stages that dvc.lock knows; none where it cannot be read."""
        with suppress(Exception):
            return set(
                YAML(typ="safe").load((self.clone.folder / "dvc.lock").read_text())["stages"]
            )
        return set()

    def lock(self, before: set[str]) -> str:
        """Whether dvc.lock can be read and knows what it knew."""
        path = self.clone.folder / "dvc.lock"
        if not path.exists():
            return "none"
        stages = self.locked()
        return "whole" if stages and stages >= before else "cut"


def _copy(folder: Path, to: Path) -> None:
    shutil.copytree(folder, to, symlinks=True)


def _declare(clone: Clone, state: str, model: Path) -> None:
    """Two declarations whose every stage differs."""
    first = state == "a"

    def few(params: dict[str, Any]) -> None:
        encoder = "all-minilm-l6-v2"
        params["models"] = {"tiny": entry(model), encoder: params["models"][encoder]}
        params["diagnosis"]["resamples"] = 100 if first else 101
        sizes = {"items": 6, "new_tokens": 4} if first else {"items": 7, "new_tokens": 5}
        params["instruments"] = {
            "occupation-gender": {"family": "probes"},
            "fruit": {"family": "saged", **FRUIT, **sizes},
        }
        params["families"]["saged"]["features"] = {"vader": {"kind": "lexicon"}}

    source = "data/sources/probes/occupation-gender.yaml"
    if first:
        clone.edit(source, shorten(12, ("validation",)))
    else:
        clone.edit(source, lambda content: content["attributes"].pop())
    clone.edit("params.yaml", few)


def _stages(top: psutil.Process) -> Iterator[tuple[psutil.Process, str]]:
    """The stages that run below a process."""
    with suppress(psutil.Error):
        for process in top.children(recursive=True):
            with suppress(psutil.Error):
                words = process.cmdline()
                name = " ".join(words[words.index("-m") + 1 :]) if "-m" in words else ""
                if name.startswith("stages."):
                    yield process, name.removeprefix("stages.")


def _dvc(top: psutil.Process) -> psutil.Process | None:
    with suppress(psutil.Error):
        for process in (top, *top.children(recursive=True)):
            with suppress(psutil.Error):
                words = process.cmdline()
                names = {Path(word).name for word in words}
                if "repro" in words and names & {"dvc", "evenruler"}:
                    return process
    return None


def kill_once(pipeline: Pipeline, number: int, draws: random.Random) -> Kill:
    """Start a build and kill somebody; what was seen."""
    command, victim = draws.choice(list(COMMANDS)), draws.choice(("command", "dvc", "stage"))
    sent = draws.choice(SIGNALS)
    at_lock, delay = draws.random() < AT_THE_LOCK, draws.uniform(0, LONGEST)
    output = pipeline.folder / "said.txt"
    path = pipeline.clone.folder / "dvc.lock"
    written = path.stat().st_mtime_ns if path.exists() else None
    locked = pipeline.locked()
    with output.open("w") as out:
        started = subprocess.Popen(
            COMMANDS[command],
            cwd=pipeline.clone.folder,
            env=pipeline.clone.env,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    began, top = time.monotonic(), psutil.Process(started.pid)
    target, stage = None, ""
    while started.poll() is None and target is None:
        took = time.monotonic() - began
        if at_lock and took < 3 * LONGEST:
            time.sleep(0.0005)
            if not path.exists() or path.stat().st_mtime_ns == written:
                continue
            target = _dvc(top) if victim != "command" else top
        elif took < delay:
            time.sleep(0.01)
            continue
        elif victim == "stage":
            target = next((process for process, _ in _stages(top)), None)
        else:
            target = top if victim == "command" else _dvc(top)
    family = []
    with suppress(psutil.Error):
        family = [top, *top.children(recursive=True)]
        stage = next((name for _, name in _stages(top)), "")
    hit = False
    if target is not None and started.poll() is None:
        with suppress(psutil.Error):
            target.send_signal(signal.Signals[sent])
            hit = True
    took = time.monotonic() - began
    status = started.wait(timeout=600)
    children = [process for process in family if process.pid != started.pid]
    _, alive = psutil.wait_procs(children, timeout=10)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    lines = output.read_text(errors="replace").splitlines()
    if at_lock and victim == "stage":
        victim = "dvc"
    return Kill(
        round=number,
        command=command,
        victim=victim if hit else "none",
        signal=sent,
        moment="lock" if at_lock else "random",
        seconds=round(took, 2),
        stage=stage,
        lock=pipeline.lock(locked),
        outlived=len(alive),
        said="" if hit or status == 0 else (lines or [""])[-1][:200],
    )


def one_round(
    pipeline: Pipeline, number: int, most: int, draws: random.Random
) -> tuple[list[Kill], Round]:
    """Kill, build in peace, and compare."""
    state, clone = STATES[number % 2], pipeline.clone
    begun = draws.randrange(len(STAGES))
    pipeline.begin(state, begun)
    kills: list[Kill] = []
    while sum(kill.victim != "none" for kill in kills) < most:
        kills.append(kill_once(pipeline, number, draws))
        print(f"  {kills[-1]}", flush=True)
        if kills[-1].lock == "cut":
            pipeline.restore_lock(state, begun)
        if (kills[-1].victim == "none" and not kills[-1].said) or draws.random() < 1 / A_ROUND:
            break
    done = subprocess.run(
        COMMANDS["evenruler repro"],
        cwd=clone.folder,
        env=clone.env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:])
    unequal = pipeline.expected[state].items() ^ pipeline.left().items()
    differing = sorted({name for name, _ in unequal})
    keys = pipeline.acknowledged()
    left_by_kills = Round(
        round=number,
        kills=sum(kill.victim != "none" for kill in kills),
        status=done.returncode,
        differing=differing,
        twice=len(keys) - len({*keys}),
        lost=len({*keys} - pipeline.stored()),
        acknowledged=len(keys),
    )
    return kills, left_by_kills


def print_table(seen: list[dict[str, Any]]) -> None:
    """Print what was seen."""
    kills = pd.DataFrame([row for row in seen if "victim" in row])
    rounds = pd.DataFrame([row for row in seen if "status" in row])
    hits = kills[kills["victim"] != "none"]
    print_head(
        *("killed", *SIGNALS, "while a stage ran"),
        *("`dvc.lock` cut after it", "a process outlived it"),
    )
    for (moment, victim), group in hits.groupby(["moment", "victim"]):
        when = "while `dvc.lock` was written" if moment == "lock" else "at a random moment"
        print_row(
            f"{victim}, {when}",
            *((group["signal"] == name).sum() for name in SIGNALS),
            (group["stage"] != "").sum(),
            (group["lock"] == "cut").sum(),
            (group["outlived"] > 0).sum(),
        )
    n_good, n_same = (rounds["status"] == 0).sum(), (rounds["differing"].str.len() == 0).sum()
    print(f"\n{len(hits)} kills in {len(rounds)} rounds; {n_good} last builds ended with ", end="")
    print(f"status 0, {n_same} with the same files, bytes and `git status`.")
    n_answers, n_twice, n_lost = rounds[["acknowledged", "twice", "lost"]].sum()
    print(f"{n_answers:,} answers in the stores in the end; ", end="")
    print(f"{n_twice} asked again, {n_lost} lost.")
    for message, times in kills.loc[kills["said"] != "", "said"].value_counts().items():
        print(f"{times} x refused by itself: {message}")


def main() -> None:
    """Kill until there are as many as wanted; print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=1000)
    arguments = parser.parse_args()
    pipeline, log = Pipeline(arguments.folder.resolve()), arguments.folder / "seen.jsonl"
    seen = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    n_kills = sum(row.get("victim", "none") != "none" for row in seen)
    number = max((row["round"] for row in seen), default=0)
    while n_kills < arguments.kills:
        number += 1
        n_left = arguments.kills - n_kills
        kills, last = one_round(pipeline, number, n_left, random.Random(f"0 {number}"))
        rows = [asdict(row) for row in (*kills, last)]
        with log.open("a") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        seen += rows
        n_kills += last.kills
        print(f"{n_kills} of {arguments.kills} kills; {last}", flush=True)
    print_table(seen)


if __name__ == "__main__":
    main()
