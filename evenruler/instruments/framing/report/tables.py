"""Tables of the framing family: effects, comparisons of classes, exclusions, continuations."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.report.page import Cell, Table
from evenruler.report.words import figure, number, p_value
from evenruler.tables.schemas import BARE

METRICS = {"token": "token probability", "choice": "proportion of choices"}
CONFIGURATIONS = {"bare": "bare prompt", "chat": "chat template"}
SHIFT, EFFECT, COVERAGE = "shift probability", "effect: ", "coverage"
"""Names of figures; an effect's goes on with its factor, and with a task where it is of one."""

APD = (
    "APD is half the sum of absolute differences of two distributions over the classes: 0, the cue changes nothing; 1, "
    "the answers have no class in common."
)


def in_words(slug: str) -> str:
    """A slug as words."""
    return slug.replace("-", " ")


def _cell(framing: str) -> str:
    return "no cue" if framing == BARE else " + ".join(map(in_words, framing.split("+")))


def effects(source: ContrastSource, figures: pd.DataFrame) -> list[Table]:
    """A row a metric and model; the effects task by task in a table of their own."""
    known: dict[Any, Any] = {(row["metric"], row["model"], row["figure"]): row for row in figures.to_dict("records")}
    asked = sorted({(metric, model) for metric, model, _ in known}, key=lambda key: ([*METRICS].index(key[0]), key[1]))
    if not asked:
        return []

    def of(metric: str, model: str, names: list[str]) -> list[str]:
        return [figure(known.get((metric, model, name))) for name in names]

    names = [SHIFT, *(f"{EFFECT}{factor}" for factor in source.factors), COVERAGE]
    whole = [[METRICS[metric], model, *of(metric, model, names)] for metric, model in asked]
    by_task = [
        [METRICS[metric], model, in_words(factor), *of(metric, model, _by_task(source, factor))]
        for metric, model in asked
        for factor in source.factors
    ]
    caption = (
        f"{APD} An effect is the mean APD with and without a cue, over stimuli and then over tasks; the shift "
        "probability is the mean of the effects; the coverage is the share of the answers that is of any class. n "
        "counts stimuli."
    )
    titles = [task.title for task in source.tasks.values()]
    return [
        Table(["metric", "model", *map(in_words, names)], whole, "Effects of the cues", caption),
        Table(["metric", "model", "cue", *titles], by_task, "Effects of the cues, task by task", ""),
    ]


def _by_task(source: ContrastSource, factor: str) -> list[str]:
    return [f"{EFFECT}{factor}, {task}" for task in source.tasks]


def comparisons(comparisons: pd.DataFrame) -> list[Table]:
    """A row per pair of classes, a column per method."""
    methods = list(comparisons["method"].unique())
    rows = []
    for metric, configuration in product(METRICS, CONFIGURATIONS):
        of_part = comparisons[(comparisons["metric"] == metric) & (comparisons["configuration"] == configuration)]
        for (against, outcome), pair in of_part.groupby(["against", "outcome"], sort=True):
            known: dict[Any, Any] = {record["method"]: record for record in pair.to_dict("records")}
            part = [f"{METRICS[metric]}, {CONFIGURATIONS[configuration]}", str(pair["n_models"].iloc[0])]
            rows.append([*part, f"{outcome} against {against}", *(_tested(known.get(method)) for method in methods)])
    caption = (
        "How much more the first class shifts than the second; n counts shifts. Mixed model: a random intercept for "
        "each model; below five lineages of models, fixed effects, with errors clustered by stimulus. Tukey: corrected "
        "for comparing every pair. Bootstrap: stimuli are drawn whole, since the shifts of one depend on each other."
    )
    return [Table(["of", "lineages", "classes", *methods], rows, "Classes compared", caption)] if rows else []


def _tested(record: Mapping[Any, Any] | None) -> str:
    if record is None:
        return ""
    difference, p = figure(as_figure(record, "difference")), p_value(record["p"])
    sign = "" if p.startswith("<") else "=\u00a0"
    return f"{difference}; p\u00a0{sign}{p}" if p else difference


def as_figure(record: Mapping[Any, Any], of: str) -> dict[str, Any]:
    """A row of a change as a figure."""
    return {**record, "value": record[of]}


def exclusions(source: ContrastSource, exclusions: pd.DataFrame) -> list[Table]:
    """Cells x models with the share of invalid replies (table 2)."""
    if exclusions.empty:
        return []
    models = sorted(exclusions["model"].unique())
    known = {(row["task"], row["framing"], row["model"]): row for row in exclusions.to_dict("records")}
    rows: list[list[str | Cell]] = []
    for slug, task in source.tasks.items():
        for cell in task.cells:
            framing = "+".join(source.cues(cell)) or BARE
            cells = [_invalid(known.get((slug, framing, model))) for model in models]
            rows.append([f"{task.title}: {_cell(framing)}", *cells])
    said = []
    for model, own in exclusions.groupby("model", sort=True):
        count = int(own["excluded"].sum())
        said.append(f"{model}, {count or 'none'} of {len(own)} cells")
    fewest, most = exclusions["n"].min(), exclusions["n"].max()
    caption = (
        f"Share of sampled replies that are of no class ({fewest if fewest == most else f'{fewest} to {most}'} replies "
        "a cell). A cell with more than 60% is excluded from the proportion of choices, and marked. Excluded: "
        f"{'; '.join(said)}."
    )
    return [Table(["task: cues", *models], rows, "Invalid replies, and what was excluded", caption)]


def _invalid(record: Mapping[Any, Any] | None) -> str | Cell:
    if record is None:
        return ""
    share = number(record["invalid"])
    return Cell(f"{share} excluded", "poor") if record["excluded"] else share


def continuations(source: ContrastSource, continuations: pd.DataFrame) -> list[Table]:
    """Replies of the neutral class that name another after all (appendix A.3)."""
    if source.continuation is None or continuations.empty:
        return []
    known = {(row["model"], row["factor"], row["cue"]): row for row in continuations.to_dict("records")}
    columns = {("all", False): "all replies"}
    for factor in source.factors:
        columns |= {(factor, cue): f"{'with' if cue else 'without'} {in_words(factor)}" for cue in (False, True)}
    rows = [
        [model, *(_share(known.get((model, *column))) for column in columns)]
        for model in sorted(continuations["model"].unique())
    ]
    neutral = source.continuation.outcome
    caption = (
        f"Replies of the class “{neutral}” that go on to name another class, by a keyword "
        f"({', '.join(source.continuation.keywords)}). Nobody has checked them by hand, so a share is an upper bound. "
        "Where it is low, the class is an answer, and not one put off."
    )
    title = f"Does “{neutral}” stay “{neutral}”?"
    return [Table(["model", *columns.values()], rows, title, caption)]


def _share(record: Mapping[Any, Any] | None) -> str:
    if record is None or not record["n"]:
        return "none (no such reply)"
    return f"{100 * record['share']:.2f}% ({record['named']} of {record['n']})"
