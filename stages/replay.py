"""Answer from the store alone what instruments ask a model, so that a journal records it; not a
stage of DVC.

`python -m stages.replay MODEL FAMILY [FAMILY ...]`, with EVENRULER_JOURNAL. A missing answer is an
error.
"""

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.asking import (
    AnsweringModels,
    collect_answers,
    model_meta_of,
    tool_loader,
)
from evenruler.instruments.instrument import with_method
from evenruler.instruments.registry import family_module
from evenruler.models.cache import MissingAnswersError
from stages.ask import asked_of, schedule_for_state
from stages.files import BUILT
from stages.running import run


def main(name: str, *families: str) -> None:
    """Replay the stored answers of one model to what the instruments of these families ask."""
    params = ParamsFile()
    instruments_by_family = {family: asked_of(params, family, name) for family in families}
    subject = model_meta_of(name, params.catalogue)

    from evenruler.models.catalogue import (
        load_model,  # slow import: after checks of what users write
    )

    model = load_model(name, params.catalogue).stored()
    for family in families:
        tools = tool_loader(
            [plan for _, plan in instruments_by_family[family].values()], BUILT / family
        )
        door = family_module(family, "ask")
        answering = AnsweringModels(model, tools, schedule_for_state(params.catalogue, name))
        try:
            collect_answers(
                instruments_by_family[family],
                door.requests,
                with_method(door.METHODS, subject),
                answering,
            )
        except MissingAnswersError as error:
            raise UserError(str(error), where=family, remedy="ask it first") from None


if __name__ == "__main__":
    run(main)
