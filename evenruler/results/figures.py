"""Figures of a result: one by one, as a frame, as a plot, and as a piece of a page."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from evenruler.errors import UserError
from evenruler.tables.schemas import NUMBERS as OF_FIGURES
from evenruler.text.numbers import figure_in_words

if TYPE_CHECKING:
    import altair as alt

    from evenruler.results.record import Result


def figures_of(result: "Result") -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Part, label, name and record of every figure, sorted; what has no value of its own is none."""
    for part, of_part in sorted(result.figures.items()):
        for label, of_label in sorted(of_part.items()):
            for figure, record in sorted(of_label.items()):
                if isinstance(record, dict) and "value" in record:
                    yield part, label, figure, record


TEXTS: Final = ("benchmark", "version", "model", "revision", "part", "label", "figure", "role")
NUMBERS: Final = ("value", "low", "high")
CONTROLS: Final = tuple(name for name in OF_FIGURES if name not in NUMBERS)
NUMERIC: Final = {*OF_FIGURES, "n"}
SAID: Final = {"unit", "levels", "verdict", "why", "reason"}
COLUMNS: Final = {
    **dict.fromkeys(TEXTS, "string"),
    **dict.fromkeys(NUMBERS, "float64"),
    "n": "Int64",
    "unit": "string",
    **dict.fromkeys(CONTROLS, "float64"),
    **dict.fromkeys(("levels", "verdict", "why", "reason"), "string"),
    "prefixes": "bool",
    "limit": "Int64",
}
"""Of `load_results`, with their types."""


def as_frame(results: "Iterable[Result]") -> pd.DataFrame:
    """All figures of results, as `load_results` gives them."""
    rows = []
    for result in results:
        roles = {heading.figure: heading.role for heading in result.headings}
        rows += [
            {
                **{name: record[name] for name in COLUMNS.keys() & record.keys()},
                "benchmark": result.benchmark.name,
                "version": result.benchmark.version,
                "model": result.model.name,
                "revision": result.model.revision,
                "part": part,
                "label": label,
                "figure": figure,
                "role": roles.get(figure),
                "prefixes": result.settings.prefixes,
                "limit": result.settings.limit,
            }
            for part, label, figure, record in figures_of(result)
        ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def by_unit(made_of: pd.DataFrame, of: list[str]) -> "pd.Series[float]":
    """The mean of each unit, placebos left out: of the first pole, less that of the other where there is one."""
    poles = made_of[made_of["pole"] != 0].groupby([*of, "pole"])["value"].mean().unstack("pole")
    return pd.Series(poles.get(1, 0.0) - poles.get(-1, 0.0), index=poles.index, dtype="float64")


def as_html(result: "Result") -> str:
    """A piece of a page, as notebooks show it: the answer, and the headlines as a table."""
    rows = [
        [part, label, figure, figure_in_words(own), own.get("placebo", ""), own["verdict"], own.get("why", "")]
        for part, label, figure, own in figures_of(result)
        if "verdict" in own
    ]
    table = pd.DataFrame(rows, columns=["part", "asked", "figure", "value", "placebo", "verdict", "why"])
    told = [*result.answer, *(f"warning: {line}" for line in result.warnings)]
    return (
        f"<p><b>{escape(_title(result))}</b></p><ul>{''.join(f'<li>{escape(line)}</li>' for line in told)}</ul>"
        f"{table.to_html(index=False) if rows else ''}"
    )


def _title(result: "Result") -> str:
    version = result.folder.rpartition("@")[2]
    return f"{result.benchmark.name} {version} on {result.model.name}"


def forest(result: "Result") -> "alt.VConcatChart":
    """Headlines as points on their intervals, a panel a figure, with placebos (bars) and smallest effects (dashed).

    A placebo is a size, and drawn on the figure's side of 0. UserError where nothing has a verdict and a value, or
    altair is not installed.
    """
    try:
        import altair as alt
    except ModuleNotFoundError:
        remedy = "run `pip install 'evenruler[build]'`"
        raise UserError("a plot needs the package altair", where="plot", remedy=remedy) from None
    from evenruler.report.page import INK, ONE_HUE, QUIET  # which few need

    drawn: dict[str, list[dict[str, Any]]] = {}
    for part, label, figure, own in figures_of(result):
        if "verdict" in own and own["value"] is not None:
            where = f"{part}: {own['verdict']}" if label == result.model.name else f"{part}, {label}: {own['verdict']}"
            side, placebo, smallest = -1 if own["value"] < 0 else 1, own.get("placebo"), own.get("smallest")
            ends = {"more": smallest, "less": None if smallest is None else -smallest}
            beside = {"placebo": None if placebo is None else side * placebo, **ends}
            numbers = {key: own.get(key) for key in ("value", "low", "high")}
            drawn.setdefault(figure, []).append({"where": where, "why": own.get("why", ""), **numbers, **beside})
    if not drawn:
        raise UserError("no headline has a value and a verdict", where=result.folder, remedy="take another size")
    headings, panels = {one.figure: one for one in result.headings}, []
    for figure, rows in drawn.items():
        base = alt.Chart(pd.DataFrame(rows)).encode(y=alt.Y("where:N", title=None, axis=alt.Axis(labelLimit=500)))
        dashed = [
            base.mark_tick(color=QUIET, size=24, thickness=1, strokeDash=[2, 2]).encode(x=f"{end}:Q")
            for end in ("less", "more")
        ]
        name = headings[figure].heading if figure in headings else figure
        layers = alt.layer(
            base.mark_rule(color=QUIET).encode(x=alt.datum(0)),
            *dashed,
            base.mark_tick(color=INK, size=16, thickness=3).encode(x="placebo:Q"),
            base.mark_rule(color=ONE_HUE).encode(x=alt.X("low:Q", title=name), x2="high:Q"),
            base.mark_point(color=ONE_HUE, filled=True, opacity=1).encode(x="value:Q", tooltip=["value:Q", "why:N"]),
        )
        panels.append(layers.properties(width=420))
    return alt.vconcat(*panels, title=_title(result))
