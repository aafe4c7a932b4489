"""Tables of a contrast: cues beside placebos, coverage, comparisons of classes, continuations, studies."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd

from evenruler.instruments.card import span
from evenruler.instruments.framing.declare import CHANGE, EFFECT, TOTAL
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.declare.tasks import cues_of, placebo_of
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Cell, Table
from evenruler.report.words import figure, listed, missing, number, p_value, with_interval
from evenruler.strict import read_yaml

CAPTIONS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("captions.yaml"))

METRICS = {"token": "token probability", "choice": "proportion of choices"}
CONFIGURATIONS = {"plain": "plain prompt", "chat": "chat template"}


def in_words(slug: str) -> str:
    """A slug as words."""
    return slug.replace("-", " ")


def with_titles(told: str, source: ContrastSource) -> str:
    """A text with the titles of tasks in the place of their slugs."""
    names = "|".join(map(re.escape, sorted(source.tasks, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda found: f"“{source.tasks[found.group()].title}”", told)


SHIFT, COVERAGE = "shift probability", "coverage"
"""Names of figures."""

NONE = "none (no such reply)"

Records = Mapping[tuple[str, str, str], Mapping[Any, Any]]
"""By metric, model and figure."""


def headlines(source: ContrastSource, figures: pd.DataFrame) -> list[Table]:
    """Every headline figure beside what placebos do, with its verdict; by `schemas.FIGURES` with `metric`."""
    known = _records(figures)
    rows: list[list[str | Cell]] = []
    for (metric, model, name), record in sorted(known.items()):
        if not name.startswith(CHANGE):
            continue
        factor, _, task = name.removeprefix(CHANGE).partition(", ")
        low, high = record["specific_low"], record["specific_high"]
        rows.append(
            [
                *(model, METRICS[metric], in_words(factor), source.tasks[task].title if task else "its tasks"),
                with_interval(record["value"], record["low"], record["high"], 1),
                number(record["placebo"], 1),
                with_interval(record["specific"], low, high, 1),
                *(number(record["smallest"], 0), number(record["detectable"], 1), str(record["levels"])),
                number(known[metric, model, TOTAL + name.removeprefix(CHANGE)]["value"], 3),
                *(Cell(record["verdict"], Verdict(record["verdict"]).mark), str(record["why"])),
            ]
        )
    columns = ["model", "metric", "cue", "task", "change", "placebos", "beyond placebos", "worth naming"]
    columns += ["found in 80 of 100", "asked", "all classes", "verdict", "why"]
    caption = CAPTIONS["headline"].format(outcome=source.headline)
    return [Table(columns, rows, f"How much likelier a cue makes “{source.headline}”", caption)] if rows else []


def effects_with_controls(source: ContrastSource, figures: pd.DataFrame, effects: pd.DataFrame) -> list[Table]:
    """Every effect of a cue beside what placebos in its place do; they describe. Tables by `schemas`."""
    known = _records(figures)
    rows = []
    for metric, model in _asked(known):
        told = list(_effects_of(source, known, metric, model))
        reasons = {record["reason"] for _, _, record in told}
        if told and len(reasons) == 1 and all(missing(record["value"]) for _, _, record in told):
            told = [("every cue", "", told[0][2])]
        rows += [_beside(model, metric, *one) for one in told]
    columns = ["model", "metric", "cue", "task", "effect", "control", "why"]
    asked = effects[effects["placebo"] > 0].groupby(["factor", "placebo"])["stimulus"].nunique()
    about = ""
    if len(asked) and asked.max() < effects["stimulus"].nunique():
        about = f" Each was asked about {span(asked, 0)} of them."
    caption = CAPTIONS["apd"].format(about=about)
    return [Table(columns, rows, "The cue beside its placebos", caption)] if rows else []


def _records(figures: pd.DataFrame) -> Records:
    return {(row["metric"], row["model"], row["figure"]): row for row in figures.to_dict("records")}


def _asked(known: Records) -> list[tuple[str, str]]:
    """Metric and model, in the order of rows."""
    return sorted({(metric, model) for metric, model, _ in known}, key=lambda key: ([*METRICS].index(key[0]), key[1]))


def _effects_of(
    source: ContrastSource, known: Records, metric: str, model: str
) -> Iterator[tuple[str, str, Mapping[Any, Any]]]:
    """Factor, task (or which, where it is not of all) and figure, over all tasks first; of one task alone, in one."""
    for factor in source.factors:
        names = {f"{factor}, {task}": entry.title for task, entry in source.tasks.items() if entry.pairs(factor)}
        if len(names) > 1:
            names = {factor: "all tasks", **names}
        for name, where in names.items():
            if (record := known.get((metric, model, EFFECT + name))) is not None:
                told = None if missing(record["value"]) else record["reason"]
                yield factor, with_titles(told, source) if isinstance(told, str) else where, record


def _beside(model: str, metric: str, factor: str, where: str, record: Mapping[Any, Any]) -> list[str | Cell]:
    why = Cell(str(record["why"]), Verdict(record["verdict"]).mark) if isinstance(record["verdict"], str) else ""
    return [model, METRICS[metric], in_words(factor), where, figure(record), number(record["control"]), why]


def whole(figures: pd.DataFrame) -> list[Table]:
    """What is of all cues and cells, a row a metric and model."""
    known = _records(figures)
    rows = [
        [METRICS[metric], model, *(figure(known.get((metric, model, name))) for name in (SHIFT, COVERAGE))]
        for metric, model in _asked(known)
    ]
    return [Table(["metric", "model", SHIFT, COVERAGE], rows, "Over all cues", CAPTIONS["whole"])] if rows else []


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
    return (
        [Table(["of", "lineages", "classes", *methods], rows, "Classes compared", CAPTIONS["comparisons"])]
        if rows
        else []
    )


def _tested(record: Mapping[Any, Any] | None) -> str:
    if record is None:
        return ""
    difference, p = figure({**record, "value": record["difference"]}), p_value(record["p"])
    sign = "" if p.startswith("<") else "=\u00a0"
    return f"{difference}; p\u00a0{sign}{p}" if p else difference


def coverage(source: ContrastSource, exclusions: pd.DataFrame) -> list[Table]:
    """Cells x models with the share of the answers that is of any class (table 2); cells with placebos are left out."""
    real = exclusions[exclusions["framing"].map(placebo_of) == 0]
    if real.empty:
        return []
    models = sorted(real["model"].unique())
    known = {(row["metric"], row["task"], row["framing"], row["model"]): row for row in real.to_dict("records")}
    rows: list[list[str | Cell]] = []
    for metric, (slug, task) in product(METRICS, source.tasks.items()):
        for cell in task.cells:
            own = [known.get((metric, slug, cell, model)) for model in models]
            if any(own):
                shares = [(record, number(record["coverage"], 3) if record else "") for record in own]
                cells = [
                    Cell(f"{share}, too little", "poor") if record and record["excluded"] else share
                    for record, share in shares
                ]
                cues = " + ".join(map(in_words, cues_of(cell))) or "no cue"
                rows.append([METRICS[metric], f"{task.title}: {cues}", *cells])
    said = [
        f"{model}, {METRICS[metric]}, {int(own['excluded'].sum()) or 'none'} of {len(own)} cells"
        for metric in METRICS
        for model, own in real[real["metric"] == metric].groupby("model", sort=True)
    ]
    least = [
        meaning.format(least=own["least"].iloc[0], n=span(own["n"], 0))
        for metric, meaning in CAPTIONS["least"].items()
        if len(own := real[real["metric"] == metric])
    ]
    caption = CAPTIONS["coverage"].format(least=" ".join(least), said="; ".join(said))
    return [Table(["metric", "task: cues", *models], rows, "Of how much of the answers a class can be told", caption)]


def continuations(source: ContrastSource, continuations: pd.DataFrame) -> list[Table]:
    """Replies of the neutral class that name another after all (appendix A.3)."""
    if source.continuation is None or continuations.empty:
        return []
    known = {(row["model"], row["factor"], row["cue"]): row for row in continuations.to_dict("records")}
    columns = {("all", False): "all replies"}
    for factor in source.factors:
        columns |= {(factor, cue): f"{'with' if cue else 'without'} {in_words(factor)}" for cue in (False, True)}
    rows = []
    for model in sorted(continuations["model"].unique()):
        told = [known.get((model, *column)) for column in columns]
        shares = [
            f"{100 * own['share']:.2f}% ({own['named']} of {own['n']})" if own and own["n"] else NONE for own in told
        ]
        rows.append([model, *shares])
    neutral = source.continuation.outcome
    caption = CAPTIONS["continuations"].format(neutral=neutral, keywords=", ".join(source.continuation.keywords))
    title = f"Does “{neutral}” stay “{neutral}”?"
    return [Table(["model", *columns.values()], rows, title, caption)]


def measures(factors: Mapping[str, str], meaning: str, replications: pd.DataFrame) -> Table:
    """Measures of a published study (`meaning`) before and after the intervention, and what placebos change."""
    rows = [
        [
            str(record["model"]),
            str(record["measure"]),
            METRICS.get(record["metric"], str(record["metric"])),
            with_interval(record["before"], record["before_low"], record["before_high"]),
            with_interval(record["after"], record["after_low"], record["after_high"]),
            figure({**{str(k): v for k, v in record.items()}, "value": record["change"]}, decimals=3),
            number(record["control"], 3),
        ]
        for record in replications.to_dict("records")
    ]
    cue = listed([in_words(factor) for factor in factors])
    columns = ["model", "measure", "metric", "before", "after", "change", "control"]
    return Table(columns, rows, "The study's own measures", CAPTIONS["measures"].format(meaning=meaning, cue=cue))
