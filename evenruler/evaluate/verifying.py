"""Verify a result of `evenruler measure`: its files, its benchmark, its figures, and some answers
of its model.
"""

import json
import math
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
from pydantic import TypeAdapter

from evenruler import __version__
from evenruler.errors import UserError
from evenruler.evaluate.benchmark import Benchmark, open_benchmark
from evenruler.evaluate.cost import cost_of
from evenruler.evaluate.resolve_model import resolve_model
from evenruler.evaluate.session import (
    RESAMPLING,
    Measurement,
    MeasurementPlan,
    Session,
    compute_measurement,
    convert_headings,
)
from evenruler.files import file_sha256
from evenruler.instruments.asking import AnsweringModels, unanswerable_tables
from evenruler.instruments.instrument import (
    SUBJECT,
    ModelMeta,
    Plan,
    RequestBatch,
    Tables,
    plan_at_size,
)
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import figure_name
from evenruler.models import fingerprint as fingerprints
from evenruler.models.cache import MissingAnswersError
from evenruler.models.declarations import HOSTED
from evenruler.models.loading import HALF, OF_FILES
from evenruler.models.model import Model
from evenruler.models.questions import Reply
from evenruler.models.replay import ReplayCheck
from evenruler.models.store import RowStore
from evenruler.publish.difference import has_figure_changed
from evenruler.publish.locate import shipped_names
from evenruler.publish.manifest import PLAN
from evenruler.results.record import ANSWERS, MeasuredBenchmark, Result
from evenruler.results.store import OF_THE_COMPUTER, read_result, table_in_result, write_result
from evenruler.tables.contents import is_file, table_in
from evenruler.tables.frames import TOLERANCE, differing_rows

if TYPE_CHECKING:
    from evenruler.instruments.family import AskModule

VERIFIED, OPEN, DIFFERS = "verified", "not verified", "differs"

UNVERIFIED_PARTS = "benchmark, figures, answers"
"""What is not verified where the benchmark is not at hand."""


def verify(
    path: Path, place: str | None = None, model: str | None = None
) -> Iterator[tuple[str, str]]:
    """Verify a `result.json` and the tables beside it; yields an outcome, as above, and what it is
    about.

    `place`: the benchmark, by default as the result names it; `model`: the model to ask again, as
    for `measure`, by default none. UserError if the result, or a benchmark or model that was given,
    cannot be read.
    """
    result = read_result(path)
    if not result.tables_sha256 or result.model.meta is None:
        yield (
            OPEN,
            f"evenruler {result.evenruler} stored neither checksums nor answers: measure again",
        )
        return
    yield from _verify_files(result.tables_sha256, path.parent)
    benchmark_place = _find_place_at_hand(result.benchmark) if place is None else place
    if benchmark_place is None:
        yield (
            OPEN,
            f"{UNVERIFIED_PARTS}: its benchmark (origin: {result.benchmark.origin}) is not at "
            "hand; name it as --with",
        )
        return
    try:
        with open_benchmark(benchmark_place) as benchmark:
            yield from _verify_on_benchmark(result, benchmark, path.parent, model)
    except UserError as error:
        if place is not None or model is not None:
            raise
        yield OPEN, f"{UNVERIFIED_PARTS}: {error}"


def _verify_files(checksums: Mapping[str, str], folder: Path) -> Iterator[tuple[str, str]]:
    """Compare the tables of a result with their checksums."""
    # Nowhere else than in the folder, whatever the result says.
    files = {name: folder / Path(name).name for name in checksums}
    wrong = [
        name
        for name, file in files.items()
        if not is_file(file) or file_sha256(file) != checksums[name]
    ]
    for name in wrong:
        yield DIFFERS, f"{name} is missing, or its sha256 is not that in result.json"
    if not wrong:
        yield VERIFIED, f"sha256 of {len(checksums)} tables"


def _find_place_at_hand(benchmark: MeasuredBenchmark) -> str | None:
    """Where the benchmark of a result is at hand, if it is: what a stranger's result names is not
    fetched from elsewhere.
    """
    origin, _, revision = benchmark.origin.partition(":")
    if origin in ("shipped", "hub") and benchmark.name in shipped_names():
        return benchmark.name
    return revision if origin == "git" else None


def _verify_on_benchmark(
    result: Result, benchmark: Benchmark, folder: Path, model: str | None
) -> Iterator[tuple[str, str]]:
    """Compare a benchmark at hand with the one that a result names and, if they are the same, the
    figures.
    """
    named_benchmark = result.benchmark
    here = f"{benchmark.name} {benchmark.manifest.version}"
    there = f"{named_benchmark.name} {named_benchmark.version}"
    # A new version may have the same rows and plan.
    if named_benchmark.content_sha256 == benchmark.identity:
        yield VERIFIED, f"rows and plan of {here}"
        if here != there:
            yield OPEN, f"its name and version, {there}"
        yield from _verify_figures(result, benchmark, folder, model)
    elif here != there:
        yield OPEN, f"{UNVERIFIED_PARTS}: at hand is {here}, not {there}; name that as --with"
    else:
        is_same_plan = named_benchmark.plan_sha256 == benchmark.manifest.files[PLAN]
        what = "rows" if is_same_plan else "plan"
        yield DIFFERS, f"the {what} of {here} at hand; figures and answers are not compared"


@dataclass(frozen=True)
class _Recomputation:
    """What the stored answers to a benchmark give, computed again."""

    requests: list[RequestBatch]
    answers: Tables
    n_answers: int
    measurement: Measurement
    altered_tables: list[str]
    """Tables of the result that are not those computed again."""


def _verify_figures(
    result: Result, benchmark: Benchmark, folder: Path, model: str | None
) -> Iterator[tuple[str, str]]:
    """Compare the figures with those of the stored answers, and the answers with a model's."""
    door = family_module(benchmark.family, "ask")
    try:
        again = _compute_again(result, benchmark, folder, door)
    except UserError:
        raise
    except Exception as error:  # answers or a subject that were changed may hold anything
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        yield DIFFERS, f"no figures can be computed from its answers ({message:.100})"
        return
    yield _compare_figures(result, again)
    yield from _verify_texts(result, again.measurement.result)
    if model is None:
        yield OPEN, "answers: name the model as --ask"
        return
    try:
        yield from _verify_sampled_answers(result, again.requests, again.answers, model)
    except (MissingAnswersError, ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error!s:.100}"
        yield OPEN, f"answers of {model} cannot be compared ({reason})"


def _compute_again(
    result: Result, benchmark: Benchmark, folder: Path, door: "AskModule[Plan]"
) -> _Recomputation:
    """Compute a measurement from the stored answers; `door`: the module `ask` of the family. Raises
    errors of any kind where answers or subject were changed.
    """
    settings = result.settings
    subject = TypeAdapter(ModelMeta).validate_python(result.model.meta)
    tables, plan = benchmark.tables, plan_at_size(benchmark.plan, settings.size)
    if settings.limit:
        tables, plan = door.limited(tables, plan, settings.limit)
    requests = [batch for batch in door.requests(tables, plan, {}, subject) if batch.by == SUBJECT]
    headings = family_module(benchmark.family, "declare").headings(plan)
    answer_paths = {batch.table: folder / f"{ANSWERS}{batch.table}.parquet" for batch in requests}
    answers = {
        table: table_in_result(path, door.ANSWERS[table]) for table, path in answer_paths.items()
    }
    cost = cost_of(requests)
    _require_answers_to(requests, answers, cost.requests)
    prefixes = bool(plan.get("prefixed") and plan.get("prefixes"))
    benchmark_fields = {
        "title": benchmark.title,
        "family": benchmark.family,
        "plan_sha256": benchmark.manifest.files[PLAN],
    }
    measured_benchmark = result.benchmark.model_copy(update=benchmark_fields)
    # Fields whose values are those of the benchmark and the defaults here.
    result_fields: dict[str, object] = {
        "benchmark": measured_benchmark,
        "headings": convert_headings(headings),
        "settings": settings.model_copy(update={"prefixes": prefixes, **asdict(RESAMPLING)}),
    }
    tables_and_plans = {benchmark.instrument: (tables, plan)}
    result_fields["left_out"] = unanswerable_tables(door, tables_and_plans, subject)
    # Shipped, whose rows are sound: what fails is of the answers.
    shipped = replace(benchmark, origin="shipped")
    planned = MeasurementPlan(
        shipped, subject, tables, plan, cost, headings, result.model_copy(update=result_fields)
    )
    measurement = compute_measurement(planned, answers, None)
    altered_tables = _altered_tables(result, measurement, folder)
    return _Recomputation(requests, answers, cost.requests, measurement, altered_tables)


def _require_answers_to(
    requests: Sequence[RequestBatch], answers: Tables, n_questions: int
) -> None:
    """ValueError where answers are not to these requests, which have `n_questions`."""
    n = sum(map(len, answers.values()))
    if n != n_questions:
        raise ValueError(f"{n:,} rows for {n_questions:,} questions")
    for request in requests:
        held = answers[request.table]
        question_keys = set(_question_keys(request.rows, request, held))
        if question_keys - set(_question_keys(held, request, held)):
            raise ValueError(f"{request.table} are answers to other questions")


def _compare_figures(result: Result, again: _Recomputation) -> tuple[str, str]:
    """Compare the figures and tables of a result with those computed again."""
    were = _rows_by_name(result)
    are = _rows_by_name(again.measurement.result)
    wrong: list[str] = []
    for name in sorted(were | are):
        if has_figure_changed(were.get(name), are.get(name)):
            wrong.append(name)
    wrong += again.altered_tables
    n_repeated = len(result.figures) - len(were)
    if n_repeated:
        wrong.append(f"figures that stand twice: {n_repeated}")
    if wrong:
        n_more = len(wrong) - 3
        more = f"; and {n_more} more" if n_more > 0 else ""
        shown = "; ".join(wrong[:3]) + more
        return DIFFERS, f"not those of its answers (by evenruler {result.evenruler}): {shown}"
    return VERIFIED, f"{len(are)} figures, computed again from {again.n_answers:,} answers"


def _rows_by_name(result: Result) -> dict[str, dict[str, Any]]:
    """The row of each figure, by its name with dimensions."""
    return {figure_name(row): row for row in result.figures}


def _question_keys(
    rows: pd.DataFrame, request: RequestBatch, answers: pd.DataFrame
) -> list[tuple[str, ...]]:
    """What names each question in rows of a request or of its answers; numbers in one form, nulls
    as "".
    """

    def plain(value: str | float | None) -> str:
        """A cell as text: "" if it is null; numbers as floats, so that 1 and 1.0 are the same."""
        if pd.isna(value):
            return ""
        return repr(float(value)) if isinstance(value, Real) else str(value)

    names = [name for name in request.rows if name in answers and name != "tokens"]
    return [tuple(map(plain, row)) for row in rows[names].itertuples(index=False)]


def _altered_tables(result: Result, done: Measurement, folder: Path) -> list[str]:
    """The tables beside a result that are not those computed again from its answers."""
    altered_tables = []
    with TemporaryDirectory() as fresh:
        fresh_folder = write_result(done.result, Path(fresh), done.tables)
        computed_names = {path.name for path in fresh_folder.glob("*.parquet")}
        altered_tables += [
            f"{name} is no table of it"
            for name in sorted(result.tables_sha256.keys() - computed_names)
        ]
        for path in sorted(fresh_folder.glob("*.parquet")):
            stored_path = folder / path.name
            if path.name not in result.tables_sha256:
                altered_tables.append(f"{path.name} has no checksum")
            elif not path.name.startswith(ANSWERS) and is_file(stored_path):
                was, now = (
                    table_in(table_path, remedy="measure again")
                    for table_path in (stored_path, path)
                )
                alike = was.schema.equals(now.schema) and len(was) == len(now)
                columns = zip(was.columns, now.columns, strict=True) if alike else ()
                if not alike or any(
                    differing_rows(old.combine_chunks(), new.combine_chunks(), TOLERANCE).any()
                    for old, new in columns
                ):
                    altered_tables.append(path.name)
    return altered_tables


def _list_whys(result: Result) -> list[str]:
    """The reasons of all verdicts of a result, without digits."""
    return [_mask_numbers(str(row.get("why"))) for row in result.figures]


def _verify_texts(result: Result, again: Result) -> Iterator[tuple[str, str]]:
    """Compare settings, warnings, reasons and summary of a result with those computed again; yields
    an outcome and what differs, nothing where all are the same.
    """
    parts = ("benchmark", "headings", "settings", "left_out", "asked")
    other = [part for part in parts if getattr(result, part) != getattr(again, part)]
    # What a server said, and what a model's files hold, is not stored with the answers.
    new = {line for line in result.warnings if not line.startswith(("the server ", OF_FILES))}
    lacking = set(again.warnings) - set(result.warnings)
    if lacking or new - set(again.warnings):
        other.append("warnings")
    if _list_whys(result) != _list_whys(again):
        other.append("why")
    stored_lines = list(map(_mask_numbers, result.summary))
    computed_lines = list(map(_mask_numbers, again.summary))
    n = min(len(stored_lines), len(computed_lines))
    n_most = max(len(stored_lines), len(computed_lines))
    begin_alike = stored_lines[:n] == computed_lines[:n]
    # What weights of known strength gave may be known since, or here alone; it is the last line.
    if not begin_alike or n_most > n + 1 or not n:
        other.append("summary")
    if other:
        outcome = DIFFERS if result.evenruler == __version__ else OPEN
        yield outcome, f"{', '.join(other)}: evenruler {__version__} says otherwise"
    elif result.summary != again.summary:
        yield OPEN, "answer: the same words with other digits, or another last line"


def _mask_numbers(line: str) -> str:
    """The line with "#" in place of each number, so that only its words are compared."""
    return re.sub(r"[\d.,]*\d", "#", line)


def _verify_sampled_answers(
    result: Result, requests: list[RequestBatch], answers: Tables, model: str
) -> Iterator[tuple[str, str]]:
    """Compare a model's fingerprint with the stored one, and ten answers drawn at random, which it
    is asked again.
    """
    measured_model, store = result.model, RowStore()
    settings = ("template", "thinking", "effort", "new_tokens", "dtype", "answers_as")
    if measured_model.kind == "recorded" or model.startswith("recorded:"):
        yield OPEN, "recorded answers cannot be asked again; name the model itself"
        return
    options = {key: value for key, value in measured_model.engine.items() if key in settings}
    kind = measured_model.kind if measured_model.kind in HOSTED else None
    start = measured_model.engine.get("start")
    resolved_model = resolve_model(
        model, store, name=measured_model.name, kind=kind, start=start, options=options
    )
    model_at_hand = Session(resolved_model, store).model
    engine = json.loads(model_at_hand.engine)
    keys = (engine.keys() | measured_model.engine.keys()) - OF_THE_COMPUTER - {"new_tokens", "url"}
    differing_keys = [
        key for key in sorted(keys) if engine.get(key) != measured_model.engine.get(key)
    ]
    yield from _verify_fingerprint(result, model_at_hand, model)
    # Under a key of its own, so that neither cache nor release has its answers.
    answering = AnsweringModels(
        model_at_hand.adapted([secrets.token_hex(16)], lambda: model_at_hand.backend),
        cast(Any, None),
    )
    places: list[tuple[int, int]] = []
    for number, batch in enumerate(requests):
        places += [(number, row) for row in range(len(batch.rows))]
    drawn = secrets.SystemRandom().sample(places, min(10, len(places)))
    compared = ReplayCheck(model)
    for request_number in sorted({number for number, _ in drawn}):
        request = requests[request_number]
        rows = [row for place, row in drawn if place == request_number]
        held = answers[request.table]
        inputs: dict[str, list[Any]] = {}
        for name, values in request.inputs.items():
            inputs[name] = [values[row] for row in rows]
        now = pd.DataFrame(answering.answer(request, inputs, len(rows)))
        where = {key: row for row, key in enumerate(_question_keys(held, request, held))}
        held = held.iloc[
            [where[key] for key in _question_keys(request.rows.iloc[rows], request, held)]
        ]
        names = [name for name in now if name == "reply" or pd.api.types.is_float_dtype(now[name])]
        answer_pairs = zip(held[names].to_numpy(), now[names].to_numpy(), strict=True)
        for was, is_now in answer_pairs:
            if "reply" in names:
                compared.compare_answers(Reply(str(was)), Reply(str(is_now)))
            else:
                compared.compare_answers(was, is_now)
    n_same = len(drawn) - compared.beyond - compared.otherwise
    same = f"{n_same} of {len(drawn)} answers drawn at random"
    if differing_keys:
        yield (
            DIFFERS,
            f"{model} is another model ({', '.join(differing_keys)} differ); {same} are the same",
        )
        return
    # A server draws words anew. Elsewhere, one number in ten and half of the replies may come out
    # otherwise.
    few_numbers = 10 * compared.beyond <= len(drawn)
    few = few_numbers and 2 * compared.otherwise <= compared.replies
    dtypes = {engine.get("dtype"), measured_model.engine.get("dtype")}
    halves = compared.beyond and dtypes.intersection(HALF)
    unsure = few or halves or (measured_model.kind in HOSTED and not compared.beyond)
    if not compared.beyond + compared.otherwise:
        outcome = VERIFIED
    else:
        outcome = OPEN if unsure else DIFFERS
    yield outcome, f"{same} are those of {model}"


def _verify_fingerprint(
    result: Result, model_at_hand: Model, model: str
) -> Iterator[tuple[str, str]]:
    """Compare the fingerprint of a model at hand with that in a result; nothing is said of models
    on servers.
    """
    # A model of files is loaded now, and compared with what the store has of it.
    _ = model_at_hand.backend
    now = model_at_hand.fingerprint
    if now is None:
        return
    stored = result.model.fingerprint
    if stored is None or stored.numbers is None:
        reason = f" ({stored.reason})" if stored and stored.reason else ""
        yield OPEN, f"fingerprint: the result has none{reason}"
        return
    engine, stored_engine = json.loads(model_at_hand.engine), result.model.engine
    near = fingerprints.choose_tolerance(engine.get("dtype"), stored_engine.get("dtype"))
    far = fingerprints.measure_distance(now, fingerprints.parse_text(stored.numbers))
    if far > near:
        if math.isfinite(far):
            difference = f"by {far:.2g}, at most {near:g} is rounding"
        else:
            difference = "in its tokens"
        # Another dtype or device class explains more than rounding does on one.
        keys = ("device", "dtype")
        is_alike = all(engine.get(key) == stored_engine.get(key) for key in keys)
        yield (
            DIFFERS if is_alike else OPEN,
            f"fingerprint: {model} computes otherwise on fixed texts ({difference})",
        )
    else:
        yield VERIFIED, f"fingerprint: {model} computes on fixed texts what was computed then"
