"""Write the report: tables of the diagnosis -> `data/report/index.html`."""

from collections.abc import Mapping

from evenruler.declared import Declared
from evenruler.instruments.instrument import Shown
from evenruler.instruments.registry import FAMILIES, room
from evenruler.report import Section, render_page
from evenruler.tables import read_frame
from stages.files import DIAGNOSIS, REPORT, TABLES, BuiltFrames, declaration
from stages.running import run


def main() -> None:
    """Write one page that opens from disk without network."""
    params = Declared()
    parts = [part for family in FAMILIES if family in params.active.families for part in _sections(params, family)]
    REPORT.mkdir(parents=True, exist_ok=True)
    page = render_page("Even Ruler: what the instruments say, and how well they measure", _lead(params), parts)
    (REPORT / "index.html").write_text(page, encoding="utf-8")


def _lead(params: Declared) -> str:
    return (
        f"Scale: {params.scale}. Models: {', '.join(params.active.models)}. Values come with their 95% "
        "interval and the number of units they rest on. The models of the quick scale are small and quantised: "
        "they are here for trying things out."
    )


def _sections(params: Declared, family: str) -> list[Section]:
    declared = {name: declaration(params, name) for name in params.active.entry("families", family).instruments}
    built: Mapping[str, BuiltFrames] = {name: BuiltFrames(family, name) for name in declared}
    paths = sorted((DIAGNOSIS / family / TABLES).glob("*.parquet"))
    found: list[Section] = room(family, "report").sections(
        Shown(
            sources={name: own.source for name, own in declared.items()},
            settings={name: own.settings for name, own in declared.items()},
            tables={path.stem: read_frame(path) for path in paths},
            built=built,
        )
    )
    return found


if __name__ == "__main__":
    run(main)
