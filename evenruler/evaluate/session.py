"""Run a benchmark on a model: plan the requests, ask, compute figures and collect warnings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, cast

import pandas as pd
import pyarrow as pa

from evenruler import __version__
from evenruler.declaration.params_file import DiagnosisSettings
from evenruler.errors import UserError
from evenruler.evaluate.benchmark import Benchmark, join_recorded_answers
from evenruler.evaluate.cost import (
    Cost,
    cost_of,
    power_text,
    questions_in_words,
)
from evenruler.evaluate.resolve_model import ResolvedModel
from evenruler.instruments.asking import (
    AnsweringModels,
    collect_answers,
    model_meta_of,
    tool_loader,
    unanswerable_tables,
)
from evenruler.instruments.diagnosing import diagnose_family, require_confirmed
from evenruler.instruments.instrument import (
    SUBJECT,
    FigureHeading,
    ModelMeta,
    Plan,
    Record,
    RequestBatch,
    Tables,
    plan_at_size,
    with_method,
)
from evenruler.instruments.methods.choice import NO_ANSWER
from evenruler.instruments.possible_verdicts import detected_effect_text
from evenruler.instruments.registry import family_module
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.measurement.nonresponse import such_as
from evenruler.models import fingerprint as fingerprints
from evenruler.models.cache import MissingAnswersError
from evenruler.models.questions import QuestionVolume, cut_reasons
from evenruler.models.store import RowStore
from evenruler.publish.manifest import PLAN, PLANTED, as_json
from evenruler.report.planted import planted_as_json
from evenruler.report.sentences import summarise_headlines
from evenruler.results.record import (
    ANSWERS,
    Behaviour,
    Heading,
    MeasuredBenchmark,
    MeasuredModel,
    MeasurementSettings,
    Result,
)
from evenruler.sizes import STANDARD, Size
from evenruler.tables import evenly_spread, table_of
from evenruler.tables.contents import is_file, json_of
from evenruler.tables.frames import for_people

if TYPE_CHECKING:  # which brings libraries that take seconds to import
    from evenruler.instruments.family import AskModule
    from evenruler.models.model import Model

RESAMPLING = DiagnosisSettings().resampling
"""The pipeline's defaults."""

MANY = 0.05
"""Share of replies that hold only thinking, or no answer, above which a warning is given."""


@dataclass(frozen=True)
class Measurement:
    """A result, and the tables stored with it."""

    result: Result
    tables: Mapping[str, pd.DataFrame | pa.Table]
    """Scores by row, the tables of the family's diagnosis, and the model's answers (`ANSWERS`), by
    name."""
    examples: Sequence[tuple[str, str]]
    """A few prompts with the model's replies."""


@dataclass(frozen=True)
class MeasurementPlan:
    """What a model will be asked for a benchmark."""

    benchmark: Benchmark
    subject: ModelMeta
    """With its method, where it is asked by one method only."""
    tables: Tables
    plan: Plan
    cost: Cost
    headings: Sequence[FigureHeading]
    result: Result
    """The result, still without figures."""

    @property
    def in_words(self) -> str:
        """The number of questions by kind, and the effect that such a study detects, where the plan
        states one.
        """
        questions_text = questions_in_words(self.cost.questions, self.subject.method)
        if self.result.settings.limit is not None or self.detects == "":  # unknown for fewer units
            return questions_text
        return f"{questions_text}; {power_text(self.detects)}"

    @property
    def detects(self) -> str | None:
        """What such a study detects, in words; None where no verdict is possible, empty where it is
        unknown.
        """
        methods = family_module(self.benchmark.family, "ask").METHODS
        fitting_methods = (name for name, method in methods.items() if method.fits(self.subject))
        usual = next(fitting_methods, None)
        return detected_effect_text(
            self.plan, self.result.settings.size, self.subject.method or usual
        )


class HowAsked(TypedDict, total=False):
    """Arguments of `Session.plan_measurement`."""

    size: Size
    limit: int | None
    method: str | None


class Session:
    """One model, loaded once, for several benchmarks."""

    def __init__(self, chosen: ResolvedModel, store: RowStore, device: str | None = None) -> None:
        """Set the model; its weights are loaded when an answer is missing."""
        self._chosen = chosen
        self._store = store
        self._device = device
        self.reference = chosen.reference
        # Unadapted, even if the catalogue says that the pipeline adapts it to corpora.
        self.subject = replace(model_meta_of(chosen.name, chosen.catalogue), adapted=None)

    @cached_property
    def model(self) -> "Model":
        """The model, loaded on first use; UserError where its files are missing, or there is no
        such device.
        """
        return self._chosen.load_model(self._store, self._device, self.reference)

    def plan_measurement(
        self,
        benchmark: Benchmark,
        *,
        size: Size = STANDARD,
        limit: int | None = None,
        method: str | None = None,
    ) -> MeasurementPlan:
        """Plan what a benchmark will ask the model at a size, on at most `limit` units, evenly
        spread; loads no weights. `method`: by default the one usual for the model.

        UserError where the model can answer none of it, its files are missing, or it does not
        support the method.
        """
        door = family_module(benchmark.family, "ask")
        subject = with_method(door.METHODS, self.subject, method)
        with _as_user_errors(benchmark):
            tables, plan = benchmark.tables, plan_at_size(benchmark.plan, size)
            whole = cost_of(door.requests(tables, plan, {}, subject)).questions
            if limit is not None:
                tables, plan = door.limited(tables, plan, limit)
            cost = cost_of(door.requests(tables, plan, {}, subject))
            questions = cost.questions
            lacking = unanswerable_tables(door, {benchmark.instrument: (tables, plan)}, subject)
            headings = family_module(benchmark.family, "declare").headings(plan)
        if not questions:
            other_methods = [
                name
                for name in door.METHODS
                if name != subject.method and self._asks(benchmark, plan, name)
            ]
            raise _no_questions_error(
                benchmark, subject, lacking, other_methods, limit if whole else None
            )
        manifest, entry = benchmark.manifest, self._chosen.entry
        if subject.kind == "recorded":
            join_recorded_answers(self.model, benchmark)
        measured_benchmark = MeasuredBenchmark(
            name=manifest.name,
            version=manifest.version,
            title=benchmark.title,
            family=benchmark.family,
            origin=benchmark.origin,
            content_sha256=benchmark.identity,
            plan_sha256=manifest.files[PLAN],
        )
        model_source = entry.source
        if entry.adapter:
            model_source = [f"local:{entry.adapter}", str(entry.source)]
        engine = json.loads(self.model.engine)
        if entry.new_tokens:
            engine["new_tokens"] = entry.new_tokens
        subject_fields = {**asdict(subject), "operations": sorted(subject.operations)}
        start = asdict(self.model.start) if self.model.start else None
        measured_model = MeasuredModel(
            name=self._chosen.name,
            label=entry.label,
            source=model_source,
            revision=entry.revision,
            kind=subject.kind,
            chat=subject.chats,
            licence=entry.licence,
            start=start,
            engine=engine,
            meta=json.loads(as_json(subject_fields)),
        )
        effective_limit = None if questions == whole else limit
        settings = MeasurementSettings(
            prefixes=bool(plan.get("prefixed") and plan.get("prefixes")),
            size=size,
            method=subject.method,
            limit=effective_limit,
            **asdict(RESAMPLING),
        )
        result = Result(
            evenruler=__version__,
            benchmark=measured_benchmark,
            model=measured_model,
            settings=settings,
            headings=convert_headings(headings),
            figures=[],
            left_out=lacking,
            warnings=[],
        )
        return MeasurementPlan(benchmark, subject, tables, plan, cost, headings, result)

    def _asks(self, benchmark: Benchmark, plan: Plan, method: str) -> bool:
        """Whether a benchmark has a question for the model by another method."""
        door = family_module(benchmark.family, "ask")
        if not door.METHODS[method].fits(self.subject):
            return False
        subject = replace(self.subject, method=method)
        return bool(cost_of(door.requests(benchmark.tables, plan, {}, subject)).questions)

    def find_missing(
        self, planned: MeasurementPlan
    ) -> Iterator[tuple[RequestBatch, MissingAnswersError]]:
        """Planned requests that the store has not all answers for, with what is missing."""
        door = family_module(planned.benchmark.family, "ask")
        stored = AnsweringModels(self.model.stored(), lambda name: self.model)
        for request in door.requests(planned.tables, planned.plan, {}, planned.subject):
            if request.by == SUBJECT:
                try:
                    stored.answer(
                        request,
                        {name: list(inputs) for name, inputs in request.inputs.items()},
                        len(request.rows),
                    )
                except MissingAnswersError as error:
                    yield request, error

    def list_missing(self, planned: MeasurementPlan) -> list[tuple[str, QuestionVolume]]:
        """The volume of what the store has no answers for, by operation of the store."""
        missing = (error for _, error in self.find_missing(planned))
        return [(error.operation, error.amount) for error in missing]

    def left(self, planned: MeasurementPlan) -> Cost:
        """The cost of those planned requests that the store has no answers for."""
        costs, thoughts = [], self._chosen.entry.thoughts
        for request, missing in self.find_missing(planned):
            amount = missing.amount
            thinking = amount.questions * thoughts.tokens if thoughts and amount.written else 0
            costs.append(
                Cost({request.operation: amount.questions}, amount.read, amount.written + thinking)
            )
        return sum(costs, Cost({}))

    def measure(self, planned: MeasurementPlan) -> Measurement:
        """Ask the same model what `planned` says, and compute figures from the answers."""
        self.model.heard.clear()  # left from another benchmark
        if planned.subject.kind == "recorded":
            join_recorded_answers(self.model, planned.benchmark)
        try:
            return compute_measurement(planned, {}, self.model, self._device)
        except MissingAnswersError as error:
            n_lacking = error.amount.questions
            what = f"it lacks {n_lacking:,} answers ({error.operation}) of {error.model}"
            raise UserError(
                what, where=self.reference, remedy="take the size and version that were answered"
            ) from None


def convert_headings(columns: Sequence[FigureHeading]) -> list[Heading]:
    """The headings of a family's figures, as a result stores them."""
    headings: list[Heading] = []
    for column in columns:
        fields = {key: getattr(column, key) for key in Heading.model_fields}
        headings.append(Heading(**fields))
    return headings


@pd.option_context(
    "mode.string_storage", "python"
)  # as in pipeline stages, whatever the user's process has set
def compute_measurement(
    planned: MeasurementPlan,
    known_answers: Tables,
    model: "Model | None",
    device: str | None = None,
) -> Measurement:
    """Compute figures from the answers in `known_answers`, and of `model` (None if it is not
    needed) and tools to the rest.
    """
    benchmark, subject = planned.benchmark, planned.subject
    tables, plan = planned.tables, planned.plan
    ask_room = family_module(benchmark.family, "ask")
    diagnose = family_module(benchmark.family, "diagnose")
    with _as_user_errors(benchmark):
        answering = AnsweringModels(
            cast("Model", model),
            tool_loader([plan], benchmark.folder / PLAN, device=device, published=True),
        )

    def requests(
        tables: Tables, plan: Plan, collected_answers: Tables, subject: ModelMeta
    ) -> Sequence[RequestBatch]:
        """The family's next requests, given the known answers and those collected so far."""
        return ask_room.requests(tables, plan, {**known_answers, **collected_answers}, subject)

    instruments = {benchmark.instrument: (tables, plan)}
    answers = {
        **known_answers,
        **collect_answers(instruments, requests, subject, answering, of_model_alone=True),
    }
    shows = planned.result.settings.size == "trial"
    examples = _example_replies(ask_room, tables, plan, subject, answers) if shows else []
    stored, answer_frames = {}, {}  # in the schemas in which the pipeline stores them
    for table, schema in ask_room.ANSWERS.items():
        rows = answers[table][schema.names] if table in answers else []
        stored[table] = table_of(rows, schema)
        answer_frames[table] = stored[table].to_pandas()
    with _as_user_errors(benchmark):
        scores = ask_room.scores(tables, plan, answer_frames, subject)
        record, figures = _diagnose(planned, scores)
    heard, doubts = (model.heard, model.doubts) if model else ([], [])
    warnings: list[str] = []
    if subject.kind != "recorded":
        warnings += unread_texts(ask_room.requests(tables, plan, {}, subject), answer_frames)
    warnings += nonresponse_warnings(answer_frames, {**scores, **record.diagnosis})
    warnings += server_change_warnings(heard)
    warnings += doubts
    warnings += limit_warnings(figures, planned.headings)
    model_update = {
        "heard": server_identity(heard),
        "fingerprint": behaviour_of(model) if model else None,
    }
    n_answers = {table: len(rows) for table, rows in answer_frames.items() if len(rows)}
    measured_model = planned.result.model.model_copy(update=model_update)
    tools = sorted(answering.tools.items())
    engines = {name: json.loads(tool.engine) for name, tool in tools}
    update: dict[str, Any] = {
        "figures": [for_people(row) for row in figures],
        "warnings": warnings,
        "asked": n_answers,
        "model": measured_model,
        "tools": engines,
    }
    diagnosis_table_names = diagnose.TABLES.keys() - {"figures"}  # figures are in the result itself
    diagnosis_tables = {
        table: rows for table, rows in record.diagnosis.items() if table in diagnosis_table_names
    }
    result_tables = {
        table: rows for table, rows in {**scores, **diagnosis_tables}.items() if len(rows)
    }
    headline_columns = family_module(benchmark.family, "schemas").HEADLINES.names
    made_of = record.diagnosis.get("headlines", pd.DataFrame(columns=headline_columns))
    result = planned.result.model_copy(update=update)
    planted = _planted_records(benchmark)
    summary = _summarise(result, planted)
    result = result.model_copy(update={"summary": summary, "planted": planted_as_json(planted)})
    result = result.with_tables(
        made_of, {**result_tables, **replies_with_prompts(answer_frames, tables)}
    )
    of_model = {
        request.table
        for request in ask_room.requests(tables, plan, {}, subject)
        if request.by == SUBJECT
    }
    return Measurement(
        result,
        {**result_tables, **{f"{ANSWERS}{table}": stored[table] for table in sorted(of_model)}},
        examples,
    )


def _planted_records(benchmark: Benchmark) -> list[dict[str, Any]]:
    """What was recorded of the benchmark on planted models (docs/weights.md), or nothing."""
    path = benchmark.folder / PLANTED
    if not is_file(path):
        return []
    records: list[dict[str, Any]] = json_of(path)
    return records


def _summarise(result: Result, planted: Sequence[Mapping[str, Any]]) -> list[str]:
    """The answer of `sentences.summarise_headlines`, a text a line, with what the benchmark detects
    in planted models.
    """
    headlines = [heading for heading in result.headings if heading.figure_type == "headline"]
    return [str(line) for line in summarise_headlines(result.figures, headlines, planted)]


def _example_replies(
    door: "AskModule[Plan]", tables: Tables, plan: Plan, subject: ModelMeta, answers: Tables
) -> list[tuple[str, str]]:
    """Three prompts, evenly spread, with the reply, or the reason why there is none."""
    for request in door.requests(tables, plan, {}, subject):
        if request.operation == "generate" and request.by == SUBJECT:
            prompts, rows = request.inputs["prompt"], answers[request.table]
            replies = (
                rows["reply"].fillna(rows["reason"]).tolist()
                if "reason" in rows
                else rows["reply"].tolist()
            )
            place_names = evenly_spread(list(map(str, range(len(prompts)))), 3)
            places = [int(name) for name in place_names]
            return [(prompts[place], str(replies[place])) for place in places]
    return []


def _no_questions_error(
    benchmark: Benchmark,
    subject: ModelMeta,
    lacking: Sequence[str],
    other_methods: Sequence[str],
    limit: int | None,
) -> UserError:
    """The error where a benchmark has no question for a model.

    `lacking`: by `unanswerable_tables`; `other_methods`: those that have questions for it; `limit`:
    that which leaves none.
    """
    reasons = [line.rpartition(": ")[2] for line in lacking]
    why = "; ".join(dict.fromkeys(reasons))
    why_label = f" ({why})" if why else ""
    what = f"{subject.name} (kind {subject.kind}) cannot answer it{why_label}"
    remedy = "take a model or a benchmark that fit"
    method = family_module(benchmark.family, "ask").METHODS.get(subject.method or "")
    if method is not None:
        what = (
            f"it has no question for {subject.name} (kind {subject.kind}) by the method "
            f"{subject.method}"
        )
        what += f", which takes {method.takes}" if method.takes else ""
    if limit is not None:
        what = f"the first {limit:,} units have no question for {subject.name}"
        remedy = "say a larger --limit"
    elif other_methods:
        remedy = f"say --method {' or '.join(other_methods)}"
    elif subject.kind == "chat":
        remedy += "; if the server gives log-probabilities of prompts, say --kind completions"
    return UserError(what, where=benchmark.name, remedy=remedy)


BUILT_HERE = ("shipped", "file")
"""Origins of benchmarks that this evenruler built."""

BUG = "This is a fault of evenruler, not of what you wrote. Please report it with these lines."


@contextmanager
def _as_user_errors(benchmark: Benchmark) -> Iterator[None]:
    """Turn failures on rows or a plan into a UserError where others may have built them.

    Where this evenruler did (`BUILT_HERE`) they are its bugs: they pass through, with a note that
    says so.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # pandas and Arrow have exceptions of their own
        if benchmark.origin in BUILT_HERE:
            error.add_note(BUG)
            raise
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        what = (
            f"its rows or plan do not fit the family {benchmark.family} of this evenruler "
            f"({message:.200})"
        )
        remedy = "get the benchmark again, or the evenruler that built it"
        raise UserError(what, where=str(benchmark.folder), remedy=remedy) from error


def _diagnose(
    planned: MeasurementPlan, scores: Tables
) -> tuple[Record[Plan], list[dict[str, Any]]]:
    """The record of a benchmark on a model, and its figures, except those of the instrument alone
    (on its card).
    """
    door, name = family_module(planned.benchmark.family, "diagnose"), planned.benchmark.instrument
    diagnosis_tables = door.figures(
        name, planned.tables, planned.plan, scores, planned.subject, RESAMPLING
    )
    record = Record(name, planned.subject, planned.tables, planned.plan, diagnosis_tables)
    family_tables = diagnose_family(door, [record], RESAMPLING)
    require_confirmed(family_tables["figures"], planned.headings)
    evidence = door.evidence(family_tables).get(name, [])
    return record, [dict(row) for row in evidence if row["model"] is not None]


def replies_with_prompts(answers: Tables, published: Tables) -> dict[str, pd.DataFrame]:
    """The table of replies, if any, each with its prompt."""
    if "replies" not in answers or answers["replies"].empty:
        return {}
    replies = answers["replies"]
    if "id" in replies and "prompts" in published:
        replies = replies.assign(
            prompt=replies["id"].map(published["prompts"].set_index("id")["prompt"])
        )
    first = [name for name in ("prompt", "reply", "reason") if name in replies]
    return {"replies": replies[[*first, *replies.columns.difference(first, sort=False)]]}


NAMED: int = 5
"""Most words that a warning names."""


def unread_texts(requests: Sequence[RequestBatch], answers: Tables) -> list[str]:
    """Warnings on texts that a local model was not asked about, since its tokenizer does not know a
    word of theirs.

    Answers do not hold the words. Named are those of these texts that stand in no other text, which
    may be more.
    """
    scored: set[str] = set()
    unread: list[str] = []
    for request in requests:
        local = (
            request.operation in ("loglikelihood", "pll")
            and request.by == SUBJECT
            and "other_start" not in request.settings
        )
        if local and request.table in answers:
            rows = request.rows.assign(text=request.inputs["text"])
            rows = rows.merge(answers[request.table], on=list(request.rows.columns))
            lacking = rows["nats"].isna()
            unread += rows.loc[lacking, "text"].tolist()
            for text in rows.loc[~lacking, "text"]:
                scored.update(text.split())
    if not unread:
        return []
    warning = (
        f"{len(unread):,} texts hold a word that is unknown to the tokenizer, and are left out, "
        f"as {unread[0][:60]!r}"
    )
    unread_words = dict.fromkeys(" ".join(unread).split())
    words = [word for word in unread_words if word not in scored]
    if not scored or not words:
        return [warning]
    n_more = len(words) - NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return [
        f"{warning}; of their words, these stand in no other text: "
        f"{', '.join(map(repr, words[:NAMED]))}{more}"
    ]


def nonresponse_warnings(answers: Tables, readings: Tables) -> list[str]:
    """Warnings on missing, empty or cut-off replies; and on those of `readings` in which no rule
    finds an answer.
    """
    warnings = []
    for rows in answers.values():
        if "reply" not in rows or not len(rows):
            continue
        n = len(rows)
        cut = cut_reasons(rows["reason"]) if "reason" in rows else []
        n_cut = len(cut) if len(cut) > MANY * n else 0
        withheld = int(rows["reply"].isna().sum()) - n_cut
        replies = rows["reply"].dropna().astype(str).str.strip()
        empty = int((replies == "").sum())
        if n_cut:
            reason = cut[0]
            warnings.append(f"{n_cut:,} of {n:,} replies were {reason}")
        if withheld:
            warnings.append(f"the model gave no reply to {withheld:,} of {n:,} prompts")
        if empty:
            warnings.append(f"{empty:,} of {n:,} replies are empty")
    replied = [rows["replied"] for rows in answers.values() if "replied" in rows]
    recorded = any(times.notna().any() for times in replied)
    for rows in readings.values():
        if not {"reply", "rule"} <= {*rows}:
            continue
        is_unread = rows["rule"].map(NO_ANSWER).isin(["unread", "astray"])
        unread = rows.loc[is_unread, "reply"]
        n_unread = len(unread)
        if n_unread > MANY * len(rows):
            counts = f"{n_unread:,} of {len(rows):,} replies"
            share = f"{counts} ({n_unread / len(rows):.0%})"
            remedy = "" if recorded else "; if they are cut off, say a larger --new-tokens"
            warnings.append(f"no answer is found in {share}{such_as(unread)}{remedy}")
    return warnings


def server_identity(heard: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What a server called its model, and its fingerprints, from the metadata of its replies
    (`Reply.server_report`).
    """
    identity: dict[str, list[str]] = {}
    for key in ("model", "fingerprint"):
        values = {str(metadata[key]) for metadata in heard if key in metadata}
        if values:
            identity[key] = sorted(values)
    return identity


def behaviour_of(model: "Model") -> Behaviour | None:
    """The fingerprint of a model whose weights are at hand, for its result; None for others."""
    engine = json.loads(model.engine or "{}")
    if "weights" not in engine:
        return None
    if "vllm" in engine:
        return Behaviour(
            numbers=None, reason="vLLM computes, which is not asked for its numbers on fixed texts"
        )
    if model.fingerprint is None:
        return Behaviour(
            numbers=None, reason="all its answers were stored, and no fingerprint beside them"
        )
    return Behaviour(numbers=fingerprints.as_text(model.fingerprint))


def server_change_warnings(heard: Sequence[Mapping[str, Any]]) -> list[str]:
    """Warnings on a server that changed or refused settings, from the metadata of its replies."""
    warnings = []
    fingerprints = server_identity(heard).get("fingerprint", [])
    if len(fingerprints) > 1:
        warnings.append(
            f"the server changed meanwhile: replies bear {len(fingerprints)} fingerprints "
            f"({', '.join(fingerprints)})"
        )
    refused: set[str] = set()
    for reply in heard:
        refused.update(map(str, reply.get("own", [])))
    if refused:
        settings = ", no ".join(sorted(refused))
        warnings.append(f"the server takes no {settings}: it samples by its own")
    return warnings


def limit_warnings(
    figures: Sequence[Mapping[str, Any]], headings: Sequence[FigureHeading]
) -> list[str]:
    """Warnings on figures outside the limits in the headings of their family."""
    warnings: list[str] = []
    for row in figures:
        heading = find_heading(row, headings)
        value = row["value"]
        if heading is None or value is None:
            continue
        part = part_of_instrument(row, heading)
        least = heading.least
        for end, limit in heading.least_of.items():
            if part.endswith(end):
                least = limit
                break
        is_low = least is not None and value < least
        is_high = heading.most is not None and abs(value) > heading.most
        if is_low or is_high:
            more = "more" if value > 0 else "fewer"
            warning = heading.warning.format(value=value, size=abs(value), more=more)
            warnings.append(f"{part}: {warning}")
    return warnings
