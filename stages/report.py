"""Write the report: tables of the diagnosis -> `data/report/index.html`."""

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.framing.source import load_contrast
from evenruler.instruments.probes.evolve.settings import evolved
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.probes.source import load_probe_source
from evenruler.instruments.questionnaires.corpora import load_corpus
from evenruler.instruments.questionnaires.settings import InterventionSettings, QuestionnaireSettings, corpora_at
from evenruler.instruments.questionnaires.source import load_questionnaire
from evenruler.instruments.saged.settings import DomainSettings, SagedSettings
from evenruler.instruments.saged.source import load_domain
from evenruler.report import Section, render_page, sections
from evenruler.tables import read_frame
from stages.running import BUILT, DIAGNOSIS, REPORT, SOURCES, run


def main() -> None:
    """Write one page that opens from disk without network."""
    params = Declared()
    parts = [
        *_probes(params),
        *_evolved(params),
        *_questionnaires(params),
        *_interventions(params),
        *_framing(params),
        *_domains(params),
    ]
    REPORT.mkdir(parents=True, exist_ok=True)
    page = render_page("Even Ruler: what the instruments say, and how well they measure", _lead(params), parts)
    (REPORT / "index.html").write_text(page, encoding="utf-8")


def _lead(params: Declared) -> str:
    models = list(dict.fromkeys([*params.active.models, *params.active.entailment]))
    return (
        f"Scale: {params.scale}. Models: {', '.join(models)}. Values come with their 95% "
        "interval and the number of units they rest on. The models of the quick scale are small and quantised: "
        "they are here for trying things out."
    )


def _probes(params: Declared) -> list[Section]:
    declared = params.entries("probes", ProbeSettings)
    if not declared:
        return []
    sources = {
        domain: load_probe_source(SOURCES / "probes" / f"{domain}.yaml", settings)
        for domain, settings in declared.items()
    }
    return sections.of_probes(sources, _tables("probes", "associations", "biases", "correlations", "figures"))


def _evolved(params: Declared) -> list[Section]:
    if not params.active.evolved:
        return []
    sources = {
        domain: load_probe_source(SOURCES / "probes" / f"{domain}.yaml", params.entry("probes", domain, ProbeSettings))
        for domain in params.active.evolved
    }
    tables = _tables("probes", "comparisons", "generations", "rewordings")
    for table in ("history", "gradients"):
        frames = [
            read_frame(BUILT / "probes" / evolved(domain) / f"{table}.parquet").assign(benchmark=evolved(domain))
            for domain in sources
        ]
        tables[table] = pd.concat(frames, ignore_index=True)
    domains = {evolved(domain): domain for domain in sources}
    return sections.of_evolution(
        sources, {name: table.assign(benchmark=table["benchmark"].map(domains)) for name, table in tables.items()}
    )


def _questionnaires(params: Declared) -> list[Section]:
    named = params.entries("questionnaires", QuestionnaireSettings)
    if not named:
        return []
    declared = {
        name: load_questionnaire(SOURCES / "questionnaires" / f"{name}.yaml", SOURCES / "scales") for name in named
    }
    tables = _tables("questionnaires", "cells", "figures", "population", "quality", "scales")
    return sections.of_questionnaires(declared, tables)


def _interventions(params: Declared) -> list[Section]:
    if not params.active.interventions:
        return []
    corpora = {
        name: load_corpus(SOURCES / "corpora" / f"{name}.yaml")
        for name in corpora_at(params.entries("interventions", InterventionSettings), params.scale)
    }
    return sections.of_interventions(corpora, _tables("questionnaires", "changes", "course", "trajectories"))


def _framing(params: Declared) -> list[Section]:
    declared = params.entries("contrasts", ContrastSettings)
    if not declared:
        return []
    contrasts = {
        name: load_contrast(SOURCES / "contrasts" / f"{name}.yaml", settings) for name, settings in declared.items()
    }
    names = (
        "comparisons",
        "continuations",
        "distributions",
        "effects",
        "exclusions",
        "figures",
        "replications",
        "shifts",
    )
    return sections.of_framing(contrasts, _tables("framing", *names))


def _domains(params: Declared) -> list[Section]:
    declared = params.entries("domains", DomainSettings)
    if not declared:
        return []
    sources = {name: load_domain(SOURCES / "domains" / f"{name}.yaml") for name in declared}
    names = ("context_bias", "disparities", "figures", "rates", "summaries", "tool_bias", "topics", "verdicts")
    return sections.of_saged(sources, params.part("saged", SagedSettings), _tables("saged", *names))


def _tables(family: str, *names: str) -> dict[str, pd.DataFrame]:
    return {name: read_frame(DIAGNOSIS / family / f"{name}.parquet") for name in names}


if __name__ == "__main__":
    run(main)
