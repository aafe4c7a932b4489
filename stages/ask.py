"""Ask one model what the instruments of a family ask: `data/built/{family}/` ->
`data/answers/{family}/{model}/`.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.asking import (
    AnsweringModels,
    TablesAndPlans,
    collect_answers_listed,
    model_meta_of,
    tool_loader,
    unanswerable_tables,
)
from evenruler.instruments.instrument import INSTRUMENT, Adaptation, State, with_method
from evenruler.instruments.registry import family_module
from evenruler.models.declarations import Catalogue
from evenruler.tables import write_table
from evenruler.tables.schemas import build_schema
from evenruler.terminal import say_each
from stages import files
from stages.running import run

if TYPE_CHECKING:
    from evenruler.training.adaptation import AdaptationSchedule


def main(family: str, name: str) -> None:
    """Ask the model, and the tools that the instruments name, for all answers that the store
    lacks.
    """
    params = ParamsFile()
    door = family_module(family, "ask")
    subject = with_method(door.METHODS, model_meta_of(name, params.catalogue))
    tables_and_plans = asked_of(params, family, name)
    left_out = unanswerable_tables(door, tables_and_plans, subject)
    say_each(left_out)
    from evenruler.models.catalogue import (
        load_model,  # slow import: after checks of what users write
    )

    tools = tool_loader([plan for _, plan in tables_and_plans.values()], files.BUILT / family)
    schedule = schedule_for_state(params.catalogue, name)
    answering = AnsweringModels(load_model(name, params.catalogue), tools, schedule)
    subject, answers = collect_answers_listed(tables_and_plans, door.requests, subject, answering)
    say_each(sorted({*unanswerable_tables(door, tables_and_plans, subject)} - {*left_out}))
    folder = files.ANSWERS / family / name
    for table, schema in door.ANSWERS.items():
        whose = build_schema(f"{INSTRUMENT}: str", schema)
        rows = answers[table][whose.names] if table in answers else []
        write_table(rows, whose, folder / f"{table}.parquet")
    files.write_model_meta(subject, folder)
    counted: list[str] = []
    withheld = 0
    for table, table_answers in answers.items():
        counted.append(f"{len(table_answers):,} {table}")
        if "reply" in table_answers:
            withheld += int(table_answers["reply"].isna().sum())
    if withheld:
        counted.append(f"{withheld:,} prompts without a reply")
    counts = ", ".join(counted) or "nothing to ask"
    print(f"{name}: {counts}; {answering.n_computed:,} of them asked of models")
    say_what_was_replayed()


def say_what_was_replayed() -> None:
    """Print what of the recorded answers was replayed; UserError if too much of what was asked
    again differs.
    """
    from evenruler.models.replay import FOLDER, open_release

    compared = open_release().compared
    if compared is None:
        return
    print(f"recorded: {compared.summary_line}")
    if compared.is_beyond:
        what = f"the models here answer differently from those of release {compared.release}"
        raise UserError(what, where=FOLDER.as_posix(), remedy="look at what differs here")


def asked_of(params: ParamsFile, family: str, model: str) -> TablesAndPlans:
    """What the instruments of a family ask a model."""
    pair = params.active.ask.get(f"{family}-{model}")
    asking = pair.instruments if pair else params.active.entry("families", family).instruments
    return files.read_tables_and_plans(family, asking)


def schedule_for_state(catalogue: Catalogue, name: str) -> Callable[[State], "AdaptationSchedule"]:
    """A function from a state of an adapted model to the schedule that adapts the model `name` to
    its corpora; each adaptation has one schedule.
    """

    @cache
    def build_schedule(adaptation: Adaptation) -> "AdaptationSchedule":
        """The model adapted to these corpora by these recipes; one schedule for all states of an
        adaptation, so that each fit is trained once.
        """
        from evenruler.training.adaptation import AdaptationSchedule, Recipe

        recipes = {
            corpus: Recipe(epochs, learning_rate, batch)
            for corpus, epochs, learning_rate, batch in adaptation.recipes
        }
        return AdaptationSchedule(name, catalogue, dict(adaptation.corpora), recipes)

    return lambda state: build_schedule(state.adaptation)


if __name__ == "__main__":
    run(main)
