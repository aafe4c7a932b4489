"""What instruments read of reference weights: the tables and the picture of `weights.md`, from what
is recorded.

`python docs/weights.py`, after `evenruler planted test ... --record`.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from evenruler.evaluate.readings import (
    HEADLINE,
    compare_doses_of_0,
    counts_in_words,
    planted_figures,
    threshold_of_counts,
)
from evenruler.evaluate.weigh import read_recorded_readings
from evenruler.measurement.figures import Verdict
from evenruler.training.plants import CURVE, SEEDS, load_plant, plant_names

PAGE, PICTURE = Path("docs/weights.md"), Path("docs/pictures/weights.svg")
WORDS = "share of models that are detected"


def _table(head: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def checks_table(checks: pd.DataFrame) -> Iterator[str]:
    """A row a plant and dose: nats in held-out sentences, and in its own, by seed."""
    nats = checks.set_index(["plant", "dose", "seed"])

    def rows() -> Iterator[list[str]]:
        for plant in plant_names():
            for dose in _doses_of(checks, plant):
                found = [
                    nats.loc[[one]] if (one := (plant, dose, seed)) in nats.index else None
                    for seed in SEEDS
                ]
                cells = [
                    "" if own is None else _nats(*own[["held_out", "own"]].iloc[0]) for own in found
                ]
                yield [f"`{plant}`", f"{dose:g}", *cells]

    return _table(["plant", "dose", *(f"seed {seed}" for seed in SEEDS)], rows())


def _doses_of(checks: pd.DataFrame, plant: str) -> list[float]:
    """The doses of a plant, 0 first, and those of the other pole last."""
    doses: set[float] = set(checks.loc[checks["plant"] == plant, "dose"])
    return sorted(doses, key=lambda dose: (dose < 0, dose))


def _nats(held_out: float, own: float) -> str:
    return "not reached" if pd.isna(own) else f"{held_out:z.2f} ({own:z.2f})"


def matrix(found: pd.DataFrame) -> Iterator[str]:
    """A row a headline, a column a plant; what is of its construct in bold."""

    def rows() -> Iterator[list[str]]:
        for (benchmark, figure, key), own in found.groupby(HEADLINE, sort=False):
            cells = {row["plant"]: _cell(row) for row in own.to_dict("records")}
            yield [
                f"`{benchmark}`: {figure}, {key}",
                *(cells.get(plant, "") for plant in plant_names()),
            ]

    return _table(["headline", *(f"`{plant}`" for plant in plant_names())], rows())


def _cell(row: dict[Hashable, Any]) -> str:
    signs = "" if pd.isna(row["correlation"]) else f"; r {row['correlation']:z.2f}"
    value, low, high = (f"{row[name]:z.2g}" for name in ("sensitivity", "low", "high"))
    amount = "none" if pd.isna(row["sensitivity"]) else f"{value} [{low}, {high}]"
    if row["verdict"] == Verdict.INVALID:
        counts = f"{Verdict.INVALID} on {row['unfit']}"
    else:
        counts = counts_in_words(row["planted"])
    words = f"{amount}{signs}; {counts}"
    return f"**{words}**" if row["own"] else words


def curves(found: pd.DataFrame) -> Iterator[str]:
    """A row a headline, of the plants of its construct: how many models are detected by dose, and
    the dose that 8 of 10 show.
    """
    doses = [dose for dose in CURVE if dose]

    def rows() -> Iterator[list[str]]:
        for record in found[found["own"]].to_dict("records"):
            if record["verdict"] == Verdict.INVALID:
                continue
            counts = {count["dose"]: count for count in record["planted"]}
            cells: list[str] = []
            for dose in doses:
                count = counts.get(dose)
                cells.append(f"{count['detected']} of {count['n']}" if count else "")
            yield [_headline_name(record), *cells, _threshold(record["planted"])]

    return _table(["headline", *(f"{dose:g}" for dose in doses), "8 of 10 models"], rows())


def _headline_name(record: Mapping[Hashable, Any]) -> str:
    return f"`{record['benchmark']}`: {record['figure']}, {record['key']}"


def _threshold(counts: Sequence[Mapping[str, Any]]) -> str:
    """The dose that 8 of 10 models show, with its interval; or why there is none."""
    threshold = threshold_of_counts(counts)
    low, high = ("open" if end is None else f"{end:.1f}" for end in (threshold.low, threshold.high))
    dose = threshold.why if threshold.dose is None else f"{threshold.dose:.1f} [{low}, {high}]"
    between = ""
    if threshold.between is not None:
        missed, shown = threshold.between
        between = f"; between {missed:g} and {shown:g}"
    return f"{dose}{between}"


def pairs(nothing: pd.DataFrame) -> Iterator[str]:
    """A row for pairs of one plant and one for those of two: how many are detected."""

    def rows() -> Iterator[list[str]]:
        for same, rows_of_pairs in nothing.groupby("same"):
            which = "that learned the same sentences" if same else "of two plants"
            n_detected = int(rows_of_pairs["detected"].sum())
            yield [which, str(len(rows_of_pairs)), str(n_detected)]

    return _table(["pairs of dose 0", "n", "detected"], rows())


def picture(found: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """How many models are detected, a row a headline and a column a dose; of plants of its
    construct.
    """
    rows: list[dict[str, Any]] = []
    for record in found[found["own"]].to_dict("records"):
        name = f"{record['benchmark']}: {record['figure']}, {record['key']}"
        for count in record["planted"]:
            detected, n = count["detected"], count["n"]
            words = f"{detected} of {n}"
            cell = {"headline": name, "dose": count["dose"], "share": detected / n, "words": words}
            rows.append(cell)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("dose:O", title="planted, nats", axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("headline:N", sort=None, title=None, axis=alt.Axis(labelLimit=640)),
    )
    scale = alt.Scale(domain=[0, 1], range=["#f1eff4", "#1b6f78"])
    shares = base.mark_rect().encode(color=alt.Color("share:Q", title=WORDS, scale=scale))
    is_dark = alt.datum["share"] > 0.5
    ink = alt.when(is_dark).then(alt.value("white")).otherwise(alt.value("#333333"))
    counts = base.mark_text().encode(text="words:N", color=ink)
    padding = {"left": 50, "right": 50, "top": 5, "bottom": 5}  # fonts of browsers are wider
    return alt.layer(shares, counts).properties(width=360, padding=padding)


def page(found: pd.DataFrame, readings: pd.DataFrame, checks: pd.DataFrame) -> str:
    """The page with its tables."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {
        "checks": checks_table(checks),
        "curves": curves(found),
        "matrix": matrix(found),
        "pairs": pairs(compare_doses_of_0(readings, checks)),
    }
    for name, lines in tables.items():
        begin, end = f"<!-- {name}: python docs/weights.py -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = "\n".join([before + begin, *lines, end]) + rest.partition(end)[2]
    return text


def main() -> None:
    """Write the tables and the picture."""
    readings, checks = read_recorded_readings()
    found = planted_figures(
        readings, checks, {name: load_plant(name).read_by for name in plant_names()}
    )
    PAGE.write_text(page(found, readings, checks), encoding="utf-8")
    picture(found).save(PICTURE)


if __name__ == "__main__":
    main()
