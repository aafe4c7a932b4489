"""The card of a questionnaire benchmark, and its task for lm-evaluation-harness."""

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from evenruler.instruments.card import (
    Card,
    add_task_functions,
    assemble_card,
    one_line,
    task_template,
)
from evenruler.instruments.instrument import Declaration, Evidence, FigureHeading, Tables
from evenruler.instruments.questionnaires import declare
from evenruler.instruments.questionnaires.card.lm_eval_task import QuestionnaireTask
from evenruler.instruments.questionnaires.declare import Settings, Source
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.source import (
    QuestionnaireSource,
)
from evenruler.measurement.figures import model_label
from evenruler.models.questions import INSTRUCTION, OPTIONS
from evenruler.strict import read_yaml
from evenruler.tables import group_by_key

__all__ = ["card"]

HERE = Path(__file__).parent

WORDS: dict[str, Any] = read_yaml(HERE / "words.yaml")


def card(
    declaration: Declaration[Settings, Source],
    tables: Tables,
    plan: QuestionnairePlan,
    evidence: Evidence,
) -> Card:
    """The card of one questionnaire: texts, figures and the task for lm-evaluation-harness."""
    source = declaration.source
    prompts = tables["prompts"]
    is_shown = (prompts["twin"] == 0) & (prompts["polarity"] == "source")
    shown = prompts.loc[is_shown, "id"].tolist()
    scored = {key: plan[key] for key in ("temperature", "three_way")}
    scale: dict[str, float] = {}
    for level in source.responses.levels:
        scale |= dict.fromkeys(level.words, level.weight)
    harness = harness_files(declaration.name, source, declaration.version)
    return assemble_card(
        WORDS,
        *(declaration, tables, plan, evidence),
        facts=_summarise_evidence(evidence, plan["accuracy"]["threshold"]),
        example=shown[0] if shown else None,
        parameters={**scored, "scale": scale},
        quality=declare.headings(plan),
        item_dimension="item",
        of_items=[*_of_items()],
        quality_of_any=list(_of_any_model(source)),
        harness=harness,
        harness_task=task_name(declaration.name),
    )


def _summarise_evidence(evidence: Evidence, threshold: float) -> dict[str, Any]:
    """Which models are accurate enough; alpha and correlations over models, or why not; effects of
    adaptation.
    """
    is_accurate: dict[str, bool] = {}
    over_models: dict[str, Any] = {}
    lacking: list[tuple[str, str]] = []
    moved: list[tuple[str, str, Any]] = []
    for row in evidence:
        figure, value = row["figure"], row["value"]
        is_judged = row.get("item_set") == declare.PAIRS and row.get("low") is not None
        if figure == "accuracy" and is_judged:
            is_accurate[model_label(row)] = row["low"] > threshold
        elif figure in (declare.ALPHA, declare.RHO) and "subscale" not in row:
            statistic = f"rho with {row['other']}" if "other" in row else figure
            label = f"{statistic} ({row['method']})"
            if value is None:
                lacking.append((row["reason"], label))
            else:
                over_models[label] = value
        elif figure == declare.MOVED and value is not None:
            moved.append((row["corpus"], model_label(row), row))
    return {
        "accurate": is_accurate,
        "over_models": over_models,
        "lacking": group_by_key(lacking),
        "moved": sorted(moved, key=itemgetter(1, 0)),
    }


def _of_any_model(source: QuestionnaireSource) -> Iterator[FigureHeading]:
    """Columns of figures that do not depend on a model; correlations between subscales last."""
    for method, how in declare.METHODS.items():
        meaning = (
            f"Cronbach's alpha over lineages of models that are asked by {how} (interval: Feldt)"
        )
        yield FigureHeading(declare.ALPHA, f"alpha, {method}", meaning, {"method": method})
    yield from (FigureHeading(**heading_fields) for heading_fields in WORDS["any_model"])
    for other in source.subscales:
        for method, how in declare.METHODS.items():
            meaning = (
                f"Spearman correlation with `{other}` over lineages of models that are asked by "
                f"{how}"
            )
            dimensions = {"other": other, "method": method}
            yield FigureHeading(declare.RHO, f"rho with {other}, {method}", meaning, dimensions)


def _of_items() -> Iterator[FigureHeading]:
    """Columns of figures of single items; the correlation with the rest for each method."""
    *headings, rest = [FigureHeading(**heading_fields) for heading_fields in WORDS["of_items"]]
    yield from headings
    for method in declare.METHODS:
        yield replace(rest, heading=f"{rest.heading}, {method}", dimensions={"method": method})


def task_name(questionnaire: str) -> str:
    """The name of a questionnaire's task."""
    return f"nli_{questionnaire}".replace("-", "_")


def harness_files(questionnaire: str, source: QuestionnaireSource, version: str) -> dict[str, str]:
    """The files of the folder `lm_eval/`, by name."""
    task = task_template(HERE / "task.yaml.j2").render(
        task=task_name(questionnaire),
        title=one_line(source.title),
        direction=one_line(source.direction),
        version=version,
        prompt=INSTRUCTION.format(premise="{{premise}}", hypothesis="{{hypothesis}}"),
        options=OPTIONS,
        subscales=source.subscales,
        twins=bool(source.twins),
    )
    return add_task_functions({f"{task_name(questionnaire)}.yaml": task}, QuestionnaireTask)
