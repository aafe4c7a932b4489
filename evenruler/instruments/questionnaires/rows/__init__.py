"""From what users write to rows, and to what is asked of them."""

from typing import Any

from evenruler.errors import UserError
from evenruler.instruments.instrument import Built, Declaration, Plan
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare import Settings, Source
from evenruler.instruments.questionnaires.declare.corpora import OPEN
from evenruler.instruments.questionnaires.declare.pairs import first_pairs
from evenruler.instruments.questionnaires.rows.translating import translate
from evenruler.models.declared import Catalogue
from evenruler.tables import table_of

__all__ = ["build"]


def build(declaration: Declaration, catalogue: Catalogue) -> Built:
    """The rows of a questionnaire, and what is asked of them.

    Args:
        declaration: Of the questionnaire.
        catalogue: Says what the judge of acceptability can do.

    Returns:
        `items`, `terms`, `prompts` and `rejected`, by `schemas`, and the plan.

    Raises:
        UserError: The judge of acceptability can neither `slor` nor `classify`.
    """
    source: Source = declaration.source
    rows = translate(declaration.name, source, source.responses)
    tables = {
        "items": table_of(rows.items, schemas.ITEMS),
        "terms": table_of(rows.terms, schemas.TERMS),
        "prompts": table_of(rows.prompts, schemas.PROMPTS),
        "rejected": table_of(rows.rejected, schemas.REJECTED),
    }
    said = [f"{len(rows.prompts):,} prompts, {len(rows.rejected):,} rejected"]
    return Built(tables, _plan(declaration.name, source, declaration.settings, catalogue), said)


def _plan(name: str, source: Source, settings: Settings, catalogue: Catalogue) -> Plan:
    framings = source.framings if settings.prefixed else None
    return {
        "asked": settings.asked,
        "temperature": settings.temperature,
        "three_way": settings.three_way,
        "stop_below": settings.stop_below,
        "bound": settings.bound,
        "least": settings.least,
        "accuracy": _accuracy(source, settings),
        "embedder": settings.embedder,
        "wording": _wording(source),
        "judge": _judge(settings.acceptability, catalogue),
        "prefixed": settings.prefixed,
        "prefixes": framings.prefixes if framings else {},
        "placebos": framings.placebo_names if framings else [],
        "fits": settings.fits,
        "adapted": settings.adapted,
        "adapted_pairs": settings.adapted_pairs,
        "corpora": {corpus: _corpus(name, corpus, source, settings) for corpus in sorted(source.corpora)},
    }


def _accuracy(source: Source, settings: Settings) -> dict[str, Any]:
    """The bar and the labelled pairs that are asked; a plan holds them, so that whoever measures asks the same."""
    pairs = first_pairs(source.pairs, settings.accuracy_pairs)
    return {
        "bar": settings.accuracy,
        "sources": sorted({f"{pair.source}; {pair.licence}" for pair in pairs}),
        "pairs": [pair.model_dump(include={"set", "label", "premise", "hypothesis"}) for pair in pairs],
    }


def _wording(source: Source) -> dict[str, Any] | None:
    """Where the wording lies that is not published, and the items in the order of its lines: the file, no text."""
    file = source.original.file
    return None if file is None else {"file": file, "items": list(source.items)}


def _judge(model: str | None, catalogue: Catalogue) -> dict[str, str] | None:
    """Who judges acceptability, and by which operation."""
    if model is None:
        return None
    for operation in ("slor", "classify"):
        if model in catalogue.models and catalogue.can(model, operation):
            return {"model": model, "operation": operation}
    what = f"{model!r} is no causal model and no classifier of the catalogue"
    raise UserError(what, where="params.yaml: acceptability", remedy="name one")


def _corpus(questionnaire: str, corpus: str, source: Source, settings: Settings) -> dict[str, Any]:
    """How models are adapted to a corpus, and what that should do to this questionnaire.

    Sentences that lie in a file of their own are not to be kept, so that a plan, which is published, names the file.
    """
    written = source.corpora[corpus]
    sentences = {"sentences": list(written.sentences)} if written.file is None else {"file": written.file}
    expected = written.expect.get(questionnaire, OPEN)
    control_of = None if written.matched is None else written.matched.to
    recipe = settings.corpora[corpus].model_dump()
    return {**sentences, **recipe, "expected": expected, "control_of": control_of}
