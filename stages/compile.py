"""Compile one probe domain: `data/sources/probes/{d}.yaml` -> `data/built/probes/{d}/`."""

from pathlib import Path

from evenruler.declared import Declared
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.build import Compiled, compile_domain
from evenruler.instruments.probes.criterion import read_criterion
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.probes.source import load_probe_source
from evenruler.tables import write_table
from stages.running import BUILT, SOURCES, run


def main(domain: str) -> None:
    """Write every sentence of the domain, bare and framed, its templates, its attributes, and what was rejected."""
    settings = Declared().entry("probes", domain, ProbeSettings)
    source = load_probe_source(SOURCES / "probes" / f"{domain}.yaml", settings)
    criterion = read_criterion(source, SOURCES / "criteria")
    built = compile_domain(domain, source, settings, criterion)
    write_compiled(built, BUILT / "probes" / domain)
    print(f"{domain}: {len(built.probes):,} sentences, {len(built.rejected):,} rejected")


def write_compiled(built: Compiled, folder: Path) -> None:
    """The tables of a domain."""
    write_table(built.probes, schemas.PROBES, folder / "probes.parquet")
    write_table(built.framed, schemas.FRAMED, folder / "framed.parquet")
    write_table(built.templates, schemas.TEMPLATES, folder / "templates.parquet")
    write_table(built.attributes, schemas.ATTRIBUTES, folder / "attributes.parquet")
    write_table(built.rejected, schemas.REJECTED, folder / "rejected.parquet")


if __name__ == "__main__":
    run(main)
