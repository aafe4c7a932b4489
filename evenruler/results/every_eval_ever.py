"""Results as records of Every Eval Ever, the EvalEval coalition's shared schema and store of evaluations.

Follows version `SCHEMA` of its `eval.schema.json` (package every-eval-ever 0.3.0). Rows by prompt
(`instance_level_eval.schema.json`) are not exported: that schema describes one prompt with a reference and an answer,
and our scores are differences of several.
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
from evenruler.files import replace
from evenruler.models.declared import SERVED
from evenruler.publish.manifest import as_json
from evenruler.results.record import RESULT, Result, figures_of
from evenruler.results.store import Stored

SCHEMA: Final = "0.3.0"

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""The relationship of the evaluator to the maker of the model."""


@dataclass(frozen=True)
class Exported:
    """A record that was written."""

    path: Path
    figures: int
    left_out: list[str]
    """Figures without a value, each with the reason."""


def export(
    results: Sequence[Stored],
    to: Path,
    *,
    ids: Mapping[str, str] | None = None,
    date: datetime.date | None = None,
    relationship: Relationship = "third_party",
) -> list[Exported]:
    """Write each result as one record: `to/data/{benchmark}/{developer}/{model}/{uuid}.json`.

    The uuid is a hash of the result's content (in the form of version 4, which the store requires), so that the same
    result gives the same file. `ids`: `ORG/MODEL` by model name, not needed for models of the Hub. `date`: date of the
    record, midnight UTC; by default when `result.json` was written. UserError where a model has no `ORG/MODEL`, or a
    result has no confirmatory figure or headline amount to export.
    """
    given = ids or {}
    known = {one.result.model.name for one in results}
    for name in given:
        if name not in known:
            raise UserError(f"no result of {name!r}", where="--id", remedy=f"known: {', '.join(sorted(known))}")
    records = [_record(one, given, date, relationship) for one in results]  # validate all before writing any
    found = []
    for one, (content, left_out) in zip(results, records, strict=True):
        said = json.dumps(one.result.model_dump(mode="json"), sort_keys=True).encode()
        number = uuid.UUID(bytes=hashlib.sha256(said).digest()[:16], version=4)
        path = to.joinpath("data", one.result.benchmark.name, *content["model_info"]["id"].split("/"), f"{number}.json")
        replace(path, as_json(content))
        found.append(Exported(path, len(content["evaluation_results"]), left_out))
    return found


def _record(
    one: Stored, ids: Mapping[str, str], date: datetime.date | None, relationship: Relationship
) -> tuple[dict[str, Any], list[str]]:
    """The content of a record, and the figures left out of it."""
    result = one.result
    identity, written = _id(one, ids), str(int((one.folder / RESULT).stat().st_mtime))
    if date is not None:
        written = str(int(datetime.datetime(date.year, date.month, date.day, tzinfo=datetime.UTC).timestamp()))
    evaluation = f"{result.benchmark.name}/{identity}/{written}"
    amounts = {heading.figure for heading in result.headings if heading.role != "fitness"}
    chosen = [each for each in figures_of(result) if "verdict" in each[3] or each[2] in amounts]
    lacking = [each for each in chosen if each[3]["value"] is None]
    left_out = [f"{', '.join(each[:3])}: {each[3].get('reason', 'no value')}" for each in lacking]
    figures = [_figure(one, evaluation, *each) for each in chosen if each[3]["value"] is not None]
    if not figures:
        what = "no confirmatory figure or headline amount with a value"
        raise UserError(what, where=str(one.folder), remedy="leave it out")
    details = {"benchmark_family": result.benchmark.family, "benchmark_title": result.benchmark.title}
    more = {"not_exported": left_out, "left_out": result.left_out, "warnings": result.warnings}
    content = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "retrieved_timestamp": written,
        "source_metadata": {
            "source_name": f"Even Ruler: {result.benchmark.title}",
            "source_type": "evaluation_run",
            "source_organization_name": "Even Ruler",
            "evaluator_relationship": relationship,
            "additional_details": details | {name: " | ".join(lines) for name, lines in more.items() if lines},
        },
        "eval_library": {"name": "evenruler", "version": result.evenruler},
        "model_info": _model(result, identity),
        "evaluation_results": figures,
    }
    return content, left_out


def _id(one: Stored, ids: Mapping[str, str]) -> str:
    """The `ORG/MODEL` under which the store files a model."""
    model = one.result.model
    source = model.source if isinstance(model.source, str) else ""
    found = ids.get(model.name, source.removeprefix("hub:") if source.startswith("hub:") else "")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", found):
        what = f"{found!r} is no ORG/MODEL" if found else f"{model.name} is not from the Hub, so its maker is not known"
        raise UserError(what, where=str(one.folder), remedy=f"say --id {model.name}=ORG/MODEL")
    return found


def _model(result: Result, identity: str) -> dict[str, Any]:
    """The model entry, with the engine and, as far as known, where the model ran."""
    model = result.model
    sources = [model.source] if isinstance(model.source, str) else model.source
    scheme = sources[0].partition(":")[0]
    served = scheme in SERVED
    details = {
        "deployment_type": "unknown" if served else "self_deployed",
        "model_availability": "open_weights" if scheme in ("hub", "package") else "unknown",
        "source": " | ".join(sources),
        "kind": model.kind,
        "chat": _text(model.chat),
        "licence": model.licence,
        **({"revision": model.revision} if model.revision else {}),
        **{f"engine.{key}": _text(value) for key, value in sorted(model.engine.items())},
    }
    engine = {}
    if not served:
        name, libraries = str(model.engine.get("backend", "unknown")), model.engine.get("libraries")
        version = libraries.get(name) if isinstance(libraries, Mapping) else None
        engine = {"inference_engine": {"name": name, **({"version": str(version)} if version else {})}}
    who = {"name": model.name, "id": identity, "developer": identity.partition("/")[0]}
    return {**who, **engine, "additional_details": details}


def _figure(
    one: Stored, evaluation: str, part: str, label: str, figure: str, record: Mapping[str, Any]
) -> dict[str, Any]:
    result, benchmark = one.result, one.result.benchmark
    settings = {"label": label, **{key: _text(value) for key, value in result.settings.model_dump().items()}}
    heading = next((own for own in result.headings if own.figure == figure), None)
    details = {key: getattr(benchmark, key) for key in ("version", "content_sha256", "plan_sha256", "origin")}
    source = {"dataset_name": benchmark.name, "source_type": "other", "additional_details": details}
    if benchmark.origin.startswith("hub:"):
        repo, _, tag = benchmark.origin.removeprefix("hub:").partition("@")
        source |= {"source_type": "hf_dataset", "hf_repo": repo, "additional_details": details | {"tag": tag}}
    # The interval goes into `uncertainty`; control, verdict and the rest are stored as text.
    uncertainty: dict[str, Any] = {"num_samples": int(record["n"])}
    if record.get("low") is not None and record.get("high") is not None:
        ends = {"lower": record["low"], "upper": record["high"], "confidence_level": result.settings.level}
        uncertainty = {"confidence_interval": ends, **uncertainty}
    told = {key: _text(value) for key, value in record.items() if key not in ("value", "low", "high", "n")}
    return {
        "evaluation_result_id": f"{evaluation}#{re.sub('[^A-Za-z0-9._-]+', '-', f'{part}.{label}.{figure}')}",
        "evaluation_name": f"{benchmark.name}/{part}",
        "source_data": source,
        "metric_config": {
            "evaluation_description": heading.meaning if heading else figure,
            "metric_id": f"evenruler.{benchmark.family}.{figure}",
            "metric_name": heading.heading if heading else figure,
            # The field needs a boolean, but an amount of bias has no better direction.
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": "-Infinity",  # the schema writes missing bounds as text
            "max_score": "Infinity",
            "additional_details": {"direction": "neither: it says how much, not how good"},
        },
        "score_details": {"score": float(record["value"]), "uncertainty": uncertainty, "details": told},
        "generation_config": {"additional_details": settings},
    }


def _text(value: Any) -> str:
    """A value as a string, as the schema requires: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
