"""The contrast about hair on a model that never looks at its prompt, from answers to figures."""

from typing import Any

from evenruler.instruments.asking import collect_answers
from evenruler.instruments.framing.ask import requests, scores
from evenruler.instruments.framing.diagnose import figures
from evenruler.instruments.instrument import Record
from evenruler.measurement import Resampling
from tests.instruments.framing.answering import MadeUp, none
from tests.instruments.framing.hair import built, declaration, hair, subject

RESAMPLING = Resampling(level=0.9, resamples=80, seed=3)


def record(
    model: str = "m",
    name: str = "hair",
    answered: bool = True,
    generations: int = 1,
    **changes: Any,
) -> Record:
    """A contrast about hair, with changes of its source, on a model."""
    tables, plan = built(declaration(hair(**changes), choices="every", generations=generations))
    whom = subject(name=model)
    answers = (
        collect_answers({name: (tables, plan)}, requests, whom, MadeUp()) if answered else none()
    )
    diagnosis = figures(name, tables, plan, scores(tables, plan, answers, whom), whom, RESAMPLING)
    return Record(name, whom, tables, plan, diagnosis)
