"""Models against models: the headlines of two results of one benchmark with a verdict, and what else they differ in."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from evenruler import shipped
from evenruler.errors import UserError
from evenruler.instruments.registry import room
from evenruler.measurement.figures import Confirmed, Figure, finite
from evenruler.measurement.resampling import jackknife
from evenruler.measurement.verdicts import Confirmatory, Fitness, Verdict, judge
from evenruler.publish.contents import is_file
from evenruler.publish.manifest import KIND, identity_of, read_manifest
from evenruler.publish.manifest import NAME as MANIFEST
from evenruler.results.statistics import STATISTICS, of_units, used
from evenruler.results.store import Stored, figures_of

MORE, SAME, DIFFER = "more", "same", "not alike"
"""What a verdict holds: "one: more than two", "same within 10", "not alike"."""

EQUAL: Final = "the two are equal, unit by unit"

DESCRIBES: Final = "it describes, over these units alone; other words, templates or wordings could say otherwise"

NONE_SHARED: Final = "no shared units"

ROUNDING: Final = 1e-9
"""Of the statistics: a standard error that is no more is none."""


@dataclass(frozen=True)
class Comparison:
    """One figure of two results; a row of `compare`."""

    benchmark: str
    part: str
    figure: str
    statistic: str | None
    """One of `evenruler.results.statistics.STATISTICS`; None of a headline, which has a verdict."""
    first: str
    """A result: its label; with the version, or the folder, where two have the same."""
    second: str
    first_value: float | None = None
    """As published of a headline, else over the shared units."""
    second_value: float | None = None
    difference: float | None = None
    """First minus second, in the unit of the figure; of a headline over what both were asked, at equal sharpness."""
    contrast: float | None = None
    """What has the interval: the difference (of a headline, beyond placebos), a ratio, or that of Fisher's z."""
    scale: str | None = None
    """Which of them."""
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Shared units."""
    first_dropped: int = 0
    """Units of the first that the second lacks, or that rest on other rows there."""
    second_dropped: int = 0
    smallest: float | None = None
    """Of a headline, the difference worth naming."""
    detectable: float | None = None
    """Of a headline, the difference that 80 of 100 such comparisons find."""
    p: float | None = None
    """Of a headline, that there is no difference, by Holm over the headlines of the two."""
    verdict: str | None = None
    """Of a headline."""
    reason: str | None = None
    """Of the verdict, or why there is none."""
    note: str | None = None
    """What else to know of it."""


COLUMNS: Final = {
    **dict.fromkeys(("benchmark", "part", "figure", "statistic", "first", "second"), "string"),
    **dict.fromkeys(("first_value", "second_value", "difference", "contrast"), "float64"),
    "scale": "string",
    **dict.fromkeys(("low", "high"), "float64"),
    **dict.fromkeys(("n", "first_dropped", "second_dropped"), "int64"),
    **dict.fromkeys(("smallest", "detectable", "p"), "float64"),
    **dict.fromkeys(("verdict", "reason", "note"), "string"),
}
"""Of `compare`, with their types; what they mean: `Comparison`."""


def compare(results: Sequence[Stored], level: float = 0.95) -> pd.DataFrame:
    """Compare every two results of the same benchmark, figure by figure, over what both were asked.

    Headlines are compared by the rules of one: the same facets, null, placebos and smallest effect, of the paired
    difference (`contrast` of the family); what makes one of them invalid or open does so to the comparison. All else
    describes, over the units that both have, resting on the same rows (`rows`); its interval is a jackknife over the
    units of both, paired, of t with n - 1 degrees of freedom. Standard deviations are compared as a ratio, correlations
    by Fisher's z. A result of which a model has two labels ("bert (mlm)") is compared with those of others that were
    asked the same way.

    Args:
        results: Two of one benchmark at least.
        level: Of intervals.

    Returns:
        Columns `COLUMNS`, by benchmark, pair (in the order of the results), part and figure. Figures that only one of
        two has, or that have too few shared units, stand in it with the reason.

    Raises:
        UserError: No two are of the same benchmark; one does not say its benchmark's identity, or another than the
            version that lies here has; two are of one version with other content, or share no unit.

    Source: Miller (1974), The jackknife: a review; Holm (1979). How often it errs: docs/results.md.
    """
    found: list[Comparison] = []
    for group in comparable(results):
        named = names(group)
        for first, second in combinations(range(len(group)), 2):
            found += _pair(_Side(group[first], named[first]), _Side(group[second], named[second]), level)
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

    def headlines(self, manner: str) -> dict[tuple[str, str], dict[str, Any]]:
        """By part and figure, as its own result has them."""
        label = self.labels().get(manner)
        found = ((part, figure, own) for part, of, figure, own in figures_of(self.stored.result) if of == label)
        return {(part, figure): own for part, figure, own in found if own.get("smallest") is not None}

    def made_of(self, part: str, manner: str, figure: str) -> pd.DataFrame:
        """What a headline is made of, by `HEADLINES`."""
        rows = self.stored.headlines
        there = (rows["part"] == part) & (rows["model"] == self.labels().get(manner)) & (rows["figure"] == figure)
        return rows[there]


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
    yield from _headlines(first, second, manner)
    units = [_units(side.stored, side.labels().get(manner)) for side in (first, second)]
    called = (first.called(manner), second.called(manner))
    benchmark = first.stored.result.benchmark.name
    for key in sorted(units[0].keys() | units[1].keys()):
        yield _described(Comparison(benchmark, *key, *called), units[0].get(key), units[1].get(key), level)


def _headlines(first: _Side, second: _Side, manner: str) -> Iterator[Comparison]:
    """The headlines of two labels, judged together as those of one model are."""
    own, called = [side.headlines(manner) for side in (first, second)], (first.called(manner), second.called(manner))
    compared: list[tuple[Comparison, Confirmatory]] = []
    for key in sorted(own[0].keys() | own[1].keys()):
        pair = [of.get(key, {}) for of in own]
        one = Comparison(first.stored.result.benchmark.name, key[0], key[1], None, *called)
        one = replace(one, first_value=pair[0].get("value"), second_value=pair[1].get("value"))
        if why := _why_not(pair, called):
            yield replace(one, verdict=why[0], reason=why[1])
            continue
        made_of = [side.made_of(key[0], manner, key[1]) for side in (first, second)]
        if first.stored.result.benchmark.content_sha256 != second.stored.result.benchmark.content_sha256:
            same = first.stored.units.merge(second.stored.units, on=["unit", "rows"])["unit"]
            made_of = [rows[rows["unit"].isin(same)] for rows in made_of]
        contrast = getattr(room(first.stored.result.benchmark.family, "diagnose"), "contrast", None)
        if contrast is None or any(rows.empty for rows in made_of):
            yield replace(one, verdict=str(Verdict.INCONCLUSIVE), reason="nothing that it is made of is kept of both")
            continue
        compared.append((one, contrast(*made_of, pair[0]["smallest"])))
    told = judge([(figure, Fitness()) for _, figure in compared])
    yield from (_judged(one, found) for (one, _), found in zip(compared, told, strict=True))


def _why_not(pair: Sequence[dict[str, Any]], called: tuple[str, str]) -> tuple[str, str] | None:
    """Verdict and reason where one of two headlines has no finding that could be compared."""
    for record, name, other in zip(pair, called, reversed(called), strict=True):
        if not record:
            return str(Verdict.INCONCLUSIVE), f"only {other} has it"
        if record["verdict"] == Verdict.INVALID:
            return f"{Verdict.INVALID}: {name}", record["why"]
    return None


def _judged(one: Comparison, found: Figure) -> Comparison:
    """With what `judge` says of the difference."""
    assert isinstance(found, Confirmed)
    said = str(found.verdict)
    if said == Verdict.NO_EFFECT:
        said = f"{SAME} within {found.smallest:g}"
    elif said == Verdict.EFFECT:
        told = found.why is not None and not found.why.startswith("Beyond")
        larger, smaller = (one.first, one.second) if (found.value or 0) > 0 else (one.second, one.first)
        said = DIFFER if told else f"{larger}: {MORE} than {smaller}"
    elif said == Verdict.NOT_SPECIFIC:
        said = str(Verdict.INCONCLUSIVE)
    return replace(
        one,
        difference=found.value,
        contrast=found.specific,
        scale="difference",
        low=found.specific_low,
        high=found.specific_high,
        n=found.n,
        smallest=found.smallest,
        detectable=found.detectable,
        p=found.p_effect,
        verdict=said,
        reason=found.why,
    )


def _units(stored: Stored, label: str | None) -> _Units:
    """The units of each figure of a label."""
    own = stored.units[stored.units["model"] == label]
    return {
        (str(part), str(figure), str(statistic)): rows
        for (part, figure, statistic), rows in own.groupby(["part", "figure", "statistic"], sort=True)
    }


def _described(one: Comparison, first: pd.DataFrame | None, second: pd.DataFrame | None, level: float) -> Comparison:
    """A comparison with its numbers, or the reason why there are none."""
    assert one.statistic is not None
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
    error = (found.high - found.low) / 2 / float(stats.t.ppf(0.5 + level / 2, len(shared) - 1))
    if error <= ROUNDING * max(1e-3, *map(abs, values)):
        return replace(one, reason=EQUAL if one.difference == 0 else "all units differ by the same")
    return replace(
        one,
        contrast=statistic.back(found.value),
        scale=statistic.contrast,
        low=statistic.back(found.low),
        high=statistic.back(found.high),
        reason=DESCRIBES,
    )
