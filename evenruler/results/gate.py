"""A gate for continuous integration: turns results into lines and an exit status."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from evenruler.errors import UserError, nearest
from evenruler.measurement.verdicts import Verdict
from evenruler.results.comparison import MORE, SAME, compare
from evenruler.results.record import Result, figures_of
from evenruler.results.store import Stored

PASSED, FAILED, NOT_MEASURED, OPEN = 0, 1, 2, 3
"""Exit statuses: all passed; something failed; nothing was measured; something is inconclusive or invalid."""

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
        return FAILED if self.failed else OPEN if self.open else PASSED if self.passed else NOT_MEASURED

    @property
    def lines(self) -> Iterator[str]:
        """The lines to print."""
        yield from (f"failed: {line}" for line in self.failed)
        yield from (f"not told: {line}" for line in self.open)
        yield f"{len(self.failed)} failed, {len(self.open)} not told, {self.passed} passed"


def gate(
    results: Sequence[Stored],
    fail_on: Collection[str] = ("effect",),
    most: Mapping[str, float] | None = None,
    baseline: Sequence[Stored] = (),
) -> Gate:
    """Check whether results pass.

    `fail_on`: criteria of `BARS`. `baseline`: earlier results of the same benchmarks, for `worse`. `most`: by
    `BENCHMARK:FIGURE`, the largest allowed size; the check fails where the whole interval lies beyond it, and is open
    where part of the interval does, or where there is none. UserError where nothing of that name was measured, a
    criterion is unknown, or only one of `worse` and `baseline` is given.
    """
    if strange := sorted(set(fail_on) - set(BARS)):
        raise UserError(f"no {strange[0]!r} to fail on", where="--fail-on", remedy=nearest(strange[0], BARS))
    if not results:
        raise UserError("no result", remedy="name what `evenruler measure` wrote, or a folder above it")
    if ("worse" in fail_on) != bool(baseline):
        raise UserError("`worse` and --baseline go together", where="--fail-on", remedy="say both, or neither")
    found = Gate()
    for one in results:
        _of_verdicts(one.result, set(fail_on), found)
    for name, value in (most or {}).items():
        _of_bound(results, name, value, found)
    if baseline:
        _of_baseline(results, baseline, found)
    return found


def _of_verdicts(result: Result, fail_on: set[str], found: Gate) -> None:
    headlines = {heading.figure for heading in result.headings if heading.role == "headline"}
    for part, label, figure, record in figures_of(result):
        if figure in headlines and "verdict" in record:
            where = f"{result.benchmark.name}, {part}, {label}: {figure} is {record['verdict']}"
            if record["verdict"] in fail_on:
                found.failed.append(where)
            elif record["verdict"] in (Verdict.INCONCLUSIVE, Verdict.INVALID):
                found.open.append(f"{where}. {record.get('why', '')}".strip())
            else:
                found.passed += 1


def _of_bound(results: Sequence[Stored], name: str, most: float, found: Gate) -> None:
    benchmark, _, wanted = name.partition(":")
    known = [(one.result, *figure) for one in results for figure in figures_of(one.result)]
    mine = [own for own in known if own[0].benchmark.name == benchmark and own[3] == wanted]
    if not mine:
        names = sorted({f"{result.benchmark.name}:{figure}" for result, _, _, figure, _ in known})
        raise UserError(f"nothing measured is called {name!r}", where="--max", remedy=nearest(name, names))
    for _, part, label, _, record in mine:
        low, high = record.get("low"), record.get("high")
        numbers = ["none" if own is None else f"{own:z.3g}" for own in (record["value"], low, high)]
        where = f"{name}, {part}, {label}: {numbers[0]} [{numbers[1]}, {numbers[2]}]"
        if low is None or high is None:
            found.open.append(f"{where}: {record.get('reason', 'it has no interval')}")
        elif low > most or high < -most:
            found.failed.append(f"{where}, with its interval beyond {most:g}")
        elif high > most or low < -most:
            found.open.append(f"{where}, maybe beyond {most:g}")
        else:
            found.passed += 1


def _of_baseline(results: Sequence[Stored], baseline: Sequence[Stored], found: Gate) -> None:
    """Compare each result with the baseline's results of the same benchmark."""
    for one in results:
        before = [own for own in baseline if own.result.benchmark.name == one.result.benchmark.name]
        if not before:
            raise UserError(f"no {one.result.benchmark.name}", where="--baseline", remedy="measure it there, too")
        for old in before:
            for row in compare([one, old]).to_dict("records"):
                where = f"{row['benchmark']}, {row['part']}, {row['figure']}: {row['verdict']}"
                verdict = str(row["verdict"])
                if verdict.startswith(f"{row['first']}: {MORE} than "):
                    found.failed.append(where)
                elif verdict.startswith((SAME, f"{row['second']}: {MORE} than ")):
                    found.passed += 1
                else:  # includes headlines of only one result, and "not alike", which has no direction
                    found.open.append(where)
