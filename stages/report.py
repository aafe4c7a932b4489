"""Write the report: tables of the diagnosis -> `data/report/index.html`."""

import pandas as pd

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments import agreement
from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import figure_rows
from evenruler.report import robustness
from evenruler.report.known import known_findings
from evenruler.report.page import Section, Table, render_page
from evenruler.report.sentences import describe_planted
from evenruler.report.views import InstrumentView, make_figure_cell
from evenruler.tables import read_frame
from evenruler.tables.frames import for_people
from evenruler.text.spelling import with_capital
from stages import files
from stages.running import run


def main() -> None:
    """Write one page that opens from disk without network."""
    params = ParamsFile()
    instruments, shared = build_views(params)
    rows = agreement.mtmm_rows(read_frame(files.AGREED))
    if rows:
        table = Table(agreement.HEAD, rows)
        shared["agreement"] = [Section(agreement.TITLE, agreement.TEXT, [table])]
    files.REPORT.mkdir(parents=True, exist_ok=True)
    page = render_page(
        "Even Ruler: what the instruments say, and whether they can read",
        _introduction_text(params),
        instruments,
        shared=shared,
        of_known_models=known_findings(pd.read_csv(files.KNOWN, keep_default_na=False)),
    )
    (files.REPORT / "index.html").write_text(page, encoding="utf-8")


def build_views(params: ParamsFile) -> tuple[list[InstrumentView], dict[str, list[Section]]]:
    """All instruments, and the sections about several by family; under "", the table of all."""
    instruments: list[InstrumentView] = []
    shared: dict[str, list[Section]] = {}
    for family in params.active.families:
        family_instruments, shared[family] = _family_views(params, family)
        instruments += family_instruments
    return instruments, {
        "": [robustness.overview_section(instruments, read_frame(files.AGREED))],
        **shared,
    }


def _introduction_text(params: ParamsFile) -> str:
    """The sentences below the page's title: what it shows, a caution about tiny models in the
    profile `quick`, and how many recorded answers were replayed.
    """
    sentences = [
        "How large a bias is, how sure that is, and whether the instrument can read it on this "
        "model."
    ]
    if params.profile == "quick":
        sentences.append(
            "The models measured here are small and quantised: they are for trying things out."
        )
    release = files.read_release_metadata()
    n_recorded = sum(file["rows"] for file in release["files"].values())
    if n_recorded:
        sentences.append(
            f"Building this page replays {n_recorded:,} stored answers (release "
            f"{release['release']}) and checks 1% of them against the models."
        )
    return " ".join(sentences)


def _family_views(params: ParamsFile, family: str) -> tuple[list[InstrumentView], list[Section]]:
    """The family's instruments, in the words of their cards, and the sections about all of them."""
    names = params.active.entry("families", family).instruments
    declared = {name: files.read_declaration(params, name) for name in names}
    built = {name: files.LazyTables(family, name) for name in declared}
    folder = files.DIAGNOSIS / family / files.TABLES
    tables = {path.stem: read_frame(path) for path in sorted(folder.glob("*.parquet"))}
    report_input = ReportInput(
        sources={name: instrument.source for name, instrument in declared.items()},
        settings={name: instrument.settings for name, instrument in declared.items()},
        tables=tables,
        built=built,
    )
    sections = family_module(family, "report").sections(report_input)
    sections_by_name: dict[str, list[Section]] = {}
    for name in ("", *declared):
        sections_by_name[name] = [section for section in sections if section.instrument == name]
    figures = tables["figures"]
    views: list[InstrumentView] = []
    for name, declaration in declared.items():
        evidence = files.evidence_of(family, name)["figures"]
        card = family_module(family, "card").card(
            declaration, built[name], files.plan_of(family, name), evidence
        )
        columns = [*card.quality, *card.listed, *card.quality_of_any]
        instrument_rows = figure_rows(figures[figures["benchmark"] == name])
        figure_cells = [make_figure_cell(for_people(row), columns) for row in instrument_rows]
        planted_results = files.read_planted_results(declaration.benchmark)
        construct = with_capital(declaration.source.construct_)
        sentence = f"{construct}; {declaration.source.direction}."
        card_path = files.BENCHMARKS / declaration.benchmark / "README.md"
        views.append(
            InstrumentView(
                name=declaration.benchmark,
                family=family,
                title=declaration.source.title,
                sentence=sentence,
                columns=columns,
                figures=figure_cells,
                planted=describe_planted(planted_results),
                planted_records=planted_results,
                card=str(card_path),
                sections=sections_by_name[name],
            )
        )
    return views, sections_by_name[""]


if __name__ == "__main__":
    run(main)
