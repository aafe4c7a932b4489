"""How often a verdict of a family's headline is false, an interval holds the truth, and an effect
is detected: planted scores, judged for real, at the number of units that ship.

Populations are in `studies.planted`, a module a family: those of section 6 of spec/controls.md,
those that a hostile reviewer would choose, and at least two more of ours a family (`ours:`). Every
draw has a seed of its own, and every batch of draws is a row of a CSV, so that a run that is
stopped goes on where it was, and a later one with more draws adds to it. Delete the CSV where a
rule has changed.

Prints a Markdown table, and the rates above .05 with what is done about each; `--write` puts both
into docs/tested.md. Ends with status 1 where a rate is surely above .06, and nothing is said about
it in `DONE`.
"""

import csv
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer
from scipy.stats import binomtest

from studies.draws import append_row
from studies.planted import choices, external, framing, probes, questionnaires, saged
from studies.planted.cases import OUTCOMES, Case, Outcome

FAMILIES = (questionnaires, framing, probes, saged, external, choices)
"""What takes least first."""

ALPHA, LIMIT = 0.05, 0.06

BATCH_SECONDS = 20.0
"""About how long a batch of draws takes: what is lost at most when a run is stopped."""

PASSES = (0.1, 0.5, 1.0)
"""Shares of the draws that all cases have before any has more."""

PAGE = Path("docs/tested.md")

MARKS = ("<!-- error rates: written by studies.error_rates -->", "<!-- end of error rates -->")

FALSE = {"false_detected": "`detected`", "false_below": "`below`", "names_another": "another named"}

DONE = {
    "half of the likeness hidden": (
        "no remedy: what pairs share with the criterion and no noun has cannot be kept"
    ),
    "they scatter in proportion": (
        "HC3 errors halve it: sizes correlate with the distance by .59, on the two small models by "
        ".12 and .19"
    ),
    "corpora, 6 fits, nothing: skew": (
        "no remedy: of six fits of exponential changes, signs and t alike are wrong"
    ),
    "a grammar of 16 verbs": (
        "no remedy: sentences share verbs and things, and lie nearer to one another than to a cue "
        "that shares neither"
    ),
    "stimuli scatter threefold under the cue": (
        "a cue that stimuli take so differently is no sentence like the others"
    ),
}
"""What is done about a rate above .05, by words of what is planted."""

BY_CHANCE = "no further from .05 than so many draws may be"

FEWEST_SHOWN = 100
"""Fewest draws of a case that is shown."""

FIELDS = ["family", "model", "planted", "first", "draws", "seconds"]


@dataclass
class Tally:
    """What the draws of a case came to."""

    draws: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """By outcome: draws in which it holds."""
    stated: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """By outcome: draws in which its question applies."""

    def add_row(self, row: Mapping[str, str]) -> None:
        """Add a batch."""
        self.draws += int(row["draws"])
        self.seconds += float(row["seconds"])
        for name in OUTCOMES:
            self.counts[name] += int(row[name])
            self.stated[name] += int(row[f"{name}_of"])

    def rate(self, name: str) -> float | None:
        """The share of draws with an outcome; None where its question never applies."""
        return self.counts[name] / self.stated[name] if self.stated[name] else None

    def lowest(self, name: str) -> float:
        """The lower end of Wilson's 95% interval of a rate that has one."""
        test = binomtest(self.counts[name], self.stated[name])
        return float(test.proportion_ci(method="wilson").low)

    def half_width(self, rate: float = ALPHA) -> float:
        """Half the 95% interval of a rate over so many draws."""
        spread = (rate * (1 - rate) / max(self.draws, 1)) ** 0.5
        return float(1.96 * spread)


Key = tuple[str, str, str]
"""Family, model and what is planted."""

Tallies = dict[Key, Tally]


def key_of(case: Case) -> Key:
    return case.family, case.model, case.planted


def read_tallies(out: Path) -> Tallies:
    """What was drawn before, by case."""
    tallies: Tallies = defaultdict(Tally)
    if out.exists():
        with out.open(newline="") as file:
            for row in csv.DictReader(file):
                tally = tallies[row["family"], row["model"], row["planted"]]
                # Two runs at once may have drawn the same studies.
                if int(row["first"]) == tally.draws:
                    tally.add_row(row)
    return tallies


def count_batch(
    case: Case, first: int, outcomes: Sequence[Outcome], seconds: float
) -> dict[str, str]:
    """A batch as a row of the CSV."""
    cells = [*key_of(case), first, len(outcomes), f"{seconds:.2f}"]
    row = dict(zip(FIELDS, cells, strict=True))
    for name in OUTCOMES:
        stated = [getattr(outcome, name) for outcome in outcomes]
        applying = [outcome for outcome in stated if outcome is not None]
        row |= {name: sum(applying), f"{name}_of": len(applying)}
    return {name: str(cell) for name, cell in row.items()}


def draw_cases(
    cases: Sequence[Case], draws: int, tallies: Tallies, out: Path, until: float
) -> None:
    """Draw what cases lack, all cases a little before any has all, until a `time.monotonic`; says
    on stderr how long it will take.
    """
    for part in PASSES:
        for case in cases:
            wanted = max(1, round(draws * case.share * part))
            tally = tallies[key_of(case)]
            while tally.draws < wanted and time.monotonic() < until:
                per_draw = tally.seconds / tally.draws if tally.draws else BATCH_SECONDS / 10
                of_a_batch = round(BATCH_SECONDS / max(per_draw, 1e-4))
                n = max(1, min(wanted - tally.draws, of_a_batch))
                began = time.monotonic()
                outcomes = case.draw_studies(tally.draws, n)
                row = count_batch(case, tally.draws, outcomes, time.monotonic() - began)
                append_row(out, row)
                tally.add_row(row)
                minutes = seconds_left(cases, draws, tallies) / 60
                progress = f"{case.name}: {tally.draws}; {minutes:.0f} minutes"
                print(progress, file=sys.stderr)


def seconds_left(cases: Sequence[Case], draws: int, tallies: Tallies) -> float:
    """How long the draws that are lacking take, of cases that were drawn before."""
    total = 0.0
    for case in cases:
        tally = tallies[key_of(case)]
        lacking = max(0, round(draws * case.share) - tally.draws)
        if tally.draws:
            total += lacking * tally.seconds / tally.draws
    return total


def describe_rate(tally: Tally, name: str) -> str:
    """A rate, bold where it is a false one above the limit, and surely above .05."""
    rate = tally.rate(name)
    if rate is None:
        return ""
    text = f"{rate:.3f}".removeprefix("0")
    if rate in (0, 1):
        text = f"{rate:.0f}"
    is_high = name in FALSE and rate > LIMIT and tally.lowest(name) > ALPHA
    return f"**{text}**" if is_high else text


COLUMNS = {
    "false_detected": "false `detected`",
    "false_below": "false `below`",
    "names_another": "another named",
    "detected": "`detected`",
    "covers": "interval holds",
}


def table_lines(cases: Iterable[Case], tallies: Tallies) -> Iterator[str]:
    """The table in Markdown; rates of several models beside one another."""
    headings = ["planted", *COLUMNS.values(), "draws", "±"]
    yield f"| {' | '.join(headings)} |"
    yield f"|{' --- |' * len(headings)}"
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        if tallies[key_of(case)].draws >= FEWEST_SHOWN:
            groups[case.family, case.planted].append(case)
    family_before = ""
    for (family, planted), group in groups.items():
        if family != family_before:
            models = "; ".join(case.model for case in group)
            heading = f"{family} ({models})" if group[0].model else family
            yield f"| **{heading}** |{' |' * (len(headings) - 1)}"
            family_before = family
        of_models = [tallies[key_of(case)] for case in group]
        cells = [planted]
        for name in COLUMNS:
            rates = [describe_rate(tally, name) for tally in of_models]
            cells.append("; ".join(filter(None, rates)))
        fewest = min(of_models, key=lambda tally: tally.draws)
        half_width = f"{fewest.half_width():.3f}".removeprefix("0")
        cells += [f"{fewest.draws:,}", half_width]
        yield f"| {' | '.join(cells)} |"


def high_lines(cases: Iterable[Case], tallies: Tallies) -> Iterator[str]:
    """A line for each remedy, with what is planted and the false rates above .05. Those that may be
    chance are counted: the table has them.
    """
    rates_by_remedy: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        tally = tallies[key_of(case)]
        for name, words in FALSE.items():
            rate = tally.rate(name)
            if rate is None or rate <= ALPHA or tally.draws < FEWEST_SHOWN:
                continue
            remedy = remedy_of(case, rate, tally.half_width(rate))
            rate_text = f"{rate:.3f}".removeprefix("0")
            population = " ".join(filter(None, (case.family, case.model)))
            rates_by_planted = rates_by_remedy[remedy]
            rates_by_planted[case.planted].append(f"{population} {words} {rate_text}")
    for remedy, rates_by_planted in rates_by_remedy.items():
        if remedy == BY_CHANCE:
            n_rates = sum(map(len, rates_by_planted.values()))
            yield f"- {n_rates} rates of the table: {remedy}."
            continue
        listed = []
        for planted, rates in rates_by_planted.items():
            of_planted = "; ".join(rates)
            listed.append(f"{planted} ({of_planted})")
        yield f"- {'; '.join(listed)}: {remedy}."


def remedy_of(case: Case, rate: float, half: float) -> str:
    """What is done about a false rate above .05."""
    for words, done in DONE.items():
        if words in case.planted:
            return done
    if rate - half <= ALPHA:
        return BY_CHANCE
    return "within the promise of .06" if rate <= LIMIT else "above the promise of .06"


def list_failures(cases: Iterable[Case], tallies: Tallies) -> list[str]:
    """Names of cases with a false rate that is above the limit by the lower end of Wilson's
    interval, but for those about which something is said in `DONE`.
    """
    failures: list[str] = []
    for case in cases:
        tally = tallies[key_of(case)]
        for name in FALSE:
            is_explained = any(words in case.planted for words in DONE)
            if tally.rate(name) is None or is_explained:
                continue
            if tally.lowest(name) > LIMIT:
                failures.append(case.name)
    return failures


def write_page(lines: Sequence[str]) -> None:
    """Put lines between the marks of docs/tested.md."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    text = "\n".join([MARKS[0], *lines, MARKS[1]])
    PAGE.write_text(before + text + after, encoding="utf-8")


def main(
    draws: int = 2000,
    only: str = "",
    out: Path = Path(".cache/error-rates.csv"),
    seconds: float = 0.0,
    write: bool = False,
) -> None:
    """Draw what is lacking and print the table.

    `draws`: studies a case; what takes long has a share of them. `only`: cases whose name has these
    words. `out`: the CSV. `seconds`: if above 0, stop drawing after these. `write`: the table into
    docs/tested.md.
    """
    cases = [case for family in FAMILIES for case in family.list_cases() if only in case.name]
    tallies = read_tallies(out)
    until = time.monotonic() + (seconds if seconds > 0 else float("inf"))
    draw_cases(cases, draws, tallies, out, until)
    high = list(high_lines(cases, tallies))
    lines = [*table_lines(cases, tallies), ""]
    if high:
        lines += ["Above .05:", "", *high]
    print("\n".join(lines))
    if write:
        write_page(lines)
    failures = list_failures(cases, tallies)
    if failures:
        raise SystemExit(f"false more often than {LIMIT}: {', '.join(failures)}")


if __name__ == "__main__":
    typer.run(main)
