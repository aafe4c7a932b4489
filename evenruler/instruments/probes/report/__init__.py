"""Sections of the report on probes: sets of templates, and what evolved."""

from pathlib import Path

import pandas as pd

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.probes.declare.settings import Settings
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.schemas import GRADIENTS, HISTORY, select_comparable
from evenruler.report.page import Section
from evenruler.report.pictures import draw_sections, read_declarations
from evenruler.tables import concat_frames

DECLARED = read_declarations(Path(__file__).with_name("pictures.yaml"))


def sections(shown: ReportInput[Settings, ProbeSource]) -> list[Section]:
    """The sections of every instrument, those on evolution where it evolved."""
    last = _last_populations(shown)
    gradients = _evolved_rows(shown, "gradients", GRADIENTS.names)
    ranks = last[["benchmark", "run", "template", "place", "text"]]
    ranks = ranks.rename(columns={"place": "rank"})
    tables = {
        **shown.tables,
        "generations": select_comparable(shown.tables["generations"]),
        "last": last,
        "gradients": gradients.merge(ranks, on=["benchmark", "run", "template"]),
    }
    return draw_sections(DECLARED, shown.sources, tables)


def _last_populations(shown: ReportInput[Settings, ProbeSource]) -> pd.DataFrame:
    """The templates of the last generation of each run."""
    history = _evolved_rows(shown, "history", HISTORY.names)
    last = history.groupby(["benchmark", "run"])["generation"].transform("max")
    return history[history["generation"] == last]


def _evolved_rows(
    shown: ReportInput[Settings, ProbeSource], table: str, columns: list[str]
) -> pd.DataFrame:
    """A published table of all instruments that evolved."""
    frames = [pd.DataFrame(columns=[*columns, "benchmark"])]
    for name in shown.sources:
        if shown.settings[name].evolve:
            frames.append(shown.built[name][table].assign(benchmark=name))
    return concat_frames(frames)
