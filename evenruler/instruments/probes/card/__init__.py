"""The card of a probe benchmark, with answers on its validity from the evidence, and its tasks for
lm-evaluation-harness.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.instruments.card import (
    Card,
    add_task_functions,
    assemble_card,
    by_model,
    one_line,
    task_template,
)
from evenruler.instruments.instrument import Declaration, Evidence, FigureHeading, Tables
from evenruler.instruments.probes.card.lm_eval_task import ProbeTask
from evenruler.instruments.probes.declare.plan import ProbePlan
from evenruler.instruments.probes.declare.settings import WHOLE_SET, Evolve, Settings, headings
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.schemas import ATTRIBUTE_KIND, BASELINES, CHOSEN
from evenruler.strict import read_yaml

__all__ = ["card"]

HERE = Path(__file__).parent

WORDS: dict[str, Any] = read_yaml(HERE / "words.yaml")


def card(
    declaration: Declaration[Settings, ProbeSource],
    tables: Tables,
    plan: ProbePlan,
    evidence: Evidence,
) -> Card:
    """The texts of an instrument's card, the tables it publishes, and its tasks for
    lm-evaluation-harness.
    """
    source: ProbeSource = declaration.source
    settings, attributes = declaration.settings, tables["attributes"]
    evolve: Evolve | None = settings.evolve
    criterion_rows = attributes.dropna(subset=["criterion"])
    criterion = dict(zip(criterion_rows["attribute"], criterion_rows["criterion"], strict=True))
    parameters: dict[str, object] = {"article": settings.article}  # what the rows were built with
    if evolve:
        parameters = {"article": settings.article_of(evolve.start), "embedder": settings.embedder}
        parameters |= evolve.model_dump(mode="json")
    published = WORDS["published"][_published_as(evolve, plan)]
    correlations = _item_rest_lower_bounds(evidence)
    groups = [f"{len(words)} words for {group}" for group, words in source.targets.items()]
    labels = sorted(set(attributes["criterion_label"].dropna()))
    is_exact = attributes["match"] == "exact"
    n_targets = sum(map(len, source.targets.values()))
    odd: list[str] = []
    for name, end in correlations.items():
        if end is not None and end <= 0:
            odd.append(name)
    set_rows = [row for row in evidence if WHOLE_SET.keys().isdisjoint(row)]
    describe_sets = partial(by_model, set_rows)
    card_values = {
        "evolve": evolve,
        "without_number": len(attributes) - len(criterion),
        "groups": " and ".join(groups),
        "targets": n_targets,
        "labels": ", ".join(labels),
        "exact": int(is_exact.sum()),
        "of_sets": describe_sets,
        "moved": describe_sets("level_shift"),
        "beside": describe_sets("level_shift", "control"),
        "correlations": correlations,
        "odd": odd,
    }
    published_tables = {name: WORDS["tables"][name] for name in published}
    titles = {name: template_set.title for name, template_set in source.sets.items()}
    quality_of_any = [FigureHeading(**words, dimensions=WHOLE_SET) for words in WORDS["any_model"]]
    compared: Sequence[FigureHeading] = ()
    if evolve:
        titles |= BASELINES
        compared = [FigureHeading(**words) for words in WORDS["compared"]]
    harness = harness_files(declaration.name, source, criterion, declaration.version)
    harness_task = task_name(declaration.name)
    example = _example_id(published[0], tables[published[0]])
    return assemble_card(
        {**WORDS, "published": published_tables},
        declaration,
        tables,
        plan,
        evidence,
        facts=card_values,
        example=example,
        parameters=parameters,
        quality=headings(plan),
        titles=titles,
        quality_of_any=quality_of_any,
        compared=compared,
        harness=harness,
        harness_task=harness_task,
    )


def _published_as(evolve: Evolve | None, plan: ProbePlan) -> str:
    """Which of the lists of published tables an instrument has."""
    if evolve:
        return "evolved"
    return "next_word" if plan["next_word"] else "written"


def _example_id(table: str, rows: pd.DataFrame) -> str | None:
    """The id of an example row of a table, never a control; in an evolved set, of a chosen
    template.
    """
    if table == "stems":
        is_candidate = rows["kind"] == ATTRIBUTE_KIND
    elif table == "templates":
        is_candidate = (rows["set"] == CHOSEN) & ~rows["control"]
    else:
        is_candidate = (rows["keying"] == 1) & ~rows["control"]
    rows = rows[is_candidate]
    if rows.empty:
        return None
    # Sorting by variant prefers articles that agree with their word ("agree") to those left as they
    # are ("literal").
    rows = rows.sort_values(["variant", "id"])
    return str(rows["id"].iloc[0])


def _item_rest_lower_bounds(evidence: Evidence) -> dict[str, float | None]:
    """By template, set and model in words: the lower end of the correlation with the rest of the
    set.
    """
    correlations = [row for row in evidence if row["figure"] == "item_rest_correlation"]
    lower_bounds: dict[str, float | None] = {}
    for row in sorted(correlations, key=lambda row: (row["set"], row["model"])):
        if row["value"] is not None and "unscored" not in row:
            name = "`{template}` of `{set}` on {model}".format_map(row)
            lower_bounds[name] = row.get("low")
    return lower_bounds


def task_name(domain: str, set_name: str | None = None) -> str:
    """Name of the task of one template set, or of the group of all tasks."""
    name = f"probes_{domain}__{set_name}" if set_name else f"probes_{domain}"
    return name.replace("-", "_")


def harness_files(
    domain: str, source: ProbeSource, criterion: Mapping[str, float], version: str
) -> dict[str, str]:
    """Contents of the files of `lm_eval/`, by name."""
    template = task_template(HERE / "task.yaml.j2")
    criterion_label: str | None = None
    if source.criterion and criterion:
        criterion_label = one_line(source.criterion.label)
    tasks: dict[str, str] = {}
    for set_name in source.sets:
        task = task_name(domain, set_name)
        tasks[task] = template.render(
            task=task,
            title=one_line(source.title),
            set=set_name,
            version=version,
            direction=one_line(source.direction),
            criterion=criterion_label,
        )
    group = task_name(domain)
    task_list = "".join(f"  - {task}\n" for task in tasks)
    tasks[group] = f"group: {group}\ntask:\n{task_list}"
    files = {f"{name}.yaml": text for name, text in tasks.items()}
    return add_task_functions(files, ProbeTask)
