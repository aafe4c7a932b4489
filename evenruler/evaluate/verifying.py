"""Verify a result of `evenruler measure`: its files, its benchmark, its figures, and some answers of its model."""

import heapq
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pandas as pd
from pydantic import TypeAdapter

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import Benchmark, benchmark_at
from evenruler.evaluate.cost import cost_of
from evenruler.evaluate.session import Planned, Session, measured
from evenruler.evaluate.subject import chosen
from evenruler.files import file_sha256
from evenruler.instruments.asking import Answering
from evenruler.instruments.instrument import SUBJECT, Request, Subject, Tables, at_size
from evenruler.instruments.registry import room
from evenruler.models.declared import HOSTED
from evenruler.models.records import Reply
from evenruler.models.released import Compared
from evenruler.models.store import RowStore
from evenruler.publish.difference import apart
from evenruler.publish.manifest import PLAN
from evenruler.results.record import ANSWERS, Result, figures_of
from evenruler.results.store import OF_THE_COMPUTER, read_result, table_in_result
from evenruler.tables.contents import is_file
from evenruler.tables.ids import content_sha256

VERIFIED, OPEN, DIFFERS = "verified", "not verified", "differs"


def verify(path: Path, place: str | None = None, model: str | None = None) -> Iterator[tuple[str, str]]:
    """Verify a `result.json` and the tables beside it; yields an outcome, as above, and what it is about.

    `place`: the benchmark, by default as the result names it; `model`: the model to ask again, as for `measure`, by
    default none. UserError if the result, or a benchmark or model that was given, cannot be read.
    """
    result = read_result(path)
    said, of, rest = result.tables_sha256, result.benchmark, "benchmark, figures, answers"
    if not said or result.model.subject is None:
        yield OPEN, f"evenruler {result.evenruler} stored neither checksums nor answers: measure again"
        return
    files = {name: path.parent / Path(name).name for name in said}  # nowhere else, whatever is said
    wrong = [name for name, file in files.items() if not is_file(file) or file_sha256(file) != said[name]]
    yield from ((DIFFERS, f"{name} is missing, or its sha256 is not that in result.json") for name in wrong)
    if not wrong:
        yield VERIFIED, f"sha256 of {len(said)} tables"
    origin, _, named = of.origin.partition(":")
    at = place if place is not None else named or (of.name if origin == "shipped" else None)
    if at is None:
        yield OPEN, f"{rest}: the benchmark was a {origin}; name it as --with"
        return
    try:
        with benchmark_at(at) as benchmark:
            here = f"{benchmark.name} {benchmark.manifest.version}"
            if here != f"{of.name} {of.version}":
                yield OPEN, f"{rest}: at hand is {here}, not {of.name} {of.version}; name that as --with"
            elif of.content_sha256 != benchmark.identity:
                what = "rows" if of.plan_sha256 == benchmark.manifest.files[PLAN] else "plan"
                yield DIFFERS, f"the {what} of {here} at hand; figures and answers are not compared"
            else:
                yield VERIFIED, f"rows and plan of {here}"
                yield from _content(result, benchmark, path.parent, model)
    except UserError as error:
        if place is not None or model is not None:
            raise
        yield OPEN, f"{rest}: {error}"


def _content(result: Result, benchmark: Benchmark, folder: Path, model: str | None) -> Iterator[tuple[str, str]]:
    """Compare the figures with those of the stored answers, and the answers with a model's."""
    door, settings = room(benchmark.family, "ask"), result.settings
    try:
        subject = TypeAdapter(Subject).validate_python(result.model.subject)
        tables, plan = benchmark.tables, at_size(benchmark.plan, settings.size)
        tables, plan = door.limited(tables, plan, settings.limit) if settings.limit else (tables, plan)
        requests = [own for own in door.requests(tables, plan, {}, subject) if own.by == SUBJECT]
        headings = room(benchmark.family, "declare").headings(plan)
        asked = {own.table: folder / f"{ANSWERS}{own.table}.parquet" for own in requests}
        answers = {table: table_in_result(path, door.ANSWERS[table]) for table, path in asked.items()}
        planned = Planned(benchmark, subject, tables, plan, cost_of(requests), headings, result)
        if (n := sum(map(len, answers.values()))) != planned.cost.requests:
            raise ValueError(f"{n:,} rows for {planned.cost.requests:,} questions")
        again = measured(planned, answers, None).result
    except UserError:
        raise
    except Exception as error:  # answers or a subject that were changed may hold anything
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        yield DIFFERS, f"no figures can be computed from its answers ({told:.100})"
        return
    were, are = ({own[:3]: own[3] for own in figures_of(one)} for one in (result, again))
    wrong = [", ".join(key) for key in sorted(were | are) if apart(were.get(key), are.get(key))]
    wrong += ["answer"] if result.answer != again.answer else []
    if wrong:
        shown = "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        yield DIFFERS, f"figures are not those of its answers (by evenruler {result.evenruler}): {shown}"
    else:
        yield VERIFIED, f"{len(are)} figures, computed again from {n:,} answers"
    without = (OPEN, "answers: name the model as --ask")
    yield without if model is None else _asked(result, requests, answers, model)


def _asked(result: Result, requests: list[Request], answers: Tables, model: str) -> tuple[str, str]:
    """Ask a model again for ten answers drawn by hash, and compare them with those stored."""
    told, store = result.model, RowStore()
    settings = ("template", "thinking", "effort", "new_tokens", "dtype")
    options = {key: value for key, value in told.engine.items() if key in settings}
    kind = told.kind if told.kind in HOSTED else None
    own = Session(chosen(model, store, name=told.name, kind=kind, options=options), store, model).model
    engine = {key: value for key, value in json.loads(own.engine).items() if key not in OF_THE_COMPUTER}
    others = [key for key in sorted(engine) if engine[key] != told.engine.get(key)]
    # Under a key of its own, so that neither cache nor release has its answers.
    answering = Answering(own.adapted([secrets.token_hex(16)], lambda: own.backend), cast(Any, None))
    places = [(at, row) for at, one in enumerate(requests) for row in range(len(one.rows))]
    compared, salt = Compared(model), sorted(result.tables_sha256.values())
    drawn = heapq.nsmallest(10, places, key=lambda place: content_sha256(salt, *place))
    for at in sorted({at for at, _ in drawn}):
        one, rows = requests[at], [row for place, row in drawn if place == at]
        inputs = {name: [values[row] for row in rows] for name, values in one.inputs.items()}
        now = pd.DataFrame(answering.answer(one, inputs, len(rows)))
        keys = [name for name in one.rows if name in answers[one.table]]
        held = one.rows.iloc[rows][keys].merge(answers[one.table], on=keys, how="left")
        names = [name for name in now if name == "reply" or pd.api.types.is_float_dtype(now[name])]
        for was, is_now in zip(held[names].to_numpy(), now[names].to_numpy(), strict=True):
            compared.take(*map(Reply, map(str, (was, is_now))) if "reply" in names else (was, is_now))
    same = f"{len(drawn) - compared.beyond - compared.otherwise} of {len(drawn)} answers drawn by hash"
    if others:
        return DIFFERS, f"{model} is another model ({', '.join(others)} differ); {same} are the same"
    if told.kind in HOSTED and compared.otherwise and not compared.beyond:  # a server draws words anew
        return OPEN, f"{same} are those of {model}"
    return DIFFERS if compared.is_beyond else VERIFIED, f"{same} are those of {model}"
