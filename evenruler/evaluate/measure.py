"""Measure a model with published benchmarks: `measure` for one in Python, `measure_each` for the
command line.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, get_args

from evenruler import repository
from evenruler.errors import UserError
from evenruler.evaluate.batch_files import BatchFiles
from evenruler.evaluate.benchmark import SCHEME, Benchmark, benchmark_of_log, open_benchmark
from evenruler.evaluate.cost import Cost, SpendingLimit
from evenruler.evaluate.resolve_model import (
    NO_OPTIONS,
    ModelSpec,
    ResolvedModel,
    resolve_model,
    resolve_spec,
)
from evenruler.evaluate.session import Measurement, MeasurementPlan, Session
from evenruler.measurement.figures import Verdict, figure_in_words, model_label, row_key
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.models.backends.server import current_budget, request_budget
from evenruler.models.declarations import HOSTED, DeclaredDtype
from evenruler.models.store import RowStore
from evenruler.report.sentences import wrap_line
from evenruler.results.record import Heading, Result
from evenruler.results.store import StoredResult, refuse_another, write_result
from evenruler.sizes import SIZES, STANDARD, Size
from evenruler.terminal import print_note, text_width

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NO_BATCH_FILES = BatchFiles()


def measure(
    model: object,
    benchmark: str | Path,
    *,
    out: Path | str | None = None,
    device: str | None = None,
    limit: int | None = None,
    size: Size = STANDARD,
    method: str | None = None,
    name: str | None = None,
    kind: str | None = None,
    dtype: DeclaredDtype | None = None,
    start: str | None = None,
    options: Mapping[str, Any] = NO_OPTIONS,
    max_requests: int | None = None,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    cache_key: str | None = None,
) -> Result:
    """Measure a model with a published benchmark.

    Every answer is cached (`evenruler.models.store.cache_root`), so that nothing is asked twice.

    Args:
        model: As in `evenruler.models.load`: `hub:org/name[@revision]`, `local:folder`,
            `endpoint:name`, ..., a loaded model with its `tokenizer`, or a function `f(messages,
            **settings) -> str | None`.
        benchmark: A name of `evenruler list`, a folder, `USER/REPO[@TAG]` on the Hub, or
            `FILE.yaml`, an unpublished source (`evenruler.evaluate.benchmark.build_from_source`).
        out: A folder for the result and its tables; by default nothing is written.
        device: `cpu` or `cuda`; a GPU where there is one by default.
        limit: The most units asked about (attributes, items, stimuli, root items), evenly spread.
        size: How much is asked: `trial` for a first look, `standard` to detect the stated effect,
            `full` for all.
        method: The one method to ask in, of those of the family; by default the best that the model
            supports.
        name: Name of the model in results; by default derived from `model`.
        kind: The backend, where the files do not say; for an endpoint `chat` (the default) or
            `completions`.
        dtype: Data type of computations on a GPU; by default that of the model's entry, or `auto`:
            as its weights are stored.
        start: The token before plain texts, as text: of files or a loaded model instead of the
            usual one; for an endpoint with log-probabilities that does not prepend one itself.
        options: Chat settings that override the entry's, as `{"thinking": {"tokens": 4096}}` or
            `{"thinking": "off"}`; also `effort`, `template`, `new_tokens` and the others of
            `evenruler.models.chat_settings.ChatSettings`.
        max_requests: Limit on requests to servers, retries included; by default
            `EVENRULER_MAX_REQUESTS`, or no limit.
        tokenizer: Of a loaded model.
        cache_key: The key of a function's answers in the cache; without one they are not cached.

    Returns:
        Figures with intervals, controls and verdicts, and what was measured how.

    Raises:
        UserError: There is no such model or benchmark, the model cannot answer it, or the request
            budget is used up; answers up to then are cached.
    """
    if limit is not None and limit < 1:
        raise UserError(
            f"limit is {limit}", where="limit", remedy="take 1 or more, or leave it out"
        )
    if size not in SIZES:
        raise UserError(f"no size {size!r}", where="size", remedy=f"say {' or '.join(SIZES)}")
    store = RowStore()
    subject = resolve_model(
        model,
        store,
        name=name,
        kind=kind,
        dtype=dtype,
        start=start,
        options=options,
        tokenizer=tokenizer,
        cache_key=cache_key,
    )
    session = Session(subject, store, device)
    with request_budget(max_requests), open_benchmark(str(benchmark)) as opened_benchmark:
        planned = session.plan_measurement(opened_benchmark, size=size, limit=limit, method=method)
        if out is not None:
            _require_place(planned, Path(out))
        measured = session.measure(planned)
    if out is not None:
        write_result(measured.result, Path(out), measured.tables)
    return measured.result


def measure_each(
    spec: ModelSpec,
    benchmarks: Sequence[str],
    out: Path,
    *,
    device: str | None,
    limit: int | None,
    size: Size,
    method: str | None = None,
    max_requests: int | None,
    spending: SpendingLimit,
    unit: str | None = None,
    show: Literal["summary", "all", "json", "csv", "html"] = "summary",
    groups: Sequence[str] = (),
    batch_files: BatchFiles = NO_BATCH_FILES,
) -> Iterator[str]:
    """Measure a model with several benchmarks, as `measure`; yields the lines to print for each.

    A benchmark that cannot be opened stops the run before anything is asked; other UserErrors are
    raised together at the end. `lm_eval:TASK` is a task of lm-evaluation-harness, whose documents
    are grouped into units by the column `unit`. Without benchmarks, the one that the recorded
    answers belong to is used. `groups`: two words for the slot of Likert items. Replies in
    `batch_files` are stored; where it names a file for requests, they are written into it, and
    nothing is asked or measured.
    """
    started = time.monotonic()
    store = RowStore()
    _require_dtype_and_benchmark(spec, benchmarks)
    subject = resolve_spec(spec, store)
    session = Session(subject, store, device)
    notes = f"{_start_token_note(session)}{_dtype_note(session.model.engine)}"
    print_note(f"{_describe_subject(subject)}{notes}")
    benchmarks = benchmarks or [_find_benchmark_of_answers(session)]
    tasks = _list_tasks(benchmarks, unit)
    batch_files.require_chat(session, tasks)
    shown_together: list[StoredResult] = []
    with request_budget(max_requests), ExitStack() as opened:
        # Open all first, so that mistakes show before minutes of asking.
        opened_benchmarks = [
            opened.enter_context(open_benchmark(place, groups))
            for place in dict.fromkeys(benchmarks)
            if place not in tasks
        ]
        plans, refused = _plan_benchmarks(
            session, opened_benchmarks, out, size=size, limit=limit, method=method
        )
        yield from batch_files.exchange_files(session, plans)
        sends_nothing = batch_files.requests is not None
        if not sends_nothing:
            costs = _list_costs_left(session, plans)
            _agree_to_send(costs, plans, spending)
            sends_nothing = bool(costs) and current_budget().most == 0
        if sends_nothing:
            opened_benchmarks, plans, tasks = [], [], []
        for plan in plans:
            try:
                measured = session.measure(plan)
            except UserError as error:
                refused.append(str(error))
                continue
            _print_examples(measured)
            folder = write_result(measured.result, out, measured.tables)
            if show == "csv" or show == "html":
                shown_together.append(StoredResult(measured.result, folder))
            else:
                yield from _format_result(measured.result, folder, show)
        for place in tasks:
            try:
                from evenruler.evaluate import lm_eval_tasks  # which few need

                yield from lm_eval_tasks.task_lines(
                    session.model, place.removeprefix(SCHEME), unit, limit
                )
            except UserError as error:
                refused.append(str(error))
    if shown_together:
        yield _format_together(shown_together, show)
    print_note(f"{time.monotonic() - started:.0f} s in all; answers are kept in {store.root}")
    if refused:
        is_any_measured = len(refused) < len(opened_benchmarks) + len(tasks)
        remedy = "the others were measured" if is_any_measured else ""
        raise UserError("; ".join(dict.fromkeys(refused)), remedy=remedy)


def _format_together(results: Sequence[StoredResult], show: str) -> str:
    """All results as one page of HTML, or as one table of CSV."""
    from evenruler.results import view  # which few need

    if show == "csv":
        return view.as_csv(results).rstrip("\n")
    return view.render([result.with_label() for result in results]).rstrip("\n")


def _require_dtype_and_benchmark(spec: ModelSpec, benchmarks: Sequence[str]) -> None:
    """UserError, before minutes of converting or training, where there is no such dtype, or no
    benchmark is named for a model other than recorded answers.
    """
    dtypes = get_args(DeclaredDtype)
    if spec.dtype not in (None, *dtypes):
        remedy = f"say {' or '.join(dtypes)}"
        raise UserError(f"no dtype {spec.dtype!r}", where="--dtype", remedy=remedy)
    if not benchmarks and not spec.is_recorded:
        remedy = "say which benchmark as --with NAME"
        raise UserError("no benchmark is named", where=spec.reference, remedy=remedy)


def _describe_subject(subject: ResolvedModel) -> str:
    """The model's name, source and kind, for the first line."""
    entry = subject.entry
    sources = [entry.source] if isinstance(entry.source, str) else entry.source
    commit_label = f" at commit {entry.revision}" if entry.scheme == "hub" else ""
    chats = ", asked in chats, too" if entry.chats and entry.continues else ""
    subject_label = f"{entry.label or subject.name}: {sources[0]}{commit_label}"
    return f"{subject_label} (kind {entry.kind}{chats})"


def _start_token_note(session: Session) -> str:
    """What stands before plain texts, for the first line; empty for kinds without."""
    start = session.model.start
    return f"; plain texts begin with {start.token} ({start.source})" if start else ""


def _dtype_note(engine: str) -> str:
    """What a model on a GPU computes in, for the first line, from its engine string; empty for
    others.
    """
    parts = json.loads(engine or "{}")  # exported answers may have none
    dtype, device = parts.get("dtype"), parts.get("device", "cpu")
    if device == "cpu":
        return ""
    if dtype != "float32":
        return f"; it computes in {dtype}"
    return f"; it computes in float32, TF32 is {'on' if device.endswith('-tf32') else 'off'}"


def _find_benchmark_of_answers(session: Session) -> str:
    """The benchmark that recorded answers belong to, with a note."""
    name = benchmark_of_log(session.model, session.reference)
    print_note(f"{session.subject.name}: its answers are to {name}")
    return name


def _list_tasks(benchmarks: Sequence[str], unit: str | None) -> list[str]:
    """The tasks of lm-evaluation-harness among benchmarks; UserError where there is a `unit` for
    none.
    """
    tasks = [place for place in dict.fromkeys(benchmarks) if place.startswith(SCHEME)]
    if unit is not None and not tasks:
        raise UserError(
            "it applies to lm_eval:TASK only",
            where="--unit",
            remedy="leave it out, or add --with lm_eval:TASK",
        )
    return tasks


def _plan_benchmarks(
    session: Session,
    benchmarks: Sequence[Benchmark],
    out: Path,
    *,
    size: Size,
    limit: int | None,
    method: str | None,
) -> tuple[list[MeasurementPlan], list[str]]:
    """Plans for those benchmarks that can be measured, with a note on each; and why others
    cannot.
    """
    plans: list[MeasurementPlan] = []
    refused: list[str] = []
    for benchmark in benchmarks:
        try:
            plan = session.plan_measurement(benchmark, size=size, limit=limit, method=method)
            _require_place(plan, out)
        except UserError as error:
            refused.append(str(error))
        else:
            plans.append(plan)
            size_label = f"{plan.benchmark.name}, {plan.result.settings.size}"
            print_note(f"{size_label}: asks {plan.in_words}")
    return plans, refused


def _require_place(planned: MeasurementPlan, out: Path) -> None:
    """UserError, before anything is asked, where the result could not be written."""
    root = repository.find_repository_root()
    for benchmarks in (repository.shipped_benchmarks(), *([root / "benchmarks"] if root else [])):
        if out.resolve().is_relative_to(benchmarks.resolve()):
            raise UserError(
                "published benchmarks lie here",
                where=str(out),
                remedy="name another folder with --out",
            )
    refuse_another(planned.result, out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        what = f"results cannot be written here ({error.strerror})"
        raise UserError(what, where=str(out), remedy="name another folder with --out") from None


def _list_costs_left(session: Session, plans: Sequence[MeasurementPlan]) -> list[Cost]:
    """The costs of what plans still send to a server; none where nothing is left, or the model is
    no server's.
    """
    if session.subject.kind not in HOSTED:
        return []
    costs = [session.left(plan) for plan in plans]
    return costs if any(cost.requests for cost in costs) else []


def _agree_to_send(
    costs: Sequence[Cost], plans: Sequence[MeasurementPlan], spending: SpendingLimit
) -> None:
    """Ask whether to send what plans still cost (`SpendingLimit.agree`); nothing is asked where
    there is no cost.
    """
    if not costs:
        return
    hopeless = [
        plan.benchmark.name
        for plan in plans
        if plan.detects is None
        and plan.result.settings.size != "trial"
        and not plan.plan.get("without_verdict")
    ]
    # A budget of requests is consent, too, but not to more dollars than the user allows.
    most = current_budget().most
    agreed = spending.yes or most == 0 or (most is not None and spending.most is None)
    replace(spending, yes=agreed).agree(costs, hopeless)


def _print_examples(measured: Measurement) -> None:
    """Print the prompts of a trial with the model's replies, as notes on standard error."""
    for prompt, reply in measured.examples:
        print_note(f"  asked: {prompt!r}\n  wrote: {reply!r}")


def _format_result(
    result: Result, folder: Path, show: Literal["summary", "all", "json"]
) -> Iterator[str]:
    """The lines to print for a result that was written to `folder`."""
    if show == "json":
        yield result.to_json()
    elif show == "all":
        yield from result_lines(result)
        yield f"  written to {folder}"
    else:
        yield from summary_lines(result)
        yield f"  written to {folder}; all figures: --all"


MOST_LINES = 11
"""Most lines of an answer, below its title."""


def summary_lines(result: Result) -> Iterator[str]:
    """The answer, warnings and gaps of a result, as at most 12 terminal lines."""
    yield f"{_display_name(result)}, {result.settings.size}"
    lines = _answer_lines(result)
    paragraphs = [
        *_limit_lines(result),
        *(f"warning: {line}" for line in result.warnings[:2]),
    ]
    n_more = len(result.warnings) - 2
    if n_more > 0:
        paragraphs.append(f"{n_more} more warning{'s' if n_more > 1 else ''}")
    if result.left_out:
        paragraphs.append(f"not asked: {'; '.join(result.left_out)}")
    for paragraph in paragraphs:
        lines.extend(_wrap_paragraph(paragraph))
    if len(lines) <= MOST_LINES:
        yield from lines
    else:
        yield from lines[: MOST_LINES - 1]
        yield f"  ... and {len(lines) - MOST_LINES + 1} lines more, with --all"


def _wrap_paragraph(paragraph: str) -> list[str]:
    """A paragraph below a title as terminal lines, the first two columns in."""
    return wrap(
        f"  {paragraph}",
        width=text_width(),
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def _answer_lines(result: Result) -> list[str]:
    """The headlines as terminal lines, each text below its own beginning."""
    lines: list[str] = []
    for line in result.summary:
        lines.extend(wrap_line(line, indent=2, width=text_width()))
    return lines


def _display_name(result: Result) -> str:
    """The title line of a result: the benchmark's name, version and title, and the model."""
    benchmark = result.benchmark
    model = result.model.label or result.model.name
    return f"{benchmark.name} {benchmark.version} ({benchmark.title}) on {model}"


def _limit_lines(result: Result) -> Iterator[str]:
    """A line that warns that a run was limited (`--limit`) or a trial too small for a
    verdict; no line otherwise.
    """
    settings, benchmark = result.settings, result.benchmark
    if settings.limit is not None:
        yield f"trial run: figures are for at most {settings.limit} units (--limit)"
    elif settings.size == "trial" and Verdict.DESCRIPTIVE in result.verdicts.values():
        sizes_hint = (
            f"; what other sizes detect: evenruler list {benchmark.name}"
            if benchmark.origin == "shipped"
            else ""
        )
        yield f"a trial mostly asks too little for a verdict{sizes_hint}"


def result_lines(result: Result) -> Iterator[str]:
    """The answer and all figures of a result as terminal lines: by part amounts, then the
    instrument's validity.
    """
    yield _display_name(result)
    yield from _answer_lines(result)
    for paragraph in _limit_lines(result):
        yield from _wrap_paragraph(paragraph)
    for part, rows in _group_by_part(result).items():
        yield f"  {part}"
        yield from _figure_and_validity_lines(rows)
    for heading in _choose_explained_headings(result):
        yield from _wrap_paragraph(f"{heading.heading}: {heading.meaning}")
    for heading_text, conclusion in _list_conclusions(result).items():
        yield from _wrap_paragraph(f"{heading_text}: {conclusion}")
    yield from (f"  warning: {line}" for line in result.warnings)
    yield from (f"  not asked: {line}" for line in result.left_out)
    if not result.settings.prefixes:
        yield "  Wording sensitivity was not measured (no prefixes)."


HeadedRow = tuple[Heading, dict[str, Any]]


def _group_by_part(result: Result) -> dict[str, list[HeadedRow]]:
    """The rows that have a heading, in the order of headings, by part and label of the model."""
    rows_by_part: dict[str, list[HeadedRow]] = {}
    for row in sorted(result.figures, key=row_key):
        heading = find_heading(row, result.headings)
        if heading is not None:  # figures of single items are not shown here
            label = model_label(row)
            part = part_of_instrument(row, heading)
            place = part if label == result.model.name else f"{part}, {label}"
            rows_by_part.setdefault(place, []).append((heading, row))
    for rows in rows_by_part.values():
        rows.sort(key=lambda headed_row: result.headings.index(headed_row[0]))
    return dict(sorted(rows_by_part.items()))


def _figure_and_validity_lines(rows: Sequence[HeadedRow]) -> list[str]:
    """The lines of one part: amounts, then the instrument's validity."""
    amounts = [(heading, row) for heading, row in rows if heading.figure_type != "validity"]
    validity = [(heading, row) for heading, row in rows if heading.figure_type == "validity"]
    lines = [f"    {line}" for line in _figure_lines(amounts)]
    if validity:
        validity_lines = [f"      {line}" for line in _figure_lines(validity)]
        lines += ["    validity on this model", *validity_lines]
    return lines


def _choose_explained_headings(result: Result) -> list[Heading]:
    """The headings of figures that have verdicts; without any verdict, of all amounts."""
    shown: list[Heading] = []
    judged: list[Heading] = []
    for rows in _group_by_part(result).values():
        for heading, row in rows:
            if heading.figure_type != "validity":
                shown.append(heading)
                if "verdict" in row:
                    judged.append(heading)
    chosen = judged or shown
    return [heading for heading in result.headings if heading in chosen]


def _list_conclusions(result: Result) -> dict[str, str]:
    """By heading: what may be concluded from figures without a verdict, where they say it."""
    conclusions: dict[str, str] = {}
    for rows in _group_by_part(result).values():
        for heading, row in rows:
            if row.get("verdict") is None and row.get("why"):
                conclusions[heading.heading] = row["why"]
    return conclusions


def _figure_lines(rows: Sequence[HeadedRow]) -> Iterator[str]:
    """A line for each figure, aligned, with its control and its verdict, or the word of a part."""
    width = max((len(heading.heading) for heading, _ in rows), default=0)
    for heading, row in rows:
        unit = "" if row["value"] is None else f" {row['unit']}"
        control = f", control {row['control']:z.2f}" if "control" in row else ""
        word = row.get("verdict") or row.get("note")
        verdict = f": {word}" if word else ""
        label = f"{heading.heading:<{width}}"
        yield f"{label}  {figure_in_words(row)}{unit}{control}{verdict}"
