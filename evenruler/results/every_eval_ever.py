"""Results as records of Every Eval Ever, the EvalEval coalition's shared schema and store of
evaluations.

Follows version `SCHEMA` of its `eval.schema.json` (package every-eval-ever 0.3.0). Rows by prompt
(`instance_level_eval.schema.json`) are not exported: that schema describes one prompt with a
reference and an answer, and our scores are differences of several.
"""

import datetime
import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from evenruler.errors import UserError
from evenruler.files import jinja_environment, write_text_atomically
from evenruler.measurement.figures import figure_name, model_label
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.models.declarations import SERVED
from evenruler.publish.manifest import as_json
from evenruler.results.record import RESULT, Result
from evenruler.results.store import StoredResult

SCHEMA: Final = "0.3.0"

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""The relationship of the evaluator to the maker of the model."""


@dataclass(frozen=True)
class ExportedFigure:
    """A figure, as the template reads it."""

    name: str
    """With its dimensions (`figure_name`)."""
    part: str
    heading: str
    meaning: str
    row: Mapping[str, Any]


@dataclass(frozen=True)
class ExportedRecord:
    """A record that was written."""

    path: Path
    figures: int
    left_out: list[str]
    """Figures without a value, each with the reason."""


def export(
    results: Sequence[StoredResult],
    to: Path,
    *,
    ids: Mapping[str, str] | None = None,
    date: datetime.date | None = None,
    relationship: Relationship = "third_party",
) -> list[ExportedRecord]:
    """Write each result as one record: `to/data/{benchmark}/{developer}/{model}/{uuid}.json`.

    The uuid is a hash of the result's content (in the form of version 4, which the store requires),
    so that the same result gives the same file. `ids`: `ORG/MODEL` by model name, not needed for
    models of the Hub. `date`: date of the record, midnight UTC; by default when `result.json` was
    written. UserError where a model has no `ORG/MODEL`, or a result has no headline or amount to
    export.
    """
    id_by_model = ids or {}
    model_names = {stored_result.result.model.name for stored_result in results}
    for name in id_by_model:
        if name not in model_names:
            raise UserError(
                f"no result of {name!r}",
                where="--id",
                remedy=f"known: {', '.join(sorted(model_names))}",
            )
    records = [
        _build_record(stored_result, id_by_model, date, relationship) for stored_result in results
    ]  # validate all before writing any
    exported_records = []
    for stored_result, (content, left_out) in zip(results, records, strict=True):
        result_json = json.dumps(
            stored_result.result.model_dump(mode="json"), sort_keys=True
        ).encode()
        number = uuid.UUID(bytes=hashlib.sha256(result_json).digest()[:16], version=4)
        path = to.joinpath(
            "data",
            stored_result.result.benchmark.name,
            *content["model_info"]["id"].split("/"),
            f"{number}.json",
        )
        write_text_atomically(path, as_json(content))
        exported_records.append(ExportedRecord(path, len(content["evaluation_results"]), left_out))
    return exported_records


def _build_record(
    stored_result: StoredResult,
    ids: Mapping[str, str],
    date: datetime.date | None,
    relationship: Relationship,
) -> tuple[dict[str, Any], list[str]]:
    """The content of a record, and the figures left out of it."""
    result = stored_result.result
    identity = _store_id(stored_result, ids)
    seconds = (stored_result.folder / RESULT).stat().st_mtime
    if date is not None:
        midnight = datetime.datetime(date.year, date.month, date.day, tzinfo=datetime.UTC)
        seconds = midnight.timestamp()
    written = str(int(seconds))
    benchmark = result.folder.rpartition("/")[2]
    evaluation = f"{benchmark}/{identity}/{written}"
    left_out: list[str] = []
    figures: list[ExportedFigure] = []
    for row in result.figures:
        heading = find_heading(row, result.headings)
        is_amount = heading is not None and heading.figure_type != "validity"
        if "verdict" not in row and not is_amount:
            continue
        name = figure_name(row)
        if row["value"] is None:
            left_out.append(f"{name}: {row.get('reason', 'no value')}")
            continue
        meaning = heading.meaning if heading else row["figure"]
        words = heading.heading if heading else row["figure"]
        figures.append(ExportedFigure(name, part_of_instrument(row, heading), words, meaning, row))
    if not figures:
        what = "no headline or amount with a value"
        raise UserError(what, where=str(stored_result.folder), remedy="leave it out")
    record_fields = {
        "identity": identity,
        "evaluation": evaluation,
        "written": written,
        "relationship": relationship,
    }
    return _render_record(result, left_out, figures=figures, **record_fields), left_out


def _render_record(result: Result, left_out: Sequence[str], **variables: object) -> dict[str, Any]:
    """The content of a record, with the engine and, as far as known, where the model ran;
    `variables` go in as they are.
    """
    model = result.model
    sources = [model.source] if isinstance(model.source, str) else model.source
    scheme = sources[0].partition(":")[0]
    engine = str(model.engine.get("backend", "unknown"))
    libraries = model.engine.get("libraries")
    version = libraries.get(engine) if isinstance(libraries, Mapping) else None
    engine_version = str(version) if version else None
    environment = jinja_environment("evenruler.results")
    environment.filters |= {
        "label": model_label,
        "text": _value_to_text,
        "plain": lambda name: re.sub("[^A-Za-z0-9._-]+", "-", name),
    }
    more = {"not_exported": left_out, "left_out": result.left_out, "warnings": result.warnings}
    record_text = environment.get_template("every_eval_ever.json.j2").render(
        schema=SCHEMA,
        result=result,
        benchmark=result.benchmark,
        model=model,
        more=more,
        sources=sources,
        scheme=scheme,
        served=scheme in SERVED,
        engine=engine,
        engine_version=engine_version,
        **variables,
    )
    content: dict[str, Any] = json.loads(record_text)
    return content


def _store_id(stored_result: StoredResult, ids: Mapping[str, str]) -> str:
    """The `ORG/MODEL` under which the store files a model."""
    model = stored_result.result.model
    source = model.source if isinstance(model.source, str) else ""
    hub_id = source.removeprefix("hub:") if source.startswith("hub:") else ""
    store_id = ids.get(model.name, hub_id)
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", store_id):
        what = (
            f"{store_id!r} is no ORG/MODEL"
            if store_id
            else f"{model.name} is not from the Hub, so its maker is not known"
        )
        raise UserError(
            what, where=str(stored_result.folder), remedy=f"say --id {model.name}=ORG/MODEL"
        )
    return store_id


def _value_to_text(value: object) -> str:
    """A value as a string, as the schema requires: text as it is, all else as JSON."""
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    )
