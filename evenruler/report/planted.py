"""What a headline detects of planted associations: the clause of its third line, and the same as
JSON (docs/weights.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenruler.measurement.dose_curve import FEWEST_DOSES, SHARE
from evenruler.measurement.figures import Verdict, dimensions_of, figure_key

PLANTED_NUMBERS: Final = (
    *("nats_per_unit", "threshold", "threshold_low", "threshold_high", "threshold_why"),
)
"""Fields of a planted record that `planted_as_json` takes as they are."""


def dose_text(row: Mapping[str, Any], planted: Sequence[Mapping[str, Any]]) -> str:
    """The smallest planted dose from which on most models show it, and the one below it: "1 nat in
    0 of 3 models, 2 in 6 of 6"; the largest where there is no such dose.

    Empty where there is no curve: fewer than three doses of the headline's construct. `row`: of the
    headline; `planted`: as in `sentences.describe_planted`.
    """
    key = row["figure"], figure_key(dimensions_of(row))
    counts: list[Mapping[str, Any]] = []
    for record in planted:
        if record["own"] and (record["figure"], record["key"]) == key:
            counts += sort_counts(record)
    if len(counts) < FEWEST_DOSES:
        return ""
    n_reliable = 0
    for count in reversed(counts):
        if count["detected"] < SHARE * count["n"]:
            break
        n_reliable += 1
    if not n_reliable:
        return f"{count_text(counts[-1])} models"
    *missed, shown = counts[: len(counts) - n_reliable + 1]
    if not missed:
        return f"{count_text(shown)} models"
    return f"{count_text(missed[-1])} models, {count_text(shown, with_unit=False)}"


def sort_counts(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The counts of a planted record by dose, the smallest dose first."""
    return sorted(record.get("planted") or [], key=lambda count: float(count["dose"]))


def count_text(count: Mapping[str, Any], *, with_unit: bool = True) -> str:
    """A count of detected models: "2 nats in 6 of 6"."""
    share = f"{count['detected']} of {count['n']}"
    dose = f"{count['dose']:g}"
    if with_unit:
        dose += " nat" if count["dose"] == 1 else " nats"
    return f"{dose} in {share}"


def planted_as_json(planted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What each headline detects of plants of its construct, as `evidence.json` and `result.json`
    have it: `figure`, `key` (its dimensions), `plant`, and `planted`, by dose in nats how many
    models there are (`n`) and in how many it is detected.

    `nats_per_unit`: planted nats that change the figure by one unit of it; `threshold`: the dose
    that is detected in 8 of 10 models, with its interval, or why there is none. Both are null where
    they are not known. Headlines that are invalid on these models are left out.
    Source: controls.md, section 9.
    """
    headlines: list[dict[str, Any]] = []
    for record in planted:
        if not record["own"] or record["verdict"] == Verdict.INVALID:
            continue
        counts: list[dict[str, Any]] = []
        for count in sort_counts(record):
            counts.append({name: count[name] for name in ("dose", "n", "detected")})
        fields = {name: record[name] for name in ("figure", "key", "plant")}
        numbers = {name: record.get(name) for name in PLANTED_NUMBERS}
        headlines.append({**fields, "planted": counts, **numbers})
    return headlines
