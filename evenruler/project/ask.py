"""`evenruler ask`: builds what is asked, plans, asks models, and leaves out those that could not be asked."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenruler import machine
from evenruler.declared import Declared
from evenruler.errors import UserError, nearest
from evenruler.hub import talking_about
from evenruler.machine import Machine, Rate
from evenruler.models.declared import ModelEntry
from evenruler.models.engines import RAY, chosen
from evenruler.models.records import Amount
from evenruler.models.sources import fetched_of
from evenruler.models.store import cache_root
from evenruler.project.active import SOURCES, asking_of
from evenruler.project.check import check
from evenruler.project.params import load_params, parted, write_as_it_was
from evenruler.project.pipeline import Progress, build, outdated
from evenruler.project.processes import LOGS, Job, Run, ask_all, die_with_parent, in_time, side_by_side
from evenruler.terminal import say, say_each

NOT_ALL = 1

SAID = "left_out: # written by `evenruler ask`, which tries them again; take one out to have it built all the same"


@dataclass(frozen=True)
class Lack:
    """Missing answers of one operation of one model."""

    model: str
    """The measured model, or a tool."""
    operation: str
    amount: Amount


@dataclass(frozen=True)
class Asking:
    """Requests to one model for one family."""

    job: Job
    lacks: Sequence[Lack]
    wrong: str = ""
    """Why the missing answers could not be counted."""


@dataclass(frozen=True)
class Plan:
    """What will be asked, the devices, and the rates measured so far."""

    machine: Machine
    askings: Sequence[Asking]
    absent: Mapping[str, str]
    """For each model whose files are not here: why."""
    parameters: Mapping[str, int | None]
    """By model, if its files or the Hub say how many."""
    fetched: Mapping[str, int | None] = field(default_factory=dict)
    """Bytes to download, by model; None if the Hub does not say."""
    known: Sequence[Rate] = ()

    @property
    def to_ask(self) -> list[Asking]:
        """Those that need a process: answers are missing, or a model is not here."""
        return [one for one in self.askings if one.lacks or one.wrong or one.job.model in self.absent]

    @property
    def of_models(self) -> list[Asking]:
        """Those of `to_ask` that need the measured model, not only tools."""
        return [one for one in self.to_ask if one.wrong or any(lack.model == one.job.model for lack in one.lacks)]

    def seconds(self, asking: Asking) -> float | None:
        """Estimated time alone on one device; None if the size of a model is unknown."""
        took = [
            machine.seconds(
                self.known,
                family=asking.job.families[0],
                model=lack.model,
                operation=lack.operation,
                device=self.machine.device,
                parameters=self.parameters.get(lack.model),
                tokens=lack.amount.tokens,
            )
            for lack in asking.lacks
        ]
        return None if asking.wrong or None in took else sum(filter(None, took))

    @property
    def bytes(self) -> int:
        """Total bytes to download, as far as known."""
        return sum(size or 0 for size in self.fetched.values())


def ask(root: Path, names: Sequence[str], *, everything: bool, at_once: int | None, dry_run: bool) -> int:
    """Ask models what instruments request, several at once; answers go to the store, for `evenruler repro`.

    `names`: whom to ask, such as `probes-smollm3-3b`; `at_once`: number of processes, by default one per GPU or one;
    always one on a cluster. Returns 0 if all answers are there, `NOT_ALL` if some could not be asked, 128 plus the
    signal number if interrupted. UserError if nobody is named, the declaration is invalid, nobody could be asked, or
    `at_once` is above 1 on a cluster.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    if at_once not in (None, 1) and chosen()[0] == RAY:
        raise UserError("one model at a time has the whole cluster", where="ask --at-once", remedy="leave it out")
    try:
        jobs = _brought_in_step(root, names, everything)
        is_whole = _built(root, dict.fromkeys(job.families[0] for job in jobs), dry_run)
        known = Declared().active.ask
        plan = _planned(root, [job for job in jobs if job.name in known])
        at_once = at_once or (1 if plan.machine.nodes else plan.machine.gpus or 1)
        kept = Path(HF_HUB_CACHE)
        free = shutil.disk_usage(next(path for path in (kept, *kept.parents) if path.exists())).free
        say_each(lines(plan, Declared().scale, at_once, free))
        if dry_run:
            return 0
        status = _left_out(root, plan, _asked(root, plan, at_once))
    except KeyboardInterrupt as broken:
        say("interrupted; what was answered is kept, and the same command goes on from there", err=True)
        return 128 + int(broken.args[0] if broken.args else signal.SIGINT)
    return status if is_whole else NOT_ALL


def _brought_in_step(root: Path, names: Sequence[str], everything: bool) -> list[Job]:
    """Jobs for the named models, which must be in use; models left out before are tried again."""
    before = load_params(root / "params.yaml").left_out
    if not names and not everything:
        raise UserError("nobody is named", where="evenruler ask", remedy="name FAMILY-MODEL, or say --all")
    tried = set(before) if everything else {f"ask@{name}" for name in names}
    write_left_out(root, {stage: why for stage, why in before.items() if stage not in tried})
    say_each(check(root))
    known = Declared().active.ask
    for name in names:
        if name not in known:
            raise UserError(f"{name!r} is not in use", where="evenruler ask", remedy=nearest(name, known))
    return [Job(one.model, (one.family,)) for name, one in known.items() if everything or name in names]


def _built(root: Path, families: Iterable[str], dry_run: bool) -> bool:
    """Build what families ask, leaving out instruments that fail; returns whether all were built."""
    declared = Declared()
    wanted = [name for family in families for name in declared.active.families[family].instruments]
    evolving = []  # instruments that evolve and have no replies of an operator yet
    for name in (name for name in wanted if name in declared.active.evolve):
        folder = root / SOURCES / declared.active.evolve[name].family
        if not (folder / declared.settings(name).replies(name)).exists():
            evolving.append(name)
    if dry_run and evolving:
        say(f"not in the plan: {', '.join(evolving)}: what asks their operators comes first")
        wanted = [name for name in wanted if name not in evolving]
    jobs = [] if dry_run else [Job(name, ("evolve",)) for name in evolving]  # one by one, for `evolve` to replay
    asked = side_by_side(jobs, lambda job: ["evenruler", "evolve", job.model], cache_root() / LOGS, [], 1)
    failed = {run.job.model: run.reason for run in asked if run.status}
    words = [f"rows@{name}" for name in wanted if name not in failed]
    if not (words and build(root, ["--keep-going", *words], Progress(root))) and not failed:
        return True
    lacking = [name for name in wanted if name in failed or outdated(root, [f"rows@{name}"], with_deps=True)]
    if len(lacking) == len(wanted):
        raise UserError("no instrument could be built", remedy="what they lack stands above")
    _leave_out(root, {f"rows@{name}": failed.get(name, "it could not be built") for name in lacking})
    return False


def _planned(root: Path, jobs: Sequence[Job]) -> Plan:
    """Count missing answers in a subprocess, since imports take seconds; downloads nothing."""
    say("counting what the store lacks ...")
    words = [word for job in jobs for word in (*job.families, job.model)]
    done = subprocess.run(
        [sys.executable, "-m", "stages.filling", "count", *words],
        cwd=root,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        start_new_session=True,  # Ctrl-C is handled here
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    if done.returncode:
        raise UserError("what the store lacks could not be counted", remedy="why stands above")
    on, *counted, models = map(json.loads, done.stdout.splitlines())
    catalogue, fetched = load_params(root / "params.yaml").models, dict[str, int | None]()
    for name in models["absent"]:
        if catalogue[name].scheme == "hub":
            fetched[name], models["parameters"][name] = _of_hub(catalogue[name])
    askings = []
    for one in counted:
        lacks = [Lack(own.pop("model"), own.pop("operation"), Amount(**own)) for own in one["lacks"]]
        askings.append(Asking(Job(one["model"], (one["family"],)), lacks, one["wrong"]))
    return Plan(Machine(**on), askings, **models, fetched=fetched, known=machine.kept_rates(cache_root()))


def _of_hub(entry: ModelEntry) -> tuple[int | None, int | None]:
    """Bytes and parameters of a model, from the Hub; None if it cannot be reached (downloading then reports it)."""
    from huggingface_hub import HfApi

    repo = entry.locations[0][1]
    try:
        with talking_about(repo, revision=entry.revision):
            told = HfApi().model_info(repo, revision=entry.revision, files_metadata=True, timeout=10.0)
    except UserError:
        return None, None
    sizes = {file.rfilename: file.size for file in told.siblings or ()}
    wanted = [sizes[name] for name in fetched_of(sizes)]
    known = [size for size in wanted if size is not None]
    return sum(known) if len(known) == len(wanted) else None, told.safetensors.total if told.safetensors else None


def _asked(root: Path, plan: Plan, at_once: int) -> list[Run]:
    """Ask for all missing answers; returns failed runs. Several at once skip tools, which follow one by one."""
    if at_once == 1:
        return ask_all({one.job: plan.seconds(one) for one in plan.to_ask}, "ask", plan.machine, 1)
    own = {one.job: plan.seconds(one) for one in plan.of_models}
    failed = ask_all(own, "ask-model", plan.machine, at_once)
    lost = {run.job for run in failed}
    rest = _planned(root, [one.job for one in plan.askings if one.job not in lost])
    if rest.to_ask:
        say_each(["what is left, one by one:", *table(rest)])
    return failed + ask_all({one.job: rest.seconds(one) for one in rest.to_ask}, "ask", rest.machine, 1)


def _left_out(root: Path, plan: Plan, failed: Sequence[Run]) -> int:
    """Leave out models that could not be asked and report them; UserError if none could."""
    if not failed:
        say(f"all answers of {len(plan.askings)} are in the store; `evenruler repro` finds them there")
        return 0
    everybody = len(failed) == len(plan.askings)
    if not everybody:
        _leave_out(root, {asking_of(run.job.families[0], run.job.model): run.reason for run in failed})
    for run in failed:
        say(f"left out: {run.job.name}: {run.reason}", err=True)
    if everybody:
        raise UserError("nobody could be asked", remedy="what each lacks stands above")
    say(f"{len(failed)} of {len(plan.askings)} left out; all that they said: {cache_root() / LOGS}")
    return NOT_ALL


def _leave_out(root: Path, reasons: Mapping[str, str]) -> None:
    """Add entries to `left_out` in params.yaml and run `check`."""
    write_left_out(root, {**load_params(root / "params.yaml").left_out, **reasons})
    say_each(line for line in check(root) if not line.startswith("warning: "))


def write_left_out(root: Path, left_out: Mapping[str, str]) -> None:
    """Write the `left_out` section of params.yaml, if there is any; the rest of the file stays byte for byte."""
    path = root / "params.yaml"
    before = path.read_text(encoding="utf-8")
    above, _, below = parted(before, "left_out")
    # A JSON string is also a YAML string.
    said = [f"  {stage}: {json.dumps(' '.join(why.split()), ensure_ascii=False)}\n" for stage, why in left_out.items()]
    text = "".join([above, *([f"{SAID}\n", *said] if said else []), below])
    if text != before:
        write_as_it_was(path, text)


def lines(plan: Plan, scale: str, at_once: int, free: int) -> Iterator[str]:
    """The plan as text and table; `free`: bytes free on the disk of the download cache."""
    on = plan.machine
    devices = f"{on.gpus} GPU{'s' * (on.gpus > 1)} ({on.device})" if on.gpus else "the CPU"
    if on.nodes:
        devices = f"a cluster of {on.nodes} node{'s' * (on.nodes > 1)}, {devices}"
    yield f"plan at the scale {scale}: {len(plan.to_ask)} of {len(plan.askings)} to ask, {at_once} at once on {devices}"
    yield from table(plan)
    for model, why in plan.absent.items():
        yield f"not here: {model}: {why}"
    for asking in plan.askings:
        if asking.wrong:
            yield f"not counted: {asking.job.name}: {asking.wrong}"
    if plan.to_ask:
        speed = machine.ASSUMED["cpu" if on.device == "cpu" else "cuda"]
        measured = any(one.device == on.device for one in plan.known)
        how = "as measured here before, else" if measured else f"nothing was measured on {on.device}:"
        yield "questions that hang on answers to others, as what is measured of replies, come on top"
        yield (
            f"time, roughly, of one device: {how} {speed:.0e} parameters times tokens a second are assumed, "
            f"{machine.ASSUMED_WRITING:.0%} of it for writing"
        )
    if plan.fetched:
        unsaid = [name for name, size in plan.fetched.items() if size is None]
        more = f", and {', '.join(unsaid)}, whose size the Hub does not say" if unsaid else ""
        fits = "" if plan.bytes <= free else ": too few"
        yield f"to fetch: {in_bytes(plan.bytes)}{more}; {in_bytes(free)} are free{fits}"


def table(plan: Plan) -> list[str]:
    """One table row per job, and a total."""
    rows = [("", "questions", "tokens read", "written", "time", "to fetch")]
    for one in plan.to_ask:
        size = in_bytes(plan.fetched[one.job.model]) if one.job.model in plan.fetched else ""
        rows.append((one.job.name, *_amounts([one]), in_time(plan.seconds(one)), size))
    if len(plan.to_ask) > 1:
        times = [plan.seconds(one) for one in plan.to_ask]
        total = in_time(sum(took or 0 for took in times)) + (" + ?" if None in times else "")
        rows.append(("all", *_amounts(plan.to_ask), total, in_bytes(plan.bytes) if plan.fetched else ""))
    if len(rows) == 1:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    laid = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)
    return [f"  {line.rstrip()}" for line in laid]


def _amounts(askings: Sequence[Asking]) -> tuple[str, str, str]:
    amounts = [lack.amount for one in askings for lack in one.lacks]
    read, written = sum(one.read for one in amounts), sum(one.written for one in amounts)
    return f"{sum(one.questions for one in amounts):,}", f"{read:,}", f"{written:,}"


def in_bytes(n: int | None) -> str:
    """Bytes in words; `?` if unknown."""
    if n is None:
        return "?"
    return f"{n / 1e9:.1f} GB" if n >= 1e8 else f"{n / 1e6:.1f} MB"
