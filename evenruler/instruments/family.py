"""What the modules of a family have that others use. A family is a package of
`evenruler.instruments` with a module (or package) of the same name for each class here.

`schemas.py` has columns of tables, `starter/` the templates of `evenruler new`. Of its family, a
module imports only `declare`, `schemas` and itself, `diagnose` also `ask`. `ask` and `diagnose` get
only published tables and the plan, so a benchmark can be measured from any place.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import pandas as pd
import pyarrow as pa
import typer

from evenruler.instruments.card import Card
from evenruler.instruments.instrument import (
    AnySettings,
    AskingMethods,
    BuiltInstrument,
    ColumnsByTable,
    Declaration,
    Evidence,
    FigureHeading,
    ModelMeta,
    Plan,
    PlanKeys,
    PlanT,
    Record,
    ReportInput,
    RequestBatch,
    SchemasByTable,
    SettingsT,
    Source,
    SourceT,
    Tables,
)
from evenruler.measurement.inputs import Resampling
from evenruler.measurement.verdicts import HeadlineTest
from evenruler.models.declarations import Catalogue
from evenruler.report.page import Section

if TYPE_CHECKING:
    from evenruler.instruments.probes.evolve import EvolutionResult
    from evenruler.models.model import Model


SourceT_co = TypeVar("SourceT_co", bound=Source, covariant=True)
PlanT_contra = TypeVar("PlanT_contra", bound=Plan, contravariant=True)


class DeclareModule(Protocol[SettingsT, SourceT_co, PlanT_contra]):
    """`declare`: what an entry of `instruments` and a source say."""

    Settings: type[SettingsT]
    """Of an entry of `instruments`."""

    def load(self, path: Path, settings: SettingsT, shared: Path) -> SourceT_co:
        """Read and check what users write."""

    def takes(self, catalogue: Catalogue, model: str, /) -> bool:
        """Whether the family asks a model."""

    def headings(self, plan: PlanT_contra) -> list[FigureHeading]:
        """The figures that readers are shown, described."""


class RowsModule(Protocol[SettingsT, SourceT]):
    """`rows`: what is asked about."""

    def build(
        self, declaration: Declaration[SettingsT, SourceT], catalogue: Catalogue
    ) -> BuiltInstrument:
        """Rows, rejected rows, and the plan."""


class AskModule(Protocol[PlanT]):
    """`ask`: requests to models, and scores made of their answers."""

    ANSWERS: SchemasByTable
    """The columns of answers that are stored, by table."""
    METHODS: AskingMethods
    """Ways of asking, the preferred first."""
    READS: ColumnsByTable
    """The columns of published tables that `ask` and `diagnose` read."""
    OPTIONAL_TABLES: frozenset[str]
    """Those of these tables that not every instrument of the family has."""
    PLANNED: PlanKeys
    """The keys of the plan that they read."""

    def requests(
        self, tables: Tables, plan: PlanT, answers: Tables, subject: ModelMeta
    ) -> Sequence[RequestBatch]:
        """The next requests; none once all is answered."""

    def scores(self, tables: Tables, plan: PlanT, answers: Tables, subject: ModelMeta) -> Tables:
        """Scores computed from answers."""

    def limited(self, tables: Tables, plan: PlanT, n: int) -> tuple[Tables, PlanT]:
        """Tables and plan for n units."""

    def keep_headline_rows(self, tables: Tables, plan: PlanT) -> Tables:
        """The tables without rows of which no headline is made; `all_rows` where there are none
        such.
        """


class DiagnoseModule(Protocol[PlanT]):
    """`diagnose`: figures. Tables that `TABLES` does not name are passed to `across` only. A family
    may also have `plots`: tables from which `dvc plots` draws.
    """

    TABLES: SchemasByTable
    """The tables of `figures` and `across` together."""

    def figures(
        self,
        name: str,
        tables: Tables,
        plan: PlanT,
        scores: Tables,
        subject: ModelMeta,
        resampling: Resampling,
    ) -> Tables:
        """One instrument on one model."""

    def across(self, records: Sequence[Record[PlanT]], resampling: Resampling) -> Tables:
        """All instruments on all models."""

    def contrast(self, first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
        """First minus second of one headline of two models, from their `HEADLINES`.

        A difference of spreads has no direction (`has_direction`). Without a `control`, `compare`
        takes the weaker positive control of the two headlines.
        """

    def evidence(self, tables: Tables) -> Mapping[str, Evidence]:
        """What cards show, by instrument."""


class SchemasModule(Protocol):
    """`schemas`: the columns of tables, which hold the dimensions of its figures."""

    FIGURES: pa.Schema
    HEADLINES: pa.Schema
    """The rows behind headlines."""


class HeadlineModule(Protocol):
    """`diagnose` of a family that has headlines."""

    def contrast(self, first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
        """First minus second of one headline of two models, from their `HEADLINES`.

        A difference of spreads has no direction (`has_direction`). Without a `control`, `compare`
        takes the weaker positive control of the two headlines.
        """


class ReportModule(Protocol[SettingsT, SourceT]):
    """`report`: texts and charts of the page."""

    def sections(self, shown: ReportInput[SettingsT, SourceT]) -> list[Section]:
        """The sections about one instrument or all."""


class CardModule(Protocol[SettingsT, SourceT, PlanT_contra]):
    """`card`: texts of a benchmark's card."""

    def card(
        self,
        declaration: Declaration[SettingsT, SourceT],
        tables: Tables,
        plan: PlanT_contra,
        evidence: Evidence,
    ) -> Card:
        """The card; `evidence` is that of this instrument."""


class EvolveModule(Protocol[SettingsT, SourceT]):
    """`evolve`, of a family whose settings may be `made_by` it."""

    def evolve(
        self,
        declaration: Declaration[SettingsT, SourceT],
        load: Callable[[str], "Model"],
        generations_folder: Path,
        replies: Path,
    ) -> "EvolutionResult":
        """Evolve what users wrote."""


class CommandsModule(Protocol):
    """`commands`, which a family may add to `evenruler`."""

    app: typer.Typer


@dataclass(frozen=True)
class Family(Generic[SettingsT, SourceT, PlanT]):
    """The modules of one family; each family's package has one, for mypy alone."""

    declare: DeclareModule[SettingsT, SourceT, PlanT]
    rows: RowsModule[SettingsT, SourceT]
    ask: AskModule[PlanT]
    diagnose: DiagnoseModule[PlanT]
    report: ReportModule[SettingsT, SourceT]
    card: CardModule[SettingsT, SourceT, PlanT]
    headlines: HeadlineModule | None = None
    """`diagnose` again, of a family that has headlines."""


AnyDeclareModule = DeclareModule[AnySettings, Source, Plan]
AnyRowsModule = RowsModule[AnySettings, Source]
AnyReportModule = ReportModule[AnySettings, Source]
AnyCardModule = CardModule[AnySettings, Source, Plan]
AnyEvolveModule = EvolveModule[AnySettings, Source]
