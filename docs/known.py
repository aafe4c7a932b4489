"""Models that people know: what answers that others published say of them, a row a claim.

Reads `known.yaml` beside it, measures the answers of the folder that `EVENRULER_MIRROR` names, and
writes `known.csv`, from which the first table of `index.md` and of the report is drawn. Answers
themselves are never written: only figures made of them.
"""

import re
import tempfile
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from published_answers import CONVERTERS
from pydantic import Field

from evenruler import measure
from evenruler.measurement.headings import find_heading
from evenruler.report.formats import with_interval
from evenruler.report.sentences import claim_text
from evenruler.results.comparison import compare
from evenruler.results.record import Result
from evenruler.results.store import find_results, read_all, read_result
from evenruler.strict import StrictModel, Text, read_yaml, validate
from evenruler.tables import read_frame

ROOT: Final = Path(__file__).parents[1]
DECLARED: Final = ROOT / "docs/known.yaml"
CSV: Final = ROOT / "data/sources/external/shared/known.csv"

MONTHS: Final = 18
"""Answers that are older are marked as old."""

YEAR: Final = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{2}))?")

QUOTED_REPLIES: Final = re.compile(r', such as "[^"]*"(, "[^"]*")*')
"""Examples of replies that are not read, too long for a row of a table."""

TOLERANCE: Final = 1e-6

AMOUNTS: Final = ("n", "value", "low", "high", "p")

COLUMNS: Final = (
    "claim",
    "benchmark",
    "model",
    "compared_with",
    "answered",
    "is_old",
    "asked_by",
    "prompt",
    "items",
    *AMOUNTS,
    "unit",
    "verdict",
    "sentence",
    "beside",
    "source",
    "licence",
    "passed_on",
)


class AnswerSource(StrictModel):
    """Where answers were published, and how they came about."""

    repository: Text
    commit: Text
    licence: Text
    passed_on: bool
    """Whether its licence lets anybody pass the answers on; else only figures are shown."""
    asked_by: Text
    answered: Text
    """When the models answered, as far as it is stated; else when that was published."""
    prompt: Text
    """What the models were asked, in words, or where that is written."""


class Claim(StrictModel):
    """What people say of a model, and the answers that tell."""

    says: Text
    source: Text
    benchmark: Text
    model: Text
    answers: Text
    """A file or folder in the mirror; with `#COLUMN` for one that holds several models."""
    converter: Text | None = None
    """Of `published_answers.CONVERTERS`; by default answers are read as they are."""
    headline: dict[str, Text] = Field(default_factory=lambda: {"figure": "lean"})
    """Which figure decides, by its column `figure` and its dimensions."""
    beside: list[dict[str, Text]] = Field(default_factory=list)
    """Figures that stand beside it, in the same way."""
    compared_with: Text | None = None
    """Another model of the same source and benchmark; the row is about the difference."""
    compared_answers: Text | None = None


class KnownModels(StrictModel):
    """`known.yaml`."""

    as_of: date
    sources: dict[str, AnswerSource]
    claims: list[Claim]


def load_known() -> KnownModels:
    """Read and check `known.yaml`."""
    return validate(KnownModels, read_yaml(DECLARED), DECLARED)


def measure_known(mirror: Path) -> pd.DataFrame:
    """A row for each claim, by `COLUMNS`, from the answers of a mirror."""
    known = load_known()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for claim in known.claims:
            rows.append(_measure_claim(claim, known, mirror, Path(folder)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _measure_claim(claim: Claim, known: KnownModels, mirror: Path, out: Path) -> dict[str, Any]:
    """The row of a claim; answers are measured once for all claims about them."""
    source = known.sources[claim.source]
    result = _measure_answers(claim, claim.model, mirror / claim.answers, out)
    figures = list(result.figures)
    shown = _find_figure(figures, claim.headline)
    sentence = _claim_sentence(result, shown)
    if claim.compared_with and claim.compared_answers:
        answers = mirror / claim.compared_answers
        _measure_answers(claim, claim.compared_with, answers, out)
        shown = {**shown, **_compare_models(claim, out)}
        difference = with_interval(shown["value"], shown["low"], shown["high"], 2)
        sentence = f"{claim.model} less {claim.compared_with}: {difference}."
    beside = [_describe_figure(_find_figure(figures, named)) for named in claim.beside]
    amounts = {name: shown.get(name) for name in (*AMOUNTS, "verdict", "unit")}
    return {
        "claim": claim.says,
        "benchmark": claim.benchmark,
        "model": claim.model,
        "compared_with": claim.compared_with,
        "answered": source.answered,
        "is_old": is_old(source.answered, known.as_of),
        "asked_by": source.asked_by,
        "prompt": source.prompt,
        "items": _count_items(out / f"{claim.benchmark}-{claim.model}"),
        **amounts,
        "sentence": sentence,
        "beside": "; ".join(beside),
        "source": f"{source.repository} {source.commit[:8]}",
        "licence": source.licence,
        "passed_on": source.passed_on,
    }


def _measure_answers(claim: Claim, model: str, answers: Path, out: Path) -> Result:
    """What the answers of a model say, measured once: the result stays in a folder."""
    folder = out / f"{claim.benchmark}-{model}"
    if folder.exists():
        (path,) = find_results(folder)
        return read_result(path)
    benchmark = str(ROOT / f"benchmarks/external-{claim.benchmark}")
    if claim.converter:
        converted = out / f"{claim.benchmark}-{model}-answers"
        converted.mkdir()
        benchmark, answers = CONVERTERS[claim.converter](answers, model, converted)
    if benchmark.startswith("external-"):
        benchmark = str(ROOT / "benchmarks" / benchmark)
    options = {"partial": True} if claim.converter else {}
    recorded = f"recorded:{answers}"
    return measure(recorded, benchmark, name=model, size="full", out=folder, options=options)


def _compare_models(claim: Claim, out: Path) -> dict[str, Any]:
    """The difference between the two models of a claim, as a row of `compare`."""
    pair = (claim.model, claim.compared_with)
    folders = [out / f"{claim.benchmark}-{model}" for model in pair]
    rows = compare(read_all(*folders)).to_dict("records")
    row = _find_figure(rows, claim.headline)
    names = ("low", "high", "p", "n", "verdict")
    return {**{name: row[name] for name in names}, "value": row["difference"]}


def _find_figure(rows: Iterable[Mapping[str, Any]], named: Mapping[str, str]) -> Mapping[str, Any]:
    """The first figure with these columns; one of the whole stands before those of parts."""
    for row in rows:
        if all(row.get(column) == text for column, text in named.items()):
            return row
    raise KeyError(f"no figure {dict(named)}")


def _claim_sentence(result: Result, headline: Mapping[str, Any]) -> str:
    """What a headline says, without its verdict, which stands in a column, without its note and
    without the replies that it quotes.
    """
    text = claim_text(headline, find_heading(headline, result.headings))
    text = QUOTED_REPLIES.sub("", text.replace(str(headline.get("note")), ""))
    return " ".join(text.split())


def _count_items(folder: Path) -> int:
    """Number of answered items of a result."""
    return len(read_frame(next(folder.rglob("items.parquet"))))


def _describe_figure(row: Mapping[str, Any]) -> str:
    """A figure with its interval in words."""
    name = str(row["figure"]).replace("_", " ")
    return f"{name} {with_interval(row['value'], row.get('low'), row.get('high'), 2)}"


def is_old(answered: str, as_of: date) -> bool:
    """Whether answers are older than `MONTHS`, by the first year, or year and month, that is stated
    of them; of a year alone its end counts.
    """
    stated = YEAR.search(answered)
    if stated is None:
        return True  # of unknown age
    year, month = int(stated["year"]), int(stated["month"] or 12)
    return 12 * (as_of.year - year) + as_of.month - month > MONTHS


def write_known(rows: pd.DataFrame) -> None:
    """Write `known.csv`."""
    rows.to_csv(CSV, index=False, float_format="%.6g", lineterminator="\n")


def check_known(rows: pd.DataFrame) -> list[str]:
    """A line for each figure of `known.csv` that answers do not give again."""
    written = pd.read_csv(CSV, keep_default_na=False, na_values=[""])
    differing: list[str] = []
    if list(written["claim"]) != list(rows["claim"]):
        return [f"{CSV.name} has other claims than {DECLARED.name}"]
    for column in AMOUNTS:
        before, now = (frame[column].to_numpy(dtype=float) for frame in (written, rows))
        is_same = np.isclose(before, now, rtol=0, atol=TOLERANCE, equal_nan=True)
        for place in np.flatnonzero(~is_same):
            claim = rows["claim"].iloc[place]
            differing.append(f"{claim}: {column} {before[place]:g}, now {now[place]:g}")
    for column in ("verdict", "sentence", "beside"):
        before_words, now_words = (frame[column].fillna("") for frame in (written, rows))
        changed = before_words.to_numpy() != now_words.to_numpy()
        differing += [f"{claim}: {column} differs" for claim in rows["claim"][changed]]
    return differing
