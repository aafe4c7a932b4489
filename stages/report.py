"""Write the report: tables of the diagnosis -> `data/report/index.html`."""

from collections.abc import Mapping, Sequence

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments import convergent
from evenruler.instruments.card import Card
from evenruler.instruments.instrument import Declaration, Shown
from evenruler.instruments.registry import room
from evenruler.report import Instrument, Section, Told, render_page
from evenruler.report.page import Table
from evenruler.tables import read_frame
from evenruler.text.english import with_capital
from stages.files import (
    AGREED,
    DIAGNOSIS,
    EVIDENCE,
    REPORT,
    TABLES,
    BuiltFrames,
    declaration,
    plan_of,
    read_json,
    recorded,
)
from stages.running import run

FIGURES, PART = "figures", "part"


def main() -> None:
    """Write one page that opens from disk without network."""
    params = Declared()
    instruments: list[Instrument] = []
    shared: dict[str, list[Section]] = {}
    for family in params.active.families:
        own, shared[family] = _family(params, family)
        instruments += own
    if rows := convergent.lines(read_frame(AGREED)):
        parts = [Table(convergent.HEAD, rows)]
        shared["agreement"] = [Section(convergent.TITLE, convergent.TEXT, parts, first=True)]
    REPORT.mkdir(parents=True, exist_ok=True)
    title = "Even Ruler: what the instruments say, and how well they measure"
    page = render_page(title, _lead(params), instruments, models=params.active.models, shared=shared)
    (REPORT / "index.html").write_text(page, encoding="utf-8")


def _lead(params: Declared) -> str:
    tiny = " The models of the quick scale are small and quantised: they are here for trying things out."
    small = tiny if params.scale == "quick" else ""
    release = recorded()
    held = sum(file["rows"] for file in release["files"].values())
    replayed = (
        f" {held:,} answers of {', '.join(release['models'])} are recorded (release {release['release']}): who "
        "builds this page replays them, and asks a random hundredth again."
    )
    return (
        f"Instruments of Even Ruler on language models, at the {params.scale} scale: how large a bias or a score is, "
        f"how sure that is, and whether the instrument measures on the model at all.{small}{replayed if held else ''}"
    )


def _family(params: Declared, family: str) -> tuple[list[Instrument], list[Section]]:
    """Its instruments, and the sections about all of them."""
    declared = {name: declaration(params, name) for name in params.active.entry("families", family).instruments}
    built: Mapping[str, BuiltFrames] = {name: BuiltFrames(family, name) for name in declared}
    tables = {path.stem: read_frame(path) for path in sorted((DIAGNOSIS / family / TABLES).glob("*.parquet"))}
    of_family: list[Section] = room(family, "report").sections(
        Shown(
            sources={name: own.source for name, own in declared.items()},
            settings={name: own.settings for name, own in declared.items()},
            tables=tables,
            built=built,
        )
    )
    figures = tables[FIGURES]
    found = [
        _instrument(own, built[name], figures[figures["benchmark"] == name], _of(of_family, name))
        for name, own in declared.items()
    ]
    return found, _of(of_family, "")


def _of(sections: Sequence[Section], name: str) -> list[Section]:
    return [section for section in sections if section.instrument == name]


def _instrument(
    declared: Declaration, built: BuiltFrames, figures: pd.DataFrame, sections: Sequence[Section]
) -> Instrument:
    """Its words are those of its card."""
    plan = plan_of(declared.family, declared.name)
    evidence = read_json(DIAGNOSIS / declared.family / EVIDENCE / f"{declared.name}.json")
    card: Card = room(declared.family, "card").card(declared, built, plan, evidence["figures"])
    source = declared.source
    return Instrument(
        name=declared.benchmark,
        family=declared.family,
        title=source.title,
        sentence=f"{with_capital(source.construct_)}; {source.direction}.",
        columns=[*card.quality, *card.listed, *card.quality_of_any],
        figures=[
            Told(
                str(row[PART]),
                row["model"] if isinstance(row["model"], str) else "",
                str(row["figure"]),
                {str(key): value for key, value in row.items()},
            )
            for row in figures.to_dict("records")
        ],
        reading=card.reading,
        limits=card.limits,
        sections=sections,
    )


if __name__ == "__main__":
    run(main)
