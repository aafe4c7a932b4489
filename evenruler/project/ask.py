"""`evenruler ask`: builds what is asked, plans, asks models, and leaves out those that could not be asked.

`evenruler answers` turns a journal of answers into a release for this repository, or an export for others.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.declaration.active import SOURCES, asking_of
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import Declared
from evenruler.errors import UserError, nearest
from evenruler.files import file_sha256, replace, swapped
from evenruler.hub import talking_about
from evenruler.models import engines
from evenruler.models.declared import NOT_STATED, ModelEntry
from evenruler.models.engines import RAY, Machine, Rate, chosen
from evenruler.models.recorded import ENTRY, EXPORTED, answer_as_json
from evenruler.models.records import Amount
from evenruler.models.released import HALF, JOURNAL, RELEASE, Answered, file_of, journal
from evenruler.models.sources import fetched_of
from evenruler.models.store import cache_root
from evenruler.project.check import check
from evenruler.project.dvc import outdated_stages, run_dvc
from evenruler.project.editing import parted, write_as_it_was
from evenruler.project.processes import LOGS, Job, Run, ask_all, in_time, side_by_side
from evenruler.tables import write_whole
from evenruler.tables.ids import content_sha256
from evenruler.terminal import die_with_parent, say, say_each

NOT_ALL = 1

SAID = "left_out: # written by `evenruler ask`, which tries them again; remove a line to include it without asking"


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
            engines.seconds(
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

    `names`: such as `probes-smollm3-3b`; `at_once`: number of processes, by default one per GPU or one; always one
    on a cluster. Returns 0 if all answers are there, `NOT_ALL` if some could not be asked, 128 plus the
    signal number if interrupted. UserError if no model is given, the declaration is invalid, no model could be
    asked, or `at_once` is above 1 on a cluster.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    if at_once not in (None, 1) and chosen()[0] == RAY:
        raise UserError("on a cluster, models are asked one at a time", where="ask --at-once", remedy="leave it out")
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
        say("interrupted; answers are kept: the same command resumes there", err=True)
        return 128 + int(broken.args[0] if broken.args else signal.SIGINT)
    return status if is_whole else NOT_ALL


def _brought_in_step(root: Path, names: Sequence[str], everything: bool) -> list[Job]:
    """Jobs for the named models, which must be in use; models left out before are tried again."""
    before = load_params(root / "params.yaml").left_out
    if not names and not everything:
        raise UserError("no model given", where="evenruler ask", remedy="name FAMILY-MODEL, or use --all")
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
        say(f"not in the plan: {', '.join(evolving)}: their operators must be asked first")
        wanted = [name for name in wanted if name not in evolving]
    jobs = [] if dry_run else [Job(name, ("evolve",)) for name in evolving]  # one by one, for `evolve` to replay
    asked = side_by_side(jobs, lambda job: ["evenruler", "evolve", job.model], cache_root() / LOGS, [], 1)
    failed = {run.job.model: run.reason for run in asked if run.status}
    words = [f"rows@{name}" for name in wanted if name not in failed]
    is_built = not words or run_dvc(root, "repro", "--keep-going", *words) == 0
    if is_built and not failed:
        return True
    # An instrument's rows, and what they are made of, are stages by its name.
    unbuilt = {stage.partition("@")[2] for stage in outdated_stages(root, words, with_deps=True)} if words else set()
    lacking = [name for name in wanted if name in failed or name in unbuilt]
    if len(lacking) == len(wanted):
        raise UserError("no instrument could be built", remedy="see the reasons above")
    _leave_out(root, {f"rows@{name}": failed.get(name, "it could not be built") for name in lacking})
    return False


def _planned(root: Path, jobs: Sequence[Job]) -> Plan:
    """Count missing answers in a subprocess, since imports take seconds; downloads nothing."""
    say("counting missing answers ...")
    words = [word for job in jobs for word in (*job.families, job.model)]
    done = subprocess.run(
        [sys.executable, "-m", "stages.filling", "count", *words],
        cwd=root,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        start_new_session=True,  # Ctrl-C is handled here
        preexec_fn=die_with_parent,
    )
    if done.returncode:
        raise UserError("missing answers could not be counted", remedy="see the reason above")
    on, *counted, models = map(json.loads, done.stdout.splitlines())
    catalogue, fetched = load_params(root / "params.yaml").models, dict[str, int | None]()
    for name in models["absent"]:
        if catalogue[name].scheme == "hub":
            fetched[name], models["parameters"][name] = _of_hub(catalogue[name])
    askings = []
    for one in counted:
        lacks = [Lack(own.pop("model"), own.pop("operation"), Amount(**own)) for own in one["lacks"]]
        askings.append(Asking(Job(one["model"], (one["family"],)), lacks, one["wrong"]))
    return Plan(Machine(**on), askings, **models, fetched=fetched, known=engines.kept_rates(cache_root()))


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
        say_each(["still to ask, one by one:", *table(rest)])
    return failed + ask_all({one.job: rest.seconds(one) for one in rest.to_ask}, "ask", rest.machine, 1)


def _left_out(root: Path, plan: Plan, failed: Sequence[Run]) -> int:
    """Leave out models that could not be asked and report them; UserError if none could."""
    if not failed:
        say(f"all answers of {len(plan.askings)} are in the store, for `evenruler repro`")
        return 0
    everybody = len(failed) == len(plan.askings)
    if not everybody:
        _leave_out(root, {asking_of(run.job.families[0], run.job.model): run.reason for run in failed})
    for run in failed:
        say(f"left out: {run.job.name}: {run.reason}", err=True)
    if everybody:
        raise UserError("no model could be asked", remedy="see the reasons above")
    say(f"{len(failed)} of {len(plan.askings)} left out; their full output: {cache_root() / LOGS}")
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
        yield f"missing: {model}: {why}"
    for asking in plan.askings:
        if asking.wrong:
            yield f"not counted: {asking.job.name}: {asking.wrong}"
    if plan.to_ask:
        speed = engines.ASSUMED["cpu" if on.device == "cpu" else "cuda"]
        measured = any(one.device == on.device for one in plan.known)
        how = "from earlier runs here, else from" if measured else f"without earlier runs on {on.device}, from"
        yield "not included: questions that depend on answers, e.g. about replies"
        yield (
            f"estimated time on one device, {how} an assumed {speed:.0e} parameters x tokens per second, "
            f"{engines.ASSUMED_WRITING:.0%} of that for writing"
        )
    if plan.fetched:
        unsaid = [name for name, size in plan.fetched.items() if size is None]
        more = f", and {', '.join(unsaid)}, of unknown size" if unsaid else ""
        fits = "" if plan.bytes <= free else ": not enough"
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


LARGEST = 12_000_000
"""Most bytes of a release, since it is kept in git."""

KEPT = {"chat", "start", "new_tokens", "labels", "entailment", "forms", "licence", "origin", "lineage"}
"""Fields of a model's entry that an export includes."""

CARD = Path(__file__).with_name("answers.md").read_text(encoding="utf-8")


def write_release(folder: Path, out: Path, release: str, licences: Mapping[str, str]) -> Iterator[str]:
    """Write a journal folder as the repository's recorded answers, atomically.

    `release`: name of the release; `licences`: by model. Yields messages; UserError if the journal is empty or the
    release too large.
    """
    # Embedding vectors are excluded: they are large and recomputed within a minute.
    answers = [one for one in journal(folder) if one.operation.partition("/")[0] != "embedding"]
    if not answers:
        remedy = "run `make answers`, which writes one"
        raise UserError("no journal of answers", where=str(folder), remedy=remedy)
    with swapped(out) as target:
        target.mkdir(parents=True)
        files = {}
        for operation, own in groupby(answers, key=lambda one: one.operation):
            rows = list(own)
            path = target / file_of(operation)
            path.write_bytes(_packed(rows))
            files[path.name] = {"operation": operation, "rows": len(rows), "sha256": file_sha256(path)}
        models, engines = (dict.fromkeys(getattr(one, key) for one in answers) for key in ("model", "engine"))
        said = {
            "release": release,
            "files": files,
            "models": {name: licences.get(name, NOT_STATED) for name in models},
            "engines": {content_sha256(engine)[:12]: json.loads(engine) for engine in engines},
        }
        replace(target / RELEASE, json.dumps(said, indent=1, ensure_ascii=False) + "\n")
        size = sum(path.stat().st_size for path in target.iterdir())
        if size > LARGEST:
            what = f"{size / 1e6:.1f} MB, at most {LARGEST / 1e6:.0f} are allowed"
            raise UserError(what, where=str(out), remedy="record fewer instruments or models")
    yield f"release {release}: {len(answers):,} answers of {len(models)} models, {size / 1e6:.1f} MB in {out}"
    for name, file in files.items():
        yield f"  {name}: {file['rows']:,} answers"


def write_export(root: Path, name: str, out: Path) -> Iterator[str]:
    """Export everything that the pipeline asks a model, with the answers, as a data set that `recorded:` reads.

    Yields messages; UserError if nothing asks the model, the store lacks answers of it, or the folder `out` exists.
    """
    params = Declared(root / "params.yaml")
    families = [entry.family for entry in params.active.ask.values() if entry.model == name]
    if not families:
        what = f"no instrument in use asks {name!r}"
        raise UserError(what, where="evenruler answers", remedy=nearest(name, params.catalogue.models))
    if out.exists():
        raise UserError("it exists already", where=str(out), remedy="name a new folder with --out, or remove it")
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "stages.filling", "stored", name, *families]
        done = subprocess.run(command, cwd=root, env={**os.environ, JOURNAL: folder}, check=False)
        if done.returncode:
            raise UserError(
                f"answers of {name} are missing", remedy="see the reason above; `evenruler repro` asks for them"
            )
        rows = [one for one in journal(Path(folder)) if one.model == name]
    names = ("operation", "question", "answer", "engine", "key")
    columns = {name: [getattr(one, name) for one in rows] for name in names}
    columns["answer"] = [json.dumps(answer_as_json(one.operation, one.answer), ensure_ascii=False) for one in rows]
    with swapped(out) as target:
        write_whole(pa.table(columns), target / EXPORTED)
        entry = params.catalogue.models[name]
        said = entry.model_dump(mode="json", exclude_none=True, include=KEPT)
        said |= {"kind": params.catalogue.kind(name), "sha256": file_sha256(target / EXPORTED)}
        if "generate" in entry.operations:
            from evenruler.models.catalogue import load

            own = load(name, params.catalogue).sampling(1)  # including the model files' settings
            said["sampling"] = {key: getattr(own, key) for key in ("temperature", "top_p", "top_k")}
        replace(target / ENTRY, json.dumps({"name": name, **said}, indent=1, ensure_ascii=False) + "\n")
        replace(target / "README.md", CARD.format(name=name, rows=len(rows), **said))
    yield f"{len(rows):,} answers of {name} to {', '.join(families)}: {out}"
    yield f"measure them anywhere: evenruler measure recorded:{out} --with BENCHMARK"


def _packed(rows: Sequence[Answered]) -> bytes:
    """A Parquet file; fixed-size answers are split by byte so that similar bytes are adjacent and compress well."""
    sizes = {len(one.answer) for one in rows}
    answer = pa.binary(sizes.pop()) if len(sizes) == 1 else pa.binary()
    schema = pa.schema([("key", pa.binary(HALF)), ("model", pa.string()), ("engine", pa.string()), ("answer", answer)])
    told = [{**vars(one), "key": one.key[:HALF], "engine": content_sha256(one.engine)[:12]} for one in rows]
    table = pa.Table.from_pylist(told, schema=schema)
    split = {"column_encoding": {"answer": "BYTE_STREAM_SPLIT"}} if pa.types.is_fixed_size_binary(answer) else {}
    made = io.BytesIO()
    how = {"compression": "zstd", "compression_level": 19, "store_schema": False, **split}
    pq.write_table(table, made, use_dictionary=["model", "engine"], **how)
    return made.getvalue()
