"""Compare models: the headlines of every two results of one benchmark, with a verdict on their
difference.

And a gate for continuous integration, which turns results into lines and an exit status.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import pandas as pd

from evenruler import repository
from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.agreement import compute_agreement
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import (
    HeadlineFigure,
    Verdict,
    dimensions_of,
    figure_name,
    headline_key,
    headline_keys,
    is_headline,
)
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import PositiveControl, judge
from evenruler.publish.manifest import KIND, identity_of, read_manifest
from evenruler.publish.manifest import NAME as MANIFEST
from evenruler.results.record import Result
from evenruler.results.scales import DISAGREE, SCALES_FILE, compare_scales, scales_disagree
from evenruler.results.store import StoredResult, table_in_result
from evenruler.tables import group_by_key
from evenruler.tables.contents import is_file
from evenruler.tables.frames import concat_frames
from evenruler.tables.schemas import CONCEPTS, SCALES

if TYPE_CHECKING:
    from evenruler.instruments.family import HeadlineModule

MORE, DIFFER = "more", "not alike"
"""Words of comparisons: "one: more than two", and "not alike" of a difference without a
direction."""


@dataclass(frozen=True)
class Comparison:
    """One headline compared between two results; a row of `compare`."""

    benchmark: str
    figure: str
    dimensions: Mapping[str, str]
    """A column each, null where one does not apply."""
    first: str
    """The label of a result, with the version or folder where two results share it."""
    second: str
    first_value: float | None = None
    """As in the result itself."""
    second_value: float | None = None
    difference: float | None = None
    """First minus second, in the unit of the figure, over shared units."""
    low: float | None = None
    """The ends of its 95% interval."""
    high: float | None = None
    bound: float | None = None
    """X of `below X`, as of the headlines."""
    detects: float | None = None
    """The difference that is detected in 8 of 10 such studies."""
    n: int = 0
    """Number of shared units."""
    p: float | None = None
    """Of the randomisation `null`."""
    null: str | None = None
    """The randomisation in words."""
    verdict: str = str(Verdict.INCONCLUSIVE)
    """The verdict on the difference, as of a headline."""
    says: str = ""
    """The same in words: "one: more than two", "below 0.69"."""
    reason: str | None = None
    """The reason for the verdict."""
    note: str | None = None
    """Which units were left out."""
    nats: float | None = None
    """The difference in nats, with its interval; of headlines made of log-likelihood ratios alone,
    and never without `d_sd`. No verdict rests on it."""
    nats_low: float | None = None
    nats_high: float | None = None
    d_sd: float | None = None
    """The same by the SD of items within units, which takes off how sharp a model is."""
    d_sd_low: float | None = None
    d_sd_high: float | None = None


TYPES: Final[dict[Any, str]] = {
    str: "string",
    str | None: "string",
    float | None: "float64",
    int: "int64",
}
KEY_COLUMNS: Final = {"benchmark": "string", "figure": "string"}
COLUMNS: Final = {
    column.name: TYPES[column.type]
    for column in fields(Comparison)
    if column.name not in (*KEY_COLUMNS, "dimensions")
}
"""Columns of `compare` without dimensions, with their types; their meaning: `Comparison`."""


def as_comparison_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Comparisons, a row each, with the dimensions of their figures after `KEY_COLUMNS`."""
    rows: list[dict[str, Any]] = []
    dimensions: dict[str, str] = {}
    for comparison in comparisons:
        row = asdict(comparison)
        row |= row.pop("dimensions")
        dimensions |= dict.fromkeys(comparison.dimensions, "string")
        rows.append(row)
    columns = {**KEY_COLUMNS, **dimensions, **COLUMNS}
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def compared_figure(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figure that a row of `compare` is about, with its dimensions, as a row of figures."""
    dimensions = {
        name: row[name] for name in row if name not in KEY_COLUMNS and name not in COLUMNS
    }
    return {"figure": row["figure"], **dimensions}


def comparison_name(row: Mapping[str, Any]) -> str:
    """The name of the figure that a row of `compare` is about, with its dimensions."""
    return figure_name(compared_figure(row))


def compare(results: Sequence[StoredResult]) -> pd.DataFrame:
    """Compare the headlines of every two results of the same benchmark, over the units that both
    were asked.

    The paired difference is judged by the rules of a headline: the same facets, randomisation and
    bound (`contrast` of the family), each by itself. A headline that is invalid or only described
    is compared with nothing. Where a model was asked by two methods, each is compared with the same
    method; a pseudo-log-likelihood is never compared with a likelihood.

    Args:
        results: At least two of one benchmark.

    Returns:
        Columns `COLUMNS` and dimensions, by benchmark, pair (in the order of the results) and
            figure. Headlines that only one result has are included, with the reason.

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
            for method in sorted(first.methods() | second.methods()):
                comparisons += _compare_headlines(first, second, method)
    return as_comparison_frame(comparisons)


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
    """A result of a pair, and the suffix of its label."""

    stored: StoredResult
    suffix: str

    @property
    def label(self) -> str:
        """The name of its model, made unique."""
        return self.stored.result.model.name + self.suffix

    def methods(self) -> set[str]:
        """The methods of its headlines; "" for those without one."""
        rows = filter(is_headline, self.stored.result.figures)
        return {dimensions_of(row).get("method", "") for row in rows}

    def headlines(self, method: str) -> dict[str, dict[str, Any]]:
        """The rows of the headlines of a method, by `figure_name`."""
        headlines: dict[str, dict[str, Any]] = {}
        for row in self.stored.result.figures:
            if is_headline(row) and dimensions_of(row).get("method", "") == method:
                headlines[figure_name(row)] = row
        return headlines

    def read_scales(self) -> pd.DataFrame:
        """Its units in nats, by `SCALES`; none where its headlines are made of something else."""
        path = self.stored.folder / SCALES_FILE
        if not path.exists():
            return pd.DataFrame(columns=SCALES.names)
        return table_in_result(path, SCALES)

    def made_of(self, headline: Mapping[str, Any]) -> pd.DataFrame:
        """The rows behind a headline, in the schema `HEADLINES`."""
        rows = self.stored.result.headlines
        key = headline_key(headline)
        return rows[[row_key == key for row_key in headline_keys(rows)]]


def _compare_headlines(
    first: _ComparedResult, second: _ComparedResult, method: str
) -> Iterator[Comparison]:
    """Compare the headlines of a method, each by itself."""
    headlines_by_side = [side.headlines(method) for side in (first, second)]
    labels = (first.label, second.label)
    for name in sorted(headlines_by_side[0].keys() | headlines_by_side[1].keys()):
        pair = [side_headlines.get(name, {}) for side_headlines in headlines_by_side]
        row = pair[0] or pair[1]
        benchmark = first.stored.result.benchmark.name
        comparison = Comparison(benchmark, row["figure"], dimensions_of(row), *labels)
        comparison = replace(
            comparison, first_value=pair[0].get("value"), second_value=pair[1].get("value")
        )
        barred = _bar_comparison(comparison, pair)
        if barred and _differ_in_method(first, second):
            barred = replace(barred, reason=_name_methods(first, second))
        if barred:
            yield barred
            continue
        sides = zip((first, second), pair, strict=True)
        made_of = [side.made_of(headline) for side, headline in sides]
        units = [rows[["unit", "rows"]].drop_duplicates() for rows in made_of]
        shared = units[0].merge(units[1])["unit"]
        if shared.empty:
            why = "no unit of the same rows was asked of both; take one version, --size and --limit"
            yield replace(comparison, says=str(Verdict.INCONCLUSIVE), reason=why)
            continue
        left = [len(side_units) - len(shared) for side_units in units]
        if any(left):
            left_with_label = zip(left, labels, strict=True)
            counts = [f"{n} of {label}" for n, label in left_with_label]
            note = f"over shared units: {' and '.join(counts)} are left out"
            comparison = replace(comparison, note=note)
        diagnose = family_module(first.stored.result.benchmark.family, "diagnose")
        contrast = cast("HeadlineModule", diagnose).contrast
        first_rows, second_rows = (rows[rows["unit"].isin(shared)] for rows in made_of)
        test = contrast(first_rows, second_rows, pair[0]["bound"])
        if test.control is None:
            test = replace(test, control=_weaker_control(pair))
        judged = _add_verdict(comparison, judge(test), test.has_direction)
        yield _add_scales(judged, first, second, shared)


def _add_scales(
    comparison: Comparison,
    first: _ComparedResult,
    second: _ComparedResult,
    shared: "pd.Series[str]",
) -> Comparison:
    """Add the difference in nats and in d/SD, and a sentence where the scales disagree; nothing
    where a result has no scales of the figure.
    """
    tables: list[pd.DataFrame] = []
    for side in (first, second):
        rows = side.read_scales()
        is_compared = (rows["figure"] == comparison.figure) & rows["unit"].isin(shared)
        tables.append(rows[is_compared])
    differences = compare_scales(*tables)
    if differences is None:
        return comparison
    nats, d_sd = differences
    reason = comparison.reason
    if scales_disagree(comparison.low, comparison.high, d_sd):
        reason = " ".join(filter(None, (reason, DISAGREE)))
    return replace(
        comparison,
        nats=nats.value,
        nats_low=nats.low,
        nats_high=nats.high,
        d_sd=d_sd.value,
        d_sd_low=d_sd.low,
        d_sd_high=d_sd.high,
        reason=reason,
    )


def _differ_in_method(first: _ComparedResult, second: _ComparedResult) -> bool:
    """Whether two results have headlines, but none of the same method."""
    methods = first.methods(), second.methods()
    return all(methods) and methods[0].isdisjoint(methods[1])


def _name_methods(first: _ComparedResult, second: _ComparedResult) -> str:
    """Why two results of different methods are not compared."""
    sides: list[str] = []
    for side in (first, second):
        names = [method or "the usual method" for method in sorted(side.methods())]
        sides.append(f"{side.label} was asked by {' and '.join(names)}")
    return f"{', '.join(sides)}: two methods measure different quantities"


def _bar_comparison(comparison: Comparison, pair: Sequence[Mapping[str, Any]]) -> Comparison | None:
    """The comparison with its reason, where one of two headlines cannot be compared; else None."""
    labels = (comparison.first, comparison.second)
    for record, name, other in zip(pair, labels, reversed(labels), strict=True):
        if not record:
            word = str(Verdict.INCONCLUSIVE)
            return replace(comparison, verdict=word, says=word, reason=f"only {other} has it")
        if record["verdict"] in (Verdict.INVALID, Verdict.DESCRIPTIVE):
            word = str(record["verdict"])
            why = str(record.get("why") or record.get("reason") or "")
            return replace(comparison, verdict=word, says=f"{word}: {name}", reason=why)
    return None


def _weaker_control(pair: Sequence[Mapping[str, Any]]) -> PositiveControl | None:
    """The positive control that both headlines have, with the figures of the model on which its
    effect is smaller; None where one has none, or the controls differ.

    A difference is below a bound only if both models were shown to move that far.
    """
    names = {row.get("positive_control") for row in pair}
    fields = ("positive_value", "positive_low", "positive_high", "positive_p")
    lacking = [pd.Series(row).reindex(list(fields)).isna().any() for row in pair]
    if len(names) > 1 or any(lacking):
        return None
    weaker = min(pair, key=lambda row: float(row["positive_value"]))
    value, low, high, p = (float(weaker[name]) for name in fields)
    return PositiveControl(str(weaker["positive_control"]), Interval(value, low, high), p)


def _add_verdict(comparison: Comparison, judged: HeadlineFigure, has_direction: bool) -> Comparison:
    """Add the verdict of `judge`, and its words: who has more, where the figure has a direction."""
    verdict = Verdict(str(judged.verdict))
    words: list[str] = []
    if verdict.is_detected and not has_direction:
        words.append(DIFFER)
    elif verdict.is_detected:
        labels = [comparison.first, comparison.second]
        larger, smaller = labels if (judged.value or 0) > 0 else reversed(labels)
        words.append(f"{larger}: {MORE} than {smaller}")
    if verdict.is_below:
        words.append(f"{Verdict.BELOW} {judged.bound:g}")
    says = ", ".join(words) or str(verdict)
    return replace(
        comparison,
        difference=judged.value,
        low=judged.low,
        high=judged.high,
        bound=judged.bound,
        detects=judged.detects,
        n=judged.n,
        p=judged.p,
        null=judged.null,
        verdict=str(verdict),
        says=says,
        reason=judged.why,
    )


PASSED, FAILED, NOT_MEASURED, UNDECIDED = 0, 1, 2, 3
"""Exit statuses: nothing failed; something failed; nothing was measured; under `strict`, something
was not decided."""

CRITERIA: Final = ("detected", "worse")
"""What fails the gate: a headline that is detected and not below its bound, or more of it than in
the baseline."""


CheckOutcome = Literal["passed", "failed", "not decided"]


@dataclass(frozen=True)
class GateCheck:
    """What the gate says of one headline, comparison or bound."""

    name: str
    """The benchmark, the model or models, and the figure."""
    outcome: CheckOutcome
    line: str
    """The same with the reason."""
    word: str = ""
    """If nothing is decided: `inconclusive`, `invalid`, `descriptive`, or another."""


@dataclass
class Gate:
    """The outcome of the gate."""

    strict: bool = False
    """Whether what is not decided has a status of its own."""
    checks: list[GateCheck] = field(default_factory=list)

    def pass_on(self, name: str) -> None:
        """Add a headline, comparison or bound that passed."""
        self.checks.append(GateCheck(name, "passed", name))

    def fail_on(self, name: str, line: str) -> None:
        """Add one that fails the gate."""
        self.checks.append(GateCheck(name, "failed", line))

    def leave_open(self, name: str, word: str, line: str) -> None:
        """Add one on which nothing is decided."""
        self.checks.append(GateCheck(name, "not decided", line, word))

    def _lines_of(self, outcome: CheckOutcome) -> list[str]:
        """The lines of those with an outcome."""
        return [check.line for check in self.checks if check.outcome == outcome]

    @property
    def failed_lines(self) -> list[str]:
        """A line for each that failed."""
        return self._lines_of("failed")

    @property
    def undecided_lines(self) -> list[str]:
        """A line for each on which nothing is decided."""
        return self._lines_of("not decided")

    @property
    def undecided_words(self) -> Counter[str]:
        """How many of them are what."""
        return Counter(check.word for check in self.checks if check.outcome == "not decided")

    @property
    def n_passed(self) -> int:
        """Number of those that passed."""
        return len(self._lines_of("passed"))

    @property
    def status(self) -> int:
        """The exit status of the process."""
        if self.failed_lines:
            return FAILED
        if not self.checks:
            return NOT_MEASURED
        return UNDECIDED if self.strict and self.undecided_lines else PASSED

    @property
    def lines(self) -> Iterator[str]:
        """The lines to print."""
        yield from (f"failed: {line}" for line in self.failed_lines)
        yield from (f"not decided: {line}" for line in self.undecided_lines)
        nothing = f": {NO_HEADLINE}" if self.status == NOT_MEASURED else ""
        yield f"{len(self.failed_lines)} failed, {self.n_passed} passed{nothing}"
        if self.undecided_lines:
            counts = [f"{n} {word}" for word, n in self.undecided_words.items()]
            yield f"nothing decided: {', '.join(counts)}"


NO_HEADLINE: Final = "no result has a headline"

ACROSS, WITHOUT = "across a bound", "without an interval"
"""Words for bounds on which nothing is decided."""


def gate(
    results: Sequence[StoredResult],
    fail_on: Collection[str] = (),
    most: Mapping[str, float] | None = None,
    baseline: Sequence[StoredResult] = (),
    *,
    strict: bool = False,
) -> Gate:
    """Check whether results pass.

    `fail_on`: some of `CRITERIA`; by default `worse` with a baseline, else `detected`. `baseline`:
    earlier results of the same benchmarks. `most`: by `BENCHMARK:FIGURE[:DIMENSION=WORD]...`, the
    largest allowed size; the check fails where the whole interval lies beyond it, and is not
    decided where part of the interval does, or where there is none. Dimensions that are left out
    may be anything. A headline or difference that is detected and below its bound passes.
    UserError where nothing of that name was measured, a criterion is unknown, or only one of
    `worse` and `baseline` is given.
    """
    criteria = set(fail_on) or {"worse" if baseline else "detected"}
    unknown = sorted(criteria - set(CRITERIA))
    if unknown:
        raise UserError(
            f"no {unknown[0]!r} to fail on",
            where="--fail-on",
            remedy=suggest_nearest(unknown[0], CRITERIA),
        )
    if not results:
        raise UserError(
            "no result", remedy="name what `evenruler measure` wrote, or a folder above it"
        )
    if ("worse" in criteria) != bool(baseline):
        raise UserError(
            "`worse` and --baseline go together", where="--fail-on", remedy="say both, or neither"
        )
    outcome = Gate(strict)
    if "detected" in criteria:
        for stored_result in results:
            _check_verdicts(stored_result.result, outcome)
    for name, value in (most or {}).items():
        _check_bound(results, name, value, outcome)
    if baseline:
        _check_baseline(results, baseline, outcome)
    return outcome


def _check_verdicts(result: Result, outcome: Gate) -> None:
    """Fail on headlines that are detected, unless they are below their bounds, too."""
    for row in filter(is_headline, result.figures):
        verdict = Verdict(row["verdict"])
        name = _place_in_result(result, row)
        where = f"{name} is {verdict}"
        if verdict.is_below:
            outcome.pass_on(name)
        elif verdict.is_detected:
            outcome.fail_on(name, where)
        else:
            reason = f"{where}. {row.get('why', '')}"
            outcome.leave_open(name, str(verdict), reason.strip())


def _place_in_result(result: Result, row: Mapping[str, Any]) -> str:
    """A figure in words: benchmark with version, model, figure with dimensions."""
    benchmark = result.folder.rpartition("/")[2]
    return f"{benchmark}, {result.model.name}: {figure_name(row)}"


def _check_bound(results: Sequence[StoredResult], name: str, most: float, outcome: Gate) -> None:
    """Fail where the whole interval of a figure lies beyond the largest allowed size."""
    benchmark, *wanted = name.split(":")
    figures: list[tuple[Result, dict[str, Any]]] = []
    for stored_result in results:
        result = stored_result.result
        figures += [(result, row) for row in result.figures]
    bounded = [
        (result, row)
        for result, row in figures
        if result.benchmark.name == benchmark and _is_named(row, wanted)
    ]
    if not bounded:
        names = {f"{result.benchmark.name}:{figure_name(row)}" for result, row in figures}
        raise UserError(
            f"nothing measured is called {name!r}",
            where="--bound",
            remedy=suggest_nearest(name, sorted(names)),
        )
    for result, row in bounded:
        low, high = row.get("low"), row.get("high")
        numbers = (row["value"], low, high)
        texts = ["none" if number is None else f"{number:z.3g}" for number in numbers]
        place = _place_in_result(result, row)
        where = f"{place} is {texts[0]} [{texts[1]}, {texts[2]}]"
        check_name = f"{place}, bound {most:g}"
        if low is None or high is None:
            reason = row.get("reason", "it has no interval")
            outcome.leave_open(check_name, WITHOUT, f"{where}: {reason}")
        elif low > most or high < -most:
            outcome.fail_on(check_name, f"{where}, with its interval beyond {most:g}")
        elif high > most or low < -most:
            outcome.leave_open(check_name, ACROSS, f"{where}, maybe beyond {most:g}")
        else:
            outcome.pass_on(check_name)


def _is_named(row: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    """Whether a row is that of a figure with some dimensions, as `figure_name` writes them; those
    left out may be anything.
    """
    if not wanted or row["figure"] != wanted[0]:
        return False
    _, *dimensions = figure_name(row).split(":")
    return set(wanted[1:]) <= set(dimensions)


def _check_baseline(
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
                _check_difference({str(column): row[column] for column in row}, outcome)


def _check_difference(row: Mapping[str, Any], outcome: Gate) -> None:
    """Fail on a row of `compare` in which the first result has more, and not below the bound."""
    verdict = Verdict(row["verdict"])
    pair = f"{row['first']} against {row['second']}"
    compared = f"{row['benchmark']}, {comparison_name(row)}"
    name = f"{compared}, {pair}"
    where = f"{name}: {row['says']}"
    if verdict.is_below:
        outcome.pass_on(name)
    elif verdict.is_detected and row["says"] != DIFFER:
        if row["difference"] > 0:
            outcome.fail_on(name, where)
        else:
            outcome.pass_on(name)
    else:  # also headlines of one result alone, and "not alike", which has no direction
        word = DIFFER if verdict.is_detected else str(verdict)
        reason = row["reason"]
        text = f"{where}. {reason}" if isinstance(reason, str) else where
        outcome.leave_open(name, word, text)
