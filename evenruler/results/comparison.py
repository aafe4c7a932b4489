"""Compare models: the headlines of every two results of one benchmark, with a verdict on their
difference.

And a gate for continuous integration, which turns results into lines and an exit status.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import pandas as pd

from evenruler import repository
from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.agreement import compute_agreement
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import UNTOLD, Figure, HeadlineFigure, Verdict
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge
from evenruler.publish.manifest import KIND, identity_of, read_manifest
from evenruler.publish.manifest import NAME as MANIFEST
from evenruler.results.record import Result, figures_of
from evenruler.results.store import StoredResult, table_in_result
from evenruler.tables import group_by_key
from evenruler.tables.contents import is_file
from evenruler.tables.frames import concat_frames
from evenruler.tables.schemas import CONCEPTS

if TYPE_CHECKING:
    from evenruler.instruments.family import HeadlineModule

MORE, SAME, DIFFER = "more", "same", "not alike"
"""Words of verdicts: "one: more than two", "same within 10", "not alike"."""


@dataclass(frozen=True)
class Comparison:
    """One headline compared between two results; a row of `compare`."""

    benchmark: str
    part: str
    figure: str
    first: str
    """The label of a result, with the version or folder where two results share it."""
    second: str
    first_value: float | None = None
    """As in the result itself."""
    second_value: float | None = None
    difference: float | None = None
    """First minus second, in the unit of the figure, over shared units; for probes at equal
    sharpness."""
    specific: float | None = None
    """The difference beyond that of placebos."""
    specific_low: float | None = None
    specific_high: float | None = None
    smallest: float | None = None
    """The smallest relevant difference."""
    detectable: float | None = None
    """Minimum detectable difference, at 80 % power."""
    n: int = 0
    """Number of shared units."""
    p: float | None = None
    """P of the null of no difference, Holm-adjusted over the headlines of the pair."""
    verdict: str = ""
    reason: str | None = None
    """The reason for the verdict."""
    note: str | None = None
    """Which units were left out."""


TYPES: Final[dict[Any, str]] = {
    str: "string",
    str | None: "string",
    float | None: "float64",
    int: "int64",
}
COLUMNS: Final = {column.name: TYPES[column.type] for column in fields(Comparison)}
"""Columns of `compare` with their types; their meaning: `Comparison`."""


def compare(results: Sequence[StoredResult]) -> pd.DataFrame:
    """Compare the headlines of every two results of the same benchmark, over the units that both
    were asked.

    The paired difference is judged by the rules of the headline itself: the same facets, null,
    placebos and smallest effect (`contrast` of the family). If one result is invalid, so is the
    comparison. Where a model has two labels, by how it was asked ("bert (mlm)"), labels are
    compared with the same label of other results.

    Args:
        results: At least two of one benchmark.

    Returns:
        Columns `COLUMNS`, by benchmark, pair (in the order of the results), part and figure.
        Headlines that only one
            result has are included, with the reason.

    Raises:
        UserError: No two results share a benchmark or units; a result lacks its benchmark's
            identity, or has another one than the same version here; or two results of one version
            have different content.

    Source: docs/controls.md.
    """
    comparisons: list[Comparison] = []
    for group in group_comparable_results(results):
        compared_results = map(_ComparedResult, group, label_suffixes(group))
        for first, second in combinations(compared_results, 2):
            for manner in sorted(first.labels().keys() | second.labels().keys()):
                comparisons += _compare_headlines(first, second, manner)
    return pd.DataFrame(
        [asdict(comparison) for comparison in comparisons], columns=list(COLUMNS)
    ).astype(COLUMNS)


def group_comparable_results(results: Sequence[StoredResult]) -> list[list[StoredResult]]:
    """Results grouped by benchmark, for benchmarks with at least two; UserError as in `compare`."""
    groups = group_by_key(
        (stored_result.result.benchmark.name, stored_result) for stored_result in results
    )
    comparable_groups = [group for group in groups.values() if len(group) > 1]
    if not comparable_groups and result_agreement(results).empty:
        what = (
            "nothing to compare: no two results of one benchmark, only of "
            f"{', '.join(groups) or 'none'}, and none "
        )
        what += "measures the same units as another"
        raise UserError(
            what, remedy="name two results of the same benchmark, or a folder that holds them"
        )
    for group in comparable_groups:
        for stored_result in group:
            _require_identity(stored_result)
        for first, second in combinations(group, 2):
            old, new = first.result.benchmark, second.result.benchmark
            same = (old.content_sha256, old.plan_sha256) == (new.content_sha256, new.plan_sha256)
            if old.version == new.version and not same:
                raise UserError(
                    f"{old.name} {old.version} has other content than in {first.folder}",
                    where=str(second.folder),
                    remedy="measure both models on one copy of the benchmark",
                )
    return comparable_groups


def result_agreement(results: Sequence[StoredResult]) -> pd.DataFrame:
    """Agreement of benchmarks that measure the same units of one model, as `AGREEMENT`; empty where
    none do.
    """
    tables = [pd.DataFrame(columns=CONCEPTS.names)]
    for stored_result in results:
        path = stored_result.folder / "concepts.parquet"
        if path.exists():
            tables.append(
                table_in_result(path, CONCEPTS).assign(
                    benchmark=stored_result.result.folder.rpartition("/")[2]
                )
            )
    return compute_agreement(concat_frames(tables), 0.95)


def _require_identity(stored_result: StoredResult) -> None:
    """UserError where a result lacks its benchmark's identity, or has another one than the same
    version here.
    """
    benchmark, where = stored_result.result.benchmark, str(stored_result.folder)
    called = f"{benchmark.name} {benchmark.version}"
    if not benchmark.content_sha256.startswith(KIND):
        what = (
            f"it says what {called} held in a way that this evenruler cannot compare "
            "(content_sha256)"
        )
        raise UserError(what, where=where, remedy="measure again")
    folder = repository.shipped_benchmarks() / benchmark.name
    if not is_file(folder / MANIFEST):
        return
    here = read_manifest(folder)
    if (
        here.version == benchmark.version
        and identity_of(folder, here.rows) != benchmark.content_sha256
    ):
        what = f"it is of a {called} with other content than the one in {folder}"
        raise UserError(
            what, where=where, remedy="measure again, or give that benchmark a version of its own"
        )


def label_suffixes(group: Sequence[StoredResult]) -> list[str]:
    """Suffixes that make the labels of results unique."""
    models = [stored_result.result.model.name for stored_result in group]
    if len(set(models)) == len(models):
        return [""] * len(models)
    versions = [f" @{stored_result.result.folder.rpartition('@')[2]}" for stored_result in group]
    if len(set(zip(models, versions, strict=True))) == len(models):
        return versions
    return [f" in {stored_result.folder}" for stored_result in group]


class _ComparedResult(NamedTuple):
    """A result of a pair, and the suffix of its labels."""

    stored: StoredResult
    suffix: str

    def labels(self) -> dict[str, str]:
        """Labels by how the model was asked: " (mlm)" for "bert (mlm)", mostly ""."""
        labels = {
            label for _, label, _, record in figures_of(self.stored.result) if "verdict" in record
        }
        return {
            label.removeprefix(self.stored.result.model.name): label for label in sorted(labels)
        }

    def called(self, manner: str) -> str:
        label = self.labels().get(manner, self.stored.result.model.name + manner)
        return label + self.suffix

    def headlines(self, manner: str) -> dict[tuple[str, str], dict[str, Any]]:
        """Records of headlines by part and figure."""
        label = self.labels().get(manner)
        records = (
            (part, figure, record)
            for part, record_label, figure, record in figures_of(self.stored.result)
            if record_label == label
        )
        return {
            (part, figure): record
            for part, figure, record in records
            if record.get("smallest") is not None
        }

    def made_of(self, part: str, manner: str, figure: str) -> pd.DataFrame:
        """The rows behind a headline, in the schema `HEADLINES`."""
        rows = self.stored.result.headlines
        there = (
            (rows["part"] == part)
            & (rows["model"] == self.labels().get(manner))
            & (rows["figure"] == figure)
        )
        return rows[there]


def _compare_headlines(
    first: _ComparedResult, second: _ComparedResult, manner: str
) -> Iterator[Comparison]:
    """Compare the headlines of two labels; p-values are adjusted over them together."""
    headlines_by_side = [side.headlines(manner) for side in (first, second)]
    called = (first.called(manner), second.called(manner))
    compared: list[tuple[Comparison, HeadlineTest]] = []
    for key in sorted(headlines_by_side[0].keys() | headlines_by_side[1].keys()):
        pair = [side_headlines.get(key, {}) for side_headlines in headlines_by_side]
        comparison = Comparison(first.stored.result.benchmark.name, *key, *called)
        comparison = replace(
            comparison, first_value=pair[0].get("value"), second_value=pair[1].get("value")
        )
        verdict_and_reason = _why_not(pair, called)
        if verdict_and_reason:
            verdict, reason = verdict_and_reason
            yield replace(comparison, verdict=verdict, reason=reason)
            continue
        part, figure_name = key
        made_of = [side.made_of(part, manner, figure_name) for side in (first, second)]
        units = [rows[["unit", "rows"]].drop_duplicates() for rows in made_of]
        shared = units[0].merge(units[1])["unit"]
        has_placebos = all((rows["pole"] == 0).any() for rows in made_of)
        if shared.empty or not has_placebos:
            why = "no placebo of it was asked of both; a trial may ask none"
            if shared.empty:
                why = (
                    "no unit of the same rows was asked of both; take one version, --size and "
                    "--limit"
                )
            yield replace(comparison, verdict=str(Verdict.INCONCLUSIVE), reason=why)
            continue
        left = [len(side_units) - len(shared) for side_units in units]
        if any(left):
            left_with_label = zip(left, called, strict=True)
            counts = [f"{n} of {label}" for n, label in left_with_label]
            note = f"over shared units: {' and '.join(counts)} are left out"
            comparison = replace(comparison, note=note)
        diagnose = family_module(first.stored.result.benchmark.family, "diagnose")
        contrast = cast("HeadlineModule", diagnose).contrast
        first_rows, second_rows = (rows[rows["unit"].isin(shared)] for rows in made_of)
        compared.append((comparison, contrast(first_rows, second_rows, pair[0]["smallest"])))
    judged_figures = judge([(figure, ValidityCheck()) for _, figure in compared])
    for (comparison, figure), judged_figure in zip(compared, judged_figures, strict=True):
        yield _add_verdict(comparison, judged_figure, signed=figure.note is None)


def _why_not(pair: Sequence[dict[str, Any]], called: tuple[str, str]) -> tuple[str, str] | None:
    """Verdict and reason where one of two headlines cannot be compared, else None."""
    for record, name, other in zip(pair, called, reversed(called), strict=True):
        if not record:
            return str(Verdict.INCONCLUSIVE), f"only {other} has it"
        if record["verdict"] == Verdict.INVALID:
            return f"{Verdict.INVALID}: {name}", record["why"]
        if UNTOLD in (record["why"] or ""):
            return str(Verdict.INCONCLUSIVE), f"{name}: {record['why']}"
    return None


def _add_verdict(comparison: Comparison, judged_figure: Figure, signed: bool) -> Comparison:
    """Add the verdict of `judge`; for unsigned figures it names no larger side."""
    assert isinstance(judged_figure, HeadlineFigure)
    verdict = str(judged_figure.verdict)
    if verdict == Verdict.NO_EFFECT:
        verdict = f"{SAME} within {judged_figure.smallest:g}"
    elif verdict == Verdict.EFFECT:
        larger, smaller = (
            (comparison.first, comparison.second)
            if (judged_figure.value or 0) > 0
            else (comparison.second, comparison.first)
        )
        verdict = DIFFER if not signed else f"{larger}: {MORE} than {smaller}"
    elif verdict == Verdict.NOT_SPECIFIC:
        verdict = str(Verdict.INCONCLUSIVE)
    shared = ("specific", "specific_low", "specific_high", "smallest", "detectable")
    same = {name: getattr(judged_figure, name) for name in shared}
    return replace(
        comparison,
        **same,
        difference=judged_figure.value,
        n=judged_figure.n,
        p=judged_figure.p_effect,
        verdict=verdict,
        reason=judged_figure.why,
    )


PASSED, FAILED, NOT_MEASURED, OPEN = 0, 1, 2, 3
"""Exit statuses: all passed; something failed; nothing was measured; something is inconclusive or
invalid."""

BARS: Final = ("effect", "not specific", "worse")
"""Criteria to fail on: a verdict on a headline, or more of the effect than in the baseline."""


@dataclass
class Gate:
    """The outcome of the gate."""

    failed: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """Headlines and bounds without a clear outcome."""
    passed: int = 0
    """Number of headlines and bounds that passed."""

    @property
    def status(self) -> int:
        """The exit status of the process."""
        if self.failed:
            return FAILED
        if self.open:
            return OPEN
        return PASSED if self.passed else NOT_MEASURED

    @property
    def lines(self) -> Iterator[str]:
        """The lines to print."""
        yield from (f"failed: {line}" for line in self.failed)
        yield from (f"not told: {line}" for line in self.open)
        some = "" if self.status != NOT_MEASURED else ": no result has a headline with a verdict"
        n_failed, n_open = len(self.failed), len(self.open)
        yield f"{n_failed} failed, {n_open} not told, {self.passed} passed{some}"


def gate(
    results: Sequence[StoredResult],
    fail_on: Collection[str] = ("effect",),
    most: Mapping[str, float] | None = None,
    baseline: Sequence[StoredResult] = (),
) -> Gate:
    """Check whether results pass.

    `fail_on`: criteria of `BARS`. `baseline`: earlier results of the same benchmarks, for `worse`.
    `most`: by `BENCHMARK:FIGURE`, the largest allowed size; the check fails where the whole
    interval lies beyond it, and is open where part of the interval does, or where there is none.
    UserError where nothing of that name was measured, a criterion is unknown, or only one of
    `worse` and `baseline` is given.
    """
    strange = sorted(set(fail_on) - set(BARS))
    if strange:
        raise UserError(
            f"no {strange[0]!r} to fail on",
            where="--fail-on",
            remedy=suggest_nearest(strange[0], BARS),
        )
    if not results:
        raise UserError(
            "no result", remedy="name what `evenruler measure` wrote, or a folder above it"
        )
    if ("worse" in fail_on) != bool(baseline):
        raise UserError(
            "`worse` and --baseline go together", where="--fail-on", remedy="say both, or neither"
        )
    outcome = Gate()
    for stored_result in results:
        _of_verdicts(stored_result.result, set(fail_on), outcome)
    for name, value in (most or {}).items():
        _of_bound(results, name, value, outcome)
    if baseline:
        _of_baseline(results, baseline, outcome)
    return outcome


def _of_verdicts(result: Result, fail_on: set[str], outcome: Gate) -> None:
    headlines = {heading.figure for heading in result.headings if heading.role == "headline"}
    for part, label, figure, record in figures_of(result):
        if figure in headlines and "verdict" in record:
            benchmark, verdict = result.folder.rpartition("/")[2], record["verdict"]
            place = f"{benchmark}, {part}, {label}"
            where = f"{place}: {figure} is {verdict}"
            if verdict in fail_on:
                outcome.failed.append(where)
            elif verdict in (Verdict.INCONCLUSIVE, Verdict.INVALID):
                why = record.get("why", "")
                outcome.open.append(f"{where}. {why}".strip())
            else:
                outcome.passed += 1


def _of_bound(results: Sequence[StoredResult], name: str, most: float, outcome: Gate) -> None:
    benchmark, _, wanted = name.partition(":")
    figure_rows: list[tuple[Result, str, str, str, dict[str, Any]]] = []
    for stored_result in results:
        result = stored_result.result
        figure_rows += [(result, *figure) for figure in figures_of(result)]
    wanted_rows = [
        figure_row
        for figure_row in figure_rows
        if figure_row[0].benchmark.name == benchmark and figure_row[3] == wanted
    ]
    if not wanted_rows:
        names = sorted(
            {f"{result.benchmark.name}:{figure}" for result, _, _, figure, _ in figure_rows}
        )
        raise UserError(
            f"nothing measured is called {name!r}",
            where="--max",
            remedy=suggest_nearest(name, names),
        )
    for _, part, label, _, record in wanted_rows:
        low, high = record.get("low"), record.get("high")
        value_text, low_text, high_text = (
            "none" if number is None else f"{number:z.3g}"
            for number in (record["value"], low, high)
        )
        reading = f"{value_text} [{low_text}, {high_text}]"
        where = f"{name}, {part}, {label}: {reading}"
        if low is None or high is None:
            outcome.open.append(f"{where}: {record.get('reason', 'it has no interval')}")
        elif low > most or high < -most:
            outcome.failed.append(f"{where}, with its interval beyond {most:g}")
        elif high > most or low < -most:
            outcome.open.append(f"{where}, maybe beyond {most:g}")
        else:
            outcome.passed += 1


def _of_baseline(
    results: Sequence[StoredResult], baseline: Sequence[StoredResult], outcome: Gate
) -> None:
    """Compare each result with the baseline's results of the same benchmark."""
    for stored_result in results:
        before = [
            baseline_result
            for baseline_result in baseline
            if baseline_result.result.benchmark.name == stored_result.result.benchmark.name
        ]
        if not before:
            raise UserError(
                f"no {stored_result.result.benchmark.name}",
                where="--baseline",
                remedy="measure it there, too",
            )
        for old in before:
            for row in compare([stored_result, old]).to_dict("records"):
                verdict = str(row["verdict"])
                first, second = row["first"], row["second"]
                headline = f"{row['benchmark']}, {row['part']}, {row['figure']}"
                where = f"{headline}, {first} against {second}: {verdict}"
                if verdict.startswith(f"{first}: {MORE} than "):
                    outcome.failed.append(where)
                elif verdict.startswith((SAME, f"{second}: {MORE} than ")):
                    outcome.passed += 1
                else:  # also headlines of one result alone, and "not alike", which has no direction
                    outcome.open.append(
                        ". ".join(text for text in (where, row["reason"]) if isinstance(text, str))
                    )
