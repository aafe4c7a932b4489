"""Diagnose the instruments of a family on the models that answered: answers ->
`data/diagnosis/{family}/`.
"""

from collections.abc import Iterator

import pandas as pd

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.diagnosing import (
    as_metrics,
    diagnose_family,
    headline_table,
    require_confirmed,
)
from evenruler.instruments.instrument import INSTRUMENT, ModelMeta, Plan, Record, Tables
from evenruler.instruments.registry import family_module
from evenruler.tables import read_frame, write_table
from evenruler.tables.frames import for_people
from stages import files
from stages.held import keep_held
from stages.running import run


def main(family: str) -> None:
    """Write the tables of the diagnosis, the tracked figures, and the evidence for each card."""
    params = ParamsFile()
    door, folder = family_module(family, "diagnose"), files.DIAGNOSIS / family
    records = list(_figure_records(params, family))
    tables = diagnose_family(door, records, params.resampling)
    for record in records:
        instrument_figures = tables["figures"][tables["figures"]["benchmark"] == record.instrument]
        require_confirmed(
            instrument_figures, family_module(family, "declare").headings(record.plan)
        )
    for name, schema in door.TABLES.items():
        rows = tables[name]
        write_table(
            rows[schema.names] if len(rows) else [],
            schema,
            folder / files.TABLES / f"{name}.parquet",
        )
    evidence = for_people(door.evidence(tables))  # rounded once, for all displays
    origins = {record.subject.name: record.subject.origin for record in records}
    for name in params.active.entry("families", family).instruments:
        figures = evidence.get(name, [])  # empty where no model could be asked
        path = folder / files.EVIDENCE / f"{name}.json"
        # The order of keys is that of dimensions.
        files.write_json({"models": origins, "figures": figures}, path, sort_keys=False)
    headlines = headline_table(evidence)
    files.write_json(as_metrics(headlines), folder / files.METRICS)
    keep_held(folder / files.METRICS)
    plots = {"headlines": headlines, **(door.plots(tables) if hasattr(door, "plots") else {})}
    (folder / files.PLOTS).mkdir(parents=True, exist_ok=True)
    for name, frame in plots.items():  # `dvc plots` reads CSV, not Parquet
        frame.to_csv(
            folder / files.PLOTS / f"{name}.csv",
            index=False,
            float_format="%.4f",
            lineterminator="\n",
        )
    for verdict, count in headlines["verdict"].value_counts(sort=False).items():
        plural = "s" if count > 1 else ""
        print(f"{count} headline{plural}: {verdict}")


def _figure_records(params: ParamsFile, family: str) -> Iterator[Record[Plan]]:
    """Every instrument on every model, with its figures."""
    ask, diagnose = family_module(family, "ask"), family_module(family, "diagnose")
    in_use = params.active.entry("families", family)
    built = files.read_tables_and_plans(family, in_use.instruments)

    def figures(name: str, subject: ModelMeta, answers: Tables) -> Tables:
        """Figures of one instrument on one model. Scores are freed on return: those of two may
        exceed memory.
        """
        tables, plan = built[name]
        instrument_answers: dict[str, pd.DataFrame] = {}
        for table, rows in answers.items():
            of_it = rows[rows[INSTRUMENT] == name].drop(columns=INSTRUMENT)
            instrument_answers[table] = of_it.reset_index(drop=True)
        scores = ask.scores(tables, plan, instrument_answers, subject)
        return diagnose.figures(name, tables, plan, scores, subject, params.resampling)

    for model in in_use.models:
        folder = files.ANSWERS / family / model
        subject = files.read_model_meta(folder)
        answers: dict[str, pd.DataFrame] = {}  # frees the answers of the last model
        for table in ask.ANSWERS:
            answers[table] = read_frame(folder / f"{table}.parquet")
        for name in params.active.entry("ask", f"{family}-{model}").instruments:
            if name in built:
                yield Record(name, subject, *built[name], figures(name, subject, answers))


if __name__ == "__main__":
    run(main)
