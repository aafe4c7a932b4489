"""`evenruler repro`: check, ask models in parallel, run `dvc repro`, and print a summary.

DVC runs one stage at a time, and one process of two threads takes 1.28 times as long as two processes of one
(docs/scale.md). So the models of all outdated stages are asked first, one process per model for all its families; the
stages then find the answers in the store. Tools are left to the stages: for a text that two models share, the last bits
of a tool's answer would otherwise depend on which process asked first.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from signal import SIGINT

import psutil

from evenruler.declaration.params_file import Active, Declared
from evenruler.files import json_in, replace
from evenruler.instruments.card import amounts
from evenruler.measurement.sentences import sentence
from evenruler.measurement.verdicts import Verdict
from evenruler.models.engines import RAY, chosen, machine
from evenruler.models.released import AGAIN, kept
from evenruler.models.store import cache_root
from evenruler.project.check import check
from evenruler.project.damaged import damaged_outputs, remove_damaged
from evenruler.project.pipeline import Progress, all_stages, build, outdated
from evenruler.project.processes import Job, ask_all, in_time
from evenruler.tables import grouped
from evenruler.terminal import say, say_each

TIMINGS = Path(".cache/repro.json")
REPORT = Path("data/report/index.html")
FIRST = "fixed"
"""The family asked first, so that its verdicts can be read early: well-known benchmarks that are quick to ask."""

DECLARED = "declared"
"""The stage on whose output all others depend."""

MAKES_ROWS = ("scrape", "evolve", "rows")
"""Stages that requests depend on."""


def repro(root: Path, words: Sequence[str], *, fresh: bool = False) -> int:
    """Check the declaration, then build what is out of date.

    `words`: further arguments of `dvc repro`, such as stage names. `fresh`: build and ask everything again, with a
    separate store, and compare the answers with the recorded ones. Returns DVC's exit status, or 128 plus the signal
    number if interrupted. UserError, before anything is built, if the declaration is invalid.
    """
    say_each(check(root))
    if fresh:
        os.environ.update({AGAIN: "1", "EVENRULER_CACHE": str(cache_root() / "fresh")})
    kept(cache_root())  # left by an interrupted run
    progress, status = Progress(root), 0
    try:
        forced = ["--force"] if fresh else []
        # What else is out of date is known once this stage has run.
        if status := build(root, [DECLARED], progress):
            return status
        stages = set(all_stages(root)) if fresh else set() if words else outdated(root)
        if words or stages:
            status = _fill(root, stages, progress, forced) or build(root, [*words, *forced], progress)
            status = status or _build_damaged(root, progress)
        else:
            progress.unchanged = len(all_stages(root))
    except KeyboardInterrupt as broken:
        status = 128 + (broken.args[0] if broken.args else SIGINT)
        say("interrupted; answers are kept: `make repro` resumes there", err=True)
    _keep_timings(root, progress, status)
    say_each(() if status else _summary(root, progress))
    if replayed := kept(cache_root()):
        say(f"recorded: {replayed.said}")
        if replayed.is_beyond and not status:
            say("error: data/recorded: the models here answer differently from those of the release", err=True)
            return 1
    return status


def _fill(root: Path, stages: set[str], progress: Progress, forced: Sequence[str]) -> int:
    """Build what models are asked, then ask them in parallel, `FIRST` first; returns a status, 0 if all went well."""
    if not {name.partition("@")[0] for name in stages} & {*MAKES_ROWS, "ask"}:
        return 0
    active = Declared(root / "params.yaml").active
    own = {f"rows@{name}" for name in active.families[FIRST].instruments} if FIRST in active.families else set()
    if first := {FIRST} if stages & own and len(active.families) > 1 else set():
        if status := _ask(root, active, first, stages, progress, forced) or build(
            root, [f"diagnose@{FIRST}", *forced], progress
        ):
            return status
        if said := first_result(root.glob(f"data/diagnosis/{FIRST}/evidence/*.json")):
            say(f"first verdict, after {in_time(time.monotonic() - progress.started)}: {said}")
    return _ask(root, active, active.families.keys() - first, stages, progress, forced)


def _ask(
    root: Path, active: Active, families: Set[str], stages: set[str], progress: Progress, forced: Sequence[str]
) -> int:
    """Build and ask for some families, as `_fill`."""
    names = [name for family in active.families if family in families for name in active.families[family].instruments]
    if {name.partition("@")[0] for name in stages} & {*MAKES_ROWS} and (
        status := build(root, [*(f"rows@{name}" for name in names), *forced], progress)
    ):
        return status
    asking = {f"ask@{name}": entry for name, entry in active.ask.items() if entry.family in families}
    wanted = stages.intersection(asking) if forced else outdated(root, asking)
    of_model = grouped((entry.model, entry.family) for stage, entry in asking.items() if stage in wanted)
    jobs = [Job(model, tuple(own)) for model, own in of_model.items()]
    if chosen()[0] == RAY or len(jobs) < 2:
        return 0
    on = machine()
    together = on.gpus or len(psutil.Process().cpu_affinity() if hasattr(psutil.Process, "cpu_affinity") else [0])
    if together > 1:
        at_once = min(together, len(jobs))
        say(f"asking {len(jobs)} models, {at_once} at once; the stages find their answers in the store")
        # Failures are ignored here: the stage will report them.
        threads = None if on.gpus else max(1, together // at_once)
        ask_all(dict.fromkeys(jobs), "ask-model", on, at_once, threads=threads, failing="failed: its stages try again")
    return 0


def _build_damaged(root: Path, progress: Progress) -> int:
    """Run stages again of which DVC took damaged files from an older build, and all stages after them; a status.

    `check` has removed the damaged objects that `dvc.lock` named before the build. DVC also restores what only its
    cache of runs names, and stages may have read that.
    """
    damaged = {file.stage for file in damaged_outputs(root)} & progress.seconds.keys()
    if not damaged:
        return 0
    say_each(remove_damaged(root))
    return build(root, ["--force", "--downstream", *sorted(damaged)], progress)


def _keep_timings(root: Path, progress: Progress, status: int) -> None:
    """Save the last duration of every stage and data on this run."""
    known = json_in(root / TIMINGS, dict).get("stages", {})
    seconds = round(time.monotonic() - progress.started, 1)
    run = {"built": list(progress.seconds), "unchanged": progress.unchanged, "seconds": seconds, "status": status}
    replace(root / TIMINGS, json.dumps({"stages": {**known, **progress.seconds}, "run": run}, indent=2) + "\n")


def _summary(root: Path, progress: Progress) -> Iterator[str]:
    took, built = time.monotonic() - progress.started, progress.seconds
    unchanged = f", {progress.unchanged} unchanged" if progress.unchanged else ""
    what = f"{len(built)} stage{'s' * (len(built) > 1)}" if built else "nothing"
    yield f"built {what} in {in_time(took)}{unchanged}"
    if len(built) > 1:
        longest = sorted(built, key=lambda name: -built[name])[:5]
        yield f"longest: {', '.join(f'{name} {in_time(built[name])}' for name in longest)}"
    if (root / REPORT).exists():
        yield f"report: {REPORT}"
    cards = {name.partition("@")[2] for name in built if name.startswith("card")}
    evidence = root.glob("benchmarks/*/evidence.json")
    if said := first_result(path for path in evidence if path.parent.name.partition("-")[2] in cards):
        yield f"first result: {said}"


def first_result(paths: Iterable[Path]) -> str | None:
    """A figure with a verdict from evidence files, effects first, then sets named validation; None if there is none."""
    found = []
    for path in sorted(paths):
        try:
            evidence = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        is_card = path.name == "evidence.json"
        for told in amounts(evidence if is_card else evidence["figures"]):
            if all(isinstance(told[3].get(key), float) for key in ("value", "low", "high", "placebo")):
                found.append((path.parent.name if is_card else path.stem, *told))
    if not found:
        return None
    first = min(found, key=lambda each: (each[4]["verdict"] != Verdict.EFFECT, each[1] != "validation"))
    name, part, model, figure, one = first
    return f"{name} ({part}), {model}: {one['verdict']}, {figure} {sentence(one, None)}"
