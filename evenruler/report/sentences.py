"""What a result says, in lines: the same on the terminal, on cards and on the page.

Three lines a headline: the claim with its verdict, what it is compared with, and what the study
would have detected. Every number in them stands in the row of the figure.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from evenruler.measurement.figures import (
    ORDER,
    WHOLE,
    Verdict,
    dimensions_of,
    figure_key,
    is_headline,
    model_label,
)
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.measurement.inputs import ALPHA
from evenruler.report.planted import count_text, dose_text, sort_counts
from evenruler.text.spelling import with_capital

if TYPE_CHECKING:
    from evenruler.instruments.instrument import FigureHeading
    from evenruler.results.record import Heading

    Worded: TypeAlias = FigureHeading | Heading
    """The words for a figure: declared by an instrument, or read from a result."""

VERDICT_MEANINGS: Final = {
    "detected": "If nothing were there, at most 1 in 20 studies would give a result like this.",
    "below X": (
        "This study detects effects of size X, and the real one is smaller than that. Both words "
        "can hold."
    ),
    "inconclusive": (
        "Asked, and neither detected nor below X: the line says what size it would have detected."
    ),
    "descriptive": "A number without a test.",
    "invalid": (
        "The instrument fails its own check on this model; its numbers say nothing about the model."
    ),
}
"""The meaning of each word of a verdict, a sentence each; cards, the page and docs print these."""

INDENT: Final = 14
"""Columns before the text of a line: its label, and spaces."""

MOST_IN_FULL: Final = 3
"""Headlines of a model that have all their lines; the others of a verdict share one."""

AMOUNT: Final = "{amount}"
"""Where a clause of `FigureHeading.says` has its amount; nothing else in it is a place."""

NEAR_ONE: Final = 0.1
"""Factors this near to 1 have two decimals."""

NOT_BELOW: Final = re.compile(r"Not below \S+?(?P<reason>:? .*?)\.(?= |$)")
"""The sentence of a reason that says why a headline is not below its bound."""

NOTHING: Final = "No figure has a verdict: all are descriptive."


@dataclass(frozen=True)
class SummaryLine:
    """A line of the answer: `detected      Men's words gain ...`."""

    label: str
    """A verdict, `compared`, `sensitive`, or nothing."""
    text: str

    def __str__(self) -> str:
        """The line as plain text, its text in the column `INDENT` where the label leaves room."""
        if not self.label:
            return self.text
        return f"{self.label:<{INDENT - 2}}  {self.text}"


def wrap_line(line: str, indent: int = 0, *, width: int) -> list[str]:
    """A line of the answer in terminal lines of at most `width` columns, the first after `indent`
    spaces; the others stand below its text, or a little further in where it has no label.
    """
    hanging = INDENT if "  " in line else 2  # two spaces stand after a label alone
    return wrap(
        f"{' ' * indent}{line}",
        width=width,
        subsequent_indent=" " * (indent + hanging),
        break_on_hyphens=False,
    )


def summarise_headlines(
    rows: Iterable[Mapping[str, Any]],
    headings: "Sequence[Worded]",
    planted: Sequence[Mapping[str, Any]] = (),
) -> list[SummaryLine]:
    """The headlines on one model in lines, by verdict in the order of `ORDER`, and what a detected
    effect does not show.

    The first `MOST_IN_FULL` headlines have all their lines, the others of a verdict share one.
    `rows`: of figures, on one model; `headings`: those of headlines; `planted`: what was recorded
    of the instrument's headlines on planted models (`planted_rows`).
    """
    rows = list(rows)
    headlines = sorted(filter(is_headline, rows), key=_sort_key)
    if not headlines:
        reasons = dict.fromkeys(
            str(row["why"]) for row in rows if row.get("verdict") == Verdict.INVALID
        )
        return [SummaryLine(str(Verdict.INVALID), why) for why in reasons] or [
            SummaryLine("", NOTHING)
        ]
    has_several_labels = len({model_label(row) for row in headlines}) > 1
    in_full = [row for row in headlines if row["verdict"] != Verdict.INVALID][:MOST_IN_FULL]
    lines: list[SummaryLine] = []
    for verdict in ORDER:
        rest: list[Mapping[str, Any]] = []
        for row in headlines:
            if row["verdict"] != verdict:
                continue
            if not any(row is shown for shown in in_full):
                rest.append(row)
                continue
            words = find_heading(row, headings)
            name = ""
            if len(headlines) > 1:
                name = f"{headline_name(row, words, has_several_labels)}: "
            first, *further = headline_lines(row, words, planted)
            lines += [SummaryLine(first.label, f"{name}{first.text}"), *further]
        lines += _shared_lines(verdict, rest, headings, has_several_labels, len(headlines))
    beyond = _what_is_not_shown(headlines, headings)
    return [*lines, *(SummaryLine("", sentence) for sentence in beyond)]


def _sort_key(row: Mapping[str, Any]) -> tuple[int, float, str]:
    """By verdict, the largest relative to their bounds first, then by dimensions."""
    relative_size = abs(row.get("value") or 0.0) / row["bound"]
    place = ORDER.index(Verdict(row["verdict"]))
    return place, -relative_size, figure_key(dimensions_of(row))


def headline_name(row: Mapping[str, Any], words: "Worded | None", with_label: bool = False) -> str:
    """What tells a headline from the others of its instrument: heading, part and, `with_label`, the
    label of its model: "gain (seed)".
    """
    heading = words.heading if words else str(row["figure"]).replace("_", " ")
    part = part_of_instrument(row, words)
    distinctions = [] if part == WHOLE else [part]
    if with_label:
        distinctions.append(model_label(row))
    return f"{heading} ({', '.join(distinctions)})" if distinctions else heading


def _shared_lines(
    verdict: Verdict,
    rows: Sequence[Mapping[str, Any]],
    headings: "Sequence[Worded]",
    with_label: bool,
    n_headlines: int,
) -> list[SummaryLine]:
    """A line for the headlines of a verdict that have none in full; invalid ones have a line a
    reason.
    """
    if not rows:
        return []
    names = [headline_name(row, find_heading(row, headings), with_label) for row in rows]
    if verdict != Verdict.INVALID:
        text = f"{len(rows)} more: {'; '.join(names)}."
        return [SummaryLine(str(verdict), text)]
    names_by_reason: dict[str, list[str]] = {}
    for row, name in zip(rows, names, strict=True):
        names_by_reason.setdefault(str(row["why"]), []).append(name)
    lines: list[SummaryLine] = []
    for why, invalid_names in names_by_reason.items():
        whose = f"{'; '.join(invalid_names)}: " if len(invalid_names) < n_headlines else ""
        lines.append(SummaryLine(str(verdict), f"{whose}{why}"))
    return lines


def _what_is_not_shown(
    headlines: Sequence[Mapping[str, Any]], headings: "Sequence[Worded]"
) -> list[str]:
    """What headlines that assert something do not show, each sentence once."""
    sentences: dict[str, None] = {}
    for row in headlines:
        words = find_heading(row, headings)
        if words is not None and words.not_shown and Verdict(row["verdict"]).asserts:
            sentences[words.not_shown] = None
    return list(sentences)


def headline_lines(
    row: Mapping[str, Any],
    words: "Worded | None",
    planted: Sequence[Mapping[str, Any]] = (),
) -> list[SummaryLine]:
    """The lines of a headline: its verdict, what it is compared with, what would be detected.

    An invalid headline has the first alone, since its numbers say nothing; one that is only
    described has no third, and a second where it is compared.
    """
    verdict = Verdict(row["verdict"])
    first = SummaryLine(verdict_words(row, words), claim_text(row, words))
    if verdict == Verdict.INVALID or row.get("value") is None:
        return [first]
    compared = SummaryLine("compared", comparison_text(row, words))
    if verdict == Verdict.DESCRIPTIVE:
        return [first, compared] if row.get("percentile") is not None else [first]
    return [first, compared, SummaryLine("sensitive", sensitivity_text(row, words, planted))]


def verdict_words(row: Mapping[str, Any], words: "Worded | None") -> str:
    """The verdict with its bound: "detected, below 2-fold"."""
    verdict = Verdict(row["verdict"])
    bound = bound_text(row["bound"], words)
    shown = [f"{word} {bound}" if word == Verdict.BELOW else word for word in verdict.words]
    return ", ".join(shown)


def claim_text(row: Mapping[str, Any], words: "Worded | None") -> str:
    """What a headline says, as the text that stands after its verdict.

    Invalid, or without a number: the reason. With parts: sentences about the whole and its parts.
    Detected: the amount with its direction, as the heading words it. Else the amount alone, with
    the bound, or with the reason where the figure is only described. `words`: the figure's heading;
    None where its family declares none.
    """
    verdict = Verdict(row["verdict"])
    why = str(row.get("why") or "")
    if verdict == Verdict.INVALID:
        return why
    if row.get("value") is None:
        return f"No number: {row.get('reason') or 'no reason is given'}."
    if row.get("in_parts"):
        not_below = _not_below_text(row, words) if verdict == Verdict.INCONCLUSIVE else ""
        sentences = [row["in_parts"], not_below, row.get("note"), coverage_text(row)]
        return " ".join(filter(None, sentences))
    heading = words.heading if words else str(row["figure"]).replace("_", " ")
    amount = amount_text(row, words)
    if verdict.is_detected:
        clause = _detected_clause(row, words) or f"{heading}: {amount}"
        sentences = [with_capital(f"{clause}."), row.get("note")]
    elif verdict == Verdict.BELOW:
        bound = bound_text(row["bound"], words)
        sentences = [with_capital(f"{heading}: {amount}; less than {bound} either way.")]
    elif verdict == Verdict.INCONCLUSIVE:
        first = with_capital(f"{heading}: {amount}{_undetected_text(row)}.")
        sentences = [first, _not_below_text(row, words)]
    else:
        sentences = [with_capital(f"{heading}: {amount}."), why]
    return " ".join(filter(None, [*sentences, coverage_text(row)]))


def _undetected_text(row: Mapping[str, Any]) -> str:
    """Why nothing is detected, as the end of a sentence: p, and the interval where p alone would
    do.
    """
    p = row.get("p")
    why = str(row.get("why") or "")
    if p is None:
        reason, _, _ = why.partition(" Not below")
        return f". {reason}".rstrip(". ")
    text = f", p {p:.2g}: not detected"
    if p > ALPHA:
        return text
    reason, _, _ = why.removeprefix("Not detected: ").partition(". ")
    return f"{text}, since {reason}" if reason else text


def _not_below_text(row: Mapping[str, Any], words: "Worded | None") -> str:
    """Why an inconclusive headline is not below its bound, a sentence with both numbers in the unit
    of its heading.
    """
    bound = bound_text(row["bound"], words)
    if not row.get("positive_control"):
        return f"Not below {bound}: no positive control was asked."
    written = NOT_BELOW.search(str(row.get("why") or ""))
    reason = written["reason"] if written else ""
    control = row.get("positive_value")
    if reason.startswith(": the positive control") and control is not None:
        reason = f": the positive control reads {in_unit(control, words)} alone"
    return f"Not below {bound}{reason}."


def coverage_text(row: Mapping[str, Any]) -> str:
    """The levels that have answers, where others of the design have none: "Over 54 of 79 targets.";
    empty where none is missing.
    """
    facets = str(row.get("facets") or "").split(", ")
    lacking = [facet for facet in facets if " of " in facet]
    return f"Over {', '.join(lacking)}." if lacking else ""


def _detected_clause(row: Mapping[str, Any], words: "Worded | None") -> str:
    """What the sign of a value says of a model, with its amount; empty where no heading says so."""
    if words is None or not words.says:
        return ""
    clause: str = words.says[row["value"] < 0]
    if AMOUNT in clause:
        return clause.replace(AMOUNT, amount_text(row, words, is_directed=True))
    written = amount_text(row, words, is_directed=True, as_declared=True)
    return f"{clause} {written}"


def amount_text(
    row: Mapping[str, Any],
    words: "Worded | None",
    *,
    is_directed: bool = False,
    as_declared: bool = False,
) -> str:
    """A value with its interval, in a unit that people know: "5.8-fold [3.0, 11]".

    `is_directed`: its size alone, as the words beside it say its direction; `as_declared`: as the
    heading's `size` writes it ("by a factor of 5.8").
    """
    value = row["value"]
    low, high = row.get("low"), row.get("high")
    if is_directed and value < 0:
        value = -value
        if low is not None and high is not None:
            low, high = -high, -low
    if as_declared and words is not None and words.size:
        text = words.size.format(**_number_by_field(value))
    else:
        text = in_unit(value, words)
    if low is None or high is None:
        return text
    ends = [_written_number(end, words) for end in (low, high)]
    return f"{text} [{', '.join(ends)}]"


def bound_text(bound: float, words: "Worded | None") -> str:
    """A bound in the unit of its heading, without final zeros: "2-fold"."""
    return in_unit(bound, words, without_zeros=True)


def in_unit(value: float, words: "Worded | None", *, without_zeros: bool = False) -> str:
    """A value with two digits in the unit of its heading: "5.8-fold", "25 points", "60%"."""
    number = _written_number(value, words)
    if without_zeros:
        number = f"{float(number):g}"
    field = _field_of_size(words)
    if field == "factor":
        return f"{number}-fold"
    if field == "points":
        return f"{number} percentage points"
    if field == "share":
        return f"{number}%"
    unit = words.measured_in if words else ""
    return f"{number} {unit}".rstrip()


def _written_number(value: float, words: "Worded | None") -> str:
    """A value with two digits in the unit of its heading; a factor near 1 with two decimals, since
    1.0-fold would be none at all.
    """
    number = _convert_unit(value, words)
    if _field_of_size(words) == "factor" and abs(number - 1) < NEAR_ONE:
        return f"{number:.2f}"
    return two_digits(number)


def _convert_unit(value: float, words: "Worded | None") -> float:
    """A value as the number that its heading writes: nats as a factor, a share in percent."""
    return _number_by_field(value)[_field_of_size(words)]


def _number_by_field(value: float) -> dict[str, float]:
    """A value by the fields of `FigureHeading.size`."""
    return {
        "size": value,
        "points": 100 * value,
        "factor": math.exp(min(value, 100)),
        "share": 50 * (1 + value),
    }


def _field_of_size(words: "Worded | None") -> str:
    """The field that the heading's `size` is written with."""
    for _, field, _, _ in Formatter().parse(words.size if words else ""):
        if field:
            return field
    return "size"


def two_digits(number: float) -> str:
    """A number with two significant digits, but no digit of its whole part lost and at most three
    decimals: "25", "5.8", "0.82".
    """
    if number == 0:
        return "0"
    decimals = 1 - math.floor(math.log10(abs(number)))
    return f"{number:z.{min(max(decimals, 0), 3)}f}"


def comparison_text(row: Mapping[str, Any], words: "Worded | None") -> str:
    """The second line of a headline: the share of alternatives that it is further from 0 than."""
    if not row.get("alternatives"):
        return "With nothing: no reference set was asked."
    alternatives = words.alternatives if words else ""
    if not alternatives:
        alternatives = f"alternatives from {row['reference_set']}"
    if row.get("percentile") is None:
        return (
            f"With none of {row['alternatives']:.0f} {alternatives} alone: it is the furthest of "
            "several, for which its p allows."
        )
    share = f"{row['percentile']:.0f}%"
    low, high = row.get("percentile_low"), row.get("percentile_high")
    if low is not None and high is not None:
        share += f" [{low:.0f}, {high:.0f}]"
    n_alternatives = f"{row['alternatives']:.0f}"
    text = f"More than {share} of {n_alternatives} {alternatives}."
    if row["percentile"] >= 100:
        text = f"More than all {n_alternatives} {alternatives} ({share})."
    if row.get("same_test") is not None:
        n_detected = f"{100 * row['same_test']:.2g}"
        text += f" (Of 100 such, the same test detects {n_detected}.)"
    return text


def sensitivity_text(
    row: Mapping[str, Any],
    words: "Worded | None",
    planted: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The third line of a headline: what would be detected, here and of what was planted, and the
    positive control.
    """
    if row.get("detects") is None:
        detects = "What it would detect is not known"
    else:
        detects = f"It detects {in_unit(row['detects'], words)} in 8 of 10 studies"
    dose = dose_text(row, planted)
    after = f"; planted, {dose}" if dose else ""
    return f"{detects}{after}. {with_capital(control_text(row, words))}."


def control_text(row: Mapping[str, Any], words: "Worded | None") -> str:
    """The positive control of a headline: "brides and monks: 25-fold, detected"."""
    if not row.get("positive_control"):
        return "no positive control was asked"
    name, value = row["positive_control"], row.get("positive_value")
    if value is None:
        return f"{name}: not measured"
    p, low = row.get("positive_p"), row.get("positive_low")
    is_detected = p is not None and p <= ALPHA and low is not None and low > 0
    outcome = "detected" if is_detected else "not detected"
    return f"{name}: {in_unit(value, words)}, {outcome}"


def carriers_text(row: Mapping[str, Any], words: "Worded | None") -> str:
    """Who carries a detected headline: its units at either end; empty where it names none."""
    if not Verdict(row["verdict"]).is_detected or not row.get("highest_units"):
        return ""
    if words is None or not words.ends:
        return f"Highest: {row['highest_units']}; lowest: {row['lowest_units']}."
    most = f"Most {words.ends[0]}: {row['highest_units']}"
    return f"{most}; most {words.ends[1]}: {row['lowest_units']}."


def describe_planted(planted: Sequence[Mapping[str, Any]]) -> str:
    """One sentence on how an instrument responds to planted associations; empty without a plant of
    its own construct.

    `planted`: what was recorded of its headlines (docs/weights.md): `plant`, `own`, `verdict`
    (`invalid` or null), and `planted`, by dose the number of models, of those that differ from dose
    0 in the planted direction, and of those that differ in the opposite one.
    """
    same_construct = [record for record in planted if record["own"]]
    if not same_construct:
        return ""
    plants = ", ".join(sorted({record["plant"] for record in same_construct}))
    valid = [record for record in same_construct if record["verdict"] != Verdict.INVALID]
    if not valid:
        return (
            f"The benchmark's sensitivity to planted associations ({plants}) is unknown: it is "
            "invalid on these models."
        )
    most_sensitive = max(valid, key=lambda record: _count_changed(record, "detected"))
    doses = sort_counts(most_sensitive)
    if not doses:
        return f"No model with a planted association ({plants}) was compared with one of dose 0."
    counts = [f"{count_text(doses[0])} models"]
    counts += [count_text(dose, with_unit=False) for dose in doses[1:]]
    text = f"Of a planted association ({plants}) it detects {', '.join(counts)}"
    headline = most_sensitive["figure"], most_sensitive["key"]
    n_others, n_changed = 0, 0
    for record in planted:
        if not record["own"] and (record["figure"], record["key"]) == headline:
            n_others += _count_changed(record, "n")
            n_changed += _count_changed(record, "detected") + _count_changed(record, "opposite")
    added = f"; another plant changes it in {n_changed} of {n_others}" if n_others else ""
    return f"{text}{added}."


def _count_changed(record: Mapping[str, Any], what: str) -> int:
    """A count of models over all doses."""
    return sum(int(dose[what]) for dose in sort_counts(record))
