"""The card of a questionnaire benchmark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenruler.grouping import grouped
from evenruler.instruments.card import Card, amounts, assembled
from evenruler.instruments.instrument import Column, Declaration, Evidence, Plan, Tables
from evenruler.instruments.questionnaires import declare
from evenruler.instruments.questionnaires.card.harness import harness_files, task_name
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource
from evenruler.measurement.figures import OF_ANY_MODEL
from evenruler.strict import read_yaml

__all__ = ["card"]

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The card of one questionnaire: texts, figures and the task for lm-evaluation-harness."""
    source, settings, prompts = declaration.source, declaration.settings, tables["prompts"]
    shown = prompts.loc[(prompts["twin"] == 0) & (prompts["polarity"] == "source"), "id"].tolist()
    scored = {key: plan[key] for key in ("temperature", "three_way", "stop_below")}
    scale = {word: level.weight for level in source.responses.levels for word in level.words}
    return assembled(
        WORDS,
        *(declaration, tables, plan, evidence),
        said=_from(evidence, plan["accuracy"]["bar"]),
        example=shown[0] if shown else None,
        parameters={**scored, "scale": scale},
        quality=declare.headings(plan),
        items=list(source.items),
        of_items=[*_of_items()],
        quality_of_any=list(_of_any_model(source)),
        harness=harness_files(
            declaration.name,
            source,
            source.responses,
            declaration.version,
            temperature=settings.temperature,
            three_way=settings.three_way,
        ),
        harness_task=task_name(declaration.name),
    )


def _from(evidence: Evidence, bar: float) -> dict[str, Any]:
    """Which models are accurate enough; alpha and correlations over models, or why not; effects of adaptation."""
    over_models = {
        name.replace(declare.RHO, "rho with "): record
        for name, record in evidence.get("all", {}).get(OF_ANY_MODEL, {}).items()
        if name.startswith(("alpha", declare.RHO))
    }
    return {
        "accurate": {
            model: figures["accuracy"]["low"] > bar  # the same in all parts
            for models in evidence.values()
            for model, figures in models.items()
            if figures.get("accuracy", {}).get("low") is not None
        },
        "over_models": {name: own["value"] for name, own in over_models.items() if own["value"] is not None},
        "lacking": grouped((own["reason"], name) for name, own in over_models.items() if own["value"] is None),
        "moved": [
            (name.removeprefix(declare.MOVED), model, record)
            for _, model, name, record in amounts(evidence)
            if name.startswith(declare.MOVED) and record["value"] is not None
        ],
    }


def _of_any_model(source: QuestionnaireSource) -> Iterator[Column]:
    """Columns of figures that do not depend on a model; correlations between subscales last."""
    for form, how in declare.CONFIGURATIONS.items():
        told = f"Cronbach's alpha over lineages of models that are asked by {how} (interval: Feldt)"
        yield Column(declare.of_those("alpha", form), f"alpha, {form}", told)
    yield from (Column(name, **own) for name, own in WORDS["any_model"].items())
    for other in source.subscales:
        for form, how in declare.CONFIGURATIONS.items():
            told = f"Spearman correlation with `{other}` over lineages of models that are asked by {how}"
            yield Column(declare.of_those(f"{declare.RHO}{other}", form), f"rho with {other}, {form}", told)


def _of_items() -> Iterator[Column]:
    """Columns of figures of single items; the correlation with the rest for each form."""
    words = WORDS["of_items"]
    yield from (Column(name, **words[name]) for name in declare.OF_ITEMS)
    for form in declare.CONFIGURATIONS:
        rest = words[declare.ITEM_REST]
        yield Column(declare.of_those(declare.ITEM_REST, form), f"{rest['heading']}, {form}", rest["meaning"])
