"""What a result says, in sentences: the same on the terminal, on cards and on the page."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from evenruler.measurement.figures import ASSERTED, ORDER, Verdict, model_label
from evenruler.measurement.headings import find_heading, part_of_instrument
from evenruler.text.spelling import with_capital

if TYPE_CHECKING:
    from evenruler.instruments.instrument import FigureHeading
    from evenruler.results.record import Heading

    Worded: TypeAlias = FigureHeading | Heading
    """The words for a figure: declared by an instrument, or read from a result."""
    WordedHeadline: TypeAlias = tuple[str, Worded, Mapping[str, Any]]
    """A headline: its part, its words and its row."""

FIRST: Final = (Verdict.INVALID, *(verdict for verdict in ORDER if verdict != Verdict.INVALID))
"""Order of verdicts in answers: invalid first, then what was found."""

SENTENCES, REASONS = 3, 3
"""Most findings with a sentence each; most reasons for headlines that share a line."""

NOTHING: Final = "NO VERDICT: all figures are descriptive"


def summarise_headlines(
    rows: Iterable[Mapping[str, Any]], headings: "Sequence[Worded]"
) -> list[str]:
    """The headlines on one model in sentences, invalid ones first, and what a finding does not
    show.

    A line each for the `SENTENCES` largest findings, relative to their smallest relevant effects;
    other headlines with the same verdict share a line. `rows`: of figures, on one model;
    `headings`: those of headlines.
    """
    rows = list(rows)
    labels = {model_label(row) for row in rows}
    headlines_by_verdict: dict[Verdict, list[WordedHeadline]] = {}
    invalid: dict[str, None] = {}
    for row in rows:
        if "verdict" not in row:
            continue
        heading = find_heading(row, headings)
        if heading is not None:
            part = part_of_instrument(row, heading)
            if len(labels) > 1:
                part = f"{part}, {model_label(row)}"
            headline = (part, heading, row)
            headlines_by_verdict.setdefault(Verdict(row["verdict"]), []).append(headline)
        elif row["verdict"] == Verdict.INVALID:
            invalid[row["why"]] = None
    if not headlines_by_verdict and invalid:
        return [f"{Verdict.INVALID.upper()}: {' '.join(invalid)}"]
    lines: list[str] = []
    beyond: dict[str, None] = {}
    for verdict in FIRST:
        headlines = sorted(headlines_by_verdict.get(verdict, []), key=_sort_key)
        lines += _verdict_lines(verdict, headlines)
        if verdict in ASSERTED:
            beyond |= dict.fromkeys(
                heading.not_shown for _, heading, _ in headlines if heading.not_shown
            )
    return [*lines, *beyond] or [NOTHING]


def _verdict_lines(verdict: Verdict, headlines: "Sequence[WordedHeadline]") -> list[str]:
    """A line each for the first headlines of a verdict, and a line for all the rest."""
    if verdict in ASSERTED:
        n = SENTENCES
    else:
        n = 1 if len(headlines) == 1 else 0
    label = verdict.upper()
    lines: list[str] = []
    for part, heading, record in headlines[:n]:
        name = f"{heading.heading} ({part})"
        lines.append(f"{label}, {name}: {headline_sentence(record, heading)}")
    rest = headlines[n:]
    if rest:
        n_rest = f"{len(rest)} {'more' if n else 'headlines'}"
        lines.append(f"{label}, {n_rest}: {_group_headlines(rest)}")
    return lines


def _sort_key(headline: "WordedHeadline") -> tuple[float, str, str]:
    """Largest first, relative to the smallest relevant effect; then by part and heading."""
    part, heading, row = headline
    size = abs(row["value"] or 0)
    return -float(size / row.get("smallest", 1)), part, heading.heading


def _group_headlines(headlines: "Sequence[WordedHeadline]") -> str:
    """Headlines of one verdict by name, with their most frequent reasons."""
    parts: dict[str, list[str]] = {}
    for part, heading, _ in headlines:
        parts.setdefault(heading.heading, []).append(part)
    named = [
        f"{heading} ({'; '.join(dict.fromkeys(parts_of_heading))})"
        for heading, parts_of_heading in sorted(parts.items())
    ]
    all_reasons = [record.get("why") or record.get("reason") for *_, record in headlines]
    reasons = Counter(reason for reason in all_reasons if reason)
    for reason in list(reasons):
        if any(other.startswith(f"{reason} ") for other in reasons):
            del reasons[reason]  # the longer one says it, too
    frequent = [reason for reason, _ in reasons.most_common(REASONS)]
    n_more = len(reasons) - REASONS
    more = f" And {n_more} more reasons." if n_more > 0 else ""
    return f"{'; '.join(named)}. {' '.join(frequent)}{more}"


def headline_sentence(record: Mapping[str, Any], words: "Worded | None") -> str:
    """A headline in words, the same everywhere: direction, size, numbers, reason for the verdict,
    and who stands out.

    Direction, size and units at either end are stated only where something was found. `record` is
    that of a headline in `evidence.json`; without `words`, it is numbers and reason alone.
    """
    value = record.get("value")
    why = record.get("why") or ""
    verdict = record.get("verdict")
    if value is None or verdict == Verdict.INVALID:
        return str(why or record.get("reason") or "")
    clause = ""
    if words is not None and verdict in ASSERTED and words.says:
        size = abs(value)
        size_by_name = {
            "size": size,
            "points": 100 * size,
            "factor": math.exp(min(size, 100)),
            "share": 50 * (1 + size),
        }
        direction = words.says[value < 0]
        amount = words.size.format(**size_by_name)
        clause = " ".join(filter(None, (direction, amount))) + ": "
    numbers = _headline_numbers(record, words.measured_in if words else "")
    sentences = [with_capital(f"{clause}{numbers}."), why]
    names_units = verdict == Verdict.EFFECT and record.get("highest_units")
    if words is not None and words.ends and names_units:
        most = f"Most {words.ends[0]}: {record['highest_units']}"
        least = f"most {words.ends[1]}: {record['lowest_units']}"
        sentences.append(f"{most}; {least}.")
    return " ".join(filter(None, sentences))


def _headline_numbers(record: Mapping[str, Any], measured_in: str) -> str:
    """Value with its interval, placebo, part beyond placebos, and adjusted p."""

    def with_ends(value: str, low_key: str, high_key: str) -> str:
        low, high = record.get(low_key), record.get(high_key)
        if low is None or high is None:
            return value
        interval = f"[{low:z.2f}, {high:z.2f}]"
        return f"{value} {interval}".lstrip()

    unit = f" {measured_in}" if measured_in else ""
    numbers = [with_ends(f"{record['value']:z.2f}{unit}", "low", "high")]
    if record.get("placebo") is not None:
        numbers.append(f"placebo {record['placebo']:z.2f}")
        if record.get("specific") is not None:
            numbers.append(f"beyond placebos {with_ends('', 'specific_low', 'specific_high')}")
    if record.get("p_effect") is not None:
        numbers.append(f"p {record['p_effect']:.2g}")
    return ", ".join(numbers)


def of_planted(headlines: Sequence[Mapping[str, Any]]) -> str:
    """One sentence on how an instrument responds to planted associations; empty without a plant of
    its own construct.

    `headlines`: what was recorded of its headlines (docs/weights.md): `plant`, `own`, `verdict`,
    `low` and `high` of the sensitivity, `by` (whether it contrasts the plant's poles), and
    `threshold`, a dose in nats or None.
    """
    construct_headlines = [headline for headline in headlines if headline["own"]]
    plants = ", ".join(sorted({headline["plant"] for headline in construct_headlines}))
    fit = [headline for headline in construct_headlines if headline["verdict"] != Verdict.INVALID]
    if not construct_headlines:
        return ""
    if not fit:
        return (
            f"The benchmark's sensitivity to planted associations ({plants}) is unknown: it is "
            "invalid on these models."
        )
    # A change that is no contrast of the plant's poles counts only if it is relevant.
    counted_headlines = [
        headline for headline in fit if headline.get("by") or headline["verdict"] == Verdict.EFFECT
    ]
    doses = [headline["threshold"] for headline in fit if headline["threshold"]]
    if doses:
        what = f"The benchmark detects a planted association of {min(doses):g} nats"
    elif any((headline["low"] or 0) > 0 for headline in counted_headlines):
        what = (
            "The benchmark responds to a planted association, too weakly to detect it in one model"
        )
    elif any((headline["high"] or 0) < 0 for headline in counted_headlines):
        what = "The benchmark responds to a planted association with the opposite sign"
    else:
        what = "The benchmark does not respond to a planted association"
    other_plants = sorted(
        {
            headline["plant"]
            for headline in headlines
            if not headline["own"] and headline["verdict"] == Verdict.EFFECT
        }
    )
    added_clause = (
        f"; it also responds to other constructs ({', '.join(other_plants)})"
        if other_plants
        else ""
    )
    return f"{what} ({plants}){added_clause}."
