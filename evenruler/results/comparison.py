"""Models against models, unit by unit: what two results of one benchmark differ in."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from evenruler import shipped
from evenruler.errors import UserError
from evenruler.measurement.answered import unmeasured
from evenruler.measurement.figures import finite
from evenruler.measurement.resampling import jackknife
from evenruler.measurement.verdicts import ALPHA, Verdict, holm
from evenruler.publish.contents import is_file
from evenruler.publish.manifest import KIND, identity_of, read_manifest
from evenruler.publish.manifest import NAME as MANIFEST
from evenruler.results.statistics import STATISTICS, of_units, used
from evenruler.results.store import Stored, figures_of
from evenruler.versions import version_key

DIFFER, NOT_TOLD_APART = "differ", "not told apart"

EQUAL: Final = "the two are equal, unit by unit"

DESCRIBES: Final = "it describes, over these units alone; other words, templates or wordings could say otherwise"

NONE_SHARED: Final = "no shared units"

ROUNDING: Final = 1e-9
"""Of the statistics: a standard error that is no more is none."""


@dataclass(frozen=True)
class Comparison:
    """One statistic of two results over the units that they share; a row of `compare`."""

    benchmark: str
    part: str
    figure: str
    statistic: str | None
    """One of `evenruler.results.statistics.STATISTICS`; None where the results hold no units of the figure."""
    first: str
    """A result: its label; with the version, or the folder, where two have the same."""
    second: str
    first_value: float | None = None
    """Over the shared units, so that it may differ from the published figure."""
    second_value: float | None = None
    difference: float | None = None
    """First minus second, in the unit of the figure."""
    contrast: float | None = None
    """What is tested and has the interval: the difference, a ratio, or the difference of Fisher's z."""
    scale: str | None = None
    """Which of them."""
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Shared units."""
    first_dropped: int = 0
    """Units of the first that the second lacks, or that rest on other rows there."""
    second_dropped: int = 0
    p: float | None = None
    """Two-sided."""
    p_adjusted: float | None = None
    """By Holm, over all comparisons of the benchmark in one call."""
    verdict: str | None = None
    reason: str | None = None
    """Why there is no verdict."""
    note: str | None = None
    """What else to know of it."""


COLUMNS: Final = {
    **dict.fromkeys(("benchmark", "part", "figure", "statistic", "first", "second"), "string"),
    **dict.fromkeys(("first_value", "second_value", "difference", "contrast"), "float64"),
    "scale": "string",
    **dict.fromkeys(("low", "high"), "float64"),
    **dict.fromkeys(("n", "first_dropped", "second_dropped"), "int64"),
    **dict.fromkeys(("p", "p_adjusted"), "float64"),
    **dict.fromkeys(("verdict", "reason", "note"), "string"),
}
"""Of `compare`, with their types; what they mean: `Comparison`."""


def compare(results: Sequence[Stored], level: float = 0.95) -> pd.DataFrame:
    """Compare every two results of the same benchmark, figure by figure, over the units that they share.

    A unit is shared where both have its name and it rests on the same rows (`rows`). p and interval: jackknife over
    the units of both, paired, and t with n - 1 degrees of freedom; of a mean that is the paired t-test. Standard
    deviations are compared as a ratio, correlations by Fisher's z. A result of which a model has two labels ("bert
    (mlm)") is compared with those of others that were asked the same way.

    Args:
        results: Two of one benchmark at least.
        level: Of intervals.

    Returns:
        Columns `COLUMNS`, by benchmark, pair (in the order of the results), part and figure. Figures that only one of
        two has, or that have too few shared units, stand in it with the reason.

    Raises:
        UserError: No two are of the same benchmark; one does not say its benchmark's identity, or another than the
            version that lies here has; two are of versions that cannot be compared, of one version with other content,
            or share no unit.

    Source: Miller (1974), The jackknife: a review; Holm (1979). How often it errs: docs/results.md.
    """
    found: list[Comparison] = []
    for group in comparable(results):
        named = names(group)
        of_group = [
            one
            for first, second in combinations(range(len(group)), 2)
            for one in _pair(_Side(group[first], named[first]), _Side(group[second], named[second]), level)
        ]
        # Comparisons of one benchmark with adjusted p and, where none stands there, a verdict.
        adjusted = iter(holm([one.p for one in of_group if one.p is not None]))
        judged = []
        for one in of_group:
            if one.p is not None:
                p = next(adjusted)
                told = None if one.reason else one.verdict or (DIFFER if p < ALPHA else NOT_TOLD_APART)
                one = replace(one, p_adjusted=p, verdict=told)
            judged.append(one)
        found += judged
    return pd.DataFrame([asdict(one) for one in found], columns=list(COLUMNS)).astype(COLUMNS)


def comparable(results: Sequence[Stored]) -> list[list[Stored]]:
    """Results by benchmark, of those that have two; in the order in which benchmarks first come.

    Raises:
        UserError: As `compare`, but for shared units.
    """
    groups: dict[str, list[Stored]] = {}
    for one in results:
        groups.setdefault(one.result.benchmark.name, []).append(one)
    found = [group for group in groups.values() if len(group) > 1]
    if not found:
        raise UserError(
            f"nothing to compare: no two results of one benchmark, only of {', '.join(groups) or 'none'}",
            remedy="name two results of the same benchmark, or a folder that holds them",
        )
    for group in found:
        for one in group:
            _require_identity(one)
        for first, second in combinations(group, 2):
            old, new = first.result.benchmark, second.result.benchmark
            if version_key(old.version)[0] != version_key(new.version)[0]:
                raise UserError(
                    f"{old.name} {old.version} and {new.version} differ in the major number: scores cannot be compared",
                    where=str(second.folder),
                    remedy="measure both models on one version",
                )
            same = (old.content_sha256, old.plan_sha256) == (new.content_sha256, new.plan_sha256)
            if old.version == new.version and not same:
                raise UserError(
                    f"{old.name} {old.version} has other content than in {first.folder}",
                    where=str(second.folder),
                    remedy="measure both models on one copy of the benchmark",
                )
    return found


def _require_identity(one: Stored) -> None:
    """Stop where a result does not say what it is of, or says other content than its version has that lies here."""
    benchmark, where = one.result.benchmark, str(one.folder)
    called = f"{benchmark.name} {benchmark.version}"
    if not benchmark.content_sha256.startswith(KIND):
        what = f"it says what {called} held in a way that this evenruler cannot compare (content_sha256)"
        raise UserError(what, where=where, remedy="measure again")
    folder = shipped.benchmarks() / benchmark.name
    if not is_file(folder / MANIFEST):
        return
    here = read_manifest(folder)
    if here.version == benchmark.version and identity_of(folder, here.rows) != benchmark.content_sha256:
        what = f"it is of a {called} with other content than the one in {folder}"
        raise UserError(what, where=where, remedy="measure again, or give that benchmark a version of its own")


def names(group: Sequence[Stored]) -> list[str]:
    """What follows the label of each result, so that none is called as another."""
    models = [one.result.model.name for one in group]
    if len(set(models)) == len(models):
        return [""] * len(models)
    versions = [f" @{one.result.folder.rpartition('@')[2]}" for one in group]
    if len(set(zip(models, versions, strict=True))) == len(models):
        return versions
    return [f" in {one.folder}" for one in group]


class _Side(NamedTuple):
    """A result of a pair, and what follows its labels."""

    stored: Stored
    suffix: str

    def labels(self) -> dict[str, str]:
        """By how the model was asked, its label: "bert (mlm)" is asked as " (mlm)", mostly it is ""."""
        labels = {str(label) for label in self.stored.units["model"].unique()}
        labels |= {label for _, label, _, record in figures_of(self.stored.result) if "verdict" in record}
        return {label.removeprefix(self.stored.result.model.name): label for label in sorted(labels)}

    def called(self, manner: str) -> str:
        return f"{self.labels().get(manner, self.stored.result.model.name + manner)}{self.suffix}"

    def verdict(self, part: str, manner: str, figure: str) -> str | None:
        """That of a figure in its own result; of one without, unfit where nothing was measured on the model."""
        label = self.labels().get(manner)
        record = self.stored.result.figures.get(part, {}).get(label or "", {}).get(figure)
        if isinstance(record, dict) and record.get("verdict") is not None:
            return str(record["verdict"])
        own = (record for _, other, _, record in figures_of(self.stored.result) if other == label)
        return Verdict.INVALID if unmeasured(own) is not None else None


_Units = dict[tuple[str, str, str], pd.DataFrame]
"""By part, figure and statistic."""


def _pair(first: _Side, second: _Side, level: float) -> list[Comparison]:
    """All figures of two results, way of asking by way of asking."""
    found = [
        one
        for manner in sorted(first.labels().keys() | second.labels().keys())
        for one in _of_manner(first, second, manner, level)
    ]
    if any(one.reason == NONE_SHARED for one in found) and not any(one.n for one in found):
        raise UserError(
            f"shares no unit of {second.stored.result.benchmark.name} with {first.stored.folder}",
            where=str(second.stored.folder),
            remedy="measure both models on one version of it",
        )
    return found


def _of_manner(first: _Side, second: _Side, manner: str, level: float) -> Iterator[Comparison]:
    """All figures of two labels that were asked the same way; of one, where the other has no such label."""
    units = [_units(side.stored, side.labels().get(manner)) for side in (first, second)]
    called = (first.called(manner), second.called(manner))
    benchmark = first.stored.result.benchmark.name
    for key in sorted(units[0].keys() | units[1].keys()):
        part, figure, statistic = key
        one = Comparison(benchmark, part, figure, statistic or None, *called)
        one = _filled(one, units[0].get(key), units[1].get(key), level)
        verdicts = [side.verdict(part, manner, figure) for side in (first, second)]
        unfit = [name for name, verdict in zip(called, verdicts, strict=True) if verdict == Verdict.INVALID]
        if one.p is not None:
            assert one.first_value is not None
            assert one.second_value is not None
            larger = 0 if abs(one.first_value) >= abs(one.second_value) else 1
            if not any(verdicts):
                one = replace(one, reason=DESCRIBES)
            elif unfit:
                one = replace(one, verdict=f"{Verdict.INVALID}: {' and '.join(unfit)}; no finding")
            elif verdicts[larger] not in (None, Verdict.EFFECT):
                # What words and tokens alone make as large in an untrained model is no more of the construct.
                one = replace(one, verdict=f"{verdicts[larger]} on {called[larger]}: no finding")
        yield one


def _units(stored: Stored, label: str | None) -> _Units:
    """The units of each figure of a label; an empty table for a confirmatory figure that has none."""
    own = stored.units[stored.units["model"] == label]
    found: _Units = {
        (str(part), str(figure), str(statistic)): rows
        for (part, figure, statistic), rows in own.groupby(["part", "figure", "statistic"], sort=True)
    }
    there = {(part, figure) for part, figure, _ in found}
    for part, other, figure, record in figures_of(stored.result):
        if other == label and "verdict" in record and (part, figure) not in there:
            found[part, figure, ""] = own.iloc[:0]
    return found


def _filled(one: Comparison, first: pd.DataFrame | None, second: pd.DataFrame | None, level: float) -> Comparison:
    """A comparison with its numbers, or the reason why there are none."""
    if one.statistic is None:
        return replace(one, reason="no units of it are kept, so that it cannot be compared")
    if first is None or second is None:
        values = [None if there is None else finite(of_units(one.statistic, there)) for there in (first, second)]
        reason = f"only {one.second if first is None else one.first} has it"
        return replace(one, first_value=values[0], second_value=values[1], reason=reason)
    first, second = used(one.statistic, first), used(one.statistic, second)
    shared = first.merge(second, on=["unit", "rows"], suffixes=("_first", "_second"), validate="one_to_one")
    dropped = (len(first) - len(shared), len(second) - len(shared))
    one = replace(one, n=len(shared), first_dropped=dropped[0], second_dropped=dropped[1])
    if any(dropped):
        note = f"over shared units: {dropped[0]} of {one.first} and {dropped[1]} of {one.second} are left out"
        one = replace(one, note=note)
    return contrasted(one, shared, level) if len(shared) else replace(one, reason=NONE_SHARED)


def contrasted(one: Comparison, shared: pd.DataFrame, level: float) -> Comparison:
    """The statistic of both over the shared units, and how sure it is that they differ.

    Args:
        one: What is compared; `statistic` is set.
        shared: A row a unit; `value_first`, `value_second`, and for some statistics `beside_first`, `beside_second`.
        level: Of the interval.
    """
    statistic = STATISTICS[one.statistic or ""]
    columns = ["value", "beside"] if statistic.beside else ["value"]
    arrays = [shared[f"{column}_{side}"].to_numpy() for side in ("first", "second") for column in columns]
    k = len(columns)
    values = [statistic.of(*arrays[:k]), statistic.of(*arrays[k:])]
    one = replace(one, first_value=finite(values[0]), second_value=finite(values[1]))
    if one.first_value is None or one.second_value is None:
        return replace(one, reason="undefined where all values are equal")
    one = replace(one, difference=one.first_value - one.second_value)
    if len(shared) < statistic.fewest:
        return replace(one, reason=f"fewer than {statistic.fewest} shared units")

    def on_scale(*rows: np.ndarray) -> float:
        return statistic.scale.there(statistic.of(*rows[:k])) - statistic.scale.there(statistic.of(*rows[k:]))

    found = jackknife(on_scale, *arrays, level=level)
    if math.isnan(found.low):
        return replace(one, reason="undefined without one of the units")
    quantile = float(stats.t.ppf(0.5 + level / 2, len(shared) - 1))
    error = (found.high - found.low) / 2 / quantile
    if error <= ROUNDING * max(1e-3, *map(abs, values)):
        return replace(one, reason=EQUAL if one.difference == 0 else "all units differ by the same")
    return replace(
        one,
        contrast=statistic.back(found.value),
        scale=statistic.contrast,
        low=statistic.back(found.low),
        high=statistic.back(found.high),
        p=float(2 * stats.t.sf(abs(found.value) / error, len(shared) - 1)),
    )
