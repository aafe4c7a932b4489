"""Build one instrument: its source -> `data/built/{family}/{instrument}/`."""

from functools import partial
from typing import Any

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.registry import family_module
from evenruler.models.declarations import Catalogue
from evenruler.tables import write_whole
from stages.files import BUILT, PLAN, read_declaration, write_json
from stages.running import run


def main(name: str) -> None:
    """Write its rows, the rejected ones, and the plan of what is asked."""
    params = ParamsFile()
    declared = read_declaration(params, name)
    declared.settings.require_able(declared.source, params.catalogue, partial(params.place, name))
    built = family_module(declared.family, "rows").build(declared, params.catalogue)
    folder = BUILT / declared.family / name
    for table, rows in built.tables.items():
        write_whole(rows, folder / f"{table}.parquet")
    tools = tools_of(declared.settings.uses(declared.source), params.catalogue)
    write_json({**built.plan, "tools": tools}, folder / PLAN)
    for line in built.messages:
        print(line)


def tools_of(uses: list[ToolUse], catalogue: Catalogue) -> dict[str, Any]:
    """Catalogue entries of the tools that an instrument asks, and of the data that their heads were
    fitted on.
    """
    names = sorted({use.model for use in uses if use.tool})
    models = {name: catalogue.models[name] for name in names}
    fitted = {entry.finetune.validation for entry in models.values() if entry.finetune is not None}
    training = {data: catalogue.training[data] for data in sorted(fitted)}
    return Catalogue(models=models, training=training).model_dump(
        mode="json", exclude_defaults=True
    )


if __name__ == "__main__":
    run(main)
