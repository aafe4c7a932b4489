"""What `evenruler ask` does: build, plan, ask, and leave out who could not be asked."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evenruler import rates
from evenruler.declared import Declared
from evenruler.errors import UserError, nearest
from evenruler.hub import talking_about
from evenruler.machine import Machine
from evenruler.models.declared import ModelEntry
from evenruler.models.engines.choice import RAY, chosen
from evenruler.models.records import Amount
from evenruler.models.sources import fetched_of
from evenruler.models.store import cache_root
from evenruler.project.active import asking_of
from evenruler.project.asking import left_out
from evenruler.project.asking.planning import Asking, Fetched, Lack, Pair, Plan, in_time, lines, table
from evenruler.project.check import check
from evenruler.project.fill import LOGS
from evenruler.project.params import load_params
from evenruler.project.processes import Ended, Processes, die_with_parent, gpus_of, reason
from evenruler.project.repro import build

NOT_ALL = 1
"""The status where some could not be asked."""

BROKEN_OFF = (128 + signal.SIGINT, 128 + signal.SIGTERM)

TIMEOUT = 10.0
"""Seconds that the Hub has to say how large a model is."""


class BrokenOffError(Exception):
    """A signal ended the asking."""

    def __init__(self, number: int) -> None:
        """Say which."""
        self.number = number
        super().__init__(number)


def ask(root: Path, names: Sequence[str], *, everything: bool, at_once: int | None, dry_run: bool) -> int:
    """Ask models what instruments ask them, several at once; answers go into the store, for `evenruler repro`.

    Args:
        root: The repository.
        names: Of those that are asked, as `probes-smollm3-3b`.
        everything: Whether all are.
        at_once: Processes; by default as many as this machine has GPUs, or one; on a cluster one.
        dry_run: Whether to end after the plan.

    Returns:
        0 where all answers are there, `NOT_ALL` where some could not be asked, else 128 and the number of the signal.

    Raises:
        UserError: Nobody is named, the declaration is not valid, or nobody could be asked; several are to be at once
            on a cluster.
    """
    try:
        return _ask(root, names, everything=everything, at_once=at_once, dry_run=dry_run)
    except KeyboardInterrupt:
        number: int = signal.SIGINT
    except BrokenOffError as error:
        number = error.number
    print("interrupted; what was answered is kept, and the same command goes on from there", file=sys.stderr)
    return 128 + number


def _ask(root: Path, names: Sequence[str], *, everything: bool, at_once: int | None, dry_run: bool) -> int:
    """The same, where a signal is an error."""
    if at_once not in (None, 1) and chosen()[0] == RAY:
        raise UserError("one model at a time has the whole cluster", where="ask --at-once", remedy="leave it out")
    pairs = _brought_in_step(root, names, everything)
    is_whole = _build(root, dict.fromkeys(pair.family for pair in pairs))
    pairs = [pair for pair in pairs if pair.name in Declared().active.ask]
    plan = _planned(root, pairs)
    at_once = at_once or (1 if plan.machine.nodes else plan.machine.gpus or 1)
    for line in lines(plan, Declared().scale, at_once, _free()):
        print(line, flush=True)
    if dry_run:
        return 0
    status = _left_out(root, plan, _asked(root, plan, at_once))
    return status if is_whole else NOT_ALL


def _brought_in_step(root: Path, names: Sequence[str], everything: bool) -> list[Pair]:
    """Those that are named, all of them in use; what was left out before is tried again."""
    before = load_params(root / "params.yaml").left_out
    if not names and not everything:
        raise UserError("nobody is named", where="evenruler ask", remedy="name FAMILY-MODEL, or say --all")
    tried = set(before) if everything else {f"ask@{name}" for name in names}
    left_out.write(root, {stage: why for stage, why in before.items() if stage not in tried})
    _check(root)
    known = Declared().active.ask
    for name in names:
        if name not in known:
            raise UserError(f"{name!r} is not in use", where="evenruler ask", remedy=nearest(name, known))
    return [Pair(one.family, one.model) for name, one in known.items() if everything or name in names]


def _build(root: Path, families: Iterable[str]) -> bool:
    """Build what families ask; whether all could be built. An instrument that cannot is left out.

    Raises:
        UserError: None could.
        BrokenOffError: A signal ended it.
    """
    active = Declared().active
    wanted = [name for family in families for name in active.families[family].instruments]
    status = build(root, ["--keep-going", *(f"rows@{name}" for name in wanted)], told=False)
    if status in BROKEN_OFF:
        raise BrokenOffError(status - 128)
    if not status:
        return True
    lacking = [name for name in wanted if _is_stale(root, name)]
    if len(lacking) == len(wanted):
        raise UserError("no instrument could be built", remedy="what they lack stands above")
    _leave_out(root, {f"rows@{name}": "it could not be built" for name in lacking})
    return False


def _is_stale(root: Path, instrument: str) -> bool:
    """Whether what is asked of an instrument, or what it is built from, is not as DVC would build it."""
    command = [sys.executable, "-m", "dvc", "status", "--quiet", "--with-deps", f"rows@{instrument}"]
    return bool(subprocess.run(command, cwd=root, check=False, capture_output=True).returncode)


def _planned(root: Path, pairs: Sequence[Pair]) -> Plan:
    """What the store lacks, counted by a process of its own: it imports for seconds, and fetches nothing."""
    print("counting what the store lacks ...", flush=True)
    words = [word for pair in pairs for word in (pair.family, pair.model)]
    done = subprocess.run(
        [sys.executable, "-m", "stages.filling", "count", *words],
        cwd=root,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        start_new_session=True,  # Ctrl-C is ours to tell of
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    if done.returncode:
        raise UserError("what the store lacks could not be counted", remedy="why stands above")
    on, *counted, models = map(json.loads, done.stdout.splitlines())
    catalogue = load_params(root / "params.yaml")
    fetched = {
        name: _of_hub(catalogue.models[name]) for name in models["absent"] if catalogue.models[name].scheme == "hub"
    }
    askings = [
        Asking(
            Pair(one["family"], one["model"]),
            [Lack(lack.pop("model"), lack.pop("operation"), Amount(**lack)) for lack in one["lacks"]],
            one["wrong"],
        )
        for one in counted
    ]
    return Plan(Machine(**on), askings=askings, **models, fetched=fetched, known=rates.kept(cache_root()))


def _of_hub(entry: ModelEntry) -> Fetched:
    """What the Hub says of the files of a model; nothing where it cannot be asked, which then says who fetches."""
    from huggingface_hub import HfApi

    repo = entry.locations[0][1]
    try:
        with talking_about(repo, revision=entry.revision):
            told = HfApi().model_info(repo, revision=entry.revision, files_metadata=True, timeout=TIMEOUT)
    except UserError:
        return Fetched()
    sizes = {file.rfilename: file.size for file in told.siblings or ()}
    wanted = [sizes[name] for name in fetched_of(sizes)]
    known = [size for size in wanted if size is not None]
    return Fetched(
        sum(known) if len(known) == len(wanted) else None, told.safetensors.total if told.safetensors else None
    )


def _free() -> int:
    """Bytes that are free where the Hub's files are kept."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folder = Path(HF_HUB_CACHE)
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def _asked(root: Path, plan: Plan, at_once: int) -> list[Ended[Pair]]:
    """Ask all that the store lacks; those that failed.

    Several at once ask models alone. Their tools follow one by one, in the order of the declaration: what a tool says
    to a text that two models share would else hang, in its last bits, on who came first.

    Raises:
        BrokenOffError: A signal ended it.
    """
    if at_once == 1:
        return _run(root, "ask", plan, plan.to_ask, at_once)
    failed = _run(root, "ask-model", plan, plan.of_models, at_once)
    lost = {ended.job for ended in failed}
    rest = _planned(root, [one.pair for one in plan.askings if one.pair not in lost])
    if rest.to_ask:
        for line in ("what is left, one by one:", *table(rest)):
            print(line, flush=True)
    return failed + _run(root, "ask", rest, rest.to_ask, 1)


def _run(root: Path, what: str, plan: Plan, askings: Sequence[Asking], at_once: int) -> list[Ended[Pair]]:
    """Run a process for each, and say how far it is; those that failed."""
    processes = Processes[Pair](
        lambda pair: [sys.executable, "-m", "stages.filling", what, pair.model, pair.family],
        root,
        cache_root() / LOGS,
        gpus_of(plan.machine, os.environ.get("CUDA_VISIBLE_DEVICES")),
        at_once,
    )
    failed, left = [], {one.pair: plan.seconds(one) for one in askings}
    devices = max(at_once, plan.machine.together)
    for ended in processes.run(list(left), lambda line: print(line, flush=True)):
        del left[ended.job]
        known = [took for took in left.values() if took is not None]
        more = f"; about {in_time(sum(known) / devices)} more" if known and len(known) == len(left) else ""
        how = "could not be asked" if ended.status else "done"
        print(
            f"[{len(askings) - len(left)}/{len(askings)}] {ended.job.name} {how}, {in_time(ended.seconds)}{more}",
            flush=True,
        )
        failed += [ended] if ended.status else []
    if processes.broken:
        raise BrokenOffError(processes.broken)
    return failed


def _left_out(root: Path, plan: Plan, failed: Sequence[Ended[Pair]]) -> int:
    """Leave out who could not be asked, and name them.

    Raises:
        UserError: That is everybody.
    """
    if not failed:
        print(f"all answers of {len(plan.askings)} are in the store; `evenruler repro` finds them there")
        return 0
    everybody = len(failed) == len(plan.askings)
    if not everybody:
        _leave_out(root, {asking_of(ended.job.family, ended.job.model): reason(ended) for ended in failed})
    for ended in failed:
        print(f"left out: {ended.job.name}: {reason(ended)}", file=sys.stderr, flush=True)
    if everybody:
        raise UserError("nobody could be asked", remedy="what each lacks stands above")
    print(f"{len(failed)} of {len(plan.askings)} left out; all that they said: {cache_root() / LOGS}", flush=True)
    return NOT_ALL


def _leave_out(root: Path, reasons: Mapping[str, str]) -> None:
    """Have params.yaml name what could not be had, and bring it in step."""
    left_out.write(root, {**load_params(root / "params.yaml").left_out, **reasons})
    _check(root, warnings=False)


def _check(root: Path, warnings: bool = True) -> None:
    """Bring the declaration in step, and say what that changed."""
    for line in check(root):
        if warnings or not line.startswith("warning: "):
            print(line, flush=True)
